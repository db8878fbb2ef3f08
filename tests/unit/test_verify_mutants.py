"""A certificate fails for kernels that are wrong, and says where.

Each change is made to Kernel IR that is right; the few that change no result are named with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import Region
from polygpu.model.linear import add
from polygpu.schedule import prepare
from polygpu.support.isl_idioms import empty_union_map
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import BARRIERS, BOUNDS, DEPENDENCES, INSTANCES, VALUES, Certificate, Failure
from tests.unit import expression_mutants, kernel_mutants

OLD, NEW = ("emulator", "8800gtx"), ("cuda", "h100")


@cache
def compiled(kernel: str, machine: tuple[str, str]) -> CompiledRegion:
    target, device = machine
    path = str(programs.KERNELS / f"{kernel}.c")
    # mutants of batches and of tiles of time are elsewhere
    single = {"lu": ("batch(j: 1)",), "jacobi-2d": ("steps(t: 0)",)}.get(kernel, ()) if machine == NEW else ()
    return pipeline.compile_file(path, Options(target=target, device=device, decisions=single)).regions[0]


def certified(r: CompiledRegion, region: Region) -> Certificate:
    return certify(replace(r, region=region))


def survivors(r: CompiledRegion, mutants: Iterable[Region], properties: set[str]) -> list[int]:
    """Numbers of the mutants that pass; the others must fail in one of `properties`."""
    found = []
    for number, region in enumerate(mutants):
        certificate = certified(r, region)
        assert not certificate.unproved
        if certificate.holds:
            found.append(number)
        else:
            assert {f.property for f in certificate.failures} & properties, certificate.failures
    return found


def changed(
    kernel: str, machine: tuple[str, str], change: kernel_mutants.Change, properties: set[str]
) -> list[int]:
    r = compiled(kernel, machine)
    mutants = list(kernel_mutants.kernel_variants(r.region, change))
    assert mutants
    return survivors(r, mutants, properties)


@pytest.mark.parametrize("machine", [OLD, NEW])
@pytest.mark.parametrize("kernel", ["mm", "mv", "tmv", "symm", "transpose"])
def test_a_missing_barrier(kernel: str, machine: tuple[str, str]) -> None:
    if kernel == "symm" and machine == NEW:
        kernel = "gemm"  # nothing is staged
    assert changed(kernel, machine, kernel_mutants.without_barrier, {VALUES}) == []


PRODUCT_OF_A_PART = """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void product(int n, int low, int high,
             float A[restrict n][n], float B[restrict n][n], float C[restrict n][n]) {
    #pragma scop
    for (int i = MAX(low, 0); i < MIN(high, n); i++)
        for (int j = MAX(low, 0); j < MIN(high, n); j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
    #pragma endscop
}
"""


def test_barriers_where_sizes_have_several_cases(tmp_path: Path) -> None:
    """What holds in all cases is not asked in each; a barrier that is missing in some is missed."""
    file = tmp_path / "product.c"
    file.write_text(PRODUCT_OF_A_PART)
    r = pipeline.compile_file(str(file), Options(target="emulator", device="8800gtx")).regions[0]
    assert certify(r).holds
    (kernel,) = r.region.kernels
    assert kernel.shared
    first, *_, last = kernel_mutants.barriers_of_some(kernel)
    for change in (kernel_mutants.without_barrier, first, last):
        mutants = [*kernel_mutants.kernel_variants(r.region, change)]
        assert mutants
        assert survivors(r, mutants, {VALUES}) == []


@pytest.mark.parametrize(
    ("kernel", "machine"), [("mm", OLD), ("mv", OLD), ("transpose", OLD), ("mv", NEW), ("conv2d", NEW)]
)
def test_a_shifted_copy(kernel: str, machine: tuple[str, str]) -> None:
    assert changed(kernel, machine, kernel_mutants.shifted_copy, {VALUES, BOUNDS}) == []


def test_a_wait_for_too_few_copies() -> None:
    # the wait behind the loop is for copies nobody reads
    assert changed("mv", NEW, kernel_mutants.later_wait, {VALUES}) == [1]


@pytest.mark.parametrize(("kernel", "harmless"), [("tmv", []), ("mv", [2]), ("transpose", [])])
def test_a_missing_guard(kernel: str, harmless: list[int]) -> None:
    """mv's number 2 is around sums of staged values: those of points beyond the last are not stored."""
    properties = {VALUES, BOUNDS, INSTANCES}
    assert changed(kernel, OLD, kernel_mutants.without_guard, properties) == harmless


@pytest.mark.parametrize("kernel", ["mm", "tmv", "symm"])
def test_a_loop_without_its_first_iteration(kernel: str) -> None:
    assert changed(kernel, OLD, kernel_mutants.later_loop, {VALUES, INSTANCES}) == []


@pytest.mark.parametrize("kernel", ["mm", "tmv", "symm"])
def test_a_loop_without_its_last_iteration(kernel: str) -> None:
    assert changed(kernel, OLD, kernel_mutants.shorter_loop, {VALUES, INSTANCES}) == []


@pytest.mark.parametrize("name", ["A_s", "y_s"])
def test_a_shared_array_too_small(name: str) -> None:
    r = compiled("mv", OLD)
    made = kernel_mutants.with_shared(
        r.region, name, lambda s: replace(s, extents=(*s.extents[:-1], s.extents[-1] - s.padding - 1))
    )
    assert survivors(r, [made], {BOUNDS}) == []


@pytest.mark.parametrize(
    ("kernel", "scalar"), [("mm", "A_pitch"), ("mm", "C_pitch"), ("lu", "A_pitch"), ("mm", "n")]
)
def test_a_padding_that_only_one_side_knows(kernel: str, scalar: str) -> None:
    r = compiled(kernel, NEW)
    mutants = list(kernel_mutants.another_scalar(r.region, scalar, 32))
    assert mutants
    assert survivors(r, mutants, {BOUNDS}) == []


def test_another_step_of_the_host() -> None:
    r = compiled("lu", NEW)
    mutants = list(kernel_mutants.another_scalar(r.region, "j", 1))
    assert len(mutants) == len(r.region.kernels)
    assert survivors(r, mutants, {DEPENDENCES, VALUES, INSTANCES}) == []


@pytest.mark.parametrize(("kernel", "harmless"), [("jacobi-2d", []), ("gemver", []), ("lu", [1])], ids=str)
def test_launches_in_another_order(kernel: str, harmless: list[int]) -> None:
    """lu's two halves of an update do not depend on each other."""
    r = compiled(kernel, NEW)
    mutants = list(kernel_mutants.launches_swapped(r.region))
    assert survivors(r, mutants, {DEPENDENCES}) == harmless


def test_a_loop_that_runs_backwards() -> None:
    assert changed("symm", OLD, kernel_mutants.backwards, {DEPENDENCES, VALUES}) == []


HORNER = """
void horner(int n, int m, int p, float x[n], float c[n], float a[m][p])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < p; k++)
                x[i] = x[i] * c[i] + a[j][k];
#pragma endscop
}
"""


def test_loops_the_other_way_round(tmp_path: Path) -> None:
    """The coefficients of a polynomial are used row by row."""
    file = tmp_path / "horner.c"
    file.write_text(HORNER)
    r = pipeline.compile_file(str(file), Options(target="emulator", decisions=("stage() reuse(0)",))).regions[
        0
    ]
    assert certify(r).holds
    mutants = list(kernel_mutants.kernel_variants(r.region, kernel_mutants.swapped_loops))
    assert mutants
    assert survivors(r, mutants, {DEPENDENCES, VALUES}) == []


def dropped(what: str) -> Callable[[Polyhedra], Dependences]:
    return lambda p: replace(compute(p), **{what: empty_union_map()})


@pytest.mark.parametrize("kernel", ["trisolv", "lu"])
def test_a_dependence_the_scheduler_does_not_see(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "compute", dropped("flow"))
    path = str(programs.KERNELS / f"{kernel}.c")
    r = pipeline.compile_file(path, Options(target="cuda", device="h100")).regions[0]
    failures = certify(r).failures
    assert DEPENDENCES in {f.property for f in failures}


def test_a_barrier_only_some_threads_reach() -> None:
    r = compiled("mm", OLD)
    mutants = list(kernel_mutants.kernel_variants(r.region, kernel_mutants.diverging))
    assert mutants
    for region in mutants:
        assert BARRIERS in {f.property for f in certified(r, region).failures}


def test_a_counterexample_names_instances_element_and_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "compute", dropped("flow"))
    path = str(programs.KERNELS / "lu.c")
    r = pipeline.compile_file(path, Options(target="cuda", device="h100")).regions[0]
    found = next(f for f in certify(r).failures if f.property == DEPENDENCES)
    assert isinstance(found, Failure)
    assert found.source == "S0[i=3, j=1, k=0] at lu.c:18: A[i][j] -= A[i][k] * A[k][j];"
    assert found.target == "S0[i=3, j=2, k=1] at lu.c:18: A[i][j] -= A[i][k] * A[k][j];"
    assert (found.element, found.parameters) == ("A[3][1]", "n=4")
    assert [(p.line, p.column) for p in found.positions] == [(18, 17), (18, 28)]


