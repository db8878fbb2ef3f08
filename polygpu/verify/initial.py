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

from polygpu.verify.events import Do
from polygpu.verify.order import WHOLE
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
    parts = [part for a in copies for part in _elements(session, a)]
    arrays = {array for array, _ in parts}
    if len(arrays) != 1:
        return None
    (array,) = arrays
    elements = reduce(isl.Map.union, (m for _, m in parts)).coalesce()
    early = any(s.point.launch.number <= last for s in stores.get(array, []))
    if early or not session.buffer(array).host or not elements.is_single_valued():
        return None
    return Copied(array, elements, last)


def _elements(session: Session, a: Do) -> Iterator[tuple[str, isl.Map]]:
    """The arrays that an action copies from: elements of the temporary to those of an array."""
    assert a.target is not None
    origins = session.locals[a.point.launch.number].origins(a, a.reads[0])
    if not origins.unknown.is_empty() or a.target.index is None:
        raise UnanalysableError(f"not all of '{a.target.array}' is a copy")
    stored = session.address(a, a.target, WHOLE).reverse()
    for o in origins.found:
        if o.loaded is None or o.loaded.index is None:
            raise UnanalysableError(f"not all of '{a.target.array}' is a copy")
        loaded = whole(o.pairs, a).apply_range(session.address(o.by, o.loaded, WHOLE))
        yield o.loaded.array, stored.apply_range(loaded)
