"""Replaces what a region cannot change by names of its own, which the host reads once before the region.

    for (i = 0; i < img->w; i++) img->data[i] = 0;    ->    for (i = 0; i < img_w; i++) img_data[i] = 0;

A scalar is replaced where no store of the region names it; that no other store reaches it is for the host
file to test. Pointers in structures become pointers, arrays in them arrays. What a pointer leads to is read
early only where the source reads it too: `(0 < n ? s->x : 0)` where a loop over n alone does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import field
from functools import cached_property
from typing import Any

from pycparser import c_ast

from polygpu.frontend.hoist.paths import Field, Index, Path
from polygpu.frontend.hoist.safety import Condition, Safety
from polygpu.frontend.hoist.uses import Use, Uses, Where, rebuilt
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import (
    Basic,
    CType,
    Pointer,
    Qualified,
    Vector,
    element_of,
    rank,
    refusal_of,
    tables,
)
from polygpu.frontend.read.state import Named, source_text
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import is_floating
from polygpu.model.scop import Given
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True)
class Hoisted:
    """The object at `path` under a name of its own. `kind` is "scalar" or "pointer", of which the value is
    read, "array", "table" (of pointers to rows) or "place", which are used where they are, or "test", of a
    pointer for NULL.

    The host reads it where `guard` holds.
    """

    variable: Variable
    path: Path
    kind: str
    guard: Condition
    subscripts: tuple[Variable, ...] = ()  # that lead to it

    @property
    def host(self) -> str:
        """The C expression for the value, or for the address of the first element."""
        text = self.path.text
        match self.kind:
            case "test":
                return f"({self._guarded(text)} != 0)"
            case "array":
                text = f"&{text}{'[0]' * rank(self.path.type)}"
            case "place":
                text = f"&{text}"
        return self._guarded(text)

    @property
    def value(self) -> str:
        """What the region has it for: of a place, what the host has there at the region's start."""
        return self._guarded(self.path.text) if self.kind == "place" else self.host

    def address_of(self, path: Path) -> str:
        """The C expression for where an object on the way is."""
        text = f"&{path.text}"
        return self._guarded(f"(const void *){text}") if path.loaded else text

    @property
    def kept(self) -> list[Path]:
        """The objects whose values are read once: it, and all that leads to it."""
        path = self.path
        ways = [path.cut(k) for k, t in enumerate(path.types) if isinstance(t, Pointer)]
        own = [path] if self.kind in ("scalar", "pointer", "test") and path.steps else []
        return [*ways, *own, *(Path(v, (), v.type) for v in self.subscripts), *self.guard.reads]

    @property
    def optional(self) -> bool:
        """Whether the host may leave it alone."""
        return bool(self.guard.text)

    def _guarded(self, text: str) -> str:
        return f"({self.guard.text} ? {text} : 0)" if self.guard.text else text

    @property
    def moves(self) -> bool:
        """Whether it may be the same object as another one that is written otherwise."""
        indices = (step for step in self.path.steps if isinstance(step, Index))
        return self.path.pointed or any(step.value is None for step in indices)

    @property
    def storage(self) -> str:
        if self.kind == "pointer" or self.moves:
            return "parameter"
        return "global" if self.path.root.place == "global" else "local"

    def derived(self, changed: frozenset[str]) -> bool:
        """Whether the function may have made the pointer that leads to it from another one."""
        root = self.path.root
        return (
            self.kind in ("pointer", "table")
            or bool(self.path.loaded)
            or root.place != "parameter"
            or root.name in changed
        )

    @property
    def given(self) -> Iterator[Given]:
        """What sets it up where the region stands alone: it, and the subscripts that lead to it."""
        path, root = self.path, self.path.root
        for v in self.subscripts:
            yield Given(v.name, "subscript", v.name, v.name, "", (), _name_of(v.type))
        pointers = tuple(
            (path.cut(k).text, step.text)
            for k, (step, ctype) in enumerate(zip(path.steps, path.types, strict=True))
            if isinstance(step, Index) and (isinstance(ctype, Pointer) or not k)
        )
        name, ctype = self.variable.name, _name_of(path.type)
        yield Given(name, self.kind, path.text, root.name, declaration_of(root), pointers, ctype)


