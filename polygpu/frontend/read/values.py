"""What is known of the scalars and pointers that a region assigns, while its statements are read in order.

    for i { c = i + n; a[c] = b[c + 1]; }    ->    for i { c = i + n; a[i + n] = b[i + n + 1]; }

Known are values of iterators and parameters: from an assignment up to the next one, and behind an `if` with
an affine test as `?:` of what both branches assign. `read.courses` has what loops do, and `read.settled` what
becomes of the assignments. What is not known is data, in the variable's own element.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, Protocol

from polygpu.frontend.names.constants import fold
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Vector
from polygpu.frontend.read.state import Address, Binding, InMemory, Lost, Region, Scalar, Substitute, Value
from polygpu.model.expr import (
    SIZES,
    Binary,
    Cast,
    Expr,
    Int,
    Name,
    Select,
    is_floating,
    limits,
    type_of,
)
from polygpu.model.rewrite import reads_memory, references, rewrite, scalars_in, walk

# A value of more parts than this is data: it would be computed again wherever it is read.
MOST_PARTS = 64
# Of a value that is one of more than so many nothing is known.
MOST_CHOICES = 8


class Binds(Protocol):
    """What binds the variables of a region."""

    @property
    def region(self) -> Region: ...
    def binding(self, variable: Variable, node: Any) -> Binding: ...


def converted(expr: Expr, ctype: str) -> Expr:
    """`expr` as `ctype`; a Cast where the type differs, but for numbers that arithmetic promotes to int."""
    if isinstance(expr, Int) and SIZES[ctype] < SIZES["int"] and ctype != "_Bool":
        low, high = limits(ctype)
        if low <= expr.value <= high:
            return expr
    return expr if type_of(expr) == ctype else Cast(ctype, expr)


def is_followed(region: Region, variable: Variable) -> bool:
    """Whether the region assigns the variable, and values of its type can be known."""
    if not region.following or variable.name not in region.written | region.kept:
        return False
    match variable.type:
        case Basic(name):
            return not is_floating(name) and name != "_Bool"
    return pointed(variable) is not None


def pointed(variable: Variable) -> CType | None:
    """What a pointer points to, which it may be made to do elsewhere; None for any other variable."""
    match variable.type:
        case Pointer(target):
            return target
        case Vector(element) if variable.place == "parameter":
            return element
    return None


def current(reader: Binds, variable: Variable) -> Value | None:
    """What is known of the variable; None of one that is not followed."""
    region = reader.region
    if not is_followed(region, variable):
        return None
    if variable not in region.values:
        region.values[variable] = _at_start(reader, variable)
    return region.values[variable]


def _at_start(reader: Binds, variable: Variable) -> Value:
    """The value at the region's start, or at the variable's declaration in it."""
    region, target = reader.region, pointed(variable)
    if target is not None:
        if variable.place == "region":
            return Lost(region.at(variable.node))
        array = reader.binding(variable, variable.node)
        assert not isinstance(array, Substitute | Address)
        return Address(array, (Int(0),), target)  # type: ignore[arg-type]
    if variable.place == "region" or not isinstance(variable.type, Basic):
        return InMemory()
    if variable in region.constants:
        return Substitute(region.constants[variable], variable.type.name)
    reader.binding(variable, variable.node)
    name = f"{variable.name}@" if variable.name in region.kept else variable.name  # an iterator may have it
    region.starts[name] = Scalar(variable.name, variable.type.name, variable)
    return Substitute(Name(name, variable.type.name), variable.type.name)


def assign(region: Region, variable: Variable, value: Expr) -> None:
    """After an assignment of `value`."""
    if is_followed(region, variable) and isinstance(variable.type, Basic):
        known = is_known(region, value)
        data = InMemory(_lasting(region, choices(region, value)))
        region.values[variable] = Substitute(value, variable.type.name) if known else data


def choices(region: Region, value: Expr) -> tuple[Expr, ...]:
    """The affine forms of which `value` is one, whatever the data are; none where that is not known."""
    found = [value]
    for read in dict.fromkeys(references(value)):
        each = region.choices.get(read.site, ())[: MOST_CHOICES + 1]
        found = [_with(e, read, one) for e in found for one in each]
    forms = tuple(dict.fromkeys(map(region.affine.value, found[: MOST_CHOICES + 1])))
    known = tuple(form for form in forms if form is not None)
    return known if len(known) == len(forms) <= MOST_CHOICES else ()


def _with(value: Expr, old: Expr, new: Expr) -> Expr:
    return rewrite(value, lambda part: new if part == old else None)


def _lasting(region: Region, found: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """None of them where one is made of a value that is only known at the region's start."""
    return found if region.starts.keys().isdisjoint(scalars_in(*found)) else ()


