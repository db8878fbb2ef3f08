"""Prints loops that a warp runs together as multiply-adds of tensor cores."""

from __future__ import annotations

from polygpu.model.fragments import left_parts, product_of, right_parts, sums
from polygpu.model.kernel import For
from polygpu.printing.printer import Names, print_place


def print_fragments(loop: For, names: Names) -> list[str]:
    """A call with the sums of the lane, and what it loads of both operands, in the order of registers."""
    product = product_of(loop)
    assert product is not None, "lowering makes no others"
    parts = (*sums(product), *left_parts(product), *right_parts(product))
    printed = ", ".join(print_place(r, names) for r in parts)
    return [names.dialect.fragments.format(policy=loop.fragments, parts=printed)]
