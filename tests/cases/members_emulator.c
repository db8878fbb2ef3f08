// flags: --device 8800gtx --target emulator
// An array within a structure behind a pointer, and bounds in elements of an array.
struct grid {
    int cells[2];
    float *rows, t[8][9];
};

void relax(struct grid *g)
{
#pragma scop
    for (int i = 1; i < g->cells[0] - 1; i++)
        for (int j = 0; j < g->cells[1]; j++)
            g->t[i][j] += g->rows[i * g->cells[1] + j];
#pragma endscop
}
