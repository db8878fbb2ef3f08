"""Where a region reads and writes which objects, and under which conditions: a walk over its C tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import field, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.hoist.paths import ANY, Path, Typing
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, Pointer, Vector
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import is_floating
from polygpu.support.dataclass import dataclass

_LEAVES = (c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto)
_CHANGES = ("p++", "++", "p--", "--")


@dataclass(frozen=True)
class Guard:
    """A condition, in the source's names, with what it reads; its opposite where it does not hold."""

    test: Any
    reads: tuple[Use, ...]
    holds: bool = True


Side: TypeAlias = tuple[int, bool]  # a branch by the identity of its test, and whether that holds


@dataclass(frozen=True)
class Where:
    """A place of the region: what happens there does where all `guards` hold, and where data tell so that
    decide about what is `unsure`: a side of a branch, or something else.

    `hidden` are names that the region declares itself. What is of an `integer` decides about iterations,
    elements or branches.
    """

    hidden: frozenset[str] = frozenset()
    guards: tuple[Guard, ...] = ()
    unsure: tuple[Side | None, ...] = ()
    integer: bool = False

    @property
    def exact(self) -> bool:
        """Whether the guards tell all."""
        return not self.unsure

    def hides(self, name: str) -> Where:
        return replace(self, hidden=self.hidden | {name})

    def maybe(self, side: Side | None = None) -> Where:
        return replace(self, unsure=(*self.unsure, side))

    def under(self, guard: Guard | None, side: Side | None = None) -> Where:
        return self.maybe(side) if guard is None else replace(self, guards=(*self.guards, guard))

    @property
    def deciding(self) -> Where:
        return replace(self, integer=True)


@dataclass(frozen=True)
class Use:
    """One maximal lvalue; `node` is None where it is only known what a store may change.

    `kind` is "read", "write", "address" (of it, which may be kept), or "test" for NULL.
    """

    node: Any
    path: Path
    kind: str
    where: Where


