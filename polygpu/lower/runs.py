"""The code between barriers: scans of what a thread runs, opened over its points as deep as bounds allow."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, reduce
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.lower.beyond import Beyond
from polygpu.lower.checked_scan import scan
from polygpu.lower.context import KernelContext
from polygpu.lower.instances import Instance
from polygpu.lower.points import names_in
from polygpu.lower.rows import in_a_row
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf, rewritten, test_of
from polygpu.lower.uneven import Uneven
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.flatten import entries, flatten
from polygpu.mapping.hull import in_waves
from polygpu.mapping.map import member_name
from polygpu.mapping.program import Axis
from polygpu.model.expr import Binary, Call, Expr, Int, Name
from polygpu.model.kernel import For, If, Statement
from polygpu.model.kernel_walk import loop_length
from polygpu.model.linear import conjunction, simplify
from polygpu.model.rewrite import substitute
from polygpu.perf.cost import rolled_loops
from polygpu.schedule.loop_names import falls
from polygpu.schedule.tree import Member, Node
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.isl_idioms import D, coalesced, identifier, sets, single_space

Code: TypeAlias = tuple[Statement, ...]


class EndlessError(Exception):
    """A loop of a kernel that cannot be unrolled fully, or what another decision of a `key` asks for."""

    def __init__(self, kernel: str, diagnostic: Diagnostic, key: str = "unroll") -> None:
        super().__init__(diagnostic.message)
        self.kernel = kernel
        self.diagnostic = diagnostic
        self.key = key


@dataclass(frozen=True)
class RunCode:
    """Code of `node` inside of loops over tiles of `steps`, outermost first."""

    c: KernelContext
    node: Node
    steps: tuple[Fixed, ...]
    within: isl.Set | None = None
    beyond: bool = False
    before: Code = ()

    def code(self) -> tuple[Statement, ...]:
        """The code behind what is to be `before` it."""
        made = self._code()
        match made:
            case (If(test, then, otherwise, uniform=True),) if self.beyond and otherwise:
                # in each branch: between it and the code the target's compiler can move nothing across tests
                return (If(test, (*self.before, *then), (*self.before, *otherwise), uniform=True),)
        return (*self.before, *made)

    def _code(self) -> tuple[Statement, ...]:
        points = {a.loop for a in self.c.m.axes}  # of these loops' tiles, points say all there is to say
        steps = tuple(step for step in self.steps if step.name not in points)
        fixed = (*self.c.m.points(), *steps)
        order = flatten(self.c.m, self.node, fixed, shift=steps)
        only = self.within if not self.beyond else None
        order = order if only is None else order.intersect_params(only)
        context = self.c.points.hull
        for k, step in enumerate(self.steps):
            if step not in steps:
                continue
            context = context.intersect(self.c.step_context(step, self.steps[:k]))
        if in_waves(self.c.m):
            tree = rewritten(
                scan(order, self.c.points.extent.context, self._loop_names()), self.c.points.in_tile
            )
            return self._emit(tree, False, self.c.m.axes, False, frozenset(self._uniform_names()))
        tree = scan(order, context, self._loop_names())
        uniform = frozenset(self._uniform_names())
        if steps and self.within is None and self._is_uneven(tree):
            common = self._in_common(order, context, steps[-1], uniform)
            if common is not None:
                return common
        guarded = not self._runs_anywhere(tree)
        body = self._emit(tree, guarded, self.c.m.axes, guarded, uniform)
        inside = self._of_all_points(order)
        if inside is not None:
            untested = scan(order, context.intersect(inside), self._loop_names())
            whole = self._emit(untested, True, self.c.m.axes, False, uniform)
            body = self._where_any(order, context, body) if self.beyond else body
            return self._where_all(inside, context, whole, body)
        return self._where_full(tree, uniform) if guarded and self._has_full_tiles else body

    def _where_full(self, tree: Scan, uniform: frozenset[str]) -> Code:
        """`tree` with tests for a thread's points in tiles that are not full along axes of several of them.

        A point of the other axes is tested before: what neighbours load is shared at their rims, too.
        """
        several = self.c.registers()
        single = tuple(a for a in self.c.m.axes if a not in several)
        code = self._emit(tree, True, several, True, uniform)
        full = self.c.points.full_tile(several)
        if full is not None:
            code = (If(full, self._emit(tree, True, several, False, uniform), code, uniform=True),)
        return self.c.points.open(single, code, True)

    def _is_uneven(self, tree: Scan) -> bool:
        """Whether bounds of loops depend on the point, of which a thread has several that may all run it."""
        uneven = bool(self.c.registers()) and not self._unconditional(tree)
        return uneven and self._is_harmless(tree)

    def _in_common(
        self, order: isl.UnionMap, context: isl.Set, step: Fixed, uniform: frozenset[str]
    ) -> Code | None:
        """Loops that all points of a block have in common, with tests in tiles that some run a part of.

        None where points beyond the nest could not run these, a tile is one iteration, or the step is another
        of the dimensions of each statement.
        """
        found = {self._depth(step, s) for s in self.node.statements}
        at = found.pop() if len(found) == 1 else None
        if at is None:
            return None
        axes = self.c.m.axes
        uneven = Uneven(order, context, axes, at, step.width, self._loop_names())
        known = self.c.block_context().intersect(self.c.visits(step, self.steps[:-1]))
        test, tree = uneven.whole(known)
        common = uneven.in_common()
        if not (self._is_harmless(tree) and self._is_harmless(common)):
            return None
        part = self._emit(common, False, axes, False, uniform)
        whole = self._emit(tree, False, axes, False, uniform)
        return (If(test, whole, part, uniform=True),) if test is not None else whole

    def _depth(self, step: Fixed, statement: str) -> int | None:
        """Which of the dimensions that a statement has in the node is the step's."""
        row = step.member.rows.get(statement)
        return next((k for k, entry in enumerate(entries(self.node, statement)) if entry is row), None)

    def _of_all_points(self, order: isl.UnionMap) -> isl.Set | None:
        """Where all statements run, if conditions say where, and threads hold their points in registers, or
        those beyond compute too.
        """
        if self.within is None or not (self.beyond or self.c.mirrors):
            return None
        places = [domain.params() for domain in sets(order.domain())]
        inside = coalesced(reduce(isl.Set.intersect, places))
        parts = inside.get_basic_sets()
        return inside if len(parts) == 1 and not parts[0].dim(D.div) else None

    def _where_any(self, order: isl.UnionMap, context: isl.Set, body: Code) -> Code:
        """`body` in blocks that have a point at which a statement runs."""
        places = reduce(isl.Set.union, (domain.params() for domain in sets(order.domain())))
        for axis in self.c.m.axes:
            places = places.align_params(single_space(places.get_space(), axis.name))
        test = test_of(self.c.points.origins_of(places), self._of_block(context))
        return (If(test, body, (), uniform=True),) if test is not None else body

    def _of_block(self, context: isl.Set) -> isl.Set:
        """Without what holds of points of the nest only, which is to be tested."""
        for axis in self.c.m.axes:
            position = context.find_dim_by_name(D.param, axis.name)
            context = context.project_out(D.param, position, 1) if position >= 0 else context
        return context.intersect(self.c.block_context())

    def _where_all(self, inside: isl.Set, context: isl.Set, whole: Code, body: Code) -> Code:
        """`whole` where all points are `inside`, a convex set, and `body` elsewhere: points of a thread, or
        of the block where all of it computes.
        """
        first: dict[str, Expr] = {}
        for axis in self.c.m.axes if self.beyond else self.c.registers():
            groups, group = axis.per_thread // axis.group, axis.group
            last = axis.tile - 1 if self.beyond else (groups - 1) * axis.threads * group + group - 1
            inside = inside.intersect(_ahead(inside, axis.name, last))
            first[axis.name] = Name(axis.origin) if self.beyond else self.c.points.first_point(axis)
        test = test_of(inside, self._of_block(context))
        if test is None or test == Int(0):
            return whole if test is None else body
        return (If(simplify(substitute(test, first)), whole, body, uniform=self.beyond),)

    @property
    def _has_full_tiles(self) -> bool:
        """Whether threads have several points, which bounds of axes alone keep inside the nest.

        Without guards the compiler of the target can share what neighbouring points of a thread load.
        """
        return bool(self.c.registers()) and self._can_be_full

    def _full_tile(self) -> Expr | None:
        """Whether all points of the block are inside the nest."""
        return self.c.points.full_tile(self.c.m.axes) if self._has_full_tiles else None

    def _uniform_names(self) -> set[str]:
        names = set(self.c.m.p.parameters) | {f.name for f in self.c.m.outer}
        names |= {a.origin for a in self.c.m.axes} | {
            s for layout in self.c.layouts.values() for s in layout.sizes
        }
        names |= {a.name for a in self.c.m.axes if a.threads == 1 and a.per_thread == 1}
        return names | {step.name for step in self.steps}

    def _around(self) -> set[str]:
        """The names around the loops, and those of the program."""
        names = {n for a in self.c.m.axes for n in (a.name, a.origin)}
        return names | {f.name for f in self.c.m.outer} | self.c.m.p.names()

    def _loop_names(self) -> tuple[str, ...]:
        """Names for the schedule dimensions below the points: iterators where they are the dimension."""
        taken = self._around()
        around = {step.name for step in self.steps}  # of which one may be an iterator of another statement
        names: list[str] = []
        for d, (rows, width) in enumerate(zip(self._rows_below(), self._widths(), strict=True)):
            known = taken if width else taken | around
            name = member_name(self.c.m.p, Member(rows), f"c{d}", known) if rows else f"c{d}"
            if width:
                name = f"{name}_in"
            taken.add(name)
            names.append(name)
        return tuple(names)

    @cached_property
    def _opposites(self) -> dict[str, str]:
        """Of loops that go up while iterators go down, names for what goes down."""
        taken = self._around() | set(self._loop_names()) | {step.name for step in self.steps}
        found: dict[str, str] = {}
        for name, rows, width in zip(self._loop_names(), self._rows_below(), self._widths(), strict=True):
            if rows and not width and all(map(falls, rows.values())):
                down = Member({s: row.neg() for s, row in rows.items()})
                found[name] = member_name(self.c.m.p, down, f"{name}_down", taken)
                taken.add(found[name])
        return found

    def _rows_below(self) -> tuple[dict[str, isl.PwAff], ...]:
        """Of each schedule dimension below the points the rows of the statements that have one there."""
        lines = [entries(self.node, s) for s in self.node.statements]
        return tuple(
            {
                s: row
                for s, line in zip(self.node.statements, lines, strict=True)
                if d < len(line) and isinstance(row := line[d], isl.PwAff)
            }
            for d in range(max(len(line) for line in lines) or 1)
        )

    def _widths(self) -> tuple[int, ...]:
        """Of each of these dimensions the width of the tile in which it counts, 0 where it is no step's."""
        return tuple(
            next(
                (t.width for t in self.steps for s, r in rows.items() if r is t.member.rows.get(s)),
                0,
            )
            for rows in self._rows_below()
        )

    def _runs_anywhere(self, tree: Scan) -> bool:
        """Whether points outside the nest may run the code too: registers change, nothing else is read."""
        return bool(self.c.registers()) and self._unconditional(tree) and self._is_harmless(tree)

    def _is_harmless(self, tree: Scan) -> bool:
        inside = {n: range(w) for n, w in zip(self._loop_names(), self._widths(), strict=True) if w}
        return Beyond(self.c, inside).is_harmless(tree)

    @cached_property
    def _takes_over_any(self) -> bool:
        return any(self._takes_over(self.c.m.p.statement(s)) for s in self.node.statements)

    @property
    def _can_be_full(self) -> bool:
        """Whether bounds of axes say that all points of a block are inside the nest."""
        return self.c.points.corner_test is None

    def _takes_over(self, s: PolyStatement) -> bool:
        """Whether points outside the nest run what other pieces of the same statement of the source do."""
        pieces = [t for t in self.c.m.p.statements if t.whole and t.whole == s.whole and t is not s]
        for t in pieces:
            others = t.domain.set_tuple_name(s.name)
            for fixed in self.c.m.outer:
                others = fixed.restrict(others, s.name)
            if not self.c.points.reached(others, s.name).is_empty():
                return True
        return False

    def _unconditional(self, tree: Scan) -> bool:
        names = {a.name for a in self.c.m.axes}
        match tree:
            case ScanBlock(children):
                return all(self._unconditional(c) for c in children)
            case ScanFor(_, lower, upper, _, body):
                return not (names_in(lower) | names_in(upper)) & names and self._unconditional(body)
            case ScanIf():
                return False
        return True

    def _emit(
        self, tree: Scan, guards: bool, pending: tuple[Axis, ...], guarded: bool, uniform: frozenset[str]
    ) -> tuple[Statement, ...]:
        """`tree` for all points along `pending`: their loops open as deep inside as bounds allow."""
        single = tuple(a for a in pending if a.per_thread == 1)
        if single:
            rest = tuple(a for a in pending if a.per_thread > 1)
            return self._open(tree, guards, single, rest, guarded, uniform)
        match tree:
            case ScanBlock(children):
                return tuple(s for c in children for s in self._emit(c, guards, pending, guarded, uniform))
            case ScanFor(index, lower, upper, step, body):
                needed = self._needed(pending, names_in(lower) | names_in(upper))
                if needed:
                    rest = tuple(a for a in pending if a not in needed)
                    return self._open(tree, guards, needed, rest, guarded, uniform)
                even = names_in(lower) | names_in(upper) <= uniform
                inner = self._emit(body, guards, pending, guarded, uniform | {index} if even else uniform)
                opposite = self._opposites.get(index, "")
                return self._loop(For(index, lower, upper, step, inner, even, opposite=opposite))
            case ScanIf(test, then, otherwise):
                needed = self._needed(pending, names_in(test))
                if needed:
                    rest = tuple(a for a in pending if a not in needed)
                    return self._open(tree, guards, needed, rest, guarded, uniform)
                first = self._emit(then, guards, pending, guarded, uniform)
                second = (
                    self._emit(otherwise, guards, pending, guarded, uniform) if otherwise is not None else ()
                )
                return (If(test, first, second, uniform=names_in(test) <= uniform),)
            case ScanLeaf():
                if pending:
                    return self._open(tree, guards, pending, (), guarded, uniform)
                return Instance(self.c, tree, guards, self._claimed(guards)).code()

    def _claimed(self, guards: bool) -> Expr | None:
        """Where an instance is the nest's; None where its arguments say so. Points beyond may run others."""
        if self.within is not None and self.beyond:
            return test_of(self.within, self.c.block_context())
        if guards or not self._takes_over_any:
            return None
        tests = [test for k in range(len(self.c.m.axes)) for test in self.c.points.guards(k)]
        return conjunction([*tests, *(t for t in (self.c.points.corner_test,) if t is not None)])

    def _needed(self, pending: tuple[Axis, ...], names: set[str]) -> tuple[Axis, ...]:
        return tuple(a for a in pending if a.name in names)

    def _open(
        self,
        tree: Scan,
        guards: bool,
        axes: tuple[Axis, ...],
        rest: tuple[Axis, ...],
        guarded: bool,
        uniform: frozenset[str],
    ) -> tuple[Statement, ...]:
        inner = self._emit(tree, guards, rest, guarded, uniform)
        if guarded and not rest and self.c.points.corner_test is not None:
            inner = (If(self.c.points.corner_test, inner, (), uniform=False),)
        return self.c.points.open(axes, inner, guarded)

    def _loop(self, loop: For) -> tuple[Statement, ...]:
        """A loop over a step's tile: unrolled when the tile is full, with its own bound when not.

        An innermost loop follows the decision where there is one.
        """
        asked = self.c.m.unroll
        if asked is not None and not any(True for _ in rolled_loops(loop.body)):
            limit = _constant_limit(loop, asked == 0) if self.steps else None
            return self._unrolled(loop, limit, asked)
        limit = _constant_limit(loop)
        if limit is None or not self.steps or limit > 64:
            short = isinstance(loop.lower, Int) and isinstance(loop.upper, Int)
            return (replace(loop, unroll=short and loop.upper.value - loop.lower.value <= 16),)  # type: ignore[union-attr]
        unrolled = replace(loop, upper=Int(limit), unroll=True)
        return (If(_is_full(loop, limit), (unrolled,), (loop,), uniform=loop.uniform),)

    def _unrolled(self, loop: For, limit: int | None, count: int) -> tuple[Statement, ...]:
        """`loop` with `count` iterations in a row, 0 for all of them.

        `limit` is the length of a full tile. Raises EndlessError for all of an unknown number.
        """
        if count == 1:
            return (loop,)
        if limit is not None:
            full = in_a_row(replace(loop, lower=Int(0), upper=Int(limit)), count or limit)
            part = in_a_row(loop, count) if loop.lower != Int(0) else (loop,)  # compilers unroll from 0
            return (If(_is_full(loop, limit), full, part, uniform=loop.uniform),)
        length = loop_length(loop)
        if count == 0 and length is None:
            raise EndlessError(self.c.m.name, self._endless(loop))
        return in_a_row(loop, count or max(length or 1, 1))

    def _endless(self, loop: For) -> Diagnostic:
        position = self.c.m.p.statement(self.c.m.statements[0]).position
        message = f"the loop over '{loop.index}' has no constant length: it cannot be unrolled fully"
        return Diagnostic("PG311", "error", message, position, "unroll by a number, as in unroll=4")


