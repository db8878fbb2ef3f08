// flags: --device h100
// The sum of integers is the same in any order: a block a chunk, and one that adds up what chunks do.
void sum(int n, const int x[restrict n], int s[restrict 1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            s[0] += x[i];
#pragma endscop
}