def test_no_time_is_no_proof() -> None:
    certificate = certify(compiled("mm", NEW), budget=0.0)
    assert not certificate.holds
    assert not certificate.proofs
    assert {u.reason for u in certificate.unproved} == {"budget"}


def test_a_claim_that_is_wrong() -> None:
    """What an action says it carries out is checked."""
    r = compiled("mm", OLD)
    mutants = list(kernel_mutants.kernel_variants(r.region, kernel_mutants.another_instance))
    assert mutants
    assert survivors(r, mutants, {VALUES, INSTANCES}) == []


GROWN = """
void grown(int n, float A[n][n], float x[n], float y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            x[j] = A[i][j] + y[j];
        for (int j = 1; j < n; j++)
            A[i][j] = x[j] - x[j - 1];
    }
#pragma endscop
}
"""


def test_final_values_that_nobody_copies(tmp_path: Path) -> None:
    """The kernel that copies them is there, and not launched."""
    file = tmp_path / "f.c"
    file.write_text(GROWN)
    (r,) = pipeline.compile_file(str(file), Options(decisions=("expand(x: i)",))).regions
    *_, last = kernel_mutants.launches_dropped(r.region)
    assert "the last value of an element is not stored" in {f.message for f in certified(r, last).failures}


SWITCHED = """
void f(double x[17], const double a[18][35])
{
    #pragma scop
    for (int i = 16; i >= 0; i--) {
        switch (i > 16u - 2) case 0:
            continue;
        x[i] += a[i + 1][i + 2];
    }
    #pragma endscop
}
"""


