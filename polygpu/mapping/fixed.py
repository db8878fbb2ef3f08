"""Schedule dimensions whose values have names, and the instances that are left with them."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.schedule.tree import Member
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, has_floors, identifier, pieces
from polygpu.support.recent import Same


@dataclass(frozen=True)
class Fixed:
    """A schedule dimension whose value has a name: a host loop's index, a point, a tile's origin.

    With `width` 1 the member equals the parameter `name`; else it lies in [name, name + width). Values are
    known to go from 0 up to `count`, if there is one. A tile of steps has points within `reach` of its first.
    """

    member: Member
    name: str
    width: int = 1
    count: int = 0
    reach: int = 0

    @property
    def divisors(self) -> tuple[int, ...]:
        """How many values of dimensions of the source are one of a tile's number; none for all others.

        Statements differ in that: a step of 2 i is in the tile i / 16 of 32 steps.
        """
        affs = [aff for row in self.member.rows.values() for _, aff in pieces(row)]
        divs = [aff.get_div(k) for aff in affs for k in range(aff.dim(D.div))]
        return tuple(sorted({div.get_denominator_val().to_python() for div in divs}))

    def restrict(self, domain: isl.Set, statement: str) -> isl.Set:
        if statement not in self.member.rows:
            return domain
        row = self.member.rows[statement]
        space = row.get_domain_space()
        if space.find_dim_by_name(D.param, self.name) < 0:
            space = space.add_dims(D.param, 1)
            space = space.set_dim_id(D.param, space.dim(D.param) - 1, identifier(self.name))
        position = space.find_dim_by_name(D.param, self.name)
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), D.param, position))
        if self.width == 1:
            found = domain.intersect(row.eq_set(value))
            return found.detect_equalities() if has_floors(row) else found  # floors that are the value
        last = value.add_constant_val(isl.Val(self.width - 1))
        return domain.intersect(row.ge_set(value)).intersect(row.le_set(last))


def restricted(p: Polyhedra, statement: str, fixed: tuple[Fixed, ...]) -> isl.Set:
    """The instances of `statement` in one iteration of what is `fixed`."""
    if not fixed:
        return p.statement(statement).domain
    *before, last = fixed
    key = restricted, statement, *((Same(f.member), f.name, f.width) for f in fixed)
    found: isl.Set = p.recent.get(
        key, lambda: last.restrict(restricted(p, statement, tuple(before)), statement)
    )
    return found


def single_member(p: Polyhedra, statements: tuple[str, ...]) -> Member:
    """A dimension of one value."""
    spaces = ((s, isl.LocalSpace.from_space(p.statement(s).domain.get_space())) for s in statements)
    return Member({s: isl.PwAff.zero_on_domain(space) for s, space in spaces})
