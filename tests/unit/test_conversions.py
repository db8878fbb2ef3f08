"""Values that a conversion may change: found at compile time, tested at run time, or of no effect.

They are those below 0 that C takes as unsigned, those that a narrow iterator does not hold, and those beyond
int, in which kernels count.
"""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.conditions import conditions
from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from tests.unit.emulated import assert_same, compiled
from tests.unit.middle import analysed

ARRAYS = "float x[restrict 99], float y[restrict 99]"


def held(parameters: str, body: str) -> list[isl.Set]:
    return [c.holds for c in conditions(analysed(f"{parameters}, {ARRAYS}", body)) if "a value" in c.reason]


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("unsigned n", "for (int i = 0; i < n; i++) x[i] = 0;"),
        ("unsigned n", "for (unsigned i = n; i > 0; i--) x[i - 1] = 0;"),
        ("unsigned long n", "for (unsigned long i = 3; i + 2 < n; i += 2) x[i] = y[i / 2];"),
        ("unsigned n", "for (int i = 1; i < n; i++) x[i] = y[(i - 1) / 2u];"),
        ("unsigned n", "for (int i = 0; i < n; i++) x[i] = i > 0 ? y[(i - 1) % 4u] : 0;"),
        ("unsigned n", "for (int i = 0; i < 9; i++) if (i > 3 && i - 3 < n) x[i] = y[i];"),
        ("unsigned n, int a", "for (int i = 0; i < 9; i++) x[i] = i + a < n ? 1 : 2;"),
        ("unsigned n, int a", "for (int i = a; i < 9; i++) x[i] = (i - n) / 2 + (a < n);"),
        ("int n, int a", "for (int i = a; i < n - 1; i++) x[i % 4 + 4] = y[(i - 9) / 2 + 50];"),
        ("unsigned n", "for (int i = 0; i < 9; i++) if (i - 3 == n) x[i] = y[i + n - 3];"),
        ("unsigned n, int a", "for (int i = a; i < 9; i++) x[i + 9] = y[(i >> 1u) + 9];"),
    ],
)
def test_what_is_never_below_0_needs_no_test(parameters: str, body: str) -> None:
    assert held(parameters, body) == []


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("int n", "for (char i = -5; i < 90; i++) x[i + 9] = i < n;"),
        ("unsigned char n", "for (unsigned char i = 0; i < n; i++) x[i] = 0;"),
        ("short n", "for (short i = n; i > 0; i -= 4) x[i] = 0;"),
        ("int n", "for (short i = n & 255; i < 300; i++) x[i / 4] = 0;"),
        ("int n", "for (_Bool i = 0; i < 1; i++) x[i] = n;"),
        ("int n", "for (int i = 0; i < 2 * n; i++) x[i] = y[i + n];"),
        ("long n", "for (long i = 0; i < n; i++) x[i + 1] = y[i];"),
        ("unsigned long n", "for (unsigned long i = 1; i + 1 < n; i += 3) x[i - 1] = y[i + 1];"),
    ],
)
def test_what_fits_into_its_type_needs_no_test(parameters: str, body: str) -> None:
    assert held(parameters, body) == []


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        ("unsigned n", "for (int i = 0; i < n - 2; i++) x[i] = 0;", "n >= 2"),
        ("unsigned n, int a", "for (int i = a; i < n; i++) x[i + 9] = 0;", "a >= 0"),
        ("unsigned n, int a", "for (unsigned i = a; i < 9; i++) x[i + 9] = 0;", "a >= 0"),
        ("unsigned n", "for (long i = n - 5; i < 9; i++) x[i + 9] = 0;", "n >= 5"),
        ("unsigned n, int a", "for (int i = a; i < 9; i++) x[i + 9] = y[i % 4u + 9];", "a >= 0"),
        (
            "unsigned n, int a",
            "for (int i = a; i < 9; i++) if (i < n) x[i + 9] = 0;",
            "a >= 0",
        ),
        ("unsigned n, unsigned m", "for (int i = 0; i < (n - m) / 2; i++) x[i] = 0;", "n >= m"),
        (
            "unsigned n, unsigned m",
            "for (unsigned i = n; i >= m; i--) x[i] = 0;",
            "m >= 1 or n < m",
        ),
        (
            "unsigned n, unsigned m",
            "for (int i = 0; i < 9; i++) for (int j = 0; j < (i < n - m ? i : 3); j++) x[i] += 1;",
            "n >= m",
        ),
    ],
)
def test_what_may_be_below_0_is_tested(parameters: str, body: str, expected: str) -> None:
    _assert_tested(parameters, body, expected)


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        ("int n", "for (char i = n; i < 99; i++) x[i] = 0;", "-128 <= n <= 127"),
        ("int n", "for (unsigned char i = 0; i < n; i++) x[i] = 0;", "n <= 255"),
        ("int n", "for (signed char i = 5; i > n; i--) x[i + 9] = 0;", "n >= -128"),
        ("int n", "for (short i = 2; i <= n; i += 5) x[i / 999] = 0;", "n < 32767"),
        ("int n", "for (_Bool i = 0; i < n; i++) x[i] = 0;", "n <= 1"),
        ("unsigned n", "for (char i = -2; i < (int)n; i++) x[i + 2] = 0;", "n <= 127"),
        ("long n", "for (long i = 0; i < 2 * n; i++) x[i] = 0;", "-1073725440 <= n <= 1073725440"),
        ("unsigned n", "for (unsigned i = 0; i < 2 * n; i++) x[i] = 0;", "n <= 1073725440"),
        ("long n", "for (long i = 0; i < n; i++) x[3 * i] = 0;", "3 * (n - 1) <= 2147450880"),
        ("int n", "for (long i = 0; i < 3L * n; i++) x[i] = 0;", "-2147450880 <= 3 * n <= 2147450880"),
    ],
)
def test_what_may_not_fit_is_tested(parameters: str, body: str, expected: str) -> None:
    _assert_tested(parameters, body, expected)


