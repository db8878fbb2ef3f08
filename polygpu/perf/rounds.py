"""How often a warp waits for global loads: TIMING's rounds, counted in the code's own order.

Loads through the texture cache are waited for as well, those through the constant cache are not. Loads
issued before the first use of any of them share one round. Values that are used where they are loaded
(stored to shared memory, accumulated) are waited for together at the end of a run of statements: an
iteration of a rolled loop, or a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polygpu.model.expr import Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Statement, WaitCopies
from polygpu.model.kernel_walk import reads
from polygpu.model.rewrite import names_in, references
from polygpu.perf.elements import Spaces


@dataclass(slots=True)
class Rounds:
    """`loading` are the names whose loads are in flight; `used` tells of loads used where they stand."""

    spaces: Spaces
    loading: set[str] = field(default_factory=set)
    used: bool = False

    def statement(self, statement: Statement) -> int:
        """Waits before or in a statement, its bodies apart."""
        if isinstance(statement, WaitCopies):
            return 1
        waits = 0
        if self.loading & names_in(*reads(statement)):
            waits += 1
            self._arrived()
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

    def after(self, statements: tuple[Statement, ...]) -> set[str]:
        """The names still loading after the statements, which may be what a loop starts with."""
        trial = Rounds(self.spaces, set(self.loading), self.used)
        trial._run(statements)
        return trial.loading

    def _run(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.statement(statement)
            match statement:
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
                self.loading.add(name)
            case Assign(Reference() as target, Reference()) | Move(target) if target.array not in self.spaces:
                self.loading.add(target.array)
            case _:
                self.used = True

    def _arrived(self) -> None:
        self.loading.clear()
        self.used = False


def _is_asynchronous(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.asynchronous
