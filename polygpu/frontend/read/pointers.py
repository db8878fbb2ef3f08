"""Local pointers, which are names of places: that they stay such names, and of the type that they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import CType, Opaque, Pointer, Vector, describe
from polygpu.frontend.read.state import Address, RawArray, Reading, Region, Scalar
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.shape.affine import add
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.rewrite import actions, children, scalars_in
from polygpu.model.scop import Action, Let, Store
from polygpu.support.diagnostics import Diagnosed


def entered(reader: Reading, variable: Variable, pointer: Address) -> None:
    """Lets the variable stand for the address."""
    region = reader.region
    assert isinstance(variable.type, Pointer)
    wanted = variable.type.target
    if not (isinstance(wanted, Opaque) and wanted.what == "void") and not same(
        reader, wanted, pointer.element
    ):
        raise retyped(reader, variable.node, variable.type, pointer.element)
    region.bindings[variable] = pointer


def retyped(reader: Reading, node: Any, wanted: CType, given: CType) -> Diagnosed:
    """The refusal of memory as another type than it is declared with; `wanted` is the pointer's."""
    first, second = describe(given), describe(wanted)
    alike = isinstance(wanted, Pointer) and describe(wanted.target) == first
    what = f"{first} with rows of another length" if alike else f"{first} through {second}"
    help_text = "declare a pointer of that type before the region"
    return refusal("PG149", reader.region.at(node), f"memory is read as another type: {what}", help_text)


def same(reader: Reading, wanted: CType, given: CType) -> bool:
    """Whether memory is the same seen as either type."""
    while isinstance(wanted, Vector) and isinstance(given, Vector):
        first, second = (_extent(reader, ctype) for ctype in (wanted, given))
        if wanted.extent is not given.extent and (first is None or first != second):
            return False
        wanted, given = wanted.element, given.element
    return describe(wanted) == describe(given) and isinstance(wanted, Vector) == isinstance(given, Vector)


def _extent(reader: Reading, ctype: Vector) -> Expr | int | None:
    """The length of a row, None where it is not known."""
    if ctype.extent is None or isinstance(ctype.extent, int):
        return ctype.extent
    if (number := reader.scope.constant(ctype.extent)) is not None:
        return number.value
    try:
        return reader.region.affine.value(reader.at(ctype.scope or reader.scope).value(ctype.extent))
    except Diagnosed:
        return None


def together(reader: Reading, first: Address, second: Address, node: Any) -> tuple[Expr, Expr]:
    """Where two pointers point to in one array: the elements from one place on.

    Of two variables that the region does not make point into one array, the host says how far they are apart.
    """
    *outer, one = first.subscripts
    *others, other = second.subscripts
    if first.array is second.array and outer == others:
        return one, other
    arrays = first.array, second.array
    if (
        outer
        or others
        or not all(_plain(array) and same(reader, first.element, second.element) for array in arrays)
    ):
        message = "how far two pointers are apart is not known: they are not into one row of an array"
        raise refusal("PG141", reader.region.at(node), message, "compare subscripts instead")
    return add(one, _apart(reader.region, *arrays)), other


def _plain(array: RawArray) -> bool:
    return isinstance(array.variable.type, Pointer | Vector) and array.variable.place in (
        "parameter",
        "local",
    )


def _apart(region: Region, first: RawArray, second: RawArray) -> Expr:
    """How many elements the first pointer is behind the second before the region."""
    host = " - ".join(region.hosts.get(a.name, a.variable.name) for a in (first, second))
    known = {text: name for name, text in region.hosts.items()}
    text = f"({host})"
    if text not in known:
        name = region.unique(f"{first.variable.name}_{second.variable.name}")
        region.scalars[name] = Scalar(name, "long", first.variable)
        region.hosts[name] = text
        region.apart[name] = first, second
        return Name(name, "long")
    return Name(known[text], "long")


def check(region: Region) -> None:
    """Refuses pointers to where data said, if the region changes these data: they go on pointing there."""
    stored = set(_changed(action for statement in region.statements for action in actions(statement.body)))
    for variable, binding in region.bindings.items():
        if not isinstance(binding, Address):
            continue
        for name in _data(binding.subscripts):
            if name in stored and not _is_set_once(region, name):
                message = (
                    f"the pointer '{variable.name}' is made from '{name}', which is changed in the region"
                )
                help_text = "make the pointer from a copy of that value, as in 'int k = p[i];'"
                raise refusal("PG157", region.at(variable.node), message, help_text, len(variable.name))


def _changed(found: Iterable[Action]) -> Iterator[str]:
    for action in found:
        match action:
            case Store(target, _):
                yield target.array
            case Let(name, _, _, True):
                yield name


def _data(subscripts: Iterable[Expr]) -> Iterator[str]:
    for part in subscripts:
        if isinstance(part, Reference):
            yield part.array
        yield from _data(children(part))
    yield from scalars_in(*subscripts)


def _is_set_once(region: Region, name: str) -> bool:
    """Whether the name is a variable of the region's that only its declaration sets."""
    arrays = (array for array in region.arrays.values() if array.name == name)
    return any(_only_declared(region, array) for array in arrays)


def _only_declared(region: Region, array: RawArray) -> bool:
    variable = array.variable
    return (
        variable.place == "region"
        and not isinstance(variable.type, Vector)
        and variable.name not in region.written
    )
