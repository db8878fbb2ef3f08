// device: scan renumber mark
#include <stdio.h>

struct results {
    int *levels;
    int last, twice, limit;
    unsigned calls;
    long total;
};

/* Members that a loop sets beside what a pointer of the structure leads to. */
void scan(struct results *r, int n, const int *values)
{
    for (int i = 0; i < n; i++) {
        r->levels[0] += values[i];
        r->last = i;
        r->twice = r->twice + 2;
        r->calls++;
        r->total += values[i];
    }
}

void renumber(struct results *r, int n, int *values)
{
    for (int i = 0; i < n; i++) {
        values[i] = r->levels[1] + r->limit;
        r->limit = 7;
        r->twice = i * 2;
        values[r->twice] += 1;
    }
}

void mark(struct results *r, int n, int *values)
{
    for (int i = 0; i < n; i++) {
        if (i == 2)
            r->last = n;
        values[i] += r->levels[1];
    }
}

int main(void)
{
    int values[50] = {3, 9, 2, 4, 1}, levels[2] = {0, 3};
    for (int n = 0; n < 20; n += 9) {
        struct results r = {levels, -1, 5, 6, 7, 8};
        scan(&r, n, values);
        printf("%d %d %u %ld\n", r.last, r.twice, r.calls, r.total);
        renumber(&r, n, values);
        printf("%d %d\n", r.limit, r.twice);
        mark(&r, n, values);
        printf("%d %d %d\n", r.last, levels[0], levels[1]);
    }
    for (int i = 0; i < 50; i++)
        printf("%d\n", values[i]);
    return 0;
}
