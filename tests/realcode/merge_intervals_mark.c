// device: covered
#include <stdio.h>
#include <stdbool.h>
void covered(const int *lo, const int *hi, int m, bool *hit, int n)
{
    for (int x = 0; x < n; x++) {
        bool found = false;
        for (int k = 0; k < m && !found; k++)
            found = lo[k] <= x && x < hi[k];
        hit[x] = found;
    }
}
int main(void)
{
    int lo[4] = {3, 20, 22, 90}, hi[4] = {9, 30, 41, 120}, s = 0;
    bool hit[128];
    covered(lo, hi, 4, hit, 128);
    for (int x = 0; x < 128; x++) s += hit[x];
    printf("%d\n", s);
    return 0;
}
