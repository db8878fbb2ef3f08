"""How often a warp waits for global loads: TIMING's rounds, counted in the code's own order.

Loads through the texture cache are waited for as well, those through the constant cache are not. Loads
issued before the first use of any of them share one round. Values that are used where they are loaded
(stored to shared memory, accumulated) are waited for together at the end of a run of statements: an
iteration of a rolled loop, or a barrier. So are those used in the iteration of an unrolled loop that loads
them: a compiler issues the loads of all its iterations first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias, TypeVar

from polygpu.model.expr import Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Statement, WaitCopies, While
from polygpu.model.kernel_walk import reads, statements
from polygpu.model.rewrite import names_in, references
from polygpu.perf.elements import Spaces
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Same

T = TypeVar("T")
Path: TypeAlias = tuple[int, ...]  # unrolled loops, outermost first


@dataclass(frozen=True, slots=True)
class _Asked:
    """The `names` that a statement reads, what it loads and waits for, and whether it does for an address."""

    names: frozenset[str]
    loads: tuple[Reference, ...]
    address: bool


@dataclass(slots=True)
class Rounds:
    """`loading` are the names whose loads are in flight, each with the unrolled loops around its load; `used`
    tells of loads used where they stand. `around` are the unrolled loops around the code, by number. `asked`
    is what is known of the statements of the kernel, by identity: loops ask of those inside several times.
    """

    spaces: Spaces
    loading: dict[str, Path] = field(default_factory=dict)
    used: bool = False
    around: Path = ()
    loops: int = 0
    asked: dict[Same, _Asked] = field(default_factory=dict)

    def statement(self, statement: Statement) -> int:
        """Waits before or in a statement, its bodies apart."""
        if isinstance(statement, WaitCopies):
            return 1
        waits, asked = 0, self._asked(statement)
        arriving = self.loading.keys() & asked.names
        if any(self._from_before(self.loading[name]) for name in arriving):
            waits += 1
            self._arrived()
        for name in arriving & self.loading.keys():
            del self.loading[name]
            self.used = True
        if asked.loads and not _is_asynchronous(statement):
            self._issue(statement)
        return waits + asked.address

    def end(self) -> int:
        """The run ends: what was used in it has been waited for."""
        waits = int(self.used)
        if self.used:
            self._arrived()
        return waits

    def entering(self, loop: For | While) -> int:
        """Waits before a loop, for what it uses and does not load itself: its first iteration waits alone."""
        inside = list(statements((loop,)))
        used = self.loading.keys() & frozenset().union(*(self._asked(s).names for s in inside))
        if not used - {self._target(s) for s in inside if self._asked(s).loads}:
            return 0
        self._arrived()
        return 1

    @contextmanager
    def unrolled(self) -> Iterator[None]:
        """An iteration of an unrolled loop."""
        outer = self.around
        self.loops += 1
        self.around = (*outer, self.loops)
        yield
        self.around = outer

    def sides(self, sides: Iterable[T]) -> Iterator[T]:
        """The sides of a branch: each starts with what is in flight before it, and what any leaves in flight
        is behind all of them.
        """
        loading, used = self.loading, self.used
        left: list[tuple[dict[str, Path], bool]] = []
        for side in sides:
            self.loading, self.used = dict(loading), used
            yield side
            left.append((self.loading, self.used))
        self.loading = {name: path for found, _ in left for name, path in found.items()}
        self.used = any(one for _, one in left)

    def _from_before(self, path: Path) -> bool:
        """Whether no unrolled loop is around both the code and a load with such a `path`."""
        return not self.around or self.around[0] not in path

    def after(self, statements: tuple[Statement, ...]) -> dict[str, Path]:
        """The names still loading after the statements, which may be what a loop starts with."""
        trial = Rounds(self.spaces, dict(self.loading), self.used, self.around, self.loops, self.asked)
        trial._run(statements)
        return trial.loading

    def _run(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.statement(statement)
            match statement:
                case For(body=body, unroll=True):
                    with self.unrolled():
                        self._run(body)
                case For(body=body) | While(body=body):
                    self._run(body)
                    self.end()
                case If(then=then, otherwise=otherwise):
                    for side in self.sides((then, otherwise)):
                        self._run(side)

    def _asked(self, statement: Statement) -> _Asked:
        key = Same(statement)
        if key not in self.asked:
            exprs = reads(statement)
            loads = tuple([r for e in exprs for r in references(e) if self._is_waited_for(r)])
            addresses = (inner for load in loads for s in load.subscripts for inner in references(s))
            address = any(map(self._is_waited_for, addresses))
            self.asked[key] = _Asked(names_in(*exprs), loads, address)
        return self.asked[key]

    def _is_waited_for(self, load: Reference) -> bool:
        return self.spaces.get(load.array) in ("global", "texture")

    def _issue(self, statement: Statement) -> None:
        target = self._target(statement)
        if target is None:
            self.used = True
        else:
            self.loading[target] = self.around

    def _target(self, statement: Statement) -> str | None:
        """What a load is for, where nothing waits for it yet."""
        match statement:
            case Declare(name=name, value=Reference()) | Assign(Name(name), Reference()):
                return name
            case Assign(Reference() as target, Reference()) | Move(target) if target.array not in self.spaces:
                return target.array
        return None

    def _arrived(self) -> None:
        self.loading.clear()
        self.used = False


def _is_asynchronous(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.asynchronous
