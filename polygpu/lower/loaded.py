"""Values that a thread loads once: kept in registers for all its points and iterations that read them.

An array of registers holds what unrolled loops read, neighbours that slide along a loop included.

    for i_r: for j_r:                         float B_v[4];
        C_r[i_r][j_r] += A_s[k][i_r] *        for j_r: B_v[j_r] = B[k][j_r];
            B[k][j_r]                   ->    for i_r:
                                                  const float A_v = A_s[k][i_r];
                                                  for j_r: C_r[i_r][j_r] += A_v * B_v[j_r]

What is loaded before a loop is what each of its iterations loads anyway, so that nothing is read that was not
read before; before a loop that may have no iterations it is loaded where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import prod
from typing import TypeAlias

from polygpu.model.expr import SIZES, Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import (
    Assign,
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Statement,
    WaitCopies,
    While,
)
from polygpu.model.kernel_walk import (
    Body,
    bodies,
    loop_length,
    names_used,
    reads,
    statements,
    touched,
    with_bodies,
)
from polygpu.model.linear import add, linear, simplify
from polygpu.model.rewrite import children, names_in, reads_memory, rewrite, substitute, walk
from polygpu.support.dataclass import dataclass

_WORD = 4  # bytes of a register

Loops: TypeAlias = tuple[For, ...]  # around a statement, outermost first
Values: TypeAlias = Mapping[str, Expr]  # of integers that are declared before it


def load_once(body: Body, memory: frozenset[str], registers: int) -> Body:
    """`body` with values of the arrays `memory` in at most so many `registers` of a thread at a time."""
    if registers <= 0:
        return body
    return _Loads(memory, frozenset(touched(body)[1]), Names(names_used(body).union(assigned(body)))).body(
        body, registers
    )


class Names:
    """Names of registers that nothing else in the kernel has."""

    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = set(taken)

    def new(self, array: str, suffix: str = "v") -> str:
        base = f"{array.removesuffix('_s')}_{suffix}"
        name = next(n for k in count(1) if (n := f"{base}{k if k > 1 else ''}") not in self.taken)
        self.taken.add(name)
        return name


@dataclass(frozen=True)
class _Values:
    """What a thread keeps: the reference's elements over unrolled `loops`, all that it depends on."""

    reference: Reference
    loops: Loops

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(loop_length(loop) or 0 for loop in self.loops)

    @property
    def words(self) -> int:
        return -(-SIZES.get(self.reference.type, 8) // _WORD) * prod(self.extents)


@dataclass(frozen=True)
class _Held:
    """Where a reference finds its value: in registers `name`, `shift` places on along loop `sliding`."""

    name: str
    type: str
    loops: Loops
    sliding: str = ""
    shift: int = 0

    @property
    def register(self) -> Reference | Name:
        indices = tuple(add(Name(i), self.shift if i == self.sliding else 0) for i in self.indices)
        return Reference(self.name, indices, self.type) if indices else Name(self.name, self.type)

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(loop.index for loop in self.loops)


@dataclass(frozen=True)
class _Loads:
    """`written` are all arrays that the kernel writes."""

    memory: frozenset[str]
    written: frozenset[str]
    names: Names

    def body(self, body: Body, left: int) -> Body:
        """`left` registers may hold values."""
        return tuple(new for s in body for new in self._statement(s, left))

    def _statement(self, s: Statement, left: int) -> Body:
        if not isinstance(s, For):
            return (with_bodies(s, (self.body(b, left) for b in bodies(s))),)
        held: dict[Reference, _Held] = {}
        loads: list[Statement] = []
        for values, users in self._kept(s):
            if values.words <= left:
                left -= values.words
                name = self.names.new(values.reference.array)
                loads.extend(_load(name, values))
                held |= {r: _Held(name, r.type, values.loops, s.index, shift) for r, shift in users.items()}
        rest = replace(s, body=self.body(_Reading(held).body(s.body, (s,), {}) if held else s.body, left))
        if not held or loop_length(s) is not None:
            return (*loads, rest)
        return (If(Binary("<", s.lower, s.upper), (*loads, rest), (), uniform=s.uniform),)

    def _kept(self, s: For) -> Iterator[tuple[_Values, dict[Reference, int]]]:
        """What several iterations of the loop load, with the references that use it, and their shifts."""
        length = loop_length(s)
        if length is not None and length < 2:
            return
        changed = touched(s.body)[1]
        if any(isinstance(i, Barrier | CommitCopies | WaitCopies) for i in statements(s.body)):
            changed |= self.written  # by other threads
        steady = self.memory - changed
        read = (v for v in _references(s) if v.reference.array in steady and _is_shown(v.reference))
        found = {(_placeless(v.reference), v.loops): v for v in read}
        sliding: dict[object, list[tuple[int, _Values]]] = {}
        for values in found.values():
            if s.index not in names_in(*values.reference.subscripts):
                yield values, {_placeless(values.reference): 0}
            elif is_plain(s) and (place := _along(values.reference, s.index)) is not None:
                sliding.setdefault((*place[1:], values.loops), []).append((place[0], values))
        for group in sliding.values():
            least, first = min(group, key=lambda pair: pair[0])
            shifts = {_placeless(values.reference): shift - least for shift, values in group}
            if len(shifts) > 1 and max(shifts.values()) < _iterations(s):
                window = replace(s, upper=Int(_iterations(s) + max(shifts.values())), body=())
                yield _Values(first.reference, (window, *first.loops)), shifts


def _is_shown(r: Reference) -> bool:
    """Whether the element can be told from the names in its subscripts: not by a remainder of a variable, of
    which certificates know nothing but how it is written.
    """
    parts = (e for subscript in r.subscripts for e in walk(subscript) if isinstance(e, Binary))
    return all(e.op not in ("/", "%") or isinstance(e.right, Int) for e in parts)


def _iterations(s: For) -> int:
    return loop_length(s) or 0


def _along(r: Reference, index: str) -> tuple[int, object, int] | None:
    """(n, rest, d): the reference is element n along loop `index` of what `rest` and d, a dimension, tell.

    None where the loop moves it in several dimensions, or in none that is linear.
    """
    moving = [d for d, e in enumerate(r.subscripts) if index in names_in(e)]
    if len(moving) != 1:
        return None
    sum_ = linear(r.subscripts[moving[0]])
    step = dict(sum_.terms).get(Name(index), 0)
    if not step or sum(index in names_in(atom) for atom, _ in sum_.terms) != 1:
        return None
    place, within = divmod(sum_.constant, step)
    others = tuple(e for d, e in enumerate(r.subscripts) if d != moving[0])
    return place, (r.array, r.field, frozenset(sum_.terms), within, others), moving[0]


def _references(loop: For) -> Iterator[_Values]:
    """References that each iteration of the loop reads, in which only it and unrolled loops inside change."""
    changing = {*assigned(loop.body)} - {loop.index}
    for r, loops in _walk(loop.body, (), {}):
        names = names_in(*r.subscripts)
        used = tuple(inner for inner in loops if inner.index in names)
        if not names & (changing - {inner.index for inner in used}) and not any(
            map(reads_memory, r.subscripts)
        ):
            yield _Values(r, tuple(replace(inner, body=()) for inner in used))


def assigned(body: Body) -> Iterator[str]:
    for s in statements(body):
        match s:
            case Declare(name=name) | DeclareArray(name=name) | Assign(Name(name)) | For(index=name):
                yield name


def _walk(body: Body, loops: Loops, values: Values) -> Iterator[tuple[Reference, Loops]]:
    """References that `body` reads whenever it runs, each with the unrolled loops around it."""
    for s, known in _with_values(body, values):
        if isinstance(s, Declare | Assign | If | For):
            for r in (r for e in reads(s) for r in always(e)):
                yield _written_out(r, known), loops
        if isinstance(s, For) and is_plain(s):
            yield from _walk(s.body, (*loops, s), _without(known, s.index))


def _with_values(body: Body, values: Values) -> Iterator[tuple[Statement, Values]]:
    """The statements, each with the values of integers that are declared before it."""
    for s in body:
        yield s, values
        match s:
            case Declare(name, "int", value, False) if value is not None and not reads_memory(value):
                values = {**values, name: substitute(value, dict(values))}
            case Declare(name=name):
                values = _without(values, name)


def _without(values: Values, name: str) -> Values:
    """Those that have nothing to do with another thing of that name."""
    return {n: v for n, v in values.items() if n != name and name not in names_in(v)}


def is_plain(s: For) -> bool:
    """Whether the loop is unrolled, and counts from 0 to a constant."""
    return s.unroll and s.lower == Int(0) and s.step == 1 and (loop_length(s) or 0) > 0


def always(expr: Expr) -> Iterator[Reference]:
    """What is read however tests in `expr` come out."""
    match expr:
        case Reference():
            yield expr
        case Select(test, _, _):
            yield from always(test)
        case Binary("&&" | "||", left, _):
            yield from always(left)
        case _:
            for part in children(expr):
                yield from always(part)


def _written_out(r: Reference, values: Values) -> Reference:
    """The reference in terms of what `values` are made of, wherever it stands in the source."""
    known = dict(values)
    return replace(r, subscripts=tuple(simplify(substitute(e, known)) for e in r.subscripts))


def _load(name: str, values: _Values) -> Body:
    r = values.reference
    if not values.loops:
        return (Declare(name, r.type, r),)
    body: Body = (Assign(_Held(name, r.type, values.loops).register, r),)
    for loop in reversed(values.loops):
        body = (replace(loop, body=body),)
    return (DeclareArray(name, r.type, values.extents), *body)


@dataclass(frozen=True)
class _Reading:
    """Code with registers in the place of what they hold."""

    held: Mapping[Reference, _Held]

    def body(self, body: Body, loops: Loops, values: Values) -> Body:
        return tuple(self._statement(s, loops, known) for s, known in _with_values(body, values))

    def _statement(self, s: Statement, loops: Loops, values: Values) -> Statement:
        def put(e: Expr) -> Expr:
            return rewrite(e, lambda part: self._held(part, loops, values))

        inside = (*loops, s) if isinstance(s, For) else loops
        known = _without(values, s.index) if isinstance(s, For) else values
        match s:
            case Assign(Reference() as target, value):
                s = replace(
                    s, target=replace(target, subscripts=tuple(map(put, target.subscripts))), value=put(value)
                )
            case Assign(_, value) | Declare(value=value) if value is not None:
                s = replace(s, value=put(value))
            case For():
                s = replace(s, lower=put(s.lower), upper=put(s.upper))
            case If() | While():
                s = replace(s, test=put(s.test))
        return with_bodies(s, (self.body(b, inside, known) for b in bodies(s)))

    def _held(self, e: Expr, loops: Loops, values: Values) -> Expr | None:
        found = self.held.get(_placeless(_written_out(e, values))) if isinstance(e, Reference) else None
        if found is None or not all(
            any(_alike(x, y) for y in loops) for x in found.loops if x.index != found.sliding
        ):
            return None
        return found.register


def _alike(one: For, other: For) -> bool:
    return (one.index, one.upper) == (other.index, other.upper) and is_plain(other)


def _placeless(r: Reference) -> Reference:
    return replace(r, site=-1)
