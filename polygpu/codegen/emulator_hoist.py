"""What a compiler computes outside of loops: index arithmetic that does not change in a rolled loop.

Its cost belongs to the iteration of the innermost loop in which it changes, or to the kernel's start, once
for each different expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from polygpu.codegen.emulator_names import names_in, references
from polygpu.model.expr import Expr, Name
from polygpu.model.kernel import Assign, Declare, For, If, Statement


@dataclass(slots=True)
class Frame:
    """A rolled loop: the names that change in it, the point that its iterations count at."""

    varying: frozenset[str]
    point: int
    seen: set[Expr] = field(default_factory=set)


@dataclass(slots=True)
class Hoister:
    """`frames` are the rolled loops around the code, outermost first; `start` gives the start's point."""

    start: Callable[[], int]
    frames: list[Frame] = field(default_factory=list)
    at_start: set[Expr] = field(default_factory=set)

    def varies(self, expr: Expr) -> bool:
        """Whether `expr` may differ from one iteration of the innermost rolled loop to the next."""
        if any(True for _ in references(expr)):
            return True
        return bool(self.frames) and bool(names_in(expr) & self.frames[-1].varying)

    def point(self, expr: Expr) -> int | None:
        """Where the cost of an expression that does not vary is charged; None where it is already."""
        names = names_in(expr)
        for frame in reversed(self.frames[:-1]):
            if names & frame.varying:
                return _first(expr, frame.seen, lambda: frame.point)  # noqa: B023 - called at once
        return _first(expr, self.at_start, self.start)

    def enter(self, loop: For, point: int) -> None:
        """A rolled loop opens whose iterations count at `point`."""
        varying = {loop.index}
        _collect(loop.body, varying)
        self.frames.append(Frame(frozenset(varying), point))

    def leave(self) -> None:
        self.frames.pop()


def _first(expr: Expr, seen: set[Expr], point: Callable[[], int]) -> int | None:
    if expr in seen:
        return None
    seen.add(expr)
    return point()


def _collect(statements: Iterable[Statement], varying: set[str]) -> None:
    """Adds the names that change with an iteration; indices of unrolled loops are constants."""
    for statement in statements:
        match statement:
            case Declare(name=name, value=value, mutable=mutable):
                if mutable or value is None or _changes(value, varying):
                    varying.add(name)
            case Assign(Name(name)):
                varying.add(name)
            case For(body=body):
                if not statement.unroll:
                    varying.add(statement.index)
                _collect(body, varying)
            case If(then=then, otherwise=otherwise):
                _collect((*then, *otherwise), varying)


def _changes(value: Expr, varying: set[str]) -> bool:
    return bool(names_in(value) & varying) or any(True for _ in references(value))
