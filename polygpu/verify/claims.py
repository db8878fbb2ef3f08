"""Claims of the Kernel IR to carry out actions of the source, matched with these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING

import islpy as isl

from polygpu.model.expr import Binary, Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, If, Origin, Statement
from polygpu.model.scop import Action, Branch, Let, Store
from polygpu.support.isl_idioms import coalesced
from polygpu.verify.affine import UNIVERSE, NotAffineError, Scope, parameter
from polygpu.verify.events import Leaf, Matched, Place
from polygpu.verify.liveness import Number
from polygpu.verify.match import Matcher, MismatchError, instances_in
from polygpu.verify.scoped import clear, needed
from polygpu.verify.slots import numbered
from polygpu.verify.state import State

if TYPE_CHECKING:
    from polygpu.verify.walk import KernelWalk

_PIECES = 4
_ATTEMPTS = 100  # at telling what a kernel leaves out of a branch


@dataclass(frozen=True)
class Claim:
    """Matching of one instance with the source."""

    walk: KernelWalk
    origin: Origin
    state: State

    def arguments(self, state: State) -> tuple[isl.PwAff, ...]:
        return tuple(needed(state.scope, a) for a in self.origin.arguments)

    def claimed(self, state: State) -> isl.Set:
        """Where the kernel says that it carries out an instance."""
        inside = self.origin.inside
        return isl.Set(UNIVERSE) if inside is None else clear(state.scope, inside)

    def there(self, state: State) -> Scope:
        """The source's names, where the instance is one of the source's."""
        statement = self.walk.p.statement(self.origin.statement)
        values: dict[str, isl.PwAff | None] = {n: parameter(n) for n in self.walk.p.parameters}
        arguments = self.arguments(state)
        values |= dict(zip(statement.iterators, arguments, strict=True))
        claimed = state.scope.domain.intersect(self.claimed(state))
        return Scope(instances_in(arguments, statement.domain, claimed), values)

    def matcher(self, state: State) -> Matcher:
        statement = self.walk.p.statement(self.origin.statement)
        names = frozenset(a.name for _, a, _ in numbered(statement.body) if isinstance(a, Let))
        return Matcher(
            state.scope, self.there(state), self.walk.symbols, names, lambda e: self.walk.place(e, state)
        )

    def action(
        self,
        s: Statement,
        action: Action,
        number: Number,
        state: State,
        after: State,
        conditional: bool,
    ) -> None:
        """`after` is the state in which the target is looked up: a declaration's own name is new."""
        match action, s:
            case Store(target, value), Assign(place, given):
                matcher = self.matcher(state)
                self._values(matcher, value, given)
                self._target(matcher, target, place, after, number, conditional)
            case Let(name, _, value, True), Assign(Name() as place, given):
                matcher = self.matcher(state)
                self._values(matcher, value, given)
                self._target(matcher, name, place, after, number, conditional)
            case Let(name, ctype, value, False), Declare(given_name, _, given, True) if given is not None:
                matcher = self.matcher(state)
                self._values(matcher, value, given)
                self._target(matcher, name, Name(given_name, ctype), after, number, False)
            case Branch(), If():
                self._branch(s, action, number, state)
            case _:
                raise self._wrong("the kernel does something else there")

    def _simpler(self, scope: Scope, arguments: tuple[isl.PwAff, ...]) -> Scope:
        """Tests in many pieces often say no more than that the instance is one of its domain."""
        if scope.domain.n_basic_set() <= _PIECES:
            return scope
        statement = self.walk.p.statement(self.origin.statement)
        inside = coalesced(instances_in(arguments, statement.domain, scope.frame))
        return replace(scope, domain=inside) if inside.is_equal(scope.domain) else scope

    def _wrong(self, reason: str) -> MismatchError:
        return MismatchError(f"{self.origin.statement}: {reason}")

    def _values(self, matcher: Matcher, source: Expr, kernel: Expr) -> None:
        try:
            matcher.match(source, kernel)
        except MismatchError as error:
            raise self._wrong(str(error)) from None

    def _target(
        self,
        matcher: Matcher,
        source: Reference | str,
        kernel: Reference | Name,
        state: State,
        number: Number,
        conditional: bool,
    ) -> None:
        place = self.walk.place(kernel, state)
        if place is None:
            raise self._wrong("a value is assigned to no memory")
        matcher.check_type(self._type(source), place)
        if isinstance(source, Reference):
            matcher.subscripts(source, kernel, place)
        if conditional and self.walk.source.may_keep(self.origin.statement, number):
            matcher.leaves.append(Leaf(place, source, matcher.element(source), implied=True))
        self._emit(matcher, state, number, place, source)

    def _type(self, source: Reference | str) -> str:
        if isinstance(source, Reference):
            return source.type
        body = self.walk.p.statement(self.origin.statement).body
        return next(a.type for _, a, _ in numbered(body) if isinstance(a, Let) and a.name == source)

    def _emit(
        self,
        matcher: Matcher,
        state: State,
        number: Number,
        place: Place | None,
        source: Reference | str | None,
    ) -> None:
        leaves = tuple(matcher.leaves)
        arguments = self.arguments(state)
        element = None if source is None else matcher.element(source)
        inside = matcher.there.domain
        claimed = self.claimed(state)
        matched = Matched(self.origin.statement, number, arguments, leaves, inside, claimed, element)
        state = replace(state, scope=self._simpler(state.scope, arguments))
        self.walk.emit(state, place, tuple(x.place for x in leaves), matched=matched)

    def _where(self, state: State, number: Number) -> State:
        """The state where the source may carry out an action within a branch, as far as tests are affine."""
        happens = self.walk.source.happens(self.origin.statement)[number]
        if self.walk.p.statement(self.origin.statement).domain.is_subset(happens):  # no test says anything
            return state
        scope = state.scope
        inside = instances_in(self.arguments(state), happens, scope.domain)
        beyond = scope.domain.subtract(self.there(state).domain)  # no instances of the source
        return replace(state, scope=scope.where(inside if beyond.is_empty() else inside.union(beyond)))

    def _branch(self, s: If, action: Branch, number: Number, state: State) -> None:
        test = s.test
        while True:
            matcher = self.matcher(state)
            try:
                matcher.match(action.test, test)
                break
            except MismatchError as error:
                # tests around the statement may have been joined with its own
                if s.otherwise or not (isinstance(test, Binary) and test.op == "&&"):
                    raise self._wrong(str(error)) from None
                try:
                    holds = state.scope.condition(test.left)
                except NotAffineError:
                    raise self._wrong(str(error)) from None
                state = replace(state, scope=state.scope.where(holds))
                test = test.right
        self._emit(matcher, state.at(0), number, None, None)
        for side, ours, theirs in ((0, action.then, s.then), (1, action.otherwise, s.otherwise)):
            self._side(ours, theirs, (*number, side), state.at(1 + side))

    def _side(
        self, ours: tuple[Action, ...], theirs: tuple[Statement, ...], prefix: Number, state: State
    ) -> None:
        """A branch of the source and of the kernel, which may leave out what has no effect."""
        if len(ours) == len(theirs):
            self._in_order(list(enumerate(ours)), theirs, prefix, state)
            return
        problem = self._wrong("a branch has other actions")
        needless = [k for k, a in enumerate(ours) if not self._has_effect(a, (*prefix, k))]
        for kept in _ways(ours, theirs, needless):
            attempt = self.walk.mark()
            try:
                self._in_order([(k, ours[k]) for k in kept], theirs, prefix, state)
                return
            except MismatchError as error:
                self.walk.undo(attempt)
                problem = error
        raise problem

    def _has_effect(self, action: Action, number: Number) -> bool:
        """Whether what the action computes may be read, by others that have an effect or in the end."""
        source, statement = self.walk.source, self.origin.statement
        match action:
            case Store():
                write = source.writing(statement, number)
                return write is None or not self.walk.demand.observed(write).is_empty()
            case Let():
                return number in source.locals(statement).live
            case Branch(_, then, otherwise):
                sides = ((0, then), (1, otherwise))
                return any(
                    self._has_effect(a, (*number, n, k)) for n, body in sides for k, a in enumerate(body)
                )

    def _in_order(
        self,
        ours: list[tuple[int, Action]],
        theirs: tuple[Statement, ...],
        prefix: Number,
        state: State,
    ) -> None:
        for position, ((k, a), b) in enumerate(zip(ours, theirs, strict=True)):
            here = self._where(state.at(position), (*prefix, k))
            later = here
            if isinstance(b, Declare):
                later = self.walk.new_private(b, b.name, here)
                state = replace(state, scope=later.scope, arrays=later.arrays)
            self.action(b, a, (*prefix, k), here, later, True)


def _ways(
    ours: tuple[Action, ...], theirs: tuple[Statement, ...], needless: list[int]
) -> Iterator[tuple[int, ...]]:
    """Numbers of the actions that the kernel's statements may be, in order, without some `needless` ones."""
    if len(theirs) > len(ours):
        return
    for left in islice(combinations(needless, len(ours) - len(theirs)), _ATTEMPTS):
        chosen = tuple(k for k in range(len(ours)) if k not in left)
        if all(_alike(ours[k], s) for k, s in zip(chosen, theirs, strict=True)):
            yield chosen


def _alike(action: Action, s: Statement) -> bool:
    match action:
        case Branch():
            return isinstance(s, If)
        case Let(_, _, _, False):
            return isinstance(s, Declare)
    return isinstance(s, Assign)
