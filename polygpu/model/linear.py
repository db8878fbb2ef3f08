"""Integer expressions in linear normal form, so that generated indices are short and cancel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from polygpu.model.expr import COMPARISONS, Binary, Call, Expr, Int, Name, Select, Unary, limits, type_of
from polygpu.model.rewrite import REMEMBERED, children, scalars_in, walk, with_children
from polygpu.support.dataclass import dataclass

_AFFINE = COMPARISONS | {"+", "-", "*", "/", "%"}


@dataclass(frozen=True)
class Linear:
    """`constant` + sum of coefficient * atom, atoms in order of first appearance, no zero coefficients."""

    terms: tuple[tuple[Expr, int], ...]
    constant: int = 0

    @cached_property
    def names(self) -> frozenset[str]:
        """The scalars in its atoms."""
        return scalars_in(*(atom for atom, _ in self.terms))

    @property
    def fits(self) -> bool:
        """Whether its numbers are of type int, so that the sum is computed in int."""
        low, high = limits("int")
        return all(low <= number <= high for number in (self.constant, *(c for _, c in self.terms)))

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        sums = dict(self.terms)
        for atom, coefficient in other.terms:
            sums[atom] = sums.get(atom, 0) + factor * coefficient
        kept = tuple((a, c) for a, c in sums.items() if c)
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: int) -> Linear:
        return Linear((), 0).plus(self, factor)


@lru_cache(REMEMBERED)
def linear(expr: Expr) -> Linear:
    """`expr` as a sum; what is not linear becomes an atom, and so does what is not `affine`."""
    if isinstance(expr, Int):
        return Linear((), expr.value)
    sum_ = _sum(expr) if affine(expr) else None
    return sum_ if sum_ is not None and sum_.fits else Linear(((expr, 1),))


@lru_cache(REMEMBERED)
def affine(expr: Expr) -> bool:
    """Whether `expr` is what polyhedra are made of, computed in int: it may be computed another way.

    Other types have other rules: unsigned values wrap around, floating ones are rounded. And of products and
    of data, only what the source computes is known to be in range.
    """
    match expr:
        case Int() | Name():
            return type_of(expr) == "int"
        case Binary("*", left, right) if not (_constant(left) or _constant(right)):
            return False
        case Binary("/" | "%", _, right) if not _constant(right):
            return False
        case Binary(op) if op not in _AFFINE:
            return False
        case Unary("-" | "!") | Binary() | Call("min" | "max" | "floord", _, "int") | Select():
            return all(map(affine, children(expr)))
    return False


def _constant(expr: Expr) -> bool:
    return not any(isinstance(e, Name) for e in walk(expr))


def _sum(expr: Expr) -> Linear | None:
    match expr:
        case Unary("-", operand):
            return linear(operand).times(-1)
        case Binary("+", left, right):
            return linear(left).plus(linear(right))
        case Binary("-", left, right):
            return linear(left).plus(linear(right), -1)
        case Binary("*", left, right):
            a, b = linear(left), linear(right)
            if not a.terms:
                return b.times(a.constant)
            return None if b.terms else a.times(b.constant)
    return None


def expression(sum_: Linear) -> Expr:
    """The sum written with as few operators as possible, a positive term first."""
    terms = sorted(sum_.terms, key=lambda t: t[1] < 0)
    result: Expr | None = None
    for atom, coefficient in terms:
        size = abs(coefficient)
        term: Expr = atom if size == 1 else Binary("*", Int(size), atom)
        if result is None:
            result = term if coefficient > 0 else _negated(atom, size)
        else:
            result = Binary("+" if coefficient > 0 else "-", result, term)
    if result is None:
        return Int(sum_.constant)
    if sum_.constant == 0:
        return result
    return Binary("+" if sum_.constant > 0 else "-", result, Int(abs(sum_.constant)))


def _negated(atom: Expr, size: int) -> Expr:
    return Unary("-", atom) if size == 1 else Binary("*", Int(-size), atom)


def simplify(expr: Expr) -> Expr:
    """`expr` with its parts that are `affine` in normal form, at every depth; the others stay."""
    return _simplified(expr) if isinstance(expr, Unary | Binary | Call) else expr


@lru_cache(REMEMBERED)
def _simplified(expr: Expr) -> Expr:
    expr = with_children(expr, tuple(map(simplify, children(expr))))
    if not affine(expr):
        return expr
    match expr:
        case Unary("-") | Binary("+" | "-" | "*"):
            return expression(linear(expr))
        case Binary("/", a, Int(1)) | Call("floord", (a, Int(1))):
            return a
        case Binary("%", _, Int(1)):
            return Int(0)
        case Binary("/", Int(a), Int(b)) if a >= 0 and b > 0:
            return Int(a // b)
        case Binary("%", Int(a), Int(b)) if a >= 0 and b > 0:
            return Int(a % b)
        case Call("floord", (Int(a), Int(b))):
            return Int(a // b)
        case Call("min" | "max", arguments):
            return _extreme(expr.function, arguments)
    return expr


def _extreme(function: str, arguments: tuple[Expr, ...]) -> Expr:
    """min or max of the distinct arguments; those a constant away from another one drop out."""
    flat: list[Expr] = []
    for a in arguments:
        match a:
            case Call(inner, parts, "int") if inner == function:
                flat.extend(parts)
            case _:
                flat.append(a)
    kept: list[Linear] = []
    for candidate in (linear(a) for a in flat):
        twin = next((k for k in kept if k.terms == candidate.terms), None)
        if twin is None:
            kept.append(candidate)
            continue
        better = min if function == "min" else max
        kept[kept.index(twin)] = better(twin, candidate, key=lambda s: s.constant)
    found = tuple(expression(k) for k in kept)
    return found[0] if len(found) == 1 else Call(function, found, "int")


def add(left: Expr, right: Expr | int) -> Expr:
    return simplify(Binary("+", left, Int(right) if isinstance(right, int) else right))


def subtract(left: Expr, right: Expr | int) -> Expr:
    return simplify(Binary("-", left, Int(right) if isinstance(right, int) else right))


def multiply(left: Expr, factor: Expr | int) -> Expr:
    return simplify(Binary("*", left, Int(factor) if isinstance(factor, int) else factor))


def minimum(*arguments: Expr) -> Expr:
    return simplify(Call("min", arguments, "int"))


def maximum(*arguments: Expr) -> Expr:
    return simplify(Call("max", arguments, "int"))


def conjunction(tests: list[Expr]) -> Expr | None:
    """All of `tests`; None when there are none. Repeated tests count once."""
    result: Expr | None = None
    for test in dict.fromkeys(tests):
        result = test if result is None else Binary("&&", result, test)
    return result


def conjuncts(test: Expr) -> list[Expr]:
    """`a && b && c` as a list."""
    match test:
        case Binary("&&", left, right):
            return conjuncts(left) + conjuncts(right)
    return [test]


def divides(factor: int, expr: Expr, multiples: Mapping[str, int]) -> bool:
    """Whether `expr` is provably a multiple of `factor`; `multiples` holds what names are multiples of."""
    sum_ = linear(expr)
    if sum_.constant % factor:
        return False
    for atom, coefficient in sum_.terms:
        known = multiples.get(atom.name, 1) if isinstance(atom, Name) else 1
        if (known * coefficient) % factor:
            return False
    return True
