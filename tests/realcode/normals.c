// device: normals
#include <stdio.h>
#include <math.h>
typedef struct { double x, y, z; } vec3;
static vec3 sub(vec3 a, vec3 b) { vec3 r = {a.x - b.x, a.y - b.y, a.z - b.z}; return r; }
static vec3 cross(vec3 a, vec3 b) { return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
void normals(int n, const vec3 *a, const vec3 *b, const vec3 *c, vec3 *out)
{
    for (int i = 0; i < n; i++)
        out[i] = cross(sub(b[i], a[i]), sub(c[i], a[i]));
}
int main(void)
{
    static vec3 a[50], b[50], c[50], o[50];
    for (int i = 0; i < 50; i++) { a[i].x = i; b[i].y = i * 2; c[i].z = 3 + i; }
    normals(50, a, b, c, o);
    for (int i = 0; i < 50; i += 6) printf("%g %g %g\n", o[i].x, o[i].y, o[i].z);
    return 0;
}
