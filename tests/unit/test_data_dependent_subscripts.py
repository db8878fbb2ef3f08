"""Subscripts that polyhedra do not understand are computed as C does, with the types of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.model.expr import Name
from polygpu.pipeline import compile_file
from polygpu.verify.certificate import certify
from tests.unit.emulated import printed
from tests.unit.frontend_text import errors, region

# Parameters that also bound the loop, and are passed to kernels as int, with what a region reads.
CASES = {
    "unsigned_remainder": ("unsigned m", "x[idx[i] % m]"),
    "unsigned_sum": ("unsigned m", "x[(idx[i] + m) / 16777216]"),
    "unsigned_comparison": ("unsigned m", "x[idx[i] < m]"),
    "unsigned_select": ("unsigned m", "x[2 + (idx[i] < 0 ? 0 : m)]"),
    "unsigned_difference": ("unsigned m", "x[(u[i] - m) >> 24]"),
    "unsigned_cancelling": ("unsigned m", "x[(u[i] - u[i] + idx[i]) / 16777216]"),
    "unsigned_of_nothing": ("unsigned m", "x[(u[i] * 0 + idx[i]) >> 24]"),
    "unsigned_in_conditions": ("unsigned m", "x[u[i] - 5 > -6]"),
    "unsigned_by_one": ("unsigned m", "x[(u[i] % 1 - 1) / 16777216 + (u[i] / 1 - 1) / 16777216]"),
    "unsigned_minimum": ("unsigned m", "x[(idx[i] < u[i] ? idx[i] : u[i]) / 16777216]"),
    "unsigned_maximum": ("unsigned m", "x[(m > idx[i] ? m : idx[i]) / 16777216]"),
    "long_product": ("long m", "x[i * m * 1000000000 % 61]"),
    "long_quotient": ("long m", "x[(i * m * 1000000000 + idx[i] * 0) / 5000000000]"),
    "long_sum_times": ("long m", "x[(i + m) * 100000 * m % 61 * (idx[i] != 99)]"),
    "size_product": ("size_t m", "x[i * m * 1000000000 % 511]"),
    "size_difference": ("size_t m", "x[(i - m) * m % 61]"),
    "long_constant": ("unsigned m", "x[(where[i] - 2147483647) * 2147483648 % (m + 0l) + 61]"),
    "int_sum": ("unsigned m", "x[(idx[i] + 2000000000 - 2000000090) * 3 * (idx[i] + 1) & 511]"),
    "narrow_sums": ("unsigned m", "x[(unsigned char)(c[i] + 100 + i) + ((c[i] + c[i]) & 255)]"),
    "float_difference": ("unsigned m", "x[f[i] - f[i] == 0]"),
    "float_sum": ("unsigned m", "x[f[i] + 1 - f[i] > 0.5f]"),
    "float_product": ("unsigned m", "x[f[i] * 0 == 0]"),
    "float_of_a_scalar": ("unsigned m, float a", "x[a - a == 0]"),
    "double_argument": ("unsigned m", "x[lround(d[i] + 100 - d[i])]"),
    "own_function": ("unsigned m", "x[clipped(d[i] + 9 - d[i], m - i - 40)]"),
    "nested": ("unsigned m", "x[where[(idx[i] + m) % 64] + m - 33] + x[idx[where[i + m - 33]] % m]"),
    "of_rows": ("unsigned m", "t[((long)i - 5 + m) / 2][idx[i] % m]"),
    "of_rows_wrapping": ("unsigned m", "t[i % 2][u[2] + 4 + where[i]]"),
    "int_products": ("unsigned m, int k", "x[(2 + i * k) * (k + i * k) % 61 + i * k / k]"),
    "in_a_test": ("unsigned m", "(x[idx[i] % m] > 9 ? x[u[i] % m] : m - 40)"),
    "fixed": ("unsigned fixed, unsigned m", "x[idx[i] % fixed] + x[fixed - 33 + i] + (fixed - 40)"),
}

HEAD = r"""
#include <math.h>
#include <stddef.h>
#include <stdio.h>

static float x[512], f[64], t[64][64];
static double y[64], d[64];
static int idx[64], where[64];
static unsigned u[64];
static unsigned char c[64];

