"""Constants as C spells them."""

from __future__ import annotations

from polygpu.frontend.scopes import integer
from polygpu.model.expr import Expr, Int, Literal

_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "a": 7, "b": 8, "f": 12, "v": 11}
_SUFFIXES = {
    "": "int", "u": "unsigned int", "l": "long", "ul": "unsigned long", "lu": "unsigned long",
    "ll": "long long", "ull": "unsigned long long", "llu": "unsigned long long",
}  # fmt: skip


def constant(ctype: str, text: str) -> Expr | None:
    """A numeric constant; None for what the device does not have (long double, strings, complex)."""
    if ctype == "bool":
        return Int(int(text == "true"))
    if ctype in ("float", "double"):
        return _floating(text)
    return _integer(text)


def _floating(text: str) -> Expr | None:
    last = text[-1].lower()
    hexadecimal = text.lower().startswith("0x")
    if last == "f" and not (hexadecimal and "p" not in text.lower()):
        return Literal(text, "float")
    return None if last in "ilj" else Literal(text, "double")


def _integer(text: str) -> Expr | None:
    """C99 6.4.4.1: the first type of the suffix's list that holds the value."""
    value = integer(text)
    body = text.lower().rstrip("ul")
    suffix = text.lower()[len(body) :]
    if value is None or suffix not in _SUFFIXES:
        return None
    ctype = _SUFFIXES[suffix]
    decimal = not body.startswith("0")
    if ctype == "int" and value >= 2**31:
        ctype = "unsigned int" if value < 2**32 and not decimal else "long"
    if ctype == "unsigned int" and value >= 2**32:
        ctype = "unsigned long"
    if ctype in ("long", "long long") and value >= 2**63:
        ctype = f"unsigned {ctype}"
    if ctype == "int":
        return Int(value)
    spelled = str(value) if body.startswith("0b") else text[: len(body)]
    return Literal(f"{spelled}{_spelling(ctype)}", ctype)


def _spelling(ctype: str) -> str:
    return ("u" if ctype.startswith("unsigned") else "") + "l" * ctype.count("long")


def character(text: str) -> int:
    """The value of a character constant (an int in C)."""
    body = text[text.index("'") + 1 : -1]
    if not body.startswith("\\"):
        return ord(body[0]) if body else 0
    if body[1] == "x":
        return int(body[2:] or "0", 16)
    if body[1].isdigit():
        return int(body[1:], 8)
    return _ESCAPES.get(body[1], ord(body[1]))
