"""Claims of the Kernel IR to carry out actions of the source, matched with these."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Protocol

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.model.expr import Binary, Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, If, Origin, Statement, While
from polygpu.model.rewrite import BODY
from polygpu.model.scop import Action, Branch, Let, Number, Repeat, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, TooLongError, bounded, coalesced, isl_name
from polygpu.verify.affine import UNIVERSE, NotAffineError, Scope, constant, parameter
from polygpu.verify.events import Do, Leaf, Matched, Place
from polygpu.verify.forms import Forms, written_out
from polygpu.verify.match import Matcher, MismatchError, instances_in, instances_of, integer
from polygpu.verify.repeats import check_cells
from polygpu.verify.scoped import clear, needed
from polygpu.verify.source import Source
from polygpu.verify.state import State

_PIECES = 4
_SIMPLER = 500_000  # steps of isl


class Walking(Protocol):
    """The walk of a kernel, as claims know it: see `walk.KernelWalk`."""

    @property
    def p(self) -> Polyhedra: ...
    @property
    def source(self) -> Source: ...
    @property
    def symbols(self) -> dict[str, Expr]: ...
    @property
    def actions(self) -> list[Do]: ...
    @property
    def claimed(self) -> dict[Hashable, tuple[Scope, Scope]]: ...
    @property
    def forms(self) -> Forms: ...
    def place(self, expr: Expr, state: State) -> Place | None: ...
    def emit(self, state: State, target: Place | None, reads: tuple[Place, ...], **more: object) -> None: ...
    def new_private(self, s: DeclareArray | Declare, name: str, state: State) -> State: ...


@dataclass(frozen=True)
class Claim:
    """Matching of one instance with the source."""

    walk: Walking
    origin: Origin
    state: State

    def arguments(self, state: State) -> tuple[isl.PwAff, ...]:
        return tuple(needed(state.scope, a) for a in self.origin.arguments)

    def claimed(self, state: State) -> isl.Set:
        """Where the kernel says that it carries out an instance."""
        inside = self.origin.inside
        return isl.Set(UNIVERSE) if inside is None else clear(state.scope, inside)

    def there(self, state: State) -> Scope:
        """The source's names, where the instance is one of the source's: for many actions the same ones."""
        key = self.origin.statement, self.origin.arguments, self.origin.inside, id(state.scope)
        if key not in self.walk.claimed:
            self.walk.claimed[key] = state.scope, self._there(state)
        return self.walk.claimed[key][1]

    def _there(self, state: State) -> Scope:
        statement = self.walk.p.statement(self.origin.statement)
        values: dict[str, isl.PwAff | None] = {n: parameter(n) for n in self.walk.p.parameters}
        arguments = self.arguments(state)
        values |= dict(zip(statement.iterators, arguments, strict=True))
        claimed = state.scope.domain.intersect(self.claimed(state))
        return Scope(instances_in(arguments, statement.domain, claimed), values)

    def matcher(self, state: State) -> Matcher:
        statement = self.walk.p.statement(self.origin.statement)
        there, names = self.there(state), statement.locals
        arrays = frozenset(a.name for a in self.walk.p.arrays)
        place = partial(self.walk.place, state=state)
        return Matcher(state.scope, there, self.walk.symbols, names, arrays, place)

    def action(self, s: Statement, action: Action, number: Number, state: State, after: State) -> None:
        """`after` is the state in which the target is looked up: a declaration's own name is new."""
        match action, s:
            case Store(), Assign():
                keeps = any(x.implied for x in self.walk.source.at(self.origin.statement, number))
                self._assigned(action, s.target, s.value, number, state, after, keeps)
            case Let(assign=True), Assign(Name()):
                self._assigned(action, s.target, s.value, number, state, after, len(number) > 1)
            case Let(assign=False), Declare(mutable=True, value=value) if value is not None:
                self._assigned(action, Name(s.name, s.type), value, number, state, after, False)
            case Branch(), If():
                self._branch(s, action, number, state)
            case Repeat(), While():
                self._repeat(s, action, number, state)
            case _:
                raise self._wrong("the kernel does something else there")

    def _simpler(self, scope: Scope, arguments: tuple[isl.PwAff, ...]) -> Scope:
        """Tests in many pieces often say no more than that the instance is one of its domain."""
        if scope.domain.n_basic_set() <= _PIECES:
            return scope
        statement = self.walk.p.statement(self.origin.statement)
        try:
            with bounded(_SIMPLER):
                inside = coalesced(instances_in(arguments, statement.domain, scope.frame))
                return replace(scope, domain=inside) if inside.is_equal(scope.domain) else scope
        except TooLongError:
            return scope

    def _wrong(self, reason: str) -> MismatchError:
        return MismatchError(f"{self.origin.statement}: {reason}")

    def _assigned(
        self,
        action: Store | Let,
        kernel: Reference | Name,
        value: Expr,
        number: Number,
        state: State,
        after: State,
        keeps: bool,
    ) -> None:
        """`kernel = value`; what is there before may stay if it `keeps` that."""
        matcher = self.matcher(state)
        try:
            matcher.match(action.value, written_out(value, self.walk.forms))
        except MismatchError as error:
            raise self._wrong(str(error)) from None
        place = self.walk.place(kernel, after)
        if place is None:
            raise self._wrong("a value is assigned to no memory")
        source = action.target if isinstance(action, Store) else action.name
        matcher.check_type(action.target.type if isinstance(action, Store) else action.type, place)
        if isinstance(source, Reference):
            matcher.subscripts(source, kernel, place)
        if keeps:
            matcher.leaves.append(Leaf(place, source, matcher.element(source), implied=True))
        self._emit(matcher, after, number, place, source)

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
        happens = self.walk.source.happens[self.origin.statement][number]
        if self.walk.p.statement(self.origin.statement).domain.is_subset(happens):  # no test says anything
            return state
        scope = state.scope
        inside = instances_in(self.arguments(state), happens, scope.domain)
        if not self._is_all(state):  # the others are no instances of the source
            inside = inside.union(scope.domain.subtract(self.there(state).domain))
        return replace(state, scope=scope.where(inside))

    def _is_all(self, state: State) -> bool:
        """Whether whatever is executed is an instance of the source: asked of what is claimed and of the
        source's iterators, which have fewer pieces than where both hold.
        """
        domain = self.walk.p.statement(self.origin.statement).domain
        instances = instances_in(self.arguments(state), domain, isl.Set(UNIVERSE))
        executed = state.scope.domain
        return bool(executed.is_subset(self.claimed(state)) and executed.is_subset(instances))

    def _branch(self, s: If, action: Branch, number: Number, state: State) -> None:
        test = s.test
        matcher = self._tested(state, test, action)
        while not s.otherwise and (behind := self._behind(state, test)) is not None:
            # tests around the statement may have been joined with its own; one that never holds is the same
            # with others before it
            found = self._tested(*behind, action)
            if isinstance(matcher, Matcher) and not (
                isinstance(found, Matcher) and self._is_for_all_of(state, behind[0])
            ):
                break
            (state, test), matcher = behind, found
        if isinstance(matcher, MismatchError):
            raise self._wrong(str(matcher))
        self._emit(matcher, state.at(0), number, None, None)
        passing = self._passing(state, test)
        for side, ours, theirs in ((0, action.then, s.then), (1, action.otherwise, s.otherwise)):
            inside = state if side else passing
            self._in_order(ours, theirs, (*number, side), inside.at(1 + side))

    def _tested(self, state: State, test: Expr, action: Branch) -> Matcher | MismatchError:
        """What of the kernel's `test` is the source's, or how it differs."""
        matcher = self.matcher(state)
        try:
            matcher.match(action.test, written_out(test, self.walk.forms))
        except MismatchError as error:
            return error
        return matcher

    def _behind(self, state: State, test: Expr) -> tuple[State, Expr] | None:
        """The state behind the first of two tests, where that is affine, and the second."""
        if not (isinstance(test, Binary) and test.op == "&&"):
            return None
        try:
            holds = state.scope.condition(test.left)
        except NotAffineError:
            return None
        return replace(state, scope=state.scope.where(holds)), test.right

    def _is_for_all_of(self, state: State, inside: State) -> bool:
        """Whether the executions `inside` are for all instances that those of `state` are for."""
        known = {isl_name(n) for n in self.walk.p.parameters}

        def instances(executed: isl.Set) -> isl.Set:
            found = instances_of(self.arguments(state)).intersect_domain(executed).range()
            for k in reversed(range(found.dim(D.param))):
                if found.get_dim_name(D.param, k) not in known:
                    found = found.project_out(D.param, k, 1)
            return found

        return bool(instances(state.scope.domain).is_subset(instances(inside.scope.domain)))

    def _passing(self, state: State, test: Expr) -> State:
        """Where a test that is the source's for its instances may hold: for what is none, it says of itself
        whether it does, be it that tests around the statement have been joined with it.
        """
        if self._is_all(state):
            return state
        others = _narrowed(state.scope, test).domain
        return replace(state, scope=state.scope.where(self.there(state).domain.union(others)))

    def _repeat(self, s: While, action: Repeat, number: Number, state: State) -> None:
        """A loop as if it were run once, or not at all: see `verify.repeats`."""
        before = len(self.walk.actions)
        matcher = self.matcher(state)
        try:
            matcher.match(action.test, written_out(s.test, self.walk.forms))
        except MismatchError as error:
            raise self._wrong(str(error)) from None
        self._emit(matcher, state.at(0), number, None, None)
        self._in_order(action.body, s.body, (*number, BODY), state.at(1))
        check_cells(self.walk.p.statement(self.origin.statement), self.walk.actions[before:])

    def _in_order(
        self, ours: tuple[Action, ...], theirs: tuple[Statement, ...], prefix: Number, state: State
    ) -> None:
        if len(ours) != len(theirs):
            raise self._wrong("a branch or a loop has other actions")
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            here = self._where(state.at(k), (*prefix, k))
            later = here
            if isinstance(b, Declare):
                later = self.walk.new_private(b, b.name, here)
                state = replace(state, scope=later.scope, arrays=later.arrays)
            self.action(b, a, (*prefix, k), here, later)


def _narrowed(scope: Scope, test: Expr) -> Scope:
    """Where a test holds, as far as it is affine."""
    if isinstance(test, Binary) and test.op == "&&":
        return _narrowed(_narrowed(scope, test.left), test.right)
    value = integer(scope, test)
    return scope if value is None else scope.where(value.ne_set(constant(0)))
