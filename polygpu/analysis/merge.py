"""Clusters of neighbouring statements as one statement each, their private values as locals.

before:  S0: t = a[i]; S1: b[i] = t * t;
after:   S0: {float t = a[i]; b[i] = t * t;}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from typing import TypeAlias

from polygpu.analysis.distances import Subscripts
from polygpu.analysis.names import names_of
from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.rewrite import repeats, rewrite, sides, with_sides
from polygpu.model.scop import Access, Action, Branch, Let, Part, Repeat, Scop, Statement, Store
from polygpu.support.dataclass import dataclass

Statements: TypeAlias = tuple[Statement, ...]
Element: TypeAlias = tuple[str, str, Subscripts]  # array, member, subscripts
_WORD = re.compile(r"\w+")


def element_of(r: Reference) -> Element:
    """What is the same element in each instance."""
    return r.array, r.field, r.subscripts


def merged(scop: Scop, clusters: Sequence[Statements], private: Collection[str]) -> Scop:
    """`scop` with each cluster as one statement."""
    local = frozenset(private) - _kept(clusters)
    names = {*names_of(scop), *(i for s in scop.statements for i in s.iterators)} - local
    whose = {s.name: c[0].name for c in clusters for s in c}
    assumptions = (replace(a, statement=whose.get(a.statement, a.statement)) for a in scop.assumptions)
    return replace(
        scop,
        arrays=tuple(a for a in scop.arrays if a.name not in local),
        statements=tuple(_statement(c, local, names) for c in clusters),
        assumptions=tuple(dict.fromkeys(assumptions)),
    )


def _kept(clusters: Sequence[Statements]) -> set[str]:
    """Arrays that are no locals: their elements are written in branches, or alone, or by another cluster.

    What a loop within an instance writes must have been written before it.
    """
    found: set[str] = set()
    for cluster in clusters:
        written: set[Element] = set()
        for s in cluster:
            new = {element_of(a.reference) for a in s.accesses if a.write}
            if len(cluster) > 1 and repeats(s.body):
                found |= {array for array, *_ in new - written}
            elif len(cluster) == 1 or len(s.body) > 1 or not isinstance(s.body[0], Store):
                found |= {array for array, *_ in new}
            read = {element_of(a.reference) for a in s.accesses if not a.write}
            found |= {array for array, *_ in read - written}
            written |= new
    return found


def _statement(cluster: Statements, local: Collection[str], names: set[str]) -> Statement:
    """One statement of many; `names` are those that no new local may have."""
    if len(cluster) == 1:
        return cluster[0]
    first, last = cluster[0], cluster[-1]
    locals_ = _Locals(local, names)
    sure = {element_of(a.reference) for s in cluster for a in s.accesses if a.write and a.must and a.affine}
    body: list[Action] = []
    accesses: list[Access] = []
    written: set[Element] = set()
    for s in cluster:
        mine = [a for a in s.accesses if a.reference.array not in local]
        changed = (_within(a, written, sure) for a in mine)
        accesses.extend(replace(a, reference=locals_.reference(a.reference)) for a in changed)
        body.extend(locals_.actions(s.body))
        written |= {element_of(a.reference) for a in mine if a.write and a.must and a.affine}
    parts = tuple(dict.fromkeys(Part(s.position, s.text) for s in cluster))
    text = first.text if len(parts) == 1 else f"{first.text} ... {last.text}"
    return replace(first, body=tuple(body), accesses=tuple(accesses), text=text, parts=parts)


def _within(a: Access, written: Collection[Element], sure: Collection[Element]) -> Access:
    """An access among others: elements are `written` before it, and in the end all that are `sure` to be."""
    element = element_of(a.reference)
    if not a.affine:
        return a
    if a.write:
        return replace(a, must=a.must or element in sure)
    return replace(a, exposed=a.exposed and element not in written)


@dataclass
class _Locals:
    """The locals of one cluster, by the elements that they are in the source: each value has its own, but for
    what loops change.
    """

    arrays: Collection[str]
    taken: set[str]
    names: dict[Element, Name] = field(default_factory=dict)

    def actions(self, body: Iterable[Action], nested: bool = False) -> Iterator[Action]:
        for a in body:
            match a:
                case Store(target, value) if target.array in self.arrays and nested:
                    name = self.names[element_of(target)]
                    yield Let(name.name, name.type, self.value(value), assign=True)
                case Store(target, value) if target.array in self.arrays:
                    value = self.value(value)
                    name = self.names[element_of(target)] = Name(self._free(_plain(target)), target.type)
                    self.taken.add(name.name)
                    yield Let(name.name, name.type, value)
                case Store(target, value):
                    yield Store(self.reference(target), self.value(value))
                case Let():
                    yield replace(a, value=self.value(a.value))
                case Branch(test) | Repeat(test):
                    tested = replace(a, test=self.value(test))
                    yield with_sides(tested, (tuple(self.actions(side, True)) for _, side in sides(a)))

    def value(self, expr: Expr) -> Expr:
        return rewrite(expr, self._changed)

    def reference(self, r: Reference) -> Reference:
        return replace(r, subscripts=tuple(map(self.value, r.subscripts)))

    def _changed(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Reference) and expr.array in self.arrays:
            return self.names[element_of(expr)]
        return None

    def _free(self, plain: str) -> str:
        """`plain`, or `plain_2` and so on."""
        tries = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        return next(name for name in tries if name not in self.taken)


def _plain(r: Reference) -> str:
    """`t`, or `u_0_x_1` of `u[0].x[1]`."""
    subscripts = (str(s.value).replace("-", "m") for s in r.subscripts if isinstance(s, Int))
    return "_".join(part for part in (r.array, *subscripts, *_WORD.findall(r.field)) if part)
