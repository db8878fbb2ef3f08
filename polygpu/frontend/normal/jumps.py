"""Jumps forward within a sequence of statements as `if`s.

    if (t) continue; A                      ->   if (!t) A
    if (t) { A; continue; } else B; C       ->   if (t) A; else { B; C }
    if (t) { if (u) continue; A } B         ->   if (t) { if (!u) { A; B } } else B

What stands behind an `if` goes to the ends of those of its branches that come to it: at both, it is twice
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.normal.trees import (
    Names,
    choice,
    declared_names,
    is_loop,
    renamed,
    statements,
    used_names,
)
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

MOST_NODES = 4000  # of what is made of one sequence
_JUMPS = (c_ast.Goto, c_ast.Continue, c_ast.Break, c_ast.Return)


class UnstructuredError(Exception):
    """A jump out of a loop, or one that would be copied too often; `node` is in the way."""

    def __init__(self, node: Any) -> None:
        super().__init__()
        self.node = node


@dataclass
class Structured:
    """`follow` gives what runs from a jump on to the end of the sequence, None for what is no jump of it.

    `owner` says which statements jumps do not lead out of: loops for `continue`.
    """

    follow: Callable[[Any], list[Any] | None]
    owner: Callable[[Any], bool]
    names: Names
    budget: int = MOST_NODES

    def of(self, items: Sequence[Any]) -> list[Any]:
        """The sequence without its jumps. Raises UnstructuredError."""
        done: list[Any] = []
        for index, item in enumerate(items):
            if (target := self.follow(item)) is not None:
                return [*done, *self.of(target)]
            rest = list(items[index + 1 :])
            if not self.jumps(item):
                self._spend(item)
                done.append(item)
                if isinstance(item, _JUMPS) and not any(map(_is_entered, rest)):
                    return done
                continue
            match item:
                case c_ast.Compound():
                    return [*done, *self.of(self._joined(item, rest))]
                case c_ast.Label():
                    return [*done, *self.of([item.stmt, *rest])]
                case c_ast.If():
                    then, otherwise = (
                        self.of(self._joined(part, rest)) for part in (item.iftrue, item.iffalse)
                    )
                    return [*done, *choice(item, then, otherwise)]
            raise UnstructuredError(item)
        return done

    def jumps(self, node: Any) -> bool:
        """Whether some jump of the sequence is within the node."""
        if self.follow(node) is not None:
            return True
        return not self.owner(node) and any(map(self.jumps, node))

    def _joined(self, first: Any, rest: list[Any]) -> list[Any]:
        """The statements of `first`, whose declarations do not hide what `rest` means, and `rest`."""
        items = statements(first)
        meant = {name for item in rest for name in used_names(item)}
        for index, item in enumerate(items):
            if not isinstance(item, c_ast.Decl | c_ast.Typedef) or meant.isdisjoint(declared_names(item)):
                continue
            if [*declared_names(item)] != [item.name] or any(
                item.name in used_names(i) for i in items[:index]
            ):
                raise UnstructuredError(item)
            fresh = {item.name: self.names.fresh(item.name)}
            items = [renamed(i, fresh) for i in items]
        return [*items, *rest]

    def _spend(self, item: Any) -> None:
        self.budget -= sum(1 for _ in nodes(item))
        if self.budget < 0:
            raise UnstructuredError(item)


def _is_entered(item: Any) -> bool:
    return any(isinstance(node, c_ast.Label) for node in nodes(item))


def breaks_out(node: Any) -> bool:
    """Whether a `break` within the node is its own."""
    return is_loop(node) or isinstance(node, c_ast.Switch)
