"""Scalars and pointers that a region assigns: what is known of them is what C computes.

Each region below is lifted, run by the scop's definition and compared with the compiled program, at several
sizes: with no iteration, where a host test fails and the original would run, and with many.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from polygpu.frontend import FrontendOptions, lift
from polygpu.model.expr import Binary, Int, Name, type_of
from polygpu.model.scop import Scop, Store
from tests.unit.frontend_interpreter import Interpreter, Memory, Number, convert
from tests.unit.frontend_text import bodies, domain, errors, lifted, only_scop, region, shown

SIZES = ((6, 4), (0, 3), (3, 0), (1, 1), (4, 6))
BOUND = 9
LENGTH = 90
COMPARE = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
SCALARS = {"s": 5, "u": 3, "h": 2, "w": 40}  # parameters that regions change: int, unsigned, short, long
HEAD = "static long {name}(int n, int m, double *x, double *y, int *k, int s, unsigned u, short h, long w)"

REGIONS = {
    # forward substitution
    "assigned": "for (int i = 0; i < n; i++) { s = i + 2 * m; x[s] = y[s + 1]; }",
    "declared outside": "int c; for (int i = 0; i < n; i++) { c = i + 1; x[c] += c; } s = n;",
    "declared inside": "for (int i = 0; i < n; i++) { int c; c = i; c += 3; x[c] = y[c] + c; s = c; }",
    "flattened": """int c; for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) { c = i + j * m; x[c]
        = y[c]; }""",
    "reassigned": "int a = n, b = a + 1; a = 7; for (int i = 0; i < n; i++) x[b] += a; s = a * b;",
    "of another": "int a, b; for (int i = 0; i < n; i++) { a = i; b = a * 2; a = 9; x[b] = a + s; } s = 1;",
    "gone iterator": "int c = 4; for (int i = 0; i < n; i++) c = i; x[c] = 1; s = c;",
    "in a bound": "for (int i = 0; i < n; i++) { s = i + 1; for (int j = 0; j < s; j++) x[i * 8 + j] += j; }",
    "in a test": "for (int i = 0; i < n; i++) { s = i - 2; if (s > 0) x[s] = 3; else x[i] = s; }",
    "shadowed": """int c = 3; for (int i = 0; i < n; i++) { int c = i; c++; x[c] += c; }
        for (int i = 0; i < n; i++) { c += 2; { int c = 1; x[c] *= 0.5; c = 4; x[c] += c; } x[i] += c; }
        s = c;""",
    "too large": """s = n; for (int t = 0; t < 2; t++) { s = s * s + s; s = s % 7; s = s * s + s - 3 *
        s; } x[3] = s;""",
    "from memory": "s = k[3]; for (int i = 0; i < n; i++) { x[i] = s; s = i; } s = s + k[2];",
    # joins
    "both branches": "for (int i = 0; i < n; i++) { if (i > 2) s = i; else s = i + m; x[s] = y[i]; }",
    "one branch": "for (int i = 0; i < n; i++) { int c = i; if (i > 2) c = i - 1; x[i] = y[c] + c; s = c; }",
    "clamped": """for (int i = 0; i < n; i++) { int l = i - 1, r = i + 1; if (l < 0) l = 0;
        if (r > n - 1) r = n - 1; x[i] = y[l] + y[r]; s = l + r; }""",
    "neighbours": """for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) { int c = i + j * m, l, d;
        l = i == 0 ? c : c - 1; d = j == n - 1 ? c : c + m; x[c] = y[l] - y[d]; }""",
    "data branch": "for (int i = 0; i < n; i++) { if (y[i] > 1) s = i; x[i] = s; }",
    "data in both": """for (int i = 0; i < n; i++) { if (y[i] > 1) { s = i; x[s] = 1; } else s = i; x[s]
        += 2; }""",
    "local in branch": """for (int i = 0; i < n; i++) if (y[i] > 1) { int c; c = i + 1; x[c] = c;
        if (i < 3) c = 4; else { c = 5; c++; } x[i] += c; } s = 0;""",
    # induction
    "counted": "for (int i = 0; i < n; i++) { s++; x[s] = i; s += 2; }",
    "counted down": "for (int i = n; i > 0; i -= 2) { x[s + 20] = i; s -= 3; }",
    "by steps": "for (int i = 1; i < n; i += 3) { s += 2; x[s] = i; }",
    "nested": "s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { x[s] = y[s] + i; s++; }",
    "nested constants": """s = 1; for (int i = 0; i < n; i++) { for (int j = 1; j < 5; j++) { x[s - 1]
        += y[j];
        ++s; } ++s; }""",
    "in both branches": """s = -1; for (int i = 0; i < n; i++) { if (y[i] > 0) { s++; x[s] = 1; }
        else { s++; x[s] = 2; } }""",
    "sometimes": "for (int i = 0; i < n; i++) { if (i > 2) s++; x[i] = s; }",
    "by parameters": "s = 0; for (int i = 0; i < n; i++) { x[s] += i; s += m; }",
    "by data": "for (int i = 0; i < n; i++) { s += k[i] & 3; x[i] = s; }",
    "unsigned": "for (int i = 0; i < n; i++) { u += 2; x[u] = u; } u = u - 100; s = u / 2;",
    "unsigned wraps": "u = 4294967295u; for (int i = 0; i < n; i++) { u++; x[u] = u; } s = u;",
    "unsigned down": "for (int i = 0; i < n; i++) { x[i] = u; u--; } s = u / 4;",
    "narrow": "for (int i = 0; i < n; i++) { h += 30000; x[i] = h; } s = h;",
    "narrow known": "h = 5; for (int i = 0; i < n; i++) { x[i + h] = h; } s = h;",
    "wide": "for (int i = 0; i < n; i++) { w += 3000000000; x[i] = w; } s = w / 1000000000;",
    "unsigned amount": "for (int i = 0; i < n; i++) { s += 1u; x[s] = s; }",
    "long amount": "for (int i = 0; i < n; i++) { s += w; x[i] = s; }",
    "through narrower": "for (int i = 0; i < n; i++) { w = (unsigned char)w + 7; x[i] = w; } s = w;",
    "swapped": "int a = 5, b = 7; for (int i = 0; i < n; i++) { int t = a; a = b; b = t; x[i] = a; } s = a;",
    "two together": """int a = 0; for (int i = 0; i < n; i++) { a += 2; s = s + a; x[i] = a; } s = s *
        100 + a;""",
    "wrapped around": """int p = n - 1, q = 2; for (int i = 0; i < n; i++) { x[i] = y[i] + y[p] - y[q];
        q = p; p = i; } s = p * 10 + q;""",
    "quadratic": "for (int i = 0; i < n; i++) { s += i; x[i] = s; }",
    "in an expression": "for (int i = 0; i < n; i++) { x[s++] = y[i] + 1; x[i] += k[++s - 6]; }",
    "in a subscript of a sum": "for (int i = 0; i < n; i++) { x[s++] += 2; }",
    # loops
    "two iterators": "for (int i = 0, j = n - 1; i < n; i++, j--) x[i] = y[j] + j;",
    "from both ends": """int i, j; for (i = 0, j = n - 1; i < j; i++, j--) { double t = x[i]; x[i] = x[j];
        x[j] = t; } s = i * 10 + j;""",
    "later start": "int i, j; for (i = 2, j = i + 1; i < n; j = i, i++) x[j] += i; s = i * 10 + j;",
    "after its loop": "int i; for (i = 0; i < n; i++) x[i] = 1; x[i] = 2; s = i;",
    "goes on": "int i; for (i = 0; i < n; i++) x[i] = 1; for (; i < n + m; i++) x[i] += i; s = i;",
    "steps after": "int i; for (i = 1; i < n; i += 3) x[i] = 1; s = i;",
    "down after": """int i; for (i = n; i >= 2; i--) x[i] = 1; s = i; for (; i > -3; i -= 2) x[i + 9] =
        i; s += i;""",
    "inner after": """int i, j; for (i = 0; i < n; i++) { for (j = i; j < m; j++) x[j] += 1; x[i] = j; }
        s = i;""",
    "unequal": "int i; for (i = 0; i != n; i++) x[i] = i; for (; i != 0; --i) x[i] += 2; s = i;",
    "while": "int i = 0; while (i < n) { x[i] = i; s += 2; i++; } s += i;",
    "while within": "int i = 0; while (i < n) x[i++] = y[s--];",
    "while down": "int i = n; while (i--) x[i] = i; s = i; i = m; while (i-- > 0) x[i] += 1; s = s * 10 + i;",
    "wraps down": """for (unsigned i = n - 1; i < n; i--) x[i] = i; for (unsigned long i = n - 3; m > i; --i)
        x[i] += y[i];""",
    "while nested": """int i = 0, j; while (i < n) { j = i; while (j < m) { x[j] += i; j += 2; } s = j;
        i++; }""",
    "bound moves": "int c = n; for (int i = 0; i < c; i++) { x[i] = c; c--; } s = c;",
    # pointers
    "moving": "double *p = x; const double *q = y; for (int i = 0; i < n; i++) *p++ = *q++ + 1;",
    "rows": """const double *p; for (int i = 0; i < n; i++) { p = y + i * m; for (int j = 0; j < m; j++)
        x[i * m + j] = p[j]; }""",
    "by rows": """double *p = x; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) p[j] += y[j];
        p += m; }""",
    "parameter": "for (int i = 0; i < n; i++) { *x = *++y; x += 2; }",
    "pointer down": "double *p = x + n; for (int i = 0; i < n; i++) { p--; *p += i; }",
    "pointer chosen": """double *p; for (int i = 0; i < n; i++) { if (i < 2) p = x + i; else p = x + 5;
        *p += 1; }""",
    "declared from memory": "int *p = k; for (int i = 0; i < n; i++) { int t = *p++; x[i] = y[t] + t; }",
    "moves in branches": "double *p = x; for (int i = 0; i < n; i++) { if (y[i] > 0) *p = i; p++; }",
    "continues": """int i = 0; while (i < n) { if (i > m) { x[i] += 1; i++; continue; } x[i] = y[i]; i++; }
        s = i;""",
    "update moves": "double *p = x; for (int i = 0; i < n; i++) *p++ += 3;",
}  # fmt: skip


def function(number: int, code: str) -> str:
    head = HEAD.format(name=f"f{number}")
    return f"{head}\n{{\n#pragma scop\n{code}\n#pragma endscop\n    return s;\n}}\n"


def source() -> str:
    functions = "\n".join(function(k, code) for k, code in enumerate(REGIONS.values()))
    names = ", ".join(f"f{k}" for k in range(len(REGIONS)))
    sizes = ", ".join(f"{{{n}, {m}}}" for n, m in SIZES)
    values = ", ".join(map(str, SCALARS.values()))
    return f"""#include <stdio.h>
{functions}
int main(void)
{{
    long (*all[])(int, int, double *, double *, int *, int, unsigned, short, long) = {{{names}}};
    int sizes[][2] = {{{sizes}}};
    for (int f = 0; f < {len(REGIONS)}; f++)
        for (int t = 0; t < {len(SIZES)}; t++) {{
            double x[{LENGTH}], y[{LENGTH}];
            int k[{LENGTH}];
            for (int i = 0; i < {LENGTH}; i++) {{ x[i] = i % 7; y[i] = i * 5 % 13 - 4; k[i] = i * 3 % 8; }}
            printf("%ld", all[f](sizes[t][0], sizes[t][1], x, y, k, {values}));
            for (int i = 0; i < {LENGTH}; i++) printf(" %.17g %.17g", x[i], y[i]);
            printf("\\n");
        }}
}}
"""


@cache
def built(directory: Path) -> tuple[dict[str, Scop], list[list[float]]]:
    """The scops of all regions, and what the program prints: a row for each region and size."""
    file = directory / "values.c"
    file.write_text(source())
    scops = lift(str(file), FrontendOptions()).scops
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    subprocess.run([compiler, "-O0", "-w", str(file), "-o", str(directory / "values")], check=True)
    done = subprocess.run([str(directory / "values")], check=True, capture_output=True, text=True)
    rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    return {scop.function: scop for scop in scops}, rows


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Scop], list[list[float]]]:
    return built(tmp_path_factory.mktemp("values"))


@pytest.mark.parametrize("name", REGIONS)
def test_a_region_means_what_its_text_means(
    name: str, program: tuple[dict[str, Scop], list[list[float]]]
) -> None:
    scops, rows = program
    number = list(REGIONS).index(name)
    scop = scops[f"f{number}"]
    compared = 0
    for k, (n, m) in enumerate(SIZES):
        run = Computed(scop, {"n": n, "m": m, **SCALARS}, {}, BOUND)
        run.memory.update(initial(scop, run))
        run.scalars.update(given(scop))
        if all(held(scop, run)):
            run.run()
            assert result(scop, run) == rows[number * len(SIZES) + k], (n, m)
            compared += 1
    assert compared, "the original always runs"


def values(t: int) -> dict[str, float]:
    """The element `t` of each array before a region."""
    return {"x": t % 7.0, "y": t * 5 % 13 - 4.0, "k": t * 3 % 8}


def given(scop: Scop) -> dict[str, float]:
    """The elements that a region reads before it starts."""
    places = ((g.name, re.fullmatch(r"(\w)\[(\d+)\]", g.place)) for g in scop.given)
    return {name: values(int(place[2]))[place[1]] for name, place in places if place}


def initial(scop: Scop, run: Interpreter) -> Memory:
    found: Memory = {}
    for t in range(LENGTH):
        found.update({cell(scop, run, name, t): value for name, value in values(t).items()})
    for array in scop.arrays:
        if not array.extents:
            found[array.name, ""] = SCALARS.get(array.host.removeprefix("&"), 0)
    return found


def cell(scop: Scop, run: Interpreter, name: str, t: int) -> tuple[str | int, ...]:
    """Where element `t` of a pointer's is, which may have got a shape of rows."""
    extents = next((a.extents for a in scop.arrays if a.name == name), ())
    widths = [int(run.value(e, {})) for e in extents[1:] if e is not None]
    return (name, "", *(divmod(t, widths[0]) if widths and widths[0] > 0 else (t,)))


