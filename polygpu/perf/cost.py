"""What kernel statements cost in issued warp instructions, by class.

The rule is that of a compiler of 2007 on CC 1.x: a multiply that feeds an add is one mad; constant parts of
addresses are free, and so is all affine address arithmetic, except one add an iteration of a rolled loop
for each stream of addresses that moves with it; a rolled loop pays compare and branch an iteration. Other
index arithmetic that a rolled loop does not change is computed before it. An add, multiply or mad of floats
may have one operand in shared memory, which is then no load.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from polygpu.model.expr import (
    COMPARISONS,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)
from polygpu.model.expr import Literal as Constant
from polygpu.model.fragments import POLICIES
from polygpu.model.kernel import Assign, Declare, For, Move, Statement
from polygpu.model.kernel_walk import has_barrier, operands, statements
from polygpu.model.linear import linear
from polygpu.model.rewrite import names_in, references
from polygpu.perf.elements import Spaces, reloaded
from polygpu.perf.hoist import Hoister
from polygpu.support.dataclass import dataclass

Cost: TypeAlias = Counter[str]

CLASSES = (
    "add", "multiply", "mad", "divide", "sqrt", "special", "double_add", "double_multiply", "double_mad",
    "double_divide", "double_sqrt", "double_special", "int", "int_multiply", "int_divide", "compare",
    "select", "convert", "move", "call", "load_global", "store_global", "load_constant", "load_texture",
    "load_shared", "store_shared",
    "load_private", "store_private", "copy", "branch", "barrier",
)  # fmt: skip
OF_TENSOR_CORES = tuple(f"tensor_{policy}" for policy in POLICIES)
"""Classes that the emulator, which has no tensor cores, does not count."""

_ROUNDING = frozenset({"floor", "ceil", "trunc", "rint", "nearbyint", "round"})
_COMPARING = frozenset({"min", "max", "fmin", "fmax", "fabs", "abs", "labs", "llabs", "copysign", "fdim"})
_SPECIAL = frozenset({
    "sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow", "sinh", "cosh", "tanh", "asin",
    "acos", "atan", "atan2", "expm1", "log1p", "cbrt", "hypot", "erf", "erfc", "fmod", "rsqrt",
})  # fmt: skip


@dataclass(slots=True)
class Coster:
    """`spaces` tells where arrays lie; `unrolled` are the indices that are constants in unrolled code.

    `hoister` knows the rolled loops around the code.
    """

    spaces: Spaces
    doubles: bool  # the chip has them; else their arithmetic counts as float
    folded: bool  # arithmetic reads an operand from shared memory
    hoister: Hoister
    unrolled: frozenset[str] = frozenset()

    def value(self, expr: Expr) -> Cost:
        """The instructions that compute `expr`, loads included."""
        match expr:
            case Binary():
                return self._binary(expr)
            case Reference():
                return self.access(expr, "load")
            case Call():
                return self._sum(expr.arguments) + Counter({self._call(expr): _times(expr)})
            case Select(test, yes, no):
                sides = (reloaded(test, side) for side in (yes, no))
                return self.value(test) + self._sum(sides) + Counter(select=1)
            case Cast(ctype, operand):
                return self.value(operand) + _conversion(type_of(operand), ctype)
            case Unary(op, operand) if op in "!~" or not is_floating(type_of(operand)):
                folded = isinstance(operand, Int)
                return self.value(operand) + Counter(int=0 if folded else 1)
            case Unary(_, operand):  # a sign is an operand's modifier
                return self.value(operand)
        return Counter()

    def access(self, reference: Reference, kind: Literal["load", "store"]) -> Cost:
        """The load or store and what of its address is not free."""
        cost: Cost = Counter()
        for subscript in reference.subscripts:
            cost += self._address(subscript)
        space = self.spaces.get(reference.array, "private")
        if space != "private" or not all(names_in(s) <= self.unrolled for s in reference.subscripts):
            cost[f"{kind}_{space}"] += 1
        return cost

    def statement(self, statement: Statement) -> Cost:
        """A statement without a body of its own."""
        match statement:
            case Declare(value=None):
                return Counter()
            case Declare(type="int", value=value, mutable=False) if self.hoister.in_loop:
                assert value is not None
                return self._address(value)
            case Declare(value=value):
                assert value is not None
                return self.value(value) + Counter(move=int(statement.mutable and _constant(value)))
            case Assign(Reference() as target, value):
                return self.value(value) + self.access(target, "store")
            case Assign(_, value):
                return self.value(value) + Counter(move=int(isinstance(value, Name) or _constant(value)))
            case Move(target, source, _, asynchronous):
                if asynchronous:
                    return Counter(copy=1)
                return self.access(source, "load") + self.access(target, "store")
        return Counter()

    def test(self, expr: Expr) -> Cost:
        """A guard: its test and the branch."""
        return self.value(expr) + Counter(branch=1)

    def iteration(self, loop: For) -> Cost:
        """One iteration of a loop, its body apart; nothing for an unrolled one.

        The innermost loop compares one of its addresses instead of a counter of its own, unless there are
        barriers in it.
        """
        if loop.unroll:
            return Counter()
        streams = self._streams(loop)
        outer = has_barrier(loop) or any(True for _ in rolled_loops(loop.body))
        counter = 1 if outer or not streams else 0
        return Counter(compare=1, branch=1, int=streams + counter)

    def _streams(self, loop: For) -> int:
        """Distinct addresses, up to constants, that move with the loop's index."""
        keys = set()
        unrolled = self.unrolled | _unrolled(loop.body)
        for reference in accesses(loop.body):
            moving = any(loop.index in names_in(s) for s in reference.subscripts)
            if moving and reference.array in self.spaces:
                keys.add((reference.array, tuple(_stream(s, unrolled) for s in reference.subscripts)))
        return len(keys)

    def _sum(self, exprs: Iterable[Expr]) -> Cost:
        return sum((self.value(e) for e in exprs), Counter())

    def _address(self, expr: Expr) -> Cost:
        """Sums and products of indices are free; what else an address holds is not."""
        match expr:
            case Binary("+" | "-" | "*", left, right):
                return self._address(left) + self._address(right)
            case Unary("-" | "+", operand) | Cast(_, operand):
                return self._address(operand)
            case Call("min" | "max", arguments):
                cost = sum((self._operand(a) for a in arguments), Counter(compare=_times(expr)))
                return Counter() if self.hoister.hoist(expr, cost) else cost
        return self.value(expr)

    def _operand(self, expr: Expr) -> Cost:
        """An affine value that an instruction needs in a register: what is not free of it, and an add."""
        cost = self._address(expr)
        if isinstance(expr, Binary) and expr.op in "+-*":
            cost = cost + Counter(int=1)
            return Counter() if self.hoister.hoist(expr, cost) else cost
        return cost

    def _binary(self, expr: Binary) -> Cost:
        left, right, ctype = expr.left, expr.right, type_of(expr)
        if expr.op in COMPARISONS:
            if expr.op in ("&&", "||"):
                return self._sum((left, reloaded(left, right))) + Counter(int=1)
            return self._sum((left, right)) + Counter(compare=1)
        if not is_floating(ctype):
            cost = self._sum((left, right)) + Counter({_integer(expr): 1})
            return Counter() if self.hoister.hoist(expr, cost) else cost
        cost = _conversion(type_of(left), ctype, left) + _conversion(type_of(right), ctype, right)
        for factor, other in ((left, right), (right, left)):
            if expr.op in "+-" and isinstance(factor, Binary) and factor.op == "*":
                return cost + self._floating("mad", ctype, factor.left, factor.right, other)
        operator = {"+": "add", "-": "add", "*": "multiply", "/": "divide"}[expr.op]
        return cost + self._floating(operator, ctype, left, right)

    def _floating(self, operator: str, ctype: str, *values: Expr) -> Cost:
        """The instruction and its operands, of which one may stay in shared memory."""
        wide = ctype == "double" and self.doubles
        cost = self._sum(values) + Counter({f"double_{operator}" if wide else operator: 1})
        foldable = self.folded and not wide and operator != "divide" and any(map(self._is_shared, values))
        return cost - Counter(load_shared=int(foldable))

    def _is_shared(self, value: Expr) -> bool:
        return isinstance(value, Reference) and self.spaces.get(value.array) == "shared"

    def _call(self, call: Call) -> str:
        name = call.function.removesuffix("f") if is_floating(call.type) else call.function
        prefix = "double_" if call.type == "double" and self.doubles else ""
        if name in _COMPARING:
            return "compare"
        if name in _ROUNDING:
            return "convert"
        if name == "floord":
            return "int" if _power_of_two(call.arguments[1]) else "int_divide"
        if name == "fma":
            return f"{prefix}mad"
        if name == "sqrt":
            return f"{prefix}sqrt"
        return f"{prefix}special" if name in _SPECIAL else "call"


