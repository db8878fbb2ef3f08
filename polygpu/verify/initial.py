"""Copies of what arrays hold before the region: temporaries that are read in place of the arrays.

    a_old[e] = a[e];  ...  a[i] = a_old[i + 1] + b[i];          source: a[i] = a[i + 1] + b[i];

Where launches copy elements of an array, before any launch stores to it, and nothing else is ever stored to
the temporary, what a later launch reads there is what the element held in the beginning. An instance may read
that where the source reads this element, and finds what was there before the region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import coalesced
from polygpu.verify.events import Do, Place
from polygpu.verify.order import WHOLE, Order
from polygpu.verify.session import Copied, Session
from polygpu.verify.source import UnanalysableError
from polygpu.verify.values import whole


def find_copies(session: Session) -> None:
    """Fills in which temporaries hold what arrays held in the beginning."""
    stores: dict[str, list[Do]] = {}
    for trace in session.traces:
        for a in trace.actions:
            if a.target is not None and a.target.space == "global":
                stores.setdefault(a.target.array, []).append(a)
    for array, mine in stores.items():
        if not session.buffer(array).host and all(_is_copy(session, a) for a in mine):
            try:
                found = _copied(session, mine, stores)
            except UnanalysableError:
                continue
            if found is not None:
                session.initial[array] = found


def _is_copy(session: Session, a: Do) -> bool:
    plain = a.matched is None and not a.combines and len(a.reads) == 1 and a not in session.partial
    return plain and not a.point.launch.loops


def _copied(session: Session, copies: Sequence[Do], stores: dict[str, list[Do]]) -> Copied | None:
    last = max(a.point.launch.number for a in copies)
    parts = [part for a in copies for part in _parts(session, a)]
    arrays = {part.place.array for part in parts}
    if len(arrays) != 1:
        return None
    (array,) = arrays
    elements = coalesced(reduce(isl.Map.union, (part.elements for part in parts)))
    first = all(_precedes(session, part, s) for part in parts for s in stores.get(array, []))
    if not first or not session.buffer(array).host or not elements.is_single_valued():
        return None
    return Copied(array, elements, last)


@dataclass(frozen=True)
class _Part:
    """What is copied of what a `load` reads at `place`: elements of the temporary to those of an array."""

    load: Do
    place: Place
    elements: isl.Map


def _parts(session: Session, a: Do) -> Iterator[_Part]:
    assert a.target is not None
    origins = session.locals[a.point.launch.number].origins(a, a.reads[0])
    if not origins.unknown.is_empty() or a.target.index is None:
        raise UnanalysableError(f"not all of '{a.target.array}' is a copy")
    stored = session.address(a, a.target, WHOLE).reverse()
    for o in origins.found:
        if o.loaded is None or o.loaded.index is None:
            raise UnanalysableError(f"not all of '{a.target.array}' is a copy")
        loaded = whole(o.pairs, a).apply_range(session.address(o.by, o.loaded, WHOLE))
        yield _Part(o.by, o.loaded, stored.apply_range(loaded))


def _precedes(session: Session, part: _Part, store: Do) -> bool:
    """Whether all that a load reads is read before a store changes it."""
    here, there = part.load.point, store.point
    if here.launch.number != there.launch.number:
        return here.launch.number < there.launch.number
    assert store.target is not None
    read = session.address(part.load, part.place, WHOLE)
    meet = read.apply_range(session.address(store, store.target, WHOLE).reverse())
    trace = next(t for t in session.traces if t.launch.number == here.launch.number)
    return bool(meet.is_subset(Order(trace, WHOLE).before(here, there)))