class Computed(Interpreter):
    """Unsigned arithmetic wraps around."""

    def binary(self, expr: Binary, names: dict[str, Number]) -> Number:
        value, ctype = super().binary(expr, names), type_of(expr)
        return convert(value, ctype) if "unsigned" in ctype else value


def held(scop: Scop, run: Interpreter) -> Iterator[bool]:
    """Whether the values hold that the host tests before it calls the kernels."""
    for c in scop.conversions:
        low, high = c.range
        for point in product(range(-BOUND, BOUND + 1), repeat=len(c.iterators)):
            names: dict[str, Number] = dict(zip(c.iterators, point, strict=True))
            if all(run.value(condition, names) for condition in c.domain):
                value = run.value(c.value, names)
                yield low <= value and (high is None or value <= high)
    for a in scop.assumptions:
        statement = next(s for s in scop.statements if s.name == a.statement)
        for _, _, names in run.instances(statement):
            yield 0 <= run.value(a.value, names) < run.value(a.bound, names)


def result(scop: Scop, run: Interpreter) -> list[float]:
    name = next((a.name for a in scop.arrays if a.host == "&s"), None)
    elements = [run.memory[cell(scop, run, array, t)] for t in range(LENGTH) for array in ("x", "y")]
    return [SCALARS["s"] if name is None else run.memory[name, ""], *elements]


