// device: project
#include <stdio.h>
typedef float mat4[4][4];
void project(const mat4 m, const float (*in)[4], float (*out)[3], int n)
{
    for (int v = 0; v < n; v++) {
        float t[4];
        for (int r = 0; r < 4; r++) {
            t[r] = 0;
            for (int c = 0; c < 4; c++)
                t[r] += m[r][c] * in[v][c];
        }
        for (int r = 0; r < 3; r++)
            out[v][r] = t[r] / t[3];
    }
}
int main(void)
{
    mat4 m = {{1, 0, 0.1f, 0}, {0, 1.5f, 0, 0.2f}, {0, 0, -1.2f, -2}, {0, 0, -1, 4}};
    float in[25][4], out[25][3];
    for (int i = 0; i < 25; i++) {
        in[i][0] = i * 0.1f; in[i][1] = 1 - i * 0.05f; in[i][2] = -i * 0.2f; in[i][3] = 1;
    }
    project(m, in, out, 25);
    printf("%.5f %.5f %.5f\n", out[3][0], out[12][1], out[24][2]);
    return 0;
}
