"""Prints expressions, places and host bodies; a Dialect supplies what differs between languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TypeAlias

from polygpu.model.expr import (
    COMPARISONS,
    SIZES,
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
from polygpu.model.kernel import (
    ArrayArgument,
    DeclareArray,
    For,
    HostFor,
    HostIf,
    HostStatement,
    Launch,
    SharedArray,
)
from polygpu.model.offsets import linear_offset, negated, product_of, sum_of
from polygpu.printing.dialect import Dialect, words
from polygpu.printing.dialects import HOST_C
from polygpu.printing.nvcc import without_negations, without_negative_factors
from polygpu.printing.scaled import Factor, factor, number
from polygpu.support.dataclass import dataclass

AnyArray: TypeAlias = ArrayArgument | SharedArray | DeclareArray

SELECT, UNARY, PRIMARY = 0, 11, 12
LEVELS = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip

# C's functions of floating values whose arguments all have the type of the result.
MATH = words("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
    fma fmax fmin fmod hypot lgamma log log10 log1p log2 nearbyint pow remainder rint round sin sinh sqrt tan
    tanh tgamma trunc
""")
_ABSOLUTE = frozenset({"abs", "labs", "llabs"})


@dataclass(frozen=True, slots=True)
class Names:
    """How the names of a kernel or of host code are spelled.

    `offset` is the integer type in which offsets into arrays of two or more dimensions are computed;
    "" where int is known to hold them. `builtins` overrides the dialect's spelling of built-in indices,
    `constants` that of arrays that are variables of the file. `values` are those of scalars of a kernel's
    (`printing.nvcc`).
    """

    dialect: Dialect
    arrays: Mapping[str, AnyArray] = field(default_factory=dict)
    offset: str = ""
    builtins: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Expr | None] = field(default_factory=dict)

    def spell(self, name: str) -> str:
        """A scalar, an iterator or a built-in index."""
        return self.builtins.get(name) or self.dialect.builtins.get(name) or self.dialect.spell(name)

    def spell_array(self, name: str) -> str:
        return self.constants.get(name) or self.dialect.spell(name)

    def space(self, reference: Reference) -> str:
        """The memory space of an array that is not private, as types of pointers to its elements have it."""
        match self.arrays[reference.array]:
            case SharedArray():
                return self.dialect.shared_space
            case ArrayArgument(space="constant"):
                return self.dialect.constant_space
        return self.dialect.global_space

    def texture(self, reference: Reference) -> bool:
        """Whether the element is loaded by the dialect's load through the texture cache."""
        array = self.arrays[reference.array]
        through = isinstance(array, ArrayArgument) and array.space == "texture"
        return through and bool(self.dialect.texture_load) and reference.type in self.dialect.vectors

    def private(self, reference: Reference) -> bool:
        """Whether the element is in an array that each thread has for itself."""
        return isinstance(self.arrays[reference.array], DeclareArray)


HOST_NAMES = Names(HOST_C)


def print_expr(expr: Expr, names: Names = HOST_NAMES) -> str:
    """The text of `expr` with no more parentheses than C and its readers need."""
    return _print(expr, names)[0]


def print_scaled(value: Expr, ctype: str, names: Names = HOST_NAMES) -> str:
    """A float times a constant of double for a variable of the type float, without arithmetic in double; ""
    for what is anything else.
    """
    match value:
        case Binary("*", left, right) if ctype == "float" and names.dialect.scaled:
            for constant, other in ((left, right), (right, left)):
                found = _factor(constant) if type_of(other) == "float" else None
                if found is not None:
                    parts = {part: _hexadecimal(getattr(found, part)) for part in ("high", "low", "least")}
                    texts = {"value": print_expr(other, names), "constant": print_expr(constant, names)}
                    return names.dialect.scaled.format(**texts, **parts)
    return ""


def _factor(constant: Expr) -> Factor | None:
    match constant:
        case Literal(text, "double"):
            return factor(number(text))
        case Unary("-", Literal(text, "double")):
            return factor(-number(text))
    return None


def _hexadecimal(value: float) -> str:
    """As C spells it, without zeros at the end of its fraction."""
    digits, exponent = value.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def _operand(expr: Expr, level: int, names: Names) -> str:
    text, own = _print(expr, names)
    return text if own >= level else f"({text})"


