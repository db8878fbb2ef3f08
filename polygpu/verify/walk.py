"""From the Kernel IR of a region to its events: a symbolic walk of the host program and of each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, array_tuple
from polygpu.analysis.rewrite import references, substitute, walk
from polygpu.model.expr import Binary, Expr, Name, Reference, type_of
from polygpu.model.kernel import (
    Assign,
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    HostFor,
    HostIf,
    HostStatement,
    If,
    Kernel,
    Launch,
    Move,
    Origin,
    Region,
    Statement,
    WaitCopies,
)
from polygpu.model.scop import Action, Branch, Let, Store
from polygpu.support.isl_idioms import coalesced
from polygpu.verify.affine import UNIVERSE, NotAffineError, Scope, constant, parameter, variable
from polygpu.verify.events import BLOCKS, THREADS, Do, Launched, Leaf, Matched, Path, Place, Point, Sync, box
from polygpu.verify.groups import closed, settled
from polygpu.verify.match import Matcher, MismatchError, instances_in
from polygpu.verify.source import Number, numbered

_PIECES = 4


class UnclearError(Exception):
    """The walk met what it cannot describe; the message says what."""


@dataclass(frozen=True)
class Trace:
    """Everything a launch does. `scope` is the host's at the launch, with the kernel's scalars bound."""

    launch: Launched
    kernel: Kernel
    statement: Launch
    host: Scope
    scope: Scope
    actions: tuple[Do, ...]
    syncs: tuple[Sync, ...]
    private: Mapping[str, DeclareArray | Declare]


def trace(region: Region, p: Polyhedra, context: isl.Set, deadline: float = inf) -> list[Trace]:
    """The events of `region`, in host order. Raises UnclearError, also after `deadline`, a monotonic()."""
    values = {s.name: parameter(s.name) if s.name in p.parameters else None for s in region.scalars}
    known: dict[str, Expr] = {s.name: Name(s.name, s.type) for s in region.scalars}
    host = _Host(region, p, deadline)
    everywhere = isl.Set(UNIVERSE).intersect_params(context)
    host.body(region.body, Scope(everywhere, values, everywhere), known, (), ())
    return host.found


@dataclass
class _Host:
    region: Region
    p: Polyhedra
    deadline: float
    found: list[Trace] = field(default_factory=list)
    count: int = 0

    def body(
        self,
        body: tuple[HostStatement, ...],
        scope: Scope,
        known: dict[str, Expr],
        path: Path,
        loops: tuple[str, ...],
    ) -> None:
        for position, s in enumerate(body):
            match s:
                case HostFor(index, lower, upper, step, inner):
                    name = f"h{self.count}__"
                    self.count += 1
                    inside = counted(scope, index, name, lower, upper, step)
                    names = {**known, index: Name(index)}
                    self.body(inner, inside, names, (*path, (position, name)), (*loops, name))
                case HostIf(test, inner):
                    inside = scope.where(clear(scope, test))
                    self.body(inner, inside, known, (*path, (position, "")), loops)
                case Launch() if not scope.domain.is_empty():
                    self.launch(s, scope, known, (*path, (position, "")), loops)

    def launch(
        self, s: Launch, scope: Scope, known: dict[str, Expr], path: Path, loops: tuple[str, ...]
    ) -> None:
        kernel = next(k for k in self.region.kernels if k.name == s.kernel)
        values: dict[str, isl.PwAff | None] = {}
        cases: list[str] = []
        inside = scope
        for argument, given in zip(kernel.scalars, s.scalars, strict=True):
            values[argument.name] = value = scope.affine(given)
            if value is not None and value.n_piece() > 1:
                cases.append(f"s{len(cases)}__")
                values[argument.name] = variable(cases[-1])
                inside = inside.within(variable(cases[-1]).eq_set(value))
        launched = Launched(len(self.found), kernel.name, path, loops, tuple(cases))
        for name, count in zip(BLOCKS, s.grid, strict=True):
            index = variable(name)
            inside = inside.within(constant(0).le_set(index).intersect(index.lt_set(needed(scope, count))))
        inside = inside.within(box(kernel.block))
        for names, letter in ((BLOCKS, "block"), (THREADS, "thread")):
            values |= {f"{letter}_{axis}": variable(n) for axis, n in zip("xyz", names, strict=True)}
        symbols = {
            argument.name: substitute(given, known)
            for argument, given in zip(kernel.scalars, s.scalars, strict=True)
            if argument.type == type_of(given)
        }
        # names that an origin mentions although the kernel takes no such argument
        for name, value in scope.values.items():
            values.setdefault(name, value)
        inner = replace(inside, values=values)
        walked = KernelWalk(kernel, self.p, launched, symbols, self.deadline)
        walked.run(inner)
        self.found.append(
            Trace(
                launched,
                kernel,
                s,
                scope,
                inner,
                tuple(walked.actions),
                tuple(walked.syncs),
                walked.private,
            )
        )


def clear(scope: Scope, test: Expr) -> isl.Set:
    try:
        return scope.condition(test)
    except NotAffineError as error:
        raise UnclearError(f"a test depends on data: {error}") from None


def needed(scope: Scope, expr: Expr) -> isl.PwAff:
    try:
        return scope.value(expr)
    except NotAffineError as error:
        raise UnclearError(f"not an affine function of sizes and indices: {error}") from None


def counted(scope: Scope, index: str, name: str, lower: Expr, upper: Expr, step: int) -> Scope:
    """Inside of `for (index = lower; index < upper; index += step)`."""
    low, high, here = needed(scope, lower), needed(scope, upper), variable(name)
    condition = here.ge_set(low).intersect(here.lt_set(high))
    if step != 1:
        condition = condition.intersect(here.sub(low).mod_val(isl.Val(step)).eq_set(constant(0)))
    return scope.within(condition).bind(index, here)


@dataclass(frozen=True)
class _State:
    """Where the walk is. `arrays` says which private array a name means here."""

    scope: Scope
    path: Path
    loops: tuple[str, ...]
    arrays: Mapping[str, str]
    commits: isl.PwAff | None

    def at(self, position: int, variable_: str = "") -> _State:
        return replace(self, path=(*self.path, (position, variable_)))


@dataclass
class KernelWalk:
    """The walk of one launch of `kernel`. `symbols` are the host's expressions for its scalars."""

    kernel: Kernel
    p: Polyhedra
    launch: Launched
    symbols: dict[str, Expr]
    deadline: float = inf
    actions: list[Do] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    private: dict[str, DeclareArray | Declare] = field(default_factory=dict)
    count: int = 0

    def run(self, scope: Scope) -> None:
        self.sequence(self.kernel.body, _State(scope, (), (), {}, constant(0)))

    def sequence(self, body: tuple[Statement, ...], state: _State) -> _State:
        """The state after `body`; declarations made in it are forgotten by the caller."""
        path = state.path
        for position, s in enumerate(body):
            after = self.statement(s, replace(state, path=path), position)
            state = replace(after, path=path, loops=state.loops)
        return state

    def statement(self, s: Statement, state: _State, position: int) -> _State:
        if monotonic() > self.deadline:
            raise UnclearError("budget")
        here = state.at(position)
        match s:
            case Declare():
                return self.declare(s, here)
            case DeclareArray(name, _, _):
                if state.loops:
                    raise UnclearError(f"the private array '{name}' is declared in a loop")
                return self.new_private(s, name, here)
            case Assign():
                self.assign(s, here)
            case Move():
                self.move(s, state, position)
            case For():
                return self.loop(s, state, position)
            case If():
                return self.branch(s, here)
            case Barrier():
                self.syncs.append(Sync(self.point(here)))
            case WaitCopies(pending):
                self.syncs.append(Sync(self.point(here), pending, here.commits))
            case CommitCopies() if here.commits is not None:
                return replace(here, commits=here.commits.add(constant(1)))
        return here

    def point(self, state: _State) -> Point:
        return Point(self.launch, state.path, state.loops, state.scope.domain)

    def new_private(self, s: DeclareArray | Declare, name: str, state: _State) -> _State:
        unique = f"{name}_{len(self.private)}"
        self.private[unique] = s
        return replace(state, scope=state.scope.bind(name, None), arrays={**state.arrays, name: unique})

    def declare(self, s: Declare, state: _State) -> _State:
        value = state.scope.affine(s.value) if s.value is not None and not s.mutable else None
        if value is not None:
            # the value may be right only here: a later use sees the same conditions or stricter ones
            return replace(state, scope=state.scope.bind(s.name, value))
        after = self.new_private(s, s.name, state)
        if s.origin is not None:
            self.instance(s, s.origin, state, after)
        elif s.value is not None:
            self.plain(Name(s.name, s.type), s.value, after, reading=state)
        elif state.loops:
            self.emit(after, Place(after.arrays[s.name], "private", (), s.name), ())
        return after

    def assign(self, s: Assign, state: _State) -> None:
        if s.origin is not None:
            self.instance(s, s.origin, state, state)
        else:
            self.plain(s.target, s.value, state, reading=state)

    def plain(self, target: Reference | Name, value: Expr, state: _State, reading: _State) -> None:
        """A copy, or a constant."""
        place = self.place(target, state)
        if place is None:
            raise UnclearError(f"'{getattr(target, 'name', '')}' is assigned and is no local")
        source = self.place(value, reading)
        if source is None and (any(references(value)) or any(isinstance(e, Name) for e in walk(value))):
            raise UnclearError(f"a value that no statement of the source computes, for '{place.text}'")
        if source is not None:
            self._same_type(source, place)
        self.emit(state, place, () if source is None else (source,))

    def _same_type(self, source: Place, target: Place) -> None:
        """A copy must not convert what it copies."""
        if source.type != target.type:
            types = f"'{source.text}' of type {source.type} to '{target.text}' of type {target.type}"
            raise MismatchError(f"{self.kernel.name}: copies {types}")

    def emit(self, state: _State, target: Place | None, reads: tuple[Place, ...], **more: object) -> None:
        self.actions.append(
            Do(len(self.actions), self.point(state), target, reads, commits=state.commits, **more)  # type: ignore[arg-type]
        )

    def move(self, s: Move, state: _State, position: int) -> None:
        lane = self.fresh()
        here = replace(state.at(position, lane), loops=(*state.loops, lane))
        index = variable(lane)
        within = constant(0).le_set(index).intersect(index.lt_set(constant(s.width)))
        here = replace(here, scope=here.scope.within(within))

        def part(r: Reference) -> Place:
            place = self.place(r, state)
            assert place is not None
            if place.index is None:
                raise UnclearError(f"a wide move of '{r.array}' at a place that depends on data")
            return replace(place, index=(*place.index[:-1], place.index[-1].add(index)))

        target, source = part(s.target), part(s.source)
        self._same_type(source, target)
        self.emit(here, target, (source,), asynchronous=s.asynchronous, width=s.width)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}__"

    def loop(self, s: For, state: _State, position: int) -> _State:
        name = self.fresh()
        scope = counted(state.scope, s.index, name, s.lower, s.upper, s.step)
        inside = replace(
            state.at(position, name), scope=scope, loops=(*state.loops, name), arrays=_without(state, s.index)
        )
        each = closed(s.body, scope)
        if each != 0 and state.commits is not None:
            passed = self._passed(state, s, variable(name), each)
            inside = replace(inside, commits=passed)
        self.sequence(s.body, inside)
        after = state.at(position)
        if each == 0 or state.commits is None or (each is None and settled(s.body)):
            return after
        low, high = needed(state.scope, s.lower), needed(state.scope, s.upper)
        last = low.max(high.add(constant(s.step - 1)))
        return replace(after, commits=self._passed(state, s, last, each))

    def _passed(self, state: _State, s: For, index: isl.PwAff, each: int | None) -> isl.PwAff | None:
        """Commits before the iteration at `index`."""
        if state.commits is None or (each is None and not settled(s.body)):
            return None
        if each is None:
            # nothing is in flight between two iterations: each counts on from the same number, which is too
            # small after the first, so that no copy of another iteration counts as finished too early
            return state.commits
        turns = index.sub(needed(state.scope, s.lower)).div(constant(s.step)).floor()
        return state.commits.add(turns.mul(constant(each)))

    def branch(self, s: If, state: _State) -> _State:
        if s.origin is not None:
            self.instance(s, s.origin, state, state)
            return state
        holds = clear(state.scope, s.test)
        yes = replace(state.at(0), scope=state.scope.where(holds))
        first = self.sequence(s.then, yes)
        second = state
        if s.otherwise:
            no = replace(state.at(1), scope=state.scope.where(holds.complement()))
            second = self.sequence(s.otherwise, no)
        return replace(state, commits=_either(first, second, holds))

    def place(self, expr: Expr, state: _State) -> Place | None:
        """The memory that `expr` is, if it is a reference or a local in memory."""
        match expr:
            case Name(name, _) if name in state.arrays:
                return self._private(name, (), state)
            case Reference(array, subscripts, _, _, _):
                index = tuple(state.scope.affine(s) for s in subscripts)
                known = None if any(i is None for i in index) else index
                if array in state.arrays:
                    return self._private(array, known, state)  # type: ignore[arg-type]
                shared = next((s for s in self.kernel.shared if s.name == array), None)
                if shared is not None:
                    return Place(array, "shared", known, array, shared.type)  # type: ignore[arg-type]
                ctype = self._element(expr)
                return Place(array_tuple(expr), "global", known, array, ctype)  # type: ignore[arg-type]
        return None

    def _private(self, name: str, index: tuple[isl.PwAff, ...] | None, state: _State) -> Place:
        unique = state.arrays[name]
        return Place(unique, "private", index, name, self.private[unique].type)

    def _element(self, r: Reference) -> str:
        """The type of an element of a global array, or of a member of it."""
        declared = next((a for a in self.kernel.arrays if a.name == r.array), None)
        if declared is None:
            raise UnclearError(f"'{r.array}' is no array of the kernel")
        members = dict(declared.structure.fields) if declared.structure is not None else {}
        return members.get(r.field, "") if r.field else declared.type

    def instance(self, s: Assign | Declare | If, origin: Origin, state: _State, after: _State) -> None:
        """The events of a source action, once its claim is found to be true."""
        instance = _Instance(self, origin, state)
        statement = next((x for x in self.p.statements if x.name == origin.statement), None)
        if statement is None:
            raise UnclearError(f"'{origin.statement}' is no statement of the source")
        body = {number: action for number, action, _ in numbered(statement.body)}
        action = body.get((origin.action,))
        if action is None or len(origin.arguments) != len(statement.iterators):
            raise UnclearError(f"'{origin.statement}' has no such action")
        instance.action(s, action, (origin.action,), state, after, False)


