"""How C lays out the elements of arrays."""

from __future__ import annotations

from polygpu.model.expr import SIZES
from polygpu.model.scop import Structure


def size_of(ctype: str, structure: Structure | None) -> int | None:
    """Bytes of one element; None for a structure with members that are structures themselves."""
    return SIZES.get(ctype) if structure is None else _layout(structure).get("")


def field_place(structure: Structure | None, path: str) -> int | None:
    """The byte of a field in a structure."""
    return _layout(structure).get(path) if structure is not None else 0


def _layout(structure: Structure) -> dict[str, int]:
    """The first byte of each field, and under "" the size: members in order, each aligned to its size."""
    if any("." in path or "[" in path for path, _ in structure.fields):
        return {}
    found: dict[str, int] = {}
    end, widest = 0, 1
    for path, ctype in structure.fields:
        size = SIZES[ctype]
        end += -end % size
        found[path] = end
        end, widest = end + size, max(widest, size)
    return found | {"": end + -end % widest}
