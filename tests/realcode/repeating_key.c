// device: encrypt weigh tile_rows
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
static void encrypt(uint8_t *buffer, size_t length, const uint8_t *key, size_t key_length)
{
    for (size_t i = 0; i < length; ++i)
        buffer[i] = (uint8_t)((buffer[i] + 13 * i) ^ key[i % key_length]);
}
/* the weights of a period, over and over; the last period may be cut off */
static void weigh(double *out, const double *values, int count, const double *season, int period)
{
    for (int t = 0; t < count; t++)
        out[t] = values[t] - season[t % period] * (1 + t / period);
}
static void tile_rows(float *out, int n, const float *pattern, int w, int h)
{
    for (int i = 0; i < n; i++)
        out[i] = pattern[(i / w % h) * w + i % w] + i / w;
}
int main(void)
{
    const char *keys[] = { "k", "secret", "a key that is longer than what it encrypts, by far: nothing repeats" };
    const int lengths[] = { 0, 1, 6, 50, 60, 61 };
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 6; l++) {
            int n = lengths[l], m = (int)strlen(keys[k]);
            uint8_t *bytes = malloc(n + 1);
            double *values = malloc((n + 1) * sizeof *values), *left = malloc((n + 1) * sizeof *left), *season = malloc(m * sizeof *season);
            float *out = malloc((n + 1) * sizeof *out), *pattern = malloc(m * 3 * sizeof *pattern);
            unsigned sum = 0;
            double total = 0;
            for (int i = 0; i < n; i++) { bytes[i] = i * 7; values[i] = i * i % 23; }
            for (int i = 0; i < m; i++) season[i] = i % 5;
            for (int i = 0; i < m * 3; i++) pattern[i] = i;
            encrypt(bytes, n, (const uint8_t *)keys[k], m);
            tile_rows(out, n, pattern, m, 3);
            weigh(left, values, n, season, m);
            for (int i = 0; i < n; i++) { sum = sum * 31 + bytes[i]; total += out[i] + i % 3 * left[i]; }
            printf("%u %.9g\n", sum, total);
            free(bytes); free(values); free(season); free(left); free(out); free(pattern);
        }
    return 0;
}
