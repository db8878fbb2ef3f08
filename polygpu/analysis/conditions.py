"""What polyhedra cannot prove and the host tests: guessed shapes, subscripts in bounds, no wrapping."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, PolyAccess, Polyhedra, PolyStatement, statement_space
from polygpu.model.expr import SIZES, Binary, Expr, Int, Name, Position, limits, type_of
from polygpu.model.rewrite import walk
from polygpu.model.scop import COUNTED, LARGEST_SIZE, Conversion
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import TooLongError, bounded, coalesced, common
from polygpu.support.recent import Same

_STEPS = 200_000  # of isl, for sizes: a hundred times what is usual


@dataclass(frozen=True)
class Condition:
    """`holds` is the set of parameters for which the region may run on the device.

    What it compares may be `wide`: more than int holds.
    """

    holds: isl.Set
    reason: str
    position: Position
    wide: bool = False


def conditions(p: Polyhedra) -> tuple[Condition, ...]:
    """The tests the call of the region needs, without those that always hold, or that others of a kind imply.

    Raises Diagnosed when an access of a declared array is out of bounds whenever it runs, or a conversion
    changes a value whenever it is computed at all.
    """
    found = [*strongest(_distinct([*_guessed_shapes(p), *_bounds(p)])), *strongest(_converted(p))]
    return tuple(_distinct(found))


def _distinct(found: list[Condition]) -> list[Condition]:
    return list({str(c.holds): c for c in reversed(found)}.values())[::-1]


def _guessed_shapes(p: Polyhedra) -> list[Condition]:
    found: list[Condition] = []
    running = {s.name: s for s in p.statements}
    for a in p.scop.assumptions:
        if a.statement and a.statement not in running:  # its domain is empty
            continue
        domain = running[a.statement].domain if a.statement else _inside(p, a.iterators, a.domain)
        test = Binary("&&", Binary("<=", Int(0), a.value), Binary("<", a.value, a.bound))
        bad = domain.subtract(AffineBuilder(domain.get_space()).condition(test))
        found.extend(unless(p, bad, a.reason, a.position))
    return found


def _inside(p: Polyhedra, iterators: tuple[str, ...], tests: Iterable[Expr]) -> isl.Set:
    """Iterations in which tests hold, whatever runs in them: of no loop, calls of the region."""
    builder = AffineBuilder(statement_space(p.parameters, "inside", iterators))
    found = isl.Set.universe(builder.space).intersect_params(p.context)
    for test in tests:
        found = found.intersect(builder.condition(test))
    return found


def _converted(p: Polyhedra) -> list[Condition]:
    found: list[Condition] = []
    sizes = sizes_of(p) if p.scop.conversions else p.context
    for c in p.scop.conversions:
        computed = _inside(p, c.iterators, c.domain)
        builder = AffineBuilder(computed.get_space())
        low, high = c.range
        bad = computed.intersect(builder.condition(Binary("<", c.value, Int(low))))
        if high is not None:
            bad = bad.union(computed.intersect(builder.condition(Binary(">", c.value, Int(high)))))
        possible = bad.params().intersect(sizes)
        if possible.is_empty():
            continue
        problem = _conversion_problem(c)
        if computed.params().intersect(sizes).is_subset(possible):
            raise Diagnosed(problem)
        found.extend(unless(p, bad, problem.message, c.position, wide=c.type == "int"))
    return found


def strongest(found: list[Condition]) -> list[Condition]:
    """Without those that another one implies."""
    kept: list[Condition] = []
    for c in found:
        if not any(other.holds.is_subset(c.holds) for other in kept):
            kept = [other for other in kept if not c.holds.is_subset(other.holds)] + [c]
    return kept


def _conversion_problem(c: Conversion) -> Diagnostic:
    what, length = f"a value in '{c.text}' is", len(c.text)
    if c.type == "int":
        message = f"{what} beyond {COUNTED}, up to which kernels count"
        help_text = "split the loop, with a pointer to the elements of each part"
    elif SIZES[c.type] < SIZES["int"]:
        low, high = c.range
        message = f"{what} beyond the range of {c.type}, {low} to {high}, and C wraps it around"
        help_text = "use an int iterator"
    else:
        message = f"{what} below 0, which C takes as a large unsigned one"
        help_text = "compute in signed types: with an unsigned n, write '(int)n'"
        return Diagnostic("PG316", "error", message, c.position, help_text, length=length)
    return Diagnostic("PG317", "error", message, c.position, help_text, length=length)


def sizes_of(p: Polyhedra) -> isl.Set:
    """The parameters' values of their types, as far as kernels take them."""
    builder = AffineBuilder(statement_space(p.parameters, "sizes", ()))
    found = isl.Set.universe(builder.space)
    for scalar in (s for s in p.scop.scalars if s.affine):
        low, high = limits(scalar.type)
        name, least, most = Name(scalar.name), Int(max(low, -LARGEST_SIZE)), Int(min(high, LARGEST_SIZE))
        test = Binary("&&", Binary("<=", least, name), Binary("<=", name, most))
        found = found.intersect(builder.condition(test))
    return found.params()


