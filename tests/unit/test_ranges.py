"""Integers that generated code computes fit: the certificate refutes what does not, sizes are tested."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.compilation import Options
from polygpu.lower.fitting import sized
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Int, Name, Select, Unary
from polygpu.model.kernel import If
from polygpu.pipeline import compile_file
from polygpu.support.child import in_child, patience
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import RANGES
from tests.unit.emulated import built, compiled

FILL = """\
void fill(int n, float *restrict x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] = 7;
#pragma endscop
}
"""
SUMS = """\
void sums(int n, float a[restrict n])
{
#pragma scop
    for (int t = 0; t < n; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
#pragma endscop
}
"""


def region_of(directory: Path, text: str) -> CompiledRegion:
    (directory / "f.c").write_text(text)
    (region,) = compile_file(str(directory / "f.c"), Options(target="cuda", device="h100")).regions
    return region


def test_a_bound_beyond_int_is_refuted(tmp_path: Path) -> None:
    """A test that is always true, of a product that int holds only for small n."""
    made = region_of(tmp_path, FILL)
    (kernel,) = made.region.kernels
    always = Binary(">=", Binary("*", Int(391680), Name("n")), Name("n"))
    body = (*kernel.body[:-1], If(always, kernel.body[-1:], (), uniform=True))
    changed = replace(made, region=replace(made.region, kernels=(replace(kernel, body=body),)))
    (failure,) = certify(changed).failures
    assert (failure.property, failure.message) == (RANGES, "int does not hold 391680 * n")
    sizes = dict(part.split("=") for part in failure.parameters.split(", "))
    assert 391680 * int(sizes["n"]) >= 2**31


PRODUCT, FEW = Binary("*", Int(391680), Name("n")), Binary("<", Name("n"), Int(5000))


@pytest.mark.parametrize(
    "test, holds",
    [
        (Binary(">=", Select(FEW, PRODUCT, Name("n")), Name("n")), True),
        (Binary(">=", Select(FEW, Name("n"), PRODUCT), Name("n")), False),
        (Binary(">=", Select(Unary("!", FEW), Name("n"), PRODUCT), Name("n")), True),
        (Binary("&&", FEW, Binary(">=", PRODUCT, Name("n"))), True),
        (Binary("&&", Binary(">=", PRODUCT, Name("n")), FEW), False),
        (Binary("||", FEW, Binary(">=", PRODUCT, Name("n"))), False),
        (Binary("||", Unary("!", FEW), Binary(">=", PRODUCT, Name("n"))), True),
    ],
)
def test_what_is_not_computed_need_not_fit(test: Binary, holds: bool, tmp_path: Path) -> None:
    made = region_of(tmp_path, FILL)
    (kernel,) = made.region.kernels
    body = (If(test, (), (), uniform=True), *kernel.body)
    changed = replace(made, region=replace(made.region, kernels=(replace(kernel, body=body),)))
    assert [f.message for f in certify(changed).failures] == ["int does not hold 391680 * n"] * (not holds)


def test_without_the_test_of_sizes_nothing_is_proved(tmp_path: Path) -> None:
    """Whoever forgets to test sizes gets a certificate that says where that matters."""
    made = region_of(tmp_path, FILL)
    assert made.region.sized == ("n",)
    assert certify(made).holds
    unsized = replace(made, region=replace(made.region, sized=()))
    assert {f.property for f in certify(unsized).failures} == {RANGES}
    skewed = region_of(tmp_path, SUMS)
    assert certify(skewed).holds
    untested = replace(skewed, conditions=())
    assert {f.property for f in certify(untested).failures} == {RANGES}


@pytest.mark.parametrize(
    ("tests", "found"),
    [
        (["n mod 2 = 1"], "n m"),
        (["n mod 4096 = 5", "m mod 2 = 0"], "n m"),
        (["n = m - 7", "m mod 2 = 1"], "n m"),
        (["n = m"], "n m"),
        (["n = 2m + 1"], "n"),
        (["n < m", "m mod 7 = 3", "m < 5000", "n > -5000"], ""),
        (["n <= 1000", "m = 5"], "n"),
        (["n mod 1048576 = 0", "m = 5"], "n"),
        (["n mod 1048576 = 0", "n > 0", "m = 5"], ""),
        (["n <= 1000", "n > -2147418112", "m = 5"], ""),
        (["n <= 2147418113", "n > 2", "n mod 5 = 3", "m = 5"], "n"),
        (["n <= 2147418112", "n > 2", "n mod 5 = 4", "m = 5"], ""),
    ],
)
def test_sizes_are_tested_that_some_are_too_large_of(tests: list[str], found: str, tmp_path: Path) -> None:
    """Also where none of them is the largest one, 2147418112, that kernels count to."""
    made = region_of(tmp_path, FILL.replace("int n,", "int n, int m,").replace("i = 0", "i = m"))
    p = made.polyhedra
    assert sorted(p.parameters) == ["m", "n"]
    assert set(sized(p, [isl.Set(f"[m, n] -> {{ : {test} }}") for test in tests])) == set(found.split())


PROGRAM = """
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    float x[4] = {0};
    fill(argc > 1 ? atoi(argv[1]) : 4, x);
    printf("%g\\n", x[3]);
    return 0;
}
"""


def test_a_size_that_kernels_do_not_count_to_ends_the_program(tmp_path: Path) -> None:
    compiled(tmp_path, FILL + PROGRAM)
    program = built(tmp_path, "program_host.c", "program_emulator.c")
    assert subprocess.run((program,), capture_output=True, text=True, check=True).stdout == "7\n"
    done = subprocess.run((program, str(2**31 - 1)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "n is 2147483647, beyond 2147418112, up to which kernels count" in done.stderr


FLAT = """\
#include <stdio.h>
#include <stdlib.h>

static void flat(int n, int w, float *restrict x)
{
#pragma scop
    for (int i = n - 1; i >= 0; i -= 2)
        if (i % 3 != 1)
            x[i * w + 2 * i + 1] = 7;
#pragma endscop
}

int main(int argc, char **argv)
{
    float x[99] = {0};
    flat(atoi(argv[1]), 9, x);
    printf("%g\\n", x[23]);
    return 0;
}
"""


@pytest.mark.parametrize(("n", "found"), [("3", "7"), ("-2000000000", "0")])
def test_the_host_tests_what_int_does_not_hold(n: str, found: str, tmp_path: Path) -> None:
    """6 * n - w, which the source computes of no n below 1."""
    compiled(tmp_path, FLAT)
    flags = "-fsanitize=undefined", "-fno-sanitize-recover"
    program = built(tmp_path, "program_host.c", "program_emulator.c", flags=flags)
    assert subprocess.run((program, n), capture_output=True, text=True, check=True).stdout == f"{found}\n"


def test_children_together_take_no_longer_than_there_is_patience() -> None:
    with patience(0), pytest.raises(TimeoutError):
        in_child(lambda: "late", 20)
    with patience(30), patience(0), pytest.raises(TimeoutError):
        in_child(lambda: "late", 20)
    assert in_child(lambda: "in time", 20) == "in time"
