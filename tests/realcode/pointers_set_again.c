// device: f f1 f2 f3
#include <stdio.h>
#include <stdlib.h>
struct v { float *data; int n; };
struct w { struct v in; float d[8]; int n; };
static float f(int n, struct v s, struct v t)
{
    for (int i = 0; i < n; i++)
        s.data[i] = i * 2.0f;
    s.data = t.data;
    s.n = 3;
    return s.data[0] + s.n;
}
static float f1(int n, float *p, float *q)
{
    struct v s;
    s.data = p; s.n = n;
    for (int i = 0; i < s.n; i++)
        s.data[i] = i * 3.0f;
    s.data = q;
    for (int i = 0; i < n; i++)
        s.data[i] += i * 4.0f;
    s = (struct v){p, n};
    return s.n;
}
static float f2(int n, struct w x, float *q)
{
    for (int i = 0; i < n; i++)
        x.in.data[i] = i * 5.0f;
    x.in.data = q;
    for (int i = 0; i < 8; i++)
        x.d[i] = i;
    puts("-");
    x = (struct w){{q, 1}, {1, 2}, 3};
    return x.n + x.d[1];
}
static float f3(int n, struct v *s, float *q)
{
    for (int i = 0; i < n; i++)
        s->data[i] = i * 7.0f;
    s->data = q;
    return s->n;
}
int main(void)
{
    float *a = malloc(400), *b = malloc(400), *c = malloc(400), *d = malloc(400);
    for (int i = 0; i < 100; i++) a[i] = b[i] = c[i] = d[i] = i;
    struct v s = {a, 100}, t = {b, 100};
    struct w x = {{c, 3}, {1}, 4};
    printf("%g\n", f(100, s, t));
    for (int i = 0; i < 100; i++) printf("%g %g\n", a[i], b[i]);
    printf("%g\n", f1(90, b, d));
    for (int i = 0; i < 100; i++) printf("%g %g\n", b[i], d[i]);
    printf("%g\n", f2(80, x, a));
    for (int i = 0; i < 100; i++) printf("%g %g\n", c[i], a[i]);
    t.data = d;
    printf("%g\n", f3(70, &t, a));
    for (int i = 0; i < 100; i++) printf("%g %g\n", c[i], d[i]);
    return 0;
}
