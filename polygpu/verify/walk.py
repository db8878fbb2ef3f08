"""From the code of a kernel to its events: a symbolic walk of one launch."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field, replace

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, array_tuple
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import (
    Assign,
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    Move,
    Origin,
    Statement,
    WaitCopies,
    While,
)
from polygpu.model.kernel_walk import operands
from polygpu.model.rewrite import references, walk
from polygpu.model.updates import combination
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import in_time
from polygpu.verify.affine import Scope, constant, variable
from polygpu.verify.claims import Claim
from polygpu.verify.computed import Computed
from polygpu.verify.events import Do, Launched, Place, Point, Sync
from polygpu.verify.forms import Forms, copied, forms_of
from polygpu.verify.fragments import check_fragment
from polygpu.verify.groups import closed, settled
from polygpu.verify.match import MismatchError
from polygpu.verify.scoped import UnclearError, clear, counted, needed
from polygpu.verify.source import Source
from polygpu.verify.state import State


@dataclass
class KernelWalk:
    """The walk of one launch of `kernel`. `symbols` are the host's expressions for its scalars."""

    kernel: Kernel
    source: Source
    launch: Launched
    symbols: dict[str, Expr]
    actions: list[Do] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    private: dict[str, DeclareArray | Declare] = field(default_factory=dict)
    computed: Computed = field(default_factory=Computed)
    together: dict[str, list[Point]] = field(default_factory=dict)  # fragments, by their policies
    count: int = 0
    forms: Forms = field(default_factory=dict)
    claimed: dict[Hashable, tuple[Scope, Scope]] = field(default_factory=dict)

    @property
    def p(self) -> Polyhedra:
        return self.source.p

    def run(self, scope: Scope) -> None:
        self.forms = forms_of(self.kernel)
        self.sequence(self.kernel.body, State(scope, (), (), {}, constant(0)))

    def sequence(self, body: tuple[Statement, ...], state: State) -> State:
        """The state after `body`; declarations made in it are forgotten by the caller."""
        path = state.path
        for position, s in enumerate(body):
            after = self.statement(s, replace(state, path=path), position)
            state = replace(after, path=path, loops=state.loops)
        return state

    def statement(self, s: Statement, state: State, position: int) -> State:
        in_time()
        here = state.at(position)
        if not isinstance(s, For):
            self.computed.compute(state.scope, operands(s))
        match s:
            case Declare():
                return self.declare(s, here)
            case DeclareArray():
                return self.declare_array(s, state, position)
            case Assign():
                self.assign(s, here)
            case Move():
                self.move(s, state, position)
            case For():
                return self.loop(s, state, position)
            case If() | While():
                return self.branch(s, here)
            case Barrier():
                self.syncs.append(Sync(self.point(here)))
            case WaitCopies(pending):
                self.syncs.append(Sync(self.point(here), pending, here.commits))
            case CommitCopies() if here.commits is not None:
                return replace(here, commits=here.commits.add(constant(1)))
        return here

    def point(self, state: State) -> Point:
        return Point(self.launch, state.path, state.loops, state.scope.domain)

    def new_private(self, s: DeclareArray | Declare, name: str, state: State) -> State:
        unique = f"{name}_{len(self.private)}"
        self.private[unique] = s
        return replace(state, scope=state.scope.bind(name, None), arrays={**state.arrays, name: unique})

    def declare_array(self, s: DeclareArray, state: State, position: int) -> State:
        """In a loop, its elements have no values again in each iteration: garbage is stored to all."""
        here = state.at(position)
        after = self.new_private(s, s.name, here)
        if state.loops:
            names = tuple(self.fresh() for _ in s.extents)
            inside = replace(after, path=state.path)
            for k, (name, extent) in enumerate(zip(names, s.extents, strict=True)):
                index = variable(name)
                within = constant(0).le_set(index).intersect(index.lt_set(constant(extent)))
                inside = inside.at(position if k == 0 else 0, name)
                inside = replace(inside, loops=(*inside.loops, name), scope=inside.scope.within(within))
            place = Place(after.arrays[s.name], "private", tuple(map(variable, names)), s.name, s.type)
            self.emit(inside, place, ())
        return after

    def declare(self, s: Declare, state: State) -> State:
        value = state.scope.affine(s.value) if s.value is not None and not s.mutable else None
        if value is not None:
            # the value may be right only here: a later use sees the same conditions or stricter ones
            assert s.value is not None
            self.computed.bind(value, state.scope, s.value)
            return replace(state, scope=state.scope.bind(s.name, value))
        after = self.new_private(s, s.name, state)
        if s.origin is not None:
            self.instance(s, s.origin, state, after)
        elif s.value is not None:
            self.plain(Name(s.name, s.type), s.value, after, reading=state)
        elif state.loops:
            self.emit(after, Place(after.arrays[s.name], "private", (), s.name), ())
        return after

    def assign(self, s: Assign, state: State) -> None:
        if s.origin is not None:
            self.instance(s, s.origin, state, state)
        else:
            self.plain(s.target, s.value, state, reading=state)

    def plain(self, target: Reference | Name, value: Expr, state: State, reading: State) -> None:
        """A copy, a constant, or two values combined."""
        place = self.place(target, state)
        if place is None:
            raise UnclearError(f"'{getattr(target, 'name', '')}' is assigned and is no local")
        form = self.forms.get(target.array if isinstance(target, Reference) else target.name)
        operator, operands = _combined(value if form is None else copied(value, form) or value)
        sources = tuple(s for s in (self.place(o, reading) for o in operands) if s is not None)
        if len(sources) != len(operands):
            if any(references(value)) or any(isinstance(e, Name) for e in walk(value)):
                raise UnclearError(f"a value that no statement of the source computes, for '{place.text}'")
            self.emit(state, place, (), constant=value)
            return
        for source in sources:
            self._same_type(source, place)
        self.emit(state, place, sources, combines=operator)

    def _same_type(self, source: Place, target: Place) -> None:
        """A copy must not convert what it copies."""
        if source.type != target.type:
            types = f"'{source.text}' of type {source.type} to '{target.text}' of type {target.type}"
            raise MismatchError(f"{self.kernel.name}: copies {types}")

    def emit(self, state: State, target: Place | None, reads: tuple[Place, ...], **more: object) -> None:
        self.actions.append(
            Do(len(self.actions), self.point(state), target, reads, commits=state.commits, **more)  # type: ignore[arg-type]
        )

    def move(self, s: Move, state: State, position: int) -> None:
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

    def loop(self, s: For, state: State, position: int) -> State:
        name = self.fresh()
        scope = counted(state.scope, s.index, name, s.lower, s.upper, s.step)
        self.computed.loop(state.scope, scope, s.index, (s.lower, s.upper), s.step)
        inside = replace(
            state.at(position, name), scope=scope, loops=(*state.loops, name), arrays=_without(state, s.index)
        )
        each = closed(s.body, scope)
        if each != 0 and state.commits is not None:
            passed = self._passed(state, s, variable(name), each)
            inside = replace(inside, commits=passed)
        first = len(self.actions)
        self.sequence(s.body, inside)
        if s.fragments:
            self.fragment(s, state.at(position), first)
        after = state.at(position)
        if each == 0 or state.commits is None or (each is None and settled(s.body)):
            return after
        low, high = needed(state.scope, s.lower), needed(state.scope, s.upper)
        last = low.max(high.add(constant(s.step - 1)))
        return replace(after, commits=self._passed(state, s, last, each))

    def fragment(self, s: For, state: State, first: int) -> None:
        """What the actions from number `first` on do, the warp does together."""
        private = {name: self.private[unique].type for name, unique in state.arrays.items()}
        check_fragment(self.kernel, s, state.scope, private)
        self.together[s.fragments] = [*self.together.get(s.fragments, ()), self.point(state)]
        self.actions[first:] = [replace(a, fragment=s.fragments) for a in self.actions[first:]]

    def _passed(self, state: State, s: For, index: isl.PwAff, each: int | None) -> isl.PwAff | None:
        """Commits before the iteration at `index`."""
        if state.commits is None or (each is None and not settled(s.body)):
            return None
        if each is None:
            # nothing is in flight between two iterations: each counts on from the same number, which is too
            # small after the first, so that no copy of another iteration counts as finished too early
            return state.commits
        turns = index.sub(needed(state.scope, s.lower)).div(constant(s.step)).floor()
        return state.commits.add(turns.mul(constant(each)))

    def branch(self, s: If | While, state: State) -> State:
        if s.origin is not None:
            self.instance(s, s.origin, state, state)
            return state
        if isinstance(s, While):
            raise UnclearError("a loop that data end, and no statement of the source")
        holds = clear(state.scope, s.test)
        yes = replace(state.at(0), scope=state.scope.where(holds))
        first = self.sequence(s.then, yes)
        second = state
        if s.otherwise:
            no = replace(state.at(1), scope=state.scope.where(holds.complement()))
            second = self.sequence(s.otherwise, no)
        return replace(state, commits=_either(first, second, holds))

    def place(self, expr: Expr, state: State) -> Place | None:
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
                return Place(array_tuple(expr), "global", known, array, ctype, index)  # type: ignore[arg-type]
        return None

    def _private(self, name: str, index: tuple[isl.PwAff, ...] | None, state: State) -> Place:
        unique = state.arrays[name]
        return Place(unique, "private", index, name, self.private[unique].type)

    def _element(self, r: Reference) -> str:
        """The type of an element of a global array, or of a member of it."""
        declared = next((a for a in self.kernel.arrays if a.name == r.array), None)
        if declared is None:
            raise UnclearError(f"'{r.array}' is no array of the kernel")
        members = dict(declared.structure.fields) if declared.structure is not None else {}
        return members.get(r.field, "") if r.field else declared.type

    def instance(self, s: Assign | Declare | If | While, origin: Origin, state: State, after: State) -> None:
        """The events of a source action, once its claim is found to be true."""
        instance = Claim(self, origin, state)
        statement = next((x for x in self.p.statements if x.name == origin.statement), None)
        if statement is None:
            raise UnclearError(f"'{origin.statement}' is no statement of the source")
        action = statement.actions.get((origin.action,))
        if action is None or len(origin.arguments) != len(statement.iterators):
            raise UnclearError(f"'{origin.statement}' has no such action")
        instance.action(s, action, (origin.action,), state, after)


def _combined(value: Expr) -> tuple[str, tuple[Expr, ...]]:
    """The operator and what it combines, the old value first, or "" and the whole value."""
    found = combination(value)
    return (found[0], found[1:]) if found is not None else ("", (value,))


def _without(state: State, name: str) -> Mapping[str, str]:
    return {k: v for k, v in state.arrays.items() if k != name}


def _either(first: State, second: State, holds: isl.Set) -> isl.PwAff | None:
    one, two = first.commits, second.commits
    if one is None or two is None:
        return None
    if one is two or one.is_equal(two):
        return one
    return one.intersect_domain(holds).union_add(two.intersect_domain(holds.complement()))
