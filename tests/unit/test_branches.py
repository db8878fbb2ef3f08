"""What happens within branches that depend on data: values passed on in one instance, locals, proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary
from polygpu.model.kernel import If, Kernel, Statement
from polygpu.pipeline import compile_file
from polygpu.verify.certificate import certify
from tests.unit.emulated import assert_same, compiled

PROGRAM = """
#include <stdio.h>
void f(int n, float x[restrict n], float y[restrict n], float z[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) { %s }
#pragma endscop
}
int main(void)
{
    float x[99], y[99], z[99];
    for (int i = 0; i < 99; i++)
        x[i] = i %% 7 - 1, y[i] = i, z[i] = i %% 5;
    f(99, x, y, z);
    for (int i = 0; i < 99; i++)
        printf("%%g %%g\\n", y[i], z[i]);
}
"""

BODIES = [
    # a scalar that the branch writes and reads, and nobody after it
    "float t = 0; if (x[i] > 2) { t = 1; y[i] = t; }",
    "float t = 0; if (x[i] > 2) { t = 1; y[i] = t; } else { t = 2; z[i] = t; }",
    "float t = 0; if (x[i] > 2) { t = 1; y[i] = t; } else if (x[i] > 1) { z[i] = 3; } else z[i] = t;",
    "float t = z[i]; if (x[i] > 2) { t += x[i]; if (t > 4) y[i] = t * t; }",
    "float t; if (x[i] > 2) { t = x[i]; y[i] = t * t; } else { t = z[i]; y[i] = t - 1; }",
    "z[i] = 0; if (x[i] > 2) { z[i] = 1; y[i] = z[i]; } else { z[i] = 2; y[i] = z[i] * 2; } z[i] = 5;",
    # both sides write, more often than anything reads
    "if (x[i] > 2) y[i] = 1; else y[i] = 2; if (z[i] > 3) y[i] = 3; else y[i] = 4; y[i] = 0;",
    "if (x[i] > 2) y[i] = 1; if (x[i] > 1) y[i] = 2; if (z[i]) y[i] = 3; if (z[i] > 2) y[i] = 4; y[i] = 0;",
    # a scalar without a value before the branch
    "float t; if (x[i] > 2) t = 1; else if (x[i] > 1) t = 2; else if (x[i] > 0) t = 3; else t = 4; y[i] = t;",
    # locals of the branch behind affine tests
    "if (x[i] > 2) { float t = z[i]; if (i > 3) t += 1; y[i] = t; }",
    "if (x[i] > 2) { float t = 1; if (i > 3) t = 2; else t = 3; z[i] = t; }",
    # locals that nothing needs in the end
    "if (x[i] > 2) { float t = z[i]; if (t > 3) { if (t > 4) t = 3; else t = 1; } else t = 9; z[i] = 1; }",
    "if (x[i] > 2) { float t = 0; if (z[i] > 3) { t = 1; } else { t = 2; y[i] = t; } }",
    "float t = 0; if (x[i] > 2) { if (z[i] > 3) { t = 1; } else { t = 2; y[i] = t; } }",
    "float t = 0; if (x[i] > 2) { if (z[i] > 3) { t = 1; } else { t = 2; y[i] = t; } z[i] = t; }",
    "if (x[i] > 2) { float t = z[i]; float u = t; if (u > 3) { t = u; u = 4; } y[i] = 2; }",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_result_and_the_proof(body: str, tmp_path: Path) -> None:
    made = compiled(tmp_path, PROGRAM % body)
    assert assert_same(tmp_path) == ""
    assert [certify(r).holds for r in made.regions] == [True]


@pytest.mark.parametrize(
    "body",
    [
        "float t; if (x[i] > 2) { t = x[i]; y[i] = t * t; }",
        "float t; if (x[i] > 2) { t = x[i]; y[i] = t * t; } else { t = z[i]; y[i] = t - 1; }",
        "float t; if (x[i] > 2) t = x[i]; else t = z[i]; y[i] = t;",
        "float t; if (x[i] > 2) t = x[i]; else if (x[i] > 1) t = z[i]; else { t = 3; z[i] = 4; } y[i] = t;",
        "float t = 7; if (x[i] > 2) { if (z[i] > 3) t = 1; else { t = 2; y[i] = t; } z[i] = t; }",
        "float t[2]; if (x[i] > 2) { t[0] = x[i]; t[1] = z[i]; y[i] = t[0] - t[1]; }",
    ],
)
def test_what_a_branch_writes_before_it_reads_it_carries_nothing_on(body: str, tmp_path: Path) -> None:
    made = compiled(tmp_path, PROGRAM % body)
    assert assert_same(tmp_path) == ""
    assert [d for d in made.diagnostics if d.severity == "warning"] == []  # none of a sequential loop
    (region,) = made.regions
    (kernel,) = region.region.kernels
    assert ("t" in {a.name for a in kernel.arrays}) == ("t[2]" in body)  # scalars are in registers
    assert certify(region).holds


def test_what_a_dead_statement_reads_is_not_copied(tmp_path: Path) -> None:
    body = "float t = y[i + 5]; if (x[i] > 2) { t = 1; z[i] = t; }"
    made = compiled(
        tmp_path, PROGRAM.replace("y[restrict n]", "*restrict y").replace("y[99]", "y[104]") % body
    )
    assert assert_same(tmp_path) == ""
    (region,) = made.regions
    assert certify(region).holds
    assert [k.name for k in region.region.kernels] == ["f_0_k0"]
    assert [a.name for a in region.region.kernels[0].arrays if a.name in "ty"] == []


@pytest.mark.parametrize(
    ("body", "arrays"),
    [
        ("float u = z[i]; float t = u * 2; float v = u + t; y[i] = x[i];", {"x", "y"}),
        ("float u = z[i] + 1; float t = u * 2; y[i] = u;", {"y", "z"}),  # one of two readers needs u
    ],
)
def test_what_only_feeds_dead_statements_is_left_out(body: str, arrays: set[str], tmp_path: Path) -> None:
    (region,) = compiled(tmp_path, PROGRAM % body).regions
    assert assert_same(tmp_path) == ""
    assert certify(region).holds
    assert [{a.name for a in k.arrays} for k in region.region.kernels] == [arrays]


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 2) t = x[i]; y[i] = t;",
        "if (x[i] > 2) t = x[i]; else z[i] = 1; y[i] = t;",
        "if (x[i] > 2) { y[i] = t; t = x[i]; }",
        "if (x[i] > 2) { if (z[i] > 1) t = x[i]; y[i] = t; }",
    ],
)
def test_what_a_branch_may_leave_unwritten_is_carried_on(body: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("#pragma scop", "float t = 5;\n#pragma scop")
    made = compiled(tmp_path, text % body)
    assert assert_same(tmp_path) == ""
    assert certify(made.regions[0]).holds


SQUARE = """
#include <stdio.h>
#include <stdlib.h>
void f(int n, float (*restrict a)[n], float (*restrict b)[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (a[i][j] > 1) {
                if (i > 0 && (j > 0 || a[i][j] > 4))
                    b[i][j] = 1;
                b[j + 1][i] -= 1;
            }
#pragma endscop
}
int main(void)
{
    int n = 19;
    float *a = malloc(4 * n * n), *b = calloc(4, (n + 1) * n);
    for (int i = 0; i < n * n; i++)
        a[i] = i * 7 % 6, b[i] = i % 5;
    f(n, (void *)a, (void *)b);
    for (int i = 0; i < n * n; i++)
        printf("%g\\n", b[i]);
}
"""


def test_equal_references_behind_different_tests_share_a_tile(tmp_path: Path) -> None:
    (region,) = compiled(tmp_path, SQUARE).regions
    assert_same(tmp_path)
    assert certify(region).holds


def test_a_write_that_is_out_of_bounds_wherever_its_guard_holds_may_never_happen(tmp_path: Path) -> None:
    text = PROGRAM.replace("y[restrict n]", "y[restrict 99]") % (
        "if (x[i] > 2) { if (i < 99) y[i] = 1; else y[i] = 2; }"
    )
    compiled(tmp_path, text)
    assert assert_same(tmp_path) == ""


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 2) y[i] = 1; else y[i] = 2;",
        "if (x[i] > 2) { if (i > 4 && z[i] > 1) y[i] = 1; else y[i] = 2; } else z[i] = 4;",
    ],
)
def test_a_guard_does_not_choose_the_other_side(body: str, tmp_path: Path) -> None:
    """`if (i < n) if (a) b else c` is not `if (i < n && a) b else c`."""
    region = _compiled(body, tmp_path)
    assert certify(region).holds
    (kernel,) = region.region.kernels
    wrong = replace(kernel, body=tuple(map(_joined, kernel.body)))
    assert wrong != kernel
    assert certify(_with(region, wrong)).failures


def _joined(s: Statement) -> Statement:
    match s:
        case If(guard, (If(test, then, otherwise, uniform, origin),), ()) if origin is not None:
            return If(Binary("&&", guard, test), then, otherwise, uniform, origin)
    return s


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 2) y[i] = 1;",
        "if (x[i] > 2) { if (z[i] > 1) y[i] = 1; else y[i] = 2; }",
        "if (x[i] > 2) { y[i] = 1; if (z[i] > 1) y[i] = 2; }",
        "if (x[i] > 2) { if (z[i] > 1) y[i] = 1; z[i] = y[i]; y[i] = 3; } else y[i] = 2;",
    ],
)
def test_old_values_that_stay_are_copied_in(body: str, tmp_path: Path) -> None:
    region = _compiled(body, tmp_path)
    assert certify(region).holds
    buffers = tuple(replace(b, copy_in=b.copy_in and b.name != "y") for b in region.region.buffers)
    wrong = certify(replace(region, region=replace(region.region, buffers=buffers)))
    assert [f.message for f in wrong.failures] == [
        "'y' is read before it is written, and not copied to the device"
    ]


def test_a_local_that_is_assigned_on_the_other_side(tmp_path: Path) -> None:
    body = "if (x[i] > 2) { float t = 1; if (i > 3) t = 2; else t = z[i]; y[i] = t; }"
    region = _compiled(body, tmp_path)
    assert certify(region).holds
    (kernel,) = region.region.kernels
    mutants = [replace(kernel, body=body) for body in _swapped(kernel.body)]
    assert len(mutants) == 2  # the whole branch, and the one within
    for wrong in mutants:
        assert certify(_with(region, wrong)).failures


@pytest.mark.parametrize(
    "writes",
    [
        "if (i < 10) t = x[i]; else t = z[i];",
        "if (i < 10) { t = 1; t = x[i]; } else if (i > 20) t = z[i]; else t = 2;",
        "if (i < 10) t = x[i]; else if (x[i] > 3) t = z[i]; else t = 2;",
        "if (x[i] > 3) { if (i < 10) t = 4; else t = 5; } else t = z[i];",
    ],
)
def test_a_scalar_that_both_sides_of_an_affine_test_write(writes: str, tmp_path: Path) -> None:
    """Within a branch that depends on data, behind which nothing older is found."""
    (tmp_path / "f.c").write_text(
        PROGRAM.replace("#pragma scop", "float t;\n#pragma scop") % f"if (x[i] > 2) {{ {writes} y[i] = t; }}"
    )
    (region,) = compile_file(str(tmp_path / "f.c"), Options(target="cuda", device="h100")).regions
    assert certify(region).holds
    (kernel,) = region.region.kernels
    mutants = [replace(kernel, body=body) for body in _one_sided(kernel.body)]
    assert len(mutants) == 2 * writes.count("if")
    for wrong in mutants:
        assert certify(_with(region, wrong)).failures


def _one_sided(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """`body` with a side of one test that has two left out."""
    for k, s in enumerate(body):
        if isinstance(s, If):
            here = [replace(s, then=()), replace(s, otherwise=())] if s.otherwise else []
            here += [replace(s, then=then) for then in _one_sided(s.then)]
            here += [replace(s, otherwise=otherwise) for otherwise in _one_sided(s.otherwise)]
            for new in here:
                yield (*body[:k], new, *body[k + 1 :])


def _swapped(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """`body` with the sides of one test exchanged."""
    for k, s in enumerate(body):
        if isinstance(s, If):
            here = [replace(s, then=s.otherwise, otherwise=s.then)]
            here += [replace(s, then=then) for then in _swapped(s.then)]
            for new in here:
                yield (*body[:k], new, *body[k + 1 :])


def _with(region: CompiledRegion, kernel: Kernel) -> CompiledRegion:
    return replace(region, region=replace(region.region, kernels=(kernel,)))


def _compiled(body: str, folder: Path) -> CompiledRegion:
    (folder / "f.c").write_text(PROGRAM % body)
    (region,) = compile_file(str(folder / "f.c"), Options(target="cuda", device="h100")).regions
    return region
