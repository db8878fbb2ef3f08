"""What collects while a kernel is printed: lines, symbols, block state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from polygpu.model.device import WARP
from polygpu.perf.lockstep import Lockstep
from polygpu.printing.emulator.symbols import Symbol, spell, symbols_of
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Mask:
    """The active lanes: an int array over them ("": all are), and the same as bits.

    Where it may be empty, code that needs an active lane stands behind a test.
    """

    lanes: str = ""
    bits: str = "POLYGPU_ALL"
    may_be_empty: bool = False

    @property
    def active(self) -> str:
        return f"{self.lanes}[pg_l]" if self.lanes else "1"


class KernelWriter:
    """The text of one kernel's body as it grows; `loaded` has the text of what loads have names for.

    `chosen` has the lanes of both sides of each choice, by its name.
    """

    def __init__(self, tree: Lockstep) -> None:
        self.tree = tree
        x, y, z = tree.kernel.block
        self.threads = x * y * z
        self.warps = -(-self.threads // WARP)
        self.lines: list[str] = []
        self.state: list[str] = []
        self.private_arrays = 0
        self.loaded: dict[str, str] = {}
        self.chosen: dict[str, tuple[Mask, Mask]] = {}
        self._depth = 0
        self._serial = 0
        self._scopes = [symbols_of(tree.kernel)]
        self._names = Counter(symbol.c for symbol in self._scopes[0].values())

    def emit(self, line: str) -> None:
        self.lines.append("    " * self._depth + line if line else line)

    def indent(self, by: int) -> None:
        self._depth += by

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """`head {` ... `}` with a scope of its own."""
        self.emit(f"{head} {{".lstrip())
        self._depth += 1
        self._scopes.append({})
        yield
        self._scopes.pop()
        self._depth -= 1
        self.emit("}")

    def symbol(self, name: str) -> Symbol:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise KeyError(f"{name} is used in kernel {self.tree.kernel.name} and declared nowhere")

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
