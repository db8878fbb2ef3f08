"""Clusters of neighbouring statements as one statement each, their private values as locals.

before:  S0: t = a[i]; S1: b[i] = t * t;
after:   S0: {float t = a[i]; b[i] = t * t;}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from polygpu.analysis.names import names_of
from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.rewrite import rewrite
from polygpu.model.scop import Access, Action, Branch, Let, Part, Scop, Statement, Store

Statements: TypeAlias = tuple[Statement, ...]
Subscripts: TypeAlias = tuple[Expr, ...]
Element: TypeAlias = tuple[str, str, Subscripts]  # array, member, subscripts


def element_of(r: Reference) -> Element:
    """What is the same element in each instance."""
    return r.array, r.field, r.subscripts


def merged(scop: Scop, clusters: Sequence[Statements], private: Collection[str]) -> Scop:
    """`scop` with each cluster as one statement."""
    local = frozenset(private) - _kept(clusters)
    names = {*names_of(scop), *(i for s in scop.statements for i in s.iterators)} - local
    whose = {s.name: c[0].name for c in clusters for s in c}
    assumptions = (replace(a, statement=whose[a.statement]) for a in scop.assumptions)
    return replace(
        scop,
        arrays=tuple(a for a in scop.arrays if a.name not in local),
        statements=tuple(_statement(c, local, names) for c in clusters),
        assumptions=tuple(dict.fromkeys(assumptions)),
    )


def _kept(clusters: Sequence[Statements]) -> set[str]:
    """Arrays that are no locals: a cluster does not begin with a write of each of their elements."""
    found: set[str] = set()
    for cluster in clusters:
        written: set[Element] = set()
        for s in cluster:
            certain = len(cluster) > 1 and len(s.body) == 1 and isinstance(s.body[0], Store)
            new = {element_of(a.reference) for a in s.accesses if a.write and certain}
            used = {element_of(a.reference) for a in s.accesses if not (a.write and certain)}
            found |= {array for array, *_ in used - written}
            written |= new
    return found


def _statement(cluster: Statements, local: Collection[str], names: set[str]) -> Statement:
    """One statement of many; `names` are those that no new local may have."""
    if len(cluster) == 1:
        return cluster[0]
    first, last = cluster[0], cluster[-1]
    locals_ = _Locals(local, names)
    body = tuple(action for s in cluster for action in locals_.actions(s.body))
    accesses = tuple(replace(a, reference=locals_.reference(a.reference)) for a in _accesses(cluster, local))
    parts = tuple(dict.fromkeys(Part(s.position, s.text) for s in cluster))
    text = first.text if len(parts) == 1 else f"{first.text} ... {last.text}"
    return replace(first, body=body, accesses=accesses, text=text, parts=parts)


def _accesses(cluster: Statements, local: Collection[str]) -> Iterator[Access]:
    """The accesses of a cluster but for those of locals: fewer are exposed, more happen always."""
    sure = {element_of(a.reference) for s in cluster for a in s.accesses if a.write and a.must and a.affine}
    written: set[Element] = set()
    for s in cluster:
        for a in (a for a in s.accesses if a.reference.array not in local):
            element = element_of(a.reference)
            yield replace(
                a,
                must=a.must or (a.write and a.affine and element in sure),
                exposed=a.exposed and not (a.affine and not a.write and element in written),
            )
        written |= {element_of(a.reference) for a in s.accesses if a.write and a.must and a.affine}


@dataclass
class _Locals:
    """The locals of one cluster, by the elements that they are in the source."""

    arrays: Collection[str]
    taken: set[str]
    names: dict[Element, Name] = field(default_factory=dict)

    def actions(self, body: Iterable[Action]) -> Iterator[Action]:
        for a in body:
            match a:
                case Store(target, value) if target.array in self.arrays:
                    value = self.value(value)
                    known = element_of(target) in self.names
                    name = self._name(target)
                    yield Let(name.name, name.type, value, assign=known)
                case Store(target, value):
                    yield Store(self.reference(target), self.value(value))
                case Let():
                    yield replace(a, value=self.value(a.value))
                case Branch(test, then, otherwise):
                    sides = (tuple(self.actions(side)) for side in (then, otherwise))
                    yield Branch(self.value(test), *sides)

    def value(self, expr: Expr) -> Expr:
        return rewrite(expr, self._changed)

    def reference(self, r: Reference) -> Reference:
        return replace(r, subscripts=tuple(map(self.value, r.subscripts)))

    def _changed(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Reference) and expr.array in self.arrays:
            return self.names[element_of(expr)]
        return None

    def _name(self, r: Reference) -> Name:
        name = self.names.get(element_of(r))
        if name is None:
            name = self.names[element_of(r)] = Name(self._free(_plain(r)), r.type)
            self.taken.add(name.name)
        return name

    def _free(self, plain: str) -> str:
        """`plain`, or `plain_2` and so on."""
        tries = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        return next(name for name in tries if name not in self.taken)


def _plain(r: Reference) -> str:
    """`t`, or `u_0_x` of `u[0].x`."""
    subscripts = (str(s.value).replace("-", "m") for s in r.subscripts if isinstance(s, Int))
    return "_".join(part for part in (r.array, *subscripts, r.field.replace(".", "_")) if part)
