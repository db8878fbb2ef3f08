"""Statements of which each runs in one iteration of a loop around them all.

for (i = 0; i < n; i++) { S; for (j = 0; j < m; j++) T; }
->  for (i = 0; i < n; i++) { if (i == 3) S; if (i == 1) for (j = 0; j < m; j++) T; }
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.fuzz.program import Assign, Declare, If, Loop, Node, Operation, Program, all_nodes
from tests.fuzz.values import constant, name

SINGLE = 0.05  # of the programs have some
_VALUES = (0, 1, 1, 2, 3, 4, 40, 70)  # of the loop's iterator: in one tile of threads, and in others


def with_single(p: Program, random: Random) -> Program:
    if random.random() >= SINGLE:
        return p
    return replace(p, regions=tuple(_region(nodes, random) for nodes in p.regions))


def is_single(node: Node) -> bool:
    """Whether it is a loop whose statements run in one iteration each."""
    return isinstance(node, Loop) and all(_names_one(inner, node.iterator) for inner in node.body)


def _region(nodes: tuple[Node, ...], random: Random) -> tuple[Node, ...]:
    """What declares something, and may leave it to others to set it, stays as it is."""
    if any(isinstance(node, Declare) for node in all_nodes(nodes)):
        return nodes
    return tuple(_inside(node, random) for node in nodes)


def _inside(node: Node, random: Random) -> Node:
    """With the statements of a loop's body, or of those within, in iterations of their own."""
    if not isinstance(node, Loop):
        return node
    if random.random() < 0.7 and all(isinstance(inner, Assign | If | Loop) for inner in node.body):
        return replace(node, body=tuple(_in_one(node.iterator, inner, random) for inner in node.body))
    return replace(node, body=tuple(_inside(inner, random) for inner in node.body))


def _in_one(iterator: str, node: Node, random: Random) -> Node:
    return If(Operation("{0} == {1}", (name(iterator), constant(random.choice(_VALUES)))), (node,))


def _names_one(node: Node, iterator: str) -> bool:
    match node:
        case If(Operation("{0} == {1}", (left, _)), _, ()):
            return left == name(iterator)
    return False
