/* The most base pairs a strand of n bases can form when no two pairs cross, by Nussinov's recurrence:
 * pairs[i][j] is the answer for the bases i to j. Neighbours do not pair; all of `pairs` starts as 0.
 *
 * usage: nussinov [n]
 */
#include <stdio.h>
#include <stdlib.h>

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* The bases a and b are complementary when they add up to 3. */
static void kernel_nussinov(int n, int base[restrict n], int pairs[restrict n][n])
{
#pragma scop
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            pairs[i][j] = LARGER(pairs[i][j], pairs[i][j - 1]);
            pairs[i][j] = LARGER(pairs[i][j], pairs[i + 1][j]);
            if (i < j - 1)
                pairs[i][j] = LARGER(pairs[i][j], pairs[i + 1][j - 1] + (base[i] + base[j] == 3 ? 1 : 0));
            else
                pairs[i][j] = LARGER(pairs[i][j], pairs[i + 1][j - 1]);
            for (int k = i + 1; k < j; k++)
                pairs[i][j] = LARGER(pairs[i][j], pairs[i][k] + pairs[k + 1][j]);
        }
#pragma endscop
}

/* `count` bases, 0 to 3, a different sequence for each `seed`. */
static void *new_array(size_t count, unsigned seed)
{
    int *value = malloc((count + 1) * sizeof *value);
    if (!value) {
        perror("new_array");
        exit(1);
    }
    for (size_t t = 0; t < count; t++)
        value[t] = ((unsigned)t * 2654435761u + seed * 2246822519u) >> 30;
    return value;
}

static void clear(size_t count, int *value)
{
    for (size_t t = 0; t < count; t++)
        value[t] = 0;
}

/* A small array element by element, a large one as sums of 4096 elements, plain and weighted by position. */
static void print_array(const char *name, size_t count, const int *value)
{
    double sum = 0, weighted = 0;
    for (size_t t = 0; t < count; t++) {
        sum += value[t];
        weighted += (double)(t % 4096 + 1) * value[t];
        if (count <= 40000) {
            printf("%s[%zu] %d\n", name, t, value[t]);
        } else if (t % 4096 == 4095 || t == count - 1) {
            printf("%s[%zu..%zu] %.17g %.17g\n", name, t / 4096 * 4096, t, sum, weighted);
            sum = weighted = 0;
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    void *base = new_array(n, 1);
    void *pairs = new_array((size_t)n * n, 2);
    clear((size_t)n * n, pairs);

    kernel_nussinov(n, base, pairs);
    print_array("pairs", (size_t)n * n, pairs);

    free(base);
    free(pairs);
    return 0;
}