def _name_of(ctype: CType) -> str:
    return ctype.name if isinstance(ctype, Basic) else ""


def declaration_of(root: Variable) -> str:
    """The variable as one that can be assigned; an array as a pointer to its elements."""
    node = deepcopy(root.node)
    ctype = node.type
    if isinstance(ctype, c_ast.ArrayDecl):
        ctype = c_ast.PtrDecl([], ctype.type)
    for part in nodes(ctype):
        if isinstance(part, c_ast.TypeDecl | c_ast.PtrDecl):
            part.quals = []
    return source_text(c_ast.Decl(node.name, [], [], [], [], ctype, None, None))


@dataclass(frozen=True)
class Reason:
    """Why a structure cannot be taken apart, and what to do."""

    text: str
    help: str


@dataclass
class Hoisting:
    """Grows while a region is searched. `taken` says whether the file has a name already."""

    uses: Uses
    taken: Callable[[str], bool]
    writes: list[Path]
    found: dict[tuple[str, str], Hoisted] = field(default_factory=dict)
    replaced: dict[int, Hoisted] = field(default_factory=dict)  # by the identity of a node
    tables: frozenset[str] = frozenset()  # what has pointers to rows that are told by subscripts
    reasons: dict[str, Reason] = field(default_factory=dict)  # by the names of variables

    def stable(self, path: Path) -> bool:
        """Whether it is the same object throughout the region, and no store names it."""
        return self.fixed(path) and not any(map(path.conflicts, self._stores.get(id(path.root), ())))

    @cached_property
    def _stores(self) -> dict[int, list[Path]]:
        """The writes by the identities of their variables."""
        found: dict[int, list[Path]] = {}
        for path in self.writes:
            found.setdefault(id(path.root), []).append(path)
        return found

    def fixed(self, path: Path) -> bool:
        return all(self._same(step) for step in path.steps if isinstance(step, Index))

    def _same(self, index: Index) -> bool:
        """Whether a subscript is the same throughout, computed of variables and constants alone."""
        if index.value is not None:
            return True
        return index.node is not None and all(map(self._invariant, nodes(index.node)))

    def _invariant(self, node: Any) -> bool:
        match node:
            case c_ast.ID(name=name):
                found = self.uses.scope.find(name)
                plain = isinstance(found, Variable) and isinstance(found.type, Basic)
                return plain and name not in self.uses.assigned and name not in self.uses.declared
            case c_ast.BinaryOp() | c_ast.Constant():
                return True
            case c_ast.UnaryOp(op="-" | "+"):
                return True
        return False


def hoist(
    items: tuple[Any, ...], scope: Scope, assigned: frozenset[str], taken: Callable[[str], bool]
) -> tuple[tuple[Any, ...], dict[str, Hoisted], dict[str, Reason]]:
    """The statements with names for what was hoisted, these by name, and why other variables are left whole.

    `assigned` are the names of variables that the region changes.
    """
    uses = Uses(scope, assigned)
    leaves = (isinstance(part, c_ast.Goto | c_ast.Return) for item in items for part in nodes(item))
    uses.block(items, Where().maybe() if any(leaves) else Where())
    made = Hoisting(uses, taken, uses.written())
    _choose(made)
    new = tuple(_rewritten(item, made) for item in items)
    return new, {h.variable.name: h for h in made.found.values()}, made.reasons


def _rewritten(node: Any, made: Hoisting) -> Any:
    if hoisted := made.replaced.get(id(node)):
        name = Named(hoisted.variable.name, node.coord)
        name.original = source_text(node)
        equal = hoisted.kind == "test" and isinstance(node, c_ast.BinaryOp) and node.op == "=="
        return c_ast.UnaryOp("!", name, node.coord) if equal else name
    return rebuilt(node, lambda child: _rewritten(child, made))