def _without(state: _State, name: str) -> Mapping[str, str]:
    return {k: v for k, v in state.arrays.items() if k != name}


def _either(first: _State, second: _State, holds: isl.Set) -> isl.PwAff | None:
    one, two = first.commits, second.commits
    if one is None or two is None:
        return None
    if one is two or one.is_equal(two):
        return one
    return one.intersect_domain(holds).union_add(two.intersect_domain(holds.complement()))


@dataclass(frozen=True)
class _Instance:
    """Matching of one instance with the source."""

    walk: KernelWalk
    origin: Origin
    state: _State

    def arguments(self, state: _State) -> tuple[isl.PwAff, ...]:
        return tuple(needed(state.scope, a) for a in self.origin.arguments)

    def claimed(self, state: _State) -> isl.Set:
        """Where the kernel says that it carries out an instance."""
        inside = self.origin.inside
        return isl.Set(UNIVERSE) if inside is None else clear(state.scope, inside)

    def there(self, state: _State) -> Scope:
        """The source's names, where the instance is one of the source's."""
        statement = self.walk.p.statement(self.origin.statement)
        values: dict[str, isl.PwAff | None] = {n: parameter(n) for n in self.walk.p.parameters}
        arguments = self.arguments(state)
        values |= dict(zip(statement.iterators, arguments, strict=True))
        claimed = state.scope.domain.intersect(self.claimed(state))
        return Scope(instances_in(arguments, statement.domain, claimed), values)

    def matcher(self, state: _State) -> Matcher:
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
        state: _State,
        after: _State,
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
        state: _State,
        number: Number,
        conditional: bool,
    ) -> None:
        place = self.walk.place(kernel, state)
        if place is None:
            raise self._wrong("a value is assigned to no memory")
        matcher.check_type(self._type(source), place)
        if isinstance(source, Reference):
            matcher.subscripts(source, kernel, place)
        if conditional:
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
        state: _State,
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

    def _branch(self, s: If, action: Branch, number: Number, state: _State) -> None:
        test = s.test
        while True:
            matcher = self.matcher(state)
            try:
                matcher.match(action.test, test)
                break
            except MismatchError as error:
                # tests around the statement may have been joined with its own
                if not (isinstance(test, Binary) and test.op == "&&"):
                    raise self._wrong(str(error)) from None
                try:
                    holds = state.scope.condition(test.left)
                except NotAffineError:
                    raise self._wrong(str(error)) from None
                state = replace(state, scope=state.scope.where(holds))
                test = test.right
        self._emit(matcher, state.at(0), number, None, None)
        for side, ours, theirs in ((0, action.then, s.then), (1, action.otherwise, s.otherwise)):
            if len(ours) != len(theirs):
                raise self._wrong("a branch has other actions")
            inside = state.at(1 + side)
            for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                here = inside.at(k)
                later = here
                if isinstance(b, Declare):
                    later = self.walk.new_private(b, b.name, here)
                    inside = replace(inside, scope=later.scope, arrays=later.arrays)
                self.action(b, a, (*number, side, k), here, later, True)
