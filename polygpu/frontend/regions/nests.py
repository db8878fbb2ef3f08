"""Finding regions in a file without pragmas: the maximal affine loop nests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.liveness import Block
from polygpu.frontend.options import Vetoed
from polygpu.frontend.read import openmp
from polygpu.frontend.read.directives import parsed
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import statement_refusal
from polygpu.frontend.regions.find import Sequence, functions, inner_sequences, name_of_regions
from polygpu.frontend.regions.rows import sees_rows_otherwise
from polygpu.frontend.regions.scops import Extract, lift_region
from polygpu.frontend.regions.spans import nest_span, threads_by_macro
from polygpu.frontend.regions.teams import shared_loop, team_of
from polygpu.frontend.text.nodes import nodes
from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

MOST_REASONS = 5  # for a loop to stay on the host


Run: TypeAlias = tuple[int, int]  # the identities of its first and last loop


@dataclass
class Nests:
    """Grows while the functions of a file are searched. `lifted` may be of an earlier search of the tree."""

    context: FileContext
    no_alias: bool
    vetoed: Vetoed
    lifted: dict[Run, Scop | Diagnosed]
    scops: list[Scop] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    reported: frozenset[Position | None] = frozenset()  # reasons why the loops around are not offloaded


def find_nests(
    context: FileContext, no_alias: bool, vetoed: Vetoed, lifted: dict[Run, Scop | Diagnosed]
) -> Nests:
    """Lifts what can be lifted; diagnostics name each region and say why other loops are none."""
    found = Nests(context, no_alias, vetoed, lifted)
    elsewhere: dict[str, Position] = {}
    threaded = openmp.called_by_threads(context.root)
    for sequence in functions(context):
        position = context.at(sequence.function)
        if position.file == context.source.path:
            _search(found, replace(sequence, threads=threaded.get(sequence.function.decl.name)))
        elif any(isinstance(node, c_ast.For) for node in nodes(sequence.node)):
            elsewhere.setdefault(position.file, position)
    for file, position in elsewhere.items():
        message = f"loops in the included file '{file}' are not considered"
        found.diagnostics.append(Diagnostic("PG182", "note", message, position))
    return found


def _search(found: Nests, sequence: Sequence) -> None:
    scope = sequence.scope
    index = 0
    while index < len(sequence.items):
        end = _run_end(sequence.items, index)
        if end > index:
            _run(found, sequence, index, end)
            index = end
            continue
        item, around = sequence.items[index], found.reported
        if isinstance(item, c_ast.While | c_ast.DoWhile) and any(map(_accesses_arrays, item)):
            _refuse(found, item, statement_refusal(item, found.context.at(item)).diagnostics)
        _search_within(found, sequence, index)
        found.reported = around
        scope.declare(item, "local")
        index += 1


def _accesses_arrays(node: Any) -> bool:
    """Whether statements access arrays, other than in loops of their own."""
    match node:
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
            return True
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            return False
    return any(map(_accesses_arrays, node))


def _search_within(found: Nests, sequence: Sequence, index: int) -> None:
    item, entered = sequence.items[index], openmp.entered(sequence.items, index)
    if entered is not None:
        team = None if sequence.threads else team_of(entered, item, found.context.root)
        sequence = replace(sequence, threads=entered, team=team)
    for inner in inner_sequences(sequence, item, sequence.scope):
        _search(found, inner)


def _run_end(items: tuple[Any, ...], start: int) -> int:
    """The end of a run of loops (with pragmas of theirs between) that starts here; `start` for none."""
    end = start
    for index in range(start, len(items)):
        if _is_nest(items, index):
            end = index + 1
        elif not (isinstance(items[index], c_ast.EmptyStatement) or _is_leading(items[index])):
            break
    return end


def _is_nest(items: tuple[Any, ...], index: int) -> bool:
    """A loop, or the block of a construct with loops in it."""
    if openmp.is_block(items, index):
        return any(isinstance(node, c_ast.For) for node in nodes(items[index]))
    return isinstance(items[index], c_ast.For)


def _is_leading(item: Any) -> bool:
    return isinstance(item, c_ast.Pragma) and openmp.belongs(item)


def _run(found: Nests, sequence: Sequence, start: int, end: int) -> None:
    """Takes the loops of a run, as few regions as possible."""
    good: list[int] = []
    for index in range(start, end):
        if not _is_nest(sequence.items, index):
            continue
        threads = _threads(sequence, index)
        problems = () if threads else _problems(found, sequence, start, index, index)
        if not threads and not problems:
            good.append(index)
            continue
        _take(found, sequence, start, good)
        good = []
        _leave(found, sequence, index, threads, problems)
    _take(found, sequence, start, good)


def _leave(
    found: Nests, sequence: Sequence, index: int, threads: Any, problems: tuple[Diagnostic, ...]
) -> None:
    """Searches what is no region: a loop that `threads` run, or one with `problems`, or a construct."""
    item, count = sequence.items[index], len(found.scops)
    if openmp.is_block(sequence.items, index):
        if team_of(openmp.entered(sequence.items, index), item, found.context.root) is not None:
            _search_within(found, sequence, index)
        if len(found.scops) == count:
            _refuse(found, item, problems)
    elif problems:
        around = found.reported
        _refuse(found, item, problems)
        hidden = threads_by_macro(found.context, item)
        inner = next((n for n in nodes(item) if isinstance(n, c_ast.For) and n is not item), None)
        if hidden is None:
            _search_within(found, sequence, index)
        elif inner is not None:
            _refuse(found, inner, hidden.diagnostics)
        found.reported = around
    else:
        if sequence.team is not None:
            _search_within(found, sequence, index)
        if len(found.scops) == count:
            _leave_to_threads(found, item, threads)


def _threads(sequence: Sequence, index: int) -> Any:
    """The pragma that has several threads run a loop each in its own way; None where one may do it."""
    if sequence.team is not None and shared_loop(sequence.items, index):
        return None
    return sequence.threads or openmp.refusing(sequence.items, index)


def _take(found: Nests, sequence: Sequence, start: int, good: list[int]) -> None:
    """Makes one region of the loops if that can be lifted, else of as many as can, and so on."""
    while good:
        size = len(good)
        while size > 1 and not _fit(found, sequence, start, good[0], good[size - 1]):
            size -= 1
        name = name_of_regions(found.context, sequence.function)
        scop = replace(
            _lift(found, sequence, start, good[0], good[size - 1]), name=f"{name}_{found.counts[name]}"
        )
        found.counts[name] += 1
        found.scops.append(scop)
        found.diagnostics.append(_named(found, scop))
        good = good[size:]


def _fit(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> bool:
    """Whether loops are one region rather than several."""
    if _problems(found, sequence, start, first, last):
        return False
    return not sees_rows_otherwise(_lift(found, sequence, start, first, last))


def _named(found: Nests, scop: Scop) -> Diagnostic:
    first, _ = found.context.source.place(scop.start)
    last, _ = found.context.source.place(max(scop.start, scop.end - 1))
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return Diagnostic("PG180", "note", f"region {scop.name}: {lines}", scop.position, length=3)


def _problems(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> tuple[Diagnostic, ...]:
    """Why these loops cannot be one region."""
    try:
        scop = _lift(found, sequence, start, first, last)
        if scop.statements:
            veto = found.vetoed.get((scop.start, scop.end))
            return () if veto is None else (veto,)
    except Diagnosed as problem:
        return problem.diagnostics
    position = found.context.at(sequence.items[first])
    return (Diagnostic("PG112", "error", "the loop does nothing", position, "remove it", length=3),)


def _lift(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> Scop:
    key = id(sequence.items[first]), id(sequence.items[last])
    if key not in found.lifted:
        try:
            found.lifted[key] = _lifted(found, sequence, start, first, last)
        except Diagnosed as problem:
            found.lifted[key] = problem
    result = found.lifted[key]
    if isinstance(result, Diagnosed):
        raise result
    return result


def _lifted(found: Nests, sequence: Sequence, start: int, first: int, last: int) -> Scop:
    leading = first
    while leading > start and isinstance(sequence.items[leading - 1], c_ast.Pragma):
        leading -= 1
    items = sequence.items[leading : last + 1]
    pragma = items[0] if leading < first else None
    span, apart = nest_span(found.context, pragma, sequence.items[first], items[-1])
    alone = isinstance(sequence.node, c_ast.For)
    block = Block(sequence.node, 0, 0) if alone else Block(sequence.node, first, last + 1)
    position = found.context.at(sequence.items[first])
    extract = Extract(sequence.function, sequence.scope.copy(), block, items, position)
    scop = lift_region(found.context, extract, "", span, found.no_alias, sequence.team)
    return replace(scop, pragmas=(apart,)) if apart else scop


def _refuse(found: Nests, loop: Any, problems: Iterable[Diagnostic]) -> None:
    """Warns about a loop that is not offloaded; a reason is given once, for the outermost loop
    around it: other loops that meet it, as by calls of the same function, are named too.
    """
    new = [problem for problem in problems if problem.position not in found.reported]
    if not new:
        return
    found.reported |= {problem.position for problem in new}
    what = "loop" if isinstance(loop, c_ast.For | c_ast.While | c_ast.DoWhile) else "construct"
    length = {"While": 5, "DoWhile": 2}.get(type(loop).__name__, 3)
    warning = not_offloaded(new[0], found.context.at(loop), what, length)
    found.diagnostics.append(replace(warning, notes=(*warning.notes, *_others(new))))


def _others(problems: list[Diagnostic]) -> Iterator[Diagnostic]:
    """All reasons but the first, each kind once and in a line."""
    kinds: dict[str, Diagnostic] = {}
    for problem in problems:
        kinds.setdefault(problem.message, problem)
    _, *others = kinds.values()
    for problem in others[: MOST_REASONS - 1]:
        yield replace(problem, severity="note", help="", notes=(), length=0)
    if more := len(others[MOST_REASONS - 1 :]):
        yield Diagnostic("", "note", f"and {more} more", others[-1].position, length=0)


def _leave_to_threads(found: Nests, loop: Any, pragma: Any) -> None:
    """Warns about a loop in an OpenMP construct, or in a function that is called in one."""
    model = "OpenACC" if parsed(pragma).model == "acc" else "OpenMP"
    message = f"threads of {model} may run this loop: a region is run by one thread alone"
    help_text = f"move the loop, or the call of its function, out of the {model} construct"
    problem = Diagnostic("PG116", "error", message, found.context.at(pragma), help_text)
    found.diagnostics.append(not_offloaded(problem, found.context.at(loop)))


def not_offloaded(
    problem: Diagnostic, loop: Position | None, what: str = "loop", length: int = 3
) -> Diagnostic:
    """The warning that a loop or another construct stays on the host; `length` is its keyword's."""
    why = replace(problem, severity="note", help="", notes=())
    message = f"this {what} is not offloaded"
    return Diagnostic("PG181", "warning", message, loop, problem.help, (why, *problem.notes), length)
