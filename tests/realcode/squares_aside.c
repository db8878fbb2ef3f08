// device: squares
#include <stdio.h>
#define N 60000
static double squares(int k)
{
    double root[N], square[N];
    for (int i = 0; i < N; i++) {
        root[i] = 1.0 / (N - i);
        square[i] = root[i] * root[i];
    }
    return square[k];
}
int main(void)
{
    printf("%.17g %.17g\n", squares(5), squares(N - 1));
    return 0;
}
