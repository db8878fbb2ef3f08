"""Mistakes in what each transformation makes of a nest: none of them is proved and computes something else.

A transformation is decided for a small nest that it fits, and each kind of mistake is made in its kernels.
Few are certified here; by hand (-m slow) there are mutants of all kinds, and what is proved of them is run
against the original. Certificates of tiles of steps, terms ahead and shared sums take longer: their
mistakes are in test_step_tiles.py, test_ahead.py, test_shared_sums.py and test_wrong_sums.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from polygpu.model.kernel import Region
from polygpu.verify.certificate import certify
from tests.mutant_runs import Bench
from tests.test_mutants import spread
from tests.unit import expression_mutants, kernel_mutants

Change = Callable[[Region], Iterator[Region]]


@dataclass(frozen=True)
class Nest:
    """The arrays and the loops of a region, what is decided for it, and for which device."""

    arrays: str
    loops: str
    decisions: str
    device: str = "h100"

    @property
    def text(self) -> str:
        return f"void f(int n, {self.arrays})\n{{\n#pragma scop\n{self.loops}\n#pragma endscop\n}}\n"


LINES, SQUARES = (
    ", ".join(f"float {name}[restrict {size}" for name in "ABC") for size in ("n + 4]", "n][n]")
)
MATRIX = "float A[restrict n][n], float x[restrict n], float y[restrict n]"
VECTOR = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] += A[i][j] * y[j];"
PRODUCT = """
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += 1.5f * A[i][k] * B[k][j];"""
SWEEPS = """
    for (int t = 0; t < n / 4; t++) {
        for (int i = 1; i < n + 3; i++)
            B[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);
        for (int i = 1; i < n + 3; i++)
            A[i] = 0.25f * (B[i - 1] + 2.0f * B[i] + B[i + 1]);
    }"""
IN_PLACE = """
    for (int t = 0; t < n; t++)
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);"""
GROWN = """
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            x[j] = A[i][j] + y[j];
        for (int j = 1; j < n; j++)
            A[i][j] = x[j] - x[j - 1];
    }"""
SHIFTED = "for (int i = 0; i < n; i++) A[i] = A[i + 1] + B[i];"
PASSED = """
    for (int i = 0; i < n; i++) {
        float last = 1.0f;
        for (int j = 0; j < n; j++) {
            B[i][j] = A[i][j] - 0.25f * last;
            last = B[i][j];
        }
    }"""
SOLVE = """
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            y[i] -= A[i][j] * x[j];
        x[i] = y[i] / (A[i][i] + n);
    }"""
FUSED = """
    for (int i = 0; i < n; i++)
        B[i] = A[i] + A[i + 1];
    for (int i = 0; i < n; i++)
        C[i] = B[i] * A[i];"""
BLURRED = """
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = A[i - 1][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j];"""
NESTS = {
    "a tile multiplied by a scalar": Nest(SQUARES, PRODUCT, "tile(i: 8, j: 16, k: 4) scale(A)", "8800gtx"),
    "two buffers": Nest(SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 8) buffer(double)"),
    "prefetched tiles": Nest(
        SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 8) buffer(prefetch)"
    ),
    "a ring": Nest(MATRIX, VECTOR, "tile(i: 32, j: 8) stage(A, y) buffer(ring: 3)"),
    "tiles of time in shared memory": Nest(LINES, SWEEPS, "steps(t: 3) tile(i: 24) threads(i: 8) hold()"),
    "tiles of time in registers": Nest(LINES, SWEEPS, "steps(t: 3) tile(i: 24) threads(i: 8)"),
    "waves of tiles": Nest(LINES, IN_PLACE, "wave(t: 4, i: 8)"),
    "a grown temporary": Nest(MATRIX, GROWN, "expand(x: i)"),
    "a version": Nest(LINES, SHIFTED, ""),
    "rows stored together": Nest(SQUARES, PASSED, "attend(64) tile(i: 16) threads(i: 16)"),
    "one thread that others attend": Nest(MATRIX, SOLVE, "attend(32)"),
    "statements of two nests": Nest(LINES, FUSED, "fuse(6, 8)"),
    "registers that slide": Nest(
        SQUARES, BLURRED, "stage() tile(i: 8, j: 32) threads(i: 2) reuse(32) deal(i: blocked)"
    ),
    "rows in a snake": Nest(
        SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 4) deal(grouped) walk(snake)"
    ),
    "columns in a snake": Nest(
        SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 4) deal(grouped) walk(columns)"
    ),
    "wide copies": Nest(SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 8) wide(16)"),
    "wide reads": Nest(
        SQUARES, PRODUCT, "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 4) deal(grouped) wide(16)"
    ),
}


KINDS: dict[str, Change] = {
    "a barrier dropped": lambda r: kernel_mutants.kernel_variants(r, kernel_mutants.without_barrier),
    "a wait for too few copies": lambda r: kernel_mutants.kernel_variants(r, kernel_mutants.later_wait),
    "a statement left out": lambda r: kernel_mutants.kernel_variants(r, kernel_mutants.dropped),
    "a guard left out": lambda r: kernel_mutants.kernel_variants(r, kernel_mutants.without_guard),
    "a loop without its first iteration": lambda r: kernel_mutants.kernel_variants(
        r, kernel_mutants.later_loop
    ),
    "a loop without its last iteration": lambda r: kernel_mutants.kernel_variants(
        r, kernel_mutants.shorter_loop
    ),
    "a bound of a copy shifted": expression_mutants.other_copy_bounds,
    "another element copied": expression_mutants.other_copied_elements,
    "another comparison in a guard": expression_mutants.other_guards,
    "another thread's index": expression_mutants.other_threads,
    "another element read or written": expression_mutants.other_operands,
    "another array": expression_mutants.other_arrays,
    "another buffer": expression_mutants.other_buffers_of_tiles,
    "a cache that sees no stores": kernel_mutants.other_caches,
    "a launch left out": kernel_mutants.launches_dropped,
    "two launches swapped": kernel_mutants.launches_swapped,
}
FEW = [
    ("a tile multiplied by a scalar", "another array"),
    ("two buffers", "another buffer"),
    ("prefetched tiles", "a statement left out"),
    ("a ring", "another buffer"),
    ("tiles of time in shared memory", "a bound of a copy shifted"),
    ("waves of tiles", "another element copied"),
    ("waves of tiles", "a cache that sees no stores"),
    ("a grown temporary", "another array"),
    ("a version", "a launch left out"),
    ("rows stored together", "another element copied"),
    ("statements of two nests", "a statement left out"),
    ("registers that slide", "another element read or written"),
    ("rows in a snake", "another element read or written"),
    ("columns in a snake", "a loop without its last iteration"),
    ("wide copies", "another element copied"),
    ("wide reads", "another element copied"),
]


def bench(name: str, directory: Path) -> Bench:
    nest, path = NESTS[name], directory / "f.c"
    path.write_text(nest.text)
    return Bench(path, nest.device, directory, (nest.decisions,) if nest.decisions else ())


def refuted(made: Bench, mutants: Iterable[Region]) -> int:
    """How many of the mutants the certificate refutes; what it proves computes what the original does."""
    count = 0
    for mutant in map(made.with_region, mutants):
        certificate = certify(mutant)
        count += bool(certificate.failures)
        if certificate.holds:
            assert not made.changes(mutant)
    return count


@pytest.mark.parametrize(("name", "kind"), FEW)
def test_a_mistake_of_a_transformation_is_refuted(name: str, kind: str, tmp_path: Path) -> None:
    made = bench(name, tmp_path)
    assert certify(made.region).holds
    first = next(KINDS[kind](made.region.region))
    assert certify(made.with_region(first)).failures


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_what_changes_a_result_of_a_transformation_is_not_proved(name: str, tmp_path: Path) -> None:
    """Where the loops of a mutant have no iterations, and the like, it is right and may be proved."""
    made = bench(name, tmp_path)
    found = {kind: spread(list(change(made.region.region)), 8) for kind, change in KINDS.items()}
    counts = {kind: refuted(made, (m for _, m in mutants)) for kind, mutants in found.items() if mutants}
    assert sum(counts.values()) > sum(map(len, found.values())) / 2, counts