@dataclass
class Uses:
    """Grows while a region is walked. `aliases` are what pointers that it sets may point into: objects, and
    what other such pointers do; `through` are the names in stores that have no path.
    """

    scope: Scope
    assigned: frozenset[str]
    found: list[Use] = field(default_factory=list)
    aliases: dict[str, list[Path | str]] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)  # in the region, wherever

    def written(self) -> list[Path]:
        """The objects that stores name, also by the region's own pointers."""
        named = [use.path for use in self.found if use.kind in ("write", "address")]
        through = {*self.through, *(path.root.name for path in named if path.steps)}
        return [*named, *self._aliased(through)]

    def _aliased(self, names: set[str]) -> Iterator[Path]:
        waiting, seen = list(names), set(names)
        while waiting:
            for target in self.aliases.get(waiting.pop(), ()):
                if isinstance(target, Path):
                    yield target
                name = target.root.name if isinstance(target, Path) else target  # it may be set, too
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)

    def block(self, items: Iterable[Any], where: Where) -> None:
        for item in items:
            self.visit(item, where)
            for declared in item.decls if isinstance(item, c_ast.DeclList) else (item,):
                if isinstance(declared, c_ast.Decl) and declared.name:
                    where = where.hides(declared.name)

    def visit(self, node: Any, where: Where) -> None:
        """Statements and expressions."""
        match node:
            case None | c_ast.Constant() | c_ast.Typename() | c_ast.Pragma() | c_ast.UnaryOp(op="sizeof"):
                pass
            case c_ast.Compound():
                self.block(node.block_items or (), where)
            case c_ast.Decl():
                self._declaration(node, where)
            case c_ast.For():
                self._for(node, where)
            case c_ast.Assignment():
                self._lvalue(node.lvalue, where, "write")
                before = len(self.found)
                self.visit(node.rvalue, where.deciding if self._is_integer(node.lvalue, where) else where)
                if isinstance(node.lvalue, c_ast.ID):
                    self._may_point(node.lvalue.name, node.rvalue, before)
            case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--"):
                self._lvalue(node.expr, where, "write")
            case c_ast.UnaryOp(op="&"):
                self._lvalue(node.expr, where, "address")
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                self._lvalue(node, where, "read")
            case _:
                self._others(node, where)

    def _others(self, node: Any, where: Where) -> None:
        match node:
            case c_ast.While():
                self._guarded(node.cond, where, self._inside(node.stmt, where), node.stmt)
            case c_ast.If() | c_ast.TernaryOp():
                self._guarded(node.cond, where, where, node.iftrue, node.iffalse)
            case c_ast.Switch():
                self.visit(node.cond, where.deciding)
                self.visit(node.stmt, where.maybe())
            case c_ast.BinaryOp(op="&&" | "||" as op):
                yes, no = (node.right, None) if op == "&&" else (None, node.right)
                self._guarded(node.left, where, where, yes, no, truth=True)
            case c_ast.UnaryOp(op="!") | c_ast.BinaryOp(op="==" | "!="):
                self._test(node, where)
            case c_ast.FuncCall():
                for argument in node.args.exprs if node.args else ():
                    self._argument(argument, where)
            case _:
                for child in node:
                    self.visit(child, where)

    def _declaration(self, node: c_ast.Decl, where: Where) -> None:
        for part in nodes(node.type):
            if isinstance(part, c_ast.ArrayDecl):
                self.visit(part.dim, where.deciding)
        self.declared.add(node.name)
        if node.init is None or not node.name:
            return
        ctype = self.scope.child().resolve(node.type)
        before = len(self.found)
        self.visit(node.init, where.deciding if isinstance(ctype, Basic) else where)
        if not isinstance(ctype, Basic):
            self._may_point(node.name, node.init, before)

    def _may_point(self, name: str, value: Any, before: int) -> None:
        """Enters what a pointer may point into that is set to a value, which was visited from `before` on."""
        into = self.aliases.setdefault(name, [])
        for use in self.found[before:]:
            if isinstance(use.path.type, Pointer | Vector):
                into.append(_beneath(use.path))
            elif use.kind == "address":
                into.append(use.path)
        into += [part.name for part in nodes(value) if isinstance(part, c_ast.ID)]

    def _for(self, node: c_ast.For, where: Where) -> None:
        declared = node.init.decls if isinstance(node.init, c_ast.DeclList) else ()
        for part in declared or (node.init,):
            self.visit(part, where.deciding)
        inner = where
        for declaration in declared:
            inner = inner.hides(declaration.name)
        before = len(self.found)
        self._condition(node.cond, inner)
        first = self._first(node, inner)
        guard = None if first is None else Guard(first, tuple(self.found[before:]))
        inner = inner if node.cond is None else inner.under(guard)
        inner = self._inside(node.stmt, inner)
        self.visit(node.stmt, inner)
        self.visit(node.next, inner.deciding)

    def _inside(self, body: Any, where: Where) -> Where:
        """In a body that may be left early, nothing is sure to happen."""
        leaves = any(isinstance(part, _LEAVES) for part in nodes(body))
        return where.maybe() if leaves else where

    def _first(self, node: c_ast.For, where: Where) -> Any:
        """The test before the first iteration as one of values before the loop, if that is one."""
        match node.init:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=start):
                found = self.scope.find(name)
                ctype = found.type if isinstance(found, Variable) and name not in where.hidden else None
            case c_ast.DeclList(decls=[c_ast.Decl(name=name, init=start) as declaration]) if (
                start is not None
            ):
                ctype = self.scope.child().resolve(declaration.type)
            case _:
                return None
        if not isinstance(ctype, Basic) or node.cond is None:
            return None
        return self._plain(_substituted(node.cond, name, _typed(start, ctype.name)), where)

    def _plain(self, test: Any, where: Where) -> Any:
        """The test, if the host can compute it before the region."""
        for part in nodes(test):
            match part:
                case c_ast.ID(name=name) if name in where.hidden | self.assigned:
                    return None
                case c_ast.FuncCall() | c_ast.Assignment():
                    return None
                case c_ast.UnaryOp(op=op) if op in _CHANGES or op == "&":
                    return None
        return test

    def _guarded(
        self, test: Any, where: Where, inside: Where, yes: Any, no: Any = None, truth: bool = False
    ) -> None:
        before = len(self.found)
        self._condition(test, where)
        plain = self._plain(test, where)
        reads = tuple(self.found[before:])
        start = len(self.found)
        for part, holds in ((yes, True), (no, False)):
            if part is not None:
                within = inside.under(
                    None if plain is None else Guard(plain, reads, holds), (id(test), holds)
                )
                (self._condition if truth else self.visit)(part, within)
        if plain is None and yes is not None and no is not None:
            self.found += self._on_both(id(test), start, inside)

    def _on_both(self, branch: int, start: int, where: Where) -> list[Use]:
        """The objects that both sides of a branch access, as those of the place where it is."""
        sides: dict[bool, dict[str, Path]] = {True: {}, False: {}}
        for use in self.found[start:]:
            *around, last = use.where.unsure or (None,)
            same = last is not None and (*around, last[0]) == (*where.unsure, branch)
            if last is not None and same and use.kind != "address" and use.where.guards == where.guards:
                parts = map(use.path.cut, range(1, len(use.path.steps) + 1))
                sides[last[1]] |= {part.text: part for part in parts}
        return [Use(None, path, "read", where) for text, path in sides[True].items() if text in sides[False]]

    def _condition(self, node: Any, where: Where) -> None:
        """What counts as true or false: a pointer is tested for NULL."""
        if self._is_pointer(node, where):
            self._pointer(node, node, where)
        elif isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            self.visit(node, where)
        elif node is not None:
            self.visit(node, where.deciding)

    def _test(self, node: Any, where: Where) -> None:
        match node:
            case c_ast.UnaryOp():
                self._condition(node.expr, where)
            case c_ast.BinaryOp(left=left, right=right) if _null(right) and self._is_pointer(left, where):
                self._pointer(node, left, where)
            case c_ast.BinaryOp(left=left, right=right) if _null(left) and self._is_pointer(right, where):
                self._pointer(node, right, where)
            case _:
                self.visit(node.left, where)
                self.visit(node.right, where)

    def _is_integer(self, node: Any, where: Where) -> bool:
        """Whether it is a variable that subscripts may be computed of."""
        match Typing(self.scope, where.hidden).path(node):
            case Path(steps=(), type=Basic(name)):
                return not is_floating(name)
        return False

    def _is_pointer(self, node: Any, where: Where) -> bool:
        path = Typing(self.scope, where.hidden).path(node)
        return path is not None and isinstance(path.type, Pointer)

    def _pointer(self, test: Any, node: Any, where: Where) -> None:
        """A test of the pointer `node` for NULL."""
        path = Typing(self.scope, where.hidden).path(node)
        assert path is not None
        self.found.append(Use(test, path, "test", where))
        self._subscripts(node, where)

    def _lvalue(self, node: Any, where: Where, kind: str) -> None:
        path = Typing(self.scope, where.hidden).path(node)
        if path is not None:
            self.found.append(Use(node, path, kind, where))
        elif kind != "read":
            self._indirect(node)
        self._subscripts(node, where)

    def _indirect(self, node: Any) -> None:
        """A store through a pointer of the region's own, or through an expression."""
        names = [part.name for part in nodes(node) if isinstance(part, c_ast.ID)]
        self.through += names
        for name in names:
            found = self.scope.find(name)
            if isinstance(found, Variable) and isinstance(found.type, Pointer | Vector):
                self.found.append(Use(None, Path(found, (), found.type), "address", Where()))

    def _subscripts(self, node: Any, where: Where) -> None:
        """What an lvalue reads on its way."""
        match node:
            case c_ast.ArrayRef():
                self._base(node.name, where)
                self.visit(node.subscript, where.deciding)
            case (
                c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+" | "-") as total)
                | c_ast.StructRef(type="->", name=c_ast.BinaryOp(op="+" | "-") as total)
            ):
                self._base(total.left, where)
                self.visit(total.right, where.deciding)
            case c_ast.StructRef():
                self._base(node.name, where)
            case c_ast.UnaryOp(op="*"):
                self._base(node.expr, where)
            case c_ast.ID() | None:
                pass
            case _:
                for child in node:
                    self.visit(child, where)

    def _base(self, node: Any, where: Where) -> None:
        """Within an lvalue: found already where that has a path of its own."""
        if Typing(self.scope, where.hidden).path(node) is not None:
            self._subscripts(node, where)
        else:
            self.visit(node, where)

    def _argument(self, node: Any, where: Where) -> None:
        path = Typing(self.scope, where.hidden).path(node)
        if path is not None and isinstance(path.type, Pointer | Vector):
            self.found.append(Use(None, _beneath(path), "address", where))
        self.visit(node, where)


