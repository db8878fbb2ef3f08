int next(void);

void f(int n, float *restrict a, float **rows, volatile int *flag)
{
#pragma scop
    for (int i = 0; i < n; i *= 2) {
        float *p = rows[next()];
        p[i] = next();
        for (int j = 0; j < n; j++) {
            if (a[j] > 0) {
                a[j] = next();
                while (n > j)
                    n--;
            }
            *flag = 1;
        }
        a[n++] = 1;
    }
#pragma endscop
}
