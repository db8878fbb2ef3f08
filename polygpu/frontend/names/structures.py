"""Structures that blocks of a file declare under one name: the device's file holds them all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polygpu.model.scop import Array, Scop, Structure


def told_apart(scops: Iterable[Scop]) -> list[Scop]:
    """The scops with a name of its own for each definition; the first keeps the one it has."""
    definitions: dict[str, list[str]] = {}
    return [
        replace(scop, arrays=tuple(_told_apart(array, definitions) for array in scop.arrays))
        for scop in scops
    ]


def _told_apart(array: Array, definitions: dict[str, list[str]]) -> Array:
    """`definitions` of each name so far; grows."""
    if array.structure is None:
        return array
    known = definitions.setdefault(array.structure.name, [])
    if array.structure.definition not in known:
        known.append(array.structure.definition)
    number = known.index(array.structure.definition)
    if number == 0:
        return array
    structure = _renamed(array.structure, f"{array.structure.name}_polygpu_{number}")
    return replace(array, element=structure.name, structure=structure)


def _renamed(structure: Structure, name: str) -> Structure:
    """`struct P { ... };` or `typedef struct { ... } P;` with another name."""
    old, text = structure.name, structure.definition
    tagged = text.startswith(f"{old} ")
    definition = name + text[len(old) :] if tagged else f"{text.removesuffix(f'{old};')}{name};"
    return replace(structure, name=name, definition=definition, renamed=old)
