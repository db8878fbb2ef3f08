"""Arrays by layers: what constants among the subscripts tell apart.

    before:  S[i] -> a[i, 0]; S[i] -> a[i, 1]
    after:   S[i] -> a__0[i]; S[i] -> a__1[i]

isl compares all accesses of an array with each other. Those of a layer can meet those of no other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property

import islpy as isl

from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.model.expr import Int
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, maps, tuple_name, union_of


@dataclass(frozen=True)
class Layers:
    """The layers of the arrays of `p`, as far as there are several of one."""

    p: Polyhedra
    elements: dict[str, isl.Map] = field(default_factory=dict)  # of layers to those of their arrays
    relations: dict[int, isl.Map] = field(default_factory=dict)  # by identity of those of `p`

    def apart(self) -> Polyhedra:
        """The program with an array for each layer."""
        if not self.positions:
            return self.p
        statements = (replace(s, accesses=tuple(map(self._access, s.accesses))) for s in self.p.statements)
        return replace(self.p, statements=tuple(statements))

    def together(self, touched: isl.UnionMap) -> isl.UnionMap:
        """Instances to elements, of arrays where they are of layers."""
        if not self.elements:
            return touched
        found = [(m, self.elements.get(tuple_name(m, D.out))) for m in maps(touched)]
        return union_of([m if whole is None else m.apply_range(whole) for m, whole in found])

    @cached_property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """By arrays of several layers, the subscripts that are constants in each access."""
        constant: dict[str, set[int]] = {}
        for a in self._accesses():
            subscripts = a.reference.subscripts if a.affine else ()
            fixed = {k for k, x in enumerate(subscripts) if isinstance(x, Int)}
            constant.setdefault(array_tuple(a.reference), fixed).intersection_update(fixed)
        found = {name: tuple(sorted(places)) for name, places in constant.items() if places}
        layers: dict[str, set[str]] = {}
        for a in self._accesses():
            name = array_tuple(a.reference)
            layers.setdefault(name, set()).add(_name(a, found.get(name, ())))
        names = {name for name in found if len(layers[name]) > 1 and not layers[name] & layers.keys()}
        return {name: places for name, places in found.items() if name in names}

    def _accesses(self) -> Iterator[PolyAccess]:
        return (a for s in self.p.statements for a in s.accesses)

    def _access(self, a: PolyAccess) -> PolyAccess:
        places = self.positions.get(array_tuple(a.reference), ())
        if not places:
            return a
        if id(a.relation) not in self.relations:
            name, relation = _name(a, places), a.relation
            for k in reversed(places):
                relation = relation.project_out(D.out, k, 1)
            if name not in self.elements:
                self.elements[name] = _whole(a, places).set_tuple_name(D.in_, name)
            self.relations[id(a.relation)] = relation.set_tuple_name(D.out, name)
        return replace(a, relation=self.relations[id(a.relation)])


def _name(a: PolyAccess, places: tuple[int, ...]) -> str:
    """What the layer of an access is called: `a__0`."""
    values = (a.reference.subscripts[k] for k in places)
    texts = (str(x.value).replace("-", "m") for x in values if isinstance(x, Int))
    return "_".join((f"{array_tuple(a.reference)}_", *texts)) if places else array_tuple(a.reference)


def _whole(a: PolyAccess, places: tuple[int, ...]) -> isl.Map:
    """The elements of the layer of an access, without its name, to those of its array."""
    found = isl.Map.identity(a.relation.get_space().range().map_from_set())
    for k in reversed(places):
        value = a.reference.subscripts[k]
        assert isinstance(value, Int)
        found = found.fix_val(D.out, k, isl.Val(value.value)).project_out(D.in_, k, 1)
    return found
