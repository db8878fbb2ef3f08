// device: limit add step
#include <stdio.h>
#define CLAMP(x, low, high) \
    do { \
        if ((x) < (low)) \
            (x) = (low); \
        if ((x) > (high)) \
            (x) = (high); \
    } while (0)
#define ADD3(a, b) do { for (int k = 0; k < 3; k++) (a)[k] += (b)[k]; } while (0)

static float in[500], out[500], a[500][3], b[500][3];
static int state[500];

static void limit(int n)
{
    for (int i = 0; i < n; i++) {
        float t = in[i] * 3.0f;
        CLAMP(t, 0.0f, 40.0f);
        out[i] = t;
    }
}

static void add(int n)
{
    for (int i = 0; i < n; i++)
        ADD3(a[i], b[i]);
}

static void step(int n)
{
    for (int i = 0; i < n; i++) {
        do {
            if (state[i] == 3)
                break;
            in[i] = 2 * out[i];
            if (state[i] == 4) {
                out[i] = 0;
                break;
            }
            out[i] += 1;
            if (state[i] > 5)
                continue;
            in[i] += 1;
        } while (0);
        state[i]++;
    }
}

int main(void)
{
    int k = 0;
    while (k < 500) {
        in[k] = (k * 37 % 101) / 4.0f;
        state[k] = k % 8;
        a[k][0] = k % 5;
        b[k][1] = k % 3;
        b[k][2] = 7;
        k++;
    }
    limit(500);
    add(500);
    step(500);
    for (k = 0; k < 500; k++)
        printf("%g %g %d %g\n", in[k], out[k], state[k], a[k][1] + a[k][2] + a[k][0]);
    return 0;
}
