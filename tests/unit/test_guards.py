"""Affine tests within `&&`, `||`, `?:` and conditional blocks bound what the reads behind them can touch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.conditions import conditions
from polygpu.analysis.polyhedra import build
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import Assign, If, Region, Statement
from polygpu.pipeline import compile_file
from polygpu.verify.certificate import certify
from tests.unit.emulated import assert_same, built, compiled
from tests.unit.middle import VECTORS, analysed, same_set

ONE = "for (int i = 0; i < n; i++) "


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("x[i] = i > 0 && y[i - 1] > 2;", "0 < i < n"),
        ("x[i] = i < 1 || y[i - 1] > 2;", "0 < i < n"),
        ("x[i] = (i > 0 && i < 9 && z[i] > 1) || y[i - 1] > 2 ? 1 : 2;", "0 <= i < n"),
        ("x[i] = z[i] > 3 && i > 0 ? y[i - 1] : 2;", "0 < i < n"),
        ("x[i] = z[i] > 3 || i == 0 ? 2 : y[i - 1];", "0 < i < n"),
        ("x[i] = z[i] > 3 || i == 0 ? y[i - 1] : 2;", "0 <= i < n"),
        ("x[i] = z[i] > 3 ? i > 4 ? y[i - 1] : 2 : 1;", "4 < i < n"),
        ("x[i] = z[i] > 3 ? 1 : i > 4 ? 2 : y[i - 1];", "0 <= i < n and i <= 4"),
        ("if (z[i] > 3) { if (i > 1) x[i] = y[i - 1]; }", "1 < i < n"),
        (
            "if (z[i] > 3) { x[i] = 1; } else if (i > 1) x[i] = 2; else x[i] = y[i - 1];",
            "0 <= i < n and i < 2",
        ),
        ("if (z[i] > 3) { float t = i > n - 4 ? y[i - 1] : 0; x[i] = t; }", "i >= 0 and n - 4 < i < n"),
    ],
)
def test_the_instances_that_may_read(body: str, reads: str) -> None:
    p = analysed(VECTORS, ONE + body)
    found = [(s.name, a) for s in p.statements for a in s.accesses if a.reference.array == "y"]
    ((name, access),) = found
    assert same_set(access.relation.domain(), f"[n] -> {{ {name}[i] : {reads} }}")
    assert not access.must


@pytest.mark.parametrize(
    ("body", "writes"),
    [
        ("if (z[i] > 3) { if (i > 2) x[i - 3] = 1; }", "2 < i < n"),
        ("if (z[i] > 3) { if (z[i] < 9 && i > 2) x[i - 3] = 1; }", "2 < i < n"),
        ("if (z[i] > 3) { if (!(z[i] < 9 || i < 3)) x[i - 3] = 1; }", "2 < i < n"),
        ("if (!(z[i] > 3 || i < 3)) x[i - 3] = 1;", "2 < i < n"),
        ("if (z[i] > 3 && (i < 3) == 0) x[i - 3] = 1;", "2 < i < n"),
        ("if (z[i] > 3 && 0 != (i > 2)) x[i - 3] = 1;", "2 < i < n"),
        ("if (z[i] > 3) if (!((i > 2) == 0)) x[i - 3] = 1;", "2 < i < n"),
        ("if ((z[i] > 3 || i < 3) == 0) x[i - 3] = 1;", "2 < i < n"),
        ("if (z[i] > 3) switch (i > 2) case 1: x[i - 3] = 1;", "2 < i < n"),
        ("if (!(z[i] > 3 && i < 3)) x[i] = 1;", "0 <= i < n"),
        ("if (!(z[i] > 3 && i < 3)) y[i] = 1; else x[i] = 1;", "0 <= i < n and i < 3"),
        (
            "if (z[i] > 1) { if ((i > 2 && z[i] > 3) || i > 7) x[i] = 1; }",
            "2 < i < n",
        ),
        ("if (z[i] > 1) { if ((i > 2 && z[i] > 3) || z[i] > 7) x[i] = 1; }", "0 <= i < n"),
        (
            "if (z[i] > 1) { if (i > 7 || i < 2) { if (i != 8) x[i] = 1; } }",
            "0 <= i < n and (i < 2 or i > 8)",
        ),
    ],
)
def test_the_instances_that_may_write(body: str, writes: str) -> None:
    p = analysed(VECTORS, ONE + body)
    ((name, access),) = [
        (s.name, a) for s in p.statements for a in s.accesses if a.write and a.reference.array == "x"
    ]
    assert same_set(access.relation.domain(), f"[n] -> {{ {name}[i] : {writes} }}")
    assert not access.must


def test_bounds_are_those_of_the_instances_that_write() -> None:
    body = "for (int i = 0; i < 9; i++) if (y[i] > 2) { if (i > 2) x[i - 3] = 1; if (i < k) x[i] = 2; }"
    p = analysed("int k, float x[restrict 6], float y[restrict 9]", body)
    ((condition,), reason) = [c.holds for c in conditions(p)], [c.reason for c in conditions(p)]
    assert condition.is_equal(isl.Set("[k] -> { : k <= 6 }")), reason


@pytest.mark.parametrize(
    ("test", "tested"),
    [
        ("i < k", True),
        ("!(y[i + 2] > 1 && i >= k)", True),
        ("!(y[i + 2] > 1 || i >= k)", True),
        ("y[i + 2] > 1 || !(i < k)", True),
        ("y[i + 2] > 1 && i - 4 < k", False),  # no guard: the difference may wrap around
    ],
)
def test_a_guard_of_a_write_that_unsigned_arithmetic_may_change_is_tested(test: str, tested: bool) -> None:
    body = f"for (int i = a; i < 9; i++) if (y[i + 2] > 2) {{ if ({test}) x[i + 2] = 1; else x[i + 2] = 2; }}"
    p = analysed("unsigned k, int a, float x[restrict 99], float y[restrict 99]", body)
    tests = [c.holds for c in conditions(p) if "a value" in c.reason]
    assert [t.is_equal(isl.Set("[a, k] -> { : a >= 0 and k >= 0 }")) for t in tests] == [True] * tested


@pytest.mark.parametrize(
    ("value", "tested"),
    [
        ("y[i + 2] > 1 && i < k ? y[i + 4] : 2", True),
        ("i >= k && y[i + 4] > 1", True),
        ("y[i + 2] > 1 && i < k ? 1 : 2", False),
        ("y[i + 2] > 1 && i - 4 < k ? y[i + 4] : 2", False),  # no guard: the difference may wrap around
    ],
)
def test_a_guard_that_unsigned_arithmetic_may_change_is_tested(value: str, tested: bool) -> None:
    """i < k is false of i < 0, since k is unsigned."""
    body = f"for (int i = a; i < 9; i++) x[i + 2] = {value};"
    p = analysed("unsigned k, int a, float x[restrict 99], float y[restrict 99]", body)
    tests = [c.holds for c in conditions(p) if "a value" in c.reason]
    assert [t.is_equal(isl.Set("[a, k] -> { : a >= 0 and k >= 0 }")) for t in tests] == [True] * tested


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>

void one(const float *x, float *y, int n)
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i] = (i > 0 && x[i - 1] > 2) ? x[i] : 7;
    for (int i = 0; i < n; i++)
        y[i] += (x[i] > 2 && i < n - 1 && x[i + 1] > 1) || (i > 3 && x[i - 4] > 3) ? x[i] : 7;
    for (int i = 0; i < n; i++)
        y[i] += x[i] > 3 ? (i > 2 ? x[i - 3] : 4) : i > 1 ? x[i - 2] : 1;
    for (int i = 0; i < n; i++)
        if (x[i] > 3) {
            float t = i > 2 ? x[i - 3] : 0;
            if (i > 1)
                y[i] += x[i - 2] + t;
            else if (i < n - 1)
                y[i] -= x[i + 1];
        }
    for (int i = 0; i < n; i++)
        if (x[i] > 1) {
            if (i > 2 && x[i] < 6)
                y[i - 3] += 2;
            if (!(i < 5 || x[i] > 5))
                y[i - 5] = 3;
            else if (i < n - 1 || i > n + 3)
                y[i + 1] = x[i];
        }
#pragma endscop
}

void two(int n, const float a[n][n], float b[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            b[i][j] = a[i][j] > 1 && i > 0 && j > 0 && a[i - 1][j - 1] > 2 ? a[i - 1][j] : 7;
            for (int k = 0; k < n; k++)
                b[i][j] += a[i][k] * (k < 1 || a[k - 1][j] > 3 ? 2 : a[k][j])
                           + (a[k][k] > 5 && i > k ? a[i][k] : 0);
        }
#pragma endscop
}

void wide(const unsigned *k, const float *x, float *y, size_t n)
{
#pragma scop
    for (size_t i = 0; i < n; i++)
        y[i] += k[i] > 2 && i + 1 < n ? x[i + 1] : 7;
    for (size_t i = 0; i < n; i++)
        y[i] -= (i > 0 && x[i - 1] > 2) ? x[i] : 7;
#pragma endscop
}

int main(void)
{
    for (int n = 0; n < 40; n += 13) {
        float *x = malloc(4 * n), *y = calloc(n, 4), *a = malloc(4 * n * n), *b = malloc(4 * n * n), sum = 0;
        unsigned *k = malloc(4 * n);
        for (int i = 0; i < n * n; i++)
            x[i / n] = i / n % 7, k[i / n] = i / n % 4, a[i] = i * 7 % 11;
        one(x, y, n);
        two(n, (void *)a, (void *)b);
        wide(k, x, y, n);
        for (int i = 0; i < n * n; i++)
            sum += b[i] * (i % 5) + y[i / n] * (i / n);
        printf("%d %.9g\\n", n, sum);
    }
}
"""