def _print(expr: Expr, names: Names) -> tuple[str, int]:
    """The text and the level at which it binds."""
    match expr:
        case Int(value):
            return _integer(value, names.dialect)
        case Literal(spelling, _):
            return _literal(spelling, names.dialect), PRIMARY
        case Name(name, _):
            return _name(names.spell(name))
        case Reference():
            place = print_place(expr, names)
            return names.dialect.texture_load.format(place=place) if names.texture(expr) else place, PRIMARY
        case Unary(op, operand):
            inner = _operand(operand, UNARY, names)
            return f"{op}({inner})" if inner.startswith(op) else f"{op}{inner}", UNARY
        case Cast(ctype, operand):
            scaled = print_scaled(operand, ctype, names)
            return (scaled, PRIMARY) if scaled else _cast(ctype, operand, names)
        case Binary():
            return _binary(expr, names), LEVELS[expr.op]
        case Select(test, yes, no):
            return (
                f"{_operand(test, 1, names)} ? {print_expr(yes, names)} : {_operand(no, SELECT, names)}",
                SELECT,
            )
        case Call():
            return _call(expr, names)


def _name(spelled: str) -> tuple[str, int]:
    """A name, or the expression that a built-in index is spelled as."""
    if " + " in spelled:
        return spelled, LEVELS["+"]
    return spelled, UNARY if spelled.startswith("(int)") else PRIMARY


def _integer(value: int, dialect: Dialect) -> tuple[str, int]:
    suffix = "" if -(2**31) <= value < 2**31 else dialect.long_suffix
    if value in (-(2**31), -(2**63)):  # C has no such constants, only negated ones that are too large
        return f"{value + 1}{suffix} - 1", LEVELS["-"]
    return f"{value}{suffix}", PRIMARY if value >= 0 else UNARY


def _literal(text: str, dialect: Dialect) -> str:
    if dialect.long_suffix == "L" and text[-2:].upper() == "LL":
        return text[:-1]
    return text


def _cast(ctype: str, operand: Expr, names: Names) -> tuple[str, int]:
    if ctype == "_Bool" and names.dialect.stored.get("_Bool"):
        return f"{_operand(operand, LEVELS['!='] + 1, names)} != 0", LEVELS["!="]
    return f"({names.dialect.type(ctype)}){_operand(operand, UNARY, names)}", UNARY


def _binary(expr: Binary, names: Names) -> str:
    match expr:
        case Binary("+" | "-", base, Int(value)) if -(2**31) < value < 0:
            return _binary(Binary("-" if expr.op == "+" else "+", base, Int(-value)), names)
    level = LEVELS[expr.op]
    left = _operand(expr.left, PRIMARY if _confusing(expr.op, expr.left) else level, names)
    right = _operand(expr.right, PRIMARY if _confusing(expr.op, expr.right) else level + 1, names)
    return f"{left} {expr.op} {right}"


def _confusing(op: str, operand: Expr) -> bool:
    """Where C needs no parentheses but compilers warn without them."""
    comparison = op in COMPARISONS and op not in ("&&", "||")
    if isinstance(operand, Unary):
        return operand.op == "!" and (comparison or op in ("|", "^", "&"))
    if not isinstance(operand, Binary):
        return False
    if op == "||":
        return operand.op == "&&"
    if op in ("|", "^", "&"):
        return operand.op != op
    if op in ("<<", ">>"):
        return operand.op in ("+", "-", "<<", ">>")
    return comparison and operand.op in COMPARISONS


def _call(call: Call, names: Names) -> tuple[str, int]:
    dialect, name = names.dialect, call.function
    base = name.removesuffix("f") if name not in MATH else name
    match name:
        case "min" | "max" if call.type == "int" and name not in dialect.calls:
            sign, extreme = without_negations(call)
            return f"{sign}{_nested(extreme, names)}", UNARY if sign else PRIMARY
        case "min" | "max" if not is_floating(call.type):
            return _nested(call, names), PRIMARY
        case "floord":
            spelled = dialect.calls.get(quotient(call), quotient(call))
        case _ if base in MATH:
            spelled = name if dialect.float_functions else dialect.calls.get(base, base)
        case _ if name in _ABSOLUTE:
            spelled = dialect.calls.get(name, name)
        case _:
            texts = ", ".join(print_expr(a, names) for a in call.arguments)
            return f"{dialect.spell_function(name)}({texts})", PRIMARY
    arguments = ", ".join(print_expr(_converted(a, call.type), names) for a in call.arguments)
    return f"{spelled}({arguments})", UNARY if spelled.startswith("(") else PRIMARY


def quotient(call: Call) -> str:
    """`floord`, or what it is in long long."""
    return "floord_long" if size_of(call.type) > 4 else "floord"


