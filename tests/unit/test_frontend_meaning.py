"""The scop means what the C means: a scop run by the definition gives what the compiled program gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.frontend_interpreter import Interpreter, Memory
from tests.unit.frontend_text import only_scop

ROWS, COLUMNS = 7, 9
SIZE = ROWS * COLUMNS

HEAD = """
#include <math.h>
#include <stdio.h>
#define max(a, b) ((a) > (b) ? (a) : (b))
static int smaller(int a, int b) { if (a < b) return a; return b; }
static void scale(double *x, float by) { *x = *x * by; }
static double dot3(const double *x, const double y[]) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }
static void row(int m, double *restrict r, double x) { for (int i = 0; i < m; i++) r[i] += x * i; }
static void sum(double *s, const double *x, int n) { for (int j = 0; j < n; j++) *s += x[j]; }
static void swap(int *k, int i, int j) { int t = k[i]; k[i] = k[j]; k[j] = t; }
static void twice(int *k, int i) { swap(k, i, i + 1); swap(k, i, i + 2); }
static float single(const double *x, int i) { float t = x[i]; return t / 4; }
static int whole(const double *x) { return *x / 2; }
static double near(const double *x, int n, int i) { if (i < 0) return 0; if (i >= n) return x[n - 1];
    return x[i]; }
static int sign(const double *x) { if (*x < 0) return -1; else if (*x > 0) return 1; return 0; }
static void guarded(double *x, double *y) { if (*x < 0) return; *y += *x; if (*y > 5) { *y = 1; return; }
    *x = 0; }
static double pick(const double *x, int k) { switch (k % 4) { case 0: return x[0]; case 1: case 2: return
    x[k]; } return -1; }
static double *next(double *x, int i) { return x + i + 1; }
static double mean(const double *x) { double t[3]; for (int i = 0; i < 3; i++) t[i] = x[i] / 3; return
    t[0] + t[1] + t[2]; }
static void rows(int n, int m, double a[n][m]) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
    a[i][j] += i; }
