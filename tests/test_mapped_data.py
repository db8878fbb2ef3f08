"""Programs of several files whose pragmas map arrays to the device: results, and what crosses the bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.printing import dialects
from tests.new_dialect.polygpu_hip import HIP
from tests.test_resident_programs import GPU, built, output, profile, require

TARGETS = ["emulator", *(pytest.param(target, marks=pytest.mark.slow) for target in ("opencl", "hip")), GPU]
WHOLE = 48 * 48 * 4
OPENMP = (
    """\
#include <stdio.h>
struct grid { int n; float *u, *v; };
void grid_open(struct grid *g, int n);
void grid_close(struct grid *g);
void grid_step(struct grid *g);
float grid_norm(const struct grid *g);
int main(void) {
  struct grid g;
  grid_open(&g, 48);
  for (int t = 0; t < 12; t++) {
    grid_step(&g);
    if (t == 7) printf("%.9g\\n", grid_norm(&g));
  }
  grid_close(&g);
  return 0;
}
""",
    """\
#include <stdio.h>
#include <stdlib.h>
struct grid { int n; float *u, *v; };
void grid_open(struct grid *g, int n) {
  float *u = malloc(n * n * sizeof *u), *v = malloc(n * n * sizeof *v);
  for (int i = 0; i < 48 * 48; i++) {
    u[i] = v[i] = i % 17;
    if (i == 7) printf("%g\\n", u[i]);
  }
  g->n = n, g->u = u, g->v = v;
#pragma omp target enter data map(to: u[0:n*n], v[0:n*n])
}
void grid_close(struct grid *g) {
  float *u = g->u, *v = g->v;
  int n = g->n;
#pragma omp target exit data map(from: u[0:n*n]) map(delete: v[0:n*n])
  for (int i = 0; i < n; i++) printf("%.9g\\n", u[i * n + i]);
  free(u);
  free(v);
}
float grid_norm(const struct grid *g) {
  const float *u = g->u;
  int n = g->n;
#pragma omp target update from(u[n:n])
  float s = 0;
  for (int i = 0; i < n; i++) s += u[n + i];
  return s;
}
""",
    """\
struct grid { int n; float *u, *v; };
void grid_step(struct grid *g) {
  int n = g->n;
  float *u = g->u, *v = g->v;
#pragma omp target teams distribute parallel for collapse(2) map(present, alloc: u[0:n*n], v[0:n*n])
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) v[i * n + j] = 0.25f * (u[(i - 1) * n + j] + u[(i + 1) * n + j]);
#pragma omp target teams distribute parallel for map(present, alloc: u[0:n*n], v[0:n*n])
  for (int i = 0; i < n * n; i++) u[i] = v[i];
}
""",
)
OPENACC = (
    """\
#include <stdio.h>
#define N 48
float field[N][N], other[N][N];
extern void smooth(int n, float a[][N], float b[][N]);
extern void poke(float *row, int n);
static void look(const char *what) {
  float s = 0;
  for (int i = 0; i < N; i++) s += field[i][i] * (i + 1);
  printf("%s %.9g\\n", what, s);
}
int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) field[i][j] = (i * 7 + j * 3) % 11;
#pragma acc enter data copyin(field) create(other)
  for (int t = 0; t < 6; t++) {
    smooth(N, field, other);
    if (t == 2) {
#pragma acc update self(field[10:4][0:N])
      poke(field[12], N);
#pragma acc update device(field[10:4][0:N])
    }
    if (t == 4) look("in the middle");
  }
#pragma acc exit data copyout(field) delete(other)
  look("at the end");
  return 0;
}
""",
    """\
#define N 48
void smooth(int n, float a[][N], float b[][N]) {
#pragma acc data present(a[0:n][0:N], b[0:n][0:N])
  {
#pragma acc parallel loop collapse(2)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < N - 1; j++) b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1]);
#pragma acc parallel loop collapse(2)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < N - 1; j++) a[i][j] = b[i][j];
  }
}
""",
    """\
void poke(float *row, int n) {
  if (n > 50) goto skip;
  row[0] = 100;
skip:
  row[1] = row[2] + 2;
}
""",
)
# Nothing sees what `unseen` does but the pragmas around its call.
UNSEEN = (
    """\
#include <stdio.h>
#include <stdlib.h>
void (*unseen)(float *, int);
void twice(int n, float *a) {
  for (int i = 0; i < n; i++) a[i] = 2 * a[i] + 1;
}
static void raise(float *a, int n) { a[n / 2] += 100; }
int main(int argc, char **argv) {
  int n = 2000;
  float *a = calloc(n, 4);
  unseen = raise;
#pragma omp target data map(tofrom: a[0:n])
  for (int t = 0; t < 9; t++) {
    twice(n, a);
    if (t % 4 == 3) {
#pragma omp target update from(a[n/2:1])
      unseen(a, n);
#pragma omp target update to(a[n/2:1])
    }
  }
  for (int i = 0; i < n; i += 250) printf("%.9g\\n", a[i]);
  return argc > 5;
}
""",
)


# The loop that fills has no pragma: for who wrote it, the host has the values that `update` copies.
FILLED = (
    """\
#include <stdio.h>
#include <stdlib.h>
static double *made(int n) {
  double *a = malloc(n * sizeof *a);
#pragma acc enter data create(a[0:n])
  return a;
}
static void fill(double *a, int n, double value) {
  for (int i = 0; i < n; i++) a[i] = value + i % 7;
#pragma acc update device(a[0:n])
}
int main(int argc, char **argv) {
  int n = 1000 + argc;
  double *a = made(n), *b = made(n);
  fill(b, n, 2.5);
#pragma acc parallel loop present(a[0:n], b[0:n])
  for (int i = 0; i < n; i++) a[i] = b[i] + i;
#pragma acc update self(a[0:n])
  for (int i = 0; i < n; i += 250) printf("%.17g\\n", a[i]);
#pragma acc exit data delete(a, b)
  free(a);
  free(b);
  return 0;
}
""",
)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(request.param)
    return str(request.param)


def moved(folder: Path, target: str, *texts: str) -> tuple[int, int]:
    """The bytes that cross the bus there and back in a program that prints what the original prints."""
    original, compiled = built(folder, target, *texts)
    assert output(compiled) == output(original)
    regions = profile(compiled)["regions"]
    return sum(r["bytes_in"] for r in regions), sum(r["bytes_out"] for r in regions)


@pytest.mark.slow
def test_what_a_function_of_another_file_maps_stays(tmp_path: Path, target: str) -> None:
    """Both arrays go there once; the host reads them in the middle and at the end."""
    there, back = moved(tmp_path, target, *OPENMP)
    assert there <= 2 * WHOLE
    assert back <= 4 * WHOLE


@pytest.mark.slow
def test_updates_are_honoured(tmp_path: Path, target: str) -> None:
    there, back = moved(tmp_path, target, *OPENACC)
    assert there <= 4 * WHOLE
    assert back <= 6 * WHOLE


def test_what_pragmas_say_of_code_that_nobody_sees(tmp_path: Path, target: str) -> None:
    moved(tmp_path, target, *UNSEEN)


def test_the_host_has_what_loops_without_a_pragma_have_made(tmp_path: Path, target: str) -> None:
    moved(tmp_path, target, *FILLED)
