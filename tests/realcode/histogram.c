// device:
#include <stdio.h>
void histogram(int n, const unsigned char *data, int *bins)
{
    for (int b = 0; b < 256; b++) bins[b] = 0;
    for (int i = 0; i < n; i++) bins[data[i]]++;
}
int main(void)
{
    unsigned char d[2000];
    int bins[256];
    for (int i = 0; i < 2000; i++) d[i] = (i * i) >> 3;
    histogram(2000, d, bins);
    for (int i = 0; i < 256; i += 15) printf("%d ", bins[i]);
    printf("\n");
    return 0;
}
