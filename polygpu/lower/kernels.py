"""A grid as a kernel.

kernel ::= origins, [block test], the block's code
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.lower.ahead import loads_before_rows
from polygpu.lower.blocks import code, context_of
from polygpu.lower.buffers import Layout
from polygpu.lower.carried import carry
from polygpu.lower.context import KernelContext
from polygpu.lower.fragments import with_fragments
from polygpu.lower.loaded import load_once
from polygpu.lower.locals import named_apart
from polygpu.lower.points import names_in
from polygpu.lower.reductions import shared_parts
from polygpu.lower.runs import EndlessError
from polygpu.lower.snake import by_columns, wound
from polygpu.lower.stretches import with_stretches
from polygpu.lower.tidy import tidy, typed
from polygpu.lower.wide_reads import read_wide
from polygpu.mapping.program import Box, Grid, Tiles
from polygpu.model.expr import SIZES, Binary, Expr, Int, Name
from polygpu.model.kernel import (
    ArrayArgument,
    Declare,
    For,
    If,
    Kernel,
    Launch,
    ScalarArgument,
    SharedArray,
    Statement,
)
from polygpu.model.kernel_walk import Body, free_names, statements, touched
from polygpu.model.linear import simplify
from polygpu.model.scop import Part
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.position import basename

_PARTS = 8  # of a statement that comments show all of


def lower(m: Grid, layouts: Mapping[str, Layout]) -> tuple[Kernel, Launch]:
    """The kernel of a grid, and its launch.

    Raises EndlessError where a loop of unknown length is to be unrolled fully.
    """
    c = context_of(m, layouts)
    kernel = _kernel(c)
    known = _host_values(c)
    scalars = tuple(known.get(s.name, Name(s.name, s.type)) for s in kernel.scalars)
    single = m.attending and not m.outer
    blocks = [Int(1) if single else c.points.blocks(m.axes.index(a)) for a in m.dealt]
    x, y, z, *_ = *reversed(blocks), Int(1), Int(1), Int(1)
    return kernel, Launch(kernel.name, (x, y, z), scalars)


def _kernel(c: KernelContext) -> Kernel:
    cast = {s.name: s.type for s in c.m.p.scop.scalars if s.affine and not s.fits}  # passed as int
    memory = frozenset(c.layouts).union(box.name for box, _ in c.m.boxes)
    plain = named_apart(typed(_body(c), cast))
    if c.m.attending and not c.m.outer:  # launches that are one have as many threads as registers suffice for
        plain = loads_before_rows(plain, frozenset(box.name for box, _ in c.m.boxes))
    loaded = load_once(plain, memory, c.m.reuse)
    loaded = by_columns(loaded, memory, c.m.reuse) if c.m.walk == "columns" else loaded
    loaded = wound(loaded, memory) if c.m.walk != "rows" else loaded
    body = with_stretches(tidy(carry(loaded, frozenset(c.layouts), c.m.reuse)))
    boxes = {box.name: _shared(c, box, tiles) for box, tiles in c.m.boxes}
    body = _in_fragments(c, body) if c.m.fragments else read_wide(body, boxes, c.m.widest)
    arrays = _arrays(c, body)
    free = free_names(body)
    for a in arrays:
        sizes = (e for e in (*a.extents, a.pitch, *a.origin) if e is not None)
        free.extend(n for e in sizes for n in sorted(names_in(e)) if n not in free)
    types = {s.name: s.passed for s in c.m.p.scop.scalars}
    return Kernel(
        name=c.m.name,
        comment=tuple(_comment(c)),
        scalars=tuple(ScalarArgument(n, types.get(n, "int")) for n in free),
        arrays=arrays,
        block=c.m.shape,
        shared=(
            *boxes.values(),
            *(shared_parts(c, r) for r in c.m.reductions),
        ),
        body=body,
        registers=c.m.registers,
    )


def _in_fragments(c: KernelContext, body: Body) -> Body:
    """Raises EndlessError where loops over points are none of a product, as where they are not unrolled."""
    made = with_fragments(body, c.m.fragments)
    if any(isinstance(s, For) and s.fragments for s in statements(made)):
        return made
    position = c.m.p.statement(c.m.statements[0]).position
    why = "the loops over points and terms are none of a product whose tiles are whole"
    found = Diagnostic("PG304", "error", why, position, "leave the decision out, or decide unroll(auto)")
    raise EndlessError(c.m.name, found, "tensor")


def _body(c: KernelContext) -> tuple[Statement, ...]:
    body = code(c, c.m.block)
    if c.points.block_test is not None:
        body = (If(c.points.block_test, body, (), uniform=True),)
    head: list[Statement] = [*c.points.origins()]
    if c.m.boxes:
        head.append(Declare("tid", "int", _linear_thread(c)))
    return (*head, *body)


def _linear_thread(c: KernelContext) -> Expr:
    x, y, z = c.m.shape
    result: Expr = Name("thread_x")
    if y > 1:
        result = Binary("+", result, Binary("*", Int(x), Name("thread_y")))
    if z > 1:
        result = Binary("+", result, Binary("*", Int(x * y), Name("thread_z")))
    return simplify(result)


def _comment(c: KernelContext) -> Iterator[str]:
    for s in (c.m.p.statement(n) for n in c.m.statements):
        yield from _source(s)
    if c.m.attending:
        yield f"one thread, for which {c.m.attending} copy"
    for k, a in enumerate(c.m.axes if not c.m.attending else ()):
        deal = f", {a.per_thread} points a thread" if a.per_thread > 1 else ""
        if a.copies:
            yield f"{a.threads} threads for each that computes: all of them copy"
            continue
        whose = "one after another" if a.loop else f"to {c.points.block_name(k).replace('_', ' ')}"
        threads = f"{a.threads} threads" if a.threads > 1 else "1 thread"
        yield f"{a.name}: tiles of {a.tile} {whose}, {threads}{deal}"


def _source(s: PolyStatement) -> Iterator[str]:
    """The statement as it stands in the source: of many that are one the first and the last."""
    parts = s.parts or (Part(s.position, s.text),)
    many = len(parts) > _PARTS
    for number, part in enumerate(parts):
        if many and number == _PARTS // 2:
            yield f"... {len(parts) - _PARTS + 1} more statements"
        if not many or number < _PARTS // 2 or number > len(parts) - _PARTS // 2:
            yield f"{basename(part.position.file)}:{part.position.line}: {part.text}"


def _shared(c: KernelContext, box: Box, tiles: Tiles | None) -> SharedArray:
    slots = (c.slots(tiles),) if c.slots(tiles) > 1 else ()
    ctype = c.layouts[box.array].buffer.type
    grouped = any(a.group > 1 and a.group % 4 == 0 for a in c.m.axes)
    alignment = 16 if grouped and SIZES.get(ctype) == 4 else SIZES.get(ctype, 16)
    return SharedArray(box.name, ctype, (*slots, *box.extents), box.padding, alignment)


def _host_values(c: KernelContext) -> dict[str, Expr]:
    """What the host passes for the kernel's scalars that are not its own variables."""
    values: dict[str, Expr] = {}
    for layout in c.layouts.values():
        values.update(layout.sizes)
    for k in range(len(c.m.axes)):
        first = c.points.first_name(k)
        if isinstance(first, Name):
            values[first.name] = c.points.first(k)
    return values


def _arrays(c: KernelContext, body: tuple[Statement, ...]) -> tuple[ArrayArgument, ...]:
    read, written = touched(body)
    used = sorted((read | written) & set(c.layouts))
    return tuple(c.layouts[a].argument(a in read, a in written) for a in used)
