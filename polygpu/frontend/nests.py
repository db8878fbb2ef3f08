"""Finding regions in a file without pragmas: the maximal affine loop nests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.liveness import Block
from polygpu.frontend.regions import Sequence, functions, inner_sequences
from polygpu.frontend.scops import Extract, lift_region
from polygpu.frontend.spans import nest_span
from polygpu.frontend.state import FileContext
from polygpu.model.scop import Scop
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

Check: TypeAlias = Callable[[Scop], None]


def anything(scop: Scop) -> None:
    """A check that finds nothing wrong."""


@dataclass
class Nests:
    """Grows while the functions of a file are searched. `check` raises Diagnosed for what cannot be one."""

    context: FileContext
    no_alias: bool
    check: Check
    scops: list[Scop] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    reported: set[Position | None] = field(default_factory=set)


def find_nests(context: FileContext, no_alias: bool, check: Check = anything) -> Nests:
    """Lifts what can be lifted; diagnostics name each region and say why other loops are none."""
    found = Nests(context, no_alias, check)
    elsewhere: dict[str, Position] = {}
    for sequence in functions(context):
        position = context.at(sequence.function)
        if position.file == context.source.path:
            _search(found, sequence)
        elif _has_loop(sequence.node):
            elsewhere.setdefault(position.file, position)
    for file, position in elsewhere.items():
        message = f"loops in the included file '{file}' are not considered"
        found.diagnostics.append(Diagnostic("PG182", "note", message, position))
    return found


def _has_loop(node: Any) -> bool:
    return isinstance(node, c_ast.For) or any(_has_loop(child) for _, child in node.children())


def _search(found: Nests, sequence: Sequence) -> None:
    scope = sequence.scope
    index = 0
    while index < len(sequence.items):
        end = _run_end(sequence.items, index)
        if end > index:
            _run(found, sequence, index, end)
            index = end
            continue
        item = sequence.items[index]
        for inner in inner_sequences(sequence, item, scope):
            _search(found, inner)
        scope.declare(item, "local")
        index += 1


def _run_end(items: tuple[Any, ...], start: int) -> int:
    """The end of a run of loops (with pragmas between) that starts here; `start` where there is none."""
    end = start
    for index in range(start, len(items)):
        if isinstance(items[index], c_ast.For):
            end = index + 1
        elif not isinstance(items[index], c_ast.Pragma | c_ast.EmptyStatement):
            break
    return end


def _run(found: Nests, sequence: Sequence, start: int, end: int) -> None:
    """Takes the loops of a run, as few regions as possible."""
    good: list[int] = []
    for index in range(start, end):
        if not isinstance(sequence.items[index], c_ast.For):
            continue
        problem = _problem(found, sequence, start, index, index)
        if problem is None:
            good.append(index)
            continue
        _take(found, sequence, start, good)
        good = []
        _refuse(found, sequence.items[index], problem)
        for inner in inner_sequences(sequence, sequence.items[index], sequence.scope):
            _search(found, inner)
    _take(found, sequence, start, good)


def _take(found: Nests, sequence: Sequence, start: int, good: list[int]) -> None:
    """Makes one region of the loops if that can be lifted, else of as many as can, and so on."""
    while good:
        size = len(good)
        while size > 1 and _problem(found, sequence, start, good[0], good[size - 1]) is not None:
            size -= 1
        name = sequence.function.decl.name
        scop = replace(
            _lift(found, sequence, start, good[0], good[size - 1]),
            name=f"polygpu_{name}_{found.counts[name]}",
        )
        found.counts[name] += 1
        found.scops.append(scop)
        found.diagnostics.append(_named(found, scop))
        good = good[size:]


def _named(found: Nests, scop: Scop) -> Diagnostic:
    first, _ = found.context.source.place(scop.start)
    last, _ = found.context.source.place(max(scop.start, scop.end - 1))
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return Diagnostic("PG180", "note", f"region {scop.name}: {lines}", scop.position, length=3)


def _problem(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> Diagnostic | None:
    """Why these loops cannot be one region."""
    try:
        scop = _lift(found, sequence, start, first, last)
        if scop.statements:
            found.check(scop)
            return None
    except Diagnosed as problem:
        return problem.diagnostics[0]
    position = found.context.at(sequence.items[first])
    return Diagnostic("PG112", "error", "the loop does nothing", position, "remove it", length=3)


def _lift(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> Scop:
    items = sequence.items[first : last + 1]
    leading = sequence.items[first - 1] if first > start else None
    span = nest_span(
        found.context, leading if isinstance(leading, c_ast.Pragma) else None, items[0], items[-1]
    )
    alone = isinstance(sequence.node, c_ast.For)
    block = Block(sequence.node, 0, 0) if alone else Block(sequence.node, first, last + 1)
    position = found.context.at(items[0])
    extract = Extract(sequence.function, sequence.scope.copy(), block, items, position)
    return lift_region(found.context, extract, "", span, found.no_alias)


def _refuse(found: Nests, loop: Any, problem: Diagnostic) -> None:
    """Warns about a loop that is not offloaded; a reason is given once, for the outermost loop."""
    if problem.position in found.reported:
        return
    found.reported.add(problem.position)
    found.diagnostics.append(not_offloaded(problem, found.context.at(loop)))


def not_offloaded(problem: Diagnostic, loop: Position | None) -> Diagnostic:
    """The warning that a loop stays on the host."""
    why = replace(problem, severity="note", help="", notes=())
    message = "this loop is not offloaded"
    return Diagnostic("PG181", "warning", message, loop, problem.help, (why, *problem.notes), 3)
