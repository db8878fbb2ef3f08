// device: forward
#include <stdio.h>
#include <stdlib.h>
typedef struct { int inputs, outputs; float *weights, *biases, *output; } Layer;
void forward(Layer *l, const float *input)
{
    for (int o = 0; o < l->outputs; o++) {
        float sum = l->biases[o];
        for (int i = 0; i < l->inputs; i++)
            sum += l->weights[o * l->inputs + i] * input[i];
        l->output[o] = sum > 0 ? sum : 0;
    }
}
int main(void)
{
    Layer l = {50, 30, malloc(6000), malloc(120), malloc(120)};
    float in[50];
    for (int i = 0; i < 1500; i++) l.weights[i] = (i % 9 - 4) * 0.25f;
    for (int i = 0; i < 30; i++) l.biases[i] = i * 0.1f;
    for (int i = 0; i < 50; i++) in[i] = i % 4;
    forward(&l, in);
    for (int i = 0; i < 30; i++) printf("%g\n", l.output[i]);
    return 0;
}
