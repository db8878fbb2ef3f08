"""Says what is charged where: the lockstep tree of a kernel.

What lies between two barriers is a stage, which each warp of the block runs by itself; control flow around a
barrier is the block's. Within a stage, statements between which control flow does not part are one point.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import groupby
from math import prod

from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import (
    BUILT_IN,
    Assign,
    Barrier,
    Comment,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    Move,
    Statement,
    While,
)
from polygpu.model.kernel_walk import has_barrier, loop_length, names_used
from polygpu.model.kernel_walk import statements as all_statements
from polygpu.model.rewrite import children, names_in, reads_memory, with_children
from polygpu.perf.cost import Cost, Coster
from polygpu.perf.elements import Space, element, spaces_of
from polygpu.perf.fragments import issued
from polygpu.perf.hoist import Hoister
from polygpu.perf.lockstep import (
    SCHEDULERS,
    TWELVE,
    Access,
    Branch,
    Charge,
    Choice,
    Do,
    Load,
    Lockstep,
    Loop,
    Node,
    Point,
    Repeat,
    Stage,
    Value,
)
from polygpu.perf.rounds import Rounds
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent, Same, parts

_RECENT: Recent[Lockstep] = Recent(64)  # of kernels
_ALIKE: Recent[Lockstep] = Recent(64)  # of kernels but for their names


def lockstep(kernel: Kernel, doubles: bool, folded: bool = False) -> Lockstep:
    """The tree of `kernel` on a chip that has `doubles`, or counts their arithmetic as that of floats, and
    where an operand in shared memory is `folded` into the instruction that uses it.
    """

    def named() -> Lockstep:
        key = parts(kernel, "name"), doubles, folded
        return replace(_ALIKE.get(key, lambda: _charged(kernel, doubles, folded)), kernel=kernel)

    return _RECENT.get((Same(kernel), doubles, folded), named)


def _charged(kernel: Kernel, doubles: bool, folded: bool) -> Lockstep:
    made = _Charges(kernel, doubles, folded)
    made.block(issued(kernel.body), frozenset())
    points = tuple(Point(p.stage, p.cost, p.rounds, p.overlapped) for p in made.points)
    accesses, choices = tuple(made.accesses), tuple(made.choices)
    return Lockstep(kernel, points, accesses, choices, made.start, made.stage + 1, tuple(made.nodes))


@dataclass(slots=True)
class _Point:
    stage: int
    cost: Cost = field(default_factory=Counter)
    rounds: int = 0
    overlapped: int = 0


class _Charges:
    """The tree as it grows; `nodes` are those of the innermost body."""

    def __init__(self, kernel: Kernel, doubles: bool, folded: bool) -> None:
        self.nodes: list[Node] = []
        self.points: list[_Point] = []
        self.accesses: list[Access] = []
        self.start: int | None = None
        self.stage = 0
        self.choices: list[Choice] = []
        self.spaces = spaces_of(kernel)
        self.hoister = Hoister(self._charge_start)
        self.coster = Coster(self.spaces, doubles, folded, self.hoister)
        self.rounds = Rounds(self.spaces)
        uniform = {s.name for s in kernel.scalars} | {n for n in BUILT_IN if n.startswith("block")}
        self._uniform: ChainMap[str, bool] = ChainMap(dict.fromkeys(uniform, True))
        self._stage_used = False
        self._open: int | None = None
        self._places: Counter[Space] = Counter()
        self._lengths: dict[str, int] = {}  # of unrolled loops
        self._fragments = any(isinstance(s, For) and s.fragments for s in all_statements(kernel.body))

    def uniform(self, expr: Expr) -> bool:
        """Whether `expr` is one value for the block, by its names alone."""
        return not reads_memory(expr) and all(self._uniform.get(name, False) for name in names_in(expr))

    def value(self, expr: Expr) -> Value:
        return _Loads(self).value(expr)

    def access(self, r: Reference, loads: _Loads, write: bool, width: int = 1) -> Access:
        """Numbers an access, behind those of its subscripts."""
        subscripts = [loads.value(s) for s in r.subscripts]
        space = self.spaces.get(r.array, "private")
        found = Access(
            r, tuple(s.expr for s in subscripts), tuple(load for s in subscripts for load in s.loads),
            all(s.uniform for s in subscripts), space, write, width,
            self.stage, len(self.accesses), self._places[space],
        )  # fmt: skip
        self.accesses.append(found)
        self._places[space] += 1
        return found

    # Points

    def charge(self, cost: Cost, rounds: int = 0) -> int:
        """Adds to the point that is open here, or to a new one; returns its number, -1 without any."""
        if rounds or +cost:
            if self._open is None:
                self._open = self._new_point(self.stage)
                self._stage_used = True
                self.nodes.append(Charge(self._open))
            self.points[self._open].cost.update(cost)
            self.points[self._open].rounds += rounds
        return -1 if self._open is None else self._open

    def close(self) -> None:
        """Control flow parts here: later costs belong to another point."""
        self._open = None

    def end_run(self) -> None:
        """The end of a run of statements waits for what was used where it was loaded."""
        self.charge(Counter(), self.rounds.end())
        self.close()

    def _new_point(self, stage: int) -> int:
        self.points.append(_Point(stage))
        return len(self.points) - 1

    def _charge_start(self, cost: Cost) -> None:
        """Charges what every warp does at the start of the kernel."""
        if self.start is None:
            self.start = self._new_point(0)
        self.points[self.start].cost.update(cost)

    def next_stage(self) -> None:
        """A barrier, or control flow around one, ends the stage; empty ones are not numbered."""
        self.stage += self._stage_used
        self._stage_used = False

    # Bodies

    @contextmanager
    def body(self) -> Iterator[list[Node]]:
        """The nodes of a body, which is a scope."""
        outer, self.nodes = self.nodes, []
        self._uniform = self._uniform.new_child()
        yield self.nodes
        self._uniform = self._uniform.parents
        self.nodes = outer

    @contextmanager
    def iterations(self, loop: For, point: int) -> Iterator[None]:
        """Of a rolled loop, charged at `point`, or of an unrolled one, whose index is a constant to costs."""
        if not loop.unroll:
            with self.hoister.loop(loop, self.points[point].cost.update):
                yield
            return
        before = self.coster.unrolled
        self.coster.unrolled = before | {loop.index}
        self._lengths[loop.index] = loop_length(loop) or 1
        with self.rounds.unrolled():
            yield
        self.coster.unrolled = before

    # The block

    def block(self, statements: Sequence[Statement], later: frozenset[str]) -> None:
        """Statements that the block runs as a whole; `later` are names that code behind them uses."""
        pieces = [(parted, list(run)) for parted, run in groupby(statements, has_barrier)]
        for i, (parted, run) in enumerate(pieces):
            if not parted:
                self._one_stage(run, later.union(*(names_used(r) for _, r in pieces[i + 1 :])))
                continue
            for s in run:
                self._around_barrier(s)

    def _around_barrier(self, s: Statement) -> None:
        if isinstance(s, Barrier):
            self.charge(Counter(barrier=1))
            self.close()
            self.nodes.append(Do(s))
        self.next_stage()
        match s:
            case For():
                self._block_loop(s)
                self.next_stage()
            case If():
                self._block_branch(s)

    def _block_loop(self, s: For) -> None:
        stage, lower, upper = self.stage, self.value(s.lower), self.value(s.upper)
        self.rounds.entering(s)  # no wait of its own: that for the first tile is longer
        with self.body() as body:
            self._uniform[s.index] = True
            point = self.charge(self.coster.iteration(s))
            self.close()
            self.rounds.loading |= self.rounds.after(s.body)
            with self.iterations(s, point):
                self.block(s.body, frozenset())
        self.nodes.append(Loop(s, stage, lower, upper, True, point, tuple(body)))

    def _block_branch(self, s: If) -> None:
        stage = self.stage
        point = self.charge(self.coster.test(s.test))
        self.close()
        test, sides = self.value(s.test), []
        for side in self.rounds.sides((s.then, s.otherwise)):
            with self.body() as body:
                self.block(side, frozenset())
            if side:
                self.next_stage()
            sides.append(tuple(body))
        self.nodes.append(Branch(s, stage, test, True, point, *sides))

    def _one_stage(self, run: Sequence[Statement], later: frozenset[str]) -> None:
        """What lies between barriers, values of the block first; those alone are no stage."""
        rest: list[Statement] = []
        cost: Cost = Counter()
        for s in run:
            match s:
                case Comment():
                    self.nodes.append(Do(s))
                case Declare(value=value, mutable=False) if value is not None and self.uniform(value):
                    self._declare(s, frozenset())
                    cost += self.coster.statement(s)
                case _:
                    rest.append(s)
        if not rest and not cost:
            return
        self._stage_used = True
        with self.body() as steps:
            self.charge(cost)
            self.statements(rest, later)
            self.end_run()
        self.nodes.append(Stage(self.stage, names_used(rest), tuple(steps)))

    # A warp

    def statements(self, statements: Sequence[Statement], kept: frozenset[str] = frozenset()) -> None:
        """Statements of one warp; declarations of `kept` names are for later stages too."""
        for s in statements:
            if isinstance(s, While):
                self._repeat(s)
                continue
            cost = self.coster.statement(s)
            self.charge(cost, self.rounds.statement(s))
            if self._open is not None:
                self.points[self._open].overlapped += cost.total() * self._overlapped(s)
            match s:
                case For(fragments=policy) if policy:
                    self.charge(Counter({f"tensor_{policy}": 1}))
                case For():
                    self._loop(s)
                case If():
                    self._branch(s)
                case Declare():
                    self._declare(s, kept)
                case DeclareArray(name):
                    self.nodes.append(Do(s, kept=name in kept))
                    self._uniform[name] = False
                case Assign(Reference() as target, value):
                    loads = _Loads(self)
                    self.nodes.append(Do(s, loads.value(value), target=self.access(target, loads, True)))
                case Assign(_, value):
                    self.nodes.append(Do(s, self.value(value)))
                case Move(target, source, width):
                    read = self.access(source, _Loads(self), False, width)
                    self.nodes.append(Do(s, None, read, self.access(target, _Loads(self), True, width)))
                case _:
                    self.nodes.append(Do(s))

    def _overlapped(self, s: Statement) -> int:
        """The twelfths of a statement's instructions that wait for none of the iterations of unrolled loops
        around it: those that have a result of their own, but for what tensor cores wait for.
        """
        if self._fragments:
            return 0
        match s:
            case Assign(Reference(subscripts=own)) | Move(Reference(subscripts=own)):
                names = names_in(*own)
            case Declare(value=value) if value is not None:
                names = names_in(value)
            case _:
                return 0
        apart = prod(self._lengths[i] for i in self.coster.unrolled & names)
        return TWELVE - TWELVE // min(apart, SCHEDULERS)

    def _declare(self, s: Declare, kept: frozenset[str]) -> None:
        value = None if s.value is None else self.value(s.value)
        uniform = value is not None and value.uniform and not s.mutable and s.name not in kept
        self.nodes.append(Do(s, value, uniform=uniform, kept=s.name in kept))
        self._uniform[s.name] = uniform

    def _loop(self, s: For) -> None:
        """A loop of the warp: plain where the lanes agree, else until no lane is left."""
        self.charge(Counter(), self.rounds.entering(s) + (0 if s.unroll else self.rounds.end()))
        self.close()
        agreed = s.uniform or (self.uniform(s.lower) and self.uniform(s.upper))
        self.rounds.loading |= self.rounds.after(s.body)
        lower = self.value(s.lower)
        with self.body() as body:
            self._uniform[s.index] = agreed
            upper = self.value(s.upper)
            cost = self.coster.iteration(s)
            point = self.charge(cost if agreed or cost else Counter(branch=1))
            with self.iterations(s, point):
                self.statements(s.body)
            if not s.unroll:
                self.end_run()
        self.nodes.append(Loop(s, self.stage, lower, upper, agreed, point, tuple(body)))
        self.close()

    def _repeat(self, s: While) -> None:
        """A loop that data end: each time its lanes wait for the test."""
        self.charge(Counter(), self.rounds.entering(s) + self.rounds.end())
        self.close()
        self.rounds.loading |= self.rounds.after(s.body)
        with self.body() as start:
            point = self.charge(self.coster.test(s.test), self.rounds.statement(s) + self.rounds.end())
            test = self.value(s.test)
        self.close()
        with self.body() as body:
            with self.hoister.loop(s, self.points[point].cost.update):
                self.statements(s.body)
            self.end_run()
        self.nodes.append(Repeat(s, self.stage, test, point, tuple(start), tuple(body)))
        self.close()

    def _branch(self, s: If) -> None:
        point = self.charge(self.coster.test(s.test))
        test, sides = self.value(s.test), []
        for side in self.rounds.sides((s.then, s.otherwise)):
            self.close()
            with self.body() as body:
                self.statements(side)
            sides.append(tuple(body))
        agreed = s.uniform or test.uniform
        self.nodes.append(Branch(s, self.stage, test, agreed, point, *sides))
        self.close()


class _Loads:
    """What expressions that are computed together load, in order.

    Elements in `loaded` need not be loaded again. Where it is `uncertain` whether any lane gets here, what
    subscripts load is known to nothing else.
    """

    def __init__(
        self, of: _Charges, loaded: Mapping[Reference, Name] | None = None, uncertain: bool = False
    ) -> None:
        self.of, self.loaded, self.uncertain = of, dict(loaded or {}), uncertain
        self.own: dict[Reference, Name] = {}
        self.loads: list[Load] = []

    def value(self, expr: Expr) -> Value:
        outer, self.loads = self.loads, []
        named = self.named(expr)
        loads, self.loads = tuple(self.loads), outer
        return Value(expr, named, loads, self.of.uniform(expr))

    def named(self, expr: Expr) -> Expr:
        """`expr` with names for what it loads."""
        if not reads_memory(expr):
            return expr
        match expr:
            case Reference():
                return self._load(expr)
            case Select(test, yes, no) if reads_memory(yes) or reads_memory(no):
                return Select(*self._choice(test, yes, no))
            case Binary("&&" as op, left, right) if reads_memory(right):
                taken, after, _ = self._choice(left, right, Int(0))
                return Binary(op, taken, after)
            case Binary("||" as op, left, right) if reads_memory(right):
                taken, _, after = self._choice(left, Int(1), right)
                return Binary(op, taken, after)
        parts = children(expr)
        return with_children(expr, tuple(map(self.named, parts))) if parts else expr

    def _load(self, r: Reference) -> Name:
        if element(r) in self.loaded:
            return self.loaded[element(r)]
        known = dict(self.own)
        access = self.of.access(r, self, write=False)
        self.loads.append(access)
        if access.space != "private":
            self.own = (known if self.uncertain else self.own) | {element(r): access.name}
        return access.name

    def _choice(self, test: Expr, yes: Expr, no: Expr) -> tuple[Name, Expr, Expr]:
        testing = _Loads(self.of, self.loaded, self.uncertain)
        tested = testing.value(test)
        loaded = self.loaded | testing.own
        then, otherwise = (_Loads(self.of, loaded, uncertain=True).value(side) for side in (yes, no))
        choice = Choice(len(self.of.choices), tested, then.loads, otherwise.loads)
        self.of.choices.append(choice)
        self.loads.append(choice)
        return choice.name, then.expr, otherwise.expr
