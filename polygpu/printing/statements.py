"""Prints the statements of kernel bodies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polygpu.model.expr import Binary, Cast, Expr, Int, Name, Reference, type_of
from polygpu.model.kernel import (
    Assign,
    Barrier,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Move,
    Statement,
    WaitCopies,
    While,
)
from polygpu.model.offsets import sum_of
from polygpu.printing.dialect import Dialect
from polygpu.printing.fragments import print_fragments
from polygpu.printing.nvcc import goes_through_rows
from polygpu.printing.printer import (
    Names,
    braced,
    indented,
    loop_head,
    print_expr,
    print_place,
    print_scaled,
    size_of,
)


def print_body(body: Iterable[Statement], names: Names) -> list[str]:
    """The lines of a block of kernel statements."""
    return [line for statement in body for line in print_statement(statement, names)]


def print_statement(statement: Statement, names: Names) -> list[str]:
    """The lines of one kernel statement."""
    dialect = names.dialect
    match statement:
        case Declare():
            return [_declaration(statement, names)]
        case DeclareArray(name, ctype, extents):
            return [f"{dialect.type(ctype)} {dialect.spell(name)}{_extents(extents)};"]
        case Assign(target, value):
            return [_assignment(target, value, names)]
        case Move():
            return _move(statement, names)
        case For():
            return _loop(statement, names)
        case If():
            return _branch(statement, names)
        case While(test, body):
            return braced(f"while ({print_expr(test, names)})", print_body(body, names))
        case Barrier() | CommitCopies() | WaitCopies():
            return _synchronisation(statement, dialect)
        case Comment(text):
            return [f"// {line}" for line in comment_lines(text)]


def _synchronisation(statement: Barrier | CommitCopies | WaitCopies, dialect: Dialect) -> list[str]:
    match statement:
        case Barrier():
            line = dialect.barrier
        case CommitCopies():
            line = dialect.commit
        case WaitCopies(pending):
            line = dialect.wait.format(pending=pending)
    return [line] if line else []


def comment_lines(text: str) -> list[str]:
    """Lines that are safe behind `//`: a backslash at the end would take in the next line."""
    return [line.rstrip(" \t\\") for line in text.splitlines()] or [""]


def _extents(extents: tuple[int, ...]) -> str:
    return "".join(f"[{extent}]" for extent in extents)


def _declaration(declare: Declare, names: Names) -> str:
    ctype, name = names.dialect.type(declare.type), names.dialect.spell(declare.name)
    const = "" if declare.mutable else "const "
    if declare.value is None:
        return f"{const}{ctype} {name};"
    scaled = print_scaled(declare.value, declare.type, names)
    value = scaled or print_expr(declare.value, names)
    if isinstance(declare.value, Name) and declare.type == "int":
        value = value.removeprefix("(int)")
    return f"{const}{ctype} {name} = {value};"


def _assignment(target: Reference | Name, value: Expr, names: Names) -> str:
    place, scaled = print_expr(target, names), print_scaled(value, type_of(target), names)
    match value:
        case Binary("+" | "-" | "*" | "/" as op, left, right) if left == target and not scaled:
            return f"{place} {op}= {print_expr(right, names)};"
    if isinstance(target, Reference) and target.type == "_Bool" and type_of(value) != "_Bool":
        value = Cast("_Bool", value)
    return f"{place} = {scaled or print_expr(value, names)};"


def _loop(loop: For, names: Names) -> list[str]:
    if loop.fragments:
        return print_fragments(loop, names)
    head = loop_head(loop, names)
    lines = braced(head, print_body(loop.body, names))
    unroll = names.dialect.unroll
    if unroll and goes_through_rows(loop, names.arrays, names.values):
        return [f"{unroll} 1", *lines]
    return [unroll, *lines] if loop.unroll and unroll else lines


def _branch(branch: If, names: Names) -> list[str]:
    lines = braced(f"if ({print_expr(branch.test, names)})", print_body(branch.then, names))
    match branch.otherwise:
        case ():
            return lines
        case (If() as other,):
            first, *rest = _branch(other, names)
            return [*lines[:-1], f"}} else {first}", *rest]
        case _:
            return [*lines[:-1], "} else {", *indented(print_body(branch.otherwise, names)), "}"]


def _move(move: Move, names: Names) -> list[str]:
    """One wide access where the dialect has one, else the halves, at last single elements."""
    ctype, width = move.target.type, move.width
    size = size_of(ctype) * width
    private = names.private(move.target), names.private(move.source)
    if move.asynchronous and names.dialect.copy and size in (4, 8, 16):
        places = {"target": print_place(move.target, names), "source": print_place(move.source, names)}
        return [names.dialect.copy.format(bytes=size, **places)]
    if width == 1:
        return [_assignment(move.target, move.source, names)]
    if all(private) or width not in (2, 4) or size > 16 or ctype not in names.dialect.vectors:
        half = 2 if width == 4 and size > 16 and not all(private) else 1
        return [line for part in _parts(move, half) for line in _move(part, names)]
    return _wide_move(move, names)


def _parts(move: Move, width: int) -> list[Move]:
    return [
        replace(move, target=_later(move.target, k), source=_later(move.source, k), width=width)
        for k in range(0, move.width, width)
    ]


def _later(reference: Reference, count: int) -> Reference:
    """The element `count` places further in the last dimension."""
    *outer, last = reference.subscripts
    return replace(reference, subscripts=(*outer, sum_of(last, Int(count))))


def _wide_move(move: Move, names: Names) -> list[str]:
    dialect = names.dialect
    vector = f"{dialect.vectors[move.target.type]}{move.width}"
    if names.private(move.source):
        lanes = ", ".join(print_place(_later(move.source, k), names) for k in range(move.width))
        value = dialect.wide_value.format(vector=vector, lanes=lanes)
    else:
        value = _wide(move.source, vector, "const ", names)
    if not names.private(move.target):
        return [f"{_wide(move.target, vector, '', names)} = {value};"]
    stores = [f"{print_place(_later(move.target, k), names)} = lanes.{'xyzw'[k]};" for k in range(move.width)]
    return ["{", *indented([f"const {vector} lanes = {value};", *stores]), "}"]


def _wide(reference: Reference, vector: str, const: str, names: Names) -> str:
    dialect, place = names.dialect, print_place(reference, names)
    wide = dialect.wide_access.format(const=const, space=names.space(reference), vector=vector, place=place)
    return dialect.texture_load.format(place=wide).replace("&*", "") if names.texture(reference) else wide
