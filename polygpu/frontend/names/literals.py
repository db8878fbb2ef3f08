"""Constants as C spells them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from polygpu.frontend.names.constants import number
from polygpu.model.expr import Expr, Int, Literal

_NOTHING = -400  # the exponent of numbers that are far below all a double has


def constant(ctype: str, text: str) -> Expr | None:
    """A numeric constant; None for what the device does not have (long double, strings, complex)."""
    if ctype == "bool":
        return Int(int(text == "true"))
    if ctype in ("float", "double"):
        return _floating(text)
    found = number(text)
    if found is None or found.type == "int":
        return found.expr if found else None
    body = text.rstrip("uUlL")
    spelled = str(found.value) if body.lower().startswith("0b") else body
    return Literal(f"{spelled}{found.suffix}", found.type)


def _floating(text: str) -> Expr | None:
    last = text[-1].lower()
    hexadecimal = text.lower().startswith("0x")
    if last == "f" and not (hexadecimal and "p" not in text.lower()):
        return Literal(text, "float")
    return None if last in "ilj" else Literal(text, "double")


def double(text: str) -> Expr | None:
    """A decimal constant of type long double, as `(double)` converts it: as <float.h> has DBL_MAX.

    None where that depends on how many bits a long double has.
    """
    digits = text.lower().removesuffix("l")
    if digits.startswith("0x") or digits == text.lower():
        return None
    try:
        if Decimal(digits).adjusted() < _NOTHING:
            return Literal("0.0", "double")
        if Decimal(digits).adjusted() > -_NOTHING:
            return None
        exact = Fraction(digits)
        found = float(exact)
        same = all(float(_rounded(exact, bits)) == found for bits in (64, 113))
    except ArithmeticError:
        return None
    return Literal(repr(found), "double") if same else None


def _rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number of so many bits, of two equally near ones the even one; `value` >= 0."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    unit = Fraction(2) ** exponent
    while value / unit >= 2**bits:
        unit *= 2
    return round(value / unit) * unit
