"""Integer constants and what C computes of them, in their types (C99 6.4.4 and 6.6)."""

from __future__ import annotations

from collections.abc import Callable

from polygpu.model.expr import Cast, Expr, Int, Literal, common_type, is_floating, limits
from polygpu.support.dataclass import dataclass

_ESCAPES = {
    "n": 10,
    "t": 9,
    "r": 13,
    "a": 7,
    "b": 8,
    "e": 27,
    "f": 12,
    "v": 11,
    "\\": 92,
    "'": 39,
    '"': 34,
    "?": 63,
}
_SUFFIXES = {
    "": "int", "u": "unsigned int", "l": "long", "ul": "unsigned long", "lu": "unsigned long",
    "ll": "long long", "ull": "unsigned long long", "llu": "unsigned long long",
}  # fmt: skip
_UNSIGNED = frozenset({"unsigned int", "unsigned long", "unsigned long long"})


@dataclass(frozen=True)
class Constant:
    """A value of an integer type, which holds it."""

    value: int
    type: str = "int"

    def converted(self, ctype: str) -> Constant | None:
        """As gcc converts: modulo 2^bits. None for a floating type."""
        if is_floating(ctype):
            return None
        if ctype == "_Bool":
            return Constant(int(self.value != 0), ctype)
        low, high = limits(ctype)
        return Constant((self.value - low) % (high - low + 1) + low, ctype)

    @property
    def suffix(self) -> str:
        """Of a literal of the type; narrow ones are promoted to int."""
        return ("u" if self.type in _UNSIGNED else "") + "l" * self.type.count("long")

    @property
    def text(self) -> str:
        """As C and C++ spell it, with no operator outside of brackets."""
        if self.value == limits(common_type(self.type, "int"))[0] < 0:  # 2147483648 is no int
            return f"({self.value + 1}{self.suffix} - 1)"
        return f"{self.value}{self.suffix}" if self.value >= 0 else f"({self.value}{self.suffix})"

    @property
    def expr(self) -> Expr:
        """What it is in arithmetic, which promotes narrow types to int."""
        ctype = common_type(self.type, "int")
        if ctype == "int":
            return Int(self.value)
        return Literal(self.text, ctype) if self.value >= 0 else Cast(ctype, Int(self.value))


def number(text: str) -> Constant | None:
    """An integer constant with the first type of its suffix's list that holds it (C99 6.4.4.1)."""
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
    return Constant(value, ctype) if value <= limits(ctype)[1] else None


def integer(text: str) -> int | None:
    """The value of an integer constant as C spells it (decimal, octal, hexadecimal, binary, suffixes)."""
    body = text.rstrip("uUlL").lower()
    try:
        if body.startswith("0") and body.isdigit() and len(body) > 1:
            return int(body, 8)
        return int(body, 0)
    except ValueError:
        return None


def character(text: str) -> int | None:
    """The value of a character constant, an int in C; None for one of several characters."""
    prefix, _, body = text[:-1].partition("'")
    if len(body) > 1 and body[0] == "\\":
        value = _escaped(body[1:])
    else:
        value = ord(body) if len(body) == 1 and (prefix or body.isascii()) else None
    if value is None or prefix:
        return value
    return value - 256 if 128 <= value < 256 else value  # char is signed


def _escaped(body: str) -> int | None:
    try:
        if body[0] == "x":
            return int(body[1:], 16)
        if body[0].isdigit():
            return int(body, 8)
    except ValueError:
        return None
    return _ESCAPES.get(body)


def unary(op: str, operand: Constant) -> Constant | None:
    """The value of -, +, ~ or !."""
    if op == "!":
        return Constant(int(not operand.value))
    ctype = common_type(operand.type, "int")
    return _wrapped(_UNARY[op](operand.value), ctype)


def binary(op: str, left: Constant, right: Constant) -> Constant | None:
    """None for what is undefined in C, or no operator of constants."""
    if op in ("&&", "||"):
        return Constant(
            int(bool(left.value and right.value) if op == "&&" else bool(left.value or right.value))
        )
    if op in ("<<", ">>"):
        ctype = common_type(left.type, "int")
        if right.value >= limits(ctype)[1].bit_length():
            return None
        value = fold(op, left.value, right.value)
        return None if value is None else _wrapped(value, ctype)
    ctype = common_type(left.type, right.type)
    a, b = left.converted(ctype), right.converted(ctype)
    value = fold(op, a.value, b.value) if a and b else None
    if value is None:
        return None
    return Constant(value) if op in _COMPARE else _wrapped(value, ctype)


def _wrapped(value: int, ctype: str) -> Constant | None:
    """Unsigned arithmetic wraps around; what signed arithmetic does beyond its range is undefined."""
    low, high = limits(ctype)
    if low == 0:
        return Constant(value, "unsigned long long").converted(ctype)
    return Constant(value, ctype) if low <= value <= high else None


_UNARY: dict[str, Callable[[int], int]] = {"-": int.__neg__, "+": int.__pos__, "~": int.__invert__}
_COMPARE = {
    "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
}  # fmt: skip


def fold(op: str, left: int, right: int) -> int | None:
    """C's operators on integers without a range."""
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if right:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if op == "/" else left - quotient * right
        case "<<" if 0 <= right < 64:
            return left << right
        case ">>" if 0 <= right < 64:
            return left >> right
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            return int(_COMPARE[op](left, right))
    return None
