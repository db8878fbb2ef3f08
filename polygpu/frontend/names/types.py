"""C types as the front end sees them.

ctype ::= Basic | Pointer | Vector | Record | Opaque
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, TypeAlias

from polygpu.support.dataclass import dataclass

NO_QUALIFIERS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Basic:
    """An arithmetic type by its canonical name (`polygpu.model.expr`)."""

    name: str
    qualifiers: frozenset[str] = NO_QUALIFIERS


@dataclass(frozen=True)
class Pointer:
    target: CType
    qualifiers: frozenset[str] = NO_QUALIFIERS


@dataclass(frozen=True)
class Vector:
    """An array. `extent` is the expression's node, or None; `qualifiers` those within the brackets.

    A parameter declared as an array is a Vector too, although C makes it a pointer.
    """

    element: CType
    extent: Any
    scope: Any = field(default=None, compare=False, repr=False)
    qualifiers: frozenset[str] = NO_QUALIFIERS


@dataclass(frozen=True)
class Member:
    name: str
    type: CType
    bits: bool


@dataclass(eq=False)
class Record:
    """A structure. `name` is how C refers to it ("struct point", or a typedef's name; "" for neither).

    `members` is None while it is incomplete. `refusal` says why it cannot be laid out on the device.
    """

    name: str
    members: tuple[Member, ...] | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Qualified:
    """A Record with qualifiers."""

    record: Record
    qualifiers: frozenset[str] = NO_QUALIFIERS


@dataclass(frozen=True)
class Opaque:
    """A type that regions cannot use; `what` is what the user calls it."""

    what: str
    qualifiers: frozenset[str] = NO_QUALIFIERS


CType: TypeAlias = Basic | Pointer | Vector | Qualified | Opaque

_CANONICAL = {
    "_Bool": "_Bool", "bool": "_Bool",
    "char": "char", "char signed": "signed char", "char unsigned": "unsigned char",
    "short": "short", "int short": "short", "short signed": "short", "int short signed": "short",
    "short unsigned": "unsigned short", "int short unsigned": "unsigned short",
    "int": "int", "signed": "int", "int signed": "int",
    "unsigned": "unsigned int", "int unsigned": "unsigned int",
    "long": "long", "int long": "long", "long signed": "long", "int long signed": "long",
    "long unsigned": "unsigned long", "int long unsigned": "unsigned long",
    "long long": "long long", "int long long": "long long", "long long signed": "long long",
    "int long long signed": "long long", "long long unsigned": "unsigned long long",
    "int long long unsigned": "unsigned long long",
    "float": "float", "double": "double",
}  # fmt: skip


def _complex(part: str) -> Record:
    members = tuple(Member(name, Basic(part), False) for name in ("re", "im"))
    return Record(f"{part} _Complex", members)


# To a region, a complex number is a structure of its parts, which is how C lays it out (C99, 6.2.5).
_COMPLEX = {part: _complex(part) for part in ("float", "double")}


def complex_part(ctype: CType | None) -> str | None:
    """The type of the parts of a complex number; None for other types."""
    record = ctype.record if isinstance(ctype, Qualified) else None
    return next((part for part, known in _COMPLEX.items() if record is known), None)


def has_complex_parts(ctype: CType) -> bool:
    """Whether a variable of the type has complex numbers in it."""
    match ctype:
        case Vector(element, _, _, _):
            return has_complex_parts(element)
        case Qualified(record, _):
            inner = (member.type for member in record.members or ())
            return complex_part(ctype) is not None or any(map(has_complex_parts, inner))
    return False


def arithmetic(names: list[str]) -> CType:
    """The type that a list of type specifiers means: `unsigned long int`."""
    if (
        "_Complex" in names
        and (part := " ".join(n for n in names if n != "_Complex") or "double") in _COMPLEX
    ):
        return Qualified(_COMPLEX[part])
    name = _CANONICAL.get(" ".join(sorted(names)))
    return Basic(name) if name else Opaque(" ".join(names))


def qualified(ctype: CType, qualifiers: frozenset[str]) -> CType:
    """`ctype` with more qualifiers; those of an array go to its elements."""
    if not qualifiers:
        return ctype
    both = ctype.qualifiers | qualifiers
    match ctype:
        case Basic(name, _):
            return Basic(name, both)
        case Pointer(target, _):
            return Pointer(target, both)
        case Qualified(record, _):
            return Qualified(record, both)
        case Vector(element, extent, scope, own):
            return Vector(qualified(element, qualifiers), extent, scope, own)
        case Opaque(what, _):
            return Opaque(what, both)


def describe(ctype: CType) -> str:
    """The type in words, for messages."""
    match ctype:
        case Basic(name, _):
            return name
        case Pointer(target, _):
            return f"pointer to {describe(target)}"
        case Vector(element, _, _, _):
            return f"array of {describe(element)}"
        case Qualified(record, _):
            return record.name or "unnamed structure"
        case Opaque(what, _):
            return what


def described(ctype: CType) -> str:
    """The type in words with its article: `an array of float`, `a pointer to int`."""
    return with_article(describe(ctype))


def with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeio' or noun.startswith('un') else 'a'} {noun}"


def tables(ctype: CType) -> int:
    """How many of the subscripts find rows by pointers in memory: 1 of `float **a` and of `float *a[n]`.

    0 where rows are parts of the array, or are arrays of more than one dimension.
    """
    if not isinstance(ctype, Pointer | Vector):
        return 0
    found, ctype = 0, _inner(ctype)
    while isinstance(ctype, Pointer):
        found, ctype = found + 1, ctype.target
    return found if isinstance(ctype, Basic | Qualified) else 0


def _inner(ctype: Pointer | Vector) -> CType:
    return ctype.target if isinstance(ctype, Pointer) else ctype.element


def element_of(ctype: CType) -> CType:
    """What remains after all subscripts: of an array or a pointer to (arrays of) elements, or to rows."""
    for _ in range(tables(ctype)):
        assert isinstance(ctype, Pointer | Vector)
        ctype = _inner(ctype)
    if isinstance(ctype, Pointer):
        ctype = ctype.target
    while isinstance(ctype, Vector):
        ctype = ctype.element
    return ctype


def rank(ctype: CType) -> int:
    """How many subscripts lead to an element."""
    if count := tables(ctype):
        return count + 1
    depth = 0
    if isinstance(ctype, Pointer):
        ctype, depth = ctype.target, 1
    while isinstance(ctype, Vector):
        ctype, depth = ctype.element, depth + 1
    return depth


_AS_NUMBER = "unsigned long"  # what the device has for a pointer: such members are copied as they are


def fields_of(record: Record, prefix: str = "") -> list[tuple[str, str]]:
    """(member path, scalar type) of every scalar in the structure; arrays by element, pointers as numbers."""
    found: list[tuple[str, str]] = []
    for member in record.members or ():
        found += _scalars(member.type, f"{prefix}{member.name}")
    return found


def _scalars(ctype: CType, path: str) -> list[tuple[str, str]]:
    match ctype:
        case Basic(name, _):
            return [(path, name)]
        case Pointer():
            return [(path, _AS_NUMBER)]
        case Qualified(record, _):
            return fields_of(record, f"{path}.")
        case Vector(element, int() as extent, _, _):
            return [pair for k in range(extent) for pair in _scalars(element, f"{path}[{k}]")]
    return []


def complex_places(record: Record) -> tuple[str, ...]:
    """The member paths of every complex number in the structure, "" where it is one itself."""
    return tuple(_places(Qualified(record), "", lambda ctype: complex_part(ctype) is not None))


def pointer_places(record: Record) -> tuple[str, ...]:
    """The member paths of every pointer in the structure."""
    return tuple(_places(Qualified(record), "", lambda ctype: isinstance(ctype, Pointer)))


def _places(ctype: CType, path: str, is_one: Callable[[CType], bool]) -> Iterator[str]:
    match ctype:
        case _ if is_one(ctype):
            yield path
        case Qualified(record, _):
            for member in record.members or ():
                yield from _places(member.type, f"{path}.{member.name}".lstrip("."), is_one)
        case Vector(element, int() as extent, _, _):
            for k in range(extent):
                yield from _places(element, f"{path}[{k}]", is_one)


def refusal_of(record: Record, pointers: bool = False) -> str:
    """Why the structure cannot be used on the device, "" when it can, `pointers` in it apart."""
    if record.members is None:
        return "its definition is not visible"
    if record.refusal:
        return record.refusal
    if not record.name:
        return "it has no name"
    for member in record.members:
        if reason := _member_refusal(member, pointers):
            return reason
    return ""


def _member_refusal(member: Member, pointers: bool) -> str:
    if not member.name:
        return "a member has no name"
    if member.bits:
        return f"member '{member.name}' is a bit-field"
    ctype = member.type
    while isinstance(ctype, Vector):
        if not isinstance(ctype.extent, int):
            return f"member '{member.name}' is an array without a constant size"
        ctype = ctype.element
    match ctype:
        case Pointer() if not pointers:
            return f"member '{member.name}' is a pointer"
        case Opaque(what, _):
            return f"member '{member.name}' is {with_article(what)}"
        case Qualified(record, _):
            return refusal_of(record, pointers)
    return ""


def definition_of(record: Record) -> str:
    """C text that defines the structure.

    Structures within it are written out without their tags: the layout is the same, and the definitions
    of several structures can stand in one file whatever they share.
    """
    if record.name.startswith("struct "):
        return f"{record.name} {_body(record)};"
    return f"typedef struct {_body(record)} {record.name};"


def _body(record: Record) -> str:
    return f"{{ {' '.join(_declaration(member) for member in record.members or ())} }}"


def _declaration(member: Member) -> str:
    suffix = ""
    ctype = member.type
    while isinstance(ctype, Vector):
        suffix += f"[{ctype.extent}]"
        ctype = ctype.element
    spelled = _AS_NUMBER if isinstance(ctype, Pointer) else describe(ctype)
    if isinstance(ctype, Qualified):
        spelled = f"struct {_body(ctype.record)}"
    return f"{spelled} {member.name}{suffix};"
