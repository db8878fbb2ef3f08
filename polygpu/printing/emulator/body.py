"""Prints kernel bodies for the emulator: parts that the block runs, and stages, each a loop over its warps.

Values that a later stage uses are kept in the block's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from polygpu.model.device import WARP
from polygpu.model.kernel import Barrier
from polygpu.model.rewrite import names_in
from polygpu.perf.lockstep import Branch, Charge, Do, Loop, Node, Stage, Value
from polygpu.printing.emulator.lanes import Lanes
from polygpu.printing.emulator.symbols import Kind, Symbol
from polygpu.printing.emulator.warp import Warp, loop_head
from polygpu.printing.emulator.writer import KernelWriter, Mask


def print_body(out: KernelWriter) -> None:
    """Prints the kernel's body into `out`."""
    if out.tree.start is not None:
        out.emit(f"POLYGPU_POINT_ALL({out.tree.start});")
    Block(out).parts(out.tree.parts)


class Block:
    """What the block runs as a whole."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out
        self.warp = Warp(out)

    def parts(self, parts: Sequence[Node]) -> None:
        for part in parts:
            match part:
                case Charge(point):
                    self.out.emit(f"POLYGPU_POINT_ALL({point});")
                case Do(Barrier()):
                    self.out.emit("POLYGPU_BARRIER();")
                case Do():
                    self.warp.do(part, Mask())
                case Loop():
                    self._loop(part)
                case Branch():
                    self._branch(part)
                case Stage():
                    self.out.emit(f"POLYGPU_STAGE({part.number});")
                    with self._warps(part.used) as mask:
                        self.warp.steps(part.steps, mask)

    def _loop(self, loop: Loop) -> None:
        lower, upper = self._value(loop.lower, loop.stage), self._value(loop.upper, loop.stage)
        s = loop.statement
        index = self.out.spelling(s.index)
        with self.out.braces(loop_head(index, lower, upper, s.step)):
            self.out.define(s.index, Symbol(index, "int", Kind.UNIFORM))
            self.parts(loop.body)

    def _branch(self, branch: Branch) -> None:
        condition = self._value(branch.test, branch.stage)
        for head, side in ((f"if ({condition})", branch.then), ("else", branch.otherwise)):
            if side:
                with self.out.braces(head):
                    self.parts(side)

    def _value(self, value: Value, stage: int) -> str:
        """The value of a bound or test for the whole block; thread 0's where threads compute it."""
        out = self.out
        if value.uniform:
            return Lanes(out, Mask()).value(value)
        name = f"pg_u{out.fresh()}"
        out.state.append(f"int {name}[{WARP * out.warps}]")
        with self._warps(names_in(value.source)) as mask:
            text = Lanes(out, mask).value(value)
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
                self.warp.find(symbol)
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
