"""What collects while a kernel is printed: lines, symbols, points that count, accesses, block state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from polygpu.model.device import WARP
from polygpu.model.expr import SIZES, Expr, Reference
from polygpu.model.kernel import ArrayArgument, For, Kernel, SharedArray
from polygpu.model.rewrite import names_in, references
from polygpu.model.text import PLAIN
from polygpu.perf.cost import Coster
from polygpu.perf.hoist import Hoister
from polygpu.perf.names import Kind, Space, Symbol, spell
from polygpu.perf.rounds import Rounds


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """One load or store in the kernel's text; `number` counts those of its space.

    `words`: the array's elements are whole 32-bit words, so that check mode may look at words only.
    """

    space: Space
    write: bool
    stage: int
    number: int
    site: int
    array: str
    words: bool
    text: str


@dataclass(slots=True)
class Point:
    """A run of statements of one stage, and what a warp issues in it."""

    stage: int
    rounds: int = 0
    cost: Counter[str] = field(default_factory=Counter)


class KernelWriter:
    """The text of one kernel's body as it grows, and the tables that go with it."""

    def __init__(self, kernel: Kernel, doubles: bool) -> None:
        self.kernel = kernel
        self.threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        self.warps = -(-self.threads // WARP)
        self.lines: list[str] = []
        self.state: list[str] = []
        self.points: list[Point] = []
        self.accesses: list[AccessRecord] = []
        self.private_arrays = 0
        self.stage = 0
        self.hoister = Hoister(self._charge_start)
        self.coster = Coster(self.space, doubles, self.hoister)
        self.rounds = Rounds(self._lies_in("global", "texture"), self._lies_in("private"))
        self._stage_used = False
        self._depth = 0
        self._serial = 0
        self._open: int | None = None
        self._start: int | None = None
        self._numbers: Counter[Space] = Counter()
        self._names: Counter[str] = Counter()
        self._scopes: list[dict[str, Symbol]] = [_built_in() | _arguments(kernel) | _shared(kernel.shared)]
        for symbol in self._scopes[0].values():
            self._names[symbol.c] += 1

    def emit(self, line: str) -> None:
        self.lines.append("    " * self._depth + line if line else line)

    def indent(self, by: int) -> None:
        self._depth += by

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """`head {` ... `}` with a scope of its own."""
        self.emit(f"{head} {{".lstrip())
        self._depth += 1
        with self.scope():
            yield
        self._depth -= 1
        self.emit("}")

    @contextmanager
    def scope(self) -> Iterator[None]:
        self._scopes.append({})
        yield
        self._scopes.pop()

    def symbol(self, name: str) -> Symbol:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise KeyError(f"{name} is used in kernel {self.kernel.name} and declared nowhere")

    def symbols(self, names: frozenset[str]) -> list[tuple[str, Symbol]]:
        """The visible ones of `names`, sorted."""
        return [(n, self.symbol(n)) for n in sorted(names) if any(n in scope for scope in self._scopes)]

    def define(self, name: str, symbol: Symbol) -> Symbol:
        self._scopes[-1][name] = symbol
        return symbol

    def spelling(self, name: str, kept: bool = False) -> str:
        """A C name for a declaration, new where it is visible; new in the whole kernel when `kept`."""
        plain = spell(name)
        visible = any(symbol.c == plain for scope in self._scopes for symbol in scope.values())
        if not kept and not visible:
            return plain
        self._names[plain] += 1
        return plain if self._names[plain] == 1 and not visible else f"{plain}_pg{self._names[plain]}"

    def fresh(self) -> int:
        self._serial += 1
        return self._serial

    def uniform(self, expr: Expr) -> bool:
        """Whether `expr` is one value for the block, by its names alone."""
        names = names_in(expr)
        known = self.symbols(frozenset(names))  # a lane's local of the same stage is not declared yet
        if len(known) < len(names) or any(True for _ in references(expr)):
            return False
        return all(symbol.kind is Kind.UNIFORM for _, symbol in known)

    def space(self, array: str) -> Space:
        space = self.symbol(array).space
        assert space is not None, "it is an array"
        return space

    def _lies_in(self, *spaces: Space) -> Callable[[str], bool]:
        def lies(name: str) -> bool:
            seen = self.symbols(frozenset({name}))
            if not seen:  # a private array of statements that are looked at ahead
                return "private" in spaces
            return seen[0][1].space in spaces

        return lies

    def access(self, reference: Reference, write: bool) -> tuple[int, int]:
        """Registers an access; returns its number in the kernel and that in its space."""
        space = self.space(reference.array)
        number = self._numbers[space]
        self._numbers[space] += 1
        self.accesses.append(
            AccessRecord(
                space, write, self.stage, number, reference.site, reference.array,
                SIZES.get(self.symbol(reference.array).type, 1) % 4 == 0, PLAIN.text(reference),
            )
        )  # fmt: skip
        return len(self.accesses) - 1, number

    def charge(self, cost: Counter[str], rounds: int = 0) -> None:
        """Adds to the point that is open here; opens one where there is none."""
        if not rounds and not +cost:
            return
        if self._open is None:
            self._open = self._new_point()
            self.emit(f"POLYGPU_POINT({self._open});")
        self.points[self._open].cost.update(cost)
        self.points[self._open].rounds += rounds

    def charge_all(self, cost: Counter[str]) -> int:
        """Charges every warp of the block, outside the loop over warps; returns the number of the point."""
        if not +cost:
            return -1
        point = self._new_point()
        self.points[point].cost.update(cost)
        self.emit(f"POLYGPU_POINT_ALL({point});")
        return point

    @contextmanager
    def rolled(self, loop: For, point: int) -> Iterator[None]:
        """The body of a loop, which may be a rolled one whose iterations count at `point`."""

        def charge(cost: Counter[str]) -> None:
            self.points[point].cost.update(cost)

        with self.hoister.loop(loop, charge):
            yield

    def _charge_start(self, cost: Counter[str]) -> None:
        """Charges what every warp does at the start of the kernel."""
        if self._start is None:
            self.points.append(Point(0))
            self._start = len(self.points) - 1
            self.lines.insert(0, f"POLYGPU_POINT_ALL({self._start});")
        self.points[self._start].cost.update(cost)

    def branch(self, cost: Counter[str]) -> int:
        """Charges a branch and returns the number of its point."""
        self.charge(cost)
        assert self._open is not None, "a branch costs something"
        return self._open

    def close(self) -> None:
        """Control flow parts here: later costs belong to another point."""
        self._open = None

    def _new_point(self) -> int:
        self._stage_used = True
        self.points.append(Point(self.stage))
        return len(self.points) - 1

    def start_stage(self) -> None:
        self._stage_used = True
        self.emit(f"POLYGPU_STAGE({self.stage});")

    def next_stage(self) -> None:
        """A barrier, or control flow around one, ends the stage; empty ones are not numbered."""
        if self._stage_used:
            self.stage += 1
        self._stage_used = False

    @property
    def stages(self) -> int:
        return self.stage + 1


def _built_in() -> dict[str, Symbol]:
    threads = {f"thread_{d}": Symbol(f"thread_{d}", "int", Kind.LANES) for d in "xyz"}
    return threads | {f"block_{d}": Symbol(f"block_{d}", "int", Kind.UNIFORM) for d in "xyz"}


def _arguments(kernel: Kernel) -> dict[str, Symbol]:
    scalars = {s.name: Symbol(spell(s.name), s.type, Kind.UNIFORM) for s in kernel.scalars}
    return scalars | {a.name: _argument(a) for a in kernel.arrays}


def _argument(argument: ArrayArgument) -> Symbol:
    return Symbol(spell(argument.name), argument.type, Kind.GLOBAL, argument=argument)


def _shared(arrays: tuple[SharedArray, ...]) -> dict[str, Symbol]:
    """Shared arrays lie one behind the other, each aligned as it asks."""
    symbols = {}
    base = 0
    for number, array in enumerate(arrays):
        extents = (*array.extents[:-1], array.extents[-1] + array.padding) if array.extents else (1,)
        base += -base % max(array.alignment, 1)
        symbol = Symbol(spell(array.name), array.type, Kind.SHARED, extents, number, base)
        symbols[array.name] = symbol
        base += symbol.elements * SIZES.get(array.type, 4)
    return symbols
