"""Random elements and values: subscripts that are never negative, no overflow of signed integers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.fuzz.program import (
    FIELDS,
    INTEGERS,
    PARAMETERS,
    RECORD,
    Affine,
    Array,
    Operation,
    Read,
    Scalar,
    Value,
    is_floating,
)
from tests.fuzz.ranges import AROUND, Range, lowest, missing
from tests.fuzz.style import Style

ITERATORS = "ijkl"
TYPES = ("float",) * 5 + ("double",) * 3 + ("int",) * 4 + INTEGERS


def constant(value: int) -> Affine:
    return Affine((), value)


def name(text: str, factor: int = 1) -> Affine:
    return Affine(((text, factor),))


@dataclass(frozen=True)
class Scope:
    """What a statement may name: iterators with their ranges, scalars and local arrays with their types."""

    iterators: dict[str, Range] = field(default_factory=dict)
    scalars: tuple[tuple[str, str], ...] = ()
    locals: tuple[tuple[str, str, int], ...] = ()


class Values:
    """Writes what the statements of one program read and write."""

    def __init__(self, random: Random, style: Style) -> None:
        self.random = random
        self.style = style
        self.arrays: tuple[Array, ...] = ()
        kind = random.random()
        self.indirect = kind < 0.1
        self.around = 0.1 <= kind < 0.2

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def type(self) -> str:
        return self.random.choice(TYPES)

    def template(self, ctype: str) -> str:
        if is_floating(ctype):
            f = "f" if ctype == "float" else ""
            choices = ["{0} = {1};"] * 3 + [
                f"{{0}} = 0.5{f} * {{0}} + {{1}};",
                f"{{0}} += 0.0625{f} * ({{1}});",
            ] * 2
            choices += ["{0} += {1};", f"{{0}} -= 0.125{f} * ({{1}});", f"{{0}} *= 0.5{f};"]
            return self.random.choice(choices)
        choices = (
            ["{0} = {1};"] * 4 + ["{0} = ({0} & 4095) + {1};"] * 2 + ["{0} += ({1}) & 15;", "{0} ^= {1};"]
        )
        if ctype.startswith("unsigned") or ctype in ("char", "short"):
            choices += ["{0} += {1};", "{0} -= {1};"]
        if ctype.startswith("unsigned"):
            choices += ["{0} = {0} * 3u + {1};", "{0} |= {1};"]
        return self.random.choice(choices)

    def element(self, array: Array, scope: Scope) -> tuple[Read, str]:
        subscripts = tuple(self._subscript(scope) for _ in range(array.rank))
        if array.type == RECORD:
            member, ctype = self.random.choice(FIELDS)
            return Read(array.name, subscripts, member), ctype
        return Read(array.name, subscripts), array.type

    def local_element(self, local: tuple[str, str, int], scope: Scope) -> Read:
        text, _, size = local
        fitting = [
            name(i)
            for i, (low, high) in scope.iterators.items()
            if not low.terms and not high.terms and low.constant >= 0 and high.constant < size
        ]
        return Read(text, (self.random.choice([*fitting * 2, constant(self.random.randrange(size))]),))

    def _subscript(self, scope: Scope) -> Affine:
        """A form that is never negative; mostly one iterator and a small constant."""
        i = self.random.choice(list(scope.iterators))
        j = self.random.choice(list(scope.iterators))
        forms = (
            [name(i)] * 10
            + [name(i) + name(j)] * 2
            + [name(i, -1), name(i, 2), constant(self.random.randrange(3))]
        )
        forms += [name(i) + name(j, -1)]
        if self.style.coupled:
            forms += (
                [name(i) + name(j)] * 2 + [name(i) + name(j, -1), name(i, 2), name(i) + constant(3)]
            ) * 2
        form = self.random.choice(forms)
        least = lowest(form, scope.iterators)
        form = form + missing(least)
        spare = lowest(form, scope.iterators).constant
        shift = self.random.choice((0, 0, 0, 1, 1, 2, -1, -1, -2))
        return form + constant(max(shift, -spare))

    # -- values ----------------------------------------------------------------------------------

    def value(self, scope: Scope, ctype: str) -> Value:
        return self._float(scope, ctype) if is_floating(ctype) else self._integer(scope)

    def leaf(self, scope: Scope, ctype: str) -> Value:
        return self._float_leaf(scope) if is_floating(ctype) else self._integer_leaf(scope, 1023)

    def _operand(self, scope: Scope, floating: bool) -> tuple[Value, str]:
        """Something to read, with its type; integer targets read integers only."""
        scalars = [(t, c) for t, c in scope.scalars if floating or not is_floating(c)]
        arrays = [a for a in self.arrays if floating or not is_floating(a.type)]
        arrays = [a for a in arrays if a.type != RECORD or floating]
        locals_ = [v for v in scope.locals if floating or not is_floating(v[1])]
        kinds = ["array"] * 6 * bool(arrays) + ["scalar"] * 2 * bool(scalars) + ["local"] * 3 * bool(locals_)
        match self.random.choice([*kinds, "iterator", "number"]):
            case "array":
                read, ctype = self.element(self.random.choice(arrays), scope)
                return self._redirected(read, scope), ctype
            case "scalar":
                text, ctype = self.random.choice(scalars)
                return Scalar(text), ctype
            case "local":
                local = self.random.choice(locals_)
                return self.local_element(local, scope), local[1]
            case "iterator":
                return name(self.random.choice(list(scope.iterators))) + constant(2), "iterator"
        return constant(self.random.randrange(1, 9)), "iterator"

    def _redirected(self, read: Read, scope: Scope) -> Read:
        """Sometimes with a subscript that data say, where the array has a declared size, or a remainder."""
        if self.around and self.chance(0.5):
            return self._round(read)
        array = next(a for a in self.arrays if a.name == read.array)
        sources = [a for a in self.arrays if a.type in ("int", "unsigned int", "unsigned char")]
        if not self.indirect or array.storage == "flat" or not sources or self.chance(0.5):
            return read
        index, _ = self.element(self.random.choice(sources), scope)
        return replace(read, subscripts=(*read.subscripts[:-1], Operation("({0} & 7)", (index,))))

    def _round(self, read: Read) -> Read:
        """A[i % 5][j], or A[i][j / 3 % (m + 1)]"""
        d = self.random.randrange(len(read.subscripts))
        size = constant(self.random.randrange(1, 8))
        if self.chance(0.4):
            size = name(self.random.choice(PARAMETERS)) + constant(self.random.choice((1, 1, 2)))
        operands = (read.subscripts[d], size, constant(self.random.choice((1, 2, 3, 3))))
        around = Operation(self.random.choice(AROUND), operands)
        return replace(read, subscripts=(*read.subscripts[:d], around, *read.subscripts[d + 1 :]))

    def _integer_leaf(self, scope: Scope, mask: int) -> Value:
        operand, ctype = self._operand(scope, floating=False)
        if ctype == "iterator":
            return Operation("({0})", (operand,))
        return Operation(f"({{0}} & {mask})", (operand,))

    def _integer(self, scope: Scope) -> Value:
        first, second = (self._integer_leaf(scope, self.random.choice((63, 255, 511))) for _ in range(2))
        template = self.random.choice(
            ["{0}"] * 4
            + ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / 3", "{0} % 5", "({0} - 20) / 3", "({0} - 9) % 7"]
            + [
                "({0} & 63) << 2",
                "{0} >> 1",
                "{0} ^ {1}",
                "~{0}",
                "mix({0}, {1})",
                "-{0}",
                "(long){0} * 1000",
            ]
            + [
                "{0} < {1} ? {0} : {1}",
                "{0} > 30 ? {1} : 5",
                "{0} == {1}",
                "toint({2})",
                "(unsigned char){0}",
            ]
        )
        third = self._float_leaf(scope) if "{2}" in template else None
        operands = [first, *([second] if "{1}" in template or third else []), *([third] if third else [])]
        return Operation(template, tuple(operands))

    def _float_leaf(self, scope: Scope) -> Value:
        operand, _ = self._operand(scope, floating=True)
        if isinstance(operand, Affine) and operand.terms:
            return Operation("({0})", (operand,), floating=True)
        return operand

    def _float(self, scope: Scope, ctype: str) -> Value:
        f = "f" if ctype == "float" and self.chance(0.9) else ""
        first, second, third = (self._float_leaf(scope) for _ in range(3))
        template = self.random.choice(
            ["{0}", f"0.5{f} * {{0}}"] * 2
            + [f"0.5{f} * {{0}} + 0.25{f} * {{1}}"] * 5
            + [f"0.5{f} * {{0}} + 0.25{f} * {{1}} + 0.125{f} * {{2}}"] * 3
            + ["{0} - {1}", f"0.25{f} * {{0}} * {{1}}", f"{{0}} / (fabs{f}({{1}}) + 1.5{f})", "-{0}"]
            + [f"sqrt{f}(fabs{f}({{0}}))", f"fmax{f}({{0}}, 0.5{f})", f"fmin{f}({{0}}, 0.75{f})"]
            + [
                f"{{0}} < {{1}} ? {{0}} : 0.5{f} * {{1}}",
                "blend({0}, {1})",
                f"{{0}} > 0.5{f} ? {{1}} : {{2}}",
            ]
        )
        count = 3 if "{2}" in template else 2 if "{1}" in template else 1
        return Operation(template, (first, second, third)[:count], floating=True)
