// flags: --device 8800gtx
// Members are arrays of their own to the dependence analysis: x is written while y is read.
struct point {
    float x, y;
};

void shear(int n, struct point p[restrict n])
{
#pragma scop
    for (int i = 0; i < n - 1; i++)
        p[i].x = p[i].x + p[i + 1].y;
#pragma endscop
}
