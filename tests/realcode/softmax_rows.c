// device: softmax
#include <stdio.h>
#include <math.h>
void softmax(int n, int m, float x[n][m])
{
    for (int i = 0; i < n; i++) {
        float biggest = x[i][0];
        for (int j = 1; j < m; j++)
            if (x[i][j] > biggest) biggest = x[i][j];
        float sum = 0;
        for (int j = 0; j < m; j++) {
            x[i][j] = expf(x[i][j] - biggest);
            sum += x[i][j];
        }
        for (int j = 0; j < m; j++)
            x[i][j] /= sum;
    }
}
int main(void)
{
    static float x[64][20];
    for (int i = 0; i < 64; i++) for (int j = 0; j < 20; j++) x[i][j] = (i * 3 + j * 5) % 7;
    softmax(64, 20, x);
    for (int i = 0; i < 64; i += 9) printf("%.5f %.5f\n", x[i][0], x[i][19]);
    return 0;
}