def accesses(body: Iterable[Statement]) -> Iterator[Reference]:
    """Every reference of the statements and their bodies."""
    return (r for s in statements(body) for expr in operands(s) for r in references(expr))


def rolled_loops(body: Iterable[Statement]) -> Iterator[For]:
    """Every loop of the statements, at any depth."""
    return (s for s in statements(body) if isinstance(s, For) and not s.unroll)


def _unrolled(body: Iterable[Statement]) -> set[str]:
    return {s.index for s in statements(body) if isinstance(s, For) and s.unroll}


def _stream(subscript: Expr, unrolled: frozenset[str]) -> frozenset[tuple[Expr, int]]:
    return frozenset((atom, c) for atom, c in linear(subscript).terms if not names_in(atom) <= unrolled)


def _integer(expr: Binary) -> str:
    if expr.op == "*" and not (_power_of_two(expr.left) or _power_of_two(expr.right)):
        return "int_multiply"
    if expr.op in "/%" and not _power_of_two(expr.right):
        return "int_divide"
    return "int"


def _times(call: Call) -> int:
    return max(1, len(call.arguments) - 1) if call.function in ("min", "max") else 1


def _constant(expr: Expr) -> bool:
    return isinstance(expr, Int | Constant)


def _power_of_two(expr: Expr) -> bool:
    return isinstance(expr, Int) and expr.value > 0 and expr.value & (expr.value - 1) == 0


def _conversion(source: str, target: str, value: Expr | None = None) -> Cost:
    changes = is_floating(source) != is_floating(target) or {source, target} == {"float", "double"}
    return Counter(convert=int(changes and not (value is not None and _constant(value))))
