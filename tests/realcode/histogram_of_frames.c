// device: histograms
#include <stdio.h>
#include <stdlib.h>
#define LEVELS 64

/* The share of each level in each frame. */
static void histograms(const unsigned char *video, int frames, int width, int height, float *share)
{
    int count[LEVELS];
    for (int f = 0; f < frames; f++) {
        for (int v = 0; v < LEVELS; v++)
            count[v] = 0;
        for (int p = 0; p < width * height; p++)
            count[video[f * (width * height) + p] / 4]++;
        for (int v = 0; v < LEVELS; v++)
            share[f * LEVELS + v] = count[v] / (float)(width * height);
    }
}

int main(void)
{
    int frames = 9, width = 31, height = 17;
    unsigned char *video = malloc(frames * width * height);
    float *share = malloc(frames * LEVELS * sizeof *share);
    for (int k = 0; k < frames * width * height; k++)
        video[k] = (unsigned char)(k * k / 3 + k);
    histograms(video, frames, width, height, share);
    for (int f = 0; f < frames; f++)
        printf("%g %g %g\n", share[f * LEVELS], share[f * LEVELS + 17], share[f * LEVELS + 63]);
    free(video);
    free(share);
    return 0;
}
