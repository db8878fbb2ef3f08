// device: im2col
#include <stdio.h>
static float pixel(const float *im, int height, int width, int row, int col, int channel, int pad)
{
    row -= pad;
    col -= pad;
    if (row < 0 || col < 0 || row >= height || col >= width) return 0;
    return im[col + width * (row + height * channel)];
}
void im2col(const float *data, int channels, int height, int width, int ksize, int stride, int pad, float *out)
{
    int c, h, w;
    int height_col = (height + 2 * pad - ksize) / stride + 1;
    int width_col = (width + 2 * pad - ksize) / stride + 1;
    int channels_col = channels * ksize * ksize;
    for (c = 0; c < channels_col; ++c) {
        int w_offset = c % ksize;
        int h_offset = (c / ksize) % ksize;
        int c_im = c / ksize / ksize;
        for (h = 0; h < height_col; ++h) {
            for (w = 0; w < width_col; ++w) {
                int im_row = h_offset + h * stride;
                int im_col = w_offset + w * stride;
                int col_index = (c * height_col + h) * width_col + w;
                out[col_index] = pixel(data, height, width, im_row, im_col, c_im, pad);
            }
        }
    }
}
int main(void)
{
    static float in[2 * 10 * 12], out[2 * 9 * 10 * 12];
    for (int i = 0; i < 240; i++) in[i] = i;
    im2col(in, 2, 10, 12, 3, 1, 1, out);
    double s = 0;
    for (int i = 0; i < 2 * 9 * 120; i++) s += out[i] * (i % 7);
    printf("%.10g\n", s);
    return 0;
}
