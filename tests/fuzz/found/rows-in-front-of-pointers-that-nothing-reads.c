// flags: -O 1 --target emulator --device 8800gtx
// certificate
// more of a row of 'A' is copied than the source touches: where the loop does not run, rows in front of A
#include <stdio.h>
#include <stdlib.h>

static void add(int ***A, int value, int i, int j)
{
#pragma scop
    while (j >= i) {
        A[2 * i][i + 1][i] += 15 & (value * 1000);
        j--;
    }
#pragma endscop
}

int main(void)
{
    int **rows[4], *row[4][4];
    for (int k = 0; k < 4; k++) {
        rows[k] = row[k];
        for (int l = 0; l < 4; l++)
            row[k][l] = calloc(4, sizeof(int));
    }
    add(rows, 7, -3, -4);
    add(rows, 5, -30, -40);
    add(rows, 3, 0, 5);
    add(rows, 2, 1, 4);
    add(rows, 1, 1, 0);
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 4; l++) {
            for (int m = 0; m < 4; m++)
                printf("%d ", row[k][l][m]);
            printf("\n");
            free(row[k][l]);
        }
    return 0;
}
