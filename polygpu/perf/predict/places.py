"""Where the arrays of a kernel lie, and how a profile names the accesses to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygpu.model.expr import SIZES, Expr, Int, Reference
from polygpu.model.kernel import ArrayArgument, Kernel, SharedArray, Site
from polygpu.model.scop import Structure
from polygpu.model.structures import size_of
from polygpu.model.text import PLAIN
from polygpu.perf.site_entries import site_entry


@dataclass(frozen=True)
class Placed:
    """`start` is the byte of the first element in its memory space, None when unknown; `stride` an element's.

    `extents` has the number of elements in memory along each dimension; the first does not matter.
    """

    start: int | None
    stride: int
    extents: tuple[Expr, ...]
    origin: tuple[Expr, ...]
    structure: Structure | None = None


class Places:
    """`starts` has the first byte of each global array."""

    def __init__(self, kernel: Kernel, sites: Sequence[Site], starts: Mapping[str, int | None]) -> None:
        self.sites = {site.number: site for site in sites}
        self.arrays = {a.name: _global(a, starts.get(a.name)) for a in kernel.arrays} | _shared(kernel.shared)

    def row(self, r: Reference, space: str, write: bool) -> tuple[int, str, bool]:
        """Accesses that a profile adds up in one entry."""
        return r.site, r.array, write

    def entry(self, r: Reference, space: str, write: bool) -> dict[str, Any]:
        return site_entry(self.sites.get(r.site), r.array, space, write, PLAIN.text(r))

    def size(self, r: Reference) -> int:
        """Bytes of one element, or of its field."""
        return SIZES.get(r.type, self.arrays[r.array].stride)


def _global(a: ArrayArgument, start: int | None) -> Placed:
    rank = len(a.extents)
    inner = [*a.extents[1:-1], a.pitch] if rank > 1 else []
    extents = tuple(Int(1) if e is None else e for e in [None, *inner][:rank])
    stride = size_of(a.type, a.structure)
    return Placed(
        None if stride is None else start, stride or 1, extents, a.origin or (Int(0),) * rank, a.structure
    )


def _shared(arrays: Sequence[SharedArray]) -> dict[str, Placed]:
    """One behind the other, each aligned as it asks."""
    found: dict[str, Placed] = {}
    end = 0
    for a in arrays:
        *outer, last = a.extents or (1,)
        end += -end % max(a.alignment, 1)
        extents = (*outer, last + a.padding) if a.extents else ()
        size = SIZES.get(a.type, 4)
        found[a.name] = Placed(end, size, tuple(map(Int, extents)), (Int(0),) * len(extents))
        for extent in extents or (1,):
            size *= extent
        end += size
    return found
