"""The adjacency solver on hand-derived answers: ICS'08, section 4.3, and the cases around it."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.schedule.adjacency import (
    AdjacencySolution,
    ArrayReference,
    Instance,
    Row,
    check_adjacent,
    check_complete,
    check_legal,
    components,
    is_adjacent,
    solve,
)
from tests.unit.adjacency_programs import Enumeration, Program, Spec, program

LINE = "0 <= i < N"
SQUARE = "0 <= i < N and 0 <= j < N"
CUBE = SQUARE + " and 0 <= k < N"


def check(source: Program, solution: AdjacencySolution | None) -> AdjacencySolution:
    """Everything that must hold of a solution, symbolically and by enumeration."""
    assert solution is not None
    names = tuple(solution.lane.coefficients)
    assert check_legal(solution, source.dependences) == ()
    assert check_adjacent(solution, *source.component(names)) == ()
    assert check_complete(solution.rows) == ()
    enumeration = Enumeration(source, solution, 5)
    assert enumeration.illegal() == []
    assert enumeration.clashes() == []
    for reference in source.component(names)[1]:
        if reference.key in solution.direct:
            last = (0,) * (reference.access.dim(isl.dim_type.out) - 1) + (1,)
            assert enumeration.strides(reference) == {last}
    return solution


def texts(source: Program, solution: AdjacencySolution, name: str) -> list[str]:
    instance = next(i for i in source.instances if i.name == name)
    return [f"{row.kind} {row.text(instance)}" for row in solution.order]


def only(source: Program, fuse: bool = False, everything: bool = False) -> AdjacencySolution:
    (solution,) = source.solve(fuse, everything)
    return check(source, solution)


def sum_into(target: str, matrix: str, vector: str, name: str = "T") -> Spec:
    return Spec(name, "i,j", SQUARE, "i,j", (target,), (target, matrix, vector))


def test_tmv_reads_the_matrix_directly() -> None:
    tmv = program("N", sum_into("x[i]", "a[j,i]", "y[j]"))
    solution = only(tmv)
    assert texts(tmv, solution, "T") == ["space i", "time j"]
    assert solution.direct == tmv.keys("a[j,i]")
    assert solution.reuse == tmv.keys("x[i]", "y[j]")
    assert solution.staged == frozenset()
    assert solution.outer_parallel
    assert solution.tries == 1


def test_mv_has_no_valid_transformation() -> None:
    assert program("N", sum_into("x[i]", "a[i,j]", "y[j]")).solve() == [None]


def test_mvt_solves_each_nest_on_its_own() -> None:
    mvt = program(
        "N",
        Spec("P", "i,j", SQUARE, "0,i,j", ("x[i]",), ("x[i]", "a[i,j]", "y[j]")),
        Spec("Q", "i,j", SQUARE, "1,i,j", ("z[i]",), ("z[i]", "a[j,i]", "w[j]")),
    )
    first, second = mvt.solve()
    assert first is None
    assert check(mvt, second).direct == mvt.keys("a[j,i]")


def test_mm_has_reuse_everywhere() -> None:
    source = program("N", Spec("T", "i,j,k", CUBE, "i,j,k", ("c[i,j]",), ("c[i,j]", "a[i,k]", "b[k,j]")))
    assert source.solve() == [None]


def test_candidates_may_be_chosen_by_the_caller() -> None:
    source = program("N", Spec("T", "i,j,k", CUBE, "i,j,k", ("c[i,j]",), ("c[i,j]", "a[i,k]", "b[k,j]")))
    solution = only(source, everything=True)
    assert texts(source, solution, "T") == ["space i", "space j", "time k"]
    assert solution.direct == source.keys("c[i,j]", "b[k,j]")
    assert solution.staged == source.keys("a[i,k]")


def test_initialisation_and_update_share_the_lane() -> None:
    tmv = program(
        "N",
        Spec("I", "i", LINE, "i,0,0", ("x[i]",), ()),
        Spec("T", "i,j", SQUARE, "i,1,j", ("x[i]",), ("x[i]", "a[j,i]", "y[j]")),
    )
    solution = only(tmv, fuse=True)
    assert texts(tmv, solution, "I") == ["space i", "time 0"]
    assert texts(tmv, solution, "T") == ["space i", "time j + 1"]
    assert solution.direct == frozenset({0}) | tmv.keys("a[j,i]")


@pytest.mark.parametrize(("written", "read"), [("b[j,i]", "a[i,j]"), ("c[j,i]", "c[i,j]")])
def test_a_reference_and_its_transpose_cannot_both_be_adjacent(written: str, read: str) -> None:
    source = program("N", Spec("T", "i,j", "0 <= i < N and i < j < N", "i,j", (written,), (read,)))
    solution = only(source)
    assert len(solution.direct) == len(solution.staged) == 1


def test_diagonal_lanes_do_not_make_a_transpose_adjacent() -> None:
    """Equation (2) of the paper accepts pi = i + j here, which coalesces neither side."""
    source = program("N", Spec("T", "i,j", "0 <= i < N and i < j < N", "i,j", ("c[j,i]",), ("c[i,j]",)))
    (instance,) = source.instances
    diagonal = Row("space", {"T": (1, 1)}, {"T": {}}, {"T": 0})
    outer = Row("space", {"T": (1, 0)}, {"T": {}}, {"T": 0})
    adjacent = [is_adjacent([outer, diagonal], diagonal, instance, r.access) for r in source.references]
    assert adjacent == [False, True]


def test_lanes_follow_a_shift_between_statements() -> None:
    source = program(
        "N",
        Spec("S", "i", LINE, "0,i", ("x[i]",), ("p[i]",)),
        Spec("T", "i", "0 <= i < N - 1", "1,i", ("y[i]",), ("x[i+1]",)),
    )
    solution = only(source, fuse=True)
    assert texts(source, solution, "S") == ["space i", "time 0"]
    assert texts(source, solution, "T") == ["space i + 1", "time 1"]
    assert len(solution.direct) == 4


def test_lanes_follow_a_parametric_shift() -> None:
    source = program(
        "N,M",
        Spec("S", "i", "0 <= i < N + M", "0,i", ("x[i]",), ()),
        Spec("T", "i", LINE, "1,i", ("y[i]",), ("x[i+M]",)),
    )
    solution = only(source, fuse=True)
    assert texts(source, solution, "S")[0] == "space i"
    assert texts(source, solution, "T")[0] == "space i + M"


def test_a_reversed_reference_runs_the_lanes_backwards() -> None:
    source = program("N", Spec("T", "i", LINE, "i", ("x[N-1-i]",), ()))
    assert texts(source, only(source), "T") == ["space -i"]


def test_of_two_opposite_references_one_is_staged() -> None:
    source = program("N", Spec("T", "i", LINE, "i", ("x[N-1-i]",), ("p[i]", "q[i]")))
    solution = only(source)
    assert solution.direct == source.keys("p[i]", "q[i]")
    assert solution.staged == source.keys("x[N-1-i]")


def test_a_reversed_producer_keeps_its_lanes_and_synchronises() -> None:
    """x[N-1-i] would follow a lane that runs backwards; three references the other way outweigh it."""
    source = program(
        "N",
        Spec("S", "i", LINE, "0,i", ("x[i]",), ("p[i]",)),
        Spec("T", "i", LINE, "1,i", ("y[i]",), ("x[N-1-i]",)),
    )
    solution = only(source, fuse=True)
    assert texts(source, solution, "S") == ["time 0", "space i"]
    assert texts(source, solution, "T") == ["time 1", "space i"]
    assert not solution.outer_parallel
    assert solution.staged == source.keys("x[N-1-i]")


def test_dependences_to_both_sides_put_time_outside() -> None:
    source = program(
        "N",
        Spec("T", "i,j", "1 <= i < N and 1 <= j < N - 1", "i,j", ("a[i,j]",), ("a[i-1,j-1]", "a[i-1,j+1]")),
    )
    solution = only(source)
    assert texts(source, solution, "T") == ["time i", "space j"]
    assert not solution.outer_parallel
    assert solution.staged == frozenset()


def test_a_recurrence_along_rows_cannot_be_adjacent() -> None:
    source = program("N", Spec("T", "i,j", "0 <= i < N and 1 <= j < N", "i,j", ("a[i,j]",), ("a[i,j-1]",)))
    assert source.solve() == [None]


def test_a_recurrence_along_columns_runs_in_each_lane() -> None:
    source = program("N", Spec("T", "i,j", "1 <= i < N and 0 <= j < N", "i,j", ("a[i,j]",), ("a[i-1,j]",)))
    solution = only(source)
    assert texts(source, solution, "T") == ["space j", "time i"]


def test_a_skewed_reference_needs_a_skewed_schedule() -> None:
    """a[i+j,j]: from one element to the next in its row, j grows and i shrinks."""
    source = program("N", Spec("T", "i,j", SQUARE, "i,j", ("a[i+j,j]",), ()))
    solution = only(source)
    assert texts(source, solution, "T") == ["space i + j", "space j"]


def test_skewed_space_within_time() -> None:
    """No row is free of communication, and the outer space row may not be i: the lane's step changes i."""
    reads = ("a[t-1,i+j,j-1]", "a[t-1,i+j,j+1]", "a[t-1,i+j+1,j]")
    source = program("N", Spec("T", "t,i,j", "0 <= t,i,j < N", "t,i,j", ("a[t,i+j,j]",), reads))
    solution = only(source)
    assert texts(source, solution, "T") == ["time t", "space i + j", "space j"]
    assert solution.staged == frozenset()


