// device: move bounce
#include <stdio.h>
struct vec3 { float x, y, z; };
struct particle { struct vec3 pos, vel; float mass; int alive; };
void move(struct particle *p, int n, float dt)
{
    for (int i = 0; i < n; i++) {
        if (!p[i].alive)
            continue;
        p[i].pos.x += p[i].vel.x * dt;
        p[i].pos.y += p[i].vel.y * dt;
        p[i].pos.z += p[i].vel.z * dt;
        p[i].vel.y -= 9.81f * dt;
    }
}
void bounce(struct particle *first, struct particle *last)
{
    for (struct particle *p = first; p != last; ++p)
        if (p->pos.y < 0.0f) {
            p->pos.y = -p->pos.y;
            p->vel.y *= -0.8f;
        }
}
int main(void)
{
    struct particle p[30];
    for (int i = 0; i < 30; i++) {
        struct particle q = {{i, 1.0f + i % 3, -i}, {0.1f * i, 0, 0.5f}, 1.0f, i % 5 != 0};
        p[i] = q;
    }
    for (int t = 0; t < 20; t++) {
        move(p, 30, 0.05f);
        bounce(p, p + 30);
    }
    printf("%.4f %.4f %.4f\n", p[1].pos.y, p[7].pos.x, p[29].vel.y);
    return 0;
}
