"""Variables of a function for those of its loops, as in C before 1999: one for all of a type that are never
in scope together. Each loop sets them anew, and some are returned.

for (...) { double t0 = A[i]; B[i] = t0; }  ->  double o_double_0 = { 0 };
                                                for (...) { o_double_0 = A[i]; B[i] = o_double_0; }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from random import Random
from typing import Any

from tests.fuzz.program import RECORD, Assign, Declare, If, Loop, Node, Program, Scalar, Turn, all_nodes

OUTSIDE = 0.12  # of the programs whose loops nobody calls independent
_RETURNED = 0.3  # of the variables


def with_outside(p: Program, random: Random) -> Program:
    promised = (_is_promised(node) for nodes in p.regions for node in all_nodes(nodes))
    if random.random() >= OUTSIDE or p.spelling or any(promised):
        return p
    found: dict[str, str] = {}
    regions = tuple(tuple(_outside(nodes, {}, found)) for nodes in p.regions)
    return replace(p, regions=regions, outside=tuple(found.items()))


def declarations(p: Program) -> list[str]:
    return [f"    {ctype} {name} = {{ 0 }};" for name, ctype in p.outside]


def returned(p: Program) -> list[str]:
    """What the function adds to what it returns: of structures a member."""
    chosen = [pair for pair in p.outside if Random(f"returned:{pair}:{p.sizes}").random() < _RETURNED]
    return [f"{name}.w" if ctype == RECORD else name for name, ctype in chosen]


def _is_promised(node: Node) -> bool:
    return isinstance(node, Loop) and bool(node.pragmas)


def _outside(nodes: tuple[Node, ...], taken: Mapping[str, int], found: dict[str, str]) -> Iterator[Node]:
    """The nodes without declarations; how many variables of each type are `taken` by scopes around."""
    left = list(nodes)
    while left:
        node = left.pop(0)
        match node:
            case Declare(text, ctype, value) if value is not None:
                number = taken.get(ctype, 0)
                name = f"o_{ctype.replace(' ', '_')}_{number}"
                found[name], taken = ctype, {**taken, ctype: number + 1}
                yield Assign(Scalar(name), "{0} = {1};", value)
                left = [_renamed(other, text, name) for other in left]
            case Loop(body=body) | Turn(body=body):
                yield replace(node, body=tuple(_outside(body, taken, found)))
            case If(_, then, otherwise):
                parts = (tuple(_outside(part, taken, found)) for part in (then, otherwise))
                yield If(node.test, *parts)
            case _:
                yield node


def _renamed(part: Any, old: str, new: str) -> Any:
    if isinstance(part, tuple):
        return tuple(_renamed(item, old, new) for item in part)
    if isinstance(part, Scalar):
        whole, dot, member = part.name.partition(".")
        return Scalar(f"{new}{dot}{member}") if whole == old else part
    if hasattr(part, "__dataclass_fields__"):
        return replace(part, **{f.name: _renamed(getattr(part, f.name), old, new) for f in fields(part)})
    return part
