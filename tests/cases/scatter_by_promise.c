// flags: --device 8800gtx
// No two iterations write the same element, says the pragma: each is a thread.
void permute(int n, double out[restrict n], const double in[restrict n], const int to[restrict n])
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        out[to[i]] = in[i];
}
