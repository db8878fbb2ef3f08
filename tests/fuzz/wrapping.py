"""Programs over unsigned and narrow values as C runs them: what leaves its loops' bounds or arrays tests no
compiler.

`i < n - 1` is true of (nearly) all i where n is an unsigned 0, a[-j + n] is far away where j is an unsigned
int and n an unsigned long, and a char is 44 where it is set to 300.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from tests.fuzz.program import (
    PARAMETERS,
    Affine,
    Assign,
    Declare,
    If,
    Leave,
    Loop,
    Node,
    Operation,
    Program,
    Turn,
    Value,
    constant_type,
    with_literals,
)
from tests.fuzz.ranges import reads_of

_BITS = {
    "char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16,
    "int": 32, "unsigned int": 32, "long": 64, "unsigned long": 64,
}  # fmt: skip

_RANGES = {
    name: (0, 2**bits - 1) if "unsigned" in name else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for name, bits in _BITS.items()
}


@dataclass(frozen=True)
class Integer:
    """A value of a C type."""

    value: int
    type: str

    def converted(self, ctype: str) -> Integer:
        least, most = _RANGES[ctype]
        if least <= self.value <= most:
            return self if ctype == self.type else Integer(self.value, ctype)
        return Integer((self.value - least) % (most - least + 1) + least, ctype)

    def __add__(self, other: Integer) -> Integer:
        ctype = _common(self.type, other.type)
        return Integer(self.value + other.value, ctype).converted(ctype)

    def __sub__(self, other: Integer) -> Integer:
        ctype = _common(self.type, other.type)
        return Integer(self.converted(ctype).value - other.converted(ctype).value, ctype).converted(ctype)

    def __mul__(self, other: Integer) -> Integer:
        ctype = _common(self.type, other.type)
        return Integer(self.value * other.value, ctype).converted(ctype)

    def less(self, other: Integer) -> bool:
        ctype = _common(self.type, other.type)
        return self.converted(ctype).value < other.converted(ctype).value


@cache
def _common(left: str, right: str) -> str:
    """The wider type, int at least, and of two as wide the unsigned one."""
    return max("int", left, right, key=lambda ctype: (_BITS[ctype], "unsigned" in ctype))


Values = Mapping[str, Integer]


def within_bounds(program: Program) -> Program:
    """`program` with the sizes at which it stays within its bounds; signed if there are none."""
    fitting = tuple(size for size in program.sizes if fits(program, *size))
    if fitting:
        return replace(program, sizes=fitting)
    return replace(program, parameter="int", regions=tuple(_signed(region) for region in program.regions))


def _signed(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    def change(node: Node) -> Node:
        match node:
            case Loop():
                return replace(node, type="long" if "long" in node.type else "int", body=_signed(node.body))
            case If(_, then, otherwise):
                return replace(node, then=_signed(then), otherwise=_signed(otherwise))
        return node

    return tuple(map(change, nodes))


def fits(program: Program, n: int, m: int) -> bool:
    """Whether it stays within its bounds at these sizes."""
    types = dict.fromkeys(PARAMETERS, program.parameter)
    types |= {name: constant_type(spelling, program.parameter) for name, spelling in program.constants}
    values = {"n": Integer(n, types["n"]), "m": Integer(m, types["m"])}
    run = _Run(with_literals(program), "int" if program.old else "")
    return all(run.all_fit(region, values) for region in run.regions)


class _Run:
    """Of a program's `regions`, in which each iterator is of the type `old` if that is one."""

    def __init__(self, regions: tuple[tuple[Node, ...], ...], old: str) -> None:
        self.regions, self.old = regions, old
        self.subscripts: dict[int, tuple[Affine, ...]] = {}  # of a value of the regions, by its identity

    def all_fit(self, nodes: tuple[Node, ...], values: Values) -> bool:
        for node in nodes:
            match node:
                case Loop():
                    inside = self._loop_fits(node, values)
                case If(test, then, otherwise):
                    inside = self._reach(test, values) and _compares(test, values)
                    inside = inside and self.all_fit(then, values) and self.all_fit(otherwise, values)
                case Assign(target, _, value):
                    inside = self._reach(target, values) and self._reach(value, values)
                case Declare(_, _, value):
                    inside = value is None or self._reach(value, values)
                case Turn(_, _, start, limit, _, body):
                    inside = self._reach(start, values) and self._reach(limit, values)
                    inside = inside and self.all_fit(body, values)
                case Leave():
                    inside = True
            if not inside:
                return False
        return True

    def _reach(self, value: Value, values: Values) -> bool:
        """Whether all subscripts are what they would be of mathematical integers: those of signed ones are.

        They are looked for once, and computed in each iteration.
        """
        subscripts = self.subscripts.get(id(value))
        if subscripts is None:
            read = (s for r in reads_of(value) for s in r.subscripts if isinstance(s, Affine))
            self.subscripts[id(value)] = subscripts = tuple(dict.fromkeys(read))
        for s in subscripts:
            unsigned = any(values[name].type.startswith("unsigned") for name, _ in s.terms)
            if unsigned and _value(s, values).value != _plain(s, values):
                return False
        return True

    def _loop_fits(self, loop: Loop, values: Values) -> bool:
        ctype = self.old or loop.type
        low = max(_plain(a, values) for a in loop.lowers)
        high = min(_plain(a, values) for a in loop.uppers)
        first, test = _header(loop, values, self.old)
        i = first.converted(ctype)
        while test(i):
            if not low <= i.value < high or not self.all_fit(loop.body, {**values, loop.iterator: i}):
                return False
            following = i + Integer(loop.step, "int")
            i = following.converted(ctype)
            if i.value != following.value and low <= i.value < high and test(i):
                return False  # it begins again
        return True