def _choose(made: Hoisting) -> None:
    safety = Safety(made.stable)
    safety.enter(made.uses.found)
    uses = [use for use in made.uses.found if use.node is not None]
    made.tables = frozenset(text for use in uses if (text := _table(made, use)) is not None)
    chosen = _accepted(made, safety, uses, _scalar)
    groups: dict[tuple[Variable, str], list[Use]] = {}
    for use in uses:
        if id(use.node) not in chosen:
            groups.setdefault((use.path.root, use.path.cut(_base(made, use)).text), []).append(use)
    for group in groups.values():
        choose = _part if any(_apart(made, use) for use in group) else _pointer
        parts = _accepted(made, safety, group, choose)
        left = [use for use in group if id(use.node) not in parts]
        if left and choose is _part and not any(_apart(made, use, pointers=True) for use in group):
            wholes = _accepted(made, safety, group, _pointer)  # with pointers that are of no account
            if all(id(use.node) in wholes for use in group):
                parts, left = wholes, []
        if not left:
            chosen |= parts
        elif _base(made, left[0]) or choose(made, left[0]) is not None:
            made.reasons.setdefault(left[0].path.root.name, _reason(made, left[0], choose(made, left[0])))
    _enter(made, uses, chosen)


Chosen = dict[int, tuple[str, Path, Condition]]  # kind, object and guard by the identity of a use's node


def _accepted(
    made: Hoisting,
    safety: Safety,
    uses: list[Use],
    choose: Callable[[Hoisting, Use], tuple[str, Path] | None],
) -> Chosen:
    """What can be hoisted, of all uses of one object or of none."""
    wanted: dict[tuple[str, str], list[tuple[Use, Path]]] = {}
    for use in uses:
        if (choice := choose(made, use)) is not None:
            wanted.setdefault((choice[0], choice[1].text), []).append((use, choice[1]))
    found: Chosen = {}
    for (kind, _), of in wanted.items():
        path = of[0][1]
        own = [use for use, _ in of]
        guard = safety.guard(path, own)
        if guard is not None:
            found |= {id(use.node): (kind, path, guard) for use, _ in of}
    return found


def _scalar(made: Hoisting, use: Use) -> tuple[str, Path] | None:
    """A value that is only read: of a member, or of an element that decides about more than itself."""
    path = use.path
    if not made.stable(path):
        return None
    if use.kind == "test":
        return "test", path
    if use.kind != "read" or not isinstance(path.type, Basic) or not path.steps:
        return None
    member = any(isinstance(step, Field) for step in path.steps)
    decides = use.where.integer and not is_floating(path.type.name)
    return ("scalar", path) if member or decides else None


def _reason(made: Hoisting, use: Use, part: tuple[str, Path] | None) -> Reason:
    """Why what is used cannot be hoisted, though `part` of it might be."""
    path = part[1] if part else use.path.cut(_base(made, use) or len(use.path.steps))
    if not made.fixed(path):
        return Reason(f"'{path.text}' is another one in each iteration", "use separate arrays")
    if part is None:
        return Reason(f"'{path.text}' is changed in the region", "set it before the region")
    help_text = "copy it to a local variable where it is known to be there"
    return Reason(f"'{path.text}' may not be there whenever the region is reached", help_text)


def _base(made: Hoisting, use: Use) -> int:
    """How many steps lead to the last pointer on the way; 0 where that is the variable itself, if any.

    Of rows that subscripts tell, it is what has the pointers to them.
    """
    last = _last_pointer(use)
    return next((k for k in range(last) if use.path.cut(k).text in made.tables), last)


def _table(made: Hoisting, use: Use) -> str | None:
    """What has the pointers to rows, where the use is of rows that its subscripts tell."""
    path, last = use.path, _last_pointer(use)
    if not last or made.fixed(path.cut(last)):
        return None
    for k in range(last - 1, -1, -1):
        if not isinstance(path.steps[k], Index) or tables(path.cut(k).type) < last - k:
            return None
        if made.fixed(path.cut(k)):
            return path.cut(k).text
    return None


def _last_pointer(use: Use) -> int:
    path = use.path
    last = len(path.steps) - (use.kind == "write")
    return max((k for k in range(1, last + 1) if isinstance(path.cut(k).type, Pointer)), default=0)


