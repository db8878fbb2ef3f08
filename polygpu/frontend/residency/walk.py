"""What the host file says in a scope: before statements that touch arrays, and around what nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from pycparser import c_ast, c_parser

from polygpu.frontend.names.scopes import Scope, Symbol, Variable
from polygpu.frontend.names.types import Vector
from polygpu.frontend.read import openmp
from polygpu.frontend.read.directives import pragma_text
from polygpu.frontend.residency.effects import NONE, STATEMENTS, Effects, Program, Reader, Touch, together
from polygpu.frontend.residency.text import NotPlainError, Statement, Text
from polygpu.frontend.text.nodes import nodes
from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass

_OF_THE_CALL = {"alloca", "_alloca", "__builtin_alloca", "__builtin_alloca_with_align"}
LOOPS = c_ast.For | c_ast.While | c_ast.DoWhile
Said: TypeAlias = tuple[
    Variable | None, str, bool
]  # a variable, the offset behind it, and whether it is written


@dataclass(frozen=True)
class Inserted:
    """`text` before the token at `place` of the preprocessed text.

    It begins something that ends at `other`, or ends what begins there. What begins nothing is said of what
    starts at its place, or behind what begins at `other`.
    """

    place: int
    begins: bool
    other: int
    text: str

    def order(self, walk: int) -> tuple[int, bool, int, int]:
        """Its place among all that is inserted: what ends comes first, and things lie within each other.

        What two walks say of the same statement lies within what the first one says.
        """
        return self.place, self.begins, -self.other, walk if self.begins else -walk


def called(tree: Any) -> set[str]:
    """The functions that are called by name."""
    calls = (node.name for node in nodes(tree) if isinstance(node, c_ast.FuncCall))
    return {str(callee.name) for callee in calls if isinstance(callee, c_ast.ID)}


def leaves(node: Any, loop: bool = False, switch: bool = False, returns: bool = True) -> bool:
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
    return any(leaves(child, loop, switch, returns) for child in node)


def parts(text: Text, node: Any, start: int) -> Iterator[tuple[Any, int]]:
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
class Walk:
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
    branches: int = 0  # around the statement
    disturbed: bool = False  # whether arrays may cross the bus wherever it comes by
    said: set[Said] = field(default_factory=set)  # in these statements, since regions may have run

    def say(self, start: int, text: str) -> None:
        """Before the statement that starts there, and before what was said to be there."""
        place = self.text.before(start)
        self.inserted.insert(0, Inserted(place, True, place, text))

    def begin(self, start: int, end: int, text: str) -> None:
        """Before what lies from `start` to `end`."""
        self.inserted.insert(0, Inserted(self.text.before(start), True, self.text.behind(end), text))

    def end(self, start: int, end: int, text: str) -> None:
        """Behind what lies from `start` to `end`."""
        self.inserted.append(Inserted(self.text.behind(end), False, self.text.before(start), text))

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
        if called(self.function.body) & _OF_THE_CALL:
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

    def block(self, block: Any, brace: int, scope: Scope, loop: bool = False, last: Effects = NONE) -> None:
        """All of a block, which may be the body of a loop; this does `last` behind each iteration."""
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
            self.end(brace, end, f" polygpu_forget(&{name}, sizeof {name});")
        for _, text in self._sayings(last, scope):
            self.end(brace, end, text)

    def _forgotten(self, start: int, all_blocks: bool) -> None:
        """Before a jump out of all blocks, or out of those in the innermost loop."""
        for loop, names in reversed(self.dying):
            for name in names:
                self.say(start, f" polygpu_forget(&{name}, sizeof {name});")
            if loop and not all_blocks:
                break

    def _of_threads(self, statement: Statement, pragma: Any, scope: Scope) -> None:
        node = statement.nodes[0]
        effects = self.program.effects(node, scope.child())
        effects = replace(effects, unknown=effects.hidden)
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
            self.said = set()
            return
        declares = isinstance(node, c_ast.Decl | c_ast.Typedef)
        before = scope.copy() if declares else scope
        inner = scope if declares else scope.child()
        effects = together(self.program.effects(part, inner) for part in statement.nodes)
        self._with(statement, effects, before, declares)
        if effects.may_run:
            self.said = set()

    def _with(self, statement: Statement, effects: Effects, before: Scope, declares: bool) -> None:
        """A statement with these effects, which finds what is visible `before` it."""
        node, outer = statement.nodes[0], self.said
        returns = self.opener and any(isinstance(n, c_ast.Return) for n in nodes(node))
        ends = (effects.hidden or any(names for _, names in self.dying)) and leaves(node)
        if effects.outside and not effects.unknown and self._calls(statement, effects, before):
            return
        if effects.runs or returns or ends:
            for part in statement.nodes:
                self.structure(part, statement.start, before)
                if declares:
                    before.declare(part, "local")
            self.said = outer
        elif not isinstance(node, c_ast.If | LOOPS | c_ast.Compound) or not self._by_parts(
            node, statement.start, before, effects
        ):
            self._plainly(statement, replace(effects, unknown=effects.hidden), before)

    def _by_parts(self, node: Any, start: int, scope: Scope, effects: Effects) -> bool:
        """Says what a statement does in its parts, where that can be and pays.

        That is in the branches of an `if`, few of which may be taken, and where there are calls into other
        files.
        """
        if not isinstance(node, c_ast.If) and (effects.unknown or not effects.outside):
            return False
        outer, self.inserted, depth, said = self.inserted, [], len(self.dying), self.said
        self.said = set(said)
        try:
            self.structure(node, start, scope)
        except NotPlainError:
            self.inserted = outer
            del self.dying[depth:]
            return False
        finally:
            self.said = said
        self.inserted = outer + self.inserted
        return True

    def _calls(self, statement: Statement, effects: Effects, scope: Scope) -> bool:
        """An expression or a declaration that calls functions of other files: whether it could be said.

        They are like regions if polygpu has seen to it there, and else like all that nobody knows.
        """
        node = statement.nodes[0]
        single = len(statement.nodes) == 1 and not isinstance(node, (*STATEMENTS, c_ast.Typedef))
        if not single or (effects.touches and not self._touches_before(node, scope, effects.touches)):
            return False
        kept = " && ".join(dict.fromkeys(f"polygpu_keeps_{call.name}" for call in effects.outside))
        self._paused(statement, f"{kept} ? -1 : {self._pause(effects, scope)}")
        self._touched(statement.start, effects, scope)
        return True

    def _pause(self, effects: Effects, scope: Scope) -> str:
        """What stands before calls of functions of other files that nobody looks after."""
        touches = [call.touches for call in effects.outside]
        known = [touch for found in touches if found is not None for touch in found]
        if None in touches or not all(_is_visible(touch, scope) for touch in known):
            return f"polygpu_pause({literal(effects.hidden)})"
        said = [text.strip().rstrip(";") for _, text in self._sayings(Effects(tuple(known)), scope)]
        return f"({', '.join([*said, 'polygpu_leave()'])})" if said else "polygpu_leave()"

    def _region(self, scop: Scop, statement: Statement, scope: Scope) -> None:
        """The host passes scalars by value; those that pointers reach may be on the device."""
        self.regions.add(scop.name)
        reader, place = Reader(self.program, scope), statement.nodes[0].coord
        hosts = [*(s.source for s in scop.scalars if s.name not in scop.measured)]
        hosts += [*(a.host for a in scop.arrays if a.source)]
        read = (e for text in hosts for e in reader.value(expression(text, place)))
        self._touched(statement.start, together(read), scope)

    def _plainly(self, statement: Statement, effects: Effects, scope: Scope) -> None:
        """A statement that runs no region."""
        if not effects.unknown:
            self._touched(statement.start, effects, scope)
            return
        self.disturbed |= not self.branches
        self._paused(statement, f"polygpu_pause({literal(effects.unknown)})")

    def _paused(self, statement: Statement, pause: str) -> None:
        """`pause` before the statement, and what makes it good behind."""
        start, end = statement.start, statement.end
        if isinstance(statement.nodes[0], c_ast.Decl | c_ast.Typedef):
            name = f"polygpu_scopes_{start}"
            self.begin(start, end, f" const int {name} = {pause};")
            self.end(start, end, f" polygpu_resume({name});")
        else:
            self.begin(start, end, f" {{ const int polygpu_scopes = {pause};")
            self.end(start, end, " polygpu_resume(polygpu_scopes); }")

    def _touched(self, start: int, effects: Effects, scope: Scope) -> None:
        for key, text in self._sayings(effects, scope):
            if not self._is_said(*key):
                self.say(start, text)
                self.said.add(key)

    def _is_said(self, variable: Variable | None, offset: str, writes: bool) -> bool:
        """Whether it was said already, of the variable or of all, and no region may have run since."""
        known = {(variable, offset, True), (None, "", True)}
        return not self.said.isdisjoint(
            known if writes else {*known, (variable, offset, False), (None, "", False)}
        )

    def _sayings(self, effects: Effects, scope: Scope) -> Iterator[tuple[Said, str]]:
        """What is said before something with these effects, where `scope` is visible."""
        touches = [t for t in effects.touches if not _is_over(t, scope)]
        somewhere = {t.writes: t for t in reversed(touches) if not _is_visible(t, scope)}
        self.disturbed |= bool(somewhere) and not self.branches
        if True in somewhere:
            yield (None, "", True), _saying("0, 0", somewhere[True])
            return
        if False in somewhere:
            yield (None, "", False), _saying("0, 0", somewhere[False])
        here = {(t.variable, t.writes, t.offset): t for t in reversed(touches) if _is_visible(t, scope)}
        for (variable, writes, offset), touch in here.items():
            if variable is None or (somewhere and not writes):
                continue
            name = variable.name
            place = name if offset == "0" else f"{name} + {offset}"
            what = f"{place}, sizeof *{name}" if offset else f"&{name}, sizeof {name}"
            yield (variable, offset, writes), _saying(what, touch)

    def structure(self, node: Any, start: int, scope: Scope) -> None:
        """A statement that runs regions, returns from the scope, or must be taken apart."""
        inner = scope.child()
        match node:
            case c_ast.Compound():
                self.block(node, start, inner)
            case c_ast.If():
                self._before(start, node.cond, scope)
                self.branches += 1
                try:
                    self._within(node, start, scope)
                finally:
                    self.branches -= 1
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
        first = self.program.effects(node.cond, scope)
        last = first | self.program.effects(getattr(node, "next", None), scope)
        if last.hidden or (last.touches and (last.runs or _goes_on(node.stmt))):
            raise NotPlainError("the test of a loop touches arrays")
        if not isinstance(node, c_ast.DoWhile):
            self._touched(start, first, scope)
        self._within(node, start, scope, last)

    def _return(self, node: Any, start: int, scope: Scope) -> None:
        if self.opener:
            why = literal(f"return at line {self.program.context.at(node).line}")
            self._forgotten(start, all_blocks=True)
            self.say(start, f" polygpu_release({why});")
            return
        if any(names for _, names in self.dying) and self.program.effects(node.expr, scope).may_run:
            raise NotPlainError("a region runs where arrays end their life")
        self._forgotten(start, all_blocks=True)
        self._before(start, node.expr, scope)

    def _within(self, node: Any, start: int, scope: Scope, last: Effects = NONE) -> None:
        loop = isinstance(node, LOOPS)
        for part, first in parts(self.text, node, start):
            self.said = set()
            if isinstance(part, c_ast.Compound):
                self.block(part, first, scope.child(), loop, last)
                continue
            self.dying.append((loop, []))
            self._braced(part, first, scope.child(), last)
            self.dying.pop()

    def _braced(self, node: Any, start: int, scope: Scope, last: Effects) -> None:
        """A statement where C wants one: with braces if something is said beside it."""
        outer, self.inserted = self.inserted, []
        end = self.text.end(start)
        self.statement(Statement(start, end, (node,)), scope)
        for _, text in self._sayings(last, scope):
            self.end(start, end, text)
        if self.inserted:
            self.begin(start, end, " {")
            self.end(start, end, " }")
        self.inserted = outer + self.inserted

    def _before(self, start: int, node: Any, scope: Scope) -> None:
        """An expression or a declaration that is computed once, where things can be said before."""
        found = self.program.effects(node, scope)
        if found.hidden:
            raise NotPlainError("something unknown is done between regions")
        if found.runs and found.touches and not self._touches_before(node, scope, found.touches):
            raise NotPlainError("arrays are touched in the statement that runs regions")
        self._touched(start, found, scope)
        if found.runs:
            self.said = set()

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
        return not found.may_run and mine == all_of_it


def expression(text: str, place: Any) -> Any:
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


def _saying(what: str, touch: Touch) -> str:
    return f" polygpu_host_{'writes' if touch.writes else 'reads'}({what}, {literal(touch.why)});"


def _goes_on(node: Any) -> bool:
    """Whether `continue` may end an iteration of the loop that the statement is the body of."""
    if isinstance(node, c_ast.Continue):
        return True
    return not isinstance(node, LOOPS) and any(_goes_on(child) for child in node)


def _is_over(touch: Touch, scope: Scope) -> bool:
    """Whether it touches a variable of the statement's own, which regions cannot know."""
    own = touch.variable is not None and touch.variable.place == "local" and not touch.offset
    return own and not _is_visible(touch, scope)


def _is_visible(touch: Touch, scope: Scope) -> bool:
    """Whether the host file can name what is touched, and its size."""
    variable = touch.variable
    if variable is None or scope.find(variable.name) is not variable:
        return False
    unsized = isinstance(variable.type, Vector) and variable.type.extent is None and variable.initial is None
    return bool(touch.offset) or not unsized


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{escaped}"'
