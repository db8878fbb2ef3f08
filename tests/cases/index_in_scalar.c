// flags: --device 8800gtx
// Scalars hold the subscripts, clamped at the sides: rows and columns are told apart, no scalar is left.
void neighbours(int nx, int ny, float *restrict a, const float *restrict b)
{
    int x, y, c, w, n;
#pragma scop
    for (y = 0; y < ny; y++)
        for (x = 0; x < nx; x++) {
            c = x + y * nx;
            w = x == 0 ? c : c - 1;
            if (y == 0)
                n = c;
            else
                n = c - nx;
            a[c] = b[w] + b[n];
        }
#pragma endscop
}