def test_what_is_not_read_is_not_copied(tmp_path: Path) -> None:
    """Arrays that end where the last element is read; the sanitizer sees a transfer of more."""
    (tmp_path / "program.c").write_text(PROGRAM)
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    for suffix, text in done.files.items():
        (tmp_path / f"program{suffix}").write_text(text)

    def printed(*files: str) -> str:
        built(tmp_path, *files, flags=("-fsanitize=address", "-fno-sanitize-recover"))
        environment = {"ASAN_OPTIONS": "detect_leaks=0"}
        ran = subprocess.run(
            [tmp_path / "program"], check=True, capture_output=True, text=True, env=environment
        )
        assert ran.stderr == ""
        return ran.stdout

    assert printed("program_host.c", "program_emulator.c") == printed("program.c")


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_the_code_is_proved(device: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator", device=device))
    assert [certify(r).holds for r in done.regions] == [True] * 3


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 2) { if (i > 2) y[i] = x[i]; }",
        "if (x[i] > 2) { if (x[i] < 7) { if (y[i] > i) y[i] = x[i]; } }",
        "if (x[i] > 2) { if (i > 2) y[i] = x[i]; else y[i] += 1; } else if (i < 5) y[i] = 0;",
        "if (i > 3) { if (x[i] > 2) { if (i < 9) y[i] = x[i]; } }",
        "if (x[i] > 2) { if (i > 2) y[i - 3] = x[i]; }",
        "if (x[i] > 2) { if (!(z[i] > 3 || i < 3)) y[i - 3] = x[i]; }",
        "float t = z[i]; if (x[i] > t) { if (i != 3) t += 1; else y[i] = t; } else t = 2;",
        "float t = z[i]; if (x[i] > t) { if (i != 3) t += 1; else y[i] = t; } else t = 2; y[i] += t;",
        "if (x[i] > 2) { float t = z[i], u = x[i]; u = u + 1; y[i] = t; t = 3; }",
    ],
)
def test_nested_branches_are_the_sources(body: str, tmp_path: Path) -> None:
    assert certify(region_of(f"{ONE}{{ {body} }}", VECTORS, tmp_path)).holds


