"""Loops that scan integer sets, right also where isl's AST generator errs.

Statements that take turns in strides (S at 4i, T at 4i + 1) are shifted by isl to share a loop; with a third
of another stride the shift is applied where it should not be, and statements trade places. They do so, too,
where strides come about on the way only: of T at (3 - p - i, 5 - q - i) that have to come before S at
(1 + q - i, 3), some come behind it. Code for several statements is compared with its schedule, and replaced
where it differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import count

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder
from polygpu.lower.scan import (
    Scan,
    ScanBlock,
    ScanFor,
    ScanIf,
    ScanLeaf,
    generated,
    plain,
    test_of,
    value_of,
)
from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.linear import simplify
from polygpu.model.rewrite import substitute
from polygpu.support.child import in_child
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import (
    STEPS_A_SECOND,
    D,
    TooLongError,
    basic_maps,
    bounded,
    bounded_hull,
    hides_quotients,
    identifier,
    isl_name,
    maps,
    tuple_name,
    union_of,
    with_parameters,
)
from polygpu.support.recent import Recent

_GENERATION = 300_000  # steps of isl, to make code, each of which may be long; PolyBench takes 50,000
_LAST = 1_000_000  # the same, where there is no other way
_STEPS = 1_000_000  # to compare it with its schedule
_MADE: Recent[Scan] = Recent(512)


def scan(schedule: isl.UnionMap, context: isl.Set, names: tuple[str, ...]) -> Scan:
    """Code that visits the domain of `schedule` (every map to the same space) in its order.

    `context` (parameters only) holds when the code runs; `names` are the loops' indices. Candidates that are
    lowered one after the other have most of it in common.
    """
    key = str(schedule), str(context), names
    return _MADE.get(key, lambda: _scan(schedule, context, names))


def _scan(schedule: isl.UnionMap, context: isl.Set, names: tuple[str, ...]) -> Scan:
    """Raises TooLongError where isl's steps are so long that it cannot be stopped."""
    context = plain(context)
    if any(hides_quotients(part) for m in maps(schedule) for part in basic_maps(m)):
        _try(schedule, context, names)
    try:
        with bounded(_GENERATION):
            tree = generated(schedule, context, names)
    except isl.Error:  # many cases: loops with tests inside have fewer
        return _guarded(schedule, context, names)
    return tree if _kept(tree, schedule, context) else _guarded(schedule, context, names)


def _try(schedule: isl.UnionMap, context: isl.Set, names: tuple[str, ...]) -> None:
    """Raises TooLongError where a copy of this process has no code in several times the time."""

    def work() -> str:
        generated(schedule, context, names)
        return "made"

    try:
        in_child(work, _GENERATION / STEPS_A_SECOND)
    except TimeoutError:
        raise TooLongError("quotients of large numbers") from None


def _kept(tree: Scan, schedule: isl.UnionMap, context: isl.Set) -> bool:
    """Whether `tree` is code for `schedule`. Where it takes long to say, it is if nothing has strides.

    One part of one statement is scanned as it should be.
    """
    parts = [part for m in maps(schedule) for part in basic_maps(m)]
    if len(parts) <= 1:
        return True
    faithful = _faithful(tree, schedule, context)
    return not any(map(_strided, parts)) if faithful is None else faithful


def _strided(part: isl.BasicMap) -> bool:
    """Whether something in `part` is a multiple, or a floor.

    Where an instance is that of given indices of loops around the code, the stride is theirs.
    """
    if part.dim(D.div):
        return True
    equalities = part.equalities_matrix(D.param, D.in_, D.out, D.cst, D.div)
    columns = equalities.cols() - 1  # all but the constant
    return any(
        abs(equalities.get_element_val(row, column).to_python()) > 1
        for row in range(equalities.rows())
        for column in range(columns)
    )


