/* Runs a kernel's program, whose main is compiled as `program_main`, once for each group of arguments:
 *
 *     mm 31 , 31 32 33 , 100
 *
 * In one process the checks and timings start the GPU once, and the generated code meets one size after another.
 */
#include <stdio.h>
#include <string.h>

int program_main(int argc, char **argv);

int main(int argc, char **argv)
{
    for (int first = 1; first <= argc; ) {
        int end = first;
        while (end < argc && strcmp(argv[end], ",") != 0)
            end++;
        char *group[16] = {argv[0]};
        int count = 1;
        printf("#");
        for (int k = first; k < end && count < 15; k++) {
            printf(" %s", argv[k]);
            group[count++] = argv[k];
        }
        printf("\n");
        int status = program_main(count, group);
        if (status)
            return status;
        first = end + 1;
    }
    return 0;
}
