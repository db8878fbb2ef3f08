"""What OpenMP and OpenACC promise of the loops of a region, and which of their constructs no region can be.

A team of one thread is a team: what it computes is what the C program computes that ignores the pragmas. So a
construct is a region like any other code, if no statement of it counts the threads of the team.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names, iterator_name, mentions
from polygpu.frontend.read.directives import Directive, parsed
from polygpu.frontend.read.openmp import ONE, SHARED, makes_threads, pragmas_before
from polygpu.frontend.text.nodes import nodes, remembered
from polygpu.support.dataclass import dataclass

# Threads come to these one after the other: what they do depends on what others did.
_COPYING = ("private", "firstprivate", "lastprivate", "linear", "reduction", "in_reduction")
_IN_TURN = ("critical", "atomic", "ordered")


@dataclass(frozen=True)
class Promise:
    """Of a loop: its iterations are `independent`, but for variables in `copied`, of which each thread has a
    copy of its own; those in `reassociates` are reductions that may be computed in another order,
    of arrays as far as `sections` say.
    """

    independent: bool = False
    reassociates: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()
    sections: frozenset[tuple[str, str]] = frozenset()


NOTHING = Promise()


def promises(root: Any, items: Sequence[Any]) -> dict[int, Promise]:
    """By the identity of the nodes of loops; `root` is the file's."""
    found: dict[int, Promise] = {}
    in_turn: frozenset[str] | None = None
    for statement, directives, outer in _constructs(items):
        if not isinstance(statement, c_ast.For):
            continue
        independent = any(map(_promises, directives))
        if independent and in_turn is None:
            in_turn = _functions_in_turn(root)
        independent = independent and not _takes_turns(statement, in_turn or frozenset())
        reassociates = frozenset(name for d in directives for name in d.listed("reduction"))
        sections = [found for d in directives for found in d.sections("reduction")]
        count = max(d.collapsed for d in directives)
        for loop in _collapsed(statement, count):
            found[id(loop)] = Promise(
                independent, reassociates, _copied((*directives, *outer), root), frozenset(sections)
            )
    return found


def _copied(directives: Sequence[Directive], root: Any) -> frozenset[str]:
    """The variables of which the threads of constructs have copies."""
    pragmas = (node for node in root.ext if isinstance(node, c_ast.Pragma))
    kept = (d for d in map(parsed, pragmas) if d.has("threadprivate"))
    names = (name for d in directives for name in d.listed(*_COPYING))
    return frozenset(names) | frozenset(text for d in kept for text, _ in d.clauses)


def replicated(items: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    """(statement, "omp" or "acc") of what each thread of a team does and one alone does not do."""
    for statement, directives, _ in _constructs(items):
        for d in directives:
            if d.has("parallel", "teams") and not d.has(*SHARED):
                inner = directives[: directives.index(d)]
                own = d.listed("private", "firstprivate")
                if not any(other.words[0] in (*SHARED, *ONE) for other in inner):
                    yield from ((found, d.model) for found in _counting([statement], own))


def kept_apart(items: Sequence[Any]) -> Iterator[tuple[str, Any, bool]]:
    """(name, statement, whether the rest of `items` mentions it) of variables of which each thread has a copy
    of its own and that the statement assigns: the value that they have behind it is not the C program's.
    """
    private: dict[str, list[Any]] = {}
    for statement, directives, _ in _constructs(items):
        for name in frozenset(n for d in directives for n in d.listed("private", "firstprivate")):
            private.setdefault(name, []).append(statement)
    for name, statements in private.items():
        changing = next((s for s in statements if name in assigned_names(s)), None)
        if changing is not None:
            yield name, changing, _used_outside(items, name, statements)


def _constructs(
    items: Sequence[Any], outer: tuple[Directive, ...] = ()
) -> Iterator[tuple[Any, list[Directive], tuple[Directive, ...]]]:
    """The statements with directives before them, which come innermost first, and those around them."""
    for index, item in enumerate(items):
        if not isinstance(item, c_ast.Pragma):
            found = [d for d in map(parsed, pragmas_before(items, index)) if d.model]
            if found:
                yield item, found, outer
            yield from _constructs(list(item), (*outer, *found))


def _promises(d: Directive) -> bool:
    """Whether the iterations of the loop behind a directive may run in any order, and at once."""
    if d.model == "acc":
        implied = d.words[0] == "parallel" or any(True for _ in d.clause("independent"))
        return d.has("loop") and implied and not any(name in ("seq", "auto") for name, _ in d.clauses)
    return d.has(*SHARED) and not d.has("ordered")


def _takes_turns(tree: Any, functions: frozenset[str]) -> bool:
    for node in nodes(tree):
        if isinstance(node, c_ast.Pragma) and parsed(node).words[:1] and parsed(node).words[0] in _IN_TURN:
            return True
        if isinstance(node, c_ast.ID) and node.name in functions:
            return True
    return False


@remembered
def _functions_in_turn(root: Any) -> frozenset[str]:
    """The functions of a file in which threads wait for each other, or that call one."""
    bodies = {node.decl.name: node.body for node in root.ext if isinstance(node, c_ast.FuncDef)}
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, body in bodies.items() if _takes_turns(body, found))
        if more <= found:
            return found
        found |= more


def _collapsed(loop: Any, count: int) -> Iterator[Any]:
    while isinstance(loop, c_ast.For) and count > 0:
        yield loop
        count += getattr(loop, "loops", 0)  # of which the source has one
        loop, count = loop.stmt, count - 1
        if isinstance(loop, c_ast.Compound):
            inner = [item for item in loop.block_items or () if not isinstance(item, c_ast.Pragma)]
            loop = inner[0] if len(inner) == 1 else None


def _counting(items: Sequence[Any], own: frozenset[str]) -> Iterator[Any]:
    """The statements of a team whose effect is another one with more threads. Of variables in `own` each
    thread has one of its own.
    """
    for index, item in enumerate(items):
        if isinstance(item, c_ast.Pragma):
            continue
        threaded = [parsed(p) for p in pragmas_before(items, index) if makes_threads(p)]
        if threaded:
            outermost = threaded[-1]
            if outermost.words[0] not in (*SHARED, *ONE) or outermost.has("taskloop"):
                yield item
        else:
            yield from _by_each(item, own)
        if isinstance(item, c_ast.Decl) and item.name:
            own |= {item.name}


def _by_each(item: Any, own: frozenset[str]) -> Iterator[Any]:
    match item:
        case c_ast.Compound():
            yield from _counting(item.block_items or (), own)
        case c_ast.If():
            yield from _counting([s for s in (item.iftrue, item.iffalse) if s is not None], own)
        case c_ast.For() if isinstance(item.init, c_ast.DeclList) or iterator_name(item) in own:
            yield from _counting([item.stmt], own | {iterator_name(item)})
        case c_ast.Decl() | c_ast.EmptyStatement():
            pass
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)) if name in own:
            pass
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--", expr=c_ast.ID(name=name)) if name in own:
            pass
        case _:
            yield item


def _used_outside(items: Sequence[Any], name: str, statements: Sequence[Any]) -> bool:
    """Whether the variable is mentioned in `items` but for what is part of one of the statements."""
    for item in items:
        if any(item is statement for statement in statements):
            continue
        within = any(node is statement for node in nodes(item) for statement in statements)
        if _used_outside(list(item), name, statements) if within else mentions(item, name):
            return True
    return False