def is_known(region: Region, value: Expr) -> bool:
    """Whether a value stays what it is: no memory and no local of an instance is read for it."""
    return is_small(value) and not reads_memory(value) and not scalars_in(value) & region.locals


def is_small(value: Expr) -> bool:
    return next(islice(walk(value), MOST_PARTS, None), None) is None


def joined(
    reader: Binds, test: Expr | None, yes: dict[Variable, Value], no: dict[Variable, Value]
) -> dict[Variable, Value]:
    """What is known behind an `if` by what is known at the ends of its branches; no `test` is data."""

    def value(variable: Variable) -> Value:
        sides = [side[variable] if variable in side else _at_start(reader, variable) for side in (yes, no)]
        return _join(reader.region, variable, test, *sides)

    return {variable: value(variable) for variable in dict.fromkeys((*yes, *no))}


def _join(region: Region, variable: Variable, test: Expr | None, yes: Value, no: Value) -> Value:
    if yes == no:
        return yes
    one, other = offset(yes), offset(no)
    if test is not None and one is not None and other is not None and same_base(yes, no):
        number = chosen(test, one, other)
        if is_small(number):
            return at_offset(yes, number)
    found = unknown(region, variable, yes, no)
    return InMemory(_either(region, yes, no)) if isinstance(found, InMemory) else found


def _either(region: Region, *sides: Value) -> tuple[Expr, ...]:
    """What a value is one of that is any of several."""
    found: list[Expr] = []
    for side in sides:
        number = offset(side)
        among = (
            side.among if isinstance(side, InMemory) else () if number is None else choices(region, number)
        )
        if not among:
            return ()
        found += among
    unique = tuple(dict.fromkeys(found))
    return _lasting(region, unique) if len(unique) <= MOST_CHOICES else ()


def chosen(test: Expr, yes: Expr, no: Expr) -> Expr:
    """test ? yes : no"""
    match test:
        case Binary(op, Int(left), Int(right)):
            return yes if fold(op, left, right) else no
    return Select(test, yes, no)


def unknown(region: Region, variable: Variable, *values: Value) -> Value:
    """What remains of `values` that are not the same."""
    lost = next((value for value in values if isinstance(value, Lost)), None)
    if pointed(variable) is not None:
        return lost or Lost(region.at(variable.node))
    return lost or InMemory()


def offset(value: Value) -> Expr | None:
    """A known value as a number, in its type: of a pointer the last subscript."""
    match value:
        case Substitute(expr, ctype):
            return converted(expr, ctype)
        case Address(_, subscripts, _):
            return subscripts[-1]
    return None


def at_offset(value: Value, number: Expr) -> Value:
    """`value` with another `offset`."""
    match value:
        case Substitute(_, ctype):
            return Substitute(number, ctype)
        case Address():
            return replace(value, subscripts=(*value.subscripts[:-1], number))
    return value


def same_base(one: Value, other: Value) -> bool:
    """Whether two known values differ in their `offset` alone."""
    return at_offset(one, Int(0)) == at_offset(other, Int(0))