def test_a_bound_in_one_test_with_the_source_s_own(tmp_path: Path) -> None:
    """As a whole it is the source's test for every instance of the source, whatever the bound is."""
    source = tmp_path / "switched.c"
    source.write_text(SWITCHED)
    target, device = OLD
    (r,) = pipeline.compile_file(str(source), Options(target=target, device=device)).regions
    assert certified(r, r.region).holds
    mutants = list(expression_mutants.other_guards(r.region))
    assert mutants
    # 1 copies a column of `a` to the one that pads the tile
    assert survivors(r, mutants, {BOUNDS, INSTANCES, VALUES}) == [1]


GATHERED = """
void f(int n, double out[restrict n], double a[][n + 8], const int at[])
{
    #pragma scop
    for (int i = 0; i < n; i++)
        out[i] = a[at[i] & 7][i] > 3 ? a[4 * i][3] : 1;
    #pragma endscop
}
"""


def test_a_copy_beyond_the_memory_of_the_device(tmp_path: Path) -> None:
    """How many rows there are is counted when the region runs; copies end in the last one of them."""
    source = tmp_path / "gathered.c"
    source.write_text(GATHERED)
    (r,) = pipeline.compile_file(str(source), Options()).regions
    assert certified(r, r.region).holds
    (a,) = (b for b in r.region.buffers if b.name == "a")
    for rows, columns in ((1, 0), (0, 8), (4, 0)):
        row, column = a.last
        further = replace(a, last=(add(row, rows), add(column, columns)))
        buffers = tuple(further if b is a else b for b in r.region.buffers)
        failures = certified(r, replace(r.region, buffers=buffers)).failures
        assert any("than the device has memory for" in f.message for f in failures), (rows, columns)
