"""What ICS'08 says about its examples on a GeForce 8800 GTX: decided, predicted, and counted in a run."""

from __future__ import annotations

import pytest

from benchmarks import programs
from polygpu import cli
from polygpu.model.facts import AccessFact
from polygpu.report import inspect_text
from polygpu.report.explain import explain
from polygpu.schedule.adjacency import AdjacencySolution
from tests.emulated import Counted, compiled, counted, profiles

DEVICE = "8800gtx"
SIZES = [(256, 128), (101, 77), (33, 130)]  # what tiles divide, and what they do not
CUBES = [(64, 64, 64), (65, 33, 50)]


def solution(kernel: str, component: int = 0) -> AdjacencySolution | None:
    return compiled(kernel, DEVICE).regions[0].prepared.scheduled.adjacent[component][1]


def access(kernel: str, text: str, write: bool = False) -> AccessFact:
    """The one access of the kernel's source that is written as `text`."""
    region = explain(compiled(kernel, DEVICE)).regions[0]
    (fact,) = (a for a in region.accesses if a.text == text and a.write == write)
    return fact


def run(kernel: str, text: str, sizes: programs.Sizes, write: bool = False) -> Counted:
    fact = access(kernel, text, write)
    return counted(profiles(kernel, DEVICE, sizes)[fact.kernel], fact)


def rows(found: AdjacencySolution | None) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The coefficients of the time rows and of the space rows in (i, j)."""
    assert found is not None
    (statement,) = found.lane.coefficients
    return [r.coefficients[statement] for r in found.time], [r.coefficients[statement] for r in found.space]


@pytest.mark.parametrize(("kernel", "component"), [("tmv", 0), ("mvt", 1)])
def test_the_transposed_product_has_time_j_and_space_i(kernel: str, component: int) -> None:
    assert rows(solution(kernel, component)) == ([(0, 1)], [(1, 0)])


@pytest.mark.parametrize("kernel", ["tmv", "mvt"])
def test_the_transposed_product_reads_its_matrix_directly(kernel: str) -> None:
    fact = access(kernel, "A[j][i]")
    assert (fact.space, fact.coalesced, fact.transactions) == ("global", True, 1)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kernel", ["tmv", "mvt"])
def test_all_requests_of_the_transposed_product_coalesce(kernel: str, sizes: programs.Sizes) -> None:
    found = run(kernel, "A[j][i]", sizes[: programs.extents_of(kernel)])
    assert found.counts["requests"] > 0
    assert (found.coalesced, found.bank_steps) == (True, 0)


@pytest.mark.parametrize("kernel", ["mv", "mvt"])
def test_the_product_has_no_adjacent_schedule(kernel: str) -> None:
    assert solution(kernel) is None


@pytest.mark.parametrize("kernel", ["mv", "mvt"])
def test_the_product_stages_its_matrix_and_pads_it(kernel: str) -> None:
    fact = access(kernel, "A[i][j]")
    assert (fact.space, fact.coalesced, fact.transactions) == ("shared, staged", True, 1)
    assert (fact.degree_before, fact.degree_after, fact.padding) == (16, 1, 1)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kernel", ["mv", "mvt"])
def test_staged_reads_of_the_product_meet_no_conflict(kernel: str, sizes: programs.Sizes) -> None:
    found = run(kernel, "A[i][j]", sizes[: programs.extents_of(kernel)])
    assert found.counts["shared_requests"] > found.counts["requests"] > 0
    assert found.bank_steps == 1


@pytest.mark.parametrize("sizes", SIZES[:1])
def test_copies_of_the_product_coalesce_where_tiles_are_full(sizes: programs.Sizes) -> None:
    assert run("mv", "A[i][j]", sizes).transactions == 1


def test_the_product_of_matrices_has_reuse_everywhere() -> None:
    assert solution("mm") is None


@pytest.mark.parametrize("text", ["A[i][k]", "B[k][j]"])
def test_the_product_of_matrices_stages_both_inputs(text: str) -> None:
    fact = access("mm", text)
    assert (fact.space, fact.coalesced, fact.degree_after) == ("shared, staged", True, 1)


@pytest.mark.parametrize("sizes", CUBES)
def test_the_product_of_matrices_meets_no_conflict(sizes: programs.Sizes) -> None:
    (profile,) = profiles("mm", DEVICE, sizes).values()
    assert profile.counters["shared_requests"] > 0
    assert profile.counters["conflict_steps"] == 0


@pytest.mark.parametrize(("text", "write"), [("A[i][j]", False), ("B[j][i]", True)])
def test_the_transposition_coalesces_reads_and_writes(text: str, write: bool) -> None:
    fact = access("transpose", text, write)
    assert (fact.coalesced, fact.transactions) == (True, 1)
    found = run("transpose", text, (256, 128), write)
    assert (found.coalesced, found.transactions) == (True, 1)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_transposition_writes_in_order_at_any_size(sizes: programs.Sizes) -> None:
    (profile,) = profiles("transpose", DEVICE, sizes).values()
    assert run("transpose", "B[j][i]", sizes, write=True).coalesced
    assert profile.counters["conflict_steps"] == 0


SENTENCES = {
    "tmv": ["line 17: adjacency with time j, space i: A[j][i] is read directly"],
    "mv": ["line 17: no schedule makes A[i][j] coalesce: A[i][j] is staged in shared memory"],
    "mvt": [
        "line 18: no schedule makes A[i][j] coalesce: A[i][j] is staged in shared memory",
        "line 21: adjacency with time j, space i: A[j][i] is read directly",
    ],
    "mm": [
        "line 18: every access has reuse: C[i][j] is kept in registers, "
        "A[i][k] and B[k][j] are staged in shared memory"
    ],
}


@pytest.mark.parametrize("kernel", SENTENCES)
def test_inspect_says_so(kernel: str) -> None:
    text = inspect_text(explain(compiled(kernel, DEVICE)))
    assert [line.strip() for line in text.splitlines() if line.startswith("    line ")] == SENTENCES[kernel]


def test_inspect_shows_the_degrees(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["inspect", "--target", "emulator", str(programs.source_of("mv"))]) == 0
    assert "pad 1: 16-way -> conflict-free" in capfd.readouterr().out