def _pointer(made: Hoisting, use: Use) -> tuple[str, Path] | None:
    """The last pointer on the way, behind which are elements."""
    if use.kind == "test":
        return None
    part = use.path.cut(_base(made, use))
    kind = "pointer" if isinstance(part.type, Pointer) else "table"
    return (kind, part) if part.steps and made.stable(part) else None


def _part(made: Hoisting, use: Use) -> tuple[str, Path] | None:
    """The member that is used, of the one structure behind the last pointer on the way."""
    for count in range(_base(made, use) + 1, len(use.path.steps) + 1):
        part = use.path.cut(count)
        if isinstance(part.steps[-1], Field) and isinstance(part.type, Vector | Basic):
            kind = "array" if isinstance(part.type, Vector) else "place"
            return (kind, part) if made.fixed(part) else None
    return None


def _apart(made: Hoisting, use: Use, pointers: bool = False) -> bool:
    """Whether the members of a structure have to be taken one by one.

    The device has no such structure, maybe for its `pointers`, or the elements of a member array are not
    named one by one.
    """
    base, path = _base(made, use), use.path
    if base == len(path.steps):
        return False
    for place in range(base + 1, len(path.steps)):
        step, before = path.steps[place], path.steps[place - 1]
        if isinstance(before, Field) and isinstance(step, Index) and step.value is None:
            return True
    element = element_of(path.cut(base).type)
    return isinstance(element, Qualified) and bool(refusal_of(element.record, pointers))


def _enter(made: Hoisting, uses: list[Use], chosen: Chosen) -> None:
    for use in uses:
        if (choice := chosen.get(id(use.node))) is None:
            continue
        kind, path, guard = choice
        key = kind, path.text
        if key not in made.found:
            variable = _variable(made, path, kind)
            made.found[key] = Hoisted(variable, path, kind, guard, tuple(_subscripts(made, path)))
        made.replaced[id(_inner(use, path, kind))] = made.found[key]


def _subscripts(made: Hoisting, path: Path) -> Iterator[Variable]:
    for step in path.steps:
        for part in nodes(step.node) if isinstance(step, Index) and step.node is not None else ():
            found = made.uses.scope.find(part.name) if isinstance(part, c_ast.ID) else None
            if isinstance(found, Variable):
                yield found


def _variable(made: Hoisting, path: Path, kind: str) -> Variable:
    text = re.sub(r"__(re|im)\w+__ (.*)", r"\2_\1", path.text)  # parts of complex numbers
    name = re.sub(r"\W+", "_", text).strip("_") + ("_given" if kind == "test" else "")
    names = {h.variable.name for h in made.found.values()}
    while made.taken(name) or name in names:
        name += "_"
    ctype = Basic("int") if kind == "test" else _own(path.type)
    place = "parameter" if kind == "pointer" or path.pointed else "local"
    return Variable(name, ctype, place, path.root.node, None, () if path.pointed else path.root.storage)


def _own(ctype: CType) -> CType:
    """The type as that of a variable: extents of arrays are nodes, and nothing is restricted."""
    match ctype:
        case Vector(element, int() as extent, scope, words):
            return Vector(_own(element), c_ast.Constant("int", str(extent)), scope, words)
        case Pointer(target, words):
            return Pointer(target, words - {"restrict"})
    return ctype


def _inner(use: Use, path: Path, kind: str) -> Any:
    """The node within that of the use that names the object."""
    node, steps = use.node, len(use.path.steps)
    if kind == "test":
        return node
    while steps > len(path.steps) or isinstance(node, c_ast.ExprList):
        match node:
            case c_ast.ExprList(exprs=[inner]):
                node = inner
            case c_ast.StructRef(type="->", name=c_ast.BinaryOp(left=left)):
                node, steps = left, steps - 2
            case c_ast.StructRef(type="->"):
                node, steps = node.name, steps - 2
            case c_ast.StructRef() | c_ast.ArrayRef():
                node, steps = node.name, steps - 1
            case c_ast.UnaryOp(expr=c_ast.BinaryOp(left=left)):
                node, steps = left, steps - 1
            case c_ast.UnaryOp(expr=inner):
                node, steps = inner, steps - 1
            case _:
                raise AssertionError(f"no object is named by {source_text(node)}")
    return node