def _assert_tested(parameters: str, body: str, expected: str) -> None:
    first, *others = held(parameters, body)
    for other in others:
        first = first.intersect(other)
    names = [p.split()[-1] for p in parameters.split(", ")]
    unsigned = [name for p, name in zip(parameters.split(", "), names, strict=True) if "unsigned" in p]
    context = isl.Set(
        f"[{', '.join(names)}] -> {{ : {' and '.join(f'{name} >= 0' for name in unsigned) or 'true'} }}"
    )
    wanted = context.intersect(isl.Set(f"[{', '.join(names)}] -> {{ : {expected} }}"))
    assert first.intersect(context).is_equal(wanted)


def test_what_is_always_below_0_is_an_error() -> None:
    with pytest.raises(Diagnosed) as caught:
        held("unsigned n", "for (int i = -2; i < n; i++) x[i + 2] = 0;")
    (error,) = caught.value.diagnostics
    assert error.id == "PG316" and "'i < n'" in error.message


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "for (unsigned char i = 0; i < 256; i++) x[i % 99] = 0;",
            "'i++' is beyond the range of unsigned char",
        ),
        ("for (short i = 40000; i > 0; i -= 1000) x[i / 1000] = 0;", "'short i = 40000' is beyond"),
        (
            "for (long i = 0; i < 3000000000; i++) x[i / 99999999] = 0;",
            "'i < 3000000000' is beyond 2147450880",
        ),
    ],
)
def test_what_never_fits_is_an_error(body: str, text: str) -> None:
    with pytest.raises(Diagnosed) as caught:
        held("int n", body)
    (error,) = caught.value.diagnostics
    assert error.id == "PG317" and text in error.message


def test_a_loop_down_to_0_of_an_unsigned_iterator() -> None:
    assert held("unsigned n", "for (unsigned i = n; (int)i >= 0; i--) x[i] = 0;") == []
    with pytest.raises(Diagnosed, match="always holds"):
        held("unsigned n", "for (unsigned i = n; i >= 0; i--) x[i] = 0;")
    with pytest.raises(Diagnosed, match="always holds"):
        held("int n", "for (unsigned char i = n; i >= 0; i--) x[i] = 0;")


def test_a_wrong_guess_of_a_shape_is_called_that() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) p[i * n + j] = q[i * n + j + 1];"
    with pytest.raises(Diagnosed) as caught:
        conditions(analysed("int n, float *restrict p, float *restrict q", body))
    (error,) = caught.value.diagnostics
    assert error.id == "PG161" and "beyond the rows" in error.message


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

static unsigned char narrow(int value)
{
    return value;
}

static unsigned least(int a, int b)
{
    return a < b ? a : b;
}