def test_scalars_that_nothing_reads_are_no_arrays(tmp_path: Path) -> None:
    scop = region(tmp_path, "int n, float *a", "int c; for (int i = 0; i < n; i++) { c = i + 1; a[c] = 0; }")
    assert bodies(scop) == ["a[(i + 1)] = 0;"]
    assert [a.name for a in scop.arrays] == ["a"]


def test_a_value_that_is_wanted_afterwards_is_stored_once(tmp_path: Path) -> None:
    text = "int f(int n, float *a, int k) { for (int i = 0; i < n; i++) { k += 2; a[k] = 0; } return k; }"
    scop = only_scop(tmp_path, text)
    assert bodies(scop) == ["a[((k + (2 * i)) + 2)] = 0;", "k_end = (k + (2 * max(0, n)));"]
    assert [(a.name, a.host, a.live_out) for a in scop.arrays] == [("k_end", "&k", True), ("a", "a", True)]


def test_rows_of_counted_elements_need_no_shape(tmp_path: Path) -> None:
    """That the inner loop does not end before it starts is tested at run time."""
    body = "int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { a[k] = 0; k++; }"
    scop = region(tmp_path, "int n, int m, float *a", body)
    assert bodies(scop) == ["a[i][j] = 0;"]
    assert [(c.value, c.range) for c in scop.conversions] == [(Name("m"), (0, None))]


