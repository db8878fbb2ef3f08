"""Loops within an iteration that data bound or end: sums of gathered elements, searches, loops in tests."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.program import (
    RECORD,
    Assign,
    Declare,
    If,
    Leave,
    Node,
    Operation,
    Read,
    Scalar,
    Turn,
    Value,
    is_floating,
)
from tests.fuzz.ranges import lowest, missing
from tests.fuzz.values import Scope, Values, constant, name


def turning(v: Values, scope: Scope, names: list[str]) -> tuple[Node, ...]:
    """t = ...; for (c = A[i] & 3; c < (B[i] & 7); c++) { if (... A[c & 7] ...) break; t = ...; } C[i] = t;"""
    target, ctype = _target(v, scope)
    others = tuple(a for a in v.arrays if a.name != target.array) or v.arrays
    v.arrays, every = others if v.chance(0.8) else v.arrays, v.arrays
    total, *rest = names
    inside = replace(scope, scalars=(*scope.scalars, (total, ctype)))
    summed: Read | Scalar = target if v.chance(0.25) else Scalar(total)
    loop: Node = _loop(v, inside, summed, ctype, rest)
    if v.chance(0.3):
        loop = If(_test(v, scope, None), (loop,), (Assign(summed, "{0} = {1};", v.value(inside, ctype)),))
    first = Declare(total, ctype, v.value(scope, ctype))
    v.arrays = every
    return first, loop, Assign(target, "{0} += {1};" if is_floating(ctype) else "{0} ^= {1};", Scalar(total))


def _target(v: Values, scope: Scope) -> tuple[Read, str]:
    """Mostly an element of this iteration alone: C[i][j]."""
    read, ctype = v.element(v.random.choice(v.arrays), scope)
    iterators = list(scope.iterators)[-len(read.subscripts) :]
    if len(iterators) < len(read.subscripts) or v.chance(0.2):
        return read, ctype
    own = (name(i) + missing(lowest(name(i), scope.iterators)) for i in iterators)
    return replace(read, subscripts=tuple(own)), ctype


def _loop(v: Values, scope: Scope, summed: Read | Scalar, ctype: str, names: list[str]) -> Turn:
    counter, *rest = names
    body: list[Node] = []
    if v.chance(0.5):
        body.append(If(_test(v, scope, counter), (_leave(v),)))
    body.append(_sum(v, scope, summed, ctype, counter))
    if rest and v.chance(0.4):
        body.append(_loop(v, scope, summed, ctype, rest))
    if v.chance(0.5):
        then: tuple[Node, ...] = (_sum(v, scope, summed, ctype, counter), _leave(v))
        if v.chance(0.4):
            then = (then[0], If(_test(v, scope, counter), then[1:]))
        otherwise = (_sum(v, scope, summed, ctype, counter),) if v.chance(0.3) else ()
        body += [If(_test(v, scope, counter), then, otherwise), _sum(v, scope, summed, ctype, counter)]
    form, step = v.random.choice(("for", "for", "for", "while", "do")), v.random.choice((1, 1, 2))
    return Turn(form, counter, _bound(v, scope, 3), _bound(v, scope, 7), step, tuple(body))


def _leave(v: Values) -> Leave:
    return Leave(v.random.choice(("break", "break", "continue")))


def _bound(v: Values, scope: Scope, mask: int) -> Value:
    sources = [a for a in v.arrays if a.type in ("int", "unsigned char", "short")]
    if not sources or v.chance(0.2):
        return constant(v.random.randrange(mask + 1))
    return Operation(f"({{0}} & {mask})", (v.element(v.random.choice(sources), scope)[0],))


def _test(v: Values, scope: Scope, counter: str | None) -> Operation:
    ctype = v.type()
    found = _gathered(v, scope, counter, ctype) if counter else v.leaf(scope, ctype)
    return Operation(v.random.choice(("{0} > {1}", "{0} < {1}")), (found, v.leaf(scope, ctype)))


def _sum(v: Values, scope: Scope, summed: Read | Scalar, ctype: str, counter: str) -> Assign:
    value = _gathered(v, scope, counter, ctype)
    if is_floating(ctype):
        return Assign(summed, v.random.choice(("{0} += 0.125f * {1};", "{0} = 0.5f * {0} + {1};")), value)
    return Assign(summed, v.random.choice(("{0} ^= {1};", "{0} = ({0} & 1023) + {1};")), value)


def _gathered(v: Values, scope: Scope, counter: str, ctype: str) -> Value:
    """An element that the counter chooses, where an array's size is declared, or else what there is."""
    arrays = [a for a in v.arrays if a.storage != "flat" and (is_floating(ctype) or not is_floating(a.type))]
    arrays = [a for a in arrays if a.type != RECORD]
    found: Value = Scalar(counter)
    if arrays and v.chance(0.85):
        read, _ = v.element(v.random.choice(arrays), scope)
        chosen = Operation(v.random.choice(("({0} & 7)", "({0} * 3 & 7)")), (Scalar(counter),))
        found = replace(read, subscripts=(*read.subscripts[:-1], chosen))
    return found if is_floating(ctype) else Operation("({0} & 255)", (found,))
