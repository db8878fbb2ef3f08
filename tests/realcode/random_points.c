// device: estimate
// flags: --reassociate
#include <stdio.h>
#include <math.h>

#define BATCHES 40
#define POINTS 50

static double samples[2 * POINTS];
static int rings[16];

/* One step of a generator modulo 65537, whose numbers are exact in double. */
static double draw(double *state, double factor)
{
    double product = factor * (*state);
    *state = product - 65537.0 * floor(product / 65537.0);
    return *state / 65537.0;
}

static void fill(int n, double *state, double factor, double values[])
{
    for (int i = 0; i < n; i++)
        values[i] = draw(state, factor);
}

static double power(double factor, int steps)
{
    double state = 1.0;
    for (int i = 0; i < steps; i++)
        draw(&state, factor);
    return state;
}

double estimate(int batches)
{
    double seed, jump, x, y, r, dx, dy, sum = 0.0, weight = 0.0, unused;
    int k, i, left, half, ring;

    jump = power(75.0, 2 * POINTS);
    for (k = 0; k < batches; k++) {
        seed = 17.0;
        x = jump;
        left = k;
        for (i = 0; i < 40; i++) {
            half = left / 2;
            if (2 * half != left)
                unused = draw(&seed, x);
            if (half == 0)
                break;
            unused = draw(&x, x);
            left = half;
        }
        fill(2 * POINTS, &seed, 75.0, samples);
        for (i = 0; i < POINTS; i++) {
            dx = 2.0 * samples[2 * i] - 1.0;
            dy = 2.0 * samples[2 * i + 1] - 1.0;
            r = dx * dx + dy * dy;
            if (r < 1.0) {
                y = sqrt(r);
                ring = (int)(y * 16.0);
                rings[ring]++;
                sum = sum + floor(y * 1024.0);
                weight += 1.0;
            }
        }
    }
    return sum / weight;
}

int main(void)
{
    printf("%.12g\n", estimate(BATCHES));
    for (int i = 0; i < 16; i++)
        printf("%d\n", rings[i]);
    return 0;
}
