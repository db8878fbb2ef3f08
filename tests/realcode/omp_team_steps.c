// device: relax
#include <stdio.h>
#define ROWS 24
#define COLUMNS 40
static double field[2][ROWS][COLUMNS];
static void relax(int rows, int columns, int steps)
{
    int i, j;
#pragma omp parallel private(j)
    {
        int step = 0;
        double (*now)[COLUMNS] = field[0], (*next)[COLUMNS] = field[1];
#pragma omp master
        printf("%d steps\n", steps);
        do {
#pragma omp for
            for (i = 1; i < rows - 1; i++)
                for (j = 1; j < columns - 1; j++)
                    next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
            double (*swapped)[COLUMNS] = now;
            now = next;
            next = swapped;
            step++;
        } while (step < steps);
    }
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            field[0][i][j] = field[1][i][j] = (i * 7 + j * 3) % 11;
    relax(ROWS, COLUMNS, 6);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += field[0][i][j] - 0.5 * field[1][i][j];
    printf("%.12g\n", sum);
    return 0;
}
