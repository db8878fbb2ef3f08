"""Places of one name among barriers are ordered alike; a barrier that one of several sums lacks is missed."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path

import islpy as isl
import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.analysis import polyhedra
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.verify.certificate import certify
from polygpu.verify.computed import Computed
from polygpu.verify.order import BLOCK, Order
from polygpu.verify.source import Source
from polygpu.verify.trace import Trace, trace
from polygpu.verify.verdict import VALUES
from tests.unit import kernel_mutants
from tests.unit.test_verify_mutants import survivors

SUMS = """
void sums(int n, const float a[n], const float b[n], double *restrict out)
{
    double s = 0, t = 0;
    for (int i = 0; i < n; i++) { s += a[i]; t += a[i] * b[i]; }
    out[0] = s; out[1] = t;
}
"""
STAGED_IN_TURN = """
void twice(int n, int m, float A[restrict n][n], float B[restrict n][m],
           float x[restrict n], float y[restrict n])
{
    #pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) x[i] += A[i][j];
        for (int j = 0; j < m; j++) y[i] += B[i][j] * x[i];
    }
    #pragma endscop
}
"""


def compiled(text: str, folder: Path, device: str) -> CompiledRegion:
    path = folder / "f.c"
    path.write_text(text)
    target = "emulator" if device == "8800gtx" else "cuda"
    options = Options(target=target, device=device, reassociate=True, offload="always")
    (region,) = pipeline.compile_file(str(path), options).regions
    return region


def traces(r: CompiledRegion) -> list[Trace]:
    p = polyhedra.build(r.scop)
    return [*trace(r.region, Source(p), p.context, Computed())]


def _by_places(found: Trace) -> tuple[int, int, list[list[isl.Map]]]:
    """How many kinds of pairs a launch has, how many of these several arrays have, how each is ordered."""
    order = Order(found, BLOCK)
    touching = [a for a in found.actions if a.target is not None or a.reads]
    alike, arrays = defaultdict[object, list[isl.Map]](list), defaultdict[object, set[str]](set)
    for a, b in product(touching, repeat=2):
        fresh = Order(found, BLOCK)  # which has made no other pair's order
        key = order.places(a.point, b.point)
        alike[key].append(fresh.before(a.point, b.point).union(fresh.before(b.point, a.point).reverse()))
        arrays[key] |= {p.array for p in (*a.reads, a.target) if p is not None and p.space == "shared"}
    return len(alike), sum(len(names) > 1 for names in arrays.values()), [*alike.values()]


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
@pytest.mark.parametrize("text", [SUMS, STAGED_IN_TURN, (programs.KERNELS / "mv.c").read_text()])
def test_places_of_one_name_are_ordered_alike(text: str, device: str, tmp_path: Path) -> None:
    shared = 0
    for found in traces(compiled(text, tmp_path, device)):
        kinds, of_several, alike = _by_places(found)
        shared += of_several
        assert kinds > 1
        for first, *others in alike:
            assert all(first.is_equal(other) for other in others)
    assert shared or text != SUMS


def test_a_barrier_that_the_second_of_two_sums_lacks(tmp_path: Path) -> None:
    r = compiled(SUMS, tmp_path, "8800gtx")
    assert certify(r, reassociated=("s", "t")).holds
    mutants = [*kernel_mutants.kernel_variants(r.region, kernel_mutants.without_barrier)]
    behind = mutants[len(mutants) // 2 :: 2]
    assert len(behind) > 3
    assert survivors(r, behind, {VALUES}) == []
