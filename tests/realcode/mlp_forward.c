// device: forward
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
typedef struct layer {
    int n_in, n_out;
    float **weights;
    float *bias;
    float *output;
} layer;
static layer *layer_create(int n_in, int n_out)
{
    layer *l = malloc(sizeof *l);
    l->n_in = n_in;
    l->n_out = n_out;
    l->weights = malloc(n_out * sizeof(float *));
    for (int i = 0; i < n_out; i++) {
        l->weights[i] = malloc(n_in * sizeof(float));
        for (int j = 0; j < n_in; j++)
            l->weights[i][j] = ((i * 5 + j * 3) % 11 - 5) * 0.1f;
    }
    l->bias = calloc(n_out, sizeof(float));
    l->output = calloc(n_out, sizeof(float));
    return l;
}
void forward(layer *l, const float *input)
{
    for (int o = 0; o < l->n_out; o++) {
        float z = l->bias[o];
        for (int i = 0; i < l->n_in; i++)
            z += l->weights[o][i] * input[i];
        l->output[o] = 1.0f / (1.0f + expf(-z));
    }
}
int main(void)
{
    layer *a = layer_create(12, 20), *b = layer_create(20, 5);
    float x[12];
    for (int i = 0; i < 12; i++) x[i] = i * 0.25f - 1.0f;
    forward(a, x);
    forward(b, a->output);
    for (int i = 0; i < 5; i++) printf("%.5f\n", b->output[i]);
    return 0;
}
