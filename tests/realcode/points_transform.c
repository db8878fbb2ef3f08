// device: transform
#include <stdio.h>
typedef struct { float m[4][4]; } Mat4;
typedef struct { float x, y, z; } P3;
void transform(const Mat4 *t, const P3 *in, P3 *out, int n)
{
    for (int i = 0; i < n; i++) {
        out[i].x = t->m[0][0] * in[i].x + t->m[0][1] * in[i].y + t->m[0][2] * in[i].z + t->m[0][3];
        out[i].y = t->m[1][0] * in[i].x + t->m[1][1] * in[i].y + t->m[1][2] * in[i].z + t->m[1][3];
        out[i].z = t->m[2][0] * in[i].x + t->m[2][1] * in[i].y + t->m[2][2] * in[i].z + t->m[2][3];
    }
}
int main(void)
{
    Mat4 t;
    P3 a[60], b[60];
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) t.m[i][j] = i == j ? 2 : 0.5f * j;
    for (int i = 0; i < 60; i++) { a[i].x = i; a[i].y = -i; a[i].z = i * 0.5f; }
    transform(&t, a, b, 60);
    for (int i = 0; i < 60; i += 7) printf("%g %g %g\n", b[i].x, b[i].y, b[i].z);
    return 0;
}
