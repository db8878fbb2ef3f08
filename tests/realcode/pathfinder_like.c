// device: path
#include <stdio.h>
#define MIN(a, b) ((a) <= (b) ? (a) : (b))
enum { COLS = 60, ROWS = 9 };
int wall[ROWS][COLS], src[COLS], dst[COLS];
void path(void)
{
    for (int t = 0; t < ROWS - 1; t++) {
        for (int n = 0; n < COLS; n++) {
            int min = src[n];
            if (n > 0) min = MIN(min, src[n - 1]);
            if (n < COLS - 1) min = MIN(min, src[n + 1]);
            dst[n] = wall[t + 1][n] + min;
        }
        for (int n = 0; n < COLS; n++) src[n] = dst[n];
    }
}
int main(void)
{
    for (int i = 0; i < ROWS; i++) for (int j = 0; j < COLS; j++) wall[i][j] = (i * 31 + j * 17) % 10;
    for (int j = 0; j < COLS; j++) src[j] = wall[0][j];
    path();
    for (int j = 0; j < COLS; j += 6) printf("%d ", dst[j]);
    printf("\n");
    return 0;
}
