"""Values of parameters alone that no affine form has: `n * m`, computed on the host, becomes a parameter.

So does whether two are equal: those that are not are less or greater, and each `else if` would have twice as
many domains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping

from polygpu.frontend.shape.affine import polynomial
from polygpu.model.expr import Binary, Cast, Expr, Int, Literal, Name, Unary, is_floating, type_of
from polygpu.model.rewrite import walk
from polygpu.support.dataclass import dataclass

_DIVISIONS = ("/", "%")


@dataclass(frozen=True)
class Product:
    """`value` in terms of the region's scalars, called `name`; `host` computes it as the source does."""

    name: str
    type: str
    value: Expr
    host: str

    @property
    def is_truth(self) -> bool:
        """Whether it is 0 or 1, as a test is."""
        return isinstance(self.value, Binary) and self.value.op == "=="


@dataclass
class Products:
    """Grows as values are asked for. `scalars` are what the region only reads, `hosts` how the source has
    those of another name; `unique` makes a name.
    """

    scalars: Container[str]
    hosts: Mapping[str, str]
    unique: Callable[[str], str]
    found: dict[Expr, Product]

    @property
    def names(self) -> frozenset[str]:
        """Of those that stand for amounts."""
        return frozenset(product.name for product in self.found.values() if not product.is_truth)

    def known(self, value: Expr) -> Name | None:
        """The parameter for a value; None where it is made of something else than scalars and numbers."""
        ctype = type_of(value)
        if is_floating(ctype) or not all(map(self._plain, walk(value))):
            return None
        if value not in self.found and (same := self._same(value)) is not None:
            return Name(same.name, ctype)
        if value not in self.found:
            spelled = self.text(value, plain=True).replace("==", "is")
            base = re.sub(r"\W+", "_", spelled).strip("_")
            name = self.unique(base if not base[:1].isdigit() else f"of_{base}")
            self.found[value] = Product(name, ctype, value, self.text(value))
        return Name(self.found[value].name, ctype)

    def _same(self, value: Expr) -> Product | None:
        """What is made of the same factors and terms in another order: `w * h`."""
        if not _is_polynomial(value):
            return None
        terms, others = polynomial(value), (v for v in self.found if type_of(v) == type_of(value))
        return next((self.found[v] for v in others if _is_polynomial(v) and polynomial(v) == terms), None)

    def _plain(self, e: Expr) -> bool:
        match e:
            case Name(name):
                return name in self.scalars
            case Int() | Literal() | Cast() | Unary() | Binary():
                return True
        return False

    def text(self, e: Expr, plain: bool = False) -> str:
        """As C in the source's names, or `plain` in those of the region. Nothing is divided by 0."""
        match e:
            case Int(value):
                return str(value) if value >= 0 else f"({value})"
            case Literal(text):
                return text
            case Name(name):
                return name if plain else self.hosts.get(name, name)
            case Cast(ctype, operand):
                return self.text(operand, plain) if plain else f"({ctype}){self.text(operand)}"
            case Unary(op, operand):
                return f"({op}{self.text(operand, plain)})"
            case Binary(op, left, right):
                a, b = self.text(left, plain), self.text(right, plain)
                divides = op in _DIVISIONS and not plain and not isinstance(right, Int)
                return f"({b} ? {a} {op} {b} : 0)" if divides else f"({a} {op} {b})"
        raise AssertionError(f"{e} is no plain value")


def _is_polynomial(value: Expr) -> bool:
    """Whether it is made of names of its type, and numbers."""
    ctype = type_of(value)
    return all(
        isinstance(e, Int)
        or (isinstance(e, Name) and e.type == ctype)
        or (isinstance(e, Binary) and e.op in ("+", "-", "*"))
        for e in walk(value)
    )
