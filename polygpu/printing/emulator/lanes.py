"""Prints what the lanes of a warp compute in lockstep.

A value is text over the lane `pg_l`; what it loads is loaded before, into arrays over the lanes, so that a
statement reads everything before it writes anything. Lanes that are off compute garbage, harmlessly: they
divide by one, and load what the first active lane loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from polygpu.model.device import WARP
from polygpu.model.expr import SIZES, Binary, Call, Expr, Int, Name, Reference, Select, Unary
from polygpu.model.rewrite import references
from polygpu.model.text import Text, parenthesised, row_major
from polygpu.perf.names import Kind, Symbol, element, reloaded
from polygpu.printing.emulator.writer import KernelWriter

_HARMLESS = frozenset({"min", "max", "fabs", "fabsf", "sqrtf", "sqrt", "fminf", "fmaxf", "fmin", "fmax"})


@dataclass(frozen=True, slots=True)
class Mask:
    """The active lanes: an int array over them ("": all are), and the same as bits.

    Where it may be empty, code that needs an active lane stands behind a test.
    """

    lanes: str = ""
    bits: str = "POLYGPU_ALL"
    may_be_empty: bool = False

    @property
    def active(self) -> str:
        return f"{self.lanes}[pg_l]" if self.lanes else "1"


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

    def __init__(self, out: KernelWriter, mask: Mask, loaded: Mapping[Reference, str] | None = None) -> None:
        self.out = out
        self.mask = mask
        self.loaded = dict(loaded or {})  # elements that need not be loaded again, and where they are
        self.loads: dict[Reference, str] = {}  # those that these expressions load

    def name(self, name: Name) -> str:
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
        if expr.op in ("&&", "||") and _loads(expr.right):
            right = Unary("!", Unary("!", expr.right))
            both = (right, Int(0)) if expr.op == "&&" else (Int(1), right)
            return f"({self.select(Select(expr.left, *both))})"
        return super().binary(expr)

    def select(self, expr: Select) -> str:
        """Lanes load only for the side that they take, and nothing that the test has loaded."""
        if not (_loads(expr.yes) or _loads(expr.no)):
            return super().select(expr)
        testing = Lanes(self.out, self.mask, self.loaded)
        taken = testing.condition(expr.test)
        loaded = self.loaded | testing.loads
        if any(_loads(reloaded(expr.test, side)) for side in (expr.yes, expr.no)):
            masks = self.taking(taken), self.narrowed(f"!{taken}[pg_l]")
        else:
            masks = self.mask, self.mask
        yes, no = (
            Lanes(self.out, m, loaded).atom(e) for m, e in zip(masks, (expr.yes, expr.no), strict=True)
        )
        return f"{taken}[pg_l] ? {yes} : {no}"

    def condition(self, test: Expr) -> str:
        """An array over the lanes of whether `test` holds, 0 in lanes that are off."""
        text = self.atom(test)
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

    def reference(self, reference: Reference) -> str:
        """Loads the element of every lane; private ones stay where they are."""
        if self.out.space(reference.array) == "private":
            return self.place(reference, write=False).element()
        if element(reference) in self.loaded:
            return self.loaded[element(reference)]
        self.loads[element(reference)] = self._load(reference)
        return self.loads[element(reference)]

    def _load(self, reference: Reference) -> str:
        serial = self.out.fresh()
        same = all(self.out.uniform(s) for s in reference.subscripts)
        variable = f"pg_v{serial}" if same else f"pg_v{serial}[POLYGPU_WARP]"
        zero = (" = 0" if same else " = {0}") if self.mask.may_be_empty else ""
        self.out.emit(f"{reference.type} {variable}{zero};")
        outside = dict(self.loads)
        with self.active_only():
            place = self.place(reference, write=False)
            if same:
                self.out.emit(f"pg_v{serial} = {place.element()};")
            else:
                self.out.emit(f"POLYGPU_LANES pg_v{serial}[pg_l] = {place.element()};")
        if self.mask.may_be_empty:
            self.loads = outside  # what subscripts load is declared inside of the braces
        return f"pg_v{serial}" if same else f"pg_v{serial}[pg_l]"

    @contextmanager
    def active_only(self) -> Iterator[None]:
        """Around code that needs an active lane."""
        with self.out.braces(f"if ({self.mask.bits})") if self.mask.may_be_empty else nullcontext():
            yield

    def place(self, reference: Reference, write: bool, width: int = 1, scatter: bool = False) -> Place:
        """Computes, counts and checks the address of `width` elements; `scatter` asks for one a lane."""
        symbol = self.out.symbol(reference.array)
        same = all(self.out.uniform(s) for s in reference.subscripts) and not (write or scatter)
        lanes = Lanes(self.out, Mask()) if same else self
        subscripts = [lanes.text(s) for s in reference.subscripts]
        access, number = self.out.access(reference, write)
        if symbol.kind is Kind.PRIVATE:
            return self._private(symbol, reference, subscripts, access, width)
        index, sizes = self._index(symbol, subscripts)
        self._bounds(symbol, index, sizes, width)
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
        place = Place(symbol, offset, same, f".{reference.field}" if reference.field else "", access)
        self._count(place, reference, number, width)
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

    def _bounds(self, symbol: Symbol, index: list[str], sizes: list[str], width: int) -> None:
        """Check mode looks at each dimension but the first, whose end is the array's."""
        for k, (i, size) in enumerate(zip(index[1:], sizes, strict=True), start=2):
            along = width if k == len(index) else 1  # elements of a wide access lie in the last dimension
            self.out.emit(f"POLYGPU_BOUND({self.mask.active}, {i}, {size}, {along});")

    def _private(
        self, symbol: Symbol, reference: Reference, subscripts: list[str], access: int, width: int
    ) -> Place:
        index = row_major(subscripts, [str(extent) for extent in symbol.extents[1:]])
        if all(isinstance(s, Int) for s in reference.subscripts):
            index = str(_constant_index([s for s in reference.subscripts if isinstance(s, Int)], symbol))
        elif self.mask.lanes and not all(self.out.uniform(s) for s in reference.subscripts):
            index = f"({self.mask.active} ? {index} : 0)"
        array = f"{symbol.number}, {symbol.elements}"
        self.out.emit(f"POLYGPU_CHECK_PRIVATE({access}, {array}, {index}, {self.mask.bits}, {width});")
        return Place(symbol, index, False, "", access)

    def _count(self, place: Place, reference: Reference, number: int, width: int) -> None:
        symbol, same = place.symbol, "_SAME" if place.same else ""
        outside = symbol.kind is Kind.GLOBAL
        base = f"pg_array_{symbol.c}->address" if outside else str(symbol.base)
        field = f"(int)offsetof({symbol.type}, {reference.field})" if reference.field else "0"
        first = base if field == "0" else f"{base} + {field}"
        stride, size = size_text(symbol.type), size_text(reference.type, width)
        array = f"pg_array_{symbol.c}" if outside else f"{symbol.number}, {symbol.elements}"
        where = f"{place.offset}, {self.mask.bits}"
        self.out.emit(f"POLYGPU_COUNT{same}({symbol.space}, {number}, {where}, {first}, {stride}, {size});")
        check = f"POLYGPU_CHECK_{'GLOBAL' if outside else 'SHARED'}{same}"
        self.out.emit(f"{check}({place.number}, {array}, {where}, {field}, {stride}, {size}, {width});")


def size_text(ctype: str, width: int = 1) -> str:
    """Bytes of `width` elements, in C."""
    if ctype in SIZES:
        return str(SIZES[ctype] * width)
    return f"{width} * (int)sizeof({ctype})" if width > 1 else f"(int)sizeof({ctype})"


def _loads(expr: Expr) -> bool:
    return any(True for _ in references(expr))


def _constant_index(subscripts: list[Int], symbol: Symbol) -> int:
    index = 0
    for subscript, extent in zip(subscripts, symbol.extents, strict=True):
        index = index * extent + subscript.value
    return index
