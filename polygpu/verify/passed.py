"""Copies of what arrays hold in the course of the region: temporaries that later launches read instead.

    for t { a_then[e] = a[e]; ... a[i] = f(a[i]); ... b[i] = g(a_then[i]) }    source: b[i] = g(a[i]), earlier

What an instance reads of such a temporary was loaded from the array by what stored the copy: that load is the
one that must bring what the source reads there. So that it does, an element gets one copy, once, before it is
read, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D
from polygpu.verify.events import Do, Place
from polygpu.verify.order import WHOLE, Order, launches_before
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace


@dataclass(frozen=True, eq=False)
class Passed:
    """Stores of what the same thread or block has loaded at `place`, from another array than they store to.

    `address` maps executions of the `store` to elements, `pairs` to the executions of the `load`.
    """

    trace: Trace
    store: Do
    load: Do
    place: Place
    address: isl.Map
    pairs: isl.Map

    def check_order(self, trace: Trace, load: Do, address: isl.Map) -> None:
        """Raises UnanalysableError unless a load of the temporary, at this address, finds the copy."""
        late = address.apply_range(self.address.reverse())
        here, there = self.store.point, load.point
        late = late.subtract(launches_before(here, there, WHOLE.dims(here), WHOLE.dims(there)).reverse())
        if not late.is_empty() and trace is self.trace:
            late = late.subtract(Order(trace, WHOLE).before(here, there).reverse())
        if not late.is_empty():
            raise UnanalysableError(f"a copy in '{load.reads[0].array}' may be read before it is made")


def check_once(array: str, copies: Sequence[Passed], others: Iterator[isl.Map]) -> None:
    """No element of copies is stored twice, or is among those that others store, too.

    Raises UnanalysableError.
    """
    again = any(not c.address.is_injective() for c in copies)
    again = again or any(not _apart(a.address, b.address) for a, b in combinations(copies, 2))
    if again or any(not _apart(c.address, other) for other in others for c in copies):
        raise UnanalysableError(f"an element of '{array}' has a copy and is stored again")


def ordered_hull(instances: isl.Set) -> isl.Set:
    """One piece around a set, without floors, that keeps how far iterators are ahead of each other."""
    found = isl.Set.from_basic_set(instances.remove_divs().simple_hull())
    local = isl.LocalSpace.from_space(instances.get_space())
    for a, b in permutations(range(instances.dim(D.set)), 2):
        ahead = isl.Aff.var_on_domain(local, D.set, a).sub(isl.Aff.var_on_domain(local, D.set, b))
        most = instances.apply(isl.Map.from_aff(ahead)).dim_max_val(0)
        if most.is_int():
            found = found.intersect(isl.PwAff.from_aff(ahead.neg().add_constant_val(most)).nonneg_set())
    return found


def _apart(one: isl.Map, other: isl.Map) -> bool:
    return bool(one.range().is_disjoint(other.range()))
