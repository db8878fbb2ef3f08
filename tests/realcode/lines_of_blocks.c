// device: solve_lines
#include <stdio.h>

#define LINES 6
#define POINTS 9

/* Block-tridiagonal systems of 3 x 3 blocks along lines, one line after the other in the same work arrays. */
double below[POINTS][3][3], middle[POINTS][3][3], above[POINTS][3][3];
double slope, scale;

#define THREE(f, ...) f(0, __VA_ARGS__) f(1, __VA_ARGS__) f(2, __VA_ARGS__)
#define VECTOR(r, a, x, y) y[r] = y[r] - a[r][0] * x[0] - a[r][1] * x[1] - a[r][2] * x[2];
#define ENTRY(r, c) c_[r][c] = c_[r][c] - a[r][0] * b[0][c] - a[r][1] * b[1][c] - a[r][2] * b[2][c];

static void subtract_vector(double a[3][3], double x[3], double y[3])
{
    THREE(VECTOR, a, x, y)
}

static void subtract_product(double a[3][3], double b[3][3], double c_[3][3])
{
    ENTRY(0, 0) ENTRY(0, 1) ENTRY(0, 2)
    ENTRY(1, 0) ENTRY(1, 1) ENTRY(1, 2)
    ENTRY(2, 0) ENTRY(2, 1) ENTRY(2, 2)
}

#define SCALED(c, p) m[p][c] = m[p][c] * pivot; k[p][c] = k[p][c] * pivot;
#define CLEARED(c, r, p) m[r][c] = m[r][c] - factor * m[p][c]; k[r][c] = k[r][c] - factor * k[p][c];
#define ROW(r, p) factor = m[r][p]; THREE(CLEARED, r, p) x[r] = x[r] - factor * x[p];
#define PIVOT(p, r, s) pivot = 1.0 / m[p][p]; THREE(SCALED, p) x[p] = x[p] * pivot; ROW(r, p) ROW(s, p)

/* Leaves the inverse of m times k in k, and times x in x. */
static void eliminate(double m[3][3], double k[3][3], double x[3])
{
    double pivot, factor;
    PIVOT(0, 1, 2)
    PIVOT(1, 0, 2)
    PIVOT(2, 0, 1)
}

static void start(double a[][3][3], int last)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            a[0][r][c] = 0.0;
            a[last][r][c] = 0.0;
        }
}

void solve_lines(int last, double u[LINES][LINES][POINTS], double x[LINES][LINES][POINTS][3])
{
    int i, j, l, r, c;
    for (l = 0; l < LINES; l++) {
        for (j = 0; j < LINES; j++) {
            start(below, last);
            start(middle, last);
            start(above, last);
            for (r = 0; r < 3; r++) {
                middle[0][r][r] = 1.0;
                middle[last][r][r] = 1.0;
            }
            for (i = 1; i < last; i++) {
                slope = u[l][j][i + 1] - u[l][j][i - 1];
                scale = 1.0 / (1.0 + u[l][j][i] * u[l][j][i]);
                for (r = 0; r < 3; r++)
                    for (c = 0; c < 3; c++) {
                        below[i][r][c] = 0.125 * slope * (r - c);
                        middle[i][r][c] = (r == c ? 4.0 : 0.25) + 0.5 * scale * (r + c);
                        above[i][r][c] = 0.0625 * scale * (r + 2 * c) - 0.25 * slope;
                    }
            }
            eliminate(middle[0], above[0], x[l][j][0]);
            for (i = 1; i < last; i++) {
                subtract_vector(below[i], x[l][j][i - 1], x[l][j][i]);
                subtract_product(below[i], above[i - 1], middle[i]);
                eliminate(middle[i], above[i], x[l][j][i]);
            }
            subtract_vector(below[last], x[l][j][last - 1], x[l][j][last]);
            for (i = last - 1; i >= 0; i--)
                for (r = 0; r < 3; r++)
                    for (c = 0; c < 3; c++)
                        x[l][j][i][r] = x[l][j][i][r] - above[i][r][c] * x[l][j][i + 1][c];
        }
    }
}

int main(void)
{
    static double u[LINES][LINES][POINTS], x[LINES][LINES][POINTS][3];
    for (int last = 1; last < POINTS; last += 3) {
        for (int l = 0; l < LINES; l++)
            for (int j = 0; j < LINES; j++)
                for (int i = 0; i < POINTS; i++) {
                    u[l][j][i] = (l * 7 + j * 3 + i * i) % 11 * 0.125;
                    for (int r = 0; r < 3; r++)
                        x[l][j][i][r] = (l + 2 * j + 3 * i + 5 * r) % 13 - 6.0;
                }
        solve_lines(last, u, x);
        double sum = 0;
        for (int l = 0; l < LINES; l++)
            for (int j = 0; j < LINES; j++)
                for (int i = 0; i < POINTS; i++)
                    for (int r = 0; r < 3; r++)
                        sum += x[l][j][i][r] * (1 + (l + j + i + r) % 5);
        printf("%.17g %.17g %.17g %g %g\n", sum, middle[last - 1][2][1], above[1][2][0], slope, scale);
    }
    return 0;
}
