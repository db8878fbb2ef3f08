// device: transpose
#include <stdio.h>
#define IDX(r, c, ld) ((r) * (ld) + (c))
void transpose(const int *in, int *out, int rows, int cols)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            out[IDX(c, r, rows)] = in[IDX(r, c, cols)];
}
int main(void)
{
    static int in[33 * 50], out[50 * 33];
    for (int i = 0; i < 33 * 50; i++) in[i] = i;
    transpose(in, out, 33, 50);
    long check = 0;
    for (int i = 0; i < 33 * 50; i++) check = (check * 31 + out[i]) % 1000003;
    printf("%ld\n", check);
    return 0;
}
