// device: softmax
#include <stdio.h>
#include <math.h>
typedef struct { float *data; int shape[2]; } tensor;
void softmax(tensor t)
{
    for (int i = 0; i < t.shape[0]; i++) {
        float *row = t.data + i * t.shape[1];
        float m = row[0], sum = 0;
        for (int j = 1; j < t.shape[1]; j++)
            m = fmaxf(m, row[j]);
        for (int j = 0; j < t.shape[1]; j++) {
            row[j] = expf(row[j] - m);
            sum += row[j];
        }
        for (int j = 0; j < t.shape[1]; j++)
            row[j] /= sum;
    }
}
int main(void)
{
    float d[6 * 9];
    for (int i = 0; i < 54; i++) d[i] = (i * 17 % 23) * 0.25f;
    tensor t = {d, {6, 9}};
    softmax(t);
    printf("%.6f %.6f %.6f\n", d[0], d[26], d[53]);
    return 0;
}
