"""Spellings that keep clear of what nvcc translates wrongly, and that nvcc is right about them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import compiler
from polygpu.compilation import Options
from polygpu.model.expr import Binary, Call, Expr, Int, Name, Reference, Unary
from polygpu.model.kernel import ArrayArgument, Assign, Declare, For, If, Statement
from polygpu.printing.countdown import counted_down
from polygpu.printing.dialects import CUDA
from polygpu.printing.nvcc import goes_through_rows, values_of, without_negative_factors
from polygpu.printing.printer import HOST_NAMES, Names, print_expr
from tests.support_kernels import require_nvcc

X, J, N = (Name(name, "int") for name in "ijn")
AFTER = Binary("+", Binary("-", X, N), Int(1))

MERGED = """
static double a[100], b[100];
static int c[100];
void f(void)
{
#pragma scop
    for (int i = 1; i < 100; i++)
        a[i] = (c[i] ? b[i] : a[i - 1]) + 1;
#pragma endscop
}
void g(void)
{
#pragma scop
    for (int i = 1; i < 100; i++) {
        if (c[i])
            a[i] = b[i];
        else
            a[i] = a[i - 1];
        a[0] += a[i];
    }
#pragma endscop
}
void h(void)
{
#pragma scop
    for (int i = 1; i < 100; i++)
        a[i] = a[i - 1] + b[i] * (c[i] ? b[i - 1] : 2.0);
#pragma endscop
}
"""

FACTORS = """
static double a[100];
void f(int n)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        a[-2 * i + 64] = a[6] + 3;
        a[6] = a[6] * 0.5;
    }
#pragma endscop
}
"""

OPPOSITES = """
void f(int n, int m, float s[8], float a[n][8][n])
{
#pragma scop
    for (int i = n - 1; i >= 0; i -= 2)
        for (int j = -1; j < i + 2; j++)
            for (int k = 2; k >= j + 1; k--)
                for (int l = j + 1; l < i; l++)
                    s[j + 1] = s[2] * 0.5f + a[i][k][l];
#pragma endscop
}
"""

EXTREMES = """
void f(int m, int a[restrict m + 9][2 * m + 13])
{
    int v; long c = 1;
#pragma scop
    v = m - 1 - -1;
    for (int i = m - 1; i > -1; i--) {
        a[v - 1][2 * v - 1] = 1;
        for (int j = 0; j < 7; j++) {
            c = 2 * v - 1;
            a[v - 1][c] += 15 & (a[j + 2][v] & 63);
        }
        v = i;
    }
#pragma endscop
}
"""
ROWS = """
void stays(int n, float a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n - 2; i++)
        for (int k = 0; k < i + 2; k++)
            a[i + 1][i + 2] += 0.5f * a[k + 1][i + 2];
#pragma endscop
}
void ends(int n, float a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n - 3; i++)
        for (int k = i; k < n; k++)
            a[i + 1][i + 3] = 0.5f * a[i + 1][i + 3] + a[k][i + 3];
#pragma endscop
}
void tests(int n, float a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n - 1; i++) {
        float s = 0;
        for (int k = 0; k < n; k++) {
            s += a[k][i + 1];
            if (s > 2)
                a[k][i + 1] = s;
        }
    }
#pragma endscop
}
"""
SAME_ROWS = """
void none(int n, float a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n - 2; i++)
        for (int k = 0; k < i + 2; k++)
            a[i + 1][i] += 0.5f * a[k + 1][i];
#pragma endscop
}
void tests(int n, float a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = 0; k < n; k++) {
            s += a[k][i];
            if (s > 2)
                a[k][i] = s;
        }
    }
