"""Pragmas before loops and blocks: which go with them, and where threads run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.read.directives import Directive, parsed, pragma_text

# Of compilers, by their first words: they say how the loop behind them is compiled.
_OF_COMPILERS = re.compile(
    r"(?:clang loop|GCC (?:ivdep|unroll|novector)|ivdep|unroll|nounroll|unroll_and_jam|vector|novector|simd"
    r"|loop|polygpu)\b"
)
_HINTS = ("simd", "tile", "unroll")
SHARED = (
    "for",
    "distribute",
    "loop",
)  # the words of constructs whose loop a team, or a league of teams, shares
_ENTRIES = {"omp": ("parallel", "target", "teams"), "acc": ("parallel", "kernels", "serial")}
ONE = ("master", "masked", "single")
# These stand for themselves: they say nothing about the statement behind them.
_ALONE = (
    "barrier", "taskwait", "taskyield", "flush", "cancel", "cancellation", "threadprivate", "declare", "end",
    "requires", "error", "nothing", "allocate", "interop", "depobj", "scan", "enter", "exit", "update",
    "wait", "routine", "cache", "init", "shutdown", "set",
)  # fmt: skip
_DATA = ("data", "host_data")  # their block is run by the thread that comes to it


def goes_with_a_loop(pragma: Any) -> bool:
    """Whether the pragma means nothing without the loop behind it, and one thread comes to it."""
    return _OF_COMPILERS.match(" ".join(pragma_text(pragma).split())) is not None or _comes_alone(
        parsed(pragma), loop=True
    )


def opens(pragma: Any) -> bool:
    """Whether one thread comes to the pragma, and a team or a device runs the statement behind it."""
    return _comes_alone(parsed(pragma), loop=False)


def belongs(pragma: Any) -> bool:
    """Whether a region may take the pragma with the statement behind it."""
    return goes_with_a_loop(pragma) or opens(pragma) or shares(parsed(pragma))


def _comes_alone(d: Directive, loop: bool) -> bool:
    if d.words[:1] and d.words[0] in _HINTS:
        return loop
    if d.model == "acc" and d.words[:1] == ("loop",):
        return loop
    if not d.words or d.words[0] not in _ENTRIES.get(d.model, ()) or _alone(d) or d.has(*_DATA):
        return False
    return not d.has(*ONE, "sections", "taskloop") and d.has(*SHARED, *_HINTS) == loop


def shares(d: Directive) -> bool:
    """Whether a team that comes to the directive shares the loop behind it."""
    return d.words[:1] != () and d.words[0] in SHARED


def _alone(d: Directive) -> bool:
    return (
        not d.words or d.words[0] in _ALONE or (d.words[0] == "target" and d.has("enter", "exit", "update"))
    )


def entered(items: Sequence[Any], index: int) -> Any:
    """The pragma directly before an item that makes it the block of a construct with threads, or None."""
    return next(filter(makes_threads, pragmas_before(items, index)), None)


def refusing(items: Sequence[Any], index: int) -> Any:
    """A pragma before an item that no region may replace with it: several threads come to it; or None."""
    threaded = [p for p in pragmas_before(items, index) if makes_threads(p)]
    alone = [p for p in threaded[-1:] if goes_with_a_loop(p) or opens(p)]
    return next((p for p in threaded if not alone or not belongs(p)), None)


def is_block(items: Sequence[Any], index: int) -> bool:
    """Whether the item is the block of a construct that one thread comes to."""
    before = index > 0 and isinstance(items[index - 1], c_ast.Pragma) and opens(items[index - 1])
    return before and isinstance(items[index], c_ast.Compound)


def pragmas_before(items: Sequence[Any], index: int) -> Iterator[Any]:
    while index > 0 and isinstance(items[index - 1], c_ast.Pragma):
        index -= 1
        yield items[index]


def makes_threads(pragma: Any) -> bool:
    """Whether several threads run the statement behind the pragma, or one of several, or a device."""
    d = parsed(pragma)
    return bool(d.model) and not _alone(d) and d.words[0] not in _HINTS and not _is_data(d)


def _is_data(d: Directive) -> bool:
    return d.words[0] in _DATA or d.words[:2] == ("target", "data")


def is_for_devices(d: Directive) -> bool:
    """Whether it is about a device: what runs there, or which data it has."""
    return d.model == "acc" or d.has("target")


def keeps_data(items: Sequence[Any], index: int) -> bool:
    """Whether a pragma before an item asks for data to stay on the device, in its block or from there on."""
    directives = map(parsed, pragmas_before(items, index))
    return any(d.words and (_is_data(d) or d.has("enter")) for d in directives)


def one_at_a_time(pragma: Any) -> bool:
    """Whether of the threads that come to a construct one runs its block, or each after the other."""
    return parsed(pragma).words[:1] != () and parsed(pragma).words[0] in (*ONE, "critical", "ordered")


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