def test_clamped_neighbours_are_of_the_same_rows(tmp_path: Path) -> None:
    body = """for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) {
        int c = x + y * nx, w = x == 0 ? c : c - 1, n = y == 0 ? c : c - nx;
        a[c] = b[w] + b[n]; }"""
    scop = region(tmp_path, "int ny, int nx, float *restrict a, float *restrict b", body)
    assert bodies(scop) == ["a[y][x] = (b[y][((x == 0) ? x : (x - 1))] + b[((y == 0) ? y : (y - 1))][x]);"]


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("float *p; void f(int n, float *a) { p = a; REGION }", ""),
        ("float *a; void f(int n) { REGION }", "PG157"),
        ("void f(int n, float *a) { float **q = &a; REGION (*q)[0] = 1; }", "PG157"),
        ("void f(int n, float *a) { REGION }", ""),
        ("void f(int n, float *b) { while (n > 3) { float *a = b; REGION n /= 2; } }", ""),
    ],
)
def test_pointers_of_others(text: str, identity: str, tmp_path: Path) -> None:
    loop = "\n#pragma scop\nfor (int i = 0; i < n; i++) *a++ = i;\n#pragma endscop\n"
    text = text.replace("REGION", loop)
    if identity:
        assert [e.id for e in errors(tmp_path, text)] == [identity]
    else:
        assert bodies(only_scop(tmp_path, text)) == ["a[i] = i;"]
        assert not only_scop(tmp_path, text).moved


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("float *f(int n, float *a) { REGION return a; }", "(long)max(0, n)"),
        ("void f(int n, float *b) { float *a = b; while (n > 3) { REGION n /= 2; } }", "(long)max(0, n)"),
        # as many as data say, by what the region changes, and to somewhere else
        ("float *f(int n, float *a) { REGION if (a[0]) a++; ENDS return a; }", None),
        ("float *f(int n, float *a) { REGION n = 2; ENDS a += n; return a; }", None),
        ("float *f(int n, float *a) { int k = n; REGION a += k; k++; ENDS return a + k; }", None),
        ("float *f(int n, float *a, float *b) { REGION a = b; ENDS return a; }", None),
    ],
)
def test_pointers_whose_value_matters_afterwards(text: str, moved: str | None, tmp_path: Path) -> None:
    loop = "\n#pragma scop\nfor (int i = 0; i < n; i++) *a++ = i;\n"
    end = "\n#pragma endscop\n"
    text = text.replace("REGION", loop if "ENDS" in text else loop + end).replace("ENDS", end)
    if moved is None:
        assert {e.id for e in errors(tmp_path, text)} == {"PG157"}
    else:
        assert [(name, shown(e)) for name, e in only_scop(tmp_path, text).moved] == [("a", moved)]


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("int k = 3;", True),
        ("int k; k = -2 * 2;", True),
        ("int k = n;", False),
        ("int k = 3; if (n) k = 4;", False),
        ("int k = 3; k++;", False),
        ("int k = 3; int *p = &k; *p = n;", False),
        ("int k = 3; { int k = 4; k = n; }", False),
        ("int k = 3; { k = n; }", False),
        ("int k = 3; for (k = 0; k < n; k++) ;", False),
        ("int k = 3; again: k = 5;", False),
        ("int k = 3; if (n > 5)", True),
        ("int k = 3; while (n--) if (n > 5)", True),
        ("int k = 3; while (k++ < n)", False),
        ("int k = 3; for (; n > 0; k += 2, n--) if (n > 5)", False),
        ("int k = 3; switch (n) case 3:", False),
        ("int k = 3; switch (n) default: { k = 4; case 2:;", False),
        ("static int k = 3;", False),
        ('int k = 3; scanf("%d", &k);', False),
        ('int k = 3; int r = sscanf("4", "%d", &k);', False),
        ('int k = 3; if (scanf("%d", &k) == 1)', False),
        ('int k; scanf("%d", &k); k = 3;', True),
        ("unsigned char k = 300;", True),
        ("int n = 3, k = n;", True),
        ("int l = 3, k = 2 * l - 1;", True),
        ("int l = 3; l++; int k = l;", False),
        ("int l = 3; int k = l; l = n;", True),
        ("unsigned char l = 3; int k = l;", False),
        ("int l = 3; int *p = &l; *p = 4; int k = l;", False),
        ("int l = 3; { int l = 4; int k = l; }  int k = l; l = n; { int l;", False),
    ],
)
def test_constants_before_a_region(before: str, known: bool, tmp_path: Path) -> None:
    closing = "}" * (before.count("{") - before.count("}"))
    text = f"""void g(int); void f(int m, int n, float *a)
{{
    {"{" if "int n" in before else ""} {before} {{
#pragma scop
    for (int i = 0; i < m; i++) a[i + k] = 0;
#pragma endscop
    }} {closing} {"}" if "int n" in before else ""}
}}
"""
    scop = only_scop(tmp_path, text)
    assert ("k" not in {s.name for s in scop.scalars}) == known


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("int k = -(16ul) + 3", "-13"),
        ("int k = 4294967295u", "-1"),
        ("unsigned k = -3", "4294967293u"),
        ("long k = 4000000000u", "4000000000l"),
        ("long k = -(3u)", "4294967293l"),
        ("signed char k = 200", "-56"),
    ],
)
def test_constants_before_a_region_are_converted(declaration: str, value: str, tmp_path: Path) -> None:
    loop = "\n#pragma scop\nfor (int i = 0; i < 9; i++) a[i] = 2 * k;\n#pragma endscop\n"
    scop = only_scop(tmp_path, f"void f(double *a) {{ {declaration}; {{ {loop} }} }}")
    assert bodies(scop) == [f"a[i] = (2 * {value});"]


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("int k; if (n == 3) k = 2; else k = 1;", (1, 2)),
        ("int k = 7; if (n == 3) { k = 2; }", (2, 7)),
        ("int k, l = 4; if (n == 3) { k = 2; } else if (n > 3) k = 9; else { k = l - 1; }", (2, 9)),
        ("int k; if (n == 3) return; else k = 1;", None),
        ("int k; if (n == 3) k = 2; else k = 1; k++;", None),
        ("int k; if (n == 3) k = 2; else k = n;", None),
        ("int k; if (n == 3) k = 2; else for (k = 0; k < n; k++) ;", None),
        ("int k; if (n == 3) k = 2; else { k = 1; int *p = &k; *p = n; }", None),
        ("int k = 1; if (n == 3) { int k = 2; k++; }", None),
        ("int k = n; if (n == 3) k = 2;", None),
        ("int k; if (n == 3) k = 2; else k = 1; while (k++ < n)", None),
        ("static int k; if (n == 3) k = 2; else k = 1;", None),
        ("long k; if (n == 3) k = 2; else k = 1;", None),
        ("int k; if (n == 3) { k = 2; again: ; } else k = 1;", None),
    ],
)
def test_constants_that_branches_choose_before_a_region(
    before: str, between: tuple[int, int] | None, tmp_path: Path
) -> None:
    text = f"""void f(int m, int n, float *a)
{{
    {before} {{
#pragma scop
    for (int i = 0; i < m; i++) a[i + k] = 0;
#pragma endscop
    }}
}}
"""
    (k,) = (s for s in only_scop(tmp_path, text).scalars if s.name == "k")
    assert k.between == between


