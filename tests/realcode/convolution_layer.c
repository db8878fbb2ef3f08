// device: convolve pool normalise
#include <stdio.h>
#include <stdlib.h>

static void convolve(int batch, int outputs, int height, int width, int inputs, float out[restrict batch][outputs][height][width],
                     float in[restrict batch][inputs][height + 2][width + 2], float weight[restrict outputs][inputs][3][3],
                     float bias[restrict outputs])
{
    for (int n = 0; n < batch; n++)
        for (int k = 0; k < outputs; k++)
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++) {
                    float sum = bias[k];
                    for (int c = 0; c < inputs; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 3; s++)
                                sum += weight[k][c][r][s] * in[n][c][y + r][x + s];
                    out[n][k][y][x] = sum > 0 ? sum : 0;
                }
}

static void pool(int batch, int channels, int height, int width, float out[restrict batch][channels][height / 2][width / 2],
                 float in[restrict batch][channels][height][width])
{
    for (int n = 0; n < batch; n++)
        for (int c = 0; c < channels; c++)
            for (int y = 0; y < height / 2; y++)
                for (int x = 0; x < width / 2; x++) {
                    float most = in[n][c][2 * y][2 * x];
                    for (int r = 0; r < 2; r++)
                        for (int s = 0; s < 2; s++)
                            if (in[n][c][2 * y + r][2 * x + s] > most)
                                most = in[n][c][2 * y + r][2 * x + s];
                    out[n][c][y][x] = most;
                }
}

static void normalise(int batch, int channels, int height, int width, float x[restrict batch][channels][height][width],
                      float mean[restrict channels], float scale[restrict channels])
{
    for (int n = 0; n < batch; n++)
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < height; i++)
                for (int j = 0; j < width; j++)
                    x[n][c][i][j] = (x[n][c][i][j] - mean[c]) * scale[c];
}

static float *filled(long count, int seed)
{
    float *x = malloc(count * sizeof *x);
    for (long t = 0; t < count; t++)
        x[t] = (float)((t * 7 + seed) % 31) / 16 - 1;
    return x;
}

int main(void)
{
    enum { batch = 3, outputs = 5, inputs = 4, height = 10, width = 18 };
    float *in = filled((long)batch * inputs * (height + 2) * (width + 2), 1), *weight = filled(outputs * inputs * 9, 2);
    float *bias = filled(outputs, 3), *out = filled((long)batch * outputs * height * width, 4);
    float *half = filled((long)batch * outputs * height * width / 4, 5);
    convolve(batch, outputs, height, width, inputs, (void *)out, (void *)in, (void *)weight, bias);
    normalise(batch, outputs, height, width, (void *)out, bias, weight);
    pool(batch, outputs, height, width, (void *)half, (void *)out);
    for (long t = 0; t < (long)batch * outputs * height * width / 4; t++)
        printf("%.9g\n", half[t]);
    return 0;
}
