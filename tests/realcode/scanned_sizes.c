// device: gather main
#include <stdio.h>
#include <stdlib.h>
/* sizes that are read from a text, as programs read them from arguments or files */
void gather(int count, int most, const int *place, const float *table, float *found)
{
    for (int i = 0; i < count; i++)
        found[i] = 2 * table[place[i]] + most % 3;
}
int main(int argc, char **argv)
{
    int count, most, total = 0;
    if (sscanf(argc > 1 ? argv[1] : "57", "%d", &count) != 1 || count < 1)
        return 1;
    if (sscanf("40", "%d", &most) != 1)
        return 1;
    int *place = malloc(count * sizeof *place), *histogram = malloc(most * sizeof(int));
    float *table = (float *)malloc(sizeof(float) * most), *found = malloc(count * sizeof *found);
    for (int i = 0; i < count; i++)
        place[i] = i * 7 % most;
    for (int i = 0; i < most; i++) {
        table[i] = i * 0.5f;
        histogram[i] = i % 5;
    }
    gather(count, most, place, table, found);
    for (int i = 0; i < count; i++)
        total += histogram[place[i]];
    for (int i = 0; i < count; i++)
        printf("%g\n", found[i]);
    printf("%d\n", total);
    return 0;
}
