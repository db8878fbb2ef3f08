// device: to_hex interleave put_frames
#include <stdio.h>
#include <stdlib.h>
static const char digits[] = "0123456789abcdef";
/* writes text and returns its end */
static char *to_hex(const unsigned char *bytes, int count, char *out)
{
    for (int i = 0; i < count; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
    return out;
}
static void interleave(const float *left, const float *right, float *out, long count, float last)
{
    for (long i = 0; i < count; i++) {
        *out++ = *left++;
        *out++ = *right++;
    }
    out[0] = out[-1] + last;
}
/* a header, and a picture of each frame behind it */
static int *put_frames(int *to, const int *picture, int width, int height, int frames)
{
    for (int f = 0; f < frames; f++) {
        *to++ = -1 - f % 3;
        for (int y = height - 1; y >= 0; y--)
            for (int x = 0; x < width; x++)
                *to++ = picture[y * width + x] + f;
        if (f % 2) to++;
    }
    return to;
}
int main(void)
{
    for (int n = 0; n < 40; n += 13) {
        unsigned char *bytes = malloc(n + 1);
        char *text = malloc(2 * n + 1);
        float *left = malloc((n + 1) * sizeof *left), *right = malloc((n + 1) * sizeof *right);
        float *both = calloc(2 * n + 2, sizeof *both);
        int *picture = malloc((n * 3 + 1) * sizeof *picture), *all = calloc(4 * (n * 3 + 2) + 1, sizeof *all), *next = all;
        for (int i = 0; i < n; i++) { bytes[i] = i * 29; left[i] = i; right[i] = -i; }
        for (int i = 0; i < n * 3; i++) picture[i] = i * i % 31;
        char *end = to_hex(bytes, n, text);
        printf("%s %d\n", text, (int)(end - text));
        interleave(left, right, both + 1, n, 0.5f);
        for (int i = 0; i < 2 * n + 2; i++) printf("%g ", both[i]);
        next = put_frames(next, picture, n, 3, 4);
        printf("\n%d\n", (int)(next - all));
        for (int i = 0; i < 4 * (n * 3 + 2); i += 3) printf("%d ", all[i]);
        printf("\n");
        free(bytes); free(text); free(left); free(right); free(both); free(picture); free(all);
    }
    return 0;
}
