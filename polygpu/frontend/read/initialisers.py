"""Lists that give the members of a structure their values: `(cplx){0, 1}`, `{.re = x}`, `(cplx){a, b}.re`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.types import Basic, CType, Qualified, Record, Vector
from polygpu.frontend.read.places import Place
from polygpu.frontend.read.state import Reading
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.read.values import converted
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import Expr, Int, Reference
from polygpu.model.rewrite import references
from polygpu.model.scop import Store


def filled(
    reader: Reading, target: Place, record: Record, values: c_ast.InitList, written: Any
) -> list[Store]:
    """The stores that make a structure of the list, in order; what the list leaves out is 0.

    Raises Diagnosed where a value reads what a store before it has changed.
    """
    stores: list[Store] = []
    for path, ctype, node in _members(reader, record, values):
        full = f"{target.field}.{path}" if target.field else path
        value: Expr = Int(0) if node is None else reader.value(node)
        changed = {store.target.field for store in stores}
        if any(r.array == target.array.name and r.field in changed for r in references(value)):
            message = f"the value of '{path}' may read a member that is set before it"
            raise refusal("PG152", reader.region.at(node), message, "compute the values in variables first")
        site = reader.region.site(written)
        stores.append(Store(Reference(target.array.name, target.subscripts, ctype, full, site), value))
    return stores


def member(reader: Reading, node: c_ast.StructRef) -> Expr | None:
    """`(cplx){a, b}.re` is a, as the member's type. None where it is no plain member of such a list."""
    path, whole = str(node.field.name), node.name
    while node.type == "." and isinstance(whole, c_ast.StructRef) and whole.type == ".":
        path, whole = f"{whole.field.name}.{path}", whole.name
    if node.type != "." or not isinstance(whole, c_ast.CompoundLiteral) or any(map(_steps, nodes(whole))):
        return None
    given = reader.scope.resolve(whole.type)
    found = _members(reader, given.record, whole.init) if isinstance(given, Qualified) else ()
    values = (converted(Int(0) if n is None else reader.value(n), t) for at, t, n in found if at == path)
    return next(values, None)


def _steps(node: Any) -> bool:
    """Whether it changes a variable, which it does whatever member is read."""
    steps = isinstance(node, c_ast.UnaryOp) and node.op in ("p++", "++", "p--", "--")
    return steps or isinstance(node, c_ast.Assignment)


def _members(reader: Reading, record: Record, values: c_ast.InitList) -> Iterator[tuple[str, str, Any]]:
    """(path, type, node) of each scalar; no node for one that the list leaves out."""
    members = record.members or ()
    given: dict[int, Any] = {}
    place = 0
    for item in values.exprs:
        if isinstance(item, c_ast.NamedInitializer):
            name = item.name[0].name if len(item.name) == 1 and isinstance(item.name[0], c_ast.ID) else ""
            place = next((k for k, member in enumerate(members) if member.name == name), len(members))
            item = item.expr  # noqa: PLW2901 - what is named
        if place >= len(members):
            raise _refused(reader, values)
        given[place] = item
        place += 1
    for k, member in enumerate(members):
        yield from _scalars(reader, values, member.name, member.type, given.get(k))


def _scalars(
    reader: Reading, values: c_ast.InitList, path: str, ctype: CType, node: Any
) -> Iterator[tuple[str, str, Any]]:
    match ctype, node:
        case Basic(name), c_ast.InitList():
            raise _refused(reader, values)
        case Basic(name), _:
            yield path, name, node
        case Qualified(record), None | c_ast.InitList():
            inner = node or c_ast.InitList([])
            yield from ((f"{path}.{rest}", t, n) for rest, t, n in _members(reader, record, inner))
        case Vector(element, int() as extent), None | c_ast.InitList():
            items = node.exprs if node else []
            if len(items) > extent or any(isinstance(item, c_ast.NamedInitializer) for item in items):
                raise _refused(reader, values)
            for k in range(extent):
                item = items[k] if k < len(items) else None
                yield from _scalars(reader, values, f"{path}[{k}]", element, item)
        case _:
            raise _refused(reader, values)


def _refused(reader: Reading, values: Any) -> Exception:
    message = "a list of values that is not written member by member"
    return refusal("PG152", reader.region.at(values), message, "put braces around those of each member")
