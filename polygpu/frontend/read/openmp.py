"""Pragmas before loops: those that go with a loop, and those of OpenMP that may have threads run it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.read.statements import pragma_text

# By their first words; those say how the loop behind them is compiled, or run on the host.
_OF_LOOPS = re.compile(
    r"(?:omp (?:parallel for|simd|tile|unroll)|acc (?:parallel|kernels|serial|loop)|clang loop"
    r"|GCC (?:ivdep|unroll|novector)|ivdep|unroll|nounroll|unroll_and_jam|vector|novector|simd|loop"
    r"|polygpu)\b"
)
_HINTS = ("simd", "tile", "unroll")
# These stand for themselves: they say nothing about the statement behind them.
_ALONE = (
    "barrier", "taskwait", "taskyield", "flush", "cancel", "cancellation", "threadprivate", "declare", "end",
    "requires", "error", "nothing", "allocate", "interop", "depobj", "scan",
)  # fmt: skip


def goes_with_a_loop(pragma: Any) -> bool:
    """Whether the pragma means nothing without the loop behind it, and one thread comes to it."""
    return _OF_LOOPS.match(" ".join(pragma_text(pragma).split())) is not None


def entered(items: Sequence[Any], index: int) -> Any:
    """The pragma directly before an item that makes it the block of an OpenMP construct, or None."""
    return next(filter(_makes_threads, _pragmas_before(items, index)), None)


def refusing(items: Sequence[Any], index: int) -> Any:
    """As `entered`, but for constructs that a region may replace together with their loop."""
    pragmas = (p for p in _pragmas_before(items, index) if not goes_with_a_loop(p))
    return next(filter(_makes_threads, pragmas), None)


def _pragmas_before(items: Sequence[Any], index: int) -> Iterator[Any]:
    while index > 0 and isinstance(items[index - 1], c_ast.Pragma):
        index -= 1
        yield items[index]


def _makes_threads(pragma: Any) -> bool:
    """Whether the statement behind the pragma is run by several threads, or by one of several."""
    words = re.findall(r"\w+", pragma_text(pragma))
    return words[:1] == ["omp"] and (words[1:2] or [""])[0] not in (*_HINTS, *_ALONE)


def one_at_a_time(pragma: Any) -> bool:
    """Whether of the threads that come to a construct one runs its block, or each after the other."""
    words = re.findall(r"\w+", pragma_text(pragma))
    return words[1:2] != [] and words[1] in ("master", "masked", "single", "critical", "ordered")


def called_by_threads(root: Any) -> dict[str, Any]:
    """The functions of a file that it calls within an OpenMP construct, directly or not, and its pragma."""
    bodies = {node.decl.name: node.body for node in root.ext if isinstance(node, c_ast.FuncDef)}
    calls = {name: list(_calls(body, None)) for name, body in bodies.items()}
    found: dict[str, Any] = {}
    pending = [(name, pragma) for made in calls.values() for name, pragma in made if pragma is not None]
    while pending:
        name, pragma = pending.pop(0)
        if name in bodies and name not in found:
            found[name] = pragma
            pending += [(inner, pragma) for inner, _ in calls[name]]
    return found


def _calls(node: Any, pragma: Any) -> Iterable[tuple[str, Any]]:
    """The functions that a statement calls by name, each with the pragma of the construct around it."""
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        yield node.name.name, pragma
    children = list(node)
    for index, child in enumerate(children):
        yield from _calls(child, pragma or entered(children, index))
