"""One mapped and placed nest as a kernel.

    kernel ::= origins, [block test], register loads, segment*, register stores
    segment ::= copies, barrier, points | for each step tile: copies, barrier, points, barrier
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from polygpu.analysis.polyhedra import PolyStatement, array_tuple
from polygpu.analysis.rewrite import actions, references, rewrite, substitute, walk
from polygpu.codegen.linear import add, conjunction, linear, simplify, subtract
from polygpu.codegen.lower.buffers import Layout
from polygpu.codegen.lower.points import Points, names_in
from polygpu.codegen.lower.scan import (
    Scan,
    ScanBlock,
    ScanFor,
    ScanIf,
    ScanLeaf,
    scan,
    test_of,
    value_of,
)
from polygpu.codegen.lower.staging import Copy
from polygpu.codegen.tidy import substituted, tidy
from polygpu.memory.place import Placement, Promoted, Segment, Staged, step_of
from polygpu.model.expr import (
    SIZES,
    Binary,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Reference,
    is_floating,
    type_of,
)
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Barrier,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    ScalarArgument,
    SharedArray,
    Statement,
    WaitCopies,
)
from polygpu.model.scop import Action, Branch, Let, Store
from polygpu.schedule.flatten import entries, flatten
from polygpu.schedule.map import member_name
from polygpu.schedule.mapped import Axis, Fixed, MappedNest
from polygpu.schedule.tree import Member, single_iterator
from polygpu.support.isl_idioms import D, c_name, identifier


@dataclass(frozen=True)
class Stage:
    """Where code is being emitted: the segment, its step, and whether points need guards here."""

    segment: int
    step: Fixed | None
    guarded: bool
    statement: str = ""


@dataclass(frozen=True)
class NestLowering:
    """The kernel of `m` under `placement`; `layouts` describe the region's arrays."""

    m: MappedNest
    placement: Placement
    layouts: dict[str, Layout]
    name: str

    @cached_property
    def points(self) -> Points:
        return Points(self.m)

    @cached_property
    def threads(self) -> int:
        x, y, z = self.m.mapping.block
        return x * y * z

    # Kernel

    def kernel(self) -> Kernel:
        body = tidy(self._body())
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

    # Arguments

    @cached_property
    def scalar_types(self) -> dict[str, str]:
        return {s.name: s.type for s in self.m.p.scop.scalars}

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

    # Registers

    def _registers(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.m.mapping.axes if a.per_thread > 1)

    def _register(self, p: Promoted) -> Reference | Name:
        """The register of the current point."""
        ctype = self.layouts[p.array].buffer.type
        indices = tuple(self.points.register_index(a) for a in self._registers())
        return Reference(p.name, indices, ctype) if indices else Name(p.name, ctype)

    def _promoted_loads(self) -> list[Statement]:
        found: list[Statement] = []
        for p in self.placement.promoted:
            ctype = self.layouts[p.array].buffer.type
            extents = tuple(a.per_thread for a in self._registers())
            zero = _zero(ctype)
            if extents:
                found.append(DeclareArray(p.name, ctype, extents))
            else:
                found.append(Declare(p.name, ctype, None if p.load else zero, mutable=True))
            if p.load:
                load = Assign(self._register(p), self._element(p))
                found.extend(self._at_points(p, load, Assign(self._register(p), zero)))
            elif extents:
                clear = (Assign(self._register(p), zero),)
                found.extend(self.points.open(self._registers(), clear, guarded=False))
        return found

    def _promoted_stores(self) -> list[Statement]:
        found: list[Statement] = []
        for p in self.placement.promoted:
            if p.store:
                found.extend(self._at_points(p, Assign(self._element(p), self._register(p)), None))
        return found

    def _at_points(self, p: Promoted, action: Assign, otherwise: Assign | None) -> tuple[Statement, ...]:
        """`action` at the points that own an element, `otherwise` at the thread's other points."""
        tests = [t for k in range(len(self.m.mapping.axes)) for t in self.points.guards(k)]
        owned = test_of(self._points_as_parameters(p.points), self.points.box)
        test = conjunction([*tests, *([owned] if owned is not None else [])])
        if test is None:
            body: tuple[Statement, ...] = (action,)
        else:
            body = (If(test, (action,), (otherwise,) if otherwise else (), uniform=False),)
        return self.points.open(self._registers(), body, guarded=False)

    def _points_as_parameters(self, points: isl.Set) -> isl.Set:
        for d, axis in enumerate(self.m.mapping.axes):
            points = points.align_params(self.points.hull.get_space())
            local = isl.LocalSpace.from_space(points.get_space())
            position = points.find_dim_by_name(D.param, axis.name)
            here = isl.Aff.var_on_domain(local, D.param, position)
            points = points.intersect(_equal(isl.Aff.var_on_domain(local, D.set, d), here))
        return points.params()

    def _element(self, p: Promoted) -> Reference:
        """The array element the current point owns."""
        whole = self._points_set(p)
        elements = whole.apply(isl.Map.from_pw_multi_aff(p.element))
        subscripts: list[Expr] = []
        for k in range(elements.dim(D.set)):
            line = elements.project_out(D.set, k + 1, elements.dim(D.set) - k - 1).project_out(D.set, 0, k)
            line = line.reset_tuple_id()
            subscripts.append(value_of(line.dim_max(0), self.points.hull))
        return Reference(p.array, tuple(subscripts), self.layouts[p.array].buffer.type, site=self._site(p.tuple))

    def _points_set(self, p: Promoted) -> isl.Set:
        """The set of the one current point, in terms of the points' names."""
        points = isl.Set.universe(p.points.get_space()).align_params(self.points.hull.get_space())
        for d, axis in enumerate(self.m.mapping.axes):
            local = isl.LocalSpace.from_space(points.get_space())
            position = points.find_dim_by_name(D.param, axis.name)
            here = isl.Aff.var_on_domain(local, D.param, position)
            points = points.intersect(_equal(isl.Aff.var_on_domain(local, D.set, d), here))
        return points

    def _site(self, array: str) -> int:
        return next(
            a.reference.site
            for s in self.m.statements
            for a in self.m.p.statement(s).accesses
            if array_tuple(a.reference) == array
        )

    # Segments

    def _segment(self, number: int, segment: Segment) -> list[Statement]:
        staged = [s for s in self.placement.staged if s.segment == number]
        fixed_copies = [s for s in staged if not s.stepped]
        stepped = [s for s in staged if s.stepped]
        found: list[Statement] = []
        for s in fixed_copies:
            found.extend(self._copy(s).direct())
        if not stepped:
            found.extend([Barrier()] if fixed_copies else [])
            found.extend(self._stage(number, segment, None))
            return found
        step = step_of(self.m, segment)
        assert step is not None
        if self._in_ring(segment):
            return [*found, *self._ring(number, segment, step, stepped)]
        if self.m.mapping.buffering == "prefetch":
            return [*found, *self._prefetched(number, segment, step, stepped)]
        inner: list[Statement] = []
        for s in stepped:
            inner.extend(self._copy(s).direct())
        inner.extend([Barrier(), *self._stage(number, segment, step), Barrier()])
        found.extend(self._steps(segment, step, tuple(inner)))
        return found

    def _prefetched(
        self, number: int, segment: Segment, step: Fixed, stepped: list[Staged]
    ) -> tuple[Statement, ...]:
        """The next tile travels in registers while this one is used."""
        copies = [self._copy(s) for s in stepped]
        ahead = {step.name: add(Name(step.name), step.width)}
        body = [x for c in copies for x in c.put()]
        body.append(Barrier())
        body.extend(substituted(tuple(x for c in copies for x in c.fetch()), ahead))
        body.extend([*self._stage(number, segment, step), Barrier()])
        loop = self._steps(segment, step, tuple(body))
        head: list[Statement] = [c.registers() for c in copies]
        first = self._first_of(loop)
        start = substituted(tuple(x for c in copies for x in c.fetch()), {step.name: first})
        return (*head, *_unless_empty(loop, (*start, *loop)))

    def _first_of(self, loop: tuple[Statement, ...]) -> Expr:
        """Where the loop over tiles starts: its lower bound, or the only value."""
        match loop[0]:
            case For(_, lower, _, _, _, _, _):
                return lower
            case Declare(_, _, value, _) if value is not None:
                return value
            case If(_, then, _, _):
                return self._first_of(then)
        return Int(0)

    def _ring(
        self, number: int, segment: Segment, step: Fixed, stepped: list[Staged]
    ) -> tuple[Statement, ...]:
        """Tiles in flight: `stages` slots, each filled `stages - 1` tiles before it is used."""
        copies = [self._copy(s) for s in stepped]
        stages, width = self.m.mapping.stages, step.width
        here = Binary("%", Binary("/", Name(step.name), Int(width)), Int(stages))

        def fill(tiles_ahead: int, base: Expr) -> tuple[Statement, ...]:
            moves = tuple(x for c in copies for x in c.in_flight(here))
            return (*substituted(moves, {step.name: add(base, tiles_ahead * width)}), CommitCopies())

        body = (
            WaitCopies(stages - 2),
            Barrier(),
            *fill(stages - 1, Name(step.name)),
            Declare(self._slot(segment), "int", here),
            *self._stage(number, segment, step),
        )
        loop = self._steps(segment, step, body)
        first = self._first_of(loop)
        start = tuple(x for k in range(stages - 1) for x in fill(k, first))
        return _unless_empty(loop, (*start, *loop, WaitCopies(0)))

    def _in_ring(self, segment: Segment) -> bool:
        """Whether staged tiles of the segment go through a ring: slots are numbered from tile 0 up."""
        step = step_of(self.m, segment)
        ring = self.m.mapping.buffering == "ring" and self.m.mapping.widest > 0
        return ring and step is not None and self._starts_positive(step)

    def _slot(self, segment: Segment) -> str:
        step = step_of(self.m, segment)
        assert step is not None
        return f"{step.name}_slot"

    def _copy(self, s: Staged) -> Copy:
        offsets = tuple(self._offset(side.offset) for side in s.sides)
        multiples = {a.origin: a.tile for a in self.m.mapping.axes}
        for segment in self.placement.segments:
            step = step_of(self.m, segment)
            if step is not None:
                multiples[step.name] = step.width
        return Copy(
            s,
            offsets,
            self.layouts[s.array],
            self.threads,
            self._site(s.tuple),
            self._positive(),
            multiples,
            self.m.mapping.widest,
        )

    def _offset(self, offset: isl.PwAff) -> Expr:
        return value_of(offset, isl.Set.universe(offset.get_space().domain()).params())

    def _positive(self) -> frozenset[str]:
        """Names that are never negative when the kernel runs."""
        tiles = {
            a.origin
            for k, a in enumerate(self.m.mapping.axes)
            if isinstance(first := self.points.first(k), Int) and first.value >= 0
        }
        steps = {
            step.name
            for segment in self.placement.segments
            if (step := step_of(self.m, segment)) is not None and self._starts_positive(step)
        }
        return frozenset(tiles | steps)

    def _starts_positive(self, step: Fixed) -> bool:
        values = self._step_values(step)
        return bool(values.intersect(isl.Set("{ [i] : i < 0 }")).is_empty())

    def _step_values(self, step: Fixed) -> isl.Set:
        """First values of the step's tiles, in any block."""
        return self._tile_starts(step, ()).reset_tuple_id()

    def _tile_starts(self, step: Fixed, fixed: tuple[Fixed, ...]) -> isl.Set:
        starts: isl.Set | None = None
        for s in step.member.statements:
            row = step.member.rows[s]
            first = row.scale_down_val(isl.Val(step.width)).floor().scale_val(isl.Val(step.width))
            values = self.m.domain(s, fixed).apply(isl.Map.from_pw_aff(first))
            starts = values if starts is None else starts.union(values)
        assert starts is not None
        return starts.coalesce()

    def _steps(self, segment: Segment, step: Fixed, inner: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The uniform loop over the step's tiles that any point of the block needs."""
        starts = self._tile_starts(step, self.m.tiles())
        starts = isl.Set.from_basic_set(starts.remove_divs().simple_hull()) if starts.n_basic_set() > 1 else starts
        starts = starts.intersect(_multiples(starts, step.width)).set_tuple_name("tile")
        order = isl.UnionMap.from_map(starts.identity().reset_tuple_id(D.out))
        tree = scan(order, self._block_context(), (step.name,))

        def leaf(found: ScanLeaf) -> tuple[Statement, ...]:
            value = found.arguments[0]
            return inner if value == Name(step.name) else (Declare(step.name, "int", value), *inner)

        return self._emit_uniform(tree, leaf)

    def _block_context(self) -> isl.Set:
        return self.points._origins_of(self.points.hull)

    def _emit_uniform(self, tree: Scan, leaf) -> tuple[Statement, ...]:  # type: ignore[no-untyped-def]
        match tree:
            case ScanBlock(children):
                return tuple(s for c in children for s in self._emit_uniform(c, leaf))
            case ScanFor(index, lower, upper, step, body):
                return (For(index, lower, upper, step, self._emit_uniform(body, leaf), uniform=True),)
            case ScanIf(test, then, otherwise):
                other = self._emit_uniform(otherwise, leaf) if otherwise is not None else ()
                return (If(test, self._emit_uniform(then, leaf), other, uniform=True),)
            case ScanLeaf():
                return leaf(tree)

    # The points' code between barriers

    def _stage(self, number: int, segment: Segment, step: Fixed | None) -> tuple[Statement, ...]:
        fixed = (*self.m.points(), *((step,) if step is not None else ()))
        order = flatten(self.m, segment.node, fixed, shift=step)
        context = self.points.hull
        if step is not None:
            context = context.intersect(self._step_context(step))
        tree = scan(order, context, self._loop_names(segment, step))
        stage = Stage(number, step, guarded=not self._runs_anywhere(segment, tree))
        uniform = frozenset(self._uniform_names(step))
        body = self._emit(tree, stage, self.m.mapping.axes, stage.guarded, uniform)
        full = self._full_tile() if stage.guarded else None
        if full is None:
            return body
        free = self._emit(tree, stage, self.m.mapping.axes, False, uniform)
        return (If(full, free, body, uniform=True),)

    def _full_tile(self) -> Expr | None:
        """Whether all points of the block are inside the nest, where threads have several of them.

        Without guards the compiler of the target can share what neighbouring points of a thread load.
        """
        if not self._registers() or self.points.corner_test is not None:
            return None
        tests: list[Expr] = []
        for k, axis in enumerate(self.m.mapping.axes):
            origin, bounds = Name(axis.origin), self.points.bounds[k]
            for test in self.points.guards(k):
                if test == Binary(">=", Name(axis.name), bounds.lower):
                    tests.append(Binary(">=", origin, bounds.lower))
                else:
                    tests.append(Binary("<=", add(origin, axis.tile), bounds.upper))
        return conjunction(tests)

    def _step_context(self, step: Fixed) -> isl.Set:
        context: isl.Set | None = None
        for s in step.member.statements:
            part = self.m.domain(s, (step,)).params()
            context = part if context is None else context.union(part)
        assert context is not None
        starts = self._as_parameter(self._step_values(step), step.name)
        return isl.Set.from_basic_set(context.remove_divs().simple_hull()).intersect(starts)

    def _as_parameter(self, line: isl.Set, name: str) -> isl.Set:
        """The convex hull of a one-dimensional set as a condition on parameter `name`."""
        hull = isl.Set.from_basic_set(line.remove_divs().simple_hull())
        least = line.dim_min_val(0)  # exact, where the hull forgot what the values are multiples of
        if least.is_int():
            hull = hull.lower_bound_val(D.set, 0, least)
        hull = hull.move_dims(D.param, hull.dim(D.param), D.set, 0, 1)
        return hull.params().set_dim_id(D.param, hull.dim(D.param) - 1, identifier(name))

    def _uniform_names(self, step: Fixed | None) -> set[str]:
        names = set(self.m.p.parameters) | {f.name for f in self.m.outer}
        names |= {a.origin for a in self.m.mapping.axes} | {s for layout in self.layouts.values() for s in layout.sizes}
        names |= {a.name for a in self.m.mapping.axes if a.threads == 1 and a.per_thread == 1}
        return names | ({step.name} if step is not None else set())

    def _loop_names(self, segment: Segment, step: Fixed | None) -> tuple[str, ...]:
        """Names for the schedule dimensions below the points: iterators where they are the dimension."""
        taken = {n for a in self.m.mapping.axes for n in (a.name, a.origin)} | set(self.m.p.parameters)
        taken |= {f.name for f in self.m.outer} | {a.name for a in self.m.p.arrays} | {"tid"}
        taken |= {s.name for s in self.m.p.scop.scalars}
        lines = [entries(segment.node, s) for s in segment.node.statements]
        names: list[str] = []
        for d in range(max(len(line) for line in lines) or 1):
            rows = {
                s: line[d]
                for s, line in zip(segment.node.statements, lines, strict=True)
                if d < len(line) and isinstance(line[d], isl.PwAff)
            }
            name = member_name(Member(rows), f"c{d}", taken) if rows else f"c{d}"
            if step is not None and rows and any(r is step.member.rows.get(s) for s, r in rows.items()):
                name = f"{name}_in"
            taken.add(name)
            names.append(name)
        return tuple(names)

    def _runs_anywhere(self, segment: Segment, tree: Scan) -> bool:
        """Whether points outside the nest may run the code too: registers change, nothing else is read."""
        if not self._registers() or not self._unconditional(tree):
            return False
        return all(self._harmless(self.m.p.statement(s), segment) for s in segment.node.statements)

    def _unconditional(self, tree: Scan) -> bool:
        names = {a.name for a in self.m.mapping.axes}
        match tree:
            case ScanBlock(children):
                return all(self._unconditional(c) for c in children)
            case ScanFor(_, lower, upper, _, body):
                return not (names_in(lower) | names_in(upper)) & names and self._unconditional(body)
            case ScanIf():
                return False
        return True

    def _harmless(self, s: PolyStatement, segment: Segment) -> bool:
        """Whether `s` may run at any point of the tile: it reads and changes registers and shared tiles only."""
        stores = [a for a in actions(s.body) if isinstance(a, Store)]
        if len(stores) != len(s.body) or any(not is_floating(type_of(a.value)) for a in stores):
            return False
        for a in s.accesses:
            if self.placement.promotion(array_tuple(a.reference)) is not None:
                continue
            staged = None if a.write else self.placement.staged_for(s.name, a.reference)
            if staged is None or not self._covers_tile(staged, s, a.reference, segment):
                return False
        return True

    def _covers_tile(self, staged: Staged, s: PolyStatement, r: Reference, segment: Segment) -> bool:
        """Whether the shared box holds what the reference would read at every point of the tile."""
        ranges = {n: range(a.threads) for k, a in enumerate(self.m.mapping.axes) for n in [self.points.thread_name(k)]}
        for a in self._registers():
            names = self.points.register_names(a)
            counts = (a.per_thread,) if len(names) == 1 else (a.per_thread // a.group, a.group)
            ranges |= {n: range(c) for n, c in zip(names, counts, strict=True)}
        step = step_of(self.m, segment)
        for subscript, side in zip(r.subscripts, staged.sides, strict=True):
            local = self._local(self._in_points(subscript, s, step), side.offset)
            low, high = _interval(local, ranges, step.width if step is not None else 1)
            if low is None or high is None or low < 0 or high >= side.size:
                return False
        return True

    def _in_points(self, subscript: Expr, s: PolyStatement, step: Fixed | None) -> Expr:
        """The subscript with iterators that are points or the step's dimension written as such."""
        values: dict[str, Expr] = {}
        for member, axis in zip(self.m.nest.parallel, self.m.mapping.axes, strict=True):
            iterator = single_iterator(member.rows[s.name])
            if iterator is not None:
                values[c_name(iterator)] = Name(axis.name)
        if step is not None and s.name in step.member.rows:
            iterator = single_iterator(step.member.rows[s.name])
            if iterator is not None:
                values[c_name(iterator)] = Binary("+", Name(step.name), Name(INSIDE))
        return simplify(substitute(subscript, values))

    def _emit(
        self, tree: Scan, stage: Stage, pending: tuple[Axis, ...], guarded: bool, uniform: frozenset[str]
    ) -> tuple[Statement, ...]:
        """`tree` for all points along `pending`: their loops open as deep inside as bounds allow."""
        single = tuple(a for a in pending if a.per_thread == 1)
        if single:
            rest = tuple(a for a in pending if a.per_thread > 1)
            return self._open(tree, stage, single, rest, guarded, uniform)
        match tree:
            case ScanBlock(children):
                return tuple(s for c in children for s in self._emit(c, stage, pending, guarded, uniform))
            case ScanFor(index, lower, upper, step, body):
                needed = self._needed(pending, names_in(lower) | names_in(upper))
                if needed:
                    rest = tuple(a for a in pending if a not in needed)
                    return self._open(tree, stage, needed, rest, guarded, uniform)
                even = names_in(lower) | names_in(upper) <= uniform
                inner = self._emit(body, stage, pending, guarded, uniform | {index} if even else uniform)
                return self._loop(For(index, lower, upper, step, inner, uniform=even), stage)
            case ScanIf(test, then, otherwise):
                needed = self._needed(pending, names_in(test))
                if needed:
                    rest = tuple(a for a in pending if a not in needed)
                    return self._open(tree, stage, needed, rest, guarded, uniform)
                first = self._emit(then, stage, pending, guarded, uniform)
                second = self._emit(otherwise, stage, pending, guarded, uniform) if otherwise is not None else ()
                return (If(test, first, second, uniform=names_in(test) <= uniform),)
            case ScanLeaf():
                if pending:
                    return self._open(tree, stage, pending, (), guarded, uniform)
                return self._instance(tree, stage)

    def _needed(self, pending: tuple[Axis, ...], names: set[str]) -> tuple[Axis, ...]:
        return tuple(a for a in pending if a.name in names)

    def _open(
        self,
        tree: Scan,
        stage: Stage,
        axes: tuple[Axis, ...],
        rest: tuple[Axis, ...],
        guarded: bool,
        uniform: frozenset[str],
    ) -> tuple[Statement, ...]:
        inner = self._emit(tree, stage, rest, guarded, uniform)
        if guarded and not rest and self.points.corner_test is not None:
            inner = (If(self.points.corner_test, inner, (), uniform=False),)
        return self.points.open(axes, inner, guarded)

    def _loop(self, loop: For, stage: Stage) -> tuple[Statement, ...]:
        """A loop over a step's tile: unrolled when the tile is full, with its own bound when not."""
        limit = _constant_limit(loop)
        if limit is None or stage.step is None or limit > 64:
            short = isinstance(loop.lower, Int) and isinstance(loop.upper, Int)
            return (replace(loop, unroll=short and loop.upper.value - loop.lower.value <= 16),)  # type: ignore[union-attr]
        others = [a for a in loop.upper.arguments if a != Int(limit)]  # type: ignore[union-attr]
        full = conjunction([Binary(">=", a, Int(limit)) for a in others])
        assert full is not None
        unrolled = replace(loop, upper=Int(limit), unroll=True)
        return (If(full, (unrolled,), (loop,), uniform=loop.uniform),)

    # Statement instances

    def _instance(self, leaf: ScanLeaf, stage: Stage) -> tuple[Statement, ...]:
        s = self.m.p.statement(leaf.statement)
        values = dict(zip(s.iterators, leaf.arguments, strict=True))
        here = replace(stage, statement=s.name)
        return tuple(out for a in s.body for out in self._action(a, values, here))

    def _action(self, a: Action, values: dict[str, Expr], stage: Stage) -> tuple[Statement, ...]:
        match a:
            case Store(target, value):
                place = self._place(target, values, stage)
                assert isinstance(place, Reference | Name)
                return (Assign(place, self._value(value, values, stage)),)
            case Let(name, ctype, value, assign):
                new = self._value(value, values, stage)
                if assign:
                    return (Assign(Name(name, ctype), new),)
                return (Declare(name, ctype, new, mutable=True),)
            case Branch(test, then, otherwise):
                first = tuple(o for x in then for o in self._action(x, values, stage))
                second = tuple(o for x in otherwise for o in self._action(x, values, stage))
                return (If(self._value(test, values, stage), first, second, uniform=False),)

    def _value(self, expr: Expr, values: dict[str, Expr], stage: Stage) -> Expr:
        def change(e: Expr) -> Expr | None:
            if isinstance(e, Reference):
                return self._place(e, values, stage)
            return values.get(e.name) if isinstance(e, Name) else None

        return rewrite(expr, change)

    def _place(self, r: Reference, values: dict[str, Expr], stage: Stage) -> Expr:
        """Where `r` lives in this kernel: a register, a shared or a global element."""
        array = array_tuple(r)
        promoted = self.placement.promotion(array)
        if promoted is not None:
            register = self._register(promoted)
            return replace(register, site=r.site) if isinstance(register, Reference) else register
        subscripts = tuple(self._subscript(s, values, stage) for s in r.subscripts)
        staged = self.placement.staged_for(stage.statement, r)
        if staged is None:
            return replace(r, subscripts=subscripts)
        local = [
            self._local(subscript, side.offset) for subscript, side in zip(subscripts, staged.sides, strict=True)
        ]
        stored = tuple(local[k] for k in staged.order)
        if staged.stepped and self._in_ring(self.placement.segments[stage.segment]):
            stored = (Name(self._slot(self.placement.segments[stage.segment])), *stored)
        return Reference(staged.name, stored, r.type, site=r.site)

    def _subscript(self, expr: Expr, values: dict[str, Expr], stage: Stage) -> Expr:
        if any(isinstance(e, Reference) for e in walk(expr)):
            return self._value(expr, values, stage)
        return simplify(substitute(expr, values))

    def _local(self, subscript: Expr, offset: isl.PwAff) -> Expr:
        return self.points.expand(subtract(subscript, self._offset(offset)))


def _unless_empty(loop: tuple[Statement, ...], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` where the loop over tiles has any: what is fetched ahead of it must exist."""
    match loop[0]:
        case For(_, Int(lower), Int(upper), _, _, _, _):
            return body if lower < upper else ()
        case For(_, lower, upper, _, _, _, _):
            return (If(Binary("<", lower, upper), body, (), uniform=True),)
        case If(test, then, (), True) if isinstance(then[0], For | If):
            return (If(test, _unless_empty(then, body), (), uniform=True),)
    return body


INSIDE = "inside the step"  # stands for the position in a step's tile; no C name


def _interval(expr: Expr, ranges: dict[str, range], width: int) -> tuple[int | None, int | None]:
    """The least and greatest value of a sum of the names in `ranges`; None when others occur."""
    sum_ = linear(expr)
    low = high = sum_.constant
    for atom, c in sum_.terms:
        known = ranges.get(atom.name) if isinstance(atom, Name) else None
        if known is None and atom == Name(INSIDE):
            known = range(width)
        if known is None:
            return None, None
        ends = (c * known[0], c * known[-1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def _constant_limit(loop: For) -> int | None:
    """The constant in `for 0 <= x < min(constant, ...)`, step 1."""
    upper = loop.upper
    if loop.lower != Int(0) or loop.step != 1 or not hasattr(upper, "arguments"):
        return None
    constants = [a.value for a in upper.arguments if isinstance(a, Int)]
    return constants[0] if getattr(upper, "function", "") == "min" and len(constants) == 1 else None


def _zero(ctype: str) -> Expr:
    if ctype == "float":
        return Literal("0.0f", "float")
    return Literal("0.0", "double") if ctype == "double" else Cast(ctype, Int(0))


def _equal(a: isl.Aff, b: isl.Aff) -> isl.Set:
    return isl.PwAff.from_aff(a).eq_set(isl.PwAff.from_aff(b))


def _multiples(line: isl.Set, width: int) -> isl.Set:
    local = isl.LocalSpace.from_space(line.get_space())
    value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, 0))
    return value.mod_val(isl.Val(width)).eq_set(isl.PwAff.from_aff(isl.Aff.zero_on_domain(local)))


def free_names(body: tuple[Statement, ...]) -> list[str]:
    """Names that `body` uses and does not declare, the built-in indices apart, in order of use."""
    used: dict[str, None] = {}
    declared: set[str] = set()
    _collect(body, used, declared)
    built_in = ("thread_", "block_")
    return [n for n in used if n not in declared and not n.startswith(built_in)]


def _collect(body: tuple[Statement, ...], used: dict[str, None], declared: set[str]) -> None:
    for s in body:
        for expr in expressions_of(s):
            used.update(dict.fromkeys(e.name for e in walk(expr) if isinstance(e, Name)))
        match s:
            case Declare(name, _, _, _) | DeclareArray(name, _, _):
                declared.add(name)
            case For(index, _, _, _, inner, _, _):
                declared.add(index)
                _collect(inner, used, declared)
            case If(_, then, otherwise, _):
                _collect(then, used, declared)
                _collect(otherwise, used, declared)


def expressions_of(s: Statement) -> tuple[Expr, ...]:
    match s:
        case Declare(_, _, value, _):
            return (value,) if value is not None else ()
        case Assign(target, value):
            return (target, value)
        case For(_, lower, upper, _, _, _, _):
            return (lower, upper)
        case If(test, _, _, _):
            return (test,)
        case Comment() | Barrier() | DeclareArray():
            return ()
    return (s.target, s.source) if hasattr(s, "target") else ()


def touched(body: tuple[Statement, ...]) -> tuple[set[str], set[str]]:
    """Names of arrays that `body` reads and writes (in any space)."""
    read: set[str] = set()
    written: set[str] = set()
    for s in body:
        target = getattr(s, "target", None)
        for expr in expressions_of(s):
            parts = expr.subscripts if expr is target and isinstance(expr, Reference) else (expr,)
            read |= {r.array for part in parts for r in references(part)}
        if isinstance(target, Reference):
            written.add(target.array)
        for inner in (getattr(s, "body", ()), getattr(s, "then", ()), getattr(s, "otherwise", ())):
            more = touched(inner)
            read |= more[0]
            written |= more[1]
    return read, written
