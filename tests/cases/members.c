// flags: --device 8800gtx
// A size is read once, a pointer in a structure is an array; what the loop writes may not be the size itself.
struct image {
    int width, height;
    float gain;
    float *data;
};

void amplify(struct image *img, const float offsets[restrict])
{
#pragma scop
    for (int i = 0; i < img->width * img->height; i++)
        img->data[i] = img->gain * img->data[i] + offsets[0];
#pragma endscop
}
