// device: main
/* Members that could be taken for each other: a.b and a_b, v[1] and v_1. */
#include <stdio.h>

struct inner {
    int b;
};
struct outer {
    int a_b;
    struct inner a;
    int v_1;
    int v[2];
};

static int x[64], sums[64];

int main(void)
{
    for (int i = 0; i < 64; i++)
        x[i] = i * 7 % 23;
    for (int i = 0; i < 64; i++) {
        struct outer t;
        t.a_b = x[i];
        t.a.b = 2 * x[i];
        t.v_1 = x[i] + 3;
        t.v[1] = x[i] - 5;
        sums[i] = t.a_b * 1000 + t.a.b * 100 + t.v_1 * 10 + t.v[1];
    }
    for (int i = 0; i < 64; i++)
        printf("%d\n", sums[i]);
    return 0;
}
