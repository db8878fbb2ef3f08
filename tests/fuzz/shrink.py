"""Makes a failing program small: any part is replaced by a smaller one while the failure stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tests.fuzz.program import (
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Program,
    Read,
    Turn,
    Value,
    substituted,
)


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found in `seconds`; each accepted step starts the search anew."""
    end = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if fails(candidate):
                program, found = candidate, True
                break
    return program


def smaller(p: Program) -> Iterator[Program]:
    """Programs one step smaller, the largest steps first."""
    yield from (replace(p, sizes=(size,)) for size in p.sizes if len(p.sizes) > 1)
    yield from _fewer_regions(p)
    for k, region in enumerate(p.regions):
        for nodes in _fewer(region):
            if nodes:
                yield _used(replace(p, regions=(*p.regions[:k], nodes, *p.regions[k + 1 :])))
    yield from _plainer(p)
    yield from _smaller_size(p)


def _fewer_regions(p: Program) -> Iterator[Program]:
    if len(p.regions) > 1:
        for k in range(len(p.regions)):
            yield _used(replace(p, regions=p.regions[:k] + p.regions[k + 1 :]))
        yield replace(p, regions=(tuple(node for region in p.regions for node in region),))


def _plainer(p: Program) -> Iterator[Program]:
    """With simpler declarations."""
    plain: dict[str, Any] = {"spelling": "", "carried": "", "widths": "", "old": False, "old_style": False}
    plain["step"] = plain["noted"] = 0
    yield from (replace(p, **{name: value}) for name, value in plain.items() if getattr(p, name))
    if p.parameter != "int":
        yield replace(p, parameter="int")
    yield from (replace(p, chosen=p.chosen[:k] + p.chosen[k + 1 :]) for k in range(len(p.chosen)))
    yield from (replace(p, held=p.held[:k] + p.held[k + 1 :]) for k in range(len(p.held)))
    for k, (text, spelling) in enumerate(p.constants):
        before, after = p.constants[:k], p.constants[k + 1 :]
        yield replace(p, constants=(*before, *after))
        if spelling != "literal":
            yield replace(p, constants=(*before, (text, "literal"), *after))
    for k, array in enumerate(p.arrays):
        for simpler in _simpler_array(array):
            yield replace(p, arrays=(*p.arrays[:k], simpler, *p.arrays[k + 1 :]))
    for k, (text, ctype) in enumerate(p.scalars):
        if ctype != "int":
            yield replace(p, scalars=(*p.scalars[:k], (text, "int"), *p.scalars[k + 1 :]))


