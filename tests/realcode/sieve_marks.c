// device:
#include <stdio.h>
#include <string.h>
char composite[1000];
int main(void)
{
    int count = 0;
    memset(composite, 0, sizeof(composite));
    for (int i = 2; i * i < 1000; i++)
        if (!composite[i])
            for (int j = i * i; j < 1000; j += i)
                composite[j] = 1;
    for (int i = 2; i < 1000; i++) if (!composite[i]) count++;
    printf("%d\n", count);
    return 0;
}
