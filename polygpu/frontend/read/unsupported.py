"""What the front end refuses: what the user calls it, why, and what to write instead."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pycparser import c_ast

from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position


def refusal(
    identity: str,
    position: Position,
    message: str,
    help_text: str,
    length: int = 1,
    notes: tuple[Diagnostic, ...] = (),
) -> Diagnosed:
    """The exception to raise for one error."""
    return Diagnosed(Diagnostic(identity, "error", message, position, help_text, notes, length))


def note(message: str, position: Position, identity: str = "") -> Diagnostic:
    return Diagnostic(identity, "note", message, position)


@cache
def _known() -> dict[str, dict[str, dict[str, str]]]:
    """Id, message and help by the kind of syntax and the class of its node."""
    return tomllib.loads(Path(__file__).with_name("unsupported.toml").read_text("utf-8"))


def statement_refusal(node: Any, position: Position) -> Diagnosed:
    """Why this statement cannot stand in a region."""
    name = type(node).__name__
    if found := _known()["statements"].get(name):
        word = {"DoWhile": "do"}.get(name, name.lower())
        length = len(word) if found["message"].startswith(f"'{word}'") else 1
        return refusal(found["id"], position, found["message"], found["help"], length)
    return expression_refusal(node, position, statement=True)


def expression_refusal(node: Any, position: Position, statement: bool = False) -> Diagnosed:
    """Why this expression cannot stand in a region."""
    name = type(node).__name__
    if found := _known()["expressions"].get(name):
        return refusal(found["id"], position, found["message"], found["help"])
    if isinstance(node, c_ast.UnaryOp) and node.op in ("p++", "p--", "++", "--"):
        message = f"'{node.op.lstrip('p')}' within an expression"
        return refusal("PG150", position, message, "increment in a statement of its own")
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        help_text = "name the array element itself"
        return refusal("PG154", position, "the address of an object is taken in a region", help_text)
    if isinstance(node, c_ast.Constant) and node.type != "string":
        message = "NULL, or another number as a pointer, in a region"
        help_text = "set or test the pointer before or after the region"
        return refusal("PG153", position, message, help_text, len(node.value))
    if isinstance(node, c_ast.Constant):
        message = f"the string {node.value} in a region"
        return refusal("PG153", position, message, "copy it to an array before the region", len(node.value))
    if statement:
        message = "a statement without effect on memory in a region"
        return refusal("PG155", position, message, "assign its value, or remove it")
    message = f"this kind of expression ({name}) in a region"
    return refusal("PG153", position, message, "where it does not change, compute it before the region")
