"""Mistakes that a compiler could make, as changes of a kernel: what verification has to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from polygpu.model.expr import Binary, Int, Reference
from polygpu.model.kernel import Assign, Barrier, For, Kernel, Statement

Mutation = Callable[[Kernel], Kernel]


def _everywhere(part: Any, change: Callable[[Any], Any]) -> Any:
    """`part` with `change` applied to all nodes in it, the innermost first."""
    if isinstance(part, tuple):
        return tuple(_everywhere(item, change) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        parts = {f.name: _everywhere(getattr(part, f.name), change) for f in fields(part)}
        return change(replace(part, **parts))
    return part


def _once(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`change` up to the first time that it changes something."""
    done = False

    def first(node: Any) -> Any:
        nonlocal done
        changed = node if done else change(node)
        done = done or changed != node
        return changed

    return first


def _body(kernel: Kernel, change: Callable[[Any], Any]) -> Kernel:
    return replace(kernel, body=_everywhere(kernel.body, change))


def without_barrier(number: int) -> Mutation:
    """Barrier `number` of the kernel is left out."""

    def mutation(kernel: Kernel) -> Kernel:
        left = iter(range(1000))

        def drop(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
            found: list[Statement] = []
            for s in statements:
                if isinstance(s, Barrier):
                    if next(left) != number:
                        found.append(s)
                elif isinstance(s, For):
                    found.append(replace(s, body=drop(s.body)))
                else:
                    found.append(s)
            return tuple(found)

        return replace(kernel, body=drop(kernel.body))

    return mutation


def _is_copy(node: Any, kernel: Kernel) -> bool:
    shared = {s.name for s in kernel.shared}
    return isinstance(node, Assign) and isinstance(node.target, Reference) and node.target.array in shared


def shorter_copy(kernel: Kernel) -> Kernel:
    """The first loop of a copy ends one iteration early."""

    def change(node: Any) -> Any:
        if isinstance(node, For) and any(_is_copy(s, kernel) for s in node.body):
            return replace(node, upper=Binary("-", node.upper, Int(1)))
        return node

    return _body(kernel, _once(change))


def shifted_copy(kernel: Kernel) -> Kernel:
    """The first copy reads the element after the one it should, where there is one."""

    def change(node: Any) -> Any:
        if not _is_copy(node, kernel) or not isinstance(node.value, Reference):
            return node
        *rest, last = node.value.subscripts
        # within the tile it is the neighbour, at its end the same place as before: never out of bounds
        shifted = Binary("-", last, Binary(">", last, Int(0)))
        return replace(node, value=replace(node.value, subscripts=(*rest, shifted)))

    return _body(kernel, _once(change))


def padding_on_one_side(kernel: Kernel) -> Kernel:
    """Copies fill two-dimensional shared arrays as if their rows had no padding."""
    widths = {s.name: (s.extents[1], s.extents[1] + s.padding) for s in kernel.shared if len(s.extents) == 2}

    def change(node: Any) -> Any:
        if not _is_copy(node, kernel) or node.target.array not in widths:
            return node
        width, padded = widths[node.target.array]
        row, column = node.target.subscripts
        place = Binary("+", Binary("*", row, Int(width)), column)
        moved = (Binary("/", place, Int(padded)), Binary("%", place, Int(padded)))
        return replace(node, target=replace(node.target, subscripts=moved))

    return _body(kernel, change)


def swapped_loops(kernel: Kernel) -> Kernel:
    """Two loops of a perfect nest change places."""

    def change(node: Any) -> Any:
        if isinstance(node, For) and len(node.body) == 1 and isinstance(inner := node.body[0], For):
            return replace(inner, body=(replace(node, body=inner.body),))
        return node

    return _body(kernel, _once(change))
