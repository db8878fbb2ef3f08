"""What is known while one region is lifted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from collections.abc import Iterator as Iterable
from contextlib import contextmanager
from copy import copy
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from pycparser import c_ast, c_generator

from polygpu.frontend.names.liveness import mentions
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import CType
from polygpu.frontend.read.promises import Promise
from polygpu.frontend.shape.affine import Affine
from polygpu.frontend.shape.products import Product, Products
from polygpu.frontend.text.expansion import Expansion
from polygpu.frontend.text.parse import Positions
from polygpu.frontend.text.source import Source
from polygpu.model.expr import Call, Expr
from polygpu.model.scop import Action, Assumption, Conversion, Loop, Untaken
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic, collecting
from polygpu.support.position import Position


@dataclass(frozen=True)
class Iterator:
    """An active loop's counter: `name` in the scop, `type` as declared."""

    name: str
    type: str


@dataclass(frozen=True)
class Local:
    """A variable of one statement instance (Let)."""

    name: str
    type: str


@dataclass(frozen=True)
class Substitute:
    """An integer whose value is known: `value` stands for it, converted to `type`."""

    value: Expr
    type: str


@dataclass(frozen=True)
class Address:
    """A pointer value: the element of `array` at `subscripts`, the last of which is an offset.

    `element` is the type pointed to.
    """

    array: RawArray
    subscripts: tuple[Expr, ...]
    element: CType


@dataclass(frozen=True)
class InMemory:
    """A value that is data: what the variable's element in memory holds, which is one of `among`, if any."""

    among: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Lost:
    """A value that nothing holds: of an iterator after its loop, or of a pointer that goes anywhere."""

    position: Position


@dataclass(frozen=True)
class Scalar:
    """A read-only scalar: a parameter of the region."""

    name: str
    type: str
    variable: Variable = field(compare=False)


@dataclass(frozen=True, eq=False)
class RawArray:
    """An array as declared, or a scalar that the region writes. `name` is unique in the scop."""

    name: str
    variable: Variable
    position: Position


Binding: TypeAlias = Iterator | Local | Substitute | Address | Scalar | RawArray
Value: TypeAlias = Substitute | Address | InMemory | Lost


@dataclass(frozen=True)
class Site:
    """One access of the source."""

    position: Position
    text: str


@dataclass(frozen=True)
class RawStatement:
    """A statement before arrays got their final shape. Its loop `ends` where it is first carried out."""

    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    domain: tuple[Expr, ...]
    schedule: tuple[int | str, ...]
    body: tuple[Action, ...]
    position: Position
    text: str
    ends: bool = False


@dataclass(frozen=True)
class FileContext:
    """What all regions of a file share. It may be said to be a `part` of a program of several files; of
    functions that others define, `refused` says why they are no part of it; the others are in the scope that
    is `beside` the file's, where they are not in this one.
    """

    source: Source
    expansion: Expansion
    root: Any
    positions: Positions
    scope: Scope
    part: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    beside: Scope | None = None

    def at(self, node: Any) -> Position:
        return self.positions.of(node)


