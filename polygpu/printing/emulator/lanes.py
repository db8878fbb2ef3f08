"""Prints what the lanes of a warp compute in lockstep.

A value is text over the lane `pg_l`; what it loads is loaded before, into arrays over the lanes, so that a
statement reads everything before it writes anything. Lanes that are off compute garbage, harmlessly: they
divide by one, load what the first active lane loads, and leave out arithmetic that int may not hold: all but
that on the indices of loops and threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from polygpu.model.device import WARP
from polygpu.model.expr import SIZES, Binary, Call, Cast, Expr, Int, Name, Select, Unary, is_floating, type_of
from polygpu.model.rewrite import walk
from polygpu.model.text import Text, parenthesised, row_major
from polygpu.perf.lockstep import Access, Choice, Load, Value
from polygpu.printing.emulator.symbols import Kind, Symbol
from polygpu.printing.emulator.writer import KernelWriter, Mask
from polygpu.support.dataclass import dataclass

_HARMLESS = frozenset({"min", "max", "fabs", "fabsf", "sqrtf", "sqrt", "fminf", "fmaxf", "fmin", "fmax"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes.

    `offset` is the name of an array over the lanes, or of one number when `same`; in private arrays it is
    the index itself. `number` is the access's in the kernel.
    """

    symbol: Symbol
    offset: str
    same: bool
    field: str
    number: int

    def element(self, step: int = 0) -> str:
        """The element of lane pg_l, or the one `step` elements behind it."""
        plus = f" + {step}" if step else ""
        if self.symbol.kind is Kind.PRIVATE:
            if self.offset.isdigit():
                return f"{self.symbol.c}[{(int(self.offset) + step) * WARP} + pg_l]"
            index = f"POLYGPU_INSIDE({self.offset}{plus}, {self.symbol.elements})"
            return f"{self.symbol.c}[{index} * POLYGPU_WARP + pg_l]"
        lane = "" if self.same else "[pg_l]"
        return f"{self.symbol.c}[{self.offset}{lane}{plus}]{self.field}"


