"""What subscripts reach: extents that hold every access of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.fuzz.program import (
    PARAMETERS,
    Affine,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Program,
    Read,
    Scalar,
    Turn,
    Value,
)

Range = tuple[Affine, Affine]  # the least and the largest value, in terms of the parameters
INDIRECT = 7  # data-dependent subscripts are masked to 0 .. INDIRECT


AROUND = "({0}) % ({1})", "({0}) / ({2}) % ({1})"  # subscripts that go round: 0 .. {1} - 1


def goes_round(subscript: Value) -> bool:
    return isinstance(subscript, Operation) and subscript.template in AROUND


def lowest(a: Affine, ranges: Mapping[str, Range]) -> Affine:
    """A lower bound of `a` in terms of the parameters."""
    return _bound(a, ranges, 0)


def highest(a: Affine, ranges: Mapping[str, Range]) -> Affine:
    return _bound(a, ranges, 1)


def _bound(a: Affine, ranges: Mapping[str, Range], side: int) -> Affine:
    total = Affine((), a.constant)
    for name, factor in a.terms:
        term = Affine(((name, 1),)) if name in PARAMETERS else ranges[name][side if factor > 0 else 1 - side]
        total = total + term * factor
    return total


def loop_range(loop: Loop, ranges: Mapping[str, Range]) -> Range:
    """What the iterator's values lie between, where there are any."""
    return lowest(loop.lowers[0], ranges), highest(loop.uppers[0], ranges) + Affine((), -1)


def missing(a: Affine) -> Affine:
    """The least thing to add to `a`, so that it is not negative for parameters >= 0."""
    return Affine(tuple((p, -a.factor(p)) for p in PARAMETERS if a.factor(p) < 0), max(0, -a.constant))


def extents(program: Program) -> dict[str, tuple[Affine, ...]]:
    """The size of each array in each dimension, at least 1, in terms of the parameters."""
    found: dict[str, list[Affine]] = {a.name: [Affine((), 1)] * a.rank for a in program.arrays}
    for region in program.regions:
        for read, ranges in _reads(region, {}):
            known = found.setdefault(read.array, [Affine((), 1)] * len(read.subscripts))
            for d, subscript in enumerate(read.subscripts):
                known[d] = _larger(known[d], _size(subscript, ranges))
    return {name: tuple(sizes) for name, sizes in found.items()}


def _size(subscript: Value, ranges: Mapping[str, Range]) -> Affine:
    """How many elements hold all that a subscript reaches."""
    if isinstance(subscript, Affine):
        return highest(subscript, ranges) + Affine((), 1)
    size = subscript.operands[1] if isinstance(subscript, Operation) and goes_round(subscript) else None
    return size if isinstance(size, Affine) else Affine((), INDIRECT + 1)


def declared(program: Program) -> dict[str, tuple[Affine, ...]]:
    """The extents as they are written, of a constant array and where C wants constants as numbers."""
    spelled = program.spelled("macro", "enum", "literal")
    arrays = {a.name: a for a in program.arrays}
    found = extents(program)
    for name, array in arrays.items():
        sizes = found[name]
        if array.constant:
            *outer, last = _numbers(sizes, program)
            found[name] = (*outer, last + Affine((), array.padding if outer else 0))
        elif array.storage == "global" and any(text not in spelled for e in sizes for text, _ in e.terms):
            found[name] = _numbers(sizes, program)
    return found


def _numbers(sizes: tuple[Affine, ...], program: Program) -> tuple[Affine, ...]:
    """At the largest size."""
    return tuple(Affine((), max(at(e, n, m) for n, m in program.sizes)) for e in sizes)


def _larger(a: Affine, b: Affine) -> Affine:
    factors = ((p, max(a.factor(p), b.factor(p), 0)) for p in PARAMETERS)
    return Affine(tuple((p, k) for p, k in factors if k), max(a.constant, b.constant))


def _reads(
    nodes: tuple[Node, ...], ranges: Mapping[str, Range]
) -> Iterator[tuple[Read, Mapping[str, Range]]]:
    for node in nodes:
        match node:
            case Loop():
                yield from _reads(node.body, {**ranges, node.iterator: loop_range(node, ranges)})
            case If():
                yield from ((r, ranges) for r in reads_of(node.test))
                yield from _reads((*node.then, *node.otherwise), ranges)
            case Assign():
                yield from ((r, ranges) for v in (node.target, node.value) for r in reads_of(v))
            case Declare():
                yield from ((r, ranges) for r in (reads_of(node.value) if node.value is not None else ()))
            case Turn():
                yield from ((r, ranges) for v in (node.start, node.limit) for r in reads_of(v))
                yield from _reads(node.body, ranges)


def read_in(nodes: tuple[Node, ...]) -> Iterator[Read]:
    """All elements that are read or written, those in subscripts too."""
    return (read for read, _ in _reads(nodes, {}))


def reads_of(value: Value) -> Iterator[Read]:
    match value:
        case Read():
            yield value
            for subscript in value.subscripts:
                yield from reads_of(subscript)
        case Operation():
            for operand in value.operands:
                yield from reads_of(operand)
        case Scalar() | Affine():
            return


def at(a: Affine, n: int, m: int) -> int:
    return a.factor("n") * n + a.factor("m") * m + a.constant
