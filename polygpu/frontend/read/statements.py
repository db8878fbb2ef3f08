"""The statements of a region: loops and affine tests become domains, the rest actions of statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import count
from textwrap import shorten
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import iterator_name
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.normal.searches import search
from polygpu.frontend.read import actions, conversions, courses, loops, values, within
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.state import Lost, RawArray, RawStatement, Region, source_text
from polygpu.frontend.read.unsupported import statement_refusal
from polygpu.frontend.shape.affine import invert
from polygpu.frontend.shape.selects import cases, split
from polygpu.frontend.text.counting import as_written
from polygpu.frontend.text.ended import ends
from polygpu.frontend.text.nodes import parts_of
from polygpu.model.expr import Expr, Int, Reference
from polygpu.model.linear import conjuncts
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Action, Assumption, Branch, Conversion, Store, Untaken
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

TRUE: Expr = Int(1)


@dataclass(frozen=True)
class Path:
    """Where a statement stands: the loops and tests around it, and its place among its siblings."""

    iterators: tuple[str, ...] = ()
    loops: tuple[int, ...] = ()
    domain: tuple[Expr, ...] = ()
    prefix: tuple[int | str, ...] = ()
    places: Iterator[int] = field(default_factory=count)

    def within(self, conditions: Iterable[Expr]) -> Path:
        return replace(self, domain=(*self.domain, *conditions))


def walk(reader: Reader, nodes: Iterable[Any], path: Path) -> None:
    """Lifts a block's items in order; declarations are entered in the reader's scope.

    What is wrong with an item is among the region's problems then, and those behind it are read all the same.
    """
    for node in nodes:
        with reader.region.reading(node):
            _item(reader, node, path)


def _item(reader: Reader, node: Any, path: Path) -> None:
    match node:
        case c_ast.Compound():
            walk(reader.child(), node.block_items or (), path)
        case c_ast.For():
            _loop(reader, node, path)
        case c_ast.While() | c_ast.DoWhile() if path.iterators:
            _repeat(reader, node, path, statement_refusal(node, reader.region.at(node)))
        case c_ast.If():
            _test(reader, node, path)
        case c_ast.Pragma():
            actions.pragma(reader, node)
        case c_ast.EmptyStatement():
            pass
        case c_ast.Label() if node.name not in reader.region.jumped_to:
            _item(reader, node.stmt, path)
        case c_ast.DeclList():
            walk(reader, node.decls, path)
        case c_ast.Decl():
            _emit(reader, node, actions.declaration(reader, node), path)
            if isinstance(variable := reader.scope.find(node.name), Variable):
                reader.region.within[variable] = path.loops
        case c_ast.Assignment() | c_ast.UnaryOp() | c_ast.ExprList() | c_ast.Cast() | c_ast.FuncCall():
            _emit(reader, node, actions.effects(reader, node), path)
        case _:
            raise statement_refusal(node, reader.region.at(node))


def header_text(region: Region, node: Any) -> str:
    """The loop's header as written, or as the preprocessor left it."""
    if isinstance(written := as_written(node), c_ast.DoWhile):
        return f"do while ({source_text(written.cond)})"
    source = region.context.source
    position = region.at(node)
    offset = source.offset(position.line, position.column)
    if position.file == source.path and source.text.startswith(("for", "while"), offset):
        end = source.header_end(offset)
        if end is not None and end - offset < 400:
            return " ".join(source.text[offset:end].split())
    parts = [source_text(part) if part is not None else "" for part in (node.init, node.cond, node.next)]
    return f"for ({'; '.join(parts)})"


# What keeps a loop from being one of the nest, but not from being within an instance.
_WITHIN = frozenset({"PG101", "PG103", "PG104"})


class _NoLoopError(Diagnosed):
    """The header of `node` is not that of a loop of the nest."""

    def __init__(self, node: Any, why: Diagnosed) -> None:
        super().__init__(*why.diagnostics)
        self.node = node


@contextmanager
def _header_of(node: Any) -> Iterator[None]:
    try:
        yield
    except _NoLoopError:
        raise
    except Diagnosed as why:
        raise _NoLoopError(node, why) from None


def _loop(reader: Reader, node: c_ast.For, path: Path) -> None:
    """A loop of the nest or, where data bound it or end it, one within an instance of the loops around."""
    if path.iterators and (leaving := within.leaving(node)) is not None:
        return _repeat(reader, node, path, statement_refusal(leaving, reader.region.at(leaving)))
    if not path.iterators and (plain := search(node)) is not None:
        return _search(reader, node, plain, path)
    read, inner = False, reader.child()
    with reader.region.reading(c_ast.For(node.init, node.cond, node.next, None, node.coord)):
        _counted_or_not(inner, node, path)
        read = True
    if not read:
        loops.enter_unclear(inner, node)
        walk(inner.child(), [node.stmt], path)
    return None


