"""Products of tensor cores as what a warp issues: operands are loaded and rounded once for all that use them.

before:  for (i_r, i_r + 2) for (j_g) fragment(A_s[.. i_r ..], B_s[.. j_g ..])
after:   for (i_r, i_r + 2) a = rounded(A_s[.. i_r ..])    for (j_g) b = rounded(B_s[.. j_g ..])
         for (i_r, i_r + 2) for (j_g) fragment

Only costs are taken from that. Loops are unrolled, so that the compiler sees that operands are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from polygpu.model.expr import Cast, Expr, Reference
from polygpu.model.fragments import Product, left_parts, product_of, right_parts
from polygpu.model.kernel import Declare, For, Statement
from polygpu.model.kernel_walk import Body, bodies, statements, with_bodies
from polygpu.model.rewrite import names_in

_ROUNDED = {"tf32": 1, "half": 2, "bfloat16": 2}  # parts that one conversion rounds


def issued(body: Body) -> Body:
    """`body` with products of tensor cores as what a warp issues for them."""
    if not any(isinstance(s, For) and s.fragments for s in statements(body)):
        return body
    return tuple(x for s in body for x in _issued(s, count()))


def _issued(s: Statement, numbers: Iterator[int]) -> Body:
    loops, product = _nest(s)
    if product is not None:
        operands = (tuple(left_parts(product)), tuple(right_parts(product)))
        loads = (_around(loops, _loads(parts, loops[-1], numbers)) for parts in operands)
        return (*(x for loaded in loads for x in loaded), *_within(loops[:-1], replace(loops[-1], body=())))
    inner = (tuple(y for x in body for y in _issued(x, numbers)) for body in bodies(s))
    return (with_bodies(s, inner),)


def _nest(s: Statement) -> tuple[list[For], Product | None]:
    """Unrolled loops, each alone in that around it, the innermost a fragment."""
    loops: list[For] = []
    while isinstance(s, For) and s.unroll:
        loops.append(s)
        if s.fragments:
            return loops, product_of(s)
        if len(s.body) != 1:
            break
        s = s.body[0]
    return loops, None


def _loads(parts: Sequence[Reference], fragment: For, numbers: Iterator[int]) -> Iterator[Declare]:
    together = _ROUNDED.get(fragment.fragments)
    for k, part in enumerate(parts):
        value: Expr = part
        if together and k % together == 0:
            value = Cast(fragment.fragments, part)
        yield Declare(f"part {next(numbers)}", part.type, value, mutable=False)


def _around(loops: Sequence[For], loads: Iterator[Declare]) -> Body:
    """Loads in the loops whose indices they depend on."""
    found = tuple(loads)
    used = names_in(*(load.value for load in found if load.value is not None))
    return _within([loop for loop in loops[:-1] if loop.index in used], *found)


def _within(loops: Sequence[For], *inner: Statement) -> Body:
    body: Body = inner
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body
