"""Where the arrays of a kernel lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygpu.model.expr import SIZES, Expr, Int, Reference
from polygpu.model.kernel import ArrayArgument, Kernel, SharedArray
from polygpu.model.scop import Structure
from polygpu.model.structures import size_of
from polygpu.perf.elements import SharedPlace, shared_places
from polygpu.support.dataclass import dataclass


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

    def __init__(self, kernel: Kernel, starts: Mapping[str, int | None]) -> None:
        self.arrays = {a.name: _global(a, starts.get(a.name)) for a in kernel.arrays} | _shared(kernel.shared)

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
    places = shared_places(arrays)
    return {a.name: _placed(a, places[a.name]) for a in arrays}


def _placed(a: SharedArray, place: SharedPlace) -> Placed:
    origin = (Int(0),) * len(place.extents)
    return Placed(place.first, SIZES.get(a.type, 4), tuple(map(Int, place.extents)), origin)