def within(p: Polyhedra, others: Iterable[Condition]) -> isl.Set:
    """The sizes with which the region runs on the device, where `others` are all that is tested."""
    tests = [c.holds for c in others]
    start = sizes_of(p).intersect(p.context)
    found: isl.Set = p.recent.get((within, *map(Same, tests)), lambda: common(start, tests))
    return found


def unless(
    p: Polyhedra, bad: isl.Set, reason: str, position: Position, wide: bool = False
) -> list[Condition]:
    """The condition that there is nothing in `bad`, if that is one."""
    if bad.is_empty():
        return []
    return [Condition(coalesced(_without(p.context, bad.params())), reason, position, wide)]


def _without(context: isl.Set, bad: isl.Set) -> isl.Set:
    """The sizes of `context` that are not bad; fewer, where bad ones are of quotients that take isl long."""
    try:
        with bounded(_STEPS):
            return context.subtract(bad)
    except TooLongError:
        return context.subtract(bad.remove_divs())


def _bounds(p: Polyhedra) -> list[Condition]:
    found: list[Condition] = []
    for s in p.statements:
        known: dict[tuple[Expr, Expr], list[Condition]] = {}
        for a in s.accesses:
            if (a.must or a.write) and _has_a_meaning(a):  # other reads may never happen: no claim about them
                found.extend(_bounds_of(p, s, a, known))
    return found


def _has_a_meaning(a: PolyAccess) -> bool:
    """Whether subscripts are what they would be of mathematical integers. Constants that are assumed may make
    one affine that is not in the source: i % n.
    """
    parts = (part for x in a.reference.subscripts for part in walk(x))
    return a.affine or not any("unsigned" in type_of(part) for part in parts)


def _bounds_of(
    p: Polyhedra, s: PolyStatement, a: PolyAccess, known: dict[tuple[Expr, Expr], list[Condition]]
) -> list[Condition]:
    """`known` has what is found of subscripts in all instances, by these and the extents of their dimensions:
    long bodies have the same ones many times.
    """
    array = p.array(a.reference.array)
    always = a.affine and bool(a.relation.domain().plain_is_equal(s.domain))
    found: list[Condition] = []
    for k, extent in enumerate(array.extents):
        if extent is None:
            continue
        what = a.reference.subscripts[k], extent
        made = known.get(what) if always else None
        if made is None:
            made = _bound_of(p, s, a, k, extent)
        if always:
            known[what] = made
        found.extend(made)
    return found


def _bound_of(p: Polyhedra, s: PolyStatement, a: PolyAccess, k: int, extent: Expr) -> list[Condition]:
    if _is_plainly_inside(a.reference.subscripts[k], extent):
        return []
    bad = _outside(s, a, k, extent)
    if bad is None or bad.is_empty():
        return []
    if s.domain.params().is_subset(bad.params()):
        raise Diagnosed(_across_rows(p, a, k, extent) or _out_of_bounds(a, k, extent))
    return unless(p, bad, f"subscript {k + 1} of '{a.text}' must stay inside the array", a.position)


def _is_plainly_inside(subscript: Expr, extent: Expr) -> bool:
    if isinstance(subscript, Int) and isinstance(extent, Int):
        return 0 <= subscript.value < extent.value
    return False


def _outside(s: PolyStatement, a: PolyAccess, k: int, extent: Expr) -> isl.Set | None:
    builder = AffineBuilder(s.domain.get_space())
    subscript = a.reference.subscripts[k]
    try:
        inside = Binary("&&", Binary("<=", Int(0), subscript), Binary("<", subscript, extent))
        nothing = builder.condition(Binary("<=", extent, Int(0)))
        return _running(s, a, nothing).subtract(builder.condition(inside))
    except (ValueError, isl.Error):
        return None  # an extent that is no affine function of the parameters


def _running(s: PolyStatement, a: PolyAccess, nothing: isl.Set) -> isl.Set:
    """The instances that access an array, which has `nothing` in it for some.

    They are related to the elements that there are, where what they touch is told by no affine subscript: to
    none of an array without any.
    """
    related = a.relation.domain()
    lost = s.domain.subtract(related)
    return related if a.affine or not lost.is_subset(nothing) else s.domain


def _across_rows(p: Polyhedra, a: PolyAccess, k: int, extent: Expr) -> Diagnostic | None:
    """What is wrong with a subscript out of the bounds of a guessed shape."""
    subscript = a.reference.subscripts[k]
    if all((x.value, x.bound) != (subscript, extent) for x in p.scop.assumptions):
        return None
    message = f"'{a.text}' reaches beyond the rows that '{a.reference.array}' is taken to have"
    help_text = f"declare its shape, as in 'float (*{a.reference.array})[m]'"
    return Diagnostic("PG161", "error", message, a.position, help_text, length=max(1, len(a.text)))


def _out_of_bounds(a: PolyAccess, k: int, extent: Expr) -> Diagnostic:
    size = f" of {extent.value} elements" if isinstance(extent, Int) else ""
    return Diagnostic(
        "PG302",
        "error",
        f"subscript {k + 1} of '{a.text}' is outside of the array's dimension{size}",
        a.position,
        "change the loop's bounds or the array's size",
        length=max(1, len(a.text)),
    )