class Lanes(Text):
    """Expressions under one mask."""

    def __init__(self, out: KernelWriter, mask: Mask) -> None:
        self.out = out
        self.mask = mask

    def value(self, value: Value) -> str:
        """The text of a value for the active lanes, whose loads are printed before."""
        self.load(value.loads)
        return self.text(value.expr)

    def everywhere(self, value: Value) -> str:
        """The text of a value that lanes which are off compute too."""
        self.load(value.loads)
        return self._unless_off(value.expr)

    def index(self, value: Value) -> str:
        """The same of a bound."""
        self.load(value.loads)
        return self._subscript(value.expr)

    def _subscript(self, expr: Expr) -> str:
        return self._unless_off(expr) if self._of_data(expr) else self.text(expr)

    def _unless_off(self, expr: Expr) -> str:
        """`active ? text : 0` where C leaves it open what some values make of it."""
        text = self.text(expr)
        harmless = not self.mask.lanes or not any(map(_overflows, walk(expr)))
        return text if harmless else f"({self.mask.active} ? {parenthesised(text)} : 0)"

    def of_data(self, value: Value) -> bool:
        """Whether it depends on more than indices, of which all lanes have small ones."""
        return bool(value.loads) or self._of_data(value.expr)

    def _of_data(self, expr: Expr) -> bool:
        return any(isinstance(part, Name) and self._is_data(part.name) for part in walk(expr))

    def _is_data(self, name: str) -> bool:
        return name in self.out.loaded or self.out.symbol(name).data

    def load(self, loads: Sequence[Load]) -> None:
        for load in loads:
            match load:
                case Access(space="private"):  # stays where it is
                    self.out.loaded[load.name.name] = self.place(load).element()
                case Access():
                    self.out.loaded[load.name.name] = self._load(load)
                case Choice():
                    self._choose(load)

    def name(self, name: Name) -> str:
        if name.name in self.out.loaded:
            return self.out.loaded[name.name]
        symbol = self.out.symbol(name.name)
        return f"{symbol.c}[pg_l]" if symbol.kind is Kind.LANES else symbol.c

    def divisor(self, expr: Expr) -> str:
        text = self.atom(expr)
        harmless = isinstance(expr, Int) and expr.value != 0
        return text if harmless or not self.mask.lanes else f"({self.mask.active} ? {text} : 1)"

    def call(self, call: Call) -> str:
        """A call; never for a lane that is off, unless nothing can go wrong in it."""
        harmless = call.function in _HARMLESS or (
            call.function == "floord" and isinstance(call.arguments[-1], Int)
        )
        text = super().call(call)
        return text if harmless or not self.mask.lanes else f"({self.mask.active} ? {text} : 0)"

    def binary(self, expr: Binary) -> str:
        if expr.op in ("&&", "||") and self._chosen(expr.left):
            right = Unary("!", Unary("!", expr.right))
            both = (right, Int(0)) if expr.op == "&&" else (Int(1), right)
            return f"({self.select(Select(expr.left, *both))})"
        return super().binary(expr)

    def select(self, expr: Select) -> str:
        """Lanes compute the side that they have chosen."""
        masks = self._chosen(expr.test)
        if masks is None:
            return super().select(expr)
        yes, no = (Lanes(self.out, m).atom(e) for m, e in zip(masks, (expr.yes, expr.no), strict=True))
        return f"{self.text(expr.test)} ? {yes} : {no}"

    def _chosen(self, test: Expr) -> tuple[Mask, Mask] | None:
        return self.out.chosen.get(test.name) if isinstance(test, Name) else None

    def _choose(self, choice: Choice) -> None:
        """Lanes load only for the side that they take."""
        taken = self.condition(choice.test)
        masks = self.mask, self.mask
        if choice.then or choice.otherwise:
            masks = self.taking(taken), self.narrowed(f"!{taken}[pg_l]")
        for mask, loads in zip(masks, (choice.then, choice.otherwise), strict=True):
            Lanes(self.out, mask).load(loads)
        self.out.loaded[choice.name.name] = f"{taken}[pg_l]"
        self.out.chosen[choice.name.name] = masks

    def condition(self, test: Value) -> str:
        """An array over the lanes of whether `test` holds, 0 in lanes that are off."""
        self.load(test.loads)
        text = self.atom(test.expr)
        name = f"pg_t{self.out.fresh()}"
        both = f"{self.mask.active} && {text} != 0" if self.mask.lanes else f"{text} != 0"
        self.out.emit(f"int {name}[POLYGPU_WARP];")
        self.out.emit(f"POLYGPU_LANES {name}[pg_l] = {both};")
        return name

    def taking(self, condition: str) -> Mask:
        """The lanes in which a `condition` holds."""
        bits = f"pg_b{self.out.fresh()}"
        self.out.emit(f"const uint32_t {bits} = polygpu_bits({condition});")
        return Mask(condition, bits, may_be_empty=True)

    def narrowed(self, test: str) -> Mask:
        """The active lanes in which `test`, text over the lane, holds."""
        serial = self.out.fresh()
        both = f"{self.mask.active} && {test}" if self.mask.lanes else test
        self.out.emit(f"int pg_m{serial}[POLYGPU_WARP];")
        self.out.emit(f"POLYGPU_LANES pg_m{serial}[pg_l] = {both};")
        self.out.emit(f"const uint32_t pg_b{serial} = polygpu_bits(pg_m{serial});")
        return Mask(f"pg_m{serial}", f"pg_b{serial}", may_be_empty=True)

    def _load(self, access: Access) -> str:
        """Loads the element of every lane."""
        out, same = self.out, access.uniform
        name = f"pg_v{out.fresh()}"
        zero = (" = 0" if same else " = {0}") if self.mask.may_be_empty else ""
        out.emit(f"{access.element.type} {name}{'' if same else '[POLYGPU_WARP]'}{zero};")
        active_only = out.braces(f"if ({self.mask.bits})") if self.mask.may_be_empty else nullcontext()
        with active_only:
            place = self.place(access)
            target = name if same else f"POLYGPU_LANES {name}[pg_l]"
            out.emit(f"{target} = {place.element()};")
        return name if same else f"{name}[pg_l]"

    def place(self, access: Access, scatter: bool = False) -> Place:
        """Computes, counts and checks the address of an access; `scatter` asks for one a lane."""
        reference = access.element
        symbol = self.out.symbol(reference.array)
        same = access.uniform and not (access.write or scatter)
        lanes = Lanes(self.out, Mask()) if same else self
        lanes.load(access.loads)
        subscripts = [lanes._subscript(s) for s in access.subscripts]
        if access.space == "private":
            return self._private(symbol, access, subscripts)
        index, sizes = self._index(symbol, subscripts)
        self._bounds(index, sizes, access.width)
        offset = f"pg_a{self.out.fresh()}"
        long = symbol.kind is Kind.GLOBAL
        ctype, long_suffix = ("int64_t", "_long") if long else ("int", "")
        if same:
            self.out.emit(f"{ctype} {offset} = {row_major(index, sizes)};")
        else:
            self.out.emit(f"{ctype} {offset}[POLYGPU_WARP];")
            self.out.emit(f"POLYGPU_LANES {offset}[pg_l] = {row_major(index, sizes)};")
            if self.mask.lanes:
                self.out.emit(f"polygpu_settle{long_suffix}({offset}, {self.mask.lanes}, {self.mask.bits});")
        field = f".{reference.field}" if reference.field else ""
        place = Place(symbol, offset, same, field, access.number)
        self._count(place, access)
        return place

    def _index(self, symbol: Symbol, subscripts: list[str]) -> tuple[list[str], list[str]]:
        """Subscripts from the array's first element, and the sizes of all dimensions but the first."""
        if symbol.kind is Kind.SHARED:
            return subscripts, [str(extent) for extent in symbol.extents[1:]]
        argument = symbol.argument
        assert argument is not None
        origin = [self.text(o) for o in argument.origin] or ["0"] * len(subscripts)
        index = [
            f"(int64_t){parenthesised(s)}" + (f" - {parenthesised(o)}" if o != "0" else "")
            for s, o in zip(subscripts, origin, strict=True)
        ]
        sizes = [*argument.extents[1:-1], argument.pitch] if len(subscripts) > 1 else []
        return index, [self.text(size) for size in sizes if size is not None]

    def _bounds(self, index: list[str], sizes: list[str], width: int) -> None:
        """Check mode looks at each dimension but the first, whose end is the array's."""
        for k, (i, size) in enumerate(zip(index[1:], sizes, strict=True), start=2):
            along = width if k == len(index) else 1  # elements of a wide access lie in the last dimension
            self.out.emit(f"POLYGPU_BOUND({self.mask.active}, {i}, {size}, {along});")

    def _private(self, symbol: Symbol, access: Access, subscripts: list[str]) -> Place:
        index = row_major(subscripts, [str(extent) for extent in symbol.extents[1:]])
        constants = [s.value for s in access.element.subscripts if isinstance(s, Int)]
        if len(constants) == len(subscripts):
            index = str(_constant_index(constants, symbol))
        elif self.mask.lanes and not access.uniform:
            index = f"({self.mask.active} ? {index} : 0)"
        array = f"{symbol.number}, {symbol.elements}"
        checked = f"{access.number}, {array}, {index}, {self.mask.bits}, {access.width}"
        self.out.emit(f"POLYGPU_CHECK_PRIVATE({checked});")
        return Place(symbol, index, False, "", access.number)

    def _count(self, place: Place, access: Access) -> None:
        symbol, same, reference = place.symbol, "_SAME" if place.same else "", access.element
        outside = symbol.kind is Kind.GLOBAL
        base = f"pg_array_{symbol.c}->address" if outside else str(symbol.base)
        field = f"(int)offsetof({symbol.type}, {reference.field})" if reference.field else "0"
        first = base if field == "0" else f"{base} + {field}"
        stride, size = size_text(symbol.type), size_text(reference.type, access.width)
        array = f"pg_array_{symbol.c}" if outside else f"{symbol.number}, {symbol.elements}"
        where = f"{place.offset}, {self.mask.bits}"
        counted = f"{access.space}, {access.place}, {where}, {first}, {stride}, {size}"
        self.out.emit(f"POLYGPU_COUNT{same}({counted});")
        check = f"POLYGPU_CHECK_{'GLOBAL' if outside else 'SHARED'}{same}"
        checked = f"{access.number}, {array}, {where}, {field}, {stride}, {size}, {access.width}"
        self.out.emit(f"{check}({checked});")


def _overflows(part: Expr) -> bool:
    """Whether it is an operation that C does not define for all operands."""
    match part:
        case Binary("<<" | ">>"):
            return True
        case Binary("+" | "-" | "*") | Unary("-"):
            ctype = type_of(part)
            return not (is_floating(ctype) or ctype.startswith("unsigned"))
        case Cast(ctype, operand):
            return not is_floating(ctype) and is_floating(type_of(operand))
    return False


def size_text(ctype: str, width: int = 1) -> str:
    """Bytes of `width` elements, in C."""
    if ctype in SIZES:
        return str(SIZES[ctype] * width)
    return f"{width} * (int)sizeof({ctype})" if width > 1 else f"(int)sizeof({ctype})"


def _constant_index(subscripts: list[int], symbol: Symbol) -> int:
    index = 0
    for subscript, extent in zip(subscripts, symbol.extents, strict=True):
        index = index * extent + subscript
    return index
