"""Values that an iteration leaves to the next one in memory, and in a register too.

    for j:                                             float q_c = q[i][0];
        q[i][j] = f(q[i][j - 1])           ->          for j:
                                                           q_c = f(q_c)
                                                           q[i][j] = q_c

The next iteration does not wait for memory. No other thread writes the element between: that would be a race.
What is loaded before the loop is what its first iteration loads anyway; a loop that may have none is tested.
Other statements of the loop find the value there, too; those behind the one that sets the next one in a copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from polygpu.lower.loaded import Names, always, assigned
from polygpu.model.expr import Binary, Expr, Name, Reference, is_floating
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Move, Statement
from polygpu.model.kernel_walk import Body, bodies, loop_length, names_used, statements, with_bodies
from polygpu.model.linear import add, linear, simplify
from polygpu.model.rewrite import names_in, reads_memory, rewrite, substitute
from polygpu.support.dataclass import dataclass

Element: TypeAlias = tuple[object, ...]


def carry(body: Body, memory: Set[str], registers: int) -> Body:
    """`body` where loops carry elements of the arrays `memory` in at most so many `registers` each."""
    if registers <= 0:
        return body
    return _Carrying(memory, Names(names_used(body).union(assigned(body))), registers).body(body, frozenset())


@dataclass(frozen=True)
class _Carrying:
    memory: Set[str]
    names: Names
    registers: int

    def body(self, body: Body, known: frozenset[Expr]) -> Body:
        """`known` are tests that hold."""
        return tuple(new for s in body for new in self._statement(s, known))

    def _statement(self, s: Statement, known: frozenset[Expr]) -> Body:
        match s:
            case For():
                return self._loop(replace(s, body=self.body(s.body, known)), known)
            case If(test, then, otherwise):
                return (
                    replace(s, then=self.body(then, known | {test}), otherwise=self.body(otherwise, known)),
                )
        return (with_bodies(s, (self.body(b, known) for b in bodies(s))),)

    def _loop(self, s: For, known: frozenset[Expr]) -> Body:
        found = dict(list(self._carried(s))[: self.registers])
        if not found:
            return (s,)
        registers = {k: Name(self.names.new(r.array, "c"), r.type) for k, r in found.items()}
        inner = s.body
        for k, r in reversed(found.items()):  # statements before the first are where they were
            inner = self._kept(inner, k, r, registers[k])
        first = {s.index: s.lower}
        loads = (_load(registers[k], r, first) for k, r in found.items())
        made = (*loads, replace(s, body=inner))
        test = Binary("<", s.lower, s.upper)
        if loop_length(s) or test in known:
            return made
        return (If(test, made, (), uniform=s.uniform),)

    def _kept(self, body: Body, k: int, read: Reference, register: Name) -> Body:
        """The body whose statement `k` sets the register, too: what reads `read` finds it there."""
        *before, a = _found_in(body[: k + 1], read, register)
        assert isinstance(a, Assign)
        kept = (replace(a, target=register), Assign(a.target, register))
        behind = _found_in(body[k + 1 :], read, register)
        if behind == body[k + 1 :]:
            return (*before, *kept, *behind)
        old = Name(self.names.new(read.array, "b"), register.type)
        saved = Declare(old.name, old.type, register)
        return (*before, saved, *kept, *_found_in(body[k + 1 :], read, old))

    def _carried(self, s: For) -> Iterator[tuple[int, Reference]]:
        """Assignments of the loop's body, by their numbers, with what is read of the iteration before."""
        written = Counter(_written(s.body))
        if any(isinstance(i, Barrier) for i in statements(s.body)):
            return
        changing = {*assigned(s.body)}
        reads = [r for a in s.body for r in _always_read(a)]
        for k, a in enumerate(s.body):
            match a:
                case Assign(Reference() as target) if (
                    written[target.array] == 1 and target.array in self.memory and is_floating(target.type)
                ):
                    names = names_in(*target.subscripts)
                    if s.index in names and not names & (changing - {s.index}) and _is_affine(target):
                        before = _element(_moved(target, s.index, -s.step))
                        yield from ((k, r) for r in reads if _element(r) == before)


def _always_read(s: Statement) -> list[Reference]:
    match s:
        case Assign(_, value) | Declare(value=value) if value is not None:
            return [*islice(always(value), 64)]
    return []


def _found_in(body: Body, read: Reference, register: Name) -> Body:
    """What the statements compute, of the register instead of `read`."""
    place = _element(read)

    def put(e: Expr) -> Expr | None:
        return register if isinstance(e, Reference) and _element(e) == place else None

    def changed(s: Statement) -> Statement:
        match s:
            case Assign(_, value) | Declare(value=value) if value is not None:
                return replace(s, value=rewrite(value, put))
        return s

    return tuple(map(changed, body))


def _written(body: Body) -> Iterator[str]:
    """The arrays that the statements write, each as often as they do."""
    for s in statements(body):
        match s:
            case Assign(Reference(array)) | Move(Reference(array)):
                yield array


def _is_affine(r: Reference) -> bool:
    return not any(map(reads_memory, r.subscripts))


def _moved(r: Reference, index: str, step: int) -> Reference:
    at = {index: add(Name(index), step)}
    return replace(r, subscripts=tuple(simplify(substitute(e, at)) for e in r.subscripts))


def _element(r: Reference) -> Element:
    """The same for references to the same element, as far as linear forms tell."""
    sums = map(linear, r.subscripts)
    return r.array, r.field, r.type, *((frozenset(x.terms), x.constant) for x in sums)


def _load(register: Name, r: Reference, first: dict[str, Expr]) -> Statement:
    at = replace(r, subscripts=tuple(simplify(substitute(e, first)) for e in r.subscripts))
    return Declare(register.name, register.type, at, mutable=True)
