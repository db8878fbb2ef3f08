"""Every integer that generated code computes of sizes and indices fits into its type.

All other checks take these for integers without bounds. Intervals decide most of it; isl the rest, by the
tests around an expression. Data, and products of variables, are what the source computes too.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import field
from functools import partial, reduce

import islpy as isl

from polygpu.analysis.intervals import Interval, interval
from polygpu.model.expr import Binary, Call, Expr, Int, Name, Select, limits, type_of
from polygpu.model.kernel import Buffer, Region
from polygpu.model.rewrite import children, walk
from polygpu.model.scop import LARGEST_SIZE, Scop
from polygpu.printing.printer import print_expr
from polygpu.support.dataclass import dataclass
from polygpu.support.gist import function_gist
from polygpu.support.recent import Recent, Same
from polygpu.verify.affine import UNIVERSE, NotAffineError, Scope, constant, parameter
from polygpu.verify.computed import Computed
from polygpu.verify.counterexample import parameters, sample
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError
from polygpu.verify.verdict import RANGES, Failure

_RECENT = 100
_MANY = 100  # pieces of a value, each with each of a domain


def check_ranges(session: Session) -> None:
    context = session.p.context.intersect(_sizes(session.p.scop, session.region))
    check = _Check(session, isl.Set(UNIVERSE).intersect_params(context))
    with session.step(RANGES, ""):
        check.buffers()
    for computed in (session.computed, *(t.computed for t in session.traces)):
        with session.step(RANGES, computed.kernel):
            check.run(computed)


def _sizes(scop: Scop, region: Region) -> isl.Set:
    """The parameters with which the device function runs to its end: tests in the host file leave out values
    that are not int's, and the function itself those of int that it says it is `sized` for.
    """
    found = isl.Set(UNIVERSE)
    for s in scop.scalars:
        if s.affine:
            tested = not s.fits or s.name in region.sized
            low, high = limits(s.type)
            if tested:
                low, high = max(low, -LARGEST_SIZE), min(high, LARGEST_SIZE)
            value = parameter(s.name)
            found = found.intersect(value.ge_set(constant(low))).intersect(value.le_set(constant(high)))
    return found.params()


@dataclass
class _Check:
    """`known` has the interval of each value that a name was bound to, by identity; `fitting` are parts of
    expressions that fit where they stand, of which the accesses of a piece of code have the same ones.
    `within` are the `sizes` in domains.
    """

    session: Session
    sizes: isl.Set
    known: dict[int, Interval] = field(default_factory=dict)
    fitting: set[Hashable] = field(default_factory=set)
    within: Recent[isl.Set] = field(default_factory=lambda: Recent(_RECENT))

    def buffers(self) -> None:
        names = self.session.p.parameters
        scope = Scope(self.sizes, {name: parameter(name) for name in names}, self.sizes)
        for b in self.session.region.buffers:
            for expr in _of_buffer(b):
                self._expression("", scope, expr)

    def run(self, computed: Computed) -> None:
        """In the code's order: a name may get its value from names before it."""
        bound = iter((*computed.bound, None))
        following = next(bound)
        for number, (scope, expr) in enumerate(computed.steps):
            while following is not None and following.position <= number:
                ends = [interval(e, self._names(following.scope, e), []) for e in following.ends]
                if (low := ends[0]) is not None and (high := ends[-1]) is not None:
                    last = high[1] - 1 if len(ends) > 1 else high[1]
                    self.known[id(following.value)] = low[0], max(low[0], last)
                following = next(bound)
            self._expression(computed.kernel, scope, expr)

    def _names(self, scope: Scope, expr: Expr) -> dict[str, Interval]:
        found: dict[str, Interval] = {}
        for name in {e.name: None for e in walk(expr) if isinstance(e, Name)}:
            value = scope.values.get(name)
            if value is not None:
                if id(value) not in self.known:
                    self.known[id(value)] = self._span(value)
                found[name] = self.known[id(value)]
        return found

    def _span(self, value: isl.PwAff) -> Interval:
        """All that `value` may be at these sizes."""
        inside = value.intersect_domain(self.sizes)
        low, high = inside.min_val(), inside.max_val()
        if not (low.is_int() and high.is_int()):
            raise UnanalysableError("a value without bounds")
        return int(str(low)), int(str(high))

    def _expression(self, kernel: str, scope: Scope, expr: Expr) -> None:
        self.session.counts[RANGES] += 1
        beyond: list[tuple[Expr, Interval]] = []
        interval(expr, self._names(scope, expr), beyond)
        for inside, part in _computed_in(scope, expr, {id(part) for part, _ in beyond}):
            key = inside.key(part)
            if key in self.fitting:
                continue
            wrong = self._beyond(inside, part)
            at = self.within.get(Same(inside.domain), partial(inside.domain.intersect, self.sizes))
            if not wrong.is_disjoint(at):
                wrong = wrong.intersect(inside.domain).intersect(self.sizes)
                where = parameters(sample(isl.Map.from_domain(wrong)), self.session.p.parameters)
                message = f"{type_of(part)} does not hold {print_expr(part)}"
                self.session.failures.append(Failure(RANGES, kernel, message, parameters=where))
                return
            self.fitting.add(key)

    def _beyond(self, scope: Scope, part: Expr) -> isl.Set:
        """Where its type does not hold a part's value: term by term of minima and maxima, if it has some."""
        low, high = limits(type_of(part))
        try:
            if _has_terms(part):
                tests = Binary("<", part, Int(low)), Binary(">", part, Int(high))
                return reduce(isl.Set.union, map(scope.condition, tests))
            value = scope.value(part)
        except NotAffineError as error:
            raise UnanalysableError(f"whether {type_of(part)} holds {print_expr(part)}") from error
        if value.n_piece() * scope.domain.n_basic_set() > _MANY:
            # what cases have in common with the domain makes it long to compare them
            value = function_gist(value, scope.domain)
        return value.lt_set(constant(low)).union(value.gt_set(constant(high)))


def _has_terms(part: Expr) -> bool:
    return any(
        isinstance(e, Select) or (isinstance(e, Call) and e.function in ("min", "max")) for e in walk(part)
    )


def _computed_in(scope: Scope, expr: Expr, parts: Collection[int]) -> Iterator[tuple[Scope, Expr]]:
    """Those `parts` of `expr`, by identity, with the scope in which C computes each: of a selection one
    value, and a second operand of && and || only where the first does not decide.
    """
    if not parts:
        return
    if id(expr) in parts:
        yield scope, expr
    match expr:
        case Select(test, yes, no):
            guarded = [(scope, test), (_where(scope, test, True), yes), (_where(scope, test, False), no)]
        case Binary("&&" | "||" as op, left, right):
            guarded = [(scope, left), (_where(scope, left, op == "&&"), right)]
        case _:
            guarded = [(scope, part) for part in children(expr)]
    for inside, part in guarded:
        yield from _computed_in(inside, part, parts)


def _where(scope: Scope, test: Expr, holds: bool) -> Scope:
    """`scope` where `test` holds, or where it does not; all of it where data decide."""
    try:
        condition = scope.condition(test)
    except NotAffineError:
        return scope
    return scope.where(condition if holds else condition.complement())


def _of_buffer(b: Buffer) -> Iterator[Expr]:
    exprs = (*b.extents, *b.host_extents, *b.origin, *b.last, b.pitch)
    yield from (e for e in exprs if e is not None)
    yield from (Binary("-", at, first) for at, first in zip(b.last, b.origin, strict=False))