#pragma endscop
}
void apart(int n, float a[restrict n][n], float b[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n - 2; i++)
        for (int k = 0; k < i + 1; k++)
            b[i][i + 1] += a[k][i + 2] * a[k][i + 1];
#pragma endscop
}
static float c[200][200];
void fixed(int n)
{
#pragma scop
    for (int i = 0; i < n - 2; i++)
        for (int k = 0; k < i + 2; k++)
            c[i + 1][i + 2] += 0.5f * c[k + 1][i + 2];
#pragma endscop
}
"""


def cuda(text: str, directory: Path) -> str:
    file = directory / "loops.c"
    file.write_text(text)
    return compiler.compile_chosen(str(file), Options(target="cuda", device="h100", level=1)).files[
        "_cuda.cu"
    ]


def parameters(text: str, kernel: str) -> str:
    found = re.search(rf"\n{kernel}\((.*?)\)\n\{{", text, re.DOTALL)
    assert found, kernel
    return " ".join(found[1].split())


def test_what_is_read_beside_stores_is_not_restrict(tmp_path: Path) -> None:
    text = cuda(MERGED, tmp_path)
    assert "const double *b" in parameters(text, "f_0_k0")
    assert "const double *b" in parameters(text, "g_0_k0")
    assert "const double *__restrict__ b" in parameters(text, "h_0_k0"), "the other side loads nothing"


def test_kernels_have_no_negative_factors(tmp_path: Path) -> None:
    text = cuda(FACTORS, tmp_path)
    assert "a[64 - 2 * i] = a[6] + 3" in text


def test_loops_do_not_end_at_opposites(tmp_path: Path) -> None:
    text = cuda(OPPOSITES, tmp_path)
    assert "; c2 + j < 0; " in text
    assert not ends_at_a_sign(text)


def test_loops_do_not_end_at_opposites_of_extremes(tmp_path: Path) -> None:
    text = cuda(EXTREMES, tmp_path)
    assert re.search(r"; \w+ \+ (min|max)\(", " ".join(text.split()))
    assert not ends_at_a_sign(text)


def ends_at_a_sign(text: str) -> bool:
    return bool(re.search(r"for \(int [^;]*; \w+ [<>]=? -[^1]", " ".join(text.split())))


def test_loops_through_rows_beside_one_that_stays_are_not_unrolled(tmp_path: Path) -> None:
    """Where a constant stands behind what tells the column, and the distance of rows is known at run time.

    Nor those that store such elements under a test.
    """
    found = loops_over_k(cuda(ROWS, tmp_path))
    assert len(found) >= 3
    assert all(before == "#pragma unroll 1" for before, _ in found), found


def test_other_loops_are_left_to_the_compiler(tmp_path: Path) -> None:
    found = loops_over_k(cuda(SAME_ROWS, tmp_path))
    assert len(found) >= 3
    assert not any(before.startswith("#pragma unroll 1") for before, _ in found), found


@pytest.mark.parametrize(
    ("column", "outside", "expected"),
    [
        (X, [], False),
        (Binary("+", X, Int(2)), [], True),
        (Binary("-", Binary("+", X, J), Int(1)), [], True),
        (X, [Declare("i", "int", Binary("-", J, Int(7)))], True),
        (X, [Declare("i", "int", Binary("+", J, N))], False),
        (Binary("+", X, Int(7)), [Declare("i", "int", Binary("-", J, Int(7)))], False),
        (X, [Declare("i", "int", Call("max", (J, N), "int"))], True),
        (X, [Declare("i", "int", J, mutable=True)], True),
        (X, [For("i", Binary("+", N, Int(1)), J, 1, (), uniform=True)], True),
        (X, [For("c", Binary("-", Int(2), N), Int(0), 1, (), uniform=True, opposite="i")], True),
        (X, [For("c", Unary("-", N), Int(0), 1, (), uniform=True, opposite="i")], False),
    ],
)
def test_which_loops_go_through_rows(column: Expr, outside: list[Statement], expected: bool) -> None:
    k, r = Name("k", "int"), Name("r", "int")
    array = ArrayArgument("a", "float", (None, N), Name("pitch", "int"), read=True, written=True)
    there, here = (Reference("a", (row, column), "float") for row in (k, r))
    code = (Assign(here, Binary("+", here, there)),)
    values = values_of(counted_down((*outside,)))
    assert goes_through_rows(For("k", Int(0), N, 1, code, uniform=False), {"a": array}, values) == expected
    fixed = replace(array, pitch=Int(64))
    assert not goes_through_rows(For("k", Int(0), N, 1, code, uniform=False), {"a": fixed}, values)
    assert not goes_through_rows(For("k", Int(0), Int(9), 1, code, uniform=False), {"a": array}, values)


@pytest.mark.parametrize(("column", "expected"), [(X, False), (Binary("+", X, Int(2)), True)])
def test_which_loops_store_in_rows_under_a_test(column: Expr, expected: bool) -> None:
    k = Name("k", "int")
    array = ArrayArgument("a", "float", (None, N), Name("pitch", "int"), read=True, written=True)
    there, value = Reference("a", (k, column), "float"), Name("t", "float")
    load, store = Declare("t", "float", there), Assign(there, Binary("+", value, value))

    def goes(*body: Statement) -> bool:
        loop = For("k", Int(0), N, 1, body, uniform=False)
        return goes_through_rows(loop, {"a": array}, values_of(body))

    assert goes(load, If(value, (store,), (), uniform=False)) == expected
    assert goes(If(value, (store,), (Assign(value, there),), uniform=False)) == expected
    assert not goes(load, store)
    assert not goes(If(value, (Assign(value, there),), (), uniform=False))


def loops_over_k(text: str) -> list[tuple[str, str]]:
    """Heads of loops, each behind the line above it."""
    lines = [line.strip() for line in text.partition("The rest runs on the host")[0].splitlines()]
    return [pair for pair in pairwise(lines) if pair[1].startswith("for (int k")]


def test_nvcc_loads_what_the_kernel_has_stored(tmp_path: Path) -> None:
    require_nvcc()
    source, output = tmp_path / "loops.cu", tmp_path / "loops.ptx"
    source.write_text(cuda(MERGED, tmp_path))
    programs.call((*programs.nvcc(), "-O3", "-arch=sm_90", "-ptx", source, "-o", output))
    ptx = output.read_text()
    chosen = re.findall(r"selp\.b64\s+(%rd\d+)", ptx)
    assert chosen, "nvcc does not load from one of two addresses: these are no programs for this test"
    assert not [r for r in chosen if re.search(rf"ld\.global\.nc\.\S+\s+\S+, \[{r}\]", ptx)]


@pytest.mark.parametrize(
    ("subscript", "text"),
    [
        (Binary("+", Binary("*", Int(-2), X), Int(64)), "64 - 2 * i"),
        (Binary("*", Int(-3), X), "-(3 * i)"),
        (Binary("+", Binary("*", N, J), Binary("*", Int(-2), X)), "n * j - 2 * i"),
        (Binary("-", N, Binary("*", Int(-2), X)), "n + 2 * i"),
        (Binary("+", Unary("-", X), Int(64)), "-i + 64"),
        (Binary("-", Binary("*", Int(2), X), Int(64)), "2 * i - 64"),
    ],
)
def test_subscripts_have_no_negative_factors(subscript: Expr, text: str) -> None:
    assert print_expr(without_negative_factors(subscript)) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            (Unary("-", J), Unary("-", X), Binary("+", Binary("-", X, N), Int(1))),
            "-min(j, min(i, n - i - 1))",
        ),
        ((N, J, Unary("-", X)), "max(-i, max(n, j))"),
        ((N, Call("max", (Unary("-", X), J), "int")), "max(-i, max(n, j))"),
        ((Unary("-", X), N), "max(-i, n)"),
        ((X, J, N), "max(i, max(j, n))"),
        ((Unary("-", X), Int(0), Binary("*", Int(-2), J)), "-min(i, min(0, 2 * j))"),
    ],
)
def test_no_sign_is_within_an_extreme_of_three(arguments: tuple[Expr, ...], text: str) -> None:
    assert print_expr(Call("max", arguments, "int"), Names(CUDA)) == text
    assert print_expr(Call("max", arguments, "int"), HOST_NAMES).startswith("polygpu_max(")
