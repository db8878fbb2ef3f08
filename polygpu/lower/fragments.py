"""Loops over a thread's points of a product, as loops that a warp runs together: see `model.fragments`.

before:  for (k = 0; k < 16; ++k) for (i_r...) for (j_r...) C_r[i_r][j_r] += A_s[k][i...] * B_s[k][j...]
after:   for (k = 0; k < 16; k += 8) for (i_r = 0; ...; i_r += 2) for (j_r...) a fragment
"""

from __future__ import annotations

from dataclasses import replace

from polygpu.lower.tidy import substituted
from polygpu.model.expr import Expr, Int, Name
from polygpu.model.fragments import EACH, POLICIES, product_of
from polygpu.model.kernel import Assign, For, Statement
from polygpu.model.kernel_walk import Body, bodies, fresh_name, loop_length, names_used, with_bodies
from polygpu.model.linear import add


def with_fragments(body: Body, policy: str) -> Body:
    """`body` with the products of whole tiles in fragments: those of tiles that end early stay."""
    taken = set(names_used(body))
    return tuple(_fragments(s, policy, taken) for s in body)


def _fragments(s: Statement, policy: str, taken: set[str]) -> Statement:
    nest = _nest(s)
    if nest is not None and isinstance(s, For):
        found = _product(s, nest, policy, taken)
        if found is not None:
            return found
    return with_bodies(s, (tuple(_fragments(x, policy, taken) for x in inner) for inner in bodies(s)))


def _nest(s: Statement) -> tuple[tuple[For, ...], Assign] | None:
    """Loops that are unrolled, each around the next one, and the assignment in the innermost."""
    loops: list[For] = []
    while isinstance(s, For) and s.unroll and s.step == 1 and s.lower == Int(0) and len(s.body) == 1:
        loops.append(s)
        s = s.body[0]
    return (tuple(loops), s) if len(loops) >= 3 and isinstance(s, Assign) else None


def _product(s: For, nest: tuple[tuple[For, ...], Assign], policy: str, taken: set[str]) -> For | None:
    """The loop over terms with the rows, the groups of columns, and a fragment within; None for others."""
    (terms, rows, *groups, columns), assign = nest
    count = POLICIES[policy].terms
    if _length(terms) % count or _length(rows) % EACH:
        return None
    term, row = (fresh_name(f"{name}_f", taken) for name in (terms.index, rows.index))
    values: dict[str, Expr] = {
        terms.index: add(Name(terms.index), Name(term)),
        rows.index: add(Name(rows.index), Name(row)),
    }
    inner = replace(columns, body=substituted((assign,), values))
    inner = For(row, Int(0), Int(EACH), 1, (inner,), uniform=True, unroll=True)
    fragment = For(term, Int(0), Int(count), 1, (inner,), uniform=True, unroll=True, fragments=policy)
    if product_of(fragment) is None:
        return None
    body: Statement = fragment
    for loop in reversed(groups):
        body = replace(loop, body=(body,))
    return replace(terms, step=count, body=(replace(rows, step=EACH, body=(body,)),))


def _length(loop: For) -> int:
    return loop_length(loop) or 1
