"""Points of a thread in an order in which updates that follow each other share operands.

    for i_r in 0 1 2 3:                      for i_r in 0 1 2 3: A_v[i_r] = A_s[i_r]
        A_v = A_s[i_r]                       for j_r in 0 2 4 6:
        for j_r in 0 1 2 3 4 5 6 7:              for i_r in 0 1 2 3:
            C_r[i_r][j_r] += A_v * B_v[j_r]          C_r[i_r][j_r] += A_v[i_r] * B_v[j_r]
                                          ->     for i_r in 3 2 1 0:
                                                     C_r[i_r][j_r + 1] += A_v[i_r] * B_v[j_r + 1]

A multiply-add reads three registers, of which a bank gives one a cycle, but for what the one before it has
read at the same place (Huerta et al., "Analyzing Modern NVIDIA GPU cores", on the register file cache). In a
snake each shares one with the one before, also where a row ends. No update depends on another: any order is
the source's.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from math import prod

from polygpu.lower.loaded import assigned, is_plain
from polygpu.lower.tidy import substituted
from polygpu.model.expr import SIZES, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, Statement
from polygpu.model.kernel_walk import Body, bodies, fresh_name, loop_length, names_used, with_bodies
from polygpu.model.linear import add, linear, subtract
from polygpu.model.rewrite import names_in, reads_memory, references
from polygpu.support.dataclass import dataclass

_WORD = 4  # bytes of a register


def by_columns(body: Body, memory: Set[str], registers: int) -> Body:
    """`body` where loops over points of the first axis are inside those of the second, behind loads of what
    they have of operands, as far as these take at most so many `registers`; `memory` are other arrays.
    """
    return tuple(new for s in body for new in _by_columns(s, memory, registers))


def wound(body: Body, memory: Set[str]) -> Body:
    """`body` where every second row of points is gone through from its end."""
    return _Winding(memory, set(names_used(body)).union(assigned(body))).body(body)


@dataclass(frozen=True)
class Nest:
    """Unrolled loops around one update of registers, each its own element, with declarations between."""

    loops: tuple[For, ...]
    declared: tuple[Declare, ...]
    update: Assign

    @property
    def target(self) -> Reference:
        assert isinstance(self.update.target, Reference)
        return self.update.target

    def code(self) -> For:
        body: Body = (*self.declared, self.update)
        for loop in reversed(self.loops):
            body = (replace(loop, body=body),)
        (outermost,) = body
        assert isinstance(outermost, For)
        return outermost


def _nest(s: Statement, memory: Set[str]) -> Nest | None:
    """The nest that the loop is the outermost of, if iterations are independent of each other."""
    loops: list[For] = []
    declared: list[Declare] = []
    while isinstance(s, For) and is_plain(s) and s.body:
        loops.append(s)
        declared.extend(d for d in s.body[:-1] if isinstance(d, Declare) and not d.mutable)
        if len(declared) != sum(len(loop.body) - 1 for loop in loops):
            return None
        s = s.body[-1]
    if not (
        loops and isinstance(s, Assign) and isinstance(s.target, Reference) and s.target.array not in memory
    ):
        return None
    others = (r for e in (s.value, *(d.value for d in declared if d.value)) for r in references(e))
    own = all(_same(r, s.target) for r in others if r.array == s.target.array)
    return Nest(tuple(loops), tuple(declared), s) if own and _tells_apart(s.target, loops) else None


def _same(one: Reference, other: Reference) -> bool:
    return (one.array, one.field, one.subscripts) == (other.array, other.field, other.subscripts)


def _tells_apart(target: Reference, loops: list[For]) -> bool:
    """Whether each iteration has an element of its own, by subscripts that are numbers of mixed radix."""
    left = {loop.index: loop_length(loop) or 0 for loop in loops}
    for subscript in target.subscripts:
        reached = 0
        terms = ((f, a.name) for a, f in linear(subscript).terms if isinstance(a, Name) and a.name in left)
        for factor, name in sorted(terms):
            if factor <= reached:
                return False
            reached += factor * (left.pop(name) - 1)
    return not left


def _by_columns(s: Statement, memory: Set[str], registers: int) -> Body:
    nest = _nest(s, memory)
    if nest is None:
        return (with_bodies(s, (by_columns(inner, memory, registers) for inner in bodies(s))),)
    axes = [[v for v in nest.loops if v.index in names_in(e)] for e in nest.target.subscripts]
    if len(axes) != 2 or not all(axes) or tuple(axes[0] + axes[1]) != nest.loops:
        return (s,)
    loads = [d for d in nest.declared if d.value is not None and reads_memory(d.value)]
    columns = {v.index for v in axes[1]}.union(d.name for d in nest.declared)
    if not loads or any(names_in(d.value) & columns for d in loads if d.value is not None):
        return (s,)
    held = {d.name: Reference(d.name, tuple(Name(v.index) for v in axes[0]), d.type) for d in loads}
    (update,) = substituted((nest.update,), dict(held))
    assert isinstance(update, Assign)
    if _words(update.value, nest) > registers:
        return (s,)
    extents = tuple(loop_length(v) or 0 for v in axes[0])
    before = [Nest(tuple(axes[0]), (), Assign(held[d.name], d.value)).code() for d in loads if d.value]
    rest = tuple(d for d in nest.declared if d not in loads)
    arrays = (DeclareArray(d.name, d.type, extents) for d in loads)
    return *arrays, *before, Nest((*axes[1], *axes[0]), rest, update).code()


def _words(value: Expr, nest: Nest) -> int:
    """Registers that operands take which differ between iterations, the element that is updated apart."""
    lengths = {v.index: loop_length(v) or 0 for v in nest.loops}
    read = {r for r in references(value) if not _same(r, nest.target)}
    return sum(
        -(-SIZES.get(r.type, 8) // _WORD) * prod(n for i, n in lengths.items() if i in names_in(r))
        for r in read
    )


@dataclass(frozen=True)
class _Winding:
    """`taken` are names that mean something."""

    memory: Set[str]
    taken: set[str]

    def body(self, body: Body) -> Body:
        return tuple(self._statement(s) for s in body)

    def _statement(self, s: Statement) -> Statement:
        if isinstance(s, For) and (row := self._row(s)) is not None:
            return replace(s, step=2, body=(*s.body, *self._back(s, row)))
        return with_bodies(s, map(self.body, bodies(s)))

    def _row(self, s: For) -> Nest | None:
        """What each of an even number of iterations runs, if the next one reads some of the same: loops over
        points of the other axes.
        """
        nest = _nest(s, self.memory)
        if nest is None or len(nest.loops) < 2 or (loop_length(s) or 0) % 2:
            return None
        row = {loop.index for loop in nest.loops[1:]}
        across = [names_in(e) for e in nest.target.subscripts if s.index in names_in(e)]
        operands = (names_in(r) for r in references(nest.update.value) if not _same(r, nest.target))
        shares = any(names & row and s.index not in names for names in operands)
        return _nest(s.body[-1], self.memory) if shares and not any(names & row for names in across) else None

    def _back(self, s: For, row: Nest) -> Iterator[Statement]:
        """The row of the next iteration from its end."""
        values: dict[str, Expr] = {s.index: add(Name(s.index), Int(1))}
        for d in s.body[:-1]:
            assert isinstance(d, Declare)
            name = fresh_name(f"{d.name}_next", self.taken)
            (moved,) = substituted((d,), values)
            assert isinstance(moved, Declare)
            yield replace(moved, name=name)
            values[d.name] = Name(name, d.type)
        for loop in row.loops:
            values[loop.index] = subtract(Int((loop_length(loop) or 0) - 1), Name(loop.index))
        yield from substituted((row.code(),), values)
