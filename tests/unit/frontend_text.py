"""Scops as short texts to compare with what a person writes down."""

from __future__ import annotations

from pathlib import Path

from polygpu.frontend import FrontendOptions, Lifted, lift
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.model.scop import Access, Action, Branch, Let, Repeat, Scop, Statement, Store
from polygpu.support.diagnostics import Diagnosed, Diagnostic


def lifted(directory: Path, text: str, **options: object) -> Lifted:
    """`text` as the file in.c of the directory, lifted."""
    file = directory / "in.c"
    file.write_text(text)
    return lift(str(file), FrontendOptions(**options))  # type: ignore[arg-type]


def only_scop(directory: Path, text: str) -> Scop:
    (scop,) = lifted(directory, text).scops
    return scop


def region(directory: Path, parameters: str, body: str, head: str = "") -> Scop:
    """The scop of `body` between pragmas in a function of these parameters."""
    return only_scop(
        directory, f"{head}\nvoid f({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )


def errors(directory: Path, text: str) -> list[Diagnostic]:
    """The errors for a text that must not compile."""
    try:
        lifted(directory, text)
    except Diagnosed as problem:
        return [d for d in problem.diagnostics if d.severity == "error"]
    raise AssertionError("it compiles")


def shown(expr: Expr) -> str:
    """C with every operator in parentheses; types of names and sites of references left out."""
    match expr:
        case Int(value):
            return str(value)
        case Literal(text, _) | Name(text, _):
            return text
        case Unary(op, operand):
            return f"({op}{shown(operand)})"
        case Binary(op, left, right):
            return f"({shown(left)} {op} {shown(right)})"
        case Select(test, yes, no):
            return f"({shown(test)} ? {shown(yes)} : {shown(no)})"
        case Call(name, arguments, _):
            return f"{name}({', '.join(map(shown, arguments))})"
        case Cast(ctype, operand):
            return f"({ctype}){shown(operand)}"
        case Reference(array, subscripts, _, field, _):
            return array + "".join(f"[{shown(s)}]" for s in subscripts) + (f".{field}" if field else "")


def shown_action(action: Action) -> str:
    match action:
        case Store(target, value):
            return f"{shown(target)} = {shown(value)};"
        case Let(name, ctype, value, assign):
            return f"{name} = {shown(value)};" if assign else f"{ctype} {name} = {shown(value)};"
        case Branch(test, then, otherwise):
            text = f"if {shown(test)} {{ {' '.join(map(shown_action, then))} }}"
            return text + (f" else {{ {' '.join(map(shown_action, otherwise))} }}" if otherwise else "")
        case Repeat(test, body):
            return f"while {shown(test)} {{ {' '.join(map(shown_action, body))} }}"


def bodies(scop: Scop) -> list[str]:
    return [" ".join(map(shown_action, s.body)) for s in scop.statements]


def domain(statement: Statement) -> list[str]:
    return [shown(condition) for condition in statement.domain]


def extents(scop: Scop) -> dict[str, list[str | None]]:
    return {a.name: [None if e is None else shown(e) for e in a.extents] for a in scop.arrays}


def assumptions(scop: Scop) -> list[str]:
    return [f"{a.statement}: 0 <= {shown(a.value)} < {shown(a.bound)}" for a in scop.assumptions]


def access_text(access: Access) -> str:
    """`W must a[i]`, with `data` behind it where the subscripts are not affine."""
    kind = f"{'W' if access.write else 'R'} {'must' if access.must else 'may'}"
    return f"{kind} {shown(access.reference)}" + ("" if access.affine else " data")
