// device: rotate_all
#include <stdio.h>
struct quat { float w, x, y, z; };
void rotate_all(int n, struct quat q, float (*v)[3])
{
    for (int i = 0; i < n; ++i) {
        float x = v[i][0], y = v[i][1], z = v[i][2];
        float tx = 2 * (q.y * z - q.z * y), ty = 2 * (q.z * x - q.x * z), tz = 2 * (q.x * y - q.y * x);
        v[i][0] = x + q.w * tx + q.y * tz - q.z * ty;
        v[i][1] = y + q.w * ty + q.z * tx - q.x * tz;
        v[i][2] = z + q.w * tz + q.x * ty - q.y * tx;
    }
}
int main(void)
{
    float v[45][3];
    struct quat q = {0.5f, 0.5f, 0.5f, 0.5f};
    for (int i = 0; i < 45; i++) { v[i][0] = i; v[i][1] = 2 * i; v[i][2] = 3; }
    rotate_all(45, q, v);
    for (int i = 0; i < 45; i += 5) printf("%g %g %g\n", v[i][0], v[i][1], v[i][2]);
    return 0;
}