@pytest.mark.parametrize(
    ("loop", "domain_of_it"),
    [
        ("while (i < n) { a[i] = 0; i++; }", ["(i >= 2)", "(i < n)"]),
        ("while (i < n) a[i++] = 0;", ["(i >= 2)", "(i < n)"]),
        ("while (n > i) { a[i] = 0; i = i + 3; }", ["(i >= 2)", "(n > i)", "(((i - 2) % 3) == 0)"]),
        ("for (; i < n;) { a[i] = 0; i += 1; }", ["(i >= 2)", "(i < n)"]),
        ("i = n; while (i--) { a[i] = 0; }", ["(i <= (n - 1))", "(i > -1)"]),
        ("i = n; while (i-- > 0) a[i] = 0;", ["(i <= (n - 1))", "(i >= 0)"]),
        ("while (i != n) { a[i] = 0; ++i; }", ["(i >= 2)", "(i < n)"]),
        ("while (i < n) { i *= 2; a[i] = 0; i++; }", None),
        ("while (i < n) { a[i] = 0; i++; i++; }", ["(i_at >= 0)", "((2 + (2 * i_at)) < n)"]),
        ("while (i < n) { a[i] = 0; if (n > 5) i++; }", None),
        ("while (i < n) a[i] = a[i++] = 0;", None),
        ("while (i < n) { int i = 3; a[i] = 0; i++; }", None),
        ("while (i < n) { a[n > 3 ? i++ : 0] = 0; }", None),
    ],
)
def test_loops_that_count(loop: str, domain_of_it: list[str] | None, tmp_path: Path) -> None:
    text = f"void f(int n, float *a) {{ int i = 2;\n#pragma scop\n{loop}\n#pragma endscop\n}}"
    if domain_of_it is None:
        assert errors(tmp_path, text)
    else:
        assert domain(only_scop(tmp_path, text).statements[0]) == domain_of_it


