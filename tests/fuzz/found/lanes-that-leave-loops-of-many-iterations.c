// flags: -O 2 --target emulator --device h100
// crash
// Lanes that leave loops apart were counted over the product of all loops' iterations: 24 GB, where a process
// ended without a word.
#include <stdio.h>

struct sizes { int n, m; };

static void f(float A[restrict 66][34], const struct sizes *s)
{
    for (int i = s->m - 1; i >= -1; i -= 2) {
        for (int j = s->n - 2; j >= i; j--) {
            A[2 * i + 2][i + 1] = 0;
            for (int k = 2; k < s->n - i; k++)
                A[2 * i + 2][i + 1] += 0.0625f * (0.5f * A[2 * k + 1][k]);
        }
    }
}

int main(void)
{
    static float A[66][34];
    struct sizes s = {13, 11};
    for (int i = 0; i < 66 * 34; i++)
        A[i / 34][i % 34] = i % 23 / 8.0f;
    f(A, &s);
    for (int i = 0; i < 66 * 34; i++)
        printf("%g\n", A[i / 34][i % 34]);
    return 0;
}
