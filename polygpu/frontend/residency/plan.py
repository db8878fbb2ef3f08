"""Which loops of the host keep arrays on the device, and what the host file says there.

A loop that runs regions several times opens a scope: `polygpu_keep();` before and `polygpu_release(why);`
behind. All that the host does within, in functions of the file that it calls there too, must be plain to see.
Before a statement that may touch an element, the host file says so; around one that may do anything, the
scope is paused. Functions that run regions have such calls whoever calls them: idle where no scope is open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast, c_parser

from polygpu.frontend.names.scopes import Scope, Symbol, Variable, function_scope
from polygpu.frontend.names.types import Vector
from polygpu.frontend.options import Kept
from polygpu.frontend.read import openmp
from polygpu.frontend.read.directives import pragma_text
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.residency.effects import NONE, Effects, Program, Reader, Touch, together
from polygpu.frontend.residency.text import NotPlainError, Statement, Text
from polygpu.frontend.text.nodes import nodes
from polygpu.model.scop import Scop

_OF_THE_CALL = {"alloca", "_alloca", "__builtin_alloca", "__builtin_alloca_with_align"}
_LOOPS = c_ast.For | c_ast.While | c_ast.DoWhile


@dataclass(frozen=True, order=True)
class Inserted:
    """`text` before the token at `place` of the preprocessed text; what ends something comes first."""

    place: int
    begins: bool
    text: str


def kept(context: FileContext, regions: Sequence[Scop]) -> Kept:
    """What the host file says where these regions of a file run on the device."""
    planner = _Planner(Program(context, tuple(regions)), Text(context.expansion))
    return planner.plan()


def may_keep(context: FileContext, regions: Sequence[Scop]) -> bool:
    """Whether there is a loop that may run regions and is none, or a pragma about data."""
    program, running = Program(context, tuple(regions)), _running(context.root, {r.function for r in regions})
    bodies = [f.body for f in context.root.ext if isinstance(f, c_ast.FuncDef) and f.decl.name in running]
    parts = [node for body in bodies for node in nodes(body)]
    loops = (node for node in parts if isinstance(node, _LOOPS) and program.region(node) is None)
    return any(
        isinstance(node, c_ast.Pragma) and openmp.keeps_data([node, node], 1) for node in parts
    ) or any(
        _called(loop) & running or any(program.region(n) for n in nodes(loop) if isinstance(n, _LOOPS))
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
    opened: list[_Walk] = field(default_factory=list)
    functions: dict[str, _Walk | None] = field(default_factory=dict)  # None: not looked after

    def __post_init__(self) -> None:
        self.program.reached = self.reached

    def plan(self) -> Kept:
        context = self.program.context
        threaded = openmp.called_by_threads(context.root)
        running = _running(context.root, {scop.function for scop in self.program.regions})
        for function in context.root.ext:
            if not isinstance(function, c_ast.FuncDef) or function.decl.name not in running - threaded.keys():
                continue
            if context.at(function).file == context.source.path and not _jumps_about(function):
                self._search(function)
        return self._placed(self._needed()) or Kept()

    def _needed(self) -> list[_Walk]:
        """The walks of loops that open scopes, and of functions that are called in them."""
        needed, names = list(self.opened), set[str]()
        for walk in needed:
            for name in set().union(*map(_called, walk.within)) - names:
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
        if not isinstance(node, _LOOPS | c_ast.If | c_ast.Compound) or not self._runs(node, scope):
            return
        inner = scope.child()
        for declared in node.init.decls if isinstance(getattr(node, "init", None), c_ast.DeclList) else ():
            inner.declare(declared, "local")
        for part, start in _parts(self.text, node, statement.start):
            if isinstance(part, c_ast.Compound):
                self._search_block(function, part, start, inner.child())
                continue
            one = Statement(start, self.text.end(start), (part,))
            if not self._is_plain(function, one, None, inner.copy()):
                self._search_within(function, part, one, inner.child())
            elif self._is_loop(part, inner):
                self._open(function, [_Placed(one, None, inner)], " {", " }")

    def _runs(self, node: Any, scope: Scope) -> bool:
        return self.program.effects(node, scope.copy()).runs

    def _is_loop(self, node: Any, scope: Scope) -> bool:
        """Whether it is a loop that runs regions, and none itself."""
        return isinstance(node, _LOOPS) and self.program.region(node) is None and self._runs(node, scope)

    def _is_plain(self, function: Any, statement: Statement, pragma: Any, scope: Scope) -> bool:
        walk = _Walk(self.program, self.text, function, opener=True, within=statement.nodes)
        try:
            walk.check_literals()
            walk.run(statement, pragma, scope)
        except NotPlainError:
            return False
        return not any(_leaves(node, returns=False) for node in statement.nodes)

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
        walk = _Walk(self.program, self.text, function, opener=True, within=parts)
        for placed in kept:
            walk.run(placed.statement, placed.pragma, placed.scope.copy())
        what = "loop" if isinstance(last.node, _LOOPS) else "statement"
        why = _literal(f"the {what} at line {self.program.context.at(last.node).line} ends")
        walk.begin(first.statement.start, f"{before} polygpu_keep();")
        walk.end(last.statement.end, f" polygpu_release({why});{behind}")
        self.opened.append(walk)

    def reached(self, function: Any) -> bool:
        """Whether all that a function does to arrays between its regions is looked after, from now on."""
        name = str(function.decl.name)
        if name not in self.functions:
            self.functions[name] = None
            walk = _Walk(self.program, self.text, function, opener=False, within=(function,))
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

    def _placed(self, walks: Sequence[_Walk]) -> Kept | None:
        """The texts at offsets of the source; None where one of them is not certain."""
        if not walks:
            return None
        inserted = _merged(walk.inserted for walk in walks)
        source = self.program.context.source
        marks = self.text.expansion.marks(source.gaps)
        found: dict[int, str] = {}
        for item in sorted(inserted, key=lambda i: (i.place, i.begins)):
            places = marks.get(item.place, ())
            if not places:
                return None
            offset = min(places)
            for scop in self.program.regions:
                offset = scop.end if scop.start < offset < scop.end else offset
            found[offset] = found.get(offset, "") + item.text
        return Kept(tuple(sorted(found.items())), frozenset(name for walk in walks for name in walk.regions))


def _merged(walks: Iterable[Sequence[Inserted]]) -> list[Inserted]:
    """What walks say, once where several come to a statement; one may say the same twice, as with braces."""
    found: dict[tuple[Inserted, int], None] = {}
    for inserted in walks:
        times = Counter[Inserted]()
        for item in inserted:
            found[item, times[item]] = None
            times[item] += 1
    return [item for item, _ in found]


def _called(tree: Any) -> set[str]:
    """The functions that are called by name."""
    calls = (node.name for node in nodes(tree) if isinstance(node, c_ast.FuncCall))
    return {str(callee.name) for callee in calls if isinstance(callee, c_ast.ID)}


def _running(root: Any, names: set[str]) -> set[str]:
    """The functions of a file that run one of these, themselves included."""
    calls = {f.decl.name: _called(f.body) for f in root.ext if isinstance(f, c_ast.FuncDef)}
    found = set(names)
    while more := {name for name, called in calls.items() if called & found} - found:
        found |= more
    return found


def _leaves(node: Any, loop: bool = False, switch: bool = False, returns: bool = True) -> bool:
    """Whether a jump leads out of the statement, from inside of a loop or a switch of its own."""
    match node:
        case c_ast.Return() | c_ast.Goto():
            return returns
        case c_ast.Break():
            return not (loop or switch)
        case c_ast.Continue():
            return not loop
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            loop = True
        case c_ast.Switch():
            switch = True
    return any(_leaves(child, loop, switch, returns) for child in node)


def _jumps_about(function: Any) -> bool:
    return any(isinstance(node, c_ast.Goto) for node in nodes(function.body))


def _parts(text: Text, node: Any, start: int) -> Iterator[tuple[Any, int]]:
    """The statements directly within one, and where they start."""
    match node:
        case c_ast.Compound():
            yield node, start
        case c_ast.If():
            yield node.iftrue, text.body(start)
            if node.iffalse is not None:
                yield node.iffalse, text.otherwise(start)
        case c_ast.DoWhile():
            yield node.stmt, text.next(start + len("do"))
        case c_ast.For() | c_ast.While():
            yield node.stmt, text.body(start)


@dataclass
class _Walk:
    """Walks what runs in a scope: a loop of the function that opens it, or a function that is called there.

    Raises NotPlainError where something cannot be told or said.
    """

    program: Program
    text: Text
    function: Any
    opener: bool
    within: tuple[Any, ...]
    inserted: list[Inserted] = field(default_factory=list)
    regions: set[str] = field(default_factory=set)
    dying: list[tuple[bool, list[str]]] = field(default_factory=list)  # of each block; True: of a loop

    def begin(self, start: int, text: str) -> None:
        """Before the statement that starts there, and before what was said to be there."""
        self.inserted.insert(0, Inserted(self.text.before(start), True, text))

    def end(self, end: int, text: str) -> None:
        self.inserted.append(Inserted(self.text.behind(end), False, text))

    def run(self, statement: Statement, pragma: Any, scope: Scope) -> None:
        """A statement of a block; enters what it declares. `pragma` has threads of OpenMP run it."""
        if pragma is not None:
            self._of_threads(statement, pragma, scope)
        else:
            self.statement(statement, scope)

    def check_parameters(self, scope: Scope) -> None:
        """No memory of a call outlives it: that of parameters, and what no declaration tells of."""
        self._check(
            s for s in scope.symbols.values() if isinstance(s, Variable) and not isinstance(s.type, Vector)
        )
        if _called(self.function.body) & _OF_THE_CALL:
            raise NotPlainError("it has memory of its own that nothing declares")

    def _check(self, symbols: Iterable[Symbol]) -> None:
        for symbol in symbols:
            if isinstance(symbol, Variable) and self._dies(symbol):
                raise NotPlainError(f"regions may know where '{symbol.name}' is, whose life ends")

    def check_literals(self) -> None:
        """Arrays without a name end their life with a block, too."""
        literals = (n for part in self.within for n in nodes(part) if isinstance(n, c_ast.CompoundLiteral))
        if any(self.program.region(node) is None for node in literals):
            raise NotPlainError("it has arrays without a name")

    def _dies(self, variable: Variable) -> bool:
        """Whether a variable that regions may have on the device ends its life with its block."""
        if variable.place == "global" or not self.program.matters(variable.type, variable):
            return False
        return not self.program.is_private(variable)

    def block(self, block: Any, brace: int, scope: Scope, loop: bool = False) -> None:
        """All of a block, which may be the body of a loop."""
        items = tuple(block.block_items or ())
        end = brace + 1
        self.dying.append((loop, []))
        for statement in self.text.statements(items, brace):
            self.run(statement, openmp.entered(items, items.index(statement.nodes[0])), scope)
            for node in statement.nodes:
                found = scope.find(node.name) if isinstance(node, c_ast.Decl) and node.name else None
                if isinstance(found, Variable) and found.node is node and self._dies(found):
                    self.dying[-1][1].append(found.name)
            end = statement.end
        _, names = self.dying.pop()
        jumps = items and isinstance(items[-1], c_ast.Return | c_ast.Break | c_ast.Continue)
        for name in () if jumps else names:
            self.end(end, f" polygpu_forget(&{name}, sizeof {name});")

    def _forgotten(self, start: int, all_blocks: bool) -> None:
        """Before a jump out of all blocks, or out of those in the innermost loop."""
        for loop, names in reversed(self.dying):
            for name in names:
                self.begin(start, f" polygpu_forget(&{name}, sizeof {name});")
            if loop and not all_blocks:
                break

    def _of_threads(self, statement: Statement, pragma: Any, scope: Scope) -> None:
        node = statement.nodes[0]
        effects = self.program.effects(node, scope.child())
        later = re.search(r"\b(?:task|taskloop|nowait|async|depend)\b", pragma_text(pragma))
        if self.program.region(node) is not None:
            self.statement(statement, scope)
        elif effects.runs or later or any(isinstance(n, c_ast.Return) for n in nodes(node)):
            raise NotPlainError("threads of OpenMP run it")
        else:
            self._plainly(statement, effects, scope)

    def statement(self, statement: Statement, scope: Scope) -> None:
        """One of a block; enters what it declares."""
        node = statement.nodes[0]
        scop = self.program.region(node)
        if scop is not None:
            self._region(scop, statement, scope)
            return
        declares = isinstance(node, c_ast.Decl | c_ast.Typedef)
        before = scope.copy() if declares else scope
        inner = scope if declares else scope.child()
        effects = together(self.program.effects(part, inner) for part in statement.nodes)
        returns = self.opener and any(isinstance(n, c_ast.Return) for n in nodes(node))
        ends = (effects.unknown or any(names for _, names in self.dying)) and _leaves(node)
        if effects.runs or returns or ends:
            for part in statement.nodes:
                self.structure(part, statement.start, before)
                if declares:
                    before.declare(part, "local")
        elif not isinstance(node, c_ast.If) or not self._by_branches(node, statement.start, scope):
            self._plainly(statement, effects, before)

    def _by_branches(self, node: Any, start: int, scope: Scope) -> bool:
        """Says what an `if` does in its branches, where that can be: few of them may be taken."""
        outer, self.inserted = self.inserted, []
        try:
            self.structure(node, start, scope)
        except NotPlainError:
            self.inserted = outer
            return False
        self.inserted = outer + self.inserted
        return True

    def _region(self, scop: Scop, statement: Statement, scope: Scope) -> None:
        """The host passes scalars by value; those that pointers reach may be on the device."""
        self.regions.add(scop.name)
        reader, place = Reader(self.program, scope), statement.nodes[0].coord
        hosts = [*(s.source for s in scop.scalars), *(a.host for a in scop.arrays if a.source)]
        read = (e for text in hosts for e in reader.value(_expression(text, place)))
        self._touched(statement.start, together(read), scope)

    def _plainly(self, statement: Statement, effects: Effects, scope: Scope) -> None:
        """A statement that runs no region."""
        if not effects.unknown:
            self._touched(statement.start, effects, scope)
            return
        why = _literal(effects.unknown)
        if isinstance(statement.nodes[0], c_ast.Decl | c_ast.Typedef):
            name = f"polygpu_scopes_{statement.start}"
            self.begin(statement.start, f" const int {name} = polygpu_pause({why});")
            self.end(statement.end, f" polygpu_resume({name});")
        else:
            self.begin(statement.start, f" {{ const int polygpu_scopes = polygpu_pause({why});")
            self.end(statement.end, " polygpu_resume(polygpu_scopes); }")

    def _touched(self, start: int, effects: Effects, scope: Scope) -> None:
        touches = [t for t in effects.touches if not _is_over(t, scope)]
        somewhere = {t.writes: t for t in reversed(touches) if not _is_visible(t, scope)}
        if True in somewhere:
            self._say(start, "0, 0", somewhere[True])
            return
        if False in somewhere:
            self._say(start, "0, 0", somewhere[False])
        here = {(t.variable, t.writes, t.offset): t for t in reversed(touches) if _is_visible(t, scope)}
        for (variable, writes, offset), touch in here.items():
            if variable is None or (somewhere and not writes):
                continue
            name = variable.name
            place = name if offset == "0" else f"{name} + {offset}"
            what = f"{place}, sizeof *{name}" if offset else f"&{name}, sizeof {name}"
            self._say(start, what, touch)

    def _say(self, start: int, what: str, touch: Touch) -> None:
        verb = "writes" if touch.writes else "reads"
        self.begin(start, f" polygpu_host_{verb}({what}, {_literal(touch.why)});")

    def structure(self, node: Any, start: int, scope: Scope) -> None:
        """A statement that runs regions, returns from the scope, or must be taken apart."""
        inner = scope.child()
        match node:
            case c_ast.Compound():
                self.block(node, start, inner)
            case c_ast.If():
                self._before(start, node.cond, scope)
                self._within(node, start, scope)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                self._loop(node, start, inner)
            case c_ast.Return():
                self._return(node, start, scope)
            case c_ast.Break() | c_ast.Continue():
                self._forgotten(start, all_blocks=False)
            case c_ast.EmptyStatement() | c_ast.Pragma():
                return
            case c_ast.Decl():
                self._before(start, node, inner)
            case c_ast.Switch() | c_ast.Label() | c_ast.Case() | c_ast.Default() | c_ast.Goto():
                raise NotPlainError("a switch or a label is in the way")
            case _:
                self._before(start, node, scope)

    def _loop(self, node: Any, start: int, scope: Scope) -> None:
        if isinstance(node, c_ast.For):
            for part in node.init.decls if isinstance(node.init, c_ast.DeclList) else (node.init,):
                self._before(start, part, scope)
            self._check(symbol for symbol in scope.symbols.values())
        self._quiet((node.cond, getattr(node, "next", None)), scope)
        self._within(node, start, scope)

    def _return(self, node: Any, start: int, scope: Scope) -> None:
        if self.opener:
            why = _literal(f"return at line {self.program.context.at(node).line}")
            self._forgotten(start, all_blocks=True)
            self.begin(start, f" polygpu_release({why});")
            return
        if any(names for _, names in self.dying) and self.program.effects(node.expr, scope).runs:
            raise NotPlainError("a region runs where arrays end their life")
        self._forgotten(start, all_blocks=True)
        self._before(start, node.expr, scope)

    def _within(self, node: Any, start: int, scope: Scope) -> None:
        loop = isinstance(node, _LOOPS)
        for part, first in _parts(self.text, node, start):
            if isinstance(part, c_ast.Compound):
                self.block(part, first, scope.child(), loop)
                continue
            self.dying.append((loop, []))
            self._braced(part, first, scope.child())
            self.dying.pop()

    def _braced(self, node: Any, start: int, scope: Scope) -> None:
        """A statement where C wants one: with braces if something is said beside it."""
        outer, self.inserted = self.inserted, []
        end = self.text.end(start)
        self.statement(Statement(start, end, (node,)), scope)
        if self.inserted:
            self.begin(start, " {")
            self.end(end, " }")
        self.inserted = outer + self.inserted

    def _quiet(self, parts: Iterable[Any], scope: Scope) -> None:
        """What is computed again and again: nothing could be said before it."""
        found = together(self.program.effects(part, scope) for part in parts)
        if found.unknown or found.touches:
            raise NotPlainError("the test of a loop touches arrays")

    def _before(self, start: int, node: Any, scope: Scope) -> None:
        """An expression or a declaration that is computed once, where things can be said before."""
        found = self.program.effects(node, scope)
        if found.unknown:
            raise NotPlainError("something unknown is done between regions")
        if found.runs and found.touches and not self._touches_before(node, scope, found.touches):
            raise NotPlainError("arrays are touched in the statement that runs regions")
        self._touched(start, found, scope)

    def _touches_before(self, node: Any, scope: Scope, touches: Sequence[Touch]) -> bool:
        """Whether that is what arguments touch, in a statement that is a call; they run no regions."""
        if isinstance(node, c_ast.Assignment) and node.op == "=":
            alone = c_ast.Assignment("=", node.lvalue, c_ast.Constant("int", "0"), node.coord)
            if self.program.effects(alone, scope).touches:
                return False
            node = node.rvalue
        elif isinstance(node, c_ast.Decl):
            node = node.init
        if not isinstance(node, c_ast.FuncCall) or not isinstance(node.name, c_ast.ID):
            return False
        found = self.program.effects(node.args, scope) if node.args else NONE
        mine, all_of_it = ({(t.writes, t.variable) for t in part} for part in (found.touches, touches))
        return not found.runs and mine == all_of_it


def _expression(text: str, place: Any) -> Any:
    """The C expression as a tree. Raises NotPlainError where it has types of the user's."""
    if text.isidentifier():
        return c_ast.ID(text, place)
    try:
        (definition,) = c_parser.CParser().parse(f"int x = {text};").ext
    except c_parser.ParseError as error:
        raise NotPlainError("what a region reads once is not plain") from error
    for node in nodes(definition):
        node.coord = place
    return definition.init


def _is_over(touch: Touch, scope: Scope) -> bool:
    """Whether it touches a variable of the statement's own, which regions cannot know."""
    own = touch.variable is not None and touch.variable.place == "local" and not touch.offset
    return own and not _is_visible(touch, scope)


def _is_visible(touch: Touch, scope: Scope) -> bool:
    variable = touch.variable
    return variable is not None and scope.find(variable.name) is variable


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{escaped}"'
