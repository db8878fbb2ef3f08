"""Prints kernel bodies for the emulator.

What lies between two barriers is a stage: a loop over the block's warps, each of which runs the stage's
statements in lockstep. Control flow around a barrier is the block's; elsewhere it is the warp's. Values that
a later stage uses are kept in the block's state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from polygpu.model.device import WARP
from polygpu.model.expr import Expr
from polygpu.model.kernel import Barrier, Comment, Declare, For, If, Statement
from polygpu.model.kernel_walk import has_barrier, names_used
from polygpu.model.rewrite import names_in
from polygpu.perf.names import Kind, Symbol
from polygpu.printing.emulator.lanes import Lanes, Mask
from polygpu.printing.emulator.warp import Warp, loop_head
from polygpu.printing.emulator.writer import KernelWriter


def print_body(out: KernelWriter) -> None:
    """Prints the kernel's body into `out`."""
    Block(out).statements(out.kernel.body, frozenset())


class Block:
    """The statements of one kernel; `later` are names that code behind a piece of it uses."""

    def __init__(self, out: KernelWriter) -> None:
        self.out = out
        self.warp = Warp(out)

    def statements(self, statements: Sequence[Statement], later: frozenset[str]) -> None:
        """Statements that the block runs as a whole: stages, and control flow around barriers."""
        pieces = [(b, list(run)) for b, run in groupby(statements, has_barrier)]
        for i, (parted, run) in enumerate(pieces):
            after = later.union(*(names_used(r) for _, r in pieces[i + 1 :]))
            if parted:
                for statement in run:
                    self._around_barrier(statement)
            else:
                self._stage(run, after)

    def _around_barrier(self, statement: Statement) -> None:
        match statement:
            case Barrier():
                self.out.charge_all(Counter(barrier=1))
                self.out.emit("POLYGPU_BARRIER();")
                self.out.next_stage()
            case For():
                self._block_loop(statement)
            case If(test, then, otherwise):
                self.out.next_stage()
                self.out.charge_all(self.out.coster.test(test))
                condition = self._block_value(test)
                for head, side in ((f"if ({condition})", then), ("else", otherwise)):
                    if side:
                        with self.out.braces(head):
                            self.statements(side, frozenset())
                        self.out.next_stage()

    def _block_loop(self, loop: For) -> None:
        out = self.out
        out.next_stage()
        lower, upper = self._block_value(loop.lower), self._block_value(loop.upper)
        index = out.spelling(loop.index)
        with self.warp.unrolled(loop), out.braces(loop_head(index, lower, upper, loop.step)):
            out.define(loop.index, Symbol(index, "int", Kind.UNIFORM))
            point = out.charge_all(out.coster.iteration(loop))
            out.rounds.loading |= out.rounds.after(loop.body)
            with out.rolled(loop, point):
                self.statements(loop.body, frozenset())
        out.next_stage()

    def _block_value(self, expr: Expr) -> str:
        """The value of a bound or test for the whole block; thread 0's where threads compute it."""
        out = self.out
        if out.uniform(expr):
            return Lanes(out, Mask()).text(expr)
        name = f"pg_u{out.fresh()}"
        out.state.append(f"int {name}[{WARP * out.warps}]")
        with self._warps(names_in(expr)) as mask:
            text = Lanes(out, mask).text(expr)
            out.emit(f"POLYGPU_LANES pg_s->{name}[pg_t + pg_l] = {text};")
        out.close()
        out.emit(f"POLYGPU_CHECKED(polygpu_check_uniform(pg, pg_s->{name}, {out.stage});)")
        return f"pg_s->{name}[0]"

    def _stage(self, run: list[Statement], later: frozenset[str]) -> None:
        """One loop over the warps; values that are the block's are computed before it."""
        out = self.out
        rest: list[Statement] = []
        cost: Counter[str] = Counter()
        for statement in run:
            match statement:
                case Comment(text):
                    out.emit(f"/* {text.replace('*/', '* /')} */")
                case Declare(value=value, mutable=False) if value is not None and out.uniform(value):
                    self.warp.declare_uniform(statement, value)
                    cost += out.coster.statement(statement)
                case _:
                    rest.append(statement)
        if not rest and not cost:
            return
        out.start_stage()
        with self._warps(names_used(rest)) as mask:
            out.charge(cost)
            self.warp.statements(rest, mask, later)
            self.warp.end_run()

    @contextmanager
    def _warps(self, used: frozenset[str]) -> Iterator[Mask]:
        """The loop over the warps, with what its lanes find: their indices, kept values, their mask."""
        out = self.out
        out.close()
        out.emit("for (int pg_w = 0; pg_w < pg_warps; pg_w++) {")
        out.indent(1)
        out.emit("const int pg_t = POLYGPU_WARP * pg_w;")
        for name, symbol in out.symbols(used):
            if name in ("thread_x", "thread_y", "thread_z"):
                out.emit(f"const int *const {name} = pg->thread[{'xyz'.index(name[-1])}] + pg_t;")
            elif symbol.persistent:
                self.warp.find(symbol)
        yield self._whole_warp()
        out.close()
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
