"""Programs whose arrays may stay on the device: regions called in a time loop, and the host between them.

`program(seed)` is a file, beside which `OTHER` is compiled as it is. `differs` runs it on the emulator with
the host's copies poisoned that are older than the device's: a copy that is missed shows in what it prints.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.runtime.build import execute
from polygpu.runtime.execute import run_program
from polygpu.runtime.toolchain import find_cc

OTHER = """\
#include <stdio.h>
void seen(const float *p, int k) { printf("seen %g\\n", p[k]); }
void changed(float *p, int k) { p[k] += 1; }
void other_step(int n, const float *a, float *b);
void through(int n, const float *a, float *b) { other_step(n, a, b); b[3] += a[2]; }
"""
HEAD = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 37
#define SWAP(x, y) do { float *swapped = x; x = y; y = swapped; } while (0)
void seen(const float *p, int k);
void changed(float *p, int k);
void through(int n, const float *a, float *b);
struct pair { float *first, *second; int count; };
static float ga[N * N];
float gb[N][N];
int counts[N];
static int calls;
void step(int n, const float *a, float *b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}
void other_step(int n, const float *a, float *b) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < n; j++)
      b[i * n + j] = a[i * n + j - 1] + 0.5f;
}
void scale(int m, float *a, float by) {
  for (int i = 0; i < m; i++) a[i] *= by;
}
void add(int m, float *restrict a, const float *restrict b) {
  for (int i = 0; i < m; i++) a[i] += 0.5f * b[i];
}
void global(float by) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      gb[i][j] = gb[i][j] * by + 1;
}
void count(int n, int by) {
  for (int i = 0; i < n; i++) counts[i] += by;
}
static float total(int m, const float *a) {
  float s = 0;
  for (int i = 0; i < m; i++) s += a[i];
  return s;
}
void first(const float *a, float *out) {
  for (int i = 0; i < 4; i++) out[i] = a[i] * 2;
}
"""


