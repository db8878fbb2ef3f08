// flags: --device 8800gtx
// The same, and the last value is wanted afterwards: a copy of it follows.
float squares(int n, float x[restrict n], float y[restrict n])
{
    float t = 0;
#pragma scop
    for (int i = 0; i < n; i++) {
        t = x[i] + 1;
        y[i] = t * t;
    }
#pragma endscop
    return t;
}