def test_all_parallel_loops_become_space() -> None:
    source = program("N", Spec("T", "i,j,k", CUBE, "i,j,k", ("a[k,i,j]",), ("b[k,i,j]",)))
    solution = only(source)
    assert texts(source, solution, "T") == ["space i", "space k", "space j"]
    assert solution.staged == frozenset()


def test_a_triangular_nest_is_no_different() -> None:
    source = program(
        "N", Spec("T", "i,j", "0 <= i < N and 0 <= j <= i", "i,j", ("x[j]",), ("x[j]", "L[i,j]", "y[i]"))
    )
    solution = only(source)
    assert texts(source, solution, "T") == ["space j", "time i"]
    assert solution.direct == source.keys("L[i,j]")


@pytest.mark.parametrize("element", ["x[2i]", "x[floor(i/2)]", "x[i mod 4]"])
def test_strided_and_folded_references_are_not_adjacent(element: str) -> None:
    assert program("N", Spec("T", "i", LINE, "i", ("y[0]",), (element,))).solve(everything=True) == [None]


def test_a_strided_loop_never_touches_neighbours() -> None:
    source = program("N", Spec("T", "i", "0 <= i < N and i mod 2 = 0", "i", ("x[i]",), ()))
    assert source.solve() == [None]


def test_a_direction_stays_in_the_plane_of_the_domain() -> None:
    source = program("N", Spec("T", "i,j", "0 <= i < N and j = i", "i,j", ("x[j]",), ("a[0,i]",)))
    assert only(source).direct == source.keys("x[j]", "a[0,i]")
    diagonal = program("N", Spec("T", "i,j", "0 <= i < N and j = i", "i,j", ("a[i,j]",), ()))
    assert diagonal.solve() == [None]