def _nested(call: Call, names: Names) -> str:
    """`min(a, b, c)` as calls of two arguments."""
    spelled = names.dialect.calls.get(call.function, call.function)
    texts = [print_expr(_converted(a, call.type), names) for a in call.arguments]
    result = texts.pop()
    while texts:
        result = f"{spelled}({texts.pop()}, {result})"
    return result


def _converted(argument: Expr, ctype: str) -> Expr:
    """`argument` as C's prototype converts it, so that an overloaded function of that type is chosen."""
    if isinstance(argument, Int) and not is_floating(ctype) and size_of(ctype) <= 4:
        return argument
    return argument if type_of(argument) == ctype else Cast(ctype, argument)


def size_of(ctype: str) -> int:
    """Bytes of a canonical type, 0 for a structure."""
    return SIZES.get(ctype, 0)


def print_place(reference: Reference, names: Names) -> str:
    """The lvalue of an array element in its memory space."""
    array = names.arrays[reference.array]
    name = names.spell_array(reference.array)
    if isinstance(array, ArrayArgument):
        offset = without_negative_factors(_offset(reference, array, names.offset))
        text = f"{name}[{print_expr(offset, names)}]"
    else:
        subscripts = map(without_negative_factors, reference.subscripts)
        text = name + "".join(f"[{print_expr(s, names)}]" for s in subscripts)
    fields = "".join(f".{names.dialect.spell(part)}" for part in reference.field.split(".") if part)
    return text + fields


def _offset(reference: Reference, array: ArrayArgument, ctype: str) -> Expr:
    """The element's offset: row-major, the last dimension's rows `pitch` apart."""
    origin = array.origin or (Int(0),) * len(reference.subscripts)
    indices = [sum_of(s, negated(o)) for s, o in zip(reference.subscripts, origin, strict=True)]
    sizes = [*array.extents[1:-1], array.pitch] if len(indices) > 1 else []
    return linear_offset(indices, sizes, ctype)


def indented(lines: Iterable[str], by: str = "    ") -> list[str]:
    """Lines shifted to the right, preprocessor lines too."""
    return [by + line if line else line for line in lines]


def braced(head: str, lines: Iterable[str]) -> list[str]:
    """`head {`, the lines, `}`."""
    return [f"{head} {{", *indented(lines), "}"]


def loop_head(loop: For | HostFor, names: Names) -> str:
    """`for (...)` of a loop of either side, which counts down where its step is less than zero."""
    index = names.dialect.spell(loop.index)
    by = f"{index} {'+' if loop.step > 0 else '-'}= {abs(loop.step)}"
    step = {1: f"++{index}", -1: f"--{index}"}.get(loop.step, by)
    return f"for (int {index} = {print_expr(loop.lower, names)}; {_goes_on(loop, index, names)}; {step})"


def _goes_on(loop: For | HostFor, index: str, names: Names) -> str:
    """The test of a loop: `<=` where the upper bound is `last + 1`, and none against what begins with a sign
    (`printing.nvcc`).
    """
    up = loop.step > 0
    compare, bound = ("<" if up else ">"), loop.upper
    match bound:
        case Binary("+" | "-" as op, last, Int(1)) if (op == "+") == up:
            compare, bound = f"{compare}=", last
        case Int(-1) if not up:
            compare, bound = ">=", Int(0)
    match bound:
        case Unary("-", opposite):
            return f"{index} + {_operand(opposite, LEVELS['*'], names)} {compare} 0"
        case Binary("*", Int(value), other) | Binary("*", other, Int(value)) if value < 0:
            opposite = product_of(Int(-value), other)
            return f"{index} + {_operand(opposite, LEVELS['*'], names)} {compare} 0"
        case Call("min" | "max" as name, _, "int") if name not in names.dialect.calls:
            sign, extreme = without_negations(bound)
            if sign:
                return f"{index} + {_nested(extreme, names)} {compare} 0"
    return f"{index} {compare} {_operand(bound, LEVELS['<<'], names)}"


def print_host(
    body: Iterable[HostStatement],
    launch: Callable[[Launch], Iterable[str]],
    names: Names = HOST_NAMES,
    around: Callable[[HostFor, list[str]], list[str]] = lambda _, lines: lines,
) -> list[str]:
    """The lines of a host body; `launch` gives those of one kernel launch, `around` those of a loop with
    what goes around it.
    """

    def printed(s: HostStatement) -> Iterable[str]:
        match s:
            case HostFor(body=body):
                return around(s, braced(loop_head(s, names), print_host(body, launch, names, around)))
            case HostIf(test, body):
                return braced(f"if ({print_expr(test, names)})", print_host(body, launch, names, around))
            case Launch():
                return launch(s)

    return [line for statement in body for line in printed(statement)]
