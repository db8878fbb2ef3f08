"""In words: what ICS'08's algorithm 1 answered for each component of a region, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from polygpu.analysis.places import positions
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.mapping.program import Grid
from polygpu.model.decisions import SPACES
from polygpu.model.facts import AccessFact
from polygpu.schedule.adjacency import AdjacencySolution, ArrayReference, Instance, Row, classify
from polygpu.schedule.driver import Scheduled
from polygpu.schedule.tree import row_text

_LINES = 8  # that are listed one by one
Use: TypeAlias = tuple[str, PolyAccess]  # statement, access


def schedule_text(
    p: Polyhedra, scheduled: Scheduled, nests: Mapping[str, Grid], accesses: Sequence[AccessFact]
) -> Iterator[str]:
    """One sentence a component: its schedule, and the accesses that do and do not coalesce under it.

    `nests` are by kernel. Nothing is said of statements that the compiler added, which have no loops.
    """
    for names, solution in scheduled.adjacent:
        if any(len(p.statement(n).loops) < len(p.statement(n).iterators) for n in names):
            continue
        lines = sorted({at.line for name in names for at in positions(p.statement(name))})
        shown = _listed(map(str, lines)) if len(lines) <= _LINES else f"{lines[0]} to {lines[-1]}"
        where = f"line{'s' if len(lines) > 1 else ''} {shown}"
        yield f"{where}: {_component(p, names, solution, nests, accesses)}"


def _component(
    p: Polyhedra,
    names: tuple[str, ...],
    solution: AdjacencySolution | None,
    nests: Mapping[str, Grid],
    accesses: Sequence[AccessFact],
) -> str:
    facts = {
        (n, a.site, a.write): a
        for a in accesses
        for n in names
        if a.kernel in nests and n in nests[a.kernel].statements
    }
    uses = [(n, a) for n in names for a in p.statement(n).accesses if a.affine and a.reference.subscripts]
    references = tuple(
        ArrayReference(n, array_tuple(a.reference), a.relation, key) for key, (n, a) in enumerate(uses)
    )
    instances = tuple(Instance(n, p.statement(n).iterators, p.statement(n).domain) for n in names)
    candidates = {r.key for r in classify(instances, references)[0]}
    if not uses:
        everything = [(n, a) for n in names for a in p.statement(n).accesses]
        what = (
            "no subscript is affine" if any(a.reference.subscripts for _, a in everything) else "only scalars"
        )
        return f"{what}: {_destiny(everything, facts)}"
    if not candidates:
        return f"every access has reuse: {_destiny(uses, facts)}"
    if solution is None:
        alone = [uses[key] for key in sorted(candidates)]
        return f"no schedule makes {_texts(alone)} coalesce: {_destiny(alone, facts)}"
    direct = [uses[key] for key in sorted(solution.direct)]
    rows = f"adjacency with {_rows(p, names[0], solution)}"
    lanes = _lanes(p, names, solution, nests)
    if lanes:
        return f"{rows} is possible for {_texts(direct)}, but {lanes}: {_destiny(uses, facts)}"
    others = [uses[key] for key in sorted(solution.staged)]
    return f"{rows}: {_destiny([*direct, *others], facts)}"


def _rows(p: Polyhedra, name: str, solution: AdjacencySolution) -> str:
    """`time j, space i`: rows of the first statement, the lanes' last."""
    time = [_row(p, name, row) for row in solution.time if any(row.coefficients[name])]
    space = [_row(p, name, row) for row in solution.space if any(row.coefficients[name])]
    parts = [f"time {', '.join(time)}"] if time else []
    return ", ".join([*parts, f"space {', '.join(space)}"])


def _row(p: Polyhedra, name: str, row: Row) -> str:
    """The row in the source's names of iterators."""
    spelled = p.source_names()
    return row.affine(name, [spelled.get(i, i) for i in p.statement(name).iterators])


def _lanes(
    p: Polyhedra, names: tuple[str, ...], solution: AdjacencySolution, nests: Mapping[str, Grid]
) -> str:
    """What the lanes of the first kernel do that does not follow the solution; "" when all follow it."""
    for name in names:
        grid = next(m for m in nests.values() if name in m.statements)
        if not grid.axes:
            return "it leaves nothing to run in parallel"
        row = row_text(grid.axes[-1].member.rows[name]).strip("()")
        if row != solution.lane.affine(name, p.statement(name).iterators):
            return f"lanes run along {p.source_names().get(row, row)}"
    return ""


def _destiny(uses: Iterable[Use], facts: Mapping[tuple[str, int, bool], AccessFact]) -> str:
    """`A[i][k] and B[k][j] are staged in shared memory, C[i][j] is kept in registers`."""
    spaces: dict[str, set[str]] = {}
    for statement, use in uses:
        site = use.reference.site
        fact = facts.get((statement, site, use.write)) or facts.get((statement, site, not use.write))
        spaces.setdefault(use.text, set()).add(_place(use, fact))
    places: dict[str, list[str]] = {}
    for text, found in spaces.items():
        together = _listed(sorted(found)).replace("read directly and written", "read and written")
        places.setdefault(together, []).append(text)
    return ", ".join(f"{_few(texts)} {place}" for place, texts in places.items())


def _few(texts: Sequence[str]) -> str:
    """The accesses with their verb; more than four are counted by array."""
    if len(texts) <= 4:
        return f"{_listed(texts)} {'is' if len(texts) == 1 else 'are'}"
    arrays = dict.fromkeys(text.partition("[")[0] for text in texts)
    return f"{len(texts)} accesses of {_listed(arrays)} are"


def _place(use: PolyAccess, fact: AccessFact | None) -> str:
    space = fact.space if fact is not None else "register"
    if space == "register":
        return "kept in registers"
    if space == "global":
        return "written directly" if use.write else "read directly"
    if space in SPACES:
        return f"read through the {space} cache"
    return "staged in shared memory"


def _texts(uses: Iterable[Use]) -> str:
    return _listed(dict.fromkeys(use.text for _, use in uses))


def _listed(texts: Iterable[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last
