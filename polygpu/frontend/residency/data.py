"""What pragmas of OpenMP and OpenACC say about data, as calls in the host file.

`target data`, `target enter data` and OpenACC's `data` and `enter data` map arrays to the device, until the
block ends or `exit data` comes by; `update` says which side has the right values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope, Variable, function_scope
from polygpu.frontend.names.types import Pointer, Qualified, Vector
from polygpu.frontend.read.directives import Directive, parsed, pragma_text
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.residency.text import NotPlainError, Text
from polygpu.frontend.residency.typing import type_of
from polygpu.frontend.residency.walk import Inserted, expression, literal
from polygpu.support.dataclass import dataclass

_MAPPED = (
    "map", "copy", "copyin", "copyout", "create", "pcopy", "pcopyin", "pcopyout", "pcreate",
    "present_or_copy", "present_or_copyin", "present_or_copyout", "present_or_create",
)  # fmt: skip
_LEFT = ("map", "copyout", "delete")
_FROM = ("from", "host", "self")
_TO = ("to", "device")
_CLAUSE = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True)
class Calls:
    """What stands before the pragma, and behind the block that it is about."""

    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


def is_about_data(node: Any) -> bool:
    """Whether it is a pragma that maps arrays, ends that, or copies them."""
    return isinstance(node, c_ast.Pragma) and _kind(parsed(node)) != ""


def said(context: FileContext, text: Text, function: Any) -> Iterator[Inserted]:
    """What stands at the pragmas of a function. Raises NotPlainError where a place cannot be told."""
    scope = function_scope(function, context.scope)
    yield from _within(context, text, function.body, scope)


def _within(context: FileContext, text: Text, node: Any, scope: Scope) -> Iterator[Inserted]:
    inner = scope.child()
    for child in node:
        if is_about_data(child):
            found = calls(child, inner, context.at(child).line)
            place = text.pragma(child)
            end = text.behind(text.end(text.next(place))) if found.behind else place
            yield from (Inserted(place, True, end, f" {call}") for call in found.before)
            yield from (Inserted(end, False, place, f" {call}") for call in found.behind)
        elif isinstance(child, c_ast.Decl | c_ast.Typedef):
            inner.declare(child, "local")
        elif isinstance(child, c_ast.DeclList):
            for declared in child.decls:
                inner.declare(declared, "local")
        else:
            yield from _within(context, text, child, inner)


def _kind(d: Directive) -> str:
    """enter, exit, update or data."""
    words = d.words[1:] if d.model == "omp" and d.words[:1] == ("target",) else d.words
    if d.model == "omp" and words == d.words:
        return ""
    return words[0] if words in (("enter", "data"), ("exit", "data"), ("update",), ("data",)) else ""


def calls(pragma: Any, scope: Scope, line: int) -> Calls:
    """Those of a pragma on that line, at which `scope` is visible."""
    clauses = tuple(_clauses(pragma_text(pragma)))
    conditions = [text for name, text in clauses if name == "if"]
    when = "".join(f"if ({text.rpartition(':')[2].strip()}) " for text in conditions)
    lists = [(name, item) for name, text in clauses for item in _items(text)]
    match _kind(parsed(pragma)):
        case "enter":
            return Calls(tuple(when + text for text in _mapping(lists, scope)))
        case "data" if not conditions:
            why = literal(f"the data region of line {line} ends")
            return Calls(tuple(_mapping(lists, scope)), tuple(_unmapping(lists, scope, why)))
        case "exit":
            every = any(name == "finalize" for name in re.findall(r"\w+", pragma_text(pragma)))
            why = literal(f"exit data at line {line}")
            return Calls(tuple(when + text for text in _unmapping(lists, scope, why, every)))
        case "update":
            return Calls(tuple(when + text for text in _updates(lists, scope, line)))
    return Calls()


def _mapping(lists: Sequence[tuple[str, str]], scope: Scope) -> Iterator[str]:
    for name, item in lists:
        if name in _MAPPED and (place := _place(item, scope)):
            yield f"polygpu_map({place});"


def _unmapping(
    lists: Sequence[tuple[str, str]], scope: Scope, why: str, every: bool = False
) -> Iterator[str]:
    for name, item in lists:
        if name in (*_MAPPED, *_LEFT) and (place := _place(item, scope)):
            yield f"polygpu_unmap({place}, {int(every)}, {why});"


def _updates(lists: Sequence[tuple[str, str]], scope: Scope, line: int) -> Iterator[str]:
    why = literal(f"update at line {line}")
    for name, item in lists:
        if name in _FROM and (place := _place(item, scope)):
            yield f"polygpu_update({place}, 1, {why});"
        if name in _TO:
            loops, part = _rows(item)
            if place := _place(part, scope):
                yield f"{loops}polygpu_update({place}, 0, {why});"


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """The names of clauses, and what stands in their parentheses."""
    at = 0
    while found := _CLAUSE.search(text, at):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield found[1], text[found.end() : end - 1]
        at = end


def _items(text: str) -> Iterator[str]:
    """Those of a list, without the modifiers before its colon: `always, tofrom: a[0:n], b`."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == ":" and not depth:
            parts = [""]
        elif c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return (part.strip() for part in parts if part.strip())


