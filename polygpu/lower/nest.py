"""One mapped and placed nest as a kernel.

kernel ::= origins, [block test], register loads, segment*, register stores
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polygpu.lower.points import names_in
from polygpu.lower.registers import Registers
from polygpu.lower.segments import Segments
from polygpu.lower.tidy import tidy, typed
from polygpu.mapping.place import Staged
from polygpu.model.expr import (
    SIZES,
    Binary,
    Expr,
    Int,
    Name,
)
from polygpu.model.kernel import (
    ArrayArgument,
    Declare,
    If,
    Kernel,
    ScalarArgument,
    SharedArray,
    Statement,
)
from polygpu.model.kernel_walk import free_names, touched
from polygpu.model.linear import simplify


@dataclass(frozen=True)
class NestLowering(Registers, Segments):
    """The kernel of a nest."""

    def kernel(self) -> Kernel:
        body = tidy(typed(self._body(), self._cast_scalars))
        arrays = self._arrays(body)
        free = free_names(body)
        for a in arrays:
            sizes = (e for e in (*a.extents, a.pitch, *a.origin) if e is not None)
            free.extend(n for e in sizes for n in sorted(names_in(e)) if n not in free)
        return Kernel(
            name=self.name,
            comment=self._comment(),
            scalars=self._scalars(free),
            arrays=arrays,
            block=self.m.mapping.block,
            shared=tuple(self._shared(s) for s in self.placement.staged),
            body=body,
        )

    def _body(self) -> tuple[Statement, ...]:
        parts: list[Statement] = []
        parts.extend(self._promoted_loads())
        for number, segment in enumerate(self.placement.segments):
            parts.extend(self._segment(number, segment))
        parts.extend(self._promoted_stores())
        body = tuple(parts)
        if self.points.block_test is not None:
            body = (If(self.points.block_test, body, (), uniform=True),)
        head: list[Statement] = [*self.points.origins()]
        if self.placement.staged:
            head.append(Declare("tid", "int", self._linear_thread()))
        return (*head, *body)

    def _linear_thread(self) -> Expr:
        x, y, z = self.m.mapping.block
        result: Expr = Name("thread_x")
        if y > 1:
            result = Binary("+", result, Binary("*", Int(x), Name("thread_y")))
        if z > 1:
            result = Binary("+", result, Binary("*", Int(x * y), Name("thread_z")))
        return simplify(result)

    def _comment(self) -> tuple[str, ...]:
        lines = [
            f"{s.position.file.rsplit('/', 1)[-1]}:{s.position.line}: {s.text}"
            for s in (self.m.p.statement(n) for n in self.m.statements)
        ]
        for k, a in enumerate(self.m.mapping.axes):
            deal = f", {a.per_thread} points a thread" if a.per_thread > 1 else ""
            place = self.points.block_name(k).replace("_", " ")
            lines.append(f"{a.name}: tiles of {a.tile} to {place}, {a.threads} threads{deal}")
        return tuple(lines)

    def _shared(self, s: Staged) -> SharedArray:
        in_ring = s.stepped and self._in_ring(self.placement.segments[s.segment])
        ring = (self.m.mapping.stages,) if in_ring else ()
        ctype = self.layouts[s.array].buffer.type
        grouped = any(a.group > 1 and a.group % 4 == 0 for a in self.m.mapping.axes)
        alignment = 16 if grouped and SIZES.get(ctype) == 4 else SIZES.get(ctype, 16)
        return SharedArray(s.name, ctype, (*ring, *s.extents), s.padding, alignment)

    @cached_property
    def scalar_types(self) -> dict[str, str]:
        return {s.name: s.passed for s in self.m.p.scop.scalars}

    @property
    def _cast_scalars(self) -> dict[str, str]:
        """Those that are passed as int and are of another type in the source."""
        return {s.name: s.type for s in self.m.p.scop.scalars if s.affine and not s.fits}

    def _scalars(self, free: list[str]) -> tuple[ScalarArgument, ...]:
        return tuple(ScalarArgument(n, self.scalar_types.get(n, "int")) for n in free)

    def host_values(self) -> dict[str, Expr]:
        """What the host passes for the kernel's scalars that are not its own variables."""
        values: dict[str, Expr] = {}
        for layout in self.layouts.values():
            values.update(layout.sizes)
        for k in range(len(self.m.mapping.axes)):
            first = self.points.first_name(k)
            if isinstance(first, Name):
                values[first.name] = self.points.first(k)
        return values

    def _arrays(self, body: tuple[Statement, ...]) -> tuple[ArrayArgument, ...]:
        read, written = touched(body)
        used = sorted((read | written) & set(self.layouts))
        return tuple(self.layouts[a].argument(a in read, a in written) for a in used)
