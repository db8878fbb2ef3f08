"""C integer expressions as piecewise quasi-affine functions of named variables, which are isl parameters.

Every function and condition lives on the zero-dimensional set over parameters; `events` turns the
parameters that are loop, block and thread indices into dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from functools import lru_cache, reduce
from math import prod

import islpy as isl

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Select, Unary
from polygpu.model.rewrite import walk
from polygpu.support.dataclass import dataclass
from polygpu.support.gist import function_gist
from polygpu.support.isl_idioms import coalesced, few_cases, in_time, isl_name, pieces
from polygpu.support.recent import Recent, Same

UNIVERSE = "{ [] : }"
_RECENT = 100
_MANY = 100  # pieces of a comparison
_FEW = 8  # cases, for which it takes less to compare them than to find what they share with the domain


class NotAffineError(Exception):
    """The expression depends on data, or is a product of variables."""


@lru_cache(_RECENT)
def constant(value: int) -> isl.PwAff:
    return isl.PwAff(f"{{ [] -> [({value})] }}")


@lru_cache(_RECENT)
def variable(name: str) -> isl.PwAff:
    """The variable with isl name `name`."""
    return isl.PwAff(f"[{name}] -> {{ [] -> [({name})] }}")


def parameter(name: str) -> isl.PwAff:
    """A variable that C calls `name`."""
    return variable(isl_name(name))


_COMPARE = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGERS = ("char", "short", "int", "long")


@dataclass(frozen=True)
class Scope:
    """Values of names where `domain` holds, whatever they are elsewhere; None for what is not affine.

    `frame` is `domain` without the tests of branches. Scopes made of this one share its `recent` values of
    selections and quotients, of which extents of arrays and ends of loops have the same ones many times.
    """

    domain: isl.Set
    values: Mapping[str, isl.PwAff | None] = field(default_factory=dict)
    frame: isl.Set = field(default_factory=lambda: isl.Set(UNIVERSE))
    recent: Recent[isl.PwAff] = field(default_factory=lambda: Recent(_RECENT), compare=False, repr=False)
    hulls: Recent[isl.Set] = field(default_factory=lambda: Recent(_RECENT), compare=False, repr=False)

    def bind(self, name: str, value: isl.PwAff | None) -> Scope:
        return replace(self, values={**self.values, name: value})

    def where(self, condition: isl.Set) -> Scope:
        return replace(self, domain=_intersected(self.domain, condition))

    def within(self, condition: isl.Set) -> Scope:
        """`where` a condition holds that no test makes: bounds of loops and indices."""
        inside = self.where(condition)
        same = self.frame is self.domain
        return replace(inside, frame=inside.domain if same else _intersected(self.frame, condition))

    @property
    def hull(self) -> isl.Set:
        """One piece around `domain`, made of its constraints."""
        return self.hulls.get(Same(self.domain), lambda: isl.Set.from_basic_set(self.domain.simple_hull()))

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
            case Binary("+" | "-" | "*" as op, left, right):
                return self._arithmetic(op, self.value(left), self.value(right))
            case Call("min" | "max" as function, arguments, _):
                return self._extreme(function, [self.value(a) for a in arguments])
            case Call("floord", (left, right), _):
                return self._quotient(self.value(left), self.value(right), floor=True)
            case Select() | Binary("/" | "%"):
                return self.recent.get(self.key(expr), lambda: self._of_cases(expr))
            case Cast("int" | "long" | "long long", operand):
                return self.value(operand)
            case Unary("!") | Binary("&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">="):
                return self.value(Select(expr, Int(1), Int(0)))
        raise NotAffineError(str(expr))

    def key(self, expr: Expr) -> Hashable:
        """What the value of an expression depends on."""
        names = sorted({e.name for e in walk(expr) if isinstance(e, Name)})
        return expr, Same(self.domain), tuple(Same(self.values.get(n)) for n in names)

    def _of_cases(self, expr: Select | Binary) -> isl.PwAff:
        return self._selected(expr) if isinstance(expr, Select) else self._divided(expr)

    def _selected(self, expr: Select) -> isl.PwAff:
        first = self.where(self.condition(expr.test))
        second = replace(self, domain=coalesced(self.domain.subtract(first.domain)))
        chosen = first.value(expr.yes).intersect_domain(first.domain)
        return chosen.union_add(second.value(expr.no).intersect_domain(second.domain))

    def condition(self, expr: Expr) -> isl.Set:
        """Where `expr` is not zero, as far as that is in `domain`. Raises NotAffineError."""
        match expr:
            case Binary("&&", left, right):
                first = self.condition(left)
                inside = self if _is_plain(right) else self.where(first)
                return first.intersect(inside.condition(right))
            case Binary("||", left, right):
                return self.condition(left).union(self.condition(right))
            case Unary("!", operand):
                return self.condition(operand).complement()
            case Binary(op, left, right) if op in _COMPARE:
                return self._comparison(op, left, right)
        return self.value(expr).ne_set(constant(0))

    def _comparison(self, op: str, left: Expr, right: Expr) -> isl.Set:
        """Term by term; of values where that would make many pieces, of which isl finds no fewer later."""
        if _parts(op, left, right) > _MANY:
            return self._compared(op, left, right)
        return self._by_terms(op, left, right)

    def _by_terms(self, op: str, left: Expr, right: Expr) -> isl.Set:
        """x < min(a, b)  ->  x < a && x < b, which has fewer pieces than the minimum."""
        match _terms(op, left, right):
            case _Terms(all_of, terms):
                found = [self._by_terms(*term) for term in terms]
                return reduce(isl.Set.intersect if all_of else isl.Set.union, found)
            case _Cases(test, yes, no):
                holds = self.condition(test)
                first = holds.intersect(self._by_terms(*yes))
                return first.union(holds.complement().intersect(self._by_terms(*no)))
        return self._compared(op, left, right)

    def _compared(self, op: str, left: Expr, right: Expr) -> isl.Set:
        found: isl.Set = getattr(self.value(left), _COMPARE[op])(self.value(right))
        return found

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
        if not (left.is_cst() or right.is_cst()):
            raise NotAffineError("a product of variables")
        return left.mul(right)

    def _divided(self, expr: Binary) -> isl.PwAff:
        left, right = self.value(expr.left), self.value(expr.right)
        quotient = self._quotient(left, right, floor=False)
        return quotient if expr.op == "/" else left.sub(quotient.mul(right))

    def _quotient(self, left: isl.PwAff, right: isl.PwAff, floor: bool) -> isl.PwAff:
        if not right.is_cst() or not right.lt_set(constant(1)).is_empty():
            raise NotAffineError("a division by no positive constant")
        if floor or self.never(left.lt_set(constant(0))):
            return left.div(right).floor()
        return self._pruned(left.tdiv_q(right))

    def _extreme(self, function: str, values: list[isl.PwAff]) -> isl.PwAff:
        if prod(v.n_piece() for v in values) > _FEW and any(map(_tests_floors, values)):
            # what cases share with the domain makes it long to compare them
            values = [function_gist(value, self.hull) for value in values]
        return self._pruned(self._folded(function, values))

    def _folded(self, function: str, values: list[isl.PwAff]) -> isl.PwAff:
        result = values[0]
        for other in map(few_cases, values[1:]):
            result = few_cases(result)
            result = result.min(other) if function == "min" else result.max(other)
        return result

    def _pruned(self, value: isl.PwAff) -> isl.PwAff:
        """`value` without the pieces that the domain rules out."""
        kept = [(where, aff) for where, aff in pieces(value) if not self.never(where)]
        if len(kept) == 1:
            return isl.PwAff.from_aff(kept[0][1])
        return reduce(isl.PwAff.union_add, (isl.PwAff.alloc(*piece) for piece in kept)) if kept else value

    def never(self, condition: isl.Set) -> bool:
        return bool(self.domain.is_disjoint(condition))


def _intersected(domain: isl.Set, condition: isl.Set) -> isl.Set:
    """The intersection, in few pieces: these are looked for where there are more than before."""
    in_time()  # of a test with many parts, each takes seconds where there are dozens of pieces with floors
    found = domain.intersect(condition)
    return coalesced(found) if found.n_basic_set() > 2 * domain.n_basic_set() else found


@dataclass(frozen=True)
class _Terms:
    """Comparisons of which all hold, or any."""

    all_of: bool
    terms: tuple[tuple[str, Expr, Expr], ...]


@dataclass(frozen=True)
class _Cases:
    """The comparison that holds where a test does, and where it does not."""

    test: Expr
    yes: tuple[str, Expr, Expr]
    no: tuple[str, Expr, Expr]


def _terms(op: str, left: Expr, right: Expr) -> _Terms | _Cases | None:
    """The parts of a comparison with a minimum, a maximum or a selection."""
    if op in _MIRRORED:
        for side, other, seen in ((right, left, op), (left, right, _MIRRORED[op])):
            match _sunk(side):
                case Call("min" | "max" as function, arguments, _):
                    all_of = (function == "min") == (seen in ("<", "<="))
                    return _Terms(all_of, tuple((seen, other, a) for a in arguments))
                case Select(test, yes, no):
                    return _Cases(test, (seen, other, yes), (seen, other, no))
    return None


def _parts(op: str, left: Expr, right: Expr) -> int:
    """How many pieces a comparison has term by term: an intersection of unions has their product."""
    match _terms(op, left, right):
        case _Terms(all_of, terms):
            return (prod if all_of else sum)(_parts(*term) for term in terms)
        case _Cases(_, yes, no):
            return _parts(*yes) + _parts(*no)
    return 1


def _tests_floors(value: isl.PwAff) -> bool:
    return value.n_piece() > 1 and any(
        part.dim(isl.dim_type.div) for where, _ in pieces(value) for part in where.get_basic_sets()
    )


def _is_plain(expr: Expr) -> bool:
    """Whether there is one case of it, wherever it is computed."""
    return not any(
        isinstance(e, Call | Select) or (isinstance(e, Binary) and e.op in "/%") for e in walk(expr)
    )


def _sunk(expr: Expr) -> Expr:
    """c - 2 * min(a, b)  ->  max(c - 2 * a, c - 2 * b)"""
    match expr:
        case Unary("-", operand):
            return _distributed(_sunk(operand), lambda e: Unary("-", e), flips=True) or expr
        case Binary("+" | "-" as op, left, right):
            found = _distributed(_sunk(left), lambda e: Binary(op, e, right), flips=False)
            return found or _distributed(_sunk(right), lambda e: Binary(op, left, e), flips=op == "-") or expr
        case Binary("*", Int(factor), right):
            found = _distributed(_sunk(right), lambda e: Binary("*", Int(factor), e), flips=factor < 0)
            return found or expr
        case Call("floord", (value, Int() as divisor), ctype):
            found = _distributed(_sunk(value), lambda e: Call("floord", (e, divisor), ctype), flips=False)
            return found or expr
    return expr


def _distributed(inner: Expr, around: Callable[[Expr], Expr], flips: bool) -> Expr | None:
    match inner:
        case Call("min" | "max" as function, arguments, ctype):
            other = {"min": "max", "max": "min"}[function]
            return Call(other if flips else function, tuple(map(around, arguments)), ctype)
        case Select(test, yes, no):
            return Select(test, around(yes), around(no))
    return None


def _integer(text: str) -> int:
    digits = text.rstrip("uUlL")
    return int(digits, 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0)
