"""Mistakes of each kind that a compiler can make: whatever changes a result is caught.

Mutants are run on the emulator without any checks, against the original built by gcc, at small, odd and
boundary sizes: that decides which change what. `polygpu verify` has two means to catch these, the
certificate, which runs nothing, and the checked runs; a certificate that holds must be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from benchmarks import programs
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import Region
from tests.mutant_runs import Bench, Verdict, compiled
from tests.unit import expression_mutants, kernel_mutants, pass_mutants

OLD, NEW = "8800gtx", "h100"
Mutant = TypeVar("Mutant")
Mutants = Callable[[Bench], Iterator[CompiledRegion]]


def of_kernels(change: kernel_mutants.Change) -> Mutants:
    return of_regions(lambda region: kernel_mutants.kernel_variants(region, change))


def of_regions(change: Callable[[Region], Iterator[Region]]) -> Mutants:
    return lambda bench: (bench.with_region(r) for r in change(bench.region.region))


def of_passes(mistakes: Callable[[CompiledRegion], Iterator[pass_mutants.Mistake]]) -> Mutants:
    """Compilations with these mistakes, where they came out differently."""

    def mutants(bench: Bench) -> Iterator[CompiledRegion]:
        for mistake in mistakes(bench.region):
            with mistake:
                made = compiled(bench.source, bench.device).regions[0]
            if made.region != bench.region.region:
                yield made

    return mutants


KINDS: dict[str, Mutants] = {
    "a barrier dropped": of_kernels(kernel_mutants.without_barrier),
    "a bound of a copy shifted": of_regions(expression_mutants.other_copy_bounds),
    "another element copied": of_regions(expression_mutants.other_copied_elements),
    "two dimensions of a schedule swapped": of_passes(
        lambda r: pass_mutants.swapped_dimensions(r.prepared.scheduled)
    ),
    "a dependence forgotten": of_passes(lambda r: pass_mutants.forgotten_dependences(r.dependences)),
    "an action left out": of_passes(lambda r: pass_mutants.actions_left_out(r.polyhedra)),
    "a padding changed on one side": of_regions(kernel_mutants.padding_on_one_side),
    "another comparison in a guard": of_regions(expression_mutants.other_guards),
    "another thread's index": of_regions(expression_mutants.other_threads),
    "another element read or written": of_regions(expression_mutants.other_operands),
    "an array copied otherwise": of_regions(kernel_mutants.other_buffers),
    "another type on the device": of_regions(kernel_mutants.other_types),
    "a wait for too few copies": of_kernels(kernel_mutants.later_wait),
    "two launches swapped": of_regions(kernel_mutants.launches_swapped),
    "a loop backwards": of_kernels(kernel_mutants.backwards),
}
FEW = {
    "a barrier dropped": [("mv", OLD), ("mv", NEW)],
    "a bound of a copy shifted": [("mv", OLD)],
    "another element copied": [("transpose", OLD)],
    "two dimensions of a schedule swapped": [("mv", OLD)],
    "a dependence forgotten": [("jacobi-1d", OLD)],
    "an action left out": [("gesummv", OLD)],
    "a padding changed on one side": [("transpose", OLD)],
    "another comparison in a guard": [("jacobi-1d", OLD)],
    "another thread's index": [("transpose", OLD)],
    "another element read or written": [("jacobi-1d", OLD)],
    "an array copied otherwise": [("trisolv", OLD)],
    "another type on the device": [("tmv", OLD)],
    "a wait for too few copies": [("mv", NEW)],
    "two launches swapped": [("jacobi-1d", OLD)],
    "a loop backwards": [("symm", OLD)],
}
MANY = "mm mv tmv transpose conv2d jacobi-1d jacobi-2d lu symm trisolv gemver gesummv gemm doitgen".split()


@dataclass
class Tally:
    """What became of the mutants of one kind."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    def add(self, name: str, v: Verdict) -> None:
        self.counts["all"] += 1
        for what, caught in (("static", v.static), ("dynamic", v.dynamic), ("unproved", v.unproved)):
            self.counts[f"{what}, {'changes' if v.changes else 'harmless'}"] += bool(caught)
        self.counts["changes"] += bool(v.changes)
        if v.changes and not (v.static or v.dynamic):
            self.missed.append(f"{name}: {v.changes}")
        elif v.changes and not (v.static or v.unproved):
            self.missed.append(f"{name}, by its certificate: {v.changes}")

    def __str__(self) -> str:
        c = self.counts
        return (
            f"{self.kind}: {c['all']} mutants. {c['changes']} change results: the certificate refutes "
            f"{c['static, changes']} and leaves {c['unproved, changes']} open, the checked runs find "
            f"{c['dynamic, changes']}. Of the others the certificate refutes {c['static, harmless']}, the "
            f"checked runs find {c['dynamic, harmless']}. Missed: {'; '.join(self.missed) or 'none'}"
        )


def spread(found: list[Mutant], most: int) -> list[tuple[int, Mutant]]:
    """At most so many of the mutants, the first and the last among them."""
    numbered = list(enumerate(found))
    if len(numbered) <= most:
        return numbered
    return [numbered[k * (len(numbered) - 1) // (most - 1)] for k in range(most)]


def tally(kind: str, cases: list[tuple[str, str]], most: int, directory: Path) -> Tally:
    result = Tally(kind)
    for kernel, device in cases:
        place = directory / f"{kernel}-{device}"
        place.mkdir()
        bench = Bench(programs.KERNELS / f"{kernel}.c", device, place)
        for number, mutant in spread(list(KINDS[kind](bench)), most):
            result.add(f"number {number} of {kernel} for {device}", bench.judge(mutant))
    return result


def check(result: Tally) -> None:
    print(result)
    assert not result.missed, str(result)
    assert result.counts["changes"], str(result)


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_a_result_is_caught(kind: str, tmp_path: Path) -> None:
    check(tally(kind, FEW[kind], 2, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("device", [OLD, NEW])
@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_a_result_of_many_kernels_is_caught(kind: str, device: str, tmp_path: Path) -> None:
    if kind == "a wait for too few copies" and device == OLD:
        pytest.skip("the device has no asynchronous copies")
    check(tally(kind, [(kernel, device) for kernel in MANY], 12, tmp_path))
