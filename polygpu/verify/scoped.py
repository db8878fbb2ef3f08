"""Values, tests and ranges of generated code that must be affine to be described."""

from __future__ import annotations

import islpy as isl

from polygpu.model.expr import Expr
from polygpu.verify.affine import NotAffineError, Scope, constant, variable


class UnclearError(Exception):
    """The walk met what it cannot describe; the message says what."""


def clear(scope: Scope, test: Expr) -> isl.Set:
    try:
        return scope.condition(test)
    except NotAffineError as error:
        raise UnclearError(f"a test depends on data: {error}") from None


def needed(scope: Scope, expr: Expr) -> isl.PwAff:
    try:
        return scope.value(expr)
    except NotAffineError as error:
        raise UnclearError(f"not an affine function of sizes and indices: {error}") from None


def counted(scope: Scope, index: str, name: str, lower: Expr, upper: Expr, step: int) -> Scope:
    """Inside of `for (index = lower; index < upper; index += step)`."""
    low, high, here = needed(scope, lower), needed(scope, upper), variable(name)
    condition = here.ge_set(low).intersect(here.lt_set(high))
    if step != 1:
        condition = condition.intersect(here.sub(low).mod_val(isl.Val(step)).eq_set(constant(0)))
    return scope.within(condition).bind(index, here)
