"""How often a warp waits for global loads: TIMING's rounds, counted in the code's own order.

Loads through the texture cache are waited for as well, those through the constant cache are not. Loads
issued before the first use of any of them share one round. Values that are used where they are loaded
(stored to shared memory, accumulated) are waited for together at the end of a run of statements: an
iteration of a rolled loop, or a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Statement, WaitCopies
from polygpu.model.kernel_walk import operands
from polygpu.model.rewrite import names_in, references


@dataclass(slots=True)
class Rounds:
    """`loading` are the names whose loads are in flight; `used` tells of loads used where they stand."""

    is_global: Callable[[str], bool]
    is_private: Callable[[str], bool]
    loading: set[str] = field(default_factory=set)
    used: bool = False

    def statement(self, statement: Statement) -> int:
        """Waits before or in a statement, its bodies apart."""
        if isinstance(statement, WaitCopies):
            return 1
        waits = 0
        read = {name for expr in _read(statement) for name in names_in(expr)}
        if self.loading & read:
            waits += 1
            self._arrived()
        loads = [r for expr in _read(statement) for r in references(expr) if self.is_global(r.array)]
        addresses = [inner for load in loads for s in load.subscripts for inner in references(s)]
        waits += any(self.is_global(inner.array) for inner in addresses)
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
        trial = Rounds(self.is_global, self.is_private, set(self.loading), self.used)
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

    def _issue(self, statement: Statement) -> None:
        match statement:
            case Declare(name=name, value=Reference()) | Assign(Name(name), Reference()):
                self.loading.add(name)
            case Assign(Reference() as target, Reference()) | Move(target) if self.is_private(target.array):
                self.loading.add(target.array)
            case _:
                self.used = True

    def _arrived(self) -> None:
        self.loading.clear()
        self.used = False


def _read(statement: Statement) -> list[Expr]:
    """What a statement reads: its operands, of a target only the subscripts."""
    exprs: list[Expr] = []
    for expr in operands(statement):
        target = statement.target if isinstance(statement, Assign | Move) else None
        if expr is target:
            exprs += expr.subscripts if isinstance(expr, Reference) else ()
        else:
            exprs.append(expr)
    return exprs


def _is_asynchronous(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.asynchronous
