"""Values that an iteration leaves to the next one in memory, and in a register too.

    for j:                                             float q_c = q[i][0];
        q[i][j] = f(q[i][j - 1])           ->          for j:
                                                           q_c = f(q_c)
                                                           q[i][j] = q_c

The next iteration does not wait for memory. No other thread writes the element between: that would be a race.
What is loaded before the loop is what its first iteration loads anyway; a loop that may have none is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import TypeAlias

from polygpu.lower.loaded import Names, always, assigned
from polygpu.lower.rows import loop_length
from polygpu.model.expr import Binary, Expr, Name, Reference, is_floating
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Move, Statement
from polygpu.model.kernel_walk import Body, bodies, names_used, statements, with_bodies
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
        inner = tuple(
            new
            for k, a in enumerate(s.body)
            for new in (_kept(a, found[k], registers[k]) if k in found else (a,))
        )
        first = {s.index: s.lower}
        loads = (_load(registers[k], r, first) for k, r in found.items())
        made = (*loads, replace(s, body=inner))
        test = Binary("<", s.lower, s.upper)
        if loop_length(s) or test in known:
            return made
        return (If(test, made, (), uniform=s.uniform),)

    def _carried(self, s: For) -> Iterator[tuple[int, Reference]]:
        """Assignments of the loop's body, by their numbers, with what they read of the iteration before."""
        written = Counter(_written(s.body))
        if any(isinstance(i, Barrier) for i in statements(s.body)):
            return
        changing = {*assigned(s.body)}
        for k, a in enumerate(s.body):
            match a:
                case Assign(Reference() as target, value) if (
                    written[target.array] == 1 and target.array in self.memory and is_floating(target.type)
                ):
                    names = names_in(*target.subscripts)
                    if s.index in names and not names & (changing - {s.index}) and _is_affine(target):
                        before = _element(_moved(target, s.index, -s.step))
                        yield from ((k, r) for r in [*always(value)][:64] if _element(r) == before)


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


def _kept(a: Statement, read: Reference, register: Name) -> Body:
    assert isinstance(a, Assign)
    place = _element(read)

    def put(e: Expr) -> Expr | None:
        return register if isinstance(e, Reference) and _element(e) == place else None

    return (
        replace(a, target=register, value=rewrite(a.value, put)),
        Assign(a.target, register),
    )


def _load(register: Name, r: Reference, first: dict[str, Expr]) -> Statement:
    at = replace(r, subscripts=tuple(simplify(substitute(e, first)) for e in r.subscripts))
    return Declare(register.name, register.type, at, mutable=True)