def _smaller_size(p: Program) -> Iterator[Program]:
    if len(p.sizes) == 1:
        (n, m) = p.sizes[0]
        for size in ((n // 2, m // 2), (n // 2, m), (n, m // 2), (n - 1, m), (n, m - 1)):
            if min(size) >= 0 and size != (n, m):
                yield replace(p, sizes=(size,))


def _used(p: Program) -> Program:
    """Without arrays and scalars that nothing names."""
    names = set(_names(p.regions))
    arrays = tuple(a for a in p.arrays if a.name in names)
    outside = tuple(v for v in p.outside if any(name.partition(".")[0] == v[0] for name in names))
    scalars = tuple(s for s in p.scalars if s[0] in names)
    return replace(p, arrays=arrays, scalars=scalars, outside=outside)


def _names(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _names(item)
    elif hasattr(part, "__dataclass_fields__"):
        for field in fields(part):
            yield from _names(getattr(part, field.name))


def _simpler_array(array: Array) -> Iterator[Array]:
    if array.storage != "restrict":
        yield replace(array, storage="restrict")
    if array.constant:
        yield replace(array, constant=False, padding=0)
    if array.padding:
        yield replace(array, padding=0)
    if array.type not in ("int", "struct record"):
        yield replace(array, type="int")
        if array.type != "float":
            yield replace(array, type="float")


def _fewer(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Without a node, with a node's body in its place, with one node smaller."""
    for k, node in enumerate(nodes):
        before, after = nodes[:k], nodes[k + 1 :]
        yield (*before, *after)
        match node:
            case Loop():
                yield (*before, *substituted(node.body, node.iterator, node.lowers[0]), *after)
            case If():
                yield (*before, *node.then, *after)
                yield (*before, *node.otherwise, *after)
    for k, node in enumerate(nodes):
        for simpler in _simpler(node):
            yield (*nodes[:k], simpler, *nodes[k + 1 :])


def _simpler(node: Node) -> Iterator[Node]:
    match node:
        case Loop():
            yield from (replace(node, body=body) for body in _fewer(node.body) if body)
            yield from _simpler_header(node)
        case If():
            yield from (replace(node, then=then) for then in _fewer(node.then) if then)
            if node.otherwise:
                yield replace(node, otherwise=())
                yield from (replace(node, otherwise=other) for other in _fewer(node.otherwise))
            yield from (replace(node, test=test) for test in _tests(node.test))
        case Assign():
            if node.template != "{0} = {1};":
                yield replace(node, template="{0} = {1};")
            yield from (replace(node, value=value) for value in _values(node.value))
            if isinstance(node.target, Read):
                yield from (replace(node, target=target) for target in _reads(node.target))
        case Declare():
            if node.value is not None:
                yield from (replace(node, value=value) for value in _values(node.value))
            if node.type not in ("int", "float"):
                yield replace(node, type="float")
            if node.type != "int":
                yield replace(node, type="int")
        case Turn():
            yield from _simpler_turn(node)


def _simpler_turn(turn: Turn) -> Iterator[Turn]:
    yield from (replace(turn, body=body) for body in _fewer(turn.body) if body)
    if turn.form != "for":
        yield replace(turn, form="for")
    yield from (replace(turn, start=start) for start in _values(turn.start))
    yield from (replace(turn, limit=limit) for limit in _values(turn.limit))


def _simpler_header(loop: Loop) -> Iterator[Loop]:
    if loop.type != "int":
        yield replace(loop, type="int")
    if loop.apart and max(len(loop.lowers), len(loop.uppers)) > 1:
        yield replace(loop, apart=False)
    if loop.inclusive:
        yield replace(loop, inclusive=False)
    if loop.step != 1:
        yield replace(loop, step=1)
    for key in ("lowers", "uppers"):
        bounds: tuple[Affine, ...] = getattr(loop, key)
        if len(bounds) > 1:
            yield from (replace(loop, **{key: (bound,)}) for bound in bounds)  # type: ignore[arg-type]
        for bound in _affines(bounds[0]):
            yield replace(loop, **{key: (bound, *bounds[1:])})  # type: ignore[arg-type]
    if loop.uppers[0] != Affine((("n", 1),)) and any(name != "n" for name, _ in loop.uppers[0].terms):
        yield replace(loop, uppers=(Affine((("n", 1),)),))


def _affines(a: Affine) -> Iterator[Affine]:
    for k in range(len(a.terms)):
        yield replace(a, terms=a.terms[:k] + a.terms[k + 1 :])
    for k, (text, factor) in enumerate(a.terms):
        if factor not in (1, -1):
            yield replace(a, terms=(*a.terms[:k], (text, factor // abs(factor)), *a.terms[k + 1 :]))
    if a.constant:
        yield replace(a, constant=0)
        sign = a.constant // abs(a.constant)
        halves = (sign, sign * (abs(a.constant) // 2), a.constant - sign)
        yield from (replace(a, constant=c) for c in dict.fromkeys(halves) if c not in (0, a.constant))


def _tests(test: Operation) -> Iterator[Operation]:
    if " && " in test.template or " || " in test.template:
        yield replace(test, template=test.template.replace(" || ", " && ").split(" && ")[0])
    for k, operand in enumerate(test.operands):
        for value in _values(operand):
            yield replace(test, operands=(*test.operands[:k], value, *test.operands[k + 1 :]))


def _values(value: Value) -> Iterator[Value]:
    match value:
        case Affine():
            yield from _affines(value)
        case Read():
            yield Affine((), 3)
            yield from _reads(value)
        case Operation(_, operands):
            yield Affine((), 3)
            yield from operands
            for k, operand in enumerate(operands):
                for simpler in _values(operand):
                    yield replace(value, operands=(*operands[:k], simpler, *operands[k + 1 :]))


def _reads(read: Read) -> Iterator[Read]:
    for k, subscript in enumerate(read.subscripts):
        for simpler in _values(subscript):
            yield replace(read, subscripts=(*read.subscripts[:k], simpler, *read.subscripts[k + 1 :]))