STENCIL = "0 <= t < N and 1 <= i < N-1 and 1 <= j < N-1"
CROSS = ("[i,j]", "[i-1,j]", "[i+1,j]", "[i,j-1]", "[i,j+1]")
JACOBI = program(
    "N",
    Spec("S", "t,i,j", STENCIL, "t,0,i,j", ("b[i,j]",), tuple("a" + at for at in CROSS)),
    Spec("T", "t,i,j", STENCIL, "t,1,i,j", ("a[i,j]",), tuple("b" + at for at in CROSS)),
)


def test_jacobi_reuses_every_element_over_time() -> None:
    assert JACOBI.solve() == [None]


def test_jacobi_with_every_reference_a_candidate_alternates_in_time() -> None:
    solution = only(JACOBI, everything=True)
    assert texts(JACOBI, solution, "S") == ["time 2*t", "space i", "space j"]
    assert texts(JACOBI, solution, "T") == ["time 2*t + 1", "space i", "space j"]
    assert solution.staged == frozenset()


def test_one_jacobi_sweep_is_parallel() -> None:
    inner = "1 <= i < N-1 and 1 <= j < N-1"
    source = program("N,t", Spec("S", "i,j", inner, "i,j", ("b[i,j]",), tuple("a" + at for at in CROSS)))
    solution = only(source)
    assert texts(source, solution, "S") == ["space i", "space j"]
    assert len(solution.direct) == 6


def test_seidel_depends_on_its_left_neighbour() -> None:
    nine = tuple(f"a[i+{p},j+{q}]" for p in (-1, 0, 1) for q in (-1, 0, 1))
    source = program("N", Spec("S", "t,i,j", STENCIL, "t,i,j", ("a[i,j]",), nine))
    assert source.solve() == [None]
    assert source.solve(everything=True) == [None]


LU = program(
    "N",
    Spec("S", "k,i", "0 <= k < N and k < i < N", "k,0,i,0", ("a[i,k]",), ("a[i,k]", "a[k,k]")),
    Spec(
        "T",
        "k,i,j",
        "0 <= k < N and k < i < N and k < j < N",
        "k,1,i,j",
        ("a[i,j]",),
        ("a[i,j]", "a[i,k]", "a[k,j]"),
    ),
)


def test_lu_scales_a_column_and_cannot_coalesce_it() -> None:
    assert LU.solve() == [None]


def test_lu_updates_along_rows() -> None:
    solution = only(LU, everything=True)
    assert texts(LU, solution, "S") == ["time 2*k", "space 0", "space i"]
    assert texts(LU, solution, "T") == ["time 2*k + 1", "space i", "space j"]
    assert solution.direct == LU.keys("a[i,j]", "a[k,j]")
    assert not solution.outer_parallel