class Writer:
    """Draws statements; `depth` is that of loops and branches."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def array(self, arrays: tuple[str, ...]) -> str:
        return self.random.choice(arrays)

    def place(self) -> int:
        return self.random.randrange(37 * 37)

    def call(self, arrays: tuple[str, ...]) -> str:
        a, b = self.array(arrays), self.array(arrays)
        while a == b:
            b = self.array(arrays)
        by = self.pick("0.5f", "1.25f", "-0.75f")
        return self.pick(
            f"step(n, {a}, {b});",
            f"step(n, {a}, {b});",
            f"other_step(n, {a}, {b});",
            f"scale(n * n, {a}, {by});",
            f"scale(n, {a}, {by});",
            f"scale(n * n - 5, {a} + 5, {by});",
            f"add(n * n, {a}, {b});",
            f"add(n, {a} + n, {b});",
            f"global({by});",
            "count(n, 2);",
            f"first({a}, few);",
            f"s += total(n * n, {a});",
        )

    def host(self, arrays: tuple[str, ...]) -> str:
        a, k = self.array(arrays), self.place()
        b = self.array(arrays)
        return self.pick(
            f'printf("%g\\n", {a}[{k}]);',
            f'for (int k = {k % 9}; k < n * n; k += 41) printf("%g ", {a}[k]);',
            f"for (int k = {k % 9}; k < n * n; k += 43) {{ if (k > 900) break; s += {a}[k]; }}",
            f"for (int k = {k % 9}; k < n * n; k += 47) {a}[k] = k % 5 + s * 0.125f;",
            f"{a}[{k}] = t;",
            f"{a}[{k}] += {b}[{self.place()}];",
            f"s += {a}[{k}] * 0.5f;",
            f"for (int k = 0; k < 9; k++) {a}[k * 7] += s > 0 ? 1 : 2;",
            f"seen({a}, {k});",
            f"changed({a}, {k});",
            f"through(n, {a}, {arrays[(arrays.index(a) + 1) % len(arrays)] if b == a else b});",
            f"memset({a}, 0, n * sizeof *{a});",
            f"memcpy({a} + n, {b}, n * sizeof(float));" if a != b else ";",
            'printf("%d %g\\n", counts[t % N], gb[t % N][2]);',
            "counts[t % N]++;",
            "gb[1][t % N] = 3;",
            "few[1] += 0.5f; s += few[2];",
            f"{{ float *e = {a} + {k}; *e -= 1; }}",
            f"{{ struct pair both = {{{a}, {a} + 3, 2}}; both.second[both.count] = 4; s += both.first[5]; }}",
            "calls++;",
            f"if ({a}[{k}] > 1e6f) {a}[{k}] = 0;",
            f'fprintf(stdout, "%s %g\\n", "value", (double){a}[{k}]);',
        )

    def statement(self, arrays: tuple[str, ...], depth: int, loop: bool) -> str:
        draw = self.random.random()
        if draw < 0.5:
            return self.call(arrays)
        if draw < 0.66:
            return self.host(arrays)
        if draw < 0.75:
            a, b = self.random.sample([x for x in arrays if x != "ga"], 2)
            self.count += 1
            return self.pick(
                f"{{ float *swap{self.count} = {a}; {a} = {b}; {b} = swap{self.count}; }}", f"SWAP({a}, {b});"
            )
        if depth > 2:
            return self.pick("s *= 0.5f;", ";", self.call(arrays))
        inner = self.statement(arrays, depth + 1, loop)
        if draw < 0.8:
            return f"if (t % {self.random.randrange(2, 4)} == {self.random.randrange(2)}) {inner}"
        if draw < 0.86:
            other = self.statement(arrays, depth + 1, loop)
            return f"if (s > {self.random.randrange(9)}) {{ {inner} }}\n  else {other}"
        if draw < 0.9:
            return f"for (int r{depth} = 0; r{depth} < 2; r{depth}++) {inner}"
        if draw < 0.93:
            return f"for (int r{depth} = 0; r{depth} < 3; r{depth}++) {{ {inner} {self.call(arrays)} }}"
        if draw < 0.96:
            jump = self.pick("break;", "continue;") if loop else ";"
            return f"if (t == {self.random.randrange(4)}) {{ {self.host(arrays)} {jump} }}"
        return f"{{ float few[8] = {{{self.place()}}}; {self.call(arrays)} s += few[0]; }}"


def program(seed: int) -> str:
    """The program of that seed: it prints what it computes."""
    w = Writer(seed)
    inside = ("a", "b")
    helpers = []
    for name in ("helper", "second"):
        body = "\n  ".join(w.statement(inside, 1, False) for _ in range(w.random.randrange(1, 5)))
        early = "if (t == 2) return s;\n  " if w.random.random() < 0.3 else ""
        helpers.append(
            f"{w.pick('static ', '')}float {name}(int n, int t, float *a, float *b, float few[8]) {{\n"
            f"  float s = t;\n  {early}{body}\n  return s;\n}}\n"
        )
    arrays = ("a", "b", "c", "ga")
    calls = [
        f"s += {name}(n, t, {a}, {b}, few);"
        for name in ("helper", "second")
        for a, b in (("a", "b"), ("c", "ga"))
    ]
    drawn = [w.statement(arrays, 0, True) for _ in range(w.random.randrange(3, 9))]
    drawn += [w.random.choice(calls) for _ in range(w.random.randrange(3))]
    drawn += w.random.choice(
        (
            [],
            [],
            ["if (s > 1e20f) return 3;"],
            ["if (s < -1e9f) break;"],
            ["free(c); c = new_array(n, t);"],
            ["if (t == 3) exit(0);"],
        )
    )
    w.random.shuffle(drawn)
    body = "\n    ".join(drawn)
    head = w.pick("for (int t = 0; t < 5; t++) {", "int t = 0;\n  while (t < 5) {\n    t++;")
    return (
        HEAD
        + "".join(helpers)
        + "static float *new_array(int n, int seed) {\n  float *p = malloc(n * n * sizeof *p);\n"
        + "  for (int k = 0; k < n * n; k++) p[k] = (k * 7 + seed) % 23;\n  return p;\n}\n"
        + 'static float *kept;\nstatic void at_end(void) { printf("end %g\\n", kept[40]); }\n'
        + "int main(void) {\n  int n = N;\n  float s = 1, few[8] = {0};\n"
        + "  float *a = new_array(n, 1), *b = new_array(n, 2), *c = new_array(n, 3);\n"
        + "  kept = b; atexit(at_end);\n"
        + "  for (int k = 0; k < n * n; k++) ga[k] = k % 11;\n"
        + f"  {head}\n    {body}\n  }}\n"
        + '  for (int k = 0; k < n * n; k += 3) printf("%g %g %g %g\\n", a[k], b[k], c[k], ga[k]);\n'
        + '  for (int k = 0; k < n; k++) printf("%d %g %g\\n", counts[k], gb[k][k], few[k % 8]);\n'
        + '  printf("%g %d\\n", s, calls);\n  return 0;\n}\n'
    )


def differs(seed: int, folder: Path, text: Callable[[int], str] = program) -> str:
    """What is wrong with the program of that seed, "" for nothing. Raises Diagnosed."""
    source, other = folder / f"p{seed}.c", folder / "other.c"
    source.write_text(text(seed))
    other.write_text(OTHER)
    files = compile_file(str(source), Options(target="emulator", level=0)).files
    paths = [folder / f"p{seed}{suffix}" for suffix in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_text(content)
    cc, flags = find_cc(), ("-O1", "-w", "-ffp-contract=off")
    original, compiled = folder / "original", folder / "compiled"
    execute(
        (*cc, *flags, str(source), str(other), "-o", str(original), "-lm"),
        (*cc, *flags, "-DPOLYGPU_COUNTERS=0", *map(str, paths), str(other), "-o", str(compiled), "-lm"),
    )
    runs = [
        run_program(p, capture=True, environment={"POLYGPU_POISON": "1"}, timeout=60)
        for p in (original, compiled)
    ]
    if runs[0].status != runs[1].status:
        return f"status {runs[1].status}, but {runs[0].status} of the original"
    return "" if runs[0].stdout == runs[1].stdout else "it prints something else"


def kept(host: str) -> bool:
    return "polygpu_keep();" in host


def main(first: int, count: int) -> None:
    wrong = scopes = 0
    for seed in range(first, first + count):
        with TemporaryDirectory() as folder:
            found = differs(seed, Path(folder))
            scopes += kept(Path(folder, f"p{seed}_host.c").read_text())
        if found:
            wrong += 1
            print(seed, found, flush=True)
    print(f"{count} programs, {scopes} with scopes, {wrong} wrong")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