def region_of(body: str, parameters: str, folder: Path) -> CompiledRegion:
    (folder / "f.c").write_text(f"void f({parameters})\n{{\n#pragma scop\n    {body}\n#pragma endscop\n}}\n")
    (region,) = compile_file(str(folder / "f.c"), Options(target="cuda", device="h100")).regions
    return region


def test_a_difference_of_unsigned_values_decides_nothing(tmp_path: Path) -> None:
    """i < n - 2 is true of all i if n is 1: x is written."""
    body = "for (int i = 0; i < n; i++) { if (y[i] > 1) { if (i < n - 2 || i > 3) x[2 * i] += 1; } }"
    region = region_of(body, "unsigned n, float x[restrict 2 * n], float y[restrict n]", tmp_path)
    p = build(region.scop)
    (write,) = (a for s in p.statements for a in s.accesses if a.write)
    assert same_set(write.relation.domain(), "[n] -> { S0[i] : 0 <= i < n }")
    assert certify(region).holds


BRANCHES = """{
    float t = z[i];
    if (x[i] > t) {
        if (i != 3)
            t += 1;
        else
            y[i] = t;
        y[i] *= 0.5f;
    } else
        t = 2;
    y[i] += t;
}"""


def left_out(region: Region) -> Iterator[Region]:
    """The region without one of the assignments within a branch."""

    def without(dropped: Assign, body: tuple[Statement, ...]) -> Iterator[Statement]:
        for s in body:
            if isinstance(s, If):
                then, otherwise = (tuple(without(dropped, b)) for b in (s.then, s.otherwise))
                yield replace(s, then=then, otherwise=otherwise)
            elif s is not dropped:
                yield s

    (kernel,) = region.kernels
    for dropped in _within(region):
        yield replace(region, kernels=(replace(kernel, body=tuple(without(dropped, kernel.body))),))


