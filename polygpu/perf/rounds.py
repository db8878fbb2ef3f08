"""How often a warp waits for global loads: TIMING's rounds, counted in the code's own order.

Loads through the texture cache are waited for as well, those through the constant cache are not. Loads
issued before the first use of any of them share one round. Values that are used where they are loaded
(stored to shared memory, accumulated) are waited for together at the end of a run of statements: an
iteration of a rolled loop, or a barrier. So are those used in the iteration of an unrolled loop that loads
them: a compiler issues the loads of all its iterations first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from polygpu.model.expr import Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Statement, WaitCopies
from polygpu.model.kernel_walk import reads
from polygpu.model.rewrite import names_in, references
from polygpu.perf.elements import Spaces

Path: TypeAlias = tuple[int, ...]  # unrolled loops, outermost first


@dataclass(slots=True)
class Rounds:
    """`loading` are the names whose loads are in flight, each with the unrolled loops around its load; `used`
    tells of loads used where they stand. `around` are the unrolled loops around the code, by number.
    """

    spaces: Spaces
    loading: dict[str, Path] = field(default_factory=dict)
    used: bool = False
    around: Path = ()
    loops: int = 0

    def statement(self, statement: Statement) -> int:
        """Waits before or in a statement, its bodies apart."""
        if isinstance(statement, WaitCopies):
            return 1
        waits = 0
        arriving = self.loading.keys() & names_in(*reads(statement))
        if any(self._from_before(self.loading[name]) for name in arriving):
            waits += 1
            self._arrived()
        for name in arriving & self.loading.keys():
            del self.loading[name]
            self.used = True
        loads = [r for expr in reads(statement) for r in references(expr) if self._is_waited_for(r)]
        addresses = [inner for load in loads for s in load.subscripts for inner in references(s)]
        waits += any(self._is_waited_for(inner) for inner in addresses)
        if loads and not _is_asynchronous(statement):
            self._issue(statement)
        return waits

    def end(self) -> int:
        """The run ends: what was used in it has been waited for."""
        waits = int(self.used)
        if self.used:
            self._arrived()
        return waits

    @contextmanager
    def unrolled(self) -> Iterator[None]:
        """An iteration of an unrolled loop."""
        outer = self.around
        self.loops += 1
        self.around = (*outer, self.loops)
        yield
        self.around = outer

    def _from_before(self, path: Path) -> bool:
        """Whether no unrolled loop is around both the code and a load with such a `path`."""
        return not self.around or self.around[0] not in path

    def after(self, statements: tuple[Statement, ...]) -> dict[str, Path]:
        """The names still loading after the statements, which may be what a loop starts with."""
        trial = Rounds(self.spaces, dict(self.loading), self.used, self.around, self.loops)
        trial._run(statements)
        return trial.loading

    def _run(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.statement(statement)
            match statement:
                case For(body=body, unroll=True):
                    with self.unrolled():
                        self._run(body)
                case For(body=body):
                    self._run(body)
                    self.end()
                case If(then=then, otherwise=otherwise):
                    self._run((*then, *otherwise))

    def _is_waited_for(self, load: Reference) -> bool:
        return self.spaces.get(load.array) in ("global", "texture")

    def _issue(self, statement: Statement) -> None:
        match statement:
            case Declare(name=name, value=Reference()) | Assign(Name(name), Reference()):
                self.loading[name] = self.around
            case Assign(Reference() as target, Reference()) | Move(target) if target.array not in self.spaces:
                self.loading[target.array] = self.around
            case _:
                self.used = True

    def _arrived(self) -> None:
        self.loading.clear()
        self.used = False


def _is_asynchronous(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.asynchronous
