"""C text of expressions in the emulator: one value for the block, or one a lane."""

from __future__ import annotations

from polygpu.model.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)

# Integer types that min, max and floord have a version for, and its suffix; "" serves host code.
INTEGERS = (
    ("int64_t", ""),
    ("int", "_int"),
    ("unsigned int", "_uint"),
    ("long", "_long"),
    ("unsigned long", "_ulong"),
    ("long long", "_llong"),
    ("unsigned long long", "_ullong"),
)
_SUFFIXES = dict(INTEGERS)


class Text:
    """Prints expressions as C means them; a subclass says what names, elements and hazards become."""

    def text(self, expr: Expr) -> str:
        """The text of `expr`; an operand of another operator needs `atom`."""
        match expr:
            case Int(value):
                return integer(value)
            case Literal(text, _):
                return text
            case Name():
                return self.name(expr)
            case Reference():
                return self.reference(expr)
            case Unary(op, operand):
                return f"{op}{self.atom(operand)}"
            case Cast(ctype, operand):
                return f"({ctype}){self.atom(operand)}"
            case Binary():
                return self.binary(expr)
            case Select():
                return self.select(expr)
            case Call():
                return self.call(expr)

    def atom(self, expr: Expr) -> str:
        """The text as an operand of anything."""
        text = self.text(expr)
        return text if isinstance(expr, Name | Reference) else parenthesised(text)

    def name(self, name: Name) -> str:
        return name.name

    def reference(self, reference: Reference) -> str:
        fields = f".{reference.field}" if reference.field else ""
        return reference.array + "".join(f"[{self.text(s)}]" for s in reference.subscripts) + fields

    def binary(self, expr: Binary) -> str:
        if expr.op in "/%" and not is_floating(type_of(expr)):
            return f"{self.atom(expr.left)} {expr.op} {self.divisor(expr.right)}"
        return f"{self._left(expr)} {expr.op} {self._right(expr)}"

    def divisor(self, expr: Expr) -> str:
        """The right operand of an integer division."""
        return self.atom(expr)

    def select(self, expr: Select) -> str:
        return f"{self.atom(expr.test)} ? {self.atom(expr.yes)} : {self.atom(expr.no)}"

    def call(self, call: Call) -> str:
        arguments = [self.text(a) for a in call.arguments]
        match call.function:
            case "min" | "max" if not is_floating(call.type):
                name = f"polygpu_{call.function}{_SUFFIXES.get(call.type, '_int')}"
                while len(arguments) > 1:
                    arguments[-2:] = [f"{name}({arguments[-2]}, {arguments[-1]})"]
                return arguments[0]
            case "floord":
                name = "polygpu_floord_int" if call.type == "int" else "polygpu_floord"
                return f"{name}({arguments[0]}, {arguments[1]})"
        return f"{call.function}({', '.join(arguments)})"

    def _left(self, expr: Binary) -> str:
        chains = {"+": "+-*", "-": "+-*", "*": "*"}.get(expr.op, "")
        plain = isinstance(expr.left, Binary) and expr.left.op in chains
        return self.text(expr.left) if plain and chains else self.atom(expr.left)

    def _right(self, expr: Binary) -> str:
        product = isinstance(expr.right, Binary) and expr.right.op == "*"
        return self.text(expr.right) if product and expr.op in "+-" else self.atom(expr.right)


def integer(value: int) -> str:
    """A constant of type int, or long long where it does not fit."""
    if value in (-(2**31), -(2**63)):
        return f"({integer(value + 1)} - 1)"
    suffix = "" if -(2**31) < value < 2**31 else "LL"
    return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"


def parenthesised(text: str) -> str:
    """`text` as an operand: names, numbers, elements and calls stay as they are."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and not (char.isalnum() or char in "_.])"):
            return f"({text})"
        if depth == 0 and char in ")]" and text[0] == "(" and place + 1 < len(text):
            return f"({text})"  # a cast, or a product of sums
    return text


def row_major(indices: list[str], sizes: list[str]) -> str:
    """`(i0 * size1 + i1) * size2 + ...`; "0" without indices."""
    if not indices:
        return "0"
    total = indices[0]
    for index, size in zip(indices[1:], sizes, strict=True):
        row = f"{parenthesised(total)} * {parenthesised(size)}"
        total = index if total == "0" else f"{row} + {parenthesised(index)}"
    return total


def c_string(text: str) -> str:
    """A C string literal, without trigraphs."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?").replace("\n", "\\n")
    return f'"{escaped}"'


PLAIN = Text()
