"""Constants as C spells them."""

from __future__ import annotations

from polygpu.frontend.names.constants import number
from polygpu.model.expr import Expr, Int, Literal


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
