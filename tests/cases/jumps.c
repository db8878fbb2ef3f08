// flags: --device h100
// continue, goto forward, switch and break as domains and branches.
void jumps(int n, int m, int k[restrict n], float x[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            if (j > i)
                break;
            if (x[i][j] < 0)
                continue;
            switch (k[i]) {
            case 0:
                x[i][j] = 1;
                goto end;
            case 1:
            case 2:
                x[i][j] *= 2;
                break;
            default:
                x[i][j] -= 1;
            }
            x[i][j] += 3;
        end:;
        }
#pragma endscop
}
