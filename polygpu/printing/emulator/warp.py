"""Prints what one warp does between two barriers: statements in lockstep, masks where its lanes part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from polygpu.model.device import WARP
from polygpu.model.expr import Expr, Name, Reference, is_floating
from polygpu.model.kernel import (
    Assign,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Move,
    Statement,
    WaitCopies,
)
from polygpu.model.rewrite import references
from polygpu.model.text import parenthesised
from polygpu.perf.names import Kind, Symbol
from polygpu.printing.emulator.lanes import Lanes, Mask, Place, size_text
from polygpu.printing.emulator.writer import KernelWriter


class Warp:
    """The statements of a warp, under masks with at least one active lane."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out

    def find(self, symbol: Symbol) -> None:
        """The warp's part of what the block keeps."""
        place = "pg_t" if symbol.kind is Kind.LANES else f"pg_t * {symbol.elements}"
        self.out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c} + {place};")

    def end_run(self) -> None:
        waits = self.out.rounds.end()
        self.out.charge(Counter(), waits)
        self.out.close()

    def statements(
        self, statements: Sequence[Statement], mask: Mask, later: frozenset[str] = frozenset()
    ) -> None:
        """Statements of one warp under a mask with at least one active lane."""
        for statement in statements:
            self.out.charge(self.out.coster.statement(statement), self.out.rounds.statement(statement))
            match statement:
                case For():
                    self._loop(statement, mask)
                case If():
                    self._if(statement, mask)
                case _:
                    self._simple(statement, mask, later)

    def _simple(self, statement: Statement, mask: Mask, later: frozenset[str]) -> None:
        match statement:
            case Comment(text):
                self.out.emit(f"/* {text.replace('*/', '* /')} */")
            case Declare():
                self._declare(statement, mask, statement.name in later)
            case DeclareArray():
                self._declare_array(statement, statement.name in later)
            case Assign(Name(name), value):
                self._assign(self.out.symbol(name), value, mask)
            case Assign(Reference() as target, value):
                self._store(target, value, mask)
            case Move():
                self._move(statement, mask)
            case CommitCopies():
                self.out.emit(f"polygpu_commit(&pg->queue[pg_w], {mask.bits});")
            case WaitCopies(pending):
                self.out.emit(f"polygpu_wait(pg, pg_w, {mask.bits}, {pending});")

    def declare_uniform(self, statement: Declare, value: Expr) -> None:
        text = Lanes(self.out, Mask()).text(value)
        symbol = Symbol(self.out.spelling(statement.name), statement.type, Kind.UNIFORM)
        self.out.emit(f"const {symbol.type} {symbol.c} = {text};")
        self.out.define(statement.name, symbol)

    def _declare(self, statement: Declare, mask: Mask, persistent: bool) -> None:
        out, value = self.out, statement.value
        if value is not None and not statement.mutable and not persistent and out.uniform(value):
            self.declare_uniform(statement, value)
            return
        c = out.spelling(statement.name, kept=persistent)
        symbol = Symbol(c, statement.type, Kind.LANES, persistent=persistent)
        if persistent:
            out.state.append(f"{symbol.type} {c}[{WARP * out.warps}]")
            self.find(symbol)
        else:
            out.emit(f"{symbol.type} {c}[POLYGPU_WARP];")
        if value is None:
            out.emit(f"memset({c}, {poison(symbol.type)}, {WARP} * sizeof *{c});")
        else:
            with self._statement(value):
                # The new name is not in its own value's scope: an outer one of the same name is.
                out.emit(f"POLYGPU_LANES {c}[pg_l] = {Lanes(out, mask).text(value)};")
        out.define(statement.name, symbol)

    def _declare_array(self, statement: DeclareArray, persistent: bool) -> None:
        out = self.out
        symbol = Symbol(
            out.spelling(statement.name, kept=True), statement.type, Kind.PRIVATE, statement.extents,
            number=out.private_arrays, persistent=persistent,
        )  # fmt: skip
        out.private_arrays += 1
        copies = WARP * out.warps if persistent else WARP
        out.state.append(f"{symbol.type} {symbol.c}[{copies * symbol.elements}]")
        if persistent:
            self.find(symbol)
        else:
            out.emit(f"{symbol.type} *const {symbol.c} = pg_s->{symbol.c};")
        count = f"{WARP * symbol.elements} * sizeof *{symbol.c}"
        out.emit(f"memset({symbol.c}, {poison(symbol.type)}, {count});")
        out.emit(f"POLYGPU_CHECKED(polygpu_forget_private(pg, {symbol.number}, pg_w, {symbol.elements});)")
        out.define(statement.name, symbol)

    def _assign(self, symbol: Symbol, value: Expr, mask: Mask) -> None:
        with self._statement(value):
            text = Lanes(self.out, mask).text(value)
            kept = f"{mask.active} ? {parenthesised(text)} : {symbol.c}[pg_l]" if mask.lanes else text
            self.out.emit(f"POLYGPU_LANES {symbol.c}[pg_l] = {kept};")

    def _store(self, target: Reference, value: Expr, mask: Mask) -> None:
        out, lanes = self.out, Lanes(self.out, mask)
        private = out.space(target.array) == "private"
        with self._statement(value, target, always=not private):
            text = lanes.text(value)
            place = lanes.place(target, write=True)
            guard = f"if ({mask.active}) " if mask.lanes else ""
            if private:
                out.emit(f"POLYGPU_LANES {guard}{place.element()} = {text};")
                return
            variable = f"pg_v{out.fresh()}"
            out.emit(f"{target.type} {variable}[POLYGPU_WARP];")
            out.emit(f"POLYGPU_LANES {variable}[pg_l] = {text};")
            out.emit(f"POLYGPU_EACH {guard}{place.element()} = {variable}[pg_l];")

    def _move(self, move: Move, mask: Mask) -> None:
        out, lanes = self.out, Lanes(self.out, mask)
        with self._statement(move.source, move.target, always=True):
            source = lanes.place(move.source, write=False, width=move.width, scatter=True)
            target = lanes.place(move.target, write=True, width=move.width)
            guard = f"if ({mask.active}) " if mask.lanes else ""
            if move.asynchronous:
                self._copy_later(source, target, size_text(move.target.type, move.width), guard)
                return
            variable = f"pg_v{out.fresh()}"
            out.emit(f"{move.source.type} {variable}[{move.width}][POLYGPU_WARP];")
            for i in range(move.width):
                out.emit(f"POLYGPU_LANES {variable}[{i}][pg_l] = {source.element(i)};")
            for i in range(move.width):
                out.emit(f"POLYGPU_EACH {guard}{target.element(i)} = {variable}[{i}][pg_l];")

    def _copy_later(self, source: Place, target: Place, size: str, guard: str) -> None:
        symbol = target.symbol
        first = f"{target.offset}[pg_l] * (int64_t){size_text(symbol.type)}"
        places = f"&{target.element()}, &{source.element()}, {size}"
        landing = f"{target.number}, {symbol.number}, {first}"
        with self.out.braces(f"POLYGPU_EACH {guard}".rstrip()):
            self.out.emit(f"polygpu_copy_later(&pg->queue[pg_w], pg_l, {places}, {landing});")
            self.out.emit(f"POLYGPU_CHECKED(polygpu_fly(pg, {landing}, {size});)")

    @contextmanager
    def _statement(self, *exprs: Expr, always: bool = False) -> Iterator[None]:
        """Braces around what a statement needs before it, where it needs anything."""
        needed = always or any(True for e in exprs for _ in references(e))
        with self.out.braces("") if needed else nullcontext():
            yield

    def _loop(self, loop: For, mask: Mask) -> None:
        """A loop of the warp: plain where the lanes agree, else until no lane is left."""
        out = self.out
        out.charge(Counter(), out.rounds.end() if not loop.unroll else 0)
        agreed = loop.uniform or self._plain(loop)
        out.rounds.loading |= out.rounds.after(loop.body)
        with self.unrolled(loop):
            if agreed:
                self._agreed_loop(loop, mask)
            else:
                self._masked_loop(loop, mask)
        out.close()

    def _agreed_loop(self, loop: For, mask: Mask) -> None:
        out = self.out
        with out.braces("") if not self._plain(loop) else nullcontext():
            lower, upper = self._warp_value(loop.lower, mask), self._warp_value(loop.upper, mask)
            out.close()
            index = out.spelling(loop.index)
            with out.braces(loop_head(index, lower, upper, loop.step)):
                out.define(loop.index, Symbol(index, "int", Kind.UNIFORM))
                self._iteration(loop, mask)

    def _plain(self, loop: For) -> bool:
        """Whether the bounds are one value for the block by their names alone."""
        return self.out.uniform(loop.lower) and self.out.uniform(loop.upper)

    def _iteration(self, loop: For, mask: Mask) -> None:
        cost = self.out.coster.iteration(loop)
        point = self.out.branch(cost) if +cost else -1
        with self.out.rolled(loop, point):
            self.statements(loop.body, mask)
        if not loop.unroll:
            self.end_run()
        self.out.close()

    def _masked_loop(self, loop: For, mask: Mask) -> None:
        out = self.out
        with out.braces(""):
            index = out.spelling(loop.index)
            out.emit(f"int {index}[POLYGPU_WARP];")
            out.emit(f"POLYGPU_LANES {index}[pg_l] = {Lanes(out, mask).text(loop.lower)};")
            serial = out.fresh()
            inner = Mask(f"pg_m{serial}", f"pg_b{serial}")
            out.emit(f"int {inner.lanes}[POLYGPU_WARP];")
            out.emit(f"uint32_t {inner.bits} = {mask.bits};")
            out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {mask.active};")
            out.close()
            with out.braces("for (;;)"):
                out.define(loop.index, Symbol(index, "int", Kind.LANES))
                upper = parenthesised(Lanes(out, inner).text(loop.upper))
                left = f"pg_left{serial}"
                test = f"{inner.active} && {index}[pg_l] < {upper}"
                out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {test};")
                out.emit(f"const uint32_t {left} = polygpu_bits({inner.lanes});")
                out.emit(f"if (!{left})")
                out.emit("    break;")
                out.close()
                point = out.branch(out.coster.iteration(loop) or Counter(branch=1))
                out.emit(f"POLYGPU_DIVERGED({point}, {left} != {inner.bits});")
                out.emit(f"{inner.bits} = {left};")
                with out.rolled(loop, point):
                    self.statements(loop.body, inner)
                if not loop.unroll:
                    self.end_run()
                out.emit(f"POLYGPU_LANES {index}[pg_l] += {loop.step};")
                out.close()

    def _warp_value(self, expr: Expr, mask: Mask) -> str:
        """A value on which the active lanes agree."""
        if self.out.uniform(expr):
            return Lanes(self.out, Mask()).text(expr)
        lanes = Lanes(self.out, mask)
        name = f"pg_u{self.out.fresh()}"
        self.out.emit(f"int {name}[POLYGPU_WARP];")
        self.out.emit(f"POLYGPU_LANES {name}[pg_l] = {lanes.text(expr)};")
        return f"{name}[polygpu_lowest({mask.bits})]" if mask.lanes else f"{name}[0]"

    def _if(self, statement: If, mask: Mask) -> None:
        out = self.out
        point = out.branch(out.coster.test(statement.test))
        if statement.uniform or out.uniform(statement.test):
            self._agreed_if(statement, mask)
        else:
            with out.braces(""):
                self._masked_if(statement, mask, point)
        out.close()

    def _agreed_if(self, statement: If, mask: Mask) -> None:
        plain = self.out.uniform(statement.test)
        with nullcontext() if plain else self.out.braces(""):
            test = self._warp_value(statement.test, mask)
            for head, side in ((f"if ({test})", statement.then), ("else", statement.otherwise)):
                self.out.close()
                if side or head != "else":
                    with self.out.braces(head):
                        self.statements(side, mask)

    def _masked_if(self, statement: If, mask: Mask, point: int) -> None:
        """Both sides, each for the lanes that take it."""
        out = self.out
        lanes = Lanes(out, mask)
        test = lanes.condition(statement.test)
        taken = lanes.taking(test)
        out.emit(f"POLYGPU_DIVERGED({point}, {taken.bits} && {taken.bits} != {mask.bits});")
        for side, negation in ((statement.then, ""), (statement.otherwise, "!")):
            if not side:
                continue
            branch = lanes.narrowed(f"!{test}[pg_l]") if negation else taken
            out.close()
            with out.braces(f"if ({branch.bits})"):
                self.statements(side, Mask(branch.lanes, branch.bits))

    @contextmanager
    def unrolled(self, loop: For) -> Iterator[None]:
        """The index of an unrolled loop is a constant to the cost of its body."""
        unrolled = self.out.coster.unrolled
        added = loop.unroll and loop.index not in unrolled
        if added:
            unrolled.add(loop.index)
        yield
        if added:
            unrolled.discard(loop.index)


def loop_head(index: str, lower: str, upper: str, step: int) -> str:
    """The head of a C loop over an int."""
    increment = f"{index}++" if step == 1 else f"{index} += {step}"
    return f"for (int {index} = {lower}; {index} < {parenthesised(upper)}; {increment})"


def poison(ctype: str) -> str:
    """The byte that fills unwritten memory of a type: NaN, or a wild integer."""
    if ctype == "_Bool":
        return "1"
    return "0xff" if is_floating(ctype) else "0x7f"
