"""Affine tests within `&&`, `||`, `?:` and conditional blocks bound what the reads behind them can touch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.conditions import conditions
from polygpu.pipeline import Options, compile_file
from polygpu.verify.certificate import certify
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
        checks = ["-fsanitize=address", "-fno-sanitize-recover"]
        command = ["gcc", "-w", "-O1", "-ffp-contract=off", *checks, *files, "-o", "program", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
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
    ],
)
def test_nested_branches_are_the_sources(body: str, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(
        f"void f({VECTORS})\n{{\n#pragma scop\n    {ONE}{{ {body} }}\n#pragma endscop\n}}\n"
    )
    (region,) = compile_file(str(tmp_path / "f.c"), Options(target="cuda", device="h100")).regions
    assert certify(region).holds