def _compares(test: Value, values: Values) -> bool:
    """Whether a test compares what it would of mathematical integers: below 0 nothing is compared with an
    unsigned value, which compilers may refuse. A difference of unsigned ones wraps around, for them to see.
    """
    if not isinstance(test, Operation):
        return True
    sides = [side for side in test.operands if isinstance(side, Affine)]
    below = any(_value(side, values).value < 0 for side in sides)
    mixed = any("unsigned" in values[name].type for side in sides for name, _ in side.terms)
    return not (below and mixed) and all(_compares(inner, values) for inner in test.operands)


def _header(loop: Loop, values: Values, old: str) -> tuple[Integer, Callable[[Integer], bool]]:
    """What the iterator starts with and the test, as `text` writes them."""
    before = Affine((), -1)
    if loop.step < 0:
        first = _extreme([_value(u + before, values) for u in loop.uppers], least=True)
        if loop.wraps and not old:
            end = _value(loop.uppers[0], values)
            return first, lambda i: i.less(end)
        if loop.inclusive and len(loop.lowers) == 1:
            below = _value(loop.lowers[0] + before, values)
            return first, below.less
        if loop.apart:
            lows = [_value(a, values) for a in loop.lowers]
            return first, lambda i: not any(i.less(low) for low in lows)
        low = _extreme([_value(a, values) for a in loop.lowers], least=False)
        return first, lambda i: not i.less(low)
    first = _extreme([_value(a, values) for a in loop.lowers], least=False)
    if loop.inclusive and len(loop.uppers) == 1:
        last = _value(loop.uppers[0] + before, values)
        return first, lambda i: not last.less(i)
    if loop.apart:
        ends = [_value(u, values) for u in loop.uppers]
        return first, lambda i: all(i.less(end) for end in ends)
    end = _extreme([_value(u, values) for u in loop.uppers], least=True)
    return first, lambda i: i.less(end)


def _extreme(found: list[Integer], least: bool) -> Integer:
    """a < b ? a : b, or with >: of the common type of both."""
    if len(found) == 1:
        return found[0]
    a, b = found
    chosen = (a if a.less(b) else b) if least else (a if b.less(a) else b)
    return chosen.converted(_common(a.type, b.type))


def _value(a: Affine, values: Values) -> Integer:
    """As C computes `text`: n - i converts i to the type of n, which n + -1 * i would not."""
    total = Integer(0, "int")
    for position, (name, factor) in enumerate(a.terms):
        value = values[name]
        if position == 0:
            total = value * Integer(factor, "int")
        else:
            term = value * Integer(abs(factor), "int")
            total = total - term if factor < 0 else total + term
    return total + Integer(a.constant, "int")


def _plain(a: Affine, values: Values) -> int:
    """As mathematical integers."""
    return sum(values[name].value * factor for name, factor in a.terms) + a.constant