@dataclass
class Region:
    """Grows while the statements of one region are walked.

    `written` names the scalars assigned in the region, `changed` those assigned anywhere in the
    function, `elsewhere` those that functions which it calls may assign, `reserved` the outer names
    that the region uses, `kept` the iterators that matter outside of their loops. `labels` are those of
    loops, by their coordinates, and `jumped_to` those that a `goto` of the function names; `promises` are
    those of loops, by the identity of their nodes. `hosts` is how the source has what is hoisted, by name,
    `reasons` why other variables are not taken apart, and what to do.

    `values` has what is known at the statement that is read now of the scalars and pointers that the region
    assigns (`read.values`), `starts` the scalars whose value at the region's start may be wanted, by what
    stands for it, `choices` what values an access that is read by its number may have, where data tell which,
    `constants` those that are constants then, `least` what iterators are not below, `pending` what `k++`
    within the expression that is read changes after it. `bounding` are the names in the headers of loops.
    `inside` says of what loops within an instance set why they are no loops of the nest. `units` are the
    scalars by which loops step, which are taken to be 1 and tested, `around` what loops of the host change.
    `within` has the loops around the declarations of the region's own variables, `since` says which variables
    the function may change behind one of its declarations. `untaken` are branches that are left out, and what
    is tested therefore.

    `moved` says how many elements further pointers are behind the region, where that matters.
    `apart` are pointers of which scalars say how far the first is behind the second.

    `spelled` says what the source calls what has a unique name. `problems` are why it can be none; the names
    in `unclear` are declared where there is one: what is wrong with their uses follows from that.
    """

    context: FileContext
    written: frozenset[str]
    changed: frozenset[str]
    elsewhere: frozenset[str]
    reserved: frozenset[str]
    kept: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    jumped_to: frozenset[str] = frozenset()
    promises: Mapping[int, Promise] = field(default_factory=dict)
    bindings: dict[Variable, Binding] = field(default_factory=dict)
    arrays: dict[Variable, RawArray] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    iterators: set[str] = field(default_factory=set)
    locals: set[str] = field(default_factory=set)
    bounding: set[str] = field(default_factory=set)
    inlined: dict[Call, Expr] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    statements: list[RawStatement] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    functions: dict[str, Any] = field(default_factory=dict)
    constants: dict[Variable, Expr] = field(default_factory=dict)
    values: dict[Variable, Value] = field(default_factory=dict)
    starts: dict[str, Scalar] = field(default_factory=dict)
    least: dict[str, frozenset[Expr]] = field(default_factory=dict)
    choices: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    pending: list[Action] = field(default_factory=list)
    following: bool = True
    inside: dict[str, Diagnosed] = field(default_factory=dict)
    units: dict[str, Position] = field(default_factory=dict)
    untaken: list[tuple[Untaken, Assumption]] = field(default_factory=list)
    around: frozenset[str] = frozenset()
    since: Callable[[Any], frozenset[str]] | None = None
    within: dict[Variable, tuple[int, ...]] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)
    trials: int = 0
    hosts: dict[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    apart: dict[str, tuple[RawArray, RawArray]] = field(default_factory=dict)
    moved: dict[Variable, Expr] = field(default_factory=dict)
    made: dict[Expr, Product] = field(default_factory=dict)
    products: Products = field(init=False)
    affine: Affine = field(init=False)

    def __post_init__(self) -> None:
        self.products = Products(self.scalars, self.hosts, self.unique, self.made)
        self.affine = Affine(self.locals, self.inlined, self.products.known)

    @contextmanager
    def trial(self) -> Iterable[None]:
        """Forgets all that is read within."""
        forget = self.saved()
        self.trials += 1
        try:
            yield
        finally:
            self.trials -= 1
            forget()

    def saved(self) -> Callable[[], None]:
        """What forgets all that is read from now on."""
        grown = {name: value for name, value in vars(self).items() if isinstance(value, dict | set | list)}
        saved = [copy(value) for value in grown.values()]

        def forget() -> None:
            for (name, value), before in zip(grown.items(), saved, strict=True):
                value.clear()
                (value.extend if isinstance(value, list) else value.update)(before)
                setattr(self, name, value)

        return forget

    def at(self, node: Any) -> Position:
        return self.context.at(node)

    @contextmanager
    def reading(self, node: Any) -> Generator[None]:
        """Collects what is wrong with the node: all of that is said at once. In a trial, it ends that."""
        found: list[Diagnostic] = []
        with collecting(found):
            yield
        if found and self.trials:
            raise Diagnosed(*found)
        if found and not any(mentions(node, name) for name in self.unclear):
            self.problems += found
        if found and isinstance(node, c_ast.Decl):
            self.unclear.add(node.name)

    def unique(self, name: str) -> str:
        """`name`, or `name_2` and so on where it is taken."""
        found, count = name, 1
        while found in self.names or found in self.reserved:
            count += 1
            found = f"{name}_{count}"
        self.names.add(found)
        self.spelled[found] = name
        return found

    def site(self, node: Any) -> int:
        """Numbers one access."""
        self.sites.append(Site(self.at(node), source_text(node)))
        return len(self.sites) - 1


class Named(c_ast.ID):  # type: ignore[misc]
    """A name in place of what is `original` in the source."""

    __slots__ = ("original",)


class _Generator(c_generator.CGenerator):  # type: ignore[misc]
    def visit_Named(self, node: Named) -> str:  # noqa: N802 - found by the class's name
        return str(node.original)


def source_text(node: Any) -> str:
    """The node as C, as the source has it."""
    text = _Generator(reduce_parentheses=True).visit(node)
    return " ".join(str(text).split())


class Reading(Protocol):
    """What reads the expressions of a region at a scope, as places and calls know it."""

    @property
    def region(self) -> Region: ...
    @property
    def scope(self) -> Scope: ...
    def at(self, scope: Scope) -> Reading: ...
    def value(self, node: Any) -> Expr: ...
    def variable(self, node: c_ast.ID) -> Variable: ...
    def binding(self, variable: Variable, node: Any) -> Binding: ...
