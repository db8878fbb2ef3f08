"""Values, tests and ranges of generated code that must be affine to be described."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polygpu.model.expr import Binary, Expr, Name
from polygpu.verify.affine import NotAffineError, Scope, constant, variable

_INDEX = Name("an index")  # no C name: bounds do not mean it


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


def between(scope: Scope, index: isl.PwAff, lower: Expr, upper: Expr) -> isl.Set:
    """Where lower <= index < upper."""
    inside = replace(scope, values={**scope.values, _INDEX.name: index})
    return clear(inside, Binary("<=", lower, _INDEX)).intersect(clear(inside, Binary("<", _INDEX, upper)))


def counted(scope: Scope, index: str, name: str, lower: Expr, upper: Expr, step: int) -> Scope:
    """Inside of `for (index = lower; index < upper; index += step)`."""
    here = variable(name)
    condition = between(scope, here, lower, upper)
    if step != 1:
        first = here.sub(needed(scope, lower))
        condition = condition.intersect(first.mod_val(isl.Val(step)).eq_set(constant(0)))
    return scope.within(condition).bind(index, here)
