// device: update
#include <stdio.h>
#include <stdlib.h>
static struct { int n; float *pos, *vel; float damping; } world;
void update(float dt)
{
    for (int i = 0; i < world.n; i++) {
        world.vel[i] *= world.damping;
        world.pos[i] += dt * world.vel[i];
    }
}
int main(void)
{
    world.n = 70; world.damping = 0.75f;
    world.pos = calloc(70, sizeof(float)); world.vel = calloc(70, sizeof(float));
    for (int i = 0; i < 70; i++) world.vel[i] = i;
    update(0.5f); update(0.5f);
    for (int i = 0; i < 70; i += 9) printf("%g\n", world.pos[i]);
    return 0;
}
