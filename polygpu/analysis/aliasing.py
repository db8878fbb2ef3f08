"""Which variables of a region may be the same memory: what C says of types, declarations and `restrict`."""

from __future__ import annotations

from polygpu.model.scop import Array, Exposed


def may_change(e: Exposed, array: Array) -> bool:
    """Whether a store to an element may be one to the object."""
    if not may_alias({e.type}, types_in(array)) or array.name == e.root:
        return False
    if array.restrict and not e.derived:  # C99 6.7.3.1
        return False
    return _is_pointer(array) or (e.pointed and (array.storage != "local" or array.escapes))


def may_overlap(a: Array, b: Array) -> bool:
    """Whether one is a pointer that may point into the other; two declared arrays never overlap."""
    if not may_alias(types_in(a), types_in(b)) or _kept_apart(a, b):
        return False
    declared = [array for array in (a, b) if not _is_pointer(array)]
    return not declared or (len(declared) == 1 and (declared[0].storage != "local" or declared[0].escapes))


def _kept_apart(a: Array, b: Array) -> bool:
    """C99 6.7.3.1: what changes through a restricted pointer is accessed only by pointers made from it."""
    return (a.restrict and (b.restrict or not b.derived)) or (b.restrict and not a.derived)


def may_alias(a: set[str], b: set[str]) -> bool:
    """C99 6.5p7: an object is accessed by its own type, by a structure with it inside, or by characters."""
    a, b = ({t.removeprefix("unsigned ").removeprefix("signed ") for t in types} for types in (a, b))
    return bool(a & b) or "char" in a | b


def types_in(array: Array) -> set[str]:
    """The types that its elements have, or have inside."""
    if array.structure is None:
        return {array.element}
    pointers = ("pointer",) if array.structure.pointers else ()
    return {array.element, *(ctype for _, ctype in array.structure.fields), *pointers}


def _is_pointer(array: Array) -> bool:
    return array.storage == "parameter" or array.extents[:1] == (None,)
