"""What the outcome of a test says where only parts of it are affine."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polygpu.model.expr import Binary, Expr, Int, Unary

_TRUTHS = ("&&", "||", "==", "!=", "<", "<=", ">", ">=")


def implied(test: Expr, holds: bool, condition: Callable[[Expr], isl.Set | None]) -> isl.Set | None:
    """The instances in which `test` can be true, or false if it `holds` not; None where nothing is known.

    `condition` gives those in which a test is true, None if it depends on data.
    """
    match test:
        case Unary("!", operand):
            return implied(operand, not holds, condition)
        case Binary("==" | "!=" as op, truth, Int(0 | 1 as number)) if _is_truth(truth):
            return implied(truth, holds == ((op == "==") == (number == 1)), condition)
        case Binary("&&" | "||" as op, left, right):
            first, second = implied(left, holds, condition), implied(right, holds, condition)
            if holds == (op == "&&"):  # both hold, or neither does
                return second if first is None else first if second is None else first.intersect(second)
            return None if first is None or second is None else first.union(second)
    found = condition(test)
    return found if found is None or holds else found.complement()


def _is_truth(expr: Expr) -> bool:
    """Whether the value is 0 or 1."""
    match expr:
        case Unary("!", _):
            return True
        case Binary(op, _, _):
            return op in _TRUTHS
    return False
