"""What a compiler computes outside of loops: index arithmetic that does not change in a rolled loop.

Its cost belongs to the iteration of the innermost loop in which it changes, or to the kernel's start, once
for each different expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias

from polygpu.model.expr import Expr, Name
from polygpu.model.kernel import Assign, Declare, For, While
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import names_in, reads_memory
from polygpu.support.dataclass import dataclass

Charge: TypeAlias = Callable[[Counter[str]], None]


@dataclass(slots=True)
class Frame:
    """Code that runs again and again: the names that change in it, how to charge each time."""

    varying: frozenset[str]
    charge: Charge
    seen: set[Expr] = field(default_factory=set)


class Hoister:
    """`frames` are the kernel, whose start `charge` charges, and the rolled loops around the code."""

    def __init__(self, charge: Charge) -> None:
        self.frames = [Frame(frozenset(), charge)]

    @property
    def in_loop(self) -> bool:
        return len(self.frames) > 1

    def hoist(self, expr: Expr, cost: Counter[str]) -> bool:
        """Charges `cost` outside of the innermost loop if `expr` does not change in it, and says so."""
        names = names_in(expr)
        if not self.in_loop or names & self.frames[-1].varying or reads_memory(expr):
            return False
        outer = self.frames[:-1]
        frame = next((f for f in reversed(outer) if names & f.varying), outer[0])
        if +cost and expr not in frame.seen:
            frame.seen.add(expr)
            frame.charge(cost)
        return True

    @contextmanager
    def loop(self, loop: For | While, charge: Charge) -> Iterator[None]:
        """The body of a rolled loop, of which `charge` charges an iteration."""
        self.frames.append(Frame(_varying(loop), charge))
        yield
        self.frames.pop()


def _varying(loop: For | While) -> frozenset[str]:
    """The names that change with an iteration; indices of unrolled loops are constants."""
    varying = {loop.index} if isinstance(loop, For) else set()
    for s in statements(loop.body):
        match s:
            case Declare(value=value):
                if s.mutable or value is None or names_in(value) & varying or reads_memory(value):
                    varying.add(s.name)
            case Assign(Name(name)):
                varying.add(name)
            case For(unroll=False):
                varying.add(s.index)
    return frozenset(varying)
