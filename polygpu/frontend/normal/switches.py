"""`switch` as a chain of `if`s.

switch (e) { case 1: A; break; case 2: case 3: B; default: C; }
->   if (e == 1) { A } else if (e == 2 || e == 3) { B; C } else { C }
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.jumps import Structured, UnstructuredError, breaks_out
from polygpu.frontend.normal.trees import Names, block, has_effects, integer, statements, used_names
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import Int


def without_switch(items: list[Any], scope: Scope, names: Names) -> list[Any]:
    """The statements of a block, with `if`s for each `switch` that is one of them where that can be."""
    return [part for item in items for part in _of_item(item, scope, names)]


def _of_item(item: Any, scope: Scope, names: Names) -> list[Any]:
    cases = statements(item.stmt) if isinstance(item, c_ast.Switch) else []
    if not cases or not all(map(_is_case, cases)):
        return [item]
    if not all(_is_plain(case, cases[k + 1 :], scope) for k, case in enumerate(cases)):
        return [item]
    value, before = item.cond, list[Any]()
    if has_effects(value):
        before = [integer(names.fresh("value"), value)]
        value = c_ast.ID(before[0].name, value.coord)
    try:
        return [*before, *_chain(item, value, cases, names)]
    except UnstructuredError:
        return [item]


def _is_case(node: Any) -> bool:
    return isinstance(node, c_ast.Case | c_ast.Default)


def _is_plain(case: Any, later: list[Any], scope: Scope) -> bool:
    """Whether its label is an int, no other label is within, and later cases use nothing that it declares.

    An int is the same in any type that it is compared in, where C would convert the label.
    """
    for item in case.stmts or ():
        if any(map(_is_case, nodes(item))):
            return False
        if isinstance(item, c_ast.Decl) and any(item.name in used_names(other) for other in later):
            return False
    return isinstance(case, c_ast.Default) or _is_int(case.expr, scope)


def _is_int(label: Any, scope: Scope) -> bool:
    found = scope.constant(label)
    return found is not None and isinstance(found.expr, Int)


def _chain(switch: Any, value: Any, cases: list[Any], names: Names) -> list[Any]:
    structured = Structured(_end, breaks_out, names)
    branches: list[tuple[list[Any], list[Any]]] = []  # the labels of a case, None for `default`; what it runs
    labels: list[Any] = []
    for index, case in enumerate(cases):
        labels.append(None if isinstance(case, c_ast.Default) else case.expr)
        if case.stmts or index == len(cases) - 1:
            following = [item for other in cases[index:] for item in other.stmts or ()]
            branches.append((labels, structured.of(following)))
            labels = []
    found = next((body for labels, body in branches if None in labels), [])
    for labels, body in reversed([branch for branch in branches if None not in branch[0]]):
        tests = [c_ast.BinaryOp("==", value, label, value.coord) for label in labels]
        test = reduce(lambda a, b: c_ast.BinaryOp("||", a, b, a.coord), tests)
        other = block(found, switch.coord) if found else None
        found = [c_ast.If(test, block(body, switch.coord), other, switch.coord)]
    return found


def _end(node: Any) -> list[Any] | None:
    return [] if isinstance(node, c_ast.Break) else None
