"""What the front end refuses: what the user calls it, why, and what to write instead."""

from __future__ import annotations

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


# By node class: id, what it is, why it cannot be offloaded and what to do instead.
_STATEMENTS: dict[str, tuple[str, str, str]] = {
    "Goto": (
        "PG120",
        "'goto' in a region: which statements run is not known before",
        "write the jump as a loop or an if, or end the region before it",
    ),
    "Label": (
        "PG120",
        "a label in a region: a jump enters it in the middle",
        "move the label out of the region, or leave out its goto",
    ),
    "Break": (
        "PG121",
        "'break' in a region: the number of iterations depends on data",
        "let the loop run to its end and guard the work with an if, or end the region before the loop",
    ),
    "Continue": (
        "PG122",
        "'continue' in a region",
        "put the rest of the loop's body into an if with the opposite condition",
    ),
    "Return": (
        "PG123",
        "'return' in a region",
        "end the region before it",
    ),
    "While": (
        "PG124",
        "'while' in a region: the number of iterations is not known when the loop starts",
        "write it as 'for (int i = lower; i < upper; i++)', or put the region inside the loop",
    ),
    "DoWhile": (
        "PG124",
        "'do' in a region: the number of iterations is not known when the loop starts",
        "write it as 'for (int i = lower; i < upper; i++)', or put the region inside the loop",
    ),
    "Switch": (
        "PG125",
        "'switch' in a region",
        "write it as a chain of if and else",
    ),
    "Case": ("PG125", "'case' in a region", "write the switch as a chain of if and else"),
    "Default": ("PG125", "'default' in a region", "write the switch as a chain of if and else"),
    "StaticAssert": ("PG126", "'_Static_assert' in a region", "move it out of the region"),
    "Typedef": ("PG126", "a type declared in a region", "declare the type before the region"),
}

_EXPRESSIONS: dict[str, tuple[str, str, str]] = {
    "Assignment": (
        "PG150",
        "an assignment within an expression",
        "assign in a statement of its own",
    ),
    "ExprList": ("PG151", "a comma operator within an expression", "write two statements"),
    "CompoundLiteral": ("PG152", "a compound literal in a region", "declare a variable before the region"),
    "InitList": ("PG152", "an initialiser list here", "assign the elements one by one"),
    "Compound": ("PG153", "a statement expression ({ ... }) in a region", "write its statements out"),
    "GenericSelection": ("PG153", "'_Generic' in a region", "call the function that it selects by its name"),
}


def statement_refusal(node: Any, position: Position) -> Diagnosed:
    """Why this statement cannot stand in a region."""
    name = type(node).__name__
    if name in _STATEMENTS:
        identity, message, help_text = _STATEMENTS[name]
        word = {"DoWhile": "do"}.get(name, name.lower())
        length = len(word) if message.startswith(f"'{word}'") else 1
        return refusal(identity, position, message, help_text, length)
    return expression_refusal(node, position, statement=True)


def expression_refusal(node: Any, position: Position, statement: bool = False) -> Diagnosed:
    """Why this expression cannot stand in a region."""
    name = type(node).__name__
    if name in _EXPRESSIONS:
        return refusal(_EXPRESSIONS[name][0], position, *_EXPRESSIONS[name][1:])
    if isinstance(node, c_ast.UnaryOp) and node.op in ("p++", "p--", "++", "--"):
        message = f"'{node.op.lstrip('p')}' within an expression"
        return refusal("PG150", position, message, "increment in a statement of its own")
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        help_text = "name the array element itself"
        return refusal("PG154", position, "the address of an object is taken in a region", help_text)
    if isinstance(node, c_ast.Constant):
        message = f"the string {node.value} in a region"
        return refusal("PG153", position, message, "copy it to an array before the region", len(node.value))
    if statement:
        message = "a statement without effect on memory in a region"
        return refusal("PG155", position, message, "assign its value, or remove it")
    message = f"this kind of expression ({name}) in a region"
    return refusal("PG153", position, message, "compute it before the region and use the result")
