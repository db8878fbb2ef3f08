"""Variables declared inside a region."""

from __future__ import annotations

from collections.abc import Iterator as Iterable
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Vector, element_of
from polygpu.frontend.read import places, pointers
from polygpu.frontend.read.expressions import Reader, is_step
from polygpu.frontend.read.state import Local, Substitute
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.read.values import is_followed
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import Expr, Int, is_floating
from polygpu.model.rewrite import reads_memory, scalars_in

MOST_INITIAL_VALUES = 64


def entered(reader: Reader, node: c_ast.Decl) -> Variable:
    """Declares the variable in the reader's scope."""
    where = reader.region.at(node)
    variable = reader.scope.declare(node, "region")
    if not isinstance(variable, Variable):
        raise refusal(
            "PG126", where, "a function or type declared in a region", "declare it before the region"
        )
    if variable.storage and set(variable.storage) - {"auto", "register"}:
        message = f"'{variable.name}' is declared {variable.storage[0]} in a region"
        raise refusal("PG126", where, message, "declare it before the region", len(variable.name))
    reader.check_type(variable, node)
    return variable


def substituted(reader: Reader, variable: Variable) -> bool:
    """Whether the variable is only a name for a value of iterators and parameters, or for a place.

    Integers that are set once, from values that do not change meanwhile, are replaced by their value:
    so `int idx = i * n + j; a[idx] = 0;` is as good as `a[i * n + j] = 0;`.
    """
    region = reader.region
    if isinstance(variable.type, Pointer):
        if variable.initial is not None:
            pointer = reader.address(variable.initial)
            if is_followed(region, variable):
                places.point(reader, c_ast.ID(variable.name, variable.node.coord), pointer)
            else:
                pointers.entered(reader, variable, pointer)
        return True
    if not isinstance(variable.type, Basic) or is_floating(variable.type.name):
        return False
    if (
        variable.initial is None
        or any(map(is_step, nodes(variable.initial)))
        or variable.name in region.written | region.kept
        or isinstance(variable.initial, c_ast.InitList)
    ):
        return False
    sites = len(region.sites)
    value = reader.value(variable.initial)
    if reads_memory(value) or scalars_in(value) & region.locals:
        del region.sites[sites:]
        return False
    region.bindings[variable] = Substitute(value, variable.type.name)
    return True


def local(reader: Reader, variable: Variable, where: str) -> Local:
    """A scalar of one statement instance, declared within what `where` says."""
    if not isinstance(variable.type, Basic):
        message = f"'{variable.name}' is declared within {where}"
        help_text = f"declare arrays and structures before the {where.split()[1]}"
        raise refusal("PG171", reader.region.at(variable.node), message, help_text, len(variable.name))
    name = reader.region.unique(variable.name)
    reader.region.locals.add(name)
    return Local(name, variable.type.name)


def initial_values(reader: Reader, variable: Variable) -> Iterable[tuple[tuple[int, ...], str, Expr]]:
    """(subscripts, type, value) of the elements that the initialiser sets."""
    element = element_of(variable.type)
    if not isinstance(element, Basic):
        raise _refused(reader, variable, "a structure")
    if not isinstance(variable.type, Vector):
        yield (), element.name, reader.value(_scalar(variable.initial))
        return
    elements = list(_elements(reader, variable, variable.type, variable.initial, ()))
    if len(elements) > MOST_INITIAL_VALUES:
        raise _refused(reader, variable, "more than 64 elements")
    for subscripts, node in elements:
        yield subscripts, element.name, Int(0) if node is None else reader.value(node)


def _scalar(node: Any) -> Any:
    """The value in `{ value }`."""
    return node.exprs[0] if isinstance(node, c_ast.InitList) and len(node.exprs) == 1 else node


def _elements(
    reader: Reader, variable: Variable, ctype: CType, node: Any, before: tuple[int, ...]
) -> Iterable[tuple[tuple[int, ...], Any]]:
    """Each element with its initialiser, None where the list leaves it 0."""
    if not isinstance(ctype, Vector):
        yield before, node
        return
    extent = reader.scope.constant(ctype.extent)
    given = node.exprs if isinstance(node, c_ast.InitList) else [] if node is None else None
    if given is None or any(isinstance(expr, c_ast.NamedInitializer) for expr in given):
        raise _refused(reader, variable, "something else than a plain list")
    count = len(given) if ctype.extent is None else extent.value if extent else None
    if count is None or count > MOST_INITIAL_VALUES:
        raise _refused(reader, variable, "more than 64 elements")
    for index in range(count):
        value = given[index] if index < len(given) else None
        yield from _elements(reader, variable, ctype.element, value, (*before, index))


def _refused(reader: Reader, variable: Variable, what: str) -> Exception:
    message = f"the initialiser of '{variable.name}' sets {what}"
    help_text = "set the elements in a loop"
    return refusal("PG152", reader.region.at(variable.node), message, help_text, len(variable.name))
