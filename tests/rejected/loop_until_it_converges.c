void f(int n, double tol, double *a)
{
    double error = 1;
    int rounds = 0;
#pragma scop
    while (error > tol && rounds < 100) {
        error = 0;
        for (int i = 0; i < n; i++) {
            error += a[i] * a[i];
            a[i] *= 0.5;
        }
        rounds++;
    }
#pragma endscop
    a[0] = rounds;
}
