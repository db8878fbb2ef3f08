// device: update
#include <stdio.h>
#include <stdlib.h>
typedef struct { int nx, ny; double c2; double *prev, *cur, *next; } Wave;
#define AT(f, i, j) ((f)[(i) * w->ny + (j)])
void update(Wave *w)
{
    for (int i = 1; i < w->nx - 1; i++)
        for (int j = 1; j < w->ny - 1; j++)
            AT(w->next, i, j) = 2 * AT(w->cur, i, j) - AT(w->prev, i, j)
                + w->c2 * (AT(w->cur, i + 1, j) + AT(w->cur, i - 1, j) + AT(w->cur, i, j + 1)
                           + AT(w->cur, i, j - 1) - 4 * AT(w->cur, i, j));
}
int main(void)
{
    Wave w = {20, 25, 0.2, NULL, NULL, NULL};
    w.prev = calloc(500, sizeof(double));
    w.cur = calloc(500, sizeof(double));
    w.next = calloc(500, sizeof(double));
    w.cur[10 * 25 + 12] = 1.0;
    w.prev[10 * 25 + 12] = 1.0;
    for (int t = 0; t < 8; t++) {
        update(&w);
        double *old = w.prev;
        w.prev = w.cur; w.cur = w.next; w.next = old;
    }
    printf("%.6f %.6f\n", w.cur[10 * 25 + 12], w.cur[7 * 25 + 12]);
    return 0;
}
