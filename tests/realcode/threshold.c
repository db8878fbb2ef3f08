// device: threshold
#include <stdio.h>
void threshold(unsigned char *img, int n, unsigned char t)
{
    int i = 0;
    while (i < n) {
        if (img[i] > t)
            img[i] = 255;
        else
            img[i] = 0;
        i++;
    }
}
int main(void)
{
    unsigned char img[600];
    int on = 0;
    for (int i = 0; i < 600; i++) img[i] = i * 11;
    threshold(img, 600, 99);
    for (int i = 0; i < 600; i++) on += img[i] != 0;
    printf("%d\n", on);
    return 0;
}