def test_a_small_cap_still_gives_what_was_found() -> None:
    """The first try asks too much of S; the second, all of T's references alone, succeeds."""
    everything = frozenset(r.key for r in LU.references)
    limited = solve(LU.instances, LU.references, LU.dependences, LU.params, 3, candidates=everything)
    assert limited is not None
    assert limited.tries <= 3
    check(LU, limited)
    assert solve(LU.instances, LU.references, LU.dependences, LU.params, 1, candidates=everything) is None


def test_constant_sizes_do_not_linearise_loops() -> None:
    source = program(
        "", Spec("T", "i,j,k", "0<=i<100 and 0<=j<100 and 0<=k<100", "i,j,k", ("s[0]",), ("s[0]", "a[i,j,k]"))
    )
    assert source.solve() == [None]
    rows = program(
        "", Spec("T", "i,j,k", "0<=i<90 and 0<=j<90 and 0<=k<90", "i,j,k", ("s[k]",), ("s[k]", "a[i,j,k]"))
    )
    (solution,) = rows.solve()
    assert solution is not None
    assert texts(rows, solution, "T") == ["space k", "time i", "time j"]


def test_components_come_in_topological_order() -> None:
    domains = [Instance(n, ("i",), isl.Set(f"{{ {n}[i] : 0 <= i < 9 }}")) for n in "ABCDE"]
    edges = isl.UnionMap(
        "{ C[i] -> A[i]; A[i] -> C[i+1]; E[i] -> A[i]; D[i] -> D[i+1]; A[i] -> B[i]; X[i] -> A[i] }"
    )
    assert components(domains, edges) == (("D",), ("E",), ("A", "C"), ("B",))
    assert components(domains[::-1], edges) == (("E",), ("D",), ("C", "A"), ("B",))


def test_scalars_and_whole_array_accesses_are_never_adjacent() -> None:
    domain = isl.Set("[N] -> { T[i] : 0 <= i < N }")
    accesses = ["{ T[i] -> s[] }", "{ T[i] -> x[a] }", "{ T[] -> x[0] }"]
    instance, point = Instance("T", ("i",), domain), Instance("T", (), isl.Set("{ T[] }"))
    for text, of in zip(accesses, (instance, instance, point), strict=True):
        reference = ArrayReference("T", "x", isl.Map(text), 0)
        found = solve([of], [reference], isl.UnionMap("{ }"), ("N",), candidates=frozenset({0}))
        assert found is None


@pytest.mark.parametrize(
    ("coefficients", "parameters", "constant", "expected"),
    [
        ((0, 0), {}, 0, "0"),
        ((0, 0), {}, -3, "-3"),
        ((1, -1), {}, 0, "i - j"),
        ((-2, 1), {"N": 1}, -1, "-2*i + j + N - 1"),
        ((0, 0), {"N": -2}, 1, "-2*N + 1"),
    ],
)
def test_row_text(
    coefficients: tuple[int, ...], parameters: dict[str, int], constant: int, expected: str
) -> None:
    row = Row("time", {"T": coefficients}, {"T": parameters}, {"T": constant})
    instance = Instance("T", ("i", "j"), isl.Set("{ T[i,j] }"))
    assert row.text(instance) == expected
    isl.Aff(f"[N] -> {{ T[i,j] -> [{expected}] }}")


def rows_of(kinds: str, *coefficients: tuple[int, ...]) -> AdjacencySolution:
    names = {"s": "space", "t": "time"}
    rows = tuple(
        Row(names[k], {"T": c}, {"T": {}}, {"T": 0}) for k, c in zip(kinds, coefficients, strict=True)
    )
    return AdjacencySolution(rows, frozenset({0}), frozenset(), frozenset(), "t" in kinds, 1)


def test_the_checks_reject_wrong_schedules() -> None:
    source = program("N", sum_into("x[i]", "a[i,j]", "y[j]"))
    reference = ArrayReference("T", "a", source.references[2].access, 0)
    along, across = rows_of("st", (0, 1), (1, 0)), rows_of("st", (1, 0), (0, 1))
    assert len(check_legal(along, source.dependences)) == 1
    assert check_legal(across, source.dependences) == ()
    assert check_legal(rows_of("st", (1, 0), (0, -1)), source.dependences) != ()
    assert check_legal(rows_of("ss", (1, 0), (0, 1)), source.dependences) != ()
    assert check_adjacent(along, source.instances, [reference]) == ()
    assert check_adjacent(across, source.instances, [reference]) == (0,)
    assert check_complete(rows_of("st", (1, 1), (2, 2)).rows) == ("T",)
