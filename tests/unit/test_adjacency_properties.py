"""Random small programs: every solution is legal and adjacent, symbolically and by enumeration."""

from __future__ import annotations

import islpy as isl
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.schedule.adjacency import check_adjacent, check_complete, check_legal
from tests.unit.adjacency_programs import Enumeration, Program, Spec, program

NAMES = ("i", "j", "k")


@st.composite
def elements(draw: st.DrawFn, depth: int) -> str:
    """An element of one of few arrays, so that statements conflict."""
    array, rank = draw(st.sampled_from([("x", 1), ("y", 1), ("a", 2), ("b", 2)]))
    subscripts = []
    for _ in range(rank):
        terms = [f"{draw(st.sampled_from([0, 0, 1, 1, -1, 2]))}{NAMES[k]}" for k in range(depth)]
        subscripts.append(" + ".join([*terms, str(draw(st.integers(-1, 1)))]))
    return f"{array}[{', '.join(subscripts)}]"


@st.composite
def statements(draw: st.DrawFn, name: str, place: int, shared: int) -> Spec:
    depth = draw(st.integers(max(shared, 1), 3))
    bounds = [
        f"0 <= {NAMES[k]} <= {NAMES[k - 1]}" if k and draw(st.booleans()) else f"0 <= {NAMES[k]} < N"
        for k in range(depth)
    ]
    schedule = []
    for k in range(3):
        schedule += [str(place if k == shared else 0), NAMES[k] if k < depth else "0"]
    return Spec(
        name,
        ",".join(NAMES[:depth]),
        " and ".join(bounds),
        ",".join(schedule),
        (draw(elements(depth)),),
        tuple(draw(st.lists(elements(depth), max_size=2))),
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    count, shared = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    return program("N", *(draw(statements("ST"[k], k, shared)) for k in range(count)))


@given(programs(), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_solution_is_legal_and_adjacent(source: Program, fuse: bool, everything: bool) -> None:
    for solution in source.solve(fuse, everything):
        if solution is None:
            continue
        instances, references = source.component(tuple(solution.lane.coefficients))
        assert check_legal(solution, source.dependences) == ()
        assert check_adjacent(solution, instances, references) == ()
        assert check_complete(solution.rows) == ()
        enumeration = Enumeration(source, solution, 4)
        assert enumeration.illegal() == []
        assert enumeration.clashes() == []
        for reference in references:
            if reference.key in solution.direct:
                last = (0,) * (reference.access.dim(isl.dim_type.out) - 1) + (1,)
                assert enumeration.strides(reference) <= {last}


@given(programs())
@settings(max_examples=40, deadline=None)
def test_references_are_partitioned(source: Program) -> None:
    for solution in source.solve(fuse=True):
        if solution is not None:
            parts = [solution.direct, solution.staged, solution.reuse]
            assert sum(map(len, parts)) == len(frozenset().union(*parts)) == len(source.references)
            assert solution.direct