static void narrow(int *k, char c) { k[0] = c * 2; }
static void lowered(int n, double *x) { n -= 1; x[0] += n; }
"""
MAIN = f"""
int main(void)
{{
    static double A[{SIZE}], x[{SIZE}];
    static int k[{SIZE}];
    for (int t = 0; t < {SIZE}; t++) {{ A[t] = t * 3 % 11 - 4; x[t] = t * 5 % 13 - 6; k[t] = t * 7
        % {COLUMNS}; }}
    f({ROWS}, {COLUMNS}, (void *)A, x, k);
    for (int t = 0; t < {SIZE}; t++) printf("%.17g %.17g %d\\n", A[t], x[t], k[t]);
}}
"""

REGIONS = {
    "triangle": "for (int i = 0; i < n; i++) for (int j = i; j < m; j++) A[i][j] = A[i][j] + A[j % n][i];",
    "downwards": """for (int i = n - 1; i >= 1; i -= 2) for (int j = m; j > 0; j--) A[i][j - 1] +=
        A[i - 1][j - 1] * j;""",
    "strides": """for (int i = 1; i < n; i += 3) for (int j = i; j <= m - 1; j = j + 2) { A[i][j]
        = x[i + j]; x[j] -= i; }""",
    "scalar": "double s = 0; for (int i = 0; i < n; i++) { s += x[i]; x[i] = s; } x[n] = s;",
    "iterators": """int i, j; for (i = 0; i < n; i++) { for (j = 0; j < i; j++) x[j] += i; for (j =
        i; j < n; j++) x[j] -= j; }""",
    "tests": """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
        if (i > j && (i + j) % 3 == 0) A[i][j] = 1; else if (i == j || !(j < 5)) A[i][j] = 2; else
        A[i][j] -= 1;""",
    "data": """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
        if (j > 0 && A[i][j - 1] > 0) { double t = A[i][j]; if (t > 2) t = t / 2; A[i][j] = t +
        x[j]; } else x[j] += 1;""",
    "guards": """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
        if ((i > 0 && j < 4 && A[i - 1][j] > 0) || (j > i && x[j] < 3 && A[i][j] < 5)) A[i][j] += 2;
        else { double t = x[i]; if (i == 2 || t > 1) A[i][j] = t; else x[j] += 0.5; }""",
    "selects": """for (int i = 0; i < n; i++) x[i] = (i > 0 ? x[i - 1] : 7) + (x[i] > 0 ? 1 : i <
        3 ? A[i][0] : 2);""",
    "gather": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] += x[k[i] + k[j]];",
    "bounds": """for (int i = max(1, n - 3); i < smaller(n, m / 2 + 5) && i <= 100; i++)
        for (int j = (i - 3) / 2; j < (i & 3) + 2; j++) x[j + 9] += i >> 1;""",
    "division": "for (int i = -5; i < 6; i++) x[i + 5] = (i / 2) * 100 + i % 3;",
    "integers": """for (int i = 0; i < n; i++) { int at = i * 2 % 5; k[at] = k[i] / 2 * at; int
        odd = k[i] % 2; k[i] += odd; }""",
    "pointers": """for (int i = 0; i < n; i++) { double *row = A[i]; double *p = x + i; row[1] =
        *p; p[1] = *(row + 2); }""",
    "chained": """for (int i = 0; i < n - 1; i++) { x[i] = x[i + 1] = A[i][i]; A[i][0]++,
        --A[i][1]; k[i] *= 2; }""",
    "functions": """for (int i = 0; i < n; i++) x[i] = sqrt(fabs(x[i])) + smaller(k[i], 4) +
        max(x[i + 1], 0.5);""",
    "conversions": """for (int i = 0; i < n; i++) { k[i] = x[i] / 2; x[i] = (int)(A[i][0] / 2) + 'a'
        + 1u; k[i + 1] += 0.75; }""",
    "calls": """for (int i = 0; i < n; i++) { scale(&x[i], 0.5); double x_2 = x[i]; A[i][0] = dot3(A[i],
        &x[i]) + x_2; }""",
    "rows": """for (int i = 0; i < n; i++) row(m, A[i], x[i]); sum(&x[0], A[1], 3);""",
    "accumulated": "double s = 1; for (int i = 0; i < n; i++) { sum(&s, x, i); x[i] = s; }",
    "nested calls": "for (int i = 0; i < n; i++) twice(k, i);",
    "conversions of calls": """for (int i = 0; i < n; i++) { x[i] = single(x, i) + whole(&x[i + 1]) / 2;
        narrow(&k[i], x[i] * 10); }""",
    "clamped": "for (int i = 0; i < n; i++) A[i][0] = near(x, n, i - 1) + near(x, n, i + 1) * sign(&x[i]);",
    "returns": "for (int i = 0; i < n; i++) guarded(&x[i], &A[i][1]);",
    "guarded calls": """for (int i = 0; i < n; i++) { x[i] = k[i] > 2 ? single(x, i) : k[i] && x[i] > 0
        && dot3(x + i, A[i]) < 1;
        A[i][0] = i < 2 || pick(&x[i], k[i]) > 0 ? near(x, n, i) : 2; }""",
    "pointers of calls": """for (int i = 0; i < n; i++) { *next(x, i) += 1; double t = *next(x, 2 * i);
        A[i][1] = t; }""",
    "local arrays": "for (int i = 0; i < n; i++) { double t = mean(&x[i]); x[i] = t + mean(A[i]); }",
    "matrix": "rows(n, m, A);",
    "changed parameter": """int c = n; lowered(c, x); lowered(c, x); for (int i = 1; i < n; i++)
        lowered(i, &x[i]);""",
    "sequences": """for (int i = 0; i < n; i++) { k[i] > 3 ? scale(&x[i], 2) : swap(k, i, i + 1);
        x[i] < 0 && (scale(&x[i], 3), 1); scale(&x[i], 1), k[i] = 1; int t = (scale(&x[i], 2), k[i]);
        k[i] = t + 1; }""",
    "continue": """for (int i = 0; i < n; i++) { if (i == 3) continue; x[i] += 1; if (x[i] > 2) { if
        (k[i] < 4) continue;
        int x_2 = k[i]; x[i] -= x_2; } else { double t = x[i + 1]; x[i] += t; if (t < 0) continue; }
        double t = x[i]; A[i][2] = t; }""",
    "continue inside": """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { if (i > j) { if ((i +
        j) % 2) continue; A[i][j] = 3; }
        A[i][j] -= 1; if (j == 4) continue; x[j] += A[i][j]; }""",
    "goto": """for (int i = 0; i < n; i++) { if (x[i] > 0) goto a; A[i][0] = 1; if (k[i] < 3) goto b;
        x[i] += 1; goto b;
        a: x[i] -= k[i]; b: A[i][1] = x[i]; if (i > 3) goto c; k[i] = 2; c: ; }""",
    "switch": """for (int i = 0; i < n; i++) { switch (k[i]) { case 0: x[i] = 1; break; case 1: case -2:
        x[i] += 2;
        default: x[i] -= 1; break; case 4: { double t = x[i + 1]; if (t > 0) break; x[i] = t; } case 5:
        continue; } k[i] += 1; }""",
    "affine switch": """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) switch ((i + j) % 4) {
        case 1: A[i][j] = 1; break;
        case 2: A[i][j] += 1; case 3: x[j] += i; }""",
    "break": """for (int i = 0; i < n; i++) { if (i > 4 || i >= m) break; x[i] = 1; for (int j = i; j <
        m; j += 2)
        { A[i][j] += 1; if (j >= i + 3) break; x[j] -= 1; } for (int j = m - 1; j >= 0; j--) { k[j] += j;
        if (j < i)
        break; } }""",
    "nothing": """for (int i = n; i < n; i++) x[i] = 0; for (int i = 0; i < 3; i++) for (int j =
        i; j < 0; j++) x[j] = 1;""",
    "bounds_of_data": """for (int i = 0; i < n; i++) { double s = i; for (int j = k[i]; j < k[i + 1] + 3;
        j++) s += x[j] * x[k[j]]; A[i][1] = s; }""",
    "steps_of_data": "for (int i = 0; i < n; i++) for (int j = 1, e = k[i]; j <= e; j *= 2) x[i] += A[1][j];",
    "while_it_holds": """for (int i = 0; i < n; i++) { int at = i; while (x[at] < 4 && at < 20) { int to = at;
        at = to + 1 + k[to] % 3; } k[i] = at; }""",
    "do_until": """for (int i = 0; i < n; i++) { int c = 0; do { c += 2; if (c > 9) break; if (c % 3 == 1)
        continue; c++; } while (c < k[i] + 4); x[i] = c; }""",
    "first_of_a_row": """int i, j; for (i = 0; i < n; i++) { for (j = 0; j < m; j++) if (A[i][j] > 4) break;
        k[i] = j; } for (j = 0; j < n; j++) x[j] += 1; for (i = 0; i < n; i++) for (j = k[i]; j > 0; j -= 2)
        x[i] -= j;""",
    "breaks": """for (int i = 0; i < n; i++) for (int j = 0; j < k[i]; j++) { if (x[j] < -5) break;
        A[i][0] += x[j]; if (A[i][0] > 9) { A[i][0] -= 1; break; } A[i][0] -= 0.5; if (x[j] > 5) { x[i + 40]
        += 1; if (j > 3) break; } else if (j == 2) continue; A[i][0] += 0.25; }""",
    "continues": """for (int i = 0; i < n; i++) for (int j = 0; j < k[i] + 2; j++) { if (x[j] < 0)
        continue; x[i + 30] += j; if (k[j] % 2) { x[i + 30] -= 3; if (k[j] % 3) continue; x[i + 30] *= 2; }
        x[i + 30]++; }""",
    "loops_of_tests": """for (int i = 0; i < n; i++) if (x[i] > 0) { for (int j = 0; j < m; j++) A[i][2] +=
        x[j]; } else { int c = 0, j; for (j = m - 1; j > k[i]; j--) { c += j; for (int h = 0; h < j; h++) {
        if (h * h > c) break; c -= k[h]; } } A[i][3] = c + j; }""",
    "bisection": """for (int i = 0; i < n; i++) { int low = 0, high = 60; while (low < high) { int mid =
        (low + high) / 2; if (x[mid] < A[i][0]) low = mid + 1; else high = mid; } k[i] = low; }""",
    "scalars_stay": """int last = -1; double best; for (int i = 0; i < n; i++) { best = x[i]; for (int j = i;
        x[j] < 5 && j < 60; j++) if (x[j] > best) { best = x[j]; last = j; } A[i][0] = best;
        k[i] = last; }""",
    "forever": """for (int i = 0; i < n; i++) for (;;) { if (x[i] > 3) break; x[i] += 2; if (k[i] > 7) {
        break; } }""",
}


def expected(source: Path, directory: Path) -> list[list[float]]:
    program = directory / "program"
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    command = [str(compiler), "-O0", "-w", "-ffp-contract=off", str(source), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


# whose rows, once they are flattened, nothing tells apart
WITH_ROWS = {"first_of_a_row"}
CASES = [
    (name, flat)
    for name, body in REGIONS.items()
    for flat in (False, True)
    if not flat or ("A[" in body and name not in WITH_ROWS)
]


@pytest.mark.parametrize(("name", "flat"), CASES)
def test_region(name: str, flat: bool, tmp_path: Path) -> None:
    body = REGIONS[name]
    matrix = "double *A" if flat else "double A[n][m]"
    parameters = f"int n, int m, {matrix}, double *x, int *k"
    if flat:
        body = flattened(body)
    text = f"{HEAD}\nvoid f({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n{MAIN}"
    scop = only_scop(tmp_path, text)
    memory: Memory = {}
    two = len(next((a.extents for a in scop.arrays if a.name == "A"), (None, None))) == 2
    for t in range(SIZE):
        where = divmod(t, COLUMNS) if two else (t,)
        memory[("A", "", *where)] = float(t * 3 % 11 - 4)
        memory[("x", "", t)] = float(t * 5 % 13 - 6)
        memory[("k", "", t)] = t * 7 % COLUMNS
    Interpreter(scop, {"n": ROWS, "m": COLUMNS}, memory, bound=12).run()
    found = []
    for t in range(SIZE):
        where = divmod(t, COLUMNS) if two else (t,)
        found.append([memory[("A", "", *where)], memory[("x", "", t)], memory[("k", "", t)]])
    assert found == expected(tmp_path / "in.c", tmp_path)


def flattened(body: str) -> str:
    """`A[i][j]` as `A[(i) * m + (j)]`, and a row `A[i]` as `&A[(i) * m]`."""
    result, at = "", 0
    while (start := body.find("A[", at)) >= 0:
        result += body[at:start]
        first, at = subscript(body, start + 1)
        if body[at] == "[":
            second, at = subscript(body, at)
            result += f"A[({first}) * m + ({second})]"
        else:
            result += f"&A[({first}) * m]"
    return result + body[at:]


def subscript(text: str, opening: int) -> tuple[str, int]:
    """(text in the brackets that open at `opening`, offset after them)."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return text[opening + 1 : at], at + 1
    raise AssertionError(text)
