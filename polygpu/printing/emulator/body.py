"""Prints kernel bodies for the emulator: control flow and stages, each a loop over the block's warps.

Values that a later stage uses are kept in the block's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from polygpu.model.device import WARP
from polygpu.model.rewrite import names_in
from polygpu.model.text import parenthesised
from polygpu.perf.lockstep import Branch, Charge, Do, Loop, Node, Repeat, Stage, Value
from polygpu.printing.emulator.lanes import Lanes
from polygpu.printing.emulator.statements import Statements, find
from polygpu.printing.emulator.symbols import Kind, Symbol
from polygpu.printing.emulator.writer import KernelWriter, Mask


def print_body(out: KernelWriter) -> None:
    """Prints the kernel's body into `out`."""
    if out.tree.start is not None:
        out.emit(f"POLYGPU_POINT_ALL({out.tree.start});")
    _Body(out).nodes(out.tree.parts, None)


class _Body:
    """What a warp runs under a mask with at least one active lane, or without one the block as a whole."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out
        self.statements = Statements(out)

    def nodes(self, nodes: Sequence[Node], mask: Mask | None) -> None:
        for node in nodes:
            match node:
                case Charge(point):
                    self.out.emit(f"POLYGPU_POINT{'' if mask else '_ALL'}({point});")
                case Do():
                    self.statements.do(node, mask or Mask())
                case Stage(number, used, steps):
                    self.out.emit(f"POLYGPU_STAGE({number});")
                    with self._warps(used) as whole:
                        self.nodes(steps, whole)
                case Loop() if mask and not node.agreed:
                    self._masked_loop(node, mask)
                case Loop():
                    self._agreed_loop(node, mask)
                case Branch() if mask and not node.agreed:
                    self._masked_if(node, mask)
                case Branch():
                    self._agreed_if(node, mask)
                case Repeat():
                    self._repeat(node, mask or Mask())

    def _repeat(self, repeat: Repeat, mask: Mask) -> None:
        """Until no lane is left; those that have left compute nothing."""
        out = self.out
        with out.braces(""):
            inner = self._lanes_left(mask)
            with out.braces("for (;;)"):
                self.nodes(repeat.start, inner)
                lanes = Lanes(out, inner)
                left = lanes.condition(repeat.test)
                bits = lanes.taking(left).bits
                out.emit(f"if (!{bits})")
                out.emit("    break;")
                out.emit(f"POLYGPU_DIVERGED({repeat.point}, {bits} != {inner.bits});")
                out.emit(f"{inner.bits} = {bits};")
                out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {left}[pg_l];")
                self.nodes(repeat.body, inner)

    def _lanes_left(self, mask: Mask) -> Mask:
        """Declares the lanes that are left of those in `mask`: all of them, at first."""
        out, serial = self.out, self.out.fresh()
        inner = Mask(f"pg_m{serial}", f"pg_b{serial}")
        out.emit(f"int {inner.lanes}[POLYGPU_WARP];")
        out.emit(f"uint32_t {inner.bits} = {mask.bits};")
        out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {mask.active};")
        return inner

    def _agreed_loop(self, loop: Loop, mask: Mask | None) -> None:
        out, s = self.out, loop.statement
        plain = mask is None or (loop.lower.uniform and loop.upper.uniform)
        with nullcontext() if plain else out.braces(""):
            lower, upper = (self._agreed(value, mask, loop.stage) for value in (loop.lower, loop.upper))
            index = out.spelling(s.index)
            with out.braces(_loop_head(index, lower, upper, s.step)):
                out.define(s.index, Symbol(index, "int", Kind.UNIFORM))
                self.nodes(loop.body, mask)

    def _masked_loop(self, loop: Loop, mask: Mask) -> None:
        """Until no lane is left."""
        out, s = self.out, loop.statement
        with out.braces(""):
            index = out.spelling(s.index)
            out.emit(f"int {index}[POLYGPU_WARP];")
            out.emit(f"POLYGPU_LANES {index}[pg_l] = {Lanes(out, mask).index(loop.lower)};")
            inner = self._lanes_left(mask)
            with out.braces("for (;;)"):
                out.define(s.index, Symbol(index, "int", Kind.LANES))
                upper = parenthesised(Lanes(out, inner).value(loop.upper))
                left = f"pg_left{inner.bits.removeprefix('pg_b')}"
                test = f"{inner.active} && {index}[pg_l] < {upper}"
                out.emit(f"POLYGPU_LANES {inner.lanes}[pg_l] = {test};")
                out.emit(f"const uint32_t {left} = polygpu_bits({inner.lanes});")
                out.emit(f"if (!{left})")
                out.emit("    break;")
                self.nodes(loop.body[:1], inner)
                out.emit(f"POLYGPU_DIVERGED({loop.point}, {left} != {inner.bits});")
                out.emit(f"{inner.bits} = {left};")
                self.nodes(loop.body[1:], inner)
                out.emit(f"POLYGPU_LANES {index}[pg_l] += {s.step};")

    def _agreed_if(self, branch: Branch, mask: Mask | None) -> None:
        with nullcontext() if mask is None or branch.test.uniform else self.out.braces(""):
            test = self._agreed(branch.test, mask, branch.stage)
            for head, side in ((f"if ({test})", branch.then), ("else", branch.otherwise)):
                if side or head != "else":
                    with self.out.braces(head):
                        self.nodes(side, mask)

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
                        self.nodes(side, Mask(to.lanes, to.bits))

    def _agreed(self, value: Value, mask: Mask | None, stage: int) -> str:
        """A value on which the active lanes agree, or the block."""
        out = self.out
        if value.uniform:
            return Lanes(out, Mask()).value(value)
        name = f"pg_u{out.fresh()}"
        if mask is None:
            return self._of_block(value, name, stage)
        out.emit(f"int {name}[POLYGPU_WARP];")
        out.emit(f"POLYGPU_LANES {name}[pg_l] = {Lanes(out, mask).index(value)};")
        return f"{name}[polygpu_lowest({mask.bits})]" if mask.lanes else f"{name}[0]"

    def _of_block(self, value: Value, name: str, stage: int) -> str:
        """Thread 0's value of a bound or test that threads compute."""
        out = self.out
        out.state.append(f"int {name}[{WARP * out.warps}]")
        with self._warps(names_in(value.source)) as mask:
            text = Lanes(out, mask).index(value)
            out.emit(f"POLYGPU_LANES pg_s->{name}[pg_t + pg_l] = {text};")
        out.emit(f"POLYGPU_CHECKED(polygpu_check_uniform(pg, pg_s->{name}, {stage});)")
        return f"pg_s->{name}[0]"

    @contextmanager
    def _warps(self, used: frozenset[str]) -> Iterator[Mask]:
        """The loop over the warps, with what its lanes find: their indices, kept values, their mask."""
        out = self.out
        out.emit("for (int pg_w = 0; pg_w < pg_warps; pg_w++) {")
        out.indent(1)
        out.emit("const int pg_t = POLYGPU_WARP * pg_w;")
        for name, symbol in out.symbols(used):
            if name in ("thread_x", "thread_y", "thread_z"):
                out.emit(f"const int *const {name} = pg->thread[{'xyz'.index(name[-1])}] + pg_t;")
            elif symbol.persistent:
                find(out, symbol)
        yield self._whole_warp()
        out.indent(-1)
        out.emit("}")

    def _whole_warp(self) -> Mask:
        """All lanes, but for threads that the last warp does not have."""
        if self.out.threads % WARP == 0:
            return Mask()
        self.out.emit("int pg_m0[POLYGPU_WARP];")
        self.out.emit(f"POLYGPU_LANES pg_m0[pg_l] = pg_t + pg_l < {self.out.threads};")
        self.out.emit("const uint32_t pg_b0 = polygpu_bits(pg_m0);")
        return Mask("pg_m0", "pg_b0")


def _loop_head(index: str, lower: str, upper: str, step: int) -> str:
    """The head of a C loop over an int."""
    increment = f"{index}++" if step == 1 else f"{index} += {step}"
    return f"for (int {index} = {lower}; {index} < {parenthesised(upper)}; {increment})"
