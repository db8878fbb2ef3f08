"""Prints what one warp does between two barriers: statements in lockstep, masks where its lanes part."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from polygpu.model.device import WARP
from polygpu.model.expr import Name, is_floating
from polygpu.model.kernel import Assign, Comment, CommitCopies, Declare, DeclareArray, Move, WaitCopies
from polygpu.model.text import parenthesised
from polygpu.perf.lockstep import Branch, Charge, Do, Loop, Node, Value
from polygpu.printing.emulator.lanes import Lanes, Place, size_text
from polygpu.printing.emulator.symbols import Kind, Symbol
from polygpu.printing.emulator.writer import KernelWriter, Mask


class Warp:
    """What one warp does."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out

    def find(self, symbol: Symbol) -> None:
        """The warp's part of what the block keeps."""
        place = "pg_t" if symbol.kind is Kind.LANES else f"pg_t * {symbol.elements}"
        self.out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c} + {place};")

    def steps(self, steps: Sequence[Node], mask: Mask) -> None:
        """Under a mask with at least one active lane."""
        for step in steps:
            match step:
                case Charge(point):
                    self.out.emit(f"POLYGPU_POINT({point});")
                case Do():
                    self.do(step, mask)
                case Loop(agreed=True):
                    self._agreed_loop(step, mask)
                case Loop():
                    self._masked_loop(step, mask)
                case Branch(agreed=True):
                    self._agreed_if(step, mask)
                case Branch():
                    self._masked_if(step, mask)

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
            case CommitCopies():
                self.out.emit(f"polygpu_commit(&pg->queue[pg_w], {mask.bits});")
            case WaitCopies(pending):
                self.out.emit(f"polygpu_wait(pg, pg_w, {mask.bits}, {pending});")

    def _declare(self, declared: Declare, step: Do, mask: Mask) -> None:
        out, kept, ctype = self.out, step.kept, declared.type
        c = out.spelling(declared.name, kept)
        if step.uniform:
            out.emit(f"const {ctype} {c} = {self._value(step, Mask())};")
            out.define(declared.name, Symbol(c, ctype, Kind.UNIFORM))
            return
        symbol = Symbol(c, ctype, Kind.LANES, persistent=kept)
        if kept:
            out.state.append(f"{ctype} {c}[{WARP * out.warps}]")
            self.find(symbol)
        else:
            out.emit(f"{ctype} {c}[POLYGPU_WARP];")
        if step.value is None:
            out.emit(f"memset({c}, {poison(ctype)}, {WARP} * sizeof *{c});")
        else:
            with self._braces(step):
                # The new name is not in its own value's scope: an outer one of the same name is.
                out.emit(f"POLYGPU_LANES {c}[pg_l] = {self._value(step, mask)};")
        out.define(declared.name, symbol)

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
            self.find(symbol)
        else:
            out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c};")
        count = f"{WARP * symbol.elements} * sizeof *{symbol.c}"
        out.emit(f"memset({symbol.c}, {poison(symbol.type)}, {count});")
        out.emit(f"POLYGPU_CHECKED(polygpu_forget_private(pg, {symbol.number}, pg_w, {symbol.elements});)")
        out.define(declared.name, symbol)

    def _assign(self, symbol: Symbol, step: Do, mask: Mask) -> None:
        with self._braces(step):
            text = self._value(step, mask)
            kept = f"{mask.active} ? {parenthesised(text)} : {symbol.c}[pg_l]" if mask.lanes else text
            self.out.emit(f"POLYGPU_LANES {symbol.c}[pg_l] = {kept};")

    def _store(self, step: Do, mask: Mask) -> None:
        out, target = self.out, step.target
        assert target is not None, "it stores there"
        with self._braces(step):
            text = self._value(step, mask)
            place = Lanes(out, mask).place(target)
            guard = f"if ({mask.active}) " if mask.lanes else ""
            if target.space == "private":
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

    def _agreed_loop(self, loop: Loop, mask: Mask) -> None:
        out, s = self.out, loop.statement
        with nullcontext() if loop.lower.uniform and loop.upper.uniform else out.braces(""):
            lower, upper = self._agreed(loop.lower, mask), self._agreed(loop.upper, mask)
            index = out.spelling(s.index)
            with out.braces(loop_head(index, lower, upper, s.step)):
                out.define(s.index, Symbol(index, "int", Kind.UNIFORM))
                self.steps(loop.body, mask)

    def _masked_loop(self, loop: Loop, mask: Mask) -> None:
        """Until no lane is left."""
        out, s = self.out, loop.statement
        with out.braces(""):
            index = out.spelling(s.index)
            out.emit(f"int {index}[POLYGPU_WARP];")
            out.emit(f"POLYGPU_LANES {index}[pg_l] = {Lanes(out, mask).value(loop.lower)};")
            serial = out.fresh()
            inner = Mask(f"pg_m{serial}", f"pg_b{serial}")
            out.emit(f"int {inner.lanes}[POLYGPU_WARP];")
            out.emit(f"uint32_t {inner.bits} = {mask.bits};")
            out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {mask.active};")
            with out.braces("for (;;)"):
                out.define(s.index, Symbol(index, "int", Kind.LANES))
                upper = parenthesised(Lanes(out, inner).value(loop.upper))
                left = f"pg_left{serial}"
                test = f"{inner.active} && {index}[pg_l] < {upper}"
                out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {test};")
                out.emit(f"const uint32_t {left} = polygpu_bits({inner.lanes});")
                out.emit(f"if (!{left})")
                out.emit("    break;")
                self.steps(loop.body[:1], inner)
                out.emit(f"POLYGPU_DIVERGED({loop.point}, {left} != {inner.bits});")
                out.emit(f"{inner.bits} = {left};")
                self.steps(loop.body[1:], inner)
                out.emit(f"POLYGPU_LANES {index}[pg_l] += {s.step};")

    def _agreed(self, value: Value, mask: Mask) -> str:
        """A value on which the active lanes agree."""
        if value.uniform:
            return Lanes(self.out, Mask()).value(value)
        lanes = Lanes(self.out, mask)
        name = f"pg_u{self.out.fresh()}"
        self.out.emit(f"int {name}[POLYGPU_WARP];")
        self.out.emit(f"POLYGPU_LANES {name}[pg_l] = {lanes.value(value)};")
        return f"{name}[polygpu_lowest({mask.bits})]" if mask.lanes else f"{name}[0]"

    def _agreed_if(self, branch: Branch, mask: Mask) -> None:
        with nullcontext() if branch.test.uniform else self.out.braces(""):
            test = self._agreed(branch.test, mask)
            for head, side in ((f"if ({test})", branch.then), ("else", branch.otherwise)):
                if side or head != "else":
                    with self.out.braces(head):
                        self.steps(side, mask)

    def _masked_if(self, branch: Branch, mask: Mask) -> None:
        """Both sides, each for the lanes that take it."""
        out, lanes = self.out, Lanes(self.out, mask)
        with out.braces(""):
            test = lanes.condition(branch.test)
            taken = lanes.taking(test)
            out.emit(f"POLYGPU_DIVERGED({branch.point}, {taken.bits} && {taken.bits} != {mask.bits});")
            for side, negation in ((branch.then, ""), (branch.otherwise, "!")):
                if side:
                    to = lanes.narrowed(f"!{test}[pg_l]") if negation else taken
                    with out.braces(f"if ({to.bits})"):
                        self.steps(side, Mask(to.lanes, to.bits))


def loop_head(index: str, lower: str, upper: str, step: int) -> str:
    """The head of a C loop over an int."""
    increment = f"{index}++" if step == 1 else f"{index} += {step}"
    return f"for (int {index} = {lower}; {index} < {parenthesised(upper)}; {increment})"


def poison(ctype: str) -> str:
    """The byte that fills unwritten memory of a type: NaN, or a wild integer."""
    if ctype == "_Bool":
        return "1"
    return "0xff" if is_floating(ctype) else "0x7f"