def _search(reader: Reader, node: c_ast.For, plain: c_ast.For, path: Path) -> None:
    """A loop that ends where its only statement is first carried out."""
    region = reader.region
    known = len(region.statements)
    _loop(reader, plain, path)
    found = region.statements[known:]
    match [raw.body for raw in found]:
        case [(Branch(_, _, ()),)]:
            region.statements[known:] = [replace(raw, ends=True) for raw in found]
        case _:
            leaving = within.leaving(node)
            raise statement_refusal(leaving, region.at(leaving))


def _counted_or_not(reader: Reader, node: c_ast.For, path: Path) -> None:
    forget = reader.region.saved()
    try:
        _whole_loop(reader.child(), node, path)
    except _NoLoopError as why:
        written = as_written(node)
        if why.node is node and not isinstance(written, c_ast.For) and not path.iterators:
            raise statement_refusal(written, reader.region.at(written)) from None
        if why.node is not node or not path.iterators or why.diagnostics[0].id not in _WITHIN:
            raise
        forget()
        _repeat(reader, node, path, why)


def _repeat(reader: Reader, node: Any, path: Path, why: Diagnosed) -> None:
    start, body = within.loop(reader.child(), node, why)
    _emit(reader, node, start, path)
    _convert_all(reader.region, node, body, path)
    _add(reader.region, node, tuple(body), path)


def _whole_loop(reader: Reader, node: c_ast.For, path: Path) -> None:
    region, text = reader.region, header_text(reader.region, node)
    with _header_of(node):
        counter = _begin(reader, node, path)
        changed = courses.changed(reader, counter, node)
        step = _step(reader, node, counter, changed, outermost=not path.iterators)
    place = next(path.places)

    def iteration() -> loops.Header:
        return _iteration(reader, node, _Begun(counter, step, text, place), path)

    outside = dict(region.values)
    where = text, region.at(node)
    found = courses.courses(reader, counter, step, changed, iteration, where) if changed else {}
    region.values |= {variable: course.entry for variable, course in found.items()}
    header = iteration()
    region.values = outside | courses.after(region, header, found)
    loops.leave(region, counter)
    _keep(reader, node, header, path)


def _begin(reader: Reader, node: c_ast.For, path: Path) -> loops.Counter:
    """Reads what the header of a loop does first; what is not about its iterator are statements before it."""
    name, counter = iterator_name(node), None
    for part in parts_of(node.init):
        if loops.sets(part, name):
            counter = loops.begin(reader, node, part)
        else:
            _item(reader, part, path)
    return counter or loops.begin(reader, node, None)


def _step(
    reader: Reader, node: c_ast.For, counter: loops.Counter, changed: Iterable[Variable], outermost: bool
) -> int:
    """What the header adds to the iterator, whatever the variables are that the loop changes."""
    region = reader.region
    before = dict(region.values)
    for variable in changed:
        region.values[variable] = values.unknown(region, variable)
    loops.enter(reader, counter)
    step = loops.read_step(reader, node, counter.variable, outermost)
    region.values = before
    return step


@dataclass(frozen=True)
class _Begun:
    """A loop whose header is read but for its condition; `place` is the loop's among its siblings."""

    counter: loops.Counter
    step: int
    text: str
    place: int


def _iteration(reader: Reader, node: c_ast.For, begun: _Begun, path: Path) -> loops.Header:
    """Reads one iteration: the condition, the body, and what else the header does behind it."""
    region, counter = reader.region, begun.counter
    loops.enter(reader, counter)
    with _header_of(node):
        header = loops.read_header(reader, node, counter, begun.step, begun.text)
        tests = loops.tests_of(reader, node)
    index = len(region.loops) - 1
    way = counter.name if header.step > 0 else f"-{counter.name}"
    inner = Path(
        (*path.iterators, counter.name),
        (*path.loops, index),
        (*path.domain, *header.domain),
        (*path.prefix, begun.place, way),
    )
    reached = (conversions.Taken(distance, "unsigned int") for distance in header.reached)
    test = as_written(node).cond or node.cond
    for part, where, found in (
        (node.init or node.cond, path, conversions.of_start(region.affine, header)),
        (test, path, conversions.of_first_test(region.affine, header)),
        (test, path, reached),
        (test, inner, conversions.of_tests(region.affine, header)),
        (node.next, inner, conversions.of_step(header)),
    ):
        _convert(region, part, where, found)
    for part, value in tests:
        _convert(region, part, path, [conversions.Taken(value, "unsigned int")])
    walk(reader.child(), [node.stmt], inner)
    for part in parts_of(node.next):
        if loops.steps(part, counter.variable.name):
            loops.step_past(reader, counter, header.step)
        else:
            _item(reader, part, inner)
    return header


def _keep(reader: Reader, node: c_ast.For, header: loops.Header, path: Path) -> None:
    """Stores the value that the iterator has after the loop, if it matters there."""
    region, counter, final = reader.region, header.counter, header.final
    if not isinstance(counter.outside, RawArray):
        return
    if final is None:
        region.values[counter.variable] = Lost(region.at(node))
        return
    name = counter.variable.name
    target = Reference(counter.outside.name, (), counter.type, "", region.site(c_ast.ID(name, node.coord)))
    keep(region, path, Store(target, final), region.at(node), name)
    values.assign(region, counter.variable, final)