def test_a_while_loop_over_arrays_is_not_left_out_in_silence(tmp_path: Path) -> None:
    loops = "while (a[n] > 0) { a[n] = 0; n /= 2; } for (int i = 0; i < n; i++) a[i] = 1;"
    found = lifted(tmp_path, f"void f(int n, float *a) {{ {loops} }}").diagnostics
    assert [[n.id for n in d.notes] for d in found if d.id == "PG181"] == [["PG124"]]


@pytest.mark.parametrize(("factor", "op"), [*product((-3, -2, -1, 1, 2, 3), COMPARE)])
def test_the_first_value_beyond_a_bound(factor: int, op: str, tmp_path: Path) -> None:
    """The test holds just before it, and no more at it."""
    up = (factor > 0) == (op in ("<", "<="))
    header = f"for (i = {'-9' if up else '9'}; {factor} * i {op} n; i{'++' if up else '--'})"
    scop = only_scop(tmp_path, f"int f(int n, float *a) {{ int i; {header} a[i + 9] = 0; return i; }}")
    for n in range(-9, 10):
        run = Interpreter(scop, {"n": n}, {}, 1)
        (store,) = scop.statements[1].body
        assert isinstance(store, Store)
        counted = range(-9, 99) if up else range(9, -99, -1)
        first = next(k for k in counted if not COMPARE[op](factor * k, n))
        assert run.value(store.value, {}) == first


def test_a_constant_is_no_size_of_what_was_declared_before(tmp_path: Path) -> None:
    loop = "\n#pragma scop\nfor (int i = 0; i < k; i++) a[i][i] = 0;\n#pragma endscop\n"
    text = f"void g(void *); void f(int n) {{ int k = n; float a[k][k]; k = 3; g(a); {loop} g(a); }}"
    assert [e.id for e in errors(tmp_path, text)] == ["PG160"]
    text = f"void g(void *); void f(int n) {{ int k = 3; float a[k][k]; g(a); {loop} g(a); }}"
    (array,) = only_scop(tmp_path, text).arrays
    assert array.extents == (Int(3), Int(3))


def test_functions_are_printed_as_they_are_written(tmp_path: Path) -> None:
    """`unsigned n; while (n-- > 0)` ends, `for (...; n >= 0; ...)` does not."""
    head = """static float p(unsigned n)
        { float x = 1; while (n-- > 0) x *= 2; while (n < 9) x += n++; return x; }"""
    scop = region(tmp_path, "int n, float *a", "for (int i = 0; i < n; i++) a[i] = p(i);", head)
    assert "while (n-- > 0)" in scop.functions[0]
    assert "x += n++;" in scop.functions[0]
