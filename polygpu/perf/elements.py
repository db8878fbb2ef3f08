"""Array elements of kernel code, and the memories that they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, TypeAlias

from polygpu.model.expr import SIZES, Expr, Name, Reference
from polygpu.model.kernel import Kernel, SharedArray
from polygpu.model.rewrite import references, rewrite
from polygpu.support.dataclass import dataclass

Space: TypeAlias = Literal["global", "constant", "texture", "shared", "private"]
"""Where an array's elements lie, as the counters tell memories apart."""

Spaces: TypeAlias = Mapping[str, Space]
"""Those of a kernel's arrays by name; arrays that are not in it are private."""


def spaces_of(kernel: Kernel) -> Spaces:
    shared: dict[str, Space] = {array.name: "shared" for array in kernel.shared}
    return shared | {array.name: array.space for array in kernel.arrays}


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """A shared array's bytes from `first` to `end`, and its extents with the padding."""

    first: int
    end: int
    extents: tuple[int, ...]


def shared_places(arrays: Sequence[SharedArray]) -> dict[str, SharedPlace]:
    """Shared arrays lie one behind the other, each aligned as it asks, and to its elements."""
    places = {}
    end = 0
    for array in arrays:
        *outer, last = array.extents or (1,)
        extents = (*outer, last + array.padding) if array.extents else ()
        size = SIZES.get(array.type, 4)
        first = end + -end % max(array.alignment, size)
        end = first + prod(extents) * size
        places[array.name] = SharedPlace(first, end, extents)
    return places


def element(r: Reference) -> Reference:
    """The element that `r` is, wherever the source mentions it."""
    return Reference(r.array, r.subscripts, r.type, r.field)


def reloaded(test: Expr, side: Expr) -> Expr:
    """`side` of a selection, where a name stands for each element that `test` has loaded."""
    known = {element(r) for r in references(test)}
    return rewrite(
        side, lambda e: Name(e.array, e.type) if isinstance(e, Reference) and element(e) in known else None
    )