def _sections(item: str) -> tuple[str, list[tuple[str, str]]]:
    """`p[2][1:n][0:m]` as `p[2]` and the first subscripts and numbers of `[1:n][0:m]`."""
    groups: list[str] = []
    base = item
    while base.endswith("]"):
        start = _opening(base)
        groups.insert(0, base[start + 1 : -1])
        base = base[:start].rstrip()
    while groups and ":" not in groups[0]:
        base += f"[{groups.pop(0)}]"
    return base, [_bounds(group) for group in groups]


def _opening(text: str) -> int:
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == "]") - (text[at] == "[")
        if not depth:
            return at
    raise NotPlainError("brackets do not match")


def _bounds(group: str) -> tuple[str, str]:
    first, colon, count = group.partition(":")
    return first.strip() or "0", count.strip() if colon else "1"


def _place(item: str, scope: Scope) -> str:
    """`&a[0], bytes`: where it is and how much; 0 bytes for all that is mapped there; "" for no array."""
    base, sections = _sections(item)
    ctype = type_of(scope, expression(base, None))
    root = scope.find(base)
    if isinstance(root, Variable) and root.place == "parameter" and isinstance(ctype, Vector):
        ctype = Pointer(ctype.element)
    if not sections:
        return _whole(base, ctype)
    first, last = base, base
    for number, (start, length) in enumerate(sections):
        if isinstance(ctype, Pointer) and (number or not length):
            return ""  # rows that lie anywhere, or nobody knows how many elements
        ctype = ctype.element if isinstance(ctype, Vector) else getattr(ctype, "target", None)
        count = length or f"sizeof {first} / sizeof *{first} - ({start})"
        first, last = f"{first}[{start}]", f"{last}[({start}) + ({count}) - 1]"
    return f"&{first}, (const char *)(&{last} + 1) - (const char *)&{first}"


def _whole(base: str, ctype: Any) -> str:
    match ctype:
        case Pointer():
            return f"{base}, 0"
        case Vector() | Qualified():
            return f"&{base}, sizeof {base}"
    return ""


def _rows(item: str) -> tuple[str, str]:
    """Loops over the rows of a section, whose elements need not lie together, and that of one of them."""
    base, sections = _sections(item)
    loops = ""
    for number, (start, count) in enumerate(sections[:-1]):
        if not count:
            return "", item
        index = f"polygpu_{number}"
        loops += f"for (long long {index} = 0; {index} < (long long)({count}); {index}++) "
        base += f"[({start}) + {index}]"
    return loops, base + "".join(f"[{start}:{count}]" for start, count in sections[-1:])
