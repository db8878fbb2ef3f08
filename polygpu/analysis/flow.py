"""isl's dataflow analysis, where it can be trusted.

It gives up on some quasi-affine programs, takes for ever on others, and there are a few for which it leaves
something out or ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import reduce
from math import inf

import islpy as isl

from polygpu.support.child import in_child, in_helper, steps_for
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import (
    CONTEXT,
    D,
    TooLongError,
    basic_maps,
    bounded,
    coalesced,
    empty_union_map,
    exhausted,
    left,
    maps,
    tuple_name,
    union_of,
)
from polygpu.support.recent import Recent, Same

# Dataflow of an array takes some 10,000 steps, up to 1.6 million where many statements write it; of dense
# conflicts in 15 statements it may never end.
_STEPS = 2_000_000
_FEW = 50_000  # for which nothing is begun
_SECONDS = 20.0
_RECENT = 256  # arrays of a region
_BETWEEN = "\n;\n"  # the solutions of two problems, the relations of one
_NEXT = "\n;;\n"  # problem
_OPEN = "?"  # no solution so far


@dataclass(frozen=True)
class Flow:
    """`dependence`: the sources that a sink may see, to the sink. `unsupplied`: sinks to the elements that
    they may find as they were.
    """

    dependence: isl.UnionMap
    unsupplied: isl.UnionMap


_FLOWS: Recent[Flow | None] = Recent(_RECENT)
_TIMES: Recent[isl.UnionMap] = Recent(8)
_TOO_FEW: Recent[float] = Recent(_RECENT)  # steps for problems to be solved in


def dataflow(sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap) -> Flow:
    """What `sinks` see of `must` and `may`, instances to elements all, when executed in `order`.

    Raises isl.Error where isl has no answer that is known to be complete.
    """
    found = list(dataflows(sinks, must, may, order, every=True).values())
    if None in found:
        raise isl.Error("isl's dataflow analysis fails, or a source is missing")
    return together(f for f in found if f is not None)


def together(flows: Iterable[Flow]) -> Flow:
    """The dataflow of several arrays."""
    flows = list(flows)
    return Flow(
        reduce(isl.UnionMap.union, (f.dependence for f in flows), empty_union_map()),
        reduce(isl.UnionMap.union, (f.unsupplied for f in flows), empty_union_map()),
    )


def dataflows(
    sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap, every: bool = False
) -> dict[str, Flow | None]:
    """The dataflow of each array, None where isl has no answer that is known to be complete.

    Who needs that of `every` array may get None for some that have one, too, where others have none.
    """
    each = [_by(D.out, relation) for relation in (sinks, must, may)]
    when = _by(D.in_, order)
    problems = {a: _Problem.of([found.get(a, []) for found in each], when) for a in each[0]}
    unknown = tuple(p for p in problems.values() if p not in _FLOWS.found and p.is_doubtful)
    if not every or all(_FLOWS.found.get(p, p) is not None for p in problems.values()):
        for problem, answer in _answers(unknown, every):
            parts = [isl.UnionMap.read_from_str(CONTEXT, text) for text in answer.splitlines()]
            _FLOWS.put(problem, Flow(*parts) if parts else None)
    return {a: None if p in unknown and p not in _FLOWS.found else _flow(p) for a, p in problems.items()}


def _flow(problem: _Problem) -> Flow | None:
    try:
        return _FLOWS.get(problem, problem.flow)
    except isl.Error:
        return None


def to(relation: isl.UnionMap, array: str) -> isl.UnionMap:
    """What of `relation` is about one array."""
    return union_of([m for m in maps(relation) if tuple_name(m, D.out) == array])


def _by(side: isl.dim_type, relation: isl.UnionMap) -> dict[str, list[isl.Map]]:
    """The maps from each statement, or to each array."""
    found: dict[str, list[isl.Map]] = {}
    for m in maps(relation):
        found.setdefault(tuple_name(m, side), []).append(m)
    return found


@dataclass(frozen=True)
class _Problem:
    """The dataflow of one array, which other passes ask for again when other arrays have changed.

    `text` tells problems apart; `analysis` is isl's.
    """

    text: str
    analysis: Callable[..., isl.UnionFlow]
    relations: tuple[isl.UnionMap, ...] = field(compare=False)

    @staticmethod
    def of(accesses: Sequence[list[isl.Map]], order: Mapping[str, list[isl.Map]]) -> _Problem:
        """Of sinks, and of sources that must and may; `order` is by the names of statements.

        Accesses that make one range of elements are one piece: isl looks at all pairs of pieces, for each of
        the loops that two statements share, and what it finds has as many.
        """
        instances = sorted({tuple_name(m, D.in_) for part in accesses for m in part} & order.keys())
        sinks, must, may = (coalesced(union_of(part)) for part in accesses)
        own = _in_few_pieces(union_of([m for name in instances for m in order[name]]))
        relations = sinks, must, may, own
        return _Problem(_BETWEEN.join(map(str, relations)), _computed, relations)

    @property
    def is_doubtful(self) -> bool:
        return any(_doubtful(m) for relation in self.relations[:3] for m in maps(relation))

    def flow(self) -> Flow:
        with bounded(_STEPS):
            found = self.analysis(*self.relations)
            return Flow(found.get_may_dependence(), found.get_may_no_source())

    def solved(self, most: float = inf) -> str:
        """Both parts of a Flow; "" where something is missing, or takes too many steps whatever is left, and
        `_OPEN` where `most` steps, or what is left, is too few.
        """
        try:
            with bounded(min(most, _STEPS)):
                found = self.analysis(*self.relations)
                if _complete(found.get_full_may_dependence(), *self.relations):
                    return f"{found.get_may_dependence()}\n{found.get_may_no_source()}"
        except isl.Error as problem:
            if exhausted() or (most < _STEPS and isinstance(problem, TooLongError)):
                return _OPEN
        return ""

    @property
    def size(self) -> tuple[int, int]:
        """How many floors an access has at most, of which each makes cases, and how many pairs may meet."""
        accesses = self.relations[:3]
        floors = (part.dim(D.div) for r in accesses for m in maps(r) for part in basic_maps(m))
        sinks, must, may = (r.n_map() for r in accesses)
        return max(floors, default=0), sinks * (must + may)


def _answers(problems: tuple[_Problem, ...], every: bool) -> Iterator[tuple[_Problem, str]]:
    """The dataflow of each that is known now as text, found where it may end the process: small ones first.

    Those that took too many steps before are not tried again where there are not many more now.
    """
    most = steps_for(_SECONDS)
    tried = sorted((p for p in problems if most >= 2 * _TOO_FEW.found.get(p, 0)), key=lambda p: p.size)
    if every and len(tried) < len(problems):
        return
    for problem, answer in zip(tried, _solved(tuple(tried), every), strict=False):
        if answer == _OPEN:
            _TOO_FEW.replace(problem, most)
        else:
            yield problem, answer


def _solved(problems: tuple[_Problem, ...], every: bool) -> list[str]:
    """The answers of a helper; where one ends it, each is asked alone."""
    if not problems:
        return []
    try:
        solutions = _all_solutions if every else _some_solutions
        texts = in_helper(solutions, _NEXT.join(p.text for p in problems), _SECONDS)
    except TimeoutError:
        return [_OPEN] * len(problems)
    if texts is not None:
        return texts.split(_BETWEEN)
    if len(problems) == 1:  # isl knows more of relations than their texts say
        return [_solved_exactly(*problems)]
    return [text for p in problems for text in _solved((p,), every)]


def _solved_exactly(problem: _Problem) -> str:
    with suppress(TimeoutError):
        return in_child(problem.solved, _SECONDS) or ""
    return _OPEN


def _some_solutions(problems: str) -> str:
    return _BETWEEN.join(_solutions(problems))


def _all_solutions(problems: str) -> str:
    """Up to the first that is missing."""
    found: list[str] = []
    for solution in _solutions(problems):
        found.append(solution)
        if solution in ("", _OPEN):
            break
    return _BETWEEN.join(found)


def _solutions(problems: str) -> Iterator[str]:
    """What is known when no steps are left stays known."""
    for problem in problems.split(_NEXT):
        most = left() - _FEW
        if most <= 0:
            yield _OPEN
            continue
        relations = [isl.UnionMap.read_from_str(CONTEXT, text) for text in problem.split(_BETWEEN)]
        yield _Problem(problem, _computed, tuple(relations)).solved(most)


def _computed(
    sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionFlow:
    info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
    return info.set_schedule_map(order).compute_flow()


def _doubtful(relation: isl.Map) -> bool:
    """Whether an iterator of `relation` has one value only, or moduli may come up.

    There are those of strides and tests, and those of subscripts that meet: 2i + 1 = j, or i + j = k and
    i - j = l. Subscripts of one iterator and a distance only meet in other such ones.
    """
    return any(
        piece.dim(D.div) > 0
        or any(piece.plain_get_val_if_fixed(D.in_, k).is_int() for k in range(piece.dim(D.in_)))
        or not _distances(piece)
        for piece in basic_maps(relation)
    )


def _distances(piece: isl.BasicMap) -> bool:
    """Whether each equality says that something is one iterator and a distance, or that distance alone."""
    equalities = piece.equalities_matrix(D.in_, D.out, D.param, D.cst, D.div)
    sides = piece.dim(D.in_), piece.dim(D.out)
    for row in range(equalities.rows()):
        values = [equalities.get_element_val(row, k).to_python() for k in range(sum(sides))]
        left = [v for v in values[: sides[0]] if v]
        right = [v for v in values[sides[0] :] if v]
        if len(left) > 1 or len(right) > 1 or any(abs(v) != 1 for v in left + right) or left == right:
            return False
    return True


def _complete(
    found: isl.UnionMap, sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> bool:
    """Whether each source is `found` for its sinks (with elements), or comes before one that hides it.

    The analysis takes lexicographic maxima, in which isl errs for some sets with several moduli. It also
    loses some of what comes after a source where another one runs in a single iteration.
    """
    element, sink = sinks.range_map().reverse(), sinks.domain_map().reverse()
    times = _times(order)
    before = times.lex_lt_union_map(times)
    left = must.union(may).apply_range(element).intersect(before.apply_range(sink)).subtract(found)
    if left.is_empty():
        return True
    hiding = found.intersect(must.apply_range(element)).intersect_range(left.range().universe())
    earlier = before.intersect_domain(left.domain().universe())  # the pairs know which instances there are
    hidden = earlier.intersect_range(hiding.domain().universe()).apply_range(hiding)
    return bool(left.is_subset(hidden))


def conflicts(sources: isl.UnionMap, sinks: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """All pairs that touch the same element, the source before the sink."""
    pairs = sources.apply_range(sinks.reverse())
    if pairs.is_empty():
        return pairs
    times = _times(order)
    first, then = (times.intersect_domain(side.universe()) for side in (pairs.domain(), pairs.range()))
    return pairs.intersect(first.lex_lt_union_map(then))


def _times(order: isl.UnionMap) -> isl.UnionMap:
    """The order in few pieces, for what knows which instances there are."""
    return _TIMES.get(Same(order), lambda: _in_few_pieces(order))


def _in_few_pieces(order: isl.UnionMap) -> isl.UnionMap:
    """An order that is the same where `order` says something, and may say more.

    S[i, j = 1] -> [i, 1]; S[i, j = -1] -> [i, -1]    ->    S[i, j] -> [i, j]

    What holds for all instances of a statement is one piece, if it tells a time for each.
    """
    return union_of([_in_one_piece(m) for m in maps(order)])


def _in_one_piece(order: isl.Map) -> isl.Map:
    whole = isl.Map.from_basic_map(order.affine_hull())
    return whole if whole.is_single_valued() else coalesced(order.gist_domain(order.domain()))
