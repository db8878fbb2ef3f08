// device: box
#include <stdio.h>
typedef struct { float x, y; } Point;
typedef struct { float x0, y0, x1, y1; } Box;
Box box(const Point *p, int n)
{
    Box b = {p[0].x, p[0].y, p[0].x, p[0].y};
    for (int i = 1; i < n; i++) {
        if (p[i].x < b.x0) b.x0 = p[i].x;
        if (p[i].y < b.y0) b.y0 = p[i].y;
        if (p[i].x > b.x1) b.x1 = p[i].x;
        if (p[i].y > b.y1) b.y1 = p[i].y;
    }
    return b;
}
int main(void)
{
    Point p[300];
    for (int i = 0; i < 300; i++) { p[i].x = (i * 37) % 101; p[i].y = (i * 53) % 97 - 40; }
    Box b = box(p, 300);
    printf("%g %g %g %g\n", b.x0, b.y0, b.x1, b.y1);
    return 0;
}
