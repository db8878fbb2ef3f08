"""Whether a variable's value is used after a region, by structured backward analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names import lending
from polygpu.frontend.text.nodes import nodes, parts_of, remembered
from polygpu.support.dataclass import dataclass

_READING = frozenset({"scanf", "sscanf", "fscanf"})
_WHOLE, _OTHERS = None, ""  # in the place of a member: the structure; the members that are never named


@dataclass(frozen=True)
class Block:
    """Items `start` to `end` (exclusive) of `node`, a block of the function; or `node` itself, a loop."""

    node: Any
    start: int
    end: int


def live_after(
    body: Any, region: Block, declaration: Any, partial: bool = False, members: Set[str] = frozenset()
) -> bool:
    """Whether the value that the variable has at the region's end may be read: that of any of its `members`.

    `partial` holds for arrays, of which an assignment replaces only a part. Jumps back by goto, and a
    variable whose address is taken, count as a use.
    """
    name = declaration.name
    if address_kept(body, name) or jumps_back(body):
        return True
    named = _members(body, name)
    parts: tuple[str | None, ...] = (_WHOLE,)
    if members and named <= members:  # not of a structure within that has no name
        parts = (*sorted(named), *((_OTHERS,) if members - named else ()))
    analyses = [_Analysis(region, declaration, partial, part) for part in parts]
    for analysis in analyses:
        analysis.before(body, False)
    return any(analysis.answer for analysis in analyses)


def read_first(items: Sequence[Any], declaration: Any, after: bool) -> bool:
    """Whether the value that the variable has before the items may be read in them, or if so `after` them."""
    if any(address_taken(item, declaration.name) for item in items):
        return True
    analysis = _Analysis(Block(declaration, 0, 0), declaration, False)
    return analysis.before(c_ast.Compound(list(items)), after)


@remembered
def jumps_back(tree: Any) -> bool:
    """Whether a `goto` goes to a label before it."""
    labels: set[str] = set()
    for node in nodes(tree):
        if isinstance(node, c_ast.Label):
            labels.add(node.name)
        elif isinstance(node, c_ast.Goto) and node.name in labels:
            return True
    return False


def address_taken(tree: Any, name: str) -> bool:
    """Whether `&` is applied to the variable or to a part of it."""
    return name in _addressed(tree)


def address_kept(tree: Any, name: str) -> bool:
    """Whether a pointer may hold the variable's address, or that of a part, for longer than a call that may
    assign to it: of a function of the C library that reads values into variables, or one that it is lent.
    """
    return name in _kept(tree)


@remembered
def _addressed(tree: Any) -> frozenset[str | None]:
    return frozenset(map(_whole, _taken(tree)))


@remembered
def _kept(tree: Any) -> frozenset[str | None]:
    brief = {
        id(given.expr)
        for call in nodes(tree)
        if isinstance(call, c_ast.FuncCall) and isinstance(call.name, c_ast.ID) and call.name.name in _READING
        for given in (call.args.exprs if call.args else ())
        if isinstance(given, c_ast.UnaryOp) and given.op == "&" and isinstance(given.expr, c_ast.ID)
    }
    brief |= {id(node.expr) for node in nodes(tree) if isinstance(node, lending.UnaryOp)}
    return frozenset(_whole(part) for part in _taken(tree) if id(part) not in brief)


def _taken(tree: Any) -> Iterator[Any]:
    return (node.expr for node in nodes(tree) if isinstance(node, c_ast.UnaryOp) and node.op == "&")


def _whole(part: Any) -> str | None:
    """The name of the variable that an lvalue such as `a[i].x` is a part of."""
    while isinstance(part, c_ast.ArrayRef | c_ast.StructRef):
        part = part.name
    return str(part.name) if isinstance(part, c_ast.ID) else None


def mentions(tree: Any, name: str) -> bool:
    """Whether an expression or statement names the variable at all."""
    return name in _named(tree)


@remembered
def _named(tree: Any) -> frozenset[str]:
    return frozenset(node.name for node in nodes(tree) if isinstance(node, c_ast.ID))


@remembered
def _used(tree: Any) -> frozenset[tuple[str, str | None]]:
    """The names in a tree, each with the member of it that is named, or as a whole."""
    parts = [n for n in nodes(tree) if isinstance(n, c_ast.StructRef)]
    of_variables = [n for n in parts if n.type == "." and isinstance(n.name, c_ast.ID)]
    members = {id(n.field) for n in parts} | {id(n.name) for n in of_variables}
    whole = {(n.name, _WHOLE) for n in nodes(tree) if isinstance(n, c_ast.ID) and id(n) not in members}
    return frozenset(whole | {(n.name.name, n.field.name) for n in of_variables})


def _members(tree: Any, name: str) -> set[str]:
    return {member for variable, member in _used(tree) if variable == name and member is not None}


def free_names(items: Sequence[Any], bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names used but not declared in a sequence of nodes."""
    for node in items:
        if isinstance(node, c_ast.ID):
            if node.name not in bound:
                yield node.name
            continue
        yield from free_names(list(node), bound)
        if isinstance(node, c_ast.Decl) and node.name:
            bound |= {node.name}
        elif isinstance(node, c_ast.DeclList):
            bound |= {declaration.name for declaration in node.decls}


@remembered
def assigned_names(node: Any) -> frozenset[str]:
    """Names assigned or incremented in a tree, but for the iterators in headers of loops."""
    return frozenset(_assigned(node))


def _assigned(node: Any) -> Set[str]:
    found: set[str] = set()
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            found.add(name)
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" | "&", expr=c_ast.ID(name=name)):
            found.add(name)
        case c_ast.For():
            return assigned_names(node.stmt) | _header_names(node)
        case c_ast.Compound():
            return found.union(*map(assigned_names, node))
    return found.union(*map(_assigned, node))


