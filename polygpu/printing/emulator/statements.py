"""Prints statements without a body, which the lanes of a warp run in lockstep."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from polygpu.model.device import WARP
from polygpu.model.expr import SIZES, Name, is_floating
from polygpu.model.kernel import (
    Assign,
    Barrier,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    Move,
    WaitCopies,
)
from polygpu.model.text import parenthesised
from polygpu.perf.lockstep import Do
from polygpu.printing.emulator.lanes import Lanes, Place, size_text
from polygpu.printing.emulator.symbols import Kind, Symbol
from polygpu.printing.emulator.writer import KernelWriter, Mask

_WILD = "0x7f7f7f7f"  # an int that is an index of no array


class Statements:
    """Each under a mask with at least one active lane."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out

    def do(self, step: Do, mask: Mask) -> None:
        match step.statement:
            case Comment(text):
                self.out.emit(f"/* {text.replace('*/', '* /')} */")
            case Declare() as declared:
                self._declare(declared, step, mask)
            case DeclareArray() as declared:
                self._declare_array(declared, step.kept)
            case Assign(Name(name)):
                self._assign(self.out.symbol(name), step, mask)
            case Assign():
                self._store(step, mask)
            case Move(asynchronous=asynchronous):
                self._move(step, mask, asynchronous)
            case Barrier():
                self.out.emit("POLYGPU_BARRIER();")
            case CommitCopies():
                self.out.emit(f"polygpu_commit(&pg->queue[pg_w], {mask.bits});")
            case WaitCopies(pending):
                self.out.emit(f"polygpu_wait(pg, pg_w, {mask.bits}, {pending});")

    def _declare(self, declared: Declare, step: Do, mask: Mask) -> None:
        out, kept, ctype = self.out, step.kept, declared.type
        c = out.spelling(declared.name, kept)
        data = declared.mutable or (step.value is not None and Lanes(out, mask).of_data(step.value))
        if step.uniform:
            out.emit(f"const {ctype} {c} = {self._value(step, Mask())};")
            out.define(declared.name, Symbol(c, ctype, Kind.UNIFORM, data=data))
            return
        symbol = Symbol(c, ctype, Kind.LANES, persistent=kept, data=data)
        if kept:
            out.state.append(f"{ctype} {c}[{WARP * out.warps}]")
            find(out, symbol)
        else:
            out.emit(f"{ctype} {c}[POLYGPU_WARP];")
        if step.value is None:
            self._poison(symbol, WARP)
        else:
            with self._braces(step):
                # The new name is not in its own value's scope: an outer one of the same name is.
                lanes = Lanes(out, mask)
                text = lanes.everywhere(step.value) if data else lanes.index(step.value)
                out.emit(f"POLYGPU_LANES {c}[pg_l] = {text};")
        out.define(declared.name, symbol)

    def _poison(self, symbol: Symbol, count: int) -> None:
        """Fills what a warp has of a local. Addresses of lanes that do nothing are computed, too, and are not
        beyond 64 bits.
        """
        if not is_floating(symbol.type) and SIZES.get(symbol.type, 0) > SIZES["int"]:
            fill = f"{symbol.c}[pg_k] = {_WILD};"
            self.out.emit(f"for (int pg_k = 0; pg_k < {count}; pg_k++) {fill}")
        else:
            self.out.emit(f"memset({symbol.c}, {poison(symbol.type)}, {count} * sizeof *{symbol.c});")

    def _value(self, step: Do, mask: Mask) -> str:
        assert step.value is not None, "it has one"
        return Lanes(self.out, mask).value(step.value)

    def _declare_array(self, declared: DeclareArray, kept: bool) -> None:
        out = self.out
        symbol = Symbol(
            out.spelling(declared.name, kept=True), declared.type, Kind.PRIVATE, declared.extents,
            number=out.private_arrays, persistent=kept,
        )  # fmt: skip
        out.private_arrays += 1
        copies = WARP * out.warps if kept else WARP
        out.state.append(f"{symbol.type} {symbol.c}[{copies * symbol.elements}]")
        if kept:
            find(out, symbol)
        else:
            out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c};")
        self._poison(symbol, WARP * symbol.elements)
        out.emit(f"POLYGPU_CHECKED(polygpu_forget_private(pg, {symbol.number}, pg_w, {symbol.elements});)")
        out.define(declared.name, symbol)

    def _assign(self, symbol: Symbol, step: Do, mask: Mask) -> None:
        with self._braces(step):
            text = self._value(step, mask)
            kept = f"{mask.active} ? {parenthesised(text)} : {symbol.c}[pg_l]" if mask.lanes else text
            self.out.emit(f"POLYGPU_LANES {symbol.c}[pg_l] = {kept};")

    def _store(self, step: Do, mask: Mask) -> None:
        out, target, lanes = self.out, step.target, Lanes(self.out, mask)
        assert step.value is not None and target is not None, "it stores that there"
        private = target.space == "private"
        with self._braces(step):
            text = lanes.value(step.value) if private else lanes.everywhere(step.value)
            place = lanes.place(target)
            guard = f"if ({mask.active}) " if mask.lanes else ""
            if private:
                out.emit(f"POLYGPU_LANES {guard}{place.element()} = {text};")
                return
            variable = f"pg_v{out.fresh()}"
            out.emit(f"{target.element.type} {variable}[POLYGPU_WARP];")
            out.emit(f"POLYGPU_LANES {variable}[pg_l] = {text};")
            out.emit(f"POLYGPU_EACH {guard}{place.element()} = {variable}[pg_l];")

    def _move(self, step: Do, mask: Mask, asynchronous: bool) -> None:
        out, lanes = self.out, Lanes(self.out, mask)
        assert step.source is not None and step.target is not None, "it copies from there to there"
        with self._braces(step):
            width, ctype = step.source.width, step.source.element.type
            source, target = lanes.place(step.source, scatter=True), lanes.place(step.target)
            guard = f"if ({mask.active}) " if mask.lanes else ""
            if asynchronous:
                self._copy_later(source, target, size_text(step.target.element.type, width), guard)
                return
            variable = f"pg_v{out.fresh()}"
            out.emit(f"{ctype} {variable}[{width}][POLYGPU_WARP];")
            for i in range(width):
                out.emit(f"POLYGPU_LANES {variable}[{i}][pg_l] = {source.element(i)};")
            for i in range(width):
                out.emit(f"POLYGPU_EACH {guard}{target.element(i)} = {variable}[{i}][pg_l];")

    def _copy_later(self, source: Place, target: Place, size: str, guard: str) -> None:
        symbol = target.symbol
        first = f"{target.offset}[pg_l] * (int64_t){size_text(symbol.type)}"
        places = f"&{target.element()}, &{source.element()}, {size}"
        landing = f"{target.number}, {symbol.number}, {first}"
        with self.out.braces(f"POLYGPU_EACH {guard}".rstrip()):
            self.out.emit(f"polygpu_copy_later(&pg->queue[pg_w], pg_l, {places}, {landing});")
            self.out.emit(f"POLYGPU_CHECKED(polygpu_fly(pg, {landing}, {size});)")

    def _braces(self, step: Do) -> AbstractContextManager[None]:
        """Around what a statement needs before it, where it needs anything."""
        needed = step.source or step.target or (step.value and step.value.loads)
        return self.out.braces("") if needed else nullcontext()


def find(out: KernelWriter, symbol: Symbol) -> None:
    """The warp's part of what the block keeps."""
    place = "pg_t" if symbol.kind is Kind.LANES else f"pg_t * {symbol.elements}"
    out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c} + {place};")


def poison(ctype: str) -> str:
    """The byte that fills unwritten memory of a type: NaN, or a wild integer."""
    if ctype == "_Bool":
        return "1"
    return "0xff" if is_floating(ctype) else "0x7f"