def _ahead(points: isl.Set, name: str, distance: int) -> isl.Set:
    """The values of a parameter from which one so far ahead is among `points`."""
    position = points.find_dim_by_name(D.param, name)
    if position < 0:
        return points
    line = points.from_params().move_dims(D.set, 0, D.param, position, 1)
    line = line.apply(isl.Map(f"{{ [i] -> [i - {distance}] }}"))
    line = line.move_dims(D.param, line.dim(D.param), D.set, 0, 1)
    return line.set_dim_id(D.param, line.dim(D.param) - 1, identifier(name)).params()


def _is_full(loop: For, limit: int) -> Expr:
    """Whether the loop over a tile has all its `limit` iterations."""
    above = [a for a in loop.upper.arguments if a != Int(limit)]  # type: ignore[union-attr]
    below = loop.lower.arguments if isinstance(loop.lower, Call) else ()
    tests = [Binary(">=", a, Int(limit)) for a in above]
    full = conjunction([*tests, *(Binary("<=", a, Int(0)) for a in below if a != Int(0))])
    assert full is not None
    return full


def _constant_limit(loop: For, from_first: bool = True) -> int | None:
    """The constant in `for 0 <= x < min(constant, ...)`, step 1; unless it is always `from_first`, also where
    the loop begins at max(0, ...).
    """
    upper, lower = loop.upper, loop.lower
    later = (
        not from_first and isinstance(lower, Call) and lower.function == "max" and Int(0) in lower.arguments
    )
    if not (lower == Int(0) or later) or loop.step != 1 or not hasattr(upper, "arguments"):
        return None
    constants = [a.value for a in upper.arguments if isinstance(a, Int)]
    return constants[0] if getattr(upper, "function", "") == "min" and len(constants) == 1 else None