void region(unsigned n, int low, float *restrict x, float *restrict y)
{
#pragma scop
    for (int i = 0; i < 30; i++)
        if (narrow(200 * i) > 99 && least(i - 9, 3) < 5)
            y[i] -= 1;
#pragma endscop
#pragma scop
    for (signed char i = low + 200; i < 20; i++)
        y[i + 60] += 3;
#pragma endscop
#pragma scop
    for (int i = low; i < n; i++)
        x[i + 9] = 1;
#pragma endscop
#pragma scop
    for (int i = low; i < 9; i++)
        if (i < n)
            x[i + 20] += 2;
#pragma endscop
#pragma scop
    for (int i = low; i < 9; i++)
        y[i + 9] += x[i % 4u];
#pragma endscop
#pragma scop
    for (int i = low; i < 9; i++)
        y[i + 20] += i < n ? x[i + 9] : x[i + 10];
#pragma endscop
}

int main(void)
{
    for (int low = -5; low < 4; low++)
        for (unsigned n = 0; n < 12; n += 3) {
            float x[40], y[200], sum = 0;
            for (int i = 0; i < 200; i++)
                x[i % 40] = i % 40, y[i] = 3 * i;
            region(n, low, x, y);
            for (int i = 0; i < 200; i++)
                sum += (x[i % 40] + 2 * y[i]) * (i + 1);
            printf("%d %u %.9g\n", low, n, sum);
        }
}
"""


def test_the_original_takes_over(tmp_path: Path) -> None:
    compiled(tmp_path, PROGRAM)
    said = assert_same(tmp_path)
    assert said.count("the loop runs on the host: a value in ") == 5  # each region says it once


def test_a_nest_that_was_only_found_stays_on_the_host(tmp_path: Path) -> None:
    text = (
        PROGRAM.replace("low; i < n", "-1; i < n").replace("#pragma scop", "").replace("#pragma endscop", "")
    )
    (tmp_path / "program.c").write_text(text)
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    (warning,) = (d for d in done.diagnostics if any(note.id == "PG316" for note in d.notes))
    assert warning.id == "PG181" and warning.position is not None
    assert text.splitlines()[warning.position.line - 1] == "    for (int i = -1; i < n; i++)"
    assert {r.scop.function for r in done.regions} == {"region", "main"}  # the nests beside it are offloaded
    assert "for (int i = -1; i < n; i++)\n        x[i + 9] = 1;" in done.files["_host.c"]


LARGE = (
    "2147483648",
    "4294967295u",
    "0x80000000",
    "9223372036854775807",
    "9223372036854775808u",
    "18446744073709551615u",
    "(-9223372036854775807 - 1)",
)
USES = (
    "for (unsigned long i = 0; i < n; i++) if (i < {0}) x[i] += 1;",
    "for (int i = 0; i < n; i++) if (i == {0} || i != {0}) x[i] += 2;",
    "for (int i = 0; i < n; i++) if (y[i] > 5) for (unsigned long k = {0}; k < i + 1; k += 2) x[i] += k;",
    "for (int i = 0; i < n; i++) x[i] += {0};",
    "for (int i = 0; i < n; i++) x[i] += y[i + {0} - {0}];",
    "for (long i = 0; i < n; i++) x[i / {0}] += 5;",
    "for (int i = 0; i < n && i < {0}; i++) x[i] += 7;",
    "const long c = {0}; for (int i = 0; i < n; i++) x[i > c] += 9;",
)


@pytest.mark.parametrize("use", USES)
def test_constants_beyond_int(tmp_path: Path, use: str) -> None:
    """They are told, or refused where kernels do not count so far; and results are the source's."""
    functions = "".join(
        f"void f{k}(int n, long x[restrict 99], int y[restrict 99])\n{{\n    {use.format(large)}\n}}\n"
        for k, large in enumerate(LARGE)
    )
    calls = "".join(f"    f{k}(97, x, y);\n" for k in range(len(LARGE)))
    (tmp_path / "program.c").write_text(
        f"#include <stdio.h>\n{functions}int main(void)\n{{\n    long x[99] = {{0}};\n    int y[99];\n"
        f"    int i = 0;\n    while (i < 99) {{ y[i] = i * 7 % 31; i++; }}\n{calls}"
        '    while (i > 0) { i--; printf("%ld\\n", x[i]); }\n}\n'
    )
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator", level=1, offload="always"))
    for suffix, made in done.files.items():
        (tmp_path / f"program{suffix}").write_text(made)
    if done.regions:
        assert_same(tmp_path)
