"""Which loops of the host keep arrays on the device, and what the host file says there.

A loop that runs regions several times opens a scope: `polygpu_keep();` before and `polygpu_release(why);`
behind. All that the host does within, in functions of the file that it calls there too, must be plain to see.
Before a statement that may touch an element, the host file says so; around one that may do anything, the
scope is paused. Functions that run regions have such calls whoever calls them: idle where no scope is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope, function_scope
from polygpu.frontend.options import HostScope, Kept
from polygpu.frontend.read import openmp
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.residency import data
from polygpu.frontend.residency.effects import Program
from polygpu.frontend.residency.parts import exported, is_part, maps_data, outside
from polygpu.frontend.residency.repeats import repeats
from polygpu.frontend.residency.text import NotPlainError, Statement, Text
from polygpu.frontend.residency.walk import LOOPS, Inserted, Walk, called, leaves, literal, parts
from polygpu.frontend.text.nodes import nodes
from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass


def kept(context: FileContext, regions: Sequence[Scop]) -> Kept:
    """What the host file says where these regions of a file run on the device."""
    program = Program(context, tuple(regions), part=is_part(context))
    return _Planner(program, Text(context.expansion)).plan()


def may_keep(context: FileContext, regions: Sequence[Scop]) -> bool:
    """Whether there is a loop that may run regions and is none, a pragma about data, or another file."""
    if is_part(context):
        return True
    program, running = Program(context, tuple(regions)), _running(context.root, {r.function for r in regions})
    bodies = [f.body for f in context.root.ext if isinstance(f, c_ast.FuncDef) and f.decl.name in running]
    parts = [node for body in bodies for node in nodes(body)]
    loops = (node for node in parts if isinstance(node, LOOPS) and program.region(node) is None)
    return any(
        isinstance(node, c_ast.Pragma) and openmp.keeps_data([node, node], 1) for node in parts
    ) or any(
        called(loop) & running or any(program.region(n) for n in nodes(loop) if isinstance(n, LOOPS))
        for loop in loops
    )


@dataclass(frozen=True)
class _Placed:
    """A statement of a block, the pragma that has threads of OpenMP run it, and the scope before it."""

    statement: Statement
    pragma: Any
    scope: Scope
    asked: bool = False  # a pragma asks that data stay on the device

    @property
    def node(self) -> Any:
        return self.statement.nodes[0]


@dataclass
class _Planner:
    program: Program
    text: Text
    opened: list[Walk] = field(default_factory=list)
    functions: dict[str, Walk | None] = field(default_factory=dict)  # None: not looked after
    running: set[str] = field(default_factory=set)
    runs: dict[int, bool] = field(default_factory=dict)  # by the identity of nodes

    def __post_init__(self) -> None:
        self.program.reached = self.reached

    def plan(self) -> Kept:
        context, part = self.program.context, self.program.part
        threaded = openmp.called_by_threads(context.root)
        regions = {scop.function for scop in self.program.regions}
        self.running = _running(context.root, regions | outside(context) if part else regions)
        for function in context.root.ext:
            if not isinstance(function, c_ast.FuncDef) or function.decl.name in threaded:
                continue
            mine = function.decl.name in self.running and context.at(function).file == context.source.path
            if mine and not _jumps_about(function):
                self._search(function)
        others = [f.decl.name for f in exported(context) if f.decl.name not in threaded and self.reached(f)]
        others = others if part else []
        said = list(self._mapped(threaded)) if maps_data(context) else []
        main = ["main"] if said and self.functions.get("main") is not None else []
        return self._placed(self._needed([*others, *main]), said, others) or Kept()

    def _mapped(self, threaded: Container[str]) -> Iterator[Inserted]:
        """What pragmas map. The host may touch all of it in functions that nobody looks after."""
        context = self.program.context
        mine = [f for f in context.root.ext if isinstance(f, c_ast.FuncDef)]
        mine = [f for f in mine if context.at(f).file == context.source.path]
        for function in (f for f in mine if f.decl.name == "main"):
            self.reached(function)
        for function in mine:
            yield from data.said(context, self.text, function)
            if function.decl.name in threaded or self.functions.get(function.decl.name, self) is None:
                yield from self._everything(function)

    def _everything(self, function: Any) -> Iterator[Inserted]:
        effects = self.program.effects(function.body, function_scope(function, self.program.context.scope))
        if effects.touches or effects.hidden or effects.runs:
            start = self.text.behind(self.text.of(function.body) + 1)
            yield Inserted(start, True, start, f" polygpu_host_writes(0, 0, {literal(function.decl.name)});")

    def _needed(self, exported: Iterable[str]) -> list[Walk]:
        """The walks of loops that open scopes, of functions for other files, and of those called there."""
        others = (self.functions[name] for name in exported)
        return self._with_called([*self.opened, *(walk for walk in others if walk is not None)])

    def _with_called(self, walks: Iterable[Walk]) -> list[Walk]:
        needed = list(walks)
        names = {str(walk.function.decl.name) for walk in needed if not walk.opener}
        for walk in needed:
            for name in set().union(*map(called, walk.within)) - names:
                names.add(name)
                if (found := self.functions.get(name)) is not None:
                    needed.append(found)
        return needed

    def _search(self, function: Any) -> None:
        """Opens scopes at loops of a function, the outermost that can be."""
        scope = function_scope(function, self.program.context.scope)
        try:
            self._search_block(function, function.body, self.text.of(function.body), scope.child())
        except NotPlainError:
            return

    def _search_block(self, function: Any, block: Any, brace: int, scope: Scope) -> None:
        """Opens a scope for each run of plain statements with a loop of regions, or else within."""
        items = tuple(block.block_items or ())
        run: list[_Placed] = []
        for statement in self.text.statements(items, brace):
            node, before = statement.nodes[0], scope.copy()
            pragma = openmp.entered(items, items.index(node))
            asked = openmp.keeps_data(items, items.index(node))
            for declared in statement.nodes:
                scope.declare(declared, "local")
            if self._is_plain(function, statement, pragma, before.copy()):
                run.append(_Placed(statement, pragma, before, asked))
                continue
            self._open(function, run)
            run = []
            if pragma is None and self.program.region(node) is None:
                self._search_within(function, node, statement, before)
        self._open(function, run)

    def _search_within(self, function: Any, node: Any, statement: Statement, scope: Scope) -> None:
        if not isinstance(node, LOOPS | c_ast.If | c_ast.Compound) or not self._runs(node, scope):
            return
        inner = scope.child()
        for declared in node.init.decls if isinstance(getattr(node, "init", None), c_ast.DeclList) else ():
            inner.declare(declared, "local")
        for part, start in parts(self.text, node, statement.start):
            if isinstance(part, c_ast.Compound):
                self._search_block(function, part, start, inner.child())
                continue
            one = Statement(start, self.text.end(start), (part,))
            if not self._is_plain(function, one, None, inner.copy()):
                self._search_within(function, part, one, inner.child())
            elif self._is_loop(part, inner):
                self._open(function, [_Placed(one, None, inner)], " {", " }")

    def _runs(self, node: Any, scope: Scope) -> bool:
        """Whether regions may run in a node, whose names mean what they mean there in `scope`."""
        if id(node) not in self.runs:
            self.runs[id(node)] = self.program.effects(node, scope.copy()).may_run
        return self.runs[id(node)]

    def _is_loop(self, node: Any, scope: Scope) -> bool:
        """Whether it is a loop that runs regions, and none itself."""
        return isinstance(node, LOOPS) and self.program.region(node) is None and self._runs(node, scope)

    def _is_plain(self, function: Any, statement: Statement, pragma: Any, scope: Scope) -> bool:
        walk = Walk(self.program, self.text, function, opener=True, within=statement.nodes)
        try:
            walk.check_literals()
            walk.run(statement, pragma, scope)
        except NotPlainError:
            return False
        return not any(leaves(node, returns=False) for node in statement.nodes)

    def _open(self, function: Any, run: Sequence[_Placed], before: str = "", behind: str = "") -> None:
        """Opens a scope from the first to the last statement that run regions, if something asks for it."""
        if not any(placed.asked or self._is_loop(placed.node, placed.scope) for placed in run):
            return
        running = [k for k, p in enumerate(run) if any(self._runs(n, p.scope) for n in p.statement.nodes)]
        if not running:
            return
        kept = run[running[0] : running[-1] + 1]
        first, last = kept[0], kept[-1]
        parts = tuple(node for placed in kept for node in placed.statement.nodes)
        walk = Walk(self.program, self.text, function, opener=True, within=parts)
        for placed in kept:
            walk.run(placed.statement, placed.pragma, placed.scope.copy())
        what = "loop" if isinstance(last.node, LOOPS) else "statement"
        why = literal(f"the {what} at line {self.program.context.at(last.node).line} ends")
        start, end = first.statement.start, last.statement.end
        walk.begin(start, end, f"{before} polygpu_keep();")
        walk.end(start, end, f" polygpu_release({why});{behind}")
        self.opened.append(walk)

    def reached(self, function: Any) -> bool:
        """Whether all that a function does to arrays between its regions is looked after, from now on."""
        name = str(function.decl.name)
        if name not in self.functions:
            self.functions[name] = None
            walk = Walk(self.program, self.text, function, opener=False, within=(function,))
            context = self.program.context
            if context.at(function).file != context.source.path or _jumps_about(function):
                return False
            try:
                scope = function_scope(function, context.scope)
                walk.check_parameters(scope)
                walk.check_literals()
                walk.block(function.body, self.text.of(function.body), scope.child())
            except NotPlainError:
                return False
            self.functions[name] = walk
        return self.functions[name] is not None

    def _placed(
        self, walks: Sequence[Walk], said: Sequence[Inserted], exported: Iterable[str]
    ) -> Kept | None:
        """The texts at offsets of the source; None where one of them is not certain."""
        if not walks and not said:
            return None
        inserted = _merged([*(walk.inserted for walk in walks), said])
        marks = self.text.expansion.gaps
        found: dict[int, str] = {}
        for item in inserted:
            places = marks.get(item.place, ())
            if not places:
                return None
            offset = min(places)
            for scop in self.program.regions:
                offset = scop.end if scop.start < offset < scop.end else offset
            found[offset] = found.get(offset, "") + item.text
        regions = frozenset(name for walk in walks for name in walk.regions)
        return Kept(tuple(sorted(found.items())), regions, tuple(self._scopes()), tuple(sorted(exported)))

    def _scopes(self) -> Iterator[HostScope]:
        """Those whose arrays cross the bus once, and the calls of their regions."""
        for opened in self.opened:
            walks = self._with_called([opened])
            if not any(walk.disturbed for walk in walks):
                unknown, times = max(repeats(node, self._reaches) for node in opened.within)
                yield HostScope(frozenset(name for walk in walks for name in walk.regions), times, unknown)

    def _reaches(self, node: Any) -> bool:
        """Whether it is none of a region, and one runs within."""
        region = self.program.region
        within = any(region(n) is not None for n in nodes(node) if isinstance(n, LOOPS))
        return region(node) is None and (within or bool(called(node) & self.running))


def _merged(walks: Iterable[Sequence[Inserted]]) -> list[Inserted]:
    """What walks say, in order, once where several come to a statement.

    One may say the same twice, as with braces.
    """
    found: dict[tuple[Inserted, int], int] = {}  # of which walk
    for number, inserted in enumerate(walks):
        times = Counter[Inserted]()
        for item in inserted:
            found.setdefault((item, times[item]), number)
            times[item] += 1
    return [item for item, _ in sorted(found, key=lambda key: key[0].order(found[key]))]


def _running(root: Any, names: set[str]) -> set[str]:
    """The functions of a file that run one of these, themselves included."""
    calls = {f.decl.name: called(f.body) for f in root.ext if isinstance(f, c_ast.FuncDef)}
    found = set(names)
    while more := {name for name, called in calls.items() if called & found} - found:
        found |= more
    return found


def _jumps_about(function: Any) -> bool:
    return any(isinstance(node, c_ast.Goto) for node in nodes(function.body))
