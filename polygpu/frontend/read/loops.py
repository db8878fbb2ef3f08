"""`for` headers: the iterator, its start, its step and the conditions that bound it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic, describe
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.reasons import nonaffine
from polygpu.frontend.read.state import Finished, Iterator, Region
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.shape.affine import conjuncts, polynomial, scaled, subtract, total
from polygpu.model.expr import SIZES, Binary, Expr, Int, Name, common_type, is_floating, type_of
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Loop
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_FORM = "write it as 'for (int i = lower; i < upper; i++)'"


@dataclass(frozen=True)
class Header:
    """A loop over `iterator` (its unique name). `domain` holds its bounds and its stride.

    `start` and `test` are the source's, in its types: the iterator's is `type`.
    """

    variable: Variable
    iterator: str
    type: str
    domain: tuple[Expr, ...]
    step: int
    start: Expr
    test: Expr


def read_header(reader: Reader, node: c_ast.For, text: str) -> Header:
    """Enters the loop: its iterator is bound in the region until `leave`. Raises Diagnosed."""
    region = reader.region
    position = region.at(node)
    variable, start = _start(reader, node, position)
    ctype = _iterator_type(region.at(node.init), variable)
    if isinstance(region.bindings.get(variable), Iterator):
        message = f"the iterator '{variable.name}' of an outer loop is used again"
        help_text = "give the inner loop an iterator of its own"
        raise refusal("PG105", position, message, help_text, 3)
    first = region.affine.value(start)
    if first is None:
        raise nonaffine(
            region, start, region.at(node.init), f"the start of the loop over '{variable.name}' is"
        )
    name = region.unique(variable.name)
    region.iterators.add(name)
    # Arithmetic promotes narrow types to int, which holds all their values.
    region.bindings[variable] = Iterator(name, common_type(ctype, "int"))
    step = _step(reader, node, variable, position)
    test = _condition(reader, node, position)
    tests = _tests(region, test, Name(name), step, ctype, region.at(node.cond))
    region.loops.append(Loop(variable.name, position, text, step, region.labels.get(str(node.coord), "")))
    domain = (_first(Name(name), first, step), *tests, *_stride(name, first, step))
    return Header(variable, name, ctype, domain, step, start, test)


def leave(reader: Reader, header: Header, position: Position) -> None:
    """After the loop its iterator is no value that can be used."""
    reader.region.bindings[header.variable] = Finished(position)
    if header.variable.place != "region":
        reader.region.outer_iterators.setdefault(header.variable, position)


def _start(reader: Reader, node: c_ast.For, position: Position) -> tuple[Variable, Expr]:
    init = node.init
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1 and init.decls[0].init is not None:
        declaration = init.decls[0]
        start = reader.value(declaration.init)
        variable = reader.scope.declare(declaration, "region")
    elif isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        variable, start = reader.variable(init.lvalue), reader.value(init.rvalue)
    else:
        what = "does not set its iterator" if init is None else "sets more than one iterator, or none"
        raise refusal("PG104", position, f"the loop's header {what}", _FORM, 3)
    if not isinstance(variable, Variable):
        raise refusal("PG104", position, "the loop has no iterator", _FORM, 3)
    return variable, start


def _iterator_type(position: Position, variable: Variable) -> str:
    ctype = variable.type
    if not isinstance(ctype, Basic) or is_floating(ctype.name) or ctype.qualifiers & {"volatile", "_Atomic"}:
        message = f"the iterator '{variable.name}' is no plain integer but {describe(ctype)}"
        raise refusal("PG104", position, message, "use an int", len(variable.name))
    if variable.place == "global":
        message = f"the iterator '{variable.name}' is a global variable: other code sees its value"
        raise refusal("PG106", position, message, "declare it in the loop: 'for (int i = ...'")
    return ctype.name


def _step(reader: Reader, node: c_ast.For, variable: Variable, position: Position) -> int:
    following = node.next
    if following is None:
        raise refusal("PG104", position, "the loop's header does not change its iterator", _FORM, 3)
    where = reader.region.at(following)
    amount = _amount(reader, following, variable)
    if amount is None:
        message = f"the loop's header changes '{variable.name}' in a way that is no constant step"
        raise refusal("PG103", where, message, f"{_FORM}, or with 'i += constant'", len(variable.name))
    if amount == 0:
        raise refusal("PG103", where, "the loop's step is 0", "use a step that is not 0")
    return amount


def _amount(reader: Reader, node: Any, variable: Variable) -> int | None:
    """The constant that one iteration adds to the iterator."""
    match node:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op, expr=c_ast.ID(name=name)):
            return (1 if "+" in op else -1) if name == variable.name else None
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=name)):
            change = reader.region.affine.value(reader.value(node.rvalue))
            if name == variable.name and isinstance(change, Int):
                return change.value if op == "+=" else -change.value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == variable.name:
            own = polynomial(reader.value(c_ast.ID(name, node.coord)))
            difference = total(polynomial(reader.value(node.rvalue)), scaled(own, -1))
            if set(difference) <= {()}:
                return difference.get((), 0)
    return None


def _condition(reader: Reader, node: c_ast.For, position: Position) -> Expr:
    if node.cond is None:
        raise refusal("PG104", position, "the loop's header has no condition", _FORM, 3)
    return reader.value(node.cond)


def _tests(
    region: Region, test: Expr, iterator: Name, step: int, ctype: str, where: Position
) -> tuple[Expr, ...]:
    """The conditions of the header, each of which ends the loop for good once it fails."""
    found: list[Expr] = []
    bounded = False
    for part in conjuncts(test):
        condition = region.affine.condition(part, unsigned=True)
        if condition is None:
            raise nonaffine(region, part, where, f"the bound of the loop over '{iterator.name}' is")
        if _always(part, condition, iterator, ctype):
            message = f"'{iterator.name} >= 0' always holds: '{iterator.name}' is unsigned"
            raise refusal("PG104", where, message, "use a signed iterator")
        bounded |= _bounds(condition, iterator, step, where)
        found.append(condition)
    if not bounded:
        raise _unbounded(iterator, step, where)
    return tuple(found)


def _unbounded(iterator: Name, step: int, where: Position) -> Diagnosed:
    direction = "up" if step > 0 else "down"
    message = f"the loop over '{iterator.name}' counts {direction}, but its condition does not end it there"
    help_text = f"use '{'<' if step > 0 else '>'}' or '{'<=' if step > 0 else '>='}' in the condition"
    return refusal("PG104", where, message, help_text)


def _always(test: Expr, condition: Expr, iterator: Name, ctype: str) -> bool:
    """`i >= 0` of an unsigned i; `(int)i >= 0` does not hold once i has wrapped around."""
    if condition != Binary(">=", iterator, Int(0)) or not ctype.startswith("unsigned"):
        return False
    compared = type_of(Binary("+", test.left, test.right)) if isinstance(test, Binary) else ctype
    return compared.startswith("unsigned") or SIZES[ctype] < SIZES["int"]


def _bounds(condition: Expr, iterator: Name, step: int, where: Position) -> bool:
    """Whether the condition bounds the iterator in the loop's direction; False if it is not about it."""
    if iterator.name not in scalars_in(condition):
        return False
    match condition:
        case Binary("<" | "<=" | ">" | ">=" as op, left, right):
            difference = polynomial(subtract(left, right))
            factor = difference.pop((iterator,), 0)
            if not any(iterator.name in scalars_in(atom) for atoms in difference for atom in atoms):
                upwards = factor > 0 if op in ("<", "<=") else factor < 0
                if factor and upwards == (step > 0):
                    return True
                raise _unbounded(iterator, step, where)
        case Binary("!=", _, _):
            message = (
                f"the loop over '{iterator.name}' ends at '!=': whether it is reached depends on the step"
            )
            help_text = f"use '{'<' if step > 0 else '>'}' instead of '!='"
            raise refusal("PG104", where, message, help_text)
    message = f"the condition of the loop over '{iterator.name}' is no comparison that bounds it"
    raise refusal("PG104", where, message, "join comparisons such as 'i < n' with '&&'")


def _first(iterator: Name, first: Expr, step: int) -> Expr:
    return Binary(">=" if step > 0 else "<=", iterator, first)


def _stride(name: str, first: Expr, step: int) -> tuple[Expr, ...]:
    if abs(step) == 1:
        return ()
    distance = subtract(Name(name), first) if step > 0 else subtract(first, Name(name))
    return (Binary("==", Binary("%", distance, Int(abs(step))), Int(0)),)
