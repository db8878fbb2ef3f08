// device:
#include <stdio.h>
#define N 30
double u[N];
void sweep(void) { for (int i = 1; i < N - 1; i++) u[i] = 0.5 * (u[i - 1] + u[i + 1]); }
int main(void)
{
    u[N - 1] = 1;
    for (int k = 0; k < 20; k++) sweep();
    for (int i = 0; i < N; i += 4) printf("%.12g\n", u[i]);
    return 0;
}