def _faithful(tree: Scan, schedule: isl.UnionMap, context: isl.Set) -> bool | None:
    """Whether `tree` executes each instance of `schedule` once, in its order; None if that takes long."""
    try:
        with bounded(_STEPS):
            executed = _executed(tree, context.align_params(schedule.get_space()))
            meant = schedule.intersect_params(context)
            if not (executed.is_single_valued() and executed.domain().is_equal(meant.domain())):
                return False
            swapped = executed.lex_lt_union_map(executed).intersect(meant.lex_gt_union_map(meant))
            return bool(swapped.is_empty())
    except (isl.Error, ValueError):
        return None


@dataclass(frozen=True)
class _Place:
    """Where code stands: the tests around it, and its path as positions in blocks and indices of loops."""

    builder: AffineBuilder
    tests: isl.Set
    path: tuple[Expr, ...] = ()

    def where(self, test: Expr) -> _Place:
        return replace(self, tests=self.tests.intersect(self.builder.condition(test)))

    def at(self, *entries: Expr) -> _Place:
        return replace(self, path=(*self.path, *entries))


def _executed(tree: Scan, context: isl.Set) -> isl.UnionMap:
    """Instances to the places where they are executed: these follow each other lexicographically."""
    indices = sorted({loop.index for loop in _loops(tree)})
    tests = with_parameters(context.from_params(), [isl_name(name) for name in indices])
    start = _Place(AffineBuilder(tests.get_space()), tests)
    leaves = list(_leaves(tree, start))
    length = max((len(place.path) for _, place in leaves), default=0)
    found = [_execution(leaf, place, length) for leaf, place in leaves]
    return union_of([_without(m, indices) for m in found])


def _loops(tree: Scan) -> Iterator[ScanFor]:
    match tree:
        case ScanBlock(children):
            for child in children:
                yield from _loops(child)
        case ScanFor():
            yield tree
            yield from _loops(tree.body)
        case ScanIf(_, then, otherwise):
            yield from _loops(then)
            if otherwise is not None:
                yield from _loops(otherwise)


def _leaves(tree: Scan, place: _Place) -> Iterator[tuple[ScanLeaf, _Place]]:
    match tree:
        case ScanBlock(children):
            for k, child in enumerate(children):
                yield from _leaves(child, place.at(Int(k)))
        case ScanFor(index, lower, upper, step, body):
            here = Name(index)
            inside = place.where(Binary(">=", here, lower)).where(Binary("<", here, upper))
            if step != 1:
                inside = inside.where(Binary("==", Binary("%", Binary("-", here, lower), Int(step)), Int(0)))
            yield from _leaves(body, inside.at(here))
        case ScanIf(test, then, otherwise):
            yield from _leaves(then, place.where(test))
            if otherwise is not None:
                rest = place.tests.subtract(place.builder.condition(test))
                yield from _leaves(otherwise, replace(place, tests=rest))
        case ScanLeaf():
            yield tree, place


def _execution(leaf: ScanLeaf, place: _Place, length: int) -> isl.Map:
    def tuple_of(entries: tuple[Expr, ...]) -> isl.Map:
        made = isl.Map.from_domain_and_range(place.tests, isl.Set("{ [] }"))
        for entry in entries:
            made = made.flat_range_product(isl.Map.from_pw_aff(place.builder.value(entry)))
        return made

    padding = tuple(Int(0) for _ in range(length - len(place.path)))
    instances = tuple_of(leaf.arguments).set_tuple_name(D.out, leaf.statement)
    return instances.reverse().apply_range(tuple_of((*place.path, *padding)))


def _without(relation: isl.Map, names: list[str]) -> isl.Map:
    for name in names:
        relation = relation.project_out(D.param, relation.find_dim_by_name(D.param, isl_name(name)), 1)
    return relation


def _guarded(schedule: isl.UnionMap, context: isl.Set, names: tuple[str, ...]) -> Scan:
    """Loops over all times between a statement's first and last, with a test of whether it is one of its.

    Raises TooLongError where a statement has several instances at one time.
    """
    relations = {tuple_name(m, D.in_): m.intersect_params(context) for m in maps(schedule)}
    with bounded(_LAST):
        if not all(m.is_injective() for m in relations.values()):
            raise TooLongError("several instances at one time")
        tree, _ = _through({s: bounded_hull(m.range()) for s, m in relations.items()}, context, names)
    return _tested(tree, relations, context)


