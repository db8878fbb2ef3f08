// device: relu leaky steps
#include <stddef.h>
#include <stdio.h>

typedef struct { size_t rows, cols; double *data; } Matrix;

void relu(const Matrix *m, Matrix *r)
{
    for (size_t i = 0; i < m->rows * m->cols; i++) {
        if (m->data[i] > 0)
            r->data[i] = m->data[i];
        else
            r->data[i] = 0;
    }
}

void leaky(const Matrix *m, Matrix *r, double slope)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            r->data[i * m->cols + j] = m->data[i * m->cols + j] > 0 ? m->data[i * m->cols + j]
                                                                    : slope * m->data[i * m->cols + j];
}

void steps(int n, const double *x, Matrix *low, Matrix *high)
{
    for (int i = 0; i < n; i++) {
        if (x[i] < -1) {
            low->data[i] = -1;
            high->data[i] = 0;
        } else if (x[i] > 1) {
            high->data[i] = 1;
            low->data[i] = 0;
        } else {
            double half = 0.5 * x[i];
            low->data[i] = half;
            high->data[i] = half;
        }
    }
}

/* Where nothing is copied nobody asks for the matrix. */
void positive(int n, const double *x, Matrix *r)
{
    for (int i = 0; i < n; i++) {
        if (x[i] > 0) {
            if (x[i] > 1)
                r->data[i] = 1;
            else
                r->data[i] = x[i];
        }
    }
}

int main(void)
{
    double a[12], b[12], c[12];
    Matrix m = {3, 4, a}, r = {3, 4, b}, s = {3, 4, c};
    for (int i = 0; i < 12; i++)
        a[i] = 0.5 * i - 2.5;
    relu(&m, &r);
    for (int i = 0; i < 12; i++)
        printf("%g\n", b[i]);
    leaky(&m, &r, 0.125);
    for (int i = 0; i < 12; i++)
        printf("%g\n", b[i]);
    steps(12, a, &r, &s);
    for (int i = 0; i < 12; i++)
        printf("%g %g\n", b[i], c[i]);
    positive(5, a, NULL);
    positive(12, a, &r);
    for (int i = 0; i < 12; i++)
        printf("%g\n", b[i]);
    return 0;
}
