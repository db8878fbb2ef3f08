// flags: --target emulator
/* The recursive filter of deriche: ym1 and ym2 are expanded over both loops, and a copy stores ym1 into ym2.
 * The certificate compared the elements of the expanded array with those of the scalar of its name, and isl
 * refused: values and instances stayed open. */
#include <stdio.h>
#define W 20
#define H 12

static double in[W][H], out[W][H];

static void filter(double a1, double a2, double b1, double b2) {
  double xm1, ym1, ym2;
#pragma scop
  for (int i = 0; i < W; i++) {
    ym1 = 0.0;
    ym2 = 0.0;
    xm1 = 0.0;
    for (int j = 0; j < H; j++) {
      out[i][j] = a1 * in[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
      xm1 = in[i][j];
      ym2 = ym1;
      ym1 = out[i][j];
    }
  }
#pragma endscop
}

int main(void) {
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++)
      in[i][j] = (i * 7 + j * 3) % 11 * 0.25;
  filter(0.5, 0.25, 0.125, 0.0625);
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++)
      printf("%a\n", out[i][j]);
  return 0;
}