def tested(
    schedule: isl.UnionMap,
    times: dict[str, isl.Set],
    inside: isl.Set,
    around: isl.Set,
    names: tuple[str, ...],
) -> Scan:
    """Loops over `times` of statements, where `around` holds, with a test of whether an instance is of them.

    `inside` holds in the loops, of parameters that they do not depend on too.
    """
    relations = {tuple_name(m, D.in_): m.intersect_params(inside) for m in maps(schedule)}
    hulls = {statement: bounded_hull(t) for statement, t in times.items()}
    tree, passed = _through(hulls, around, names)
    return _tested(tree, relations, inside, passed)


def _through(
    times: dict[str, isl.Set], context: isl.Set, names: tuple[str, ...]
) -> tuple[Scan, dict[str, isl.Set]]:
    """Code that goes through times of statements in their order, and these: those of all of them for each,
    where isl errs about single ones, 2k of loops around it, say, before and behind another one's. Raises
    TooLongError where that is no way either.
    """
    tree = _in_order(times, context, names)
    if tree is None:
        all_ = bounded_hull(reduce(isl.Set.union, times.values()))
        times = dict.fromkeys(times, all_)
        tree = _in_order(times, context, names)
    if tree is None:
        raise TooLongError("no code in this order")
    return tree, times


def _in_order(times: dict[str, isl.Set], context: isl.Set, names: tuple[str, ...]) -> Scan | None:
    """isl's code for these times; None where it is not in their order, or may not be."""
    order = union_of([t.set_tuple_name(s).identity().reset_tuple_id(D.out) for s, t in times.items()])
    tree = generated(order, context, names)
    return tree if _kept(tree, order, context) else None


def _tested(
    tree: Scan, relations: dict[str, isl.Map], context: isl.Set, times: Mapping[str, isl.Set] | None = None
) -> Scan:
    match tree:
        case ScanBlock(children):
            return ScanBlock(tuple(_tested(c, relations, context, times) for c in children))
        case ScanFor():
            return replace(tree, body=_tested(tree.body, relations, context, times))
        case ScanIf(test, then, otherwise):
            other = _tested(otherwise, relations, context, times) if otherwise is not None else None
            return ScanIf(test, _tested(then, relations, context, times), other)
        case ScanLeaf(statement, at):
            known = times[statement] if times is not None else None
            return _instance(statement, at, relations[statement], context, known)


def _instance(
    statement: str, times: tuple[Expr, ...], relation: isl.Map, context: isl.Set, known: isl.Set | None
) -> Scan:
    """The instance that is executed at `times`, all of them `known`, where there is one."""
    names = [name for name, _ in zip(_unused(relation), times, strict=False)]
    values = dict(zip(names, times, strict=True))
    at = _named(relation.reverse(), names)
    instances = at.range().reset_tuple_id()
    here = instances.params()
    arguments = [_only_value(instances, k) for k in range(instances.dim(D.set))]
    leaf = ScanLeaf(statement, tuple(simplify(substitute(value_of(a, here), values)) for a in arguments))
    if known is not None:
        context = context.intersect(_named(known.identity(), names).params())
    test = test_of(here, context)
    return leaf if test is None else ScanIf(simplify(substitute(test, values)), leaf, None)


def _named(relation: isl.Map, names: list[str]) -> isl.Map:
    """The relation with these parameters for its first dimensions."""
    for name in names:
        position = relation.dim(D.param)
        relation = relation.move_dims(D.param, position, D.in_, 0, 1).set_dim_id(
            D.param, position, identifier(name)
        )
    return relation


def _unused(relation: isl.Map) -> Iterator[str]:
    return (n for k in count() if relation.find_dim_by_name(D.param, n := f"time{k}") < 0)


def _only_value(instances: isl.Set, k: int) -> isl.PwAff:
    line = instances.project_out(D.set, k + 1, instances.dim(D.set) - k - 1).project_out(D.set, 0, k)
    return line.dim_min(0)