def _beneath(path: Path) -> Path:
    assert isinstance(path.type, Pointer | Vector)
    return path.to(ANY, path.type.target if isinstance(path.type, Pointer) else path.type.element)


def _null(node: Any) -> bool:
    match node:
        case c_ast.Constant(value="0" | "0L" | "nullptr"):
            return True
        case c_ast.Cast(expr=inner):
            return _null(inner)
    return False


def _typed(node: Any, ctype: str) -> Any:
    """The value converted to the type, unless it has it at one glance."""
    if ctype == "int" and isinstance(node, c_ast.Constant) and node.type == "int":
        return node
    declared = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(ctype.split()))
    return c_ast.Cast(c_ast.Typename(None, [], None, declared), node)


def _substituted(node: Any, name: str, value: Any) -> Any:
    """A copy of an expression with `value` for the variable."""
    match node:
        case c_ast.ID():
            return value if node.name == name else node
        case c_ast.StructRef():  # the member may have the variable's name
            base = _substituted(node.name, name, value)
            return c_ast.StructRef(base, node.type, node.field, node.coord)
    return rebuilt(node, lambda child: _substituted(child, name, value))


def rebuilt(node: Any, change: Any) -> Any:
    """The node with its children changed; the same node where none is."""
    if not isinstance(node, c_ast.Node):
        return node
    changed = {}
    slots = (slot for kind in type(node).__mro__ for slot in getattr(kind, "__slots__", ()))
    for slot in (s for s in slots if s not in ("coord", "__weakref__")):
        old = getattr(node, slot)
        if isinstance(old, list):
            new: Any = [change(e) if isinstance(e, c_ast.Node) else e for e in old]
            same = all(a is b for a, b in zip(old, new, strict=True))
        else:
            new = change(old) if isinstance(old, c_ast.Node) else old
            same = new is old
        if not same:
            changed[slot] = new
    if not changed:
        return node
    made = copy(node)
    for slot, value in changed.items():
        setattr(made, slot, value)
    return made
