"""How many instances loops visit at given sizes, and how many operations an instance takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import TypeAlias

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf
from polygpu.model.expr import Binary, Call, Expr, Reference, Select, Unary
from polygpu.model.rewrite import BODY, actions, children, reads_of, references, scalars_in
from polygpu.model.scop import Action
from polygpu.perf.lanes import uniform

Sizes: TypeAlias = Mapping[str, int]
Count: TypeAlias = Callable[[Sizes], float]

_EXACT = 4  # iterations of a loop that are looked at one by one
_GAUSS = 0.5 - 0.75**0.5 / 3  # the nodes of two points, by which cubic polynomials are integrated
_CALL = 20  # operations of a function: between sqrt and pow
TURNS = 8  # iterations that a loop within an instance is taken to have


def counter(tree: Scan) -> tuple[Count, frozenset[str]]:
    """What counts the leaves of `tree` for values of the names that it depends on, and these.

    The inside of a loop is counted at two of its iterations where it differs between them, which is right for
    polynomials; but for what floors and strides do at the ends of ranges.
    """
    match tree:
        case ScanLeaf():
            return lambda sizes: 1.0, frozenset()
        case ScanBlock(parts):
            found = [counter(part) for part in parts]
            inside = frozenset[str]().union(*(names for _, names in found))
            return lambda sizes: sum(count(sizes) for count, _ in found), inside
        case ScanIf(test, then, otherwise):
            yes, used = counter(then)
            no, others = counter(otherwise) if otherwise else (lambda sizes: 0.0, frozenset())
            names = used | others | scalars_in(test)
            return lambda sizes: yes(sizes) if uniform(test, sizes) else no(sizes), names
    return _loop(tree)


def _loop(loop: ScanFor) -> tuple[Count, frozenset[str]]:
    inside, names = counter(loop.body)
    varies = loop.index in names

    def count(sizes: Sizes) -> float:
        values = range(_value(loop.lower, sizes), _value(loop.upper, sizes), loop.step)
        if not values:
            return 0.0
        if not varies:
            return len(values) * inside(sizes)
        return sum(times * inside({**sizes, loop.index: i}) for i, times in _nodes(values))

    return count, (names - {loop.index}) | scalars_in(loop.lower, loop.upper)


def _nodes(values: range) -> Iterator[tuple[int, float]]:
    """Some iterations, and how many each stands for."""
    if len(values) <= _EXACT:
        yield from ((i, 1.0) for i in values)
        return
    first = ceil(len(values) * _GAUSS) - 1
    yield values[first], len(values) / 2
    yield values[-1 - first], len(values) / 2


def _value(expr: Expr, sizes: Sizes) -> int:
    return uniform(expr, sizes) or 0


def operations(s: PolyStatement) -> int:
    """Of an instance: its operators, its accesses to arrays, and so many for a call of a function."""
    accesses = sum(a.exposed for a in s.accesses)
    once = accesses + sum(_operators(reads_of(a)[0]) for a in actions(s.body))
    return once + sum((turns - 1) * all_of(a) for turns, a in _turning(s) if turns > 1)


def _turning(s: PolyStatement) -> Iterator[tuple[int, Action]]:
    """The actions, and how often an instance is taken to carry each out."""
    return ((TURNS ** number[1::2].count(BODY), a) for number, a in s.actions.items())


def all_of(action: Action) -> int:
    """Operators and accesses of an action."""
    return sum(_operators(e) + len(references(e)) for e in reads_of(action))


def _operators(e: Expr) -> int:
    """Those of what is computed; subscripts are what loops add to."""
    match e:
        case Reference():
            return 0
        case Call("min" | "max"):
            own = len(e.arguments) - 1
        case Call():
            own = _CALL
        case _:
            own = isinstance(e, Unary | Binary | Select)
    return own + sum(map(_operators, children(e)))
