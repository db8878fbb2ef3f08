// flags: --device 8800gtx
// A loop that counts in its body, a scalar and a pointer that move along: the last values follow.
int spread(int n, float *restrict a, const float *restrict b)
{
    int i = 0, k = 5;
#pragma scop
    while (i < n) {
        a[k] = *b++;
        k += 2;
        i++;
    }
#pragma endscop
    return i + k;
}
