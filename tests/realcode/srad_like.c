// device: diffuse
#include <stdio.h>
#define R 22
#define C 18
float J[R * C], dN[R * C], dS[R * C], dW[R * C], dE[R * C], c[R * C];
void diffuse(float q0)
{
    int i, j, k, iN, iS, jW, jE;
    float Jc, G2, L, num, den, q;
    for (i = 0; i < R; i++) {
        for (j = 0; j < C; j++) {
            k = i * C + j;
            iN = i == 0 ? 0 : i - 1;
            iS = i == R - 1 ? R - 1 : i + 1;
            jW = j == 0 ? 0 : j - 1;
            jE = j == C - 1 ? C - 1 : j + 1;
            Jc = J[k];
            dN[k] = J[iN * C + j] - Jc;
            dS[k] = J[iS * C + j] - Jc;
            dW[k] = J[i * C + jW] - Jc;
            dE[k] = J[i * C + jE] - Jc;
            G2 = (dN[k] * dN[k] + dS[k] * dS[k] + dW[k] * dW[k] + dE[k] * dE[k]) / (Jc * Jc);
            L = (dN[k] + dS[k] + dW[k] + dE[k]) / Jc;
            num = 0.5f * G2 - 1.0f / 16.0f * (L * L);
            den = 1 + .25f * L;
            q = num / (den * den);
            den = (q - q0) / (q0 * (1 + q0));
            c[k] = 1.0f / (1.0f + den);
            if (c[k] < 0) c[k] = 0;
            else if (c[k] > 1) c[k] = 1;
        }
    }
}
int main(void)
{
    for (int i = 0; i < R * C; i++) J[i] = 1 + (i * 7) % 11;
    diffuse(0.3f);
    for (int i = 0; i < R * C; i += 31) printf("%g %g\n", c[i], dS[i]);
    return 0;
}