def keep(region: Region, path: Path, store: Store, position: Position, name: str) -> None:
    """Adds a statement that the source does not spell out: the variable gets a value that is known."""
    schedule = (*path.prefix, next(path.places))
    text = f"{name} keeps its value"
    region.statements.append(
        RawStatement(path.iterators, path.loops, path.domain, schedule, (store,), position, text)
    )


def _convert(region: Region, node: Any, path: Path, found: Iterable[conversions.Taken]) -> None:
    for taken in found:
        value = region.affine.value(taken.value)
        if value is not None:  # or else it is computed as C does
            domain = (*path.domain, *taken.guards)
            where = source_text(node), region.at(node)
            region.conversions.append(Conversion(path.iterators, domain, value, taken.type, *where))


def _test(reader: Reader, node: c_ast.If, path: Path) -> None:
    """An affine test bounds the domains of its branches, any other stays within a statement."""
    region, test = reader.region, TRUE
    with region.reading(node.cond):
        test = reader.certain(node.cond)
    _convert(region, node.cond, path, conversions.of_if(region.affine, test))
    condition = region.affine.condition(test)
    if condition is not None:
        before = dict(region.values)
        known = len(region.untaken)
        _branch(reader, node, node.iftrue, condition, path, may_leave_out=True)
        yes, region.values = region.values, before
        if node.iffalse is not None:
            either = len(region.untaken) == known
            _branch(reader, node, node.iffalse, invert(condition), path, may_leave_out=either)
        region.values = values.joined(reader, test, yes, region.values)
        return
    then, otherwise = within.branches(reader, node, test)
    for case in cases(reader.region.affine, test):
        inside = path.within(case.conditions)
        if isinstance(case.remaining, bool):
            if body := then if case.remaining else otherwise:
                _convert_all(reader.region, node, body, inside)
                _add(reader.region, node, tuple(body), inside)
        else:
            _emit(reader, node, [Branch(case.remaining, tuple(then), tuple(otherwise))], inside)


def _branch(
    reader: Reader, node: c_ast.If, branch: Any, holds: Expr, path: Path, may_leave_out: bool
) -> None:
    """What is run where an affine test holds.

    A branch within loops that calls what only the host can run is left out, if nothing that the region does
    decides about it: that the test does not hold is tested before the region. One of both sides is taken.
    That may be in no iteration, where the branch ends the program.
    """
    region, inside, names = reader.region, path.within(conjuncts(holds)), scalars_in(holds)
    is_given = bool(names) and names <= region.scalars.keys() - region.iterators
    is_checked = bool(names) and names <= region.scalars.keys() | region.iterators and ends(branch)
    if not (path.iterators and (is_given or is_checked) and may_leave_out):
        return walk(reader.child(), [branch], inside)
    forget, known = region.saved(), len(region.problems)
    found: Sequence[Diagnostic]
    try:
        walk(reader.child(), [branch], inside)
        found = region.problems[known:]
    except Diagnosed as why:  # in a trial
        found = why.diagnostics
        if not _are_calls(found):
            raise
    if not _are_calls(found):
        return None
    forget()
    verb = "not to hold" if branch is node.iftrue else "to hold"
    what = re.sub(r"\b_*assert\w*\(.*\)", "assert", source_text(branch).strip("{ ;}"))
    what = shorten(what, 60, placeholder=" ...")
    reason = f"the test '{source_text(node.cond)}' is taken {verb}: the host alone can run '{what}'"
    test, assumption = holds, Assumption("", holds, Int(1), reason, region.at(node))
    if not is_given:
        test = Int(0)
        assumption = replace(assumption, value=Int(1), iterators=path.iterators, domain=inside.domain)
    region.untaken.append((Untaken(path.loops, test, found[0]), assumption))
    return None


def _are_calls(problems: Sequence[Diagnostic]) -> bool:
    return bool(problems) and all(d.id == "PG130" for d in problems)


def _emit(reader: Reader, node: Any, found: list[Action], path: Path) -> None:
    """One statement for each action, and for each case of affine `?:` that reads memory."""
    region = reader.region
    _convert_all(region, node, found, path)
    for action in found:
        for conditions, body in split(region.affine, action):
            _add(region, node, (body,), path.within(conditions))


def _convert_all(region: Region, node: Any, found: list[Action], path: Path) -> None:
    for action in found:
        _convert(region, node, path, conversions.of_action(region.affine, action))


def _add(region: Region, node: Any, body: tuple[Action, ...], path: Path) -> None:
    schedule = (*path.prefix, next(path.places))
    text = _statement_text(region, node)
    region.statements.append(
        RawStatement(path.iterators, path.loops, path.domain, schedule, body, region.at(node), text)
    )


def _statement_text(region: Region, node: Any) -> str:
    source = region.context.source
    position = region.at(node)
    if position.file == source.path and not isinstance(node, c_ast.Decl):
        start = source.offset(position.line, position.column)
        end = source.statement_end(start)
        if end is not None and end - start < 400:
            return " ".join(source.text[start:end].split())
    text = source_text(node)
    return text if text.endswith(("}", ";")) else f"{text};"