static int clipped(double a, unsigned b)
{
    return b < 300 ? b : a < 0 ? 0 : a < 511 ? a : 511;
}

static void set(void)
{
    for (int i = 0; i < 64; i++) {
        idx[i] = 3 * i - 90, where[i] = i * 5 % 64, u[i] = i * 2654435761u, c[i] = 91 * i, y[i] = 0;
        f[i] = i < 3 ? i : i == 7 ? INFINITY : i == 8 ? NAN : i * 1e8f, d[i] = i * 1e16;
        for (int j = 0; j < 64; j++)
            t[i][j] = 100 * i + j;
    }
    u[2] = -4;
    for (int i = 0; i < 512; i++)
        x[i] = 1.25f * i + 1;
}

static void show(const char *name)
{
    for (int i = 0; i < 33; i++)
        printf("%s %.9g\n", name, y[i]);
}
"""


def _program() -> str:
    functions = [
        f"static void {name}({parameters})\n{{\n#pragma scop\n"
        f"    for (int i = 0; i < m; i++) y[i] = {value};\n#pragma endscop\n}}\n"
        for name, (parameters, value) in CASES.items()
    ]
    given = {"unsigned m": "33", "long m": "33", "size_t m": "33", "unsigned m, float a": "33, INFINITY"}
    calls = [
        f'    set(); {name}({given.get(parameters, "33, 33")}); show("{name}");'
        for name, (parameters, _) in CASES.items()
    ]
    return "\n".join([HEAD, *functions, "int main(void)\n{", *calls, "}", ""])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("subscripts")
    (directory / "program.c").write_text(_program())
    for target in ("emulator", "cuda"):
        options = Options(target=target, device="h100", assume=("fixed=33",))
        for suffix, text in compile_file(str(directory / "program.c"), options).files.items():
            (directory / f"program{suffix}").write_text(text)
    return directory


def _printed(directory: Path, *files: str) -> dict[str, list[str]]:
    found, said = printed(directory, *files)
    assert not said  # no loop runs on the host
    lines: dict[str, list[str]] = {}
    for line in found.splitlines():
        lines.setdefault(line.split()[0], []).append(line)
    return lines


@pytest.fixture(scope="module")
def values(built: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    ours = _printed(built, "program_host.c", "program_emulator.c")
    return _printed(built, "program.c"), ours


@pytest.mark.parametrize("name", CASES)
def test_as_c_computes_it(values: tuple[dict[str, list[str]], dict[str, list[str]]], name: str) -> None:
    expected, found = values
    assert found[name] == expected[name]
    assert len(found[name]) == 33


def test_proofs(built: Path) -> None:
    """The verifier, which reads the printed kernels, finds the operations of the source in them."""
    for found in compile_file(str(built / "program.c"), Options(target="cuda", device="h100")).regions:
        assert certify(found, 20.0).failures == (), found.scop.name


def test_affine_subscripts_are_of_int(built: Path) -> None:
    """Only what depends on data has casts."""
    text = (built / "program_cuda.cu").read_text()
    (kernel,) = re.findall(r"^static __global__[^{]*nested.*?^}\n", text, re.MULTILINE | re.DOTALL)
    assert "where[i + m - 33]" in kernel
    assert "where[(idx[i] + (unsigned int)m) % 64]" in kernel


def test_a_store_where_data_say_within_a_row_that_the_loops_tell(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) h[i][b[i][j] & 7] += 1;"
    scop = region(tmp_path, "int n, int m, int b[n][m], int h[n][8]", body)
    (write,) = (a for a in scop.statements[0].accesses if a.write)
    assert not write.affine and write.forms == ((Name("i"),), ())


def test_rows_are_found_by_data_only_where_their_number_is_known(tmp_path: Path) -> None:
    text = "void f(int n, int *t, int (*h)[8]) {{\n#pragma scop\n{}\n#pragma endscop\n}}"
    loop = "for (int i = 0; i < n; i++) for (int j = 0; j < 8; j++) h[t[i]][j] = i;"
    assert [d.id for d in errors(tmp_path, text.format(loop))] == ["PG102"]
