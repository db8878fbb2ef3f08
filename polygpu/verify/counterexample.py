"""Counterexamples: a point of a set of violations, in terms of the source."""

from __future__ import annotations

import re

import islpy as isl

from polygpu.analysis.places import part_at
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Position, Reference
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, isl_name
from polygpu.verify.affine import constant, variable
from polygpu.verify.events import BLOCKS, THREADS, Do
from polygpu.verify.slots import Slot, position_of


def sample(bad: isl.Map) -> isl.Map:
    """One pair of `bad`, which is not empty, small parameters first."""
    return isl.Map.from_basic_map(_small(bad).sample())


@dataclass(frozen=True)
class Example:
    """One `pair` of a relation of violations, and what others say of its ends."""

    p: Polyhedra
    pair: isl.Map

    @property
    def parameters(self) -> str:
        return parameters(self.pair, self.p.parameters)

    def element(self, array: str) -> str:
        """The element of `array` that is the second of the pair."""
        return element(array, values(self.pair, D.out))

    def of(self, relation: isl.Map, end: isl.dim_type = D.in_) -> isl.Map:
        """The pairs of `relation` that begin with an end of this one."""
        chosen = self.pair.domain() if end == D.in_ else self.pair.range()
        return relation.intersect_params(self.pair.params()).intersect_domain(chosen)

    def image(self, relation: isl.Map, end: isl.dim_type = D.in_) -> list[int]:
        """What `relation` maps an end of the pair to."""
        return values(sample(self.of(relation, end)), D.out)

    def access(self, slot: Slot, instance: list[int]) -> str:
        """What the access is of in an instance."""
        return shown(self.p, self.p.statement(slot.statement), instance, slot.reference, slot.write)

    def position(self, slot: Slot) -> Position:
        return position_of(self.p.statement(slot.statement), slot.reference, slot.write)


def example(p: Polyhedra, bad: isl.Map) -> Example:
    """One of the violations `bad` of the program `p`."""
    return Example(p, sample(bad))


def _small(bad: isl.Map) -> isl.Map:
    for limit in (4, 16, 64, 256, 1024):
        inside = bad
        for k in range(bad.dim(D.param)):
            inside = inside.upper_bound_val(D.param, k, isl.Val(limit))
        if not inside.is_empty():
            return inside
    return bad


def values(m: isl.Map, kind: isl.dim_type) -> list[int]:
    """The coordinates of a single pair."""
    line = m.domain() if kind == D.in_ else m.range()
    return [int(str(line.dim_max_val(k))) for k in range(line.dim(D.set))]


def parameters(point: isl.Map, names: tuple[str, ...]) -> str:
    """`n=3, m=1`: the program's parameters at a single pair, in the program's order."""
    whole = point.params()
    places = [(name, whole.find_dim_by_name(D.param, isl_name(name))) for name in names]
    return ", ".join(f"{name}={_value(whole, place)}" for name, place in places if place >= 0)


def _value(whole: isl.Set, k: int) -> int:
    line = isl.Map.from_domain(whole).move_dims(D.in_, 0, D.param, k, 1).domain()
    return int(str(line.dim_max_val(0)))


def shown(
    p: Polyhedra, s: PolyStatement, iterators: list[int], reference: Reference | None, write: bool
) -> str:
    """`S1[i=3, j=0] at mm.c:18: C[i][j] += ...`."""
    place = position_of(s, reference, write) if reference is not None else s.position
    text = s.text if reference is None else part_at(s, place).text
    return f"{named(p, s, iterators)} at {place.file.rsplit('/', 1)[-1]}:{place.line}: {text}"


def named(p: Polyhedra, s: PolyStatement, iterators: list[int]) -> str:
    """`S1[i=3, j=0]`."""
    names = (_written(p, s, k) for k in range(len(s.iterators)))
    inside = ", ".join(f"{n}={v}" for n, v in zip(names, iterators, strict=True))
    return f"{s.name}[{inside}]"


def _written(p: Polyhedra, s: PolyStatement, k: int) -> str:
    """The source's name of an iterator: unique ones end in a number that the loop itself does not show."""
    name = s.iterators[k]
    plain = re.sub(r"_\d+$", "", name)
    text = p.scop.loops[s.loops[k]].text if k < len(s.loops) else name
    return name if re.search(rf"\b{name}\b", text) else plain


def doer(p: Polyhedra, action: Do, fixed: isl.Set) -> str:
    """Which thread does `action`, and for what, where `fixed` fixes all indices and parameters."""
    named = {fixed.get_dim_name(D.param, k): k for k in range(fixed.dim(D.param))}
    where = [
        "({})".format(", ".join(str(_value(fixed, named[n]) if n in named else 0) for n in names))
        for names in (THREADS, BLOCKS)
    ]
    return f"thread {where[0]} of block {where[1]}, {_work(p, action, fixed)}"


def _work(p: Polyhedra, action: Do, fixed: isl.Set) -> str:
    if action.combines:
        return f" {action.combines} ".join(f"'{r.text}'" for r in action.reads)
    if action.matched is None:
        copied = action.reads and action.target is not None
        return f"a copy of '{action.reads[0].text}'" if copied else "a constant"
    relations = (isl.Map.from_pw_aff(a).intersect_params(fixed) for a in action.matched.arguments)
    instance = [values(r, D.out)[0] for r in relations]
    return shown(p, p.statement(action.matched.statement), instance, None, True)


def fixed_at(dims: tuple[str, ...], point: isl.Map) -> isl.Set:
    """All indices and parameters of an execution, the first of the pair `point`, as a tuple of `dims`."""
    fixed = point.params()
    for name, value in zip(dims, values(point, D.in_), strict=True):
        fixed = fixed.intersect(variable(name).eq_set(constant(value)).params())
    return fixed


def element(array: str, index: list[int]) -> str:
    return array + "".join(f"[{i}]" for i in index)
