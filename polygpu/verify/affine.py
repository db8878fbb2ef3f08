"""C integer expressions as piecewise quasi-affine functions of named variables, which are isl parameters.

Every function and condition lives on the zero-dimensional set over parameters; `events` turns the
parameters that are loop, block and thread indices into dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Select, Unary
from polygpu.support.isl_idioms import coalesced, isl_name

UNIVERSE = "{ [] : }"


class NotAffineError(Exception):
    """The expression depends on data, or is a product of variables."""


def constant(value: int) -> isl.PwAff:
    return isl.PwAff(f"{{ [] -> [({value})] }}")


def variable(name: str) -> isl.PwAff:
    """The variable with isl name `name`."""
    return isl.PwAff(f"[{name}] -> {{ [] -> [({name})] }}")


def parameter(name: str) -> isl.PwAff:
    """A variable that C calls `name`."""
    return variable(isl_name(name))


_COMPARE = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}
_INTEGERS = ("char", "short", "int", "long")


@dataclass(frozen=True)
class Scope:
    """Values of names where `domain` holds; None for what is not affine.

    `frame` is `domain` without the tests of branches.
    """

    domain: isl.Set
    values: Mapping[str, isl.PwAff | None] = field(default_factory=dict)
    frame: isl.Set = field(default_factory=lambda: isl.Set(UNIVERSE))

    def bind(self, name: str, value: isl.PwAff | None) -> Scope:
        return replace(self, values={**self.values, name: value})

    def where(self, condition: isl.Set) -> Scope:
        return replace(self, domain=coalesced(self.domain.intersect(condition)))

    def within(self, condition: isl.Set) -> Scope:
        """`where` a condition holds that no test makes: bounds of loops and indices."""
        inside = self.where(condition)
        return replace(inside, frame=coalesced(self.frame.intersect(condition)))

    def value(self, expr: Expr) -> isl.PwAff:
        """Raises NotAffineError."""
        match expr:
            case Int(value):
                return constant(value)
            case Literal(text, ctype) if any(kind in ctype for kind in _INTEGERS) and text[:1].isdigit():
                return constant(_integer(text))
            case Name(name, _):
                return self._name(name)
            case Unary("-", operand):
                return self.value(operand).neg()
            case Unary("+", operand):
                return self.value(operand)
            case Binary("+" | "-" | "*" | "/" | "%" as op, left, right):
                return self._arithmetic(op, self.value(left), self.value(right))
            case Call("min" | "max" as function, arguments, _):
                return self._extreme(function, [self.value(a) for a in arguments])
            case Call("floord", (left, right), _):
                return self._quotient(self.value(left), self.value(right), floor=True)
            case Select(test, yes, no):
                first = self.where(self.condition(test))
                second = replace(self, domain=coalesced(self.domain.subtract(first.domain)))
                chosen = first.value(yes).intersect_domain(first.domain)
                return chosen.union_add(second.value(no).intersect_domain(second.domain))
            case Cast("int" | "long" | "long long", operand):
                return self.value(operand)
        raise NotAffineError(str(expr))

    def condition(self, expr: Expr) -> isl.Set:
        """Where `expr` is not zero. Raises NotAffineError."""
        match expr:
            case Binary("&&", left, right):
                inside = self.where(self.condition(left))
                return inside.domain.intersect(inside.condition(right))
            case Binary("||", left, right):
                return self.condition(left).union(self.condition(right))
            case Unary("!", operand):
                return self.condition(operand).complement()
            case Binary(op, left, right) if op in _COMPARE:
                found: isl.Set = getattr(self.value(left), _COMPARE[op])(self.value(right))
                return found
        return self.value(expr).ne_set(constant(0))

    def affine(self, expr: Expr) -> isl.PwAff | None:
        try:
            return self.value(expr)
        except NotAffineError:
            return None

    def _name(self, name: str) -> isl.PwAff:
        found = self.values.get(name)
        if found is None:
            raise NotAffineError(name)
        return found

    def _arithmetic(self, op: str, left: isl.PwAff, right: isl.PwAff) -> isl.PwAff:
        match op:
            case "+":
                return left.add(right)
            case "-":
                return left.sub(right)
            case "*":
                if not (left.is_cst() or right.is_cst()):
                    raise NotAffineError("a product of variables")
                return left.mul(right)
            case "/":
                return self._quotient(left, right, floor=False)
        return left.sub(self._quotient(left, right, floor=False).mul(right))

    def _quotient(self, left: isl.PwAff, right: isl.PwAff, floor: bool) -> isl.PwAff:
        if not right.is_cst() or not right.lt_set(constant(1)).is_empty():
            raise NotAffineError("a division by no positive constant")
        if floor or self.never(left.lt_set(constant(0))):
            return left.div(right).floor()
        return self._pruned(left.tdiv_q(right))

    def _extreme(self, function: str, values: list[isl.PwAff]) -> isl.PwAff:
        result = values[0]
        for other in values[1:]:
            result = result.min(other) if function == "min" else result.max(other)
        return self._pruned(result)

    def _pruned(self, value: isl.PwAff) -> isl.PwAff:
        """`value` without the pieces that the domain rules out."""
        return coalesced(value.intersect_domain(self.domain).gist(self.domain))

    def never(self, condition: isl.Set) -> bool:
        return bool(self.domain.is_disjoint(condition))


def _integer(text: str) -> int:
    digits = text.rstrip("uUlL")
    return int(digits, 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0)
