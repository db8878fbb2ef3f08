// device: step clear save
#include <stdio.h>
#include <stdlib.h>
typedef struct particle { float x, v; struct particle *next; const char *name; int id; float (*law)(float); } particle;
static particle all[50], old[50];
static float twice(float x) { return 2 * x; }
void step(particle *p, int n, float dt) { for (int i = 0; i < n; i++) p[i].x += p[i].v * dt; }
void clear(particle *p, int n) { for (int i = 0; i < n; i++) p[i].v = 0, p[i].x = i, p[i].id = 3; }
void save(void) { for (int i = 0; i < 50; i++) old[i] = all[i]; }
float through(particle *head) { float s = 0; for (particle *q = head; q; q = q->next) s += q->law(q->x) + q->name[0]; return s; }
int main(void)
{
    for (int i = 0; i < 50; i++) { all[i].x = i; all[i].v = i % 3; all[i].next = i < 49 ? &all[i + 1] : NULL; all[i].name = "ab" + i % 2; all[i].law = twice; }
    float s = 0;
    for (int t = 0; t < 10; t++) {
        step(all, 50, 0.5f);
        if (t == 4) { particle *q = all[7].next; all[7].next = q->next; q->name = "z"; }
    }
    s += through(all);
    save();
    clear(all, 50);
    s += through(all) + through(old);
    printf("%g %s\n", s, old[3].name);
    return 0;
}
