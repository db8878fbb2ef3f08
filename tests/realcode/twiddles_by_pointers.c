// device: twiddles turn
#include <stdio.h>

typedef struct { float r, i; } cpx;
struct state { int nfft; cpx *twiddles, *scratch; };

void twiddles(struct state *st, int n)
{
    for (int i = 0; i < n; ++i) {
        float phase = 0.125f * i;
        (st->twiddles + i)->r = 1.0f - phase * phase;
        (st->twiddles + i)->i = phase;
    }
}

void turn(const struct state *st, int n, cpx *restrict out)
{
    for (int i = 0; i < n; i++) {
        cpx t = *(st->twiddles + n - 1 - i);
        (out + i)->r = t.r * (st->scratch + i)->r - t.i * (st->scratch + i)->i;
        (out + i)->i = t.r * (st->scratch + i)->i + t.i * (*(st->scratch + i)).r;
    }
}

int main(void)
{
    cpx t[40], s[40], o[40];
    struct state st = {40, t, s};
    twiddles(&st, 40);
    for (int i = 0; i < 40; i++)
        s[i] = (cpx){0.5f * i, 2.0f - i};
    turn(&st, 40, o);
    for (int i = 0; i < 40; i += 9)
        printf("%g %g %g %g\n", t[i].r, t[i].i, o[i].r, o[i].i);
    return 0;
}
