"""Elements of staged tiles that lie side by side, read by a lane in one access.

    for i_r < 4:                                    float A_v[4];
        const float A_v = A_s[k][4 * ty + i_r];     A_v[0 .. 3] = A_s[k][4 * ty .. 4 * ty + 3];
        for j_r < 4:                          ->    for i_r < 4:
            C_r[i_r][j_r] += A_v * B_v[j_r];            for j_r < 4:
                                                            C_r[i_r][j_r] += A_v[i_r] * B_v[j_r];

A compiler for a chip with such accesses makes one of four reads as well, if it sees where they lie: what is
written here is what runs there, so that it is counted, and priced, as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polygpu.lower.loaded import Names, assigned, is_plain
from polygpu.lower.tidy import substituted
from polygpu.model.expr import SIZES, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, Move, SharedArray, Statement
from polygpu.model.kernel_walk import Body, bodies, loop_length, names_used, statements, touched, with_bodies
from polygpu.model.linear import add, divides, linear, subtract
from polygpu.model.rewrite import names_in, reads_memory
from polygpu.support.dataclass import dataclass

_LONGEST = 8  # elements that a thread keeps where it kept one


def read_wide(body: Body, shared: Mapping[str, SharedArray], widest: int) -> Body:
    """`body` with moves of up to `widest` bytes (0: none) from the arrays `shared`."""
    if not widest or not shared:
        return body
    private = frozenset(s.name for s in statements(body) if isinstance(s, DeclareArray))
    return _Wide(shared, private, widest, Names(names_used(body).union(assigned(body)))).body(body)


@dataclass(frozen=True)
class _Row:
    """The elements that a loop reads, `length` from `first` on, `width` at once."""

    first: Reference
    length: int
    width: int

    def moves(self, target: Reference) -> Iterator[Statement]:
        """To `target` and the elements behind it."""
        for k in range(0, self.length, self.width):
            yield Move(_later(target, k), _later(self.first, k), self.width)


@dataclass(frozen=True)
class _Wide:
    shared: Mapping[str, SharedArray]
    private: frozenset[str]
    widest: int
    names: Names

    def body(self, body: Body) -> Body:
        declared = {s.name for s in body if isinstance(s, Declare | DeclareArray)}
        found: list[Statement] = []
        for s in body:
            found.extend(self._loop(s, declared) if isinstance(s, For) else (self._inside(s),))
        return tuple(found)

    def _inside(self, s: Statement) -> Statement:
        return with_bodies(s, tuple(map(self.body, bodies(s))))

    def _loop(self, s: For, declared: set[str]) -> Body:
        """The loop, or moves for all that it does, or moves in front of it."""
        if not is_plain(s):
            return (self._inside(s),)
        match s.body:
            case (Assign(Reference(subscripts=(*_, Name(s.index))) as target, Reference() as value),):
                row = self._row(s, value) if target.array in self.private else None
                if row is not None and target.type == value.type and not _moves(target, s.index):
                    return tuple(row.moves(_at(target, Int(0))))
        loads: list[Statement] = []
        rest: list[Statement] = []
        registers: dict[str, Expr] = {}
        for part in s.body:
            match part:
                case Declare(name, ctype, Reference() as value, False) if ctype == value.type:
                    row = self._row(s, value)
                    if row is not None and row.length <= _LONGEST:
                        array = self.names.new(value.array) if name in declared else name
                        declared.add(array)
                        loads.append(DeclareArray(array, ctype, (row.length,)))
                        loads.extend(row.moves(Reference(array, (Int(0),), ctype)))
                        registers[name] = Reference(array, (Name(s.index),), ctype)
                        continue
            rest.append(part)
        left = substituted(tuple(rest), registers) if registers else s.body
        return (*loads, replace(s, body=self.body(left)))

    def _row(self, s: For, r: Reference) -> _Row | None:
        """What the iterations of a loop read together as `r`, one after the other."""
        length, array = loop_length(s) or 0, self.shared.get(r.array)
        if array is None or r.field or array.type != r.type or any(map(reads_memory, r.subscripts)):
            return None
        *outer, last = r.subscripts
        inside = names_in(*r.subscripts) & ({*assigned(s.body)} - {s.index})
        if inside or s.index in names_in(*outer) or r.array in touched(s.body)[1]:
            return None
        if dict(linear(last).terms).get(Name(s.index)) != 1:
            return None
        first = subtract(last, Name(s.index))
        if s.index in names_in(first):
            return None
        for width in (4, 2):
            fits = width * SIZES.get(r.type, self.widest) <= self.widest and length % width == 0
            rows = len(array.extents) == 1 or array.extents[-1] % width == 0
            if fits and rows and divides(width, first, {}):
                return _Row(_at(r, first), length, width)
        return None


def _moves(target: Reference, index: str) -> bool:
    """Whether a loop moves more than the last subscript."""
    return index in names_in(*target.subscripts[:-1])


def _at(r: Reference, last: Expr) -> Reference:
    return replace(r, subscripts=(*r.subscripts[:-1], last))


def _later(r: Reference, count: int) -> Reference:
    return _at(r, add(r.subscripts[-1], Int(count)))
