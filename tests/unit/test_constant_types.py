"""Constants have C's types: enumerators, `const` integers, character constants, enumerated types."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pycparser import c_parser

from polygpu.frontend.names.constants import Constant
from polygpu.frontend.names.literals import double
from polygpu.frontend.names.scopes import Scope
from polygpu.model.expr import Literal
from tests.unit.emulated import assert_same, compiled

# Expressions that gcc takes as integer constants, whatever they are made of.
EXPRESSIONS = (
    "300", "2147483648", "0x80000000", "4294967295u", "-1", "-2147483647 - 1", "~0u >> 28", "-1 < 0u",
    "-1 < 0", "(unsigned char)300", "(signed char)200", "(short)70000", "(_Bool)7", "(unsigned)-1 / 2",
    "(long)1 << 40", "2u - 3 > 0", "1 ? -1 : 0u", "(1 ? -1 : 0u) > 0", "0 ? 5 : -1L", "'a'", "'\\xff'",
    "'\\377'", "'\\0'", "'\\e'", "'\\''", "'\"'", "7 ^ 12u", "1 && 0 || 2", "-7 / 2", "-7 % 3", "-7 >> 1",
    "0x7fffffffffffffff", "010", "!3", "(unsigned short)-1 + 1", "65536u * 65536u",
    "(unsigned long)-1 >> 60", "3 << 4", "0xffffffffffffffff % 1000",
)  # fmt: skip


def test_values_and_types_are_gccs(tmp_path: Path) -> None:
    kinds = (
        "char",
        "signed char",
        "unsigned char",
        "short",
        "unsigned short",
        "_Bool",
        "int",
        "unsigned int",
    )
    names = (*kinds, "long", "unsigned long", "long long", "unsigned long long")
    cases = ", ".join(f'{name}: "{name}"' for name in names)
    prints = "".join(
        f'    printf("%lld %s\\n", (long long)({e}), _Generic(({e}), {cases}));\n' for e in EXPRESSIONS
    )
    (tmp_path / "c.c").write_text(f"#include <stdio.h>\nint main(void)\n{{\n{prints}}}\n")
    subprocess.run(["gcc", "-w", "c.c", "-o", "c"], cwd=tmp_path, check=True)
    wanted = subprocess.run([tmp_path / "c"], check=True, capture_output=True, text=True).stdout.splitlines()
    for text, line in zip(EXPRESSIONS, wanted, strict=True):
        value, ctype = line.split(" ", 1)
        found = _constant(text)
        assert found is not None, text
        assert (found.converted("long long"), found.type) == (Constant(int(value), "long long"), ctype), text


@pytest.mark.parametrize(
    "text",
    ["2147483647 + 1", "1 / 0", "1 << 32", "n", "(float)1", "1.5", "'ab'", "-(-2147483647 - 1)", "f(3)"],
)
def test_what_is_undefined_or_no_integer_constant(text: str) -> None:
    assert _constant(text) is None


def test_long_doubles_are_converted_as_gcc_converts_them(tmp_path: Path) -> None:
    texts = (
        *("1.79769313486231570814527423731704357e+308L", "2.22507385850720138309023271733240406e-308L"),
        *("2.22044604925031308084726333618164062e-16L", "4.94065645841246544176568792868221372e-324L"),
        *(
            "0.1L",
            "0.0L",
            "1e22l",
            "1e-999999999L",
            "3e-401L",
            "7e-325L",
            "123456789012345678901234567890.5L",
            "1.0000000000000001110223L",
        ),
    )
    prints = "".join(f'    printf("%a\\n", (double){text});\n' for text in texts)
    (tmp_path / "c.c").write_text(f"#include <stdio.h>\nint main(void)\n{{\n{prints}}}\n")
    subprocess.run(["gcc", "-w", "c.c", "-o", "c"], cwd=tmp_path, check=True)
    wanted = subprocess.run([tmp_path / "c"], check=True, capture_output=True, text=True).stdout.splitlines()
    for text, line in zip(texts, wanted, strict=True):
        found = double(text)
        assert isinstance(found, Literal), text
        assert (float(found.text), found.type) == (float.fromhex(line), "double"), text


@pytest.mark.parametrize(
    "text",
    [
        "1.0",
        "0x1p3L",
        "1e400L",
        "1e999999999L",
        "1.000000000000000111022302462515654042363166809082031250001L",
    ],
)
def test_constants_whose_value_as_a_double_is_not_certain(text: str) -> None:
    assert double(text) is None


def _constant(text: str) -> Constant | None:
    tree = c_parser.CParser().parse(f"int x = {text};")
    return Scope().constant(tree.ext[0].init)


PROGRAM = r"""
#include <stdio.h>

enum { N = 10, W = (unsigned char)300, X = ~0u >> 28 };
enum kind { A, B, C, D };
enum sign { NEGATIVE = -1, POSITIVE = 1 };
static const long BIG = 100000;
static const unsigned LEN = 8;
static const unsigned char WRAPPED = 300;
static long z[64];
static double y[64];
static unsigned u[64];
static int w[64], v[64];
static enum kind e[64];
static enum sign s[64];

static long powers(int i)
{
    long r = BIG * BIG;
    if (i - LEN < 3)
        r += 1;
    for (int N = 0; N < i; N++)
        r += N * WRAPPED;
    return r;
}

static void region(int n, enum kind k)
{
    const unsigned five = 5, mult = 2654435761u;
    const _Bool yes = 5;
    const short small = 70000;
    const int M = N;
    const int N = 3;
#pragma scop
    for (int i = 0; i < n; i++) {
        z[i] = BIG * BIG + powers(i);
        y[i] = (i - five) / 2 + W + yes;
        u[i] = i * mult >> 24;
        v[i] = '\xff' + '\377' + '\e' + X + small + M * N;
    }
    for (int i = 0; i < WRAPPED; i++)
        if (i - LEN < 30)
            w[i] = 1;
    for (int i = 0; i < n; i++)
        w[i] += (e[i] - 1) / 2 > 9 ? 10 : 20;
    for (int i = 0; i < n; i++)
        v[i] += (k - 3 < 0) + 2 * ((s[i] - 1) / 2 < 0);
    for (enum kind j = A; j < D; j++)
        w[j] += (int)(~j >> 30);
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 64; i++)
        e[i] = i % 4, s[i] = i % 2 ? NEGATIVE : POSITIVE;
    region(40, B);
    for (int i = 0; i < 64; i++)
        printf("%ld %.9g %u %d %d\n", z[i], y[i], u[i], v[i], w[i]);
}
"""


def test_loops_over_typed_constants(tmp_path: Path) -> None:
    compiled(tmp_path, PROGRAM)
    assert_same(tmp_path)
