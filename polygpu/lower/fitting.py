"""Run-time tests that what generated code computes of sizes and indices fits into int.

C says that the iterators of the source fit. Generated code also computes with sums of them and their
multiples, in bounds of tiles and wavefronts, up to some way beyond the last iteration.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial, reduce

import islpy as isl

from polygpu.analysis.conditions import Condition, sizes_of, within
from polygpu.analysis.intervals import Interval
from polygpu.analysis.polyhedra import AffineBuilder, Polyhedra
from polygpu.lower.known import Beyond, Known
from polygpu.lower.scan import test_of
from polygpu.model.expr import Binary, Expr, Int, Name, limits
from polygpu.model.kernel import (
    Buffer,
    Declare,
    For,
    HostFor,
    HostIf,
    HostStatement,
    If,
    Kernel,
    Launch,
    Region,
    Statement,
    While,
)
from polygpu.model.kernel_walk import operands, statements, written
from polygpu.model.rewrite import references
from polygpu.model.scop import LARGEST_SIZE
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, common, isl_name
from polygpu.support.recent import Recent, Same

_LIMITS = tuple(LARGEST_SIZE // 2**k for k in range(31))  # of sizes, the weakest first
_EXACT = _LIMITS[:3]  # for which isl is asked too
_RECENT = 512  # answers about kernels
_SMALL = 2**12  # sizes; a schedule that takes no larger ones may be worse than the source's order


@dataclass(frozen=True)
class Fitting:
    """The `tests` of a call: with one that parameters are no larger than the `limit` that some of them have.

    `sized` are the int parameters that all these leave free beyond LARGEST_SIZE.
    """

    limit: int
    tests: tuple[Condition, ...]
    sized: tuple[str, ...]

    @property
    def restrictive(self) -> bool:
        return self.limit < _SMALL


Names = dict[str, Interval]
Limited = tuple[str, ...]
Path = tuple[Hashable, ...]


@dataclass
class FittingTests:
    """Finds the tests that calls of one region need beside the `others`, whatever its kernels are.

    `fit` says of kernels, by how they are launched, and of buffers whether they fit with limits, of which
    `starts` have what is known before; `made` has what followed.
    """

    p: Polyhedra
    others: tuple[Condition, ...]
    fit: Recent[bool] = field(default_factory=lambda: Recent(_RECENT))
    starts: Recent[Known] = field(default_factory=lambda: Recent(_RECENT))
    made: Recent[Fitting] = field(default_factory=lambda: Recent(_RECENT))

    @cached_property
    def known(self) -> Names:
        """What each parameter lies between, where the region runs on the device."""
        return _ends(self.p, within(self.p, self.others))

    @cached_property
    def held(self) -> tuple[Expr, ...]:
        """What holds of the parameters there."""
        found = (test_of(c.holds, self.p.context) for c in self.others)
        return tuple(test for test in found if test is not None)

    def of(self, region: Region) -> Fitting | None:
        """None where nothing fits at any size."""
        names = tuple(self.known)

        def fits(limit: int, exact: bool = False, names: Limited = names) -> bool:
            return self._fits(region, names, limit, exact)

        limit = next((x for x in _EXACT if fits(x, exact=True)), None)
        if limit is None:
            k = bisect_left(_LIMITS, True, len(_EXACT), key=fits)
            limit = _LIMITS[k] if k < len(_LIMITS) else None
        if limit is None:
            return None
        limited = names if limit < LARGEST_SIZE else ()
        for name in limited:  # those that do not matter stay free
            fewer = tuple(n for n in limited if n != name)
            if fits(limit, names=fewer):
                limited = fewer
        limited = tuple(name for name in limited if max(map(abs, self.known[name])) > limit)
        return self.made.get((limit, limited), lambda: self._fitting(limit, limited))

    def _fitting(self, limit: int, limited: Limited) -> Fitting:
        mine = (_test(self.p, limited, limit),) if limited else ()
        # without what others imply
        kept = (c for c in self.others if not any(other.holds.is_subset(c.holds) for other in mine))
        tests = (*kept, *mine)
        return Fitting(limit, tests, sized(self.p, [c.holds for c in (*self.others, *mine)]))

    def _fits(self, region: Region, names: Limited, limit: int, exact: bool) -> bool:
        """Whether all that is computed in `region` fits where parameters with `names` are within `limit`."""
        limits = names, limit, exact
        known = self.starts.get(limits, lambda: self._start(*limits))
        if not all(self.fit.get((limits, Same(b)), partial(_buffer_fits, b, known)) for b in region.buffers):
            return False
        found: Beyond = []
        kernels = {k.name: k for k in region.kernels}
        for launch, around, path in _launches(region.body, known, found, ()):
            kernel = kernels[launch.kernel]
            key = limits, path, launch, Same(kernel)
            if found or not self.fit.get(key, partial(_kernel_fits, kernel, launch, around)):
                return False
        return not found

    def _start(self, names: Limited, limit: int, exact: bool) -> Known:
        return reduce(Known.where, self.held, Known(_within(self.known, names, limit), exact=exact))


def sized(p: Polyhedra, tests: list[isl.Set]) -> tuple[str, ...]:
    """The int parameters that `tests` leave free beyond LARGEST_SIZE, where no other one of them is.

    First those of which tests allow that size itself, then any of which they allow some beyond it: one that
    has to be odd, say.
    """
    ends = _ends(p, common(sizes_of(p).intersect(p.context), tests))
    ints = {s.name for s in p.scop.scalars if s.affine and s.type == "int"}
    names = [name for name in p.parameters if name in ints]
    free = [name for name in names if LARGEST_SIZE in map(abs, ends[name])]
    typed = (_between(p, name, *limits("int")) for name in names)
    known = common(p.context, (*tests, *typed, *(_up_to(p, name, LARGEST_SIZE) for name in free)))
    for name in names:
        inside = _up_to(p, name, LARGEST_SIZE)
        if name not in free and not known.is_subset(inside):
            free.append(name)
            known = known.intersect(inside)
    return tuple(name for name in names if name in free)


def _up_to(p: Polyhedra, name: str, limit: int) -> isl.Set:
    """The parameters of which that one is no larger than `limit`, and not further below 0."""
    return _between(p, name, -limit, limit)


def _between(p: Polyhedra, name: str, low: int, high: int) -> isl.Set:
    builder = AffineBuilder(p.context.get_space().set_from_params())
    inside = Binary("&&", Binary("<=", Name(name), Int(high)), Binary("<=", Int(low), Name(name)))
    return builder.condition(inside).params()


def _ends(p: Polyhedra, inside: isl.Set) -> Names:
    """What each parameter lies between."""
    line = isl.Map.from_domain(inside.from_params())
    found: Names = {}
    for name in p.parameters:
        position = inside.find_dim_by_name(D.param, isl_name(name))
        moved = line.move_dims(D.in_, 0, D.param, position, 1).domain()
        ends = (moved.dim_min_val(0), moved.dim_max_val(0))
        low, high = (int(str(e)) if e.is_int() else 0 for e in ends)
        found[name] = (low, high)
    return found


def _within(known: Names, limited: Iterable[str], limit: int) -> Names:
    inside = {n: (max(known[n][0], -limit), min(known[n][1], limit)) for n in limited}
    return {**known, **inside}


def _test(p: Polyhedra, names: tuple[str, ...], limit: int) -> Condition:
    holds = common(p.context, (_up_to(p, name, limit) for name in names))
    which = " or ".join(f"'{name}'" for name in names)
    reason = f"{which} is beyond {limit}: int does not hold what kernels compute of it"
    return Condition(holds, reason, p.scop.position)


def _buffer_fits(b: Buffer, known: Known) -> bool:
    found: Beyond = []
    for expr in _of_buffer(b):
        known.interval(expr, found)
    return not found


def _kernel_fits(kernel: Kernel, launch: Launch, around: Known) -> bool:
    found: Beyond = []
    inside = _launched(launch, kernel, around, found)
    if not found:
        _body(kernel.body, inside, found, _origins(kernel))
    return not found


def _of_buffer(b: Buffer) -> Iterator[Expr]:
    exprs = (*b.extents, *b.host_extents, *b.origin, *b.last, b.pitch)
    yield from (e for e in exprs if e is not None)
    yield from (Binary("-", at, first) for at, first in zip(b.last, b.origin, strict=False))


def _launches(
    body: tuple[HostStatement, ...], known: Known, found: Beyond, path: Path
) -> Iterator[tuple[Launch, Known, Path]]:
    """Each launch, what is known there, and the loops and tests around it."""
    for s in body:
        match s:
            case HostFor(index, lower, upper, step, inner):
                within = _counted(index, lower, upper, step, known, found)
                yield from _launches(inner, within, found, (*path, index, lower, upper, step))
            case HostIf(test, inner):
                known.interval(test, found)
                yield from _launches(inner, known.where(test), found, (*path, test))
            case Launch():
                yield s, known, path


def _launched(launch: Launch, kernel: Kernel, known: Known, found: Beyond) -> Known:
    """Inside of a kernel, of which a launch has any blocks."""
    for blocks in launch.grid:
        known.interval(blocks, found)
        known = known.where(Binary(">=", blocks, Int(1)))
    values = [
        (s.name, v, known.interval(v, found)) for s, v in zip(kernel.scalars, launch.scalars, strict=True)
    ]
    for axis, blocks, threads in zip("xyz", launch.grid, kernel.block, strict=True):
        count = known.interval(blocks, [])
        known = known.bind(f"thread_{axis}", (0, threads - 1))
        known = known.bind(f"block_{axis}", None if count is None else (0, max(count[1] - 1, 0)))
        known = known.where(Binary("<", Name(f"block_{axis}"), blocks))
    for name, value, ends in values:
        if value != Name(name):
            known = known.bind(name, ends).where(Binary("==", Name(name), value))
    return known


def _counted(index: str, lower: Expr, upper: Expr, step: int, known: Known, found: Beyond) -> Known:
    """Inside of a loop, which also counts one step beyond its last iteration."""
    low, high = known.interval(lower, found), known.interval(upper, found)
    known = known.where(Binary("<", lower, upper))
    if low is None or high is None:
        return known.bind(index, None)
    known = known.bind(index, (low[0], max(low[0], high[1] - 1)))
    known = known.where(Binary("<", Name(index), upper)).where(Binary("<=", lower, Name(index)))
    known.interval(Binary("+", Name(index), Int(step)), found)
    return known


Origins = Mapping[str, tuple[Expr, ...]]


def _origins(kernel: Kernel) -> Origins:
    return {a.name: a.origin for a in kernel.arrays if a.origin}


def _body(body: tuple[Statement, ...], known: Known, found: Beyond, origins: Origins) -> None:
    """Adds to `found` what does not fit, up to the statement where anything does not."""
    for s in body:
        if found:
            return
        if not isinstance(s, For):
            for expr in operands(s):
                _expression(expr, known, found, origins)
        match s:
            case Declare(name, _, value, mutable):
                ends = known.interval(value, []) if value is not None and not mutable else None
                known = known.bind(name, ends)
                if ends is not None and value is not None:
                    known = known.where(Binary("==", Name(name), value))
            case For(index, lower, upper, step, inner):
                _body(inner, _counted(index, lower, upper, step, known, found), found, origins)
            case While(_, inner):
                for name in (t.name for t in map(written, statements(inner)) if isinstance(t, Name)):
                    known = known.bind(name, None)
                _body(inner, known, found, origins)
            case If(test, then, otherwise):
                _body(then, known.where(test), found, origins)
                _body(otherwise, known, found, origins)


def _expression(expr: Expr, known: Known, found: Beyond, origins: Origins) -> None:
    known.interval(expr, found)
    for r in references(expr):
        for at, first in zip(r.subscripts, origins.get(r.array, ()), strict=False):
            known.interval(Binary("-", at, first), found)