def _header_names(node: Any) -> set[str]:
    """Names that the header changes besides its iterator."""
    names = {
        name
        for part in (node.init, node.cond, node.next)
        if part is not None
        for name in assigned_names(part)
    }
    return names - {iterator_name(node)}


def iterator_name(node: Any) -> str:
    """The name that a `for` header steps and tests, or else sets; the first of several, "" for none."""
    if own := getattr(node, "iterator", ""):  # a counter that the source does not have
        return str(own)
    for part in parts_of(node.next):
        name = changed_name(part)
        if name and node.cond is not None and mentions(node.cond, name):
            return name
    match node.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)):
            return str(name)
        case c_ast.DeclList(decls=[declaration]):
            return str(declaration.name)
    return ""


def changed_name(node: Any) -> str:
    """The name that a part of a `for` header changes, "" for none."""
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            return str(name)
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--", expr=c_ast.ID(name=name)):
            return str(name)
    return ""


@dataclass
class _Analysis:
    """`before(node, after)`: is the value read at or after `node`, given that for after it?

    That of a `member`, if there is one.
    """

    region: Block
    declaration: Any
    partial: bool
    member: str | None = None
    answer: bool = False
    exits: list[tuple[bool, bool]] = field(default_factory=list)  # live at (break, continue)
    entered: bool = False  # live at a case of the innermost switch
    labels: dict[str, bool] = field(default_factory=dict)  # live at those behind what is looked at

    @property
    def name(self) -> str:
        return str(self.declaration.name)

    def before(self, node: Any, after: bool) -> bool:
        if isinstance(node, c_ast.Assignment) and not self._reads(node):
            return after
        if node is self.region.node and isinstance(node, c_ast.For):
            self.answer |= after
        match node:
            case None:
                return after
            case c_ast.Compound():
                return self._block(node, node.block_items or [], after)
            case c_ast.If():
                branches = self.before(node.iftrue, after) or self.before(node.iffalse, after)
                return self._reads(node.cond) or branches
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return self._loop(node, after)
            case c_ast.Switch():
                return self._switch(node, after)
            case c_ast.Case() | c_ast.Default():
                entry = self._block(node, node.stmts or [], after)
                self.entered |= entry
                return entry
            case c_ast.Label() | c_ast.Goto():
                return self._label(node, after)
            case c_ast.Return():
                return node.expr is not None and self._reads(node.expr)
            case c_ast.Break() | c_ast.Continue():
                live = self.exits[-1] if self.exits else (after, after)
                return live[isinstance(node, c_ast.Continue)]
        return self._simple(node, after)

    def _label(self, node: Any, after: bool) -> bool:
        if isinstance(node, c_ast.Label):
            self.labels[node.name] = self.before(node.stmt, after)
        return self.labels.get(node.name, True)

    def _switch(self, node: c_ast.Switch, after: bool) -> bool:
        """Enters at any of its cases, wherever in the body they stand, or at none."""
        outer, self.entered = self.entered, after
        self.exits.append((after, self.exits[-1][1] if self.exits else after))
        self.before(node.stmt, after)
        self.exits.pop()
        entered, self.entered = self.entered, outer
        return self._reads(node.cond) or entered

    def _block(self, node: Any, items: Sequence[Any], after: bool) -> bool:
        shadow = next((k for k, item in enumerate(items) if self._declares(item)), len(items))
        live = after
        for index in range(len(items) - 1, -1, -1):
            if node is self.region.node and index == self.region.end - 1:
                self.answer |= live
            if index <= shadow:
                live = self.before(items[index], after if index == shadow else live)
        if node is self.region.node and not self.region.start < self.region.end:
            self.answer |= live
        return live

    def _declares(self, item: Any) -> bool:
        """Another variable of the name, which hides this one."""
        return isinstance(item, c_ast.Decl) and item.name == self.name and item is not self.declaration

    def _loop(self, node: Any, after: bool) -> bool:
        declared = node.init.decls if isinstance(getattr(node, "init", None), c_ast.DeclList) else ()
        if any(self._declares(item) for item in declared):
            return after or any(self._reads(d.init) for d in declared if d.init is not None)
        following = getattr(node, "next", None)
        condition = node.cond is not None and self._reads(node.cond)
        head = condition or after
        for _ in range(2):  # a second round sees what the first found at the loop's end
            end = self._simple(following, head)
            self.exits.append((after, end))
            body = self.before(node.stmt, end)
            self.exits.pop()
            head = head or body
        if isinstance(node, c_ast.DoWhile):
            return body
        return self._simple(getattr(node, "init", None), head)

    def _simple(self, node: Any, after: bool) -> bool:
        """An expression or declaration."""
        match node:
            case None:
                return after
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == self.name:
                return self._reads(node.rvalue) or (after and self.partial)
            case c_ast.Assignment(op="=", lvalue=c_ast.StructRef(type=".", name=c_ast.ID(name=name))) if (
                name == self.name and node.lvalue.field.name == self.member
            ):
                return self._reads(node.rvalue)
            case c_ast.ExprList() | c_ast.DeclList():
                for part in reversed(parts_of(node)):
                    after = self._simple(part, after)
                return after
            case c_ast.Decl():
                if node is self.declaration:  # whatever was there before is another value
                    after = False
                return after or (node.init is not None and self._reads(node.init)) or self._extent_reads(node)
        return after or self._reads(node)

    def _extent_reads(self, node: Any) -> bool:
        return node.type is not None and mentions(node.type, self.name)

    def _reads(self, node: Any) -> bool:
        if self.member is None:
            return mentions(node, self.name)
        return not _used(node).isdisjoint({(self.name, _WHOLE), (self.name, self.member)})
