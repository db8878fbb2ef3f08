// flags: --device h100 --decide 'reassociate(s, least)'
// Few columns: lanes follow them, and threads share the rows.
void columns(int n, const float x[restrict n][64], float s[restrict 64], float least[restrict 64])
{
#pragma scop
    for (int j = 0; j < 64; j++)
        for (int i = 0; i < n; i++) {
            s[j] += x[i][j];
            if (x[i][j] < least[j])
                least[j] = x[i][j];
        }
#pragma endscop
}