def _within(region: Region) -> list[Assign]:
    def found(body: tuple[Statement, ...], inside: bool) -> Iterator[Assign]:
        for s in body:
            if isinstance(s, If):
                yield from found((*s.then, *s.otherwise), inside or s.origin is not None)
            elif inside and isinstance(s, Assign):
                yield s

    return list(found(region.kernels[0].body, False))


def test_an_action_of_a_branch_that_is_left_out_is_missed(tmp_path: Path) -> None:
    region = region_of(ONE + BRANCHES, VECTORS, tmp_path)
    assert certify(region).holds
    mutants = list(left_out(region.region))
    assert len(mutants) == 4
    for mutant in mutants:
        certificate = certify(replace(region, region=mutant))
        assert certificate.failures
        assert not certificate.unproved


NEVER = """
#include <stdio.h>

void f(int n, float *x, float *y, float (*w)[n], const float *v)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        if (x[i] > 2) {
            if (i < 0)
                y[i + 3] = 1;
            else
                x[i] = 3;
        }
        x[i] += x[i] > 3 ? (i > n ? w[i][2] : 1) : i > n && x[i] < v[i];
    }
#pragma endscop
}

int main(void)
{
    float x[9];
    for (int i = 0; i < 9; i++)
        x[i] = i;
    f(9, x, 0, 0, 0);
    for (int i = 0; i < 9; i++)
        printf("%g\\n", x[i]);
}
"""


def test_arrays_that_no_instance_can_touch_need_no_memory(tmp_path: Path) -> None:
    done = compiled(tmp_path, NEVER)
    assert certify(done.regions[0]).holds
    assert assert_same(tmp_path) == ""
