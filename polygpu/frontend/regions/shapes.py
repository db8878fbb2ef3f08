"""From raw statements to the scop's: final array shapes, affine subscripts, lists of accesses."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.allocations import allocated
from polygpu.frontend.names.arguments import size_in_calls
from polygpu.frontend.names.liveness import mentions
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import CType, Pointer, Vector, rank, tables
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.reasons import culprit, reason_for
from polygpu.frontend.read.state import RawArray, RawStatement, Region, source_text
from polygpu.frontend.read.unsupported import note, refusal
from polygpu.frontend.read.values import choices
from polygpu.frontend.residency.parts import is_program
from polygpu.frontend.shape.affine import Affine, add, counted, polynomial
from polygpu.frontend.shape.delinearize import (
    STRIDES,
    Shape,
    distributed,
    find_shape,
    inner_subscripts,
    is_parameter,
    subscripts_for,
    sums_in,
    with_known_extents,
)
from polygpu.frontend.shape.selects import implied
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.linear import conjuncts
from polygpu.model.rewrite import children, map_references, scalars_in
from polygpu.model.scop import Access, Action, Assumption, Branch, Let, Repeat, Statement, Store
from polygpu.model.updates import update
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic, collecting

_CHARACTER = re.compile(r"\\?.")
_STRING = re.compile(r'"(?:[^"\\]|\\[^0-7xuU])*"', re.ASCII)  # without characters by their numbers


@dataclass(frozen=True)
class Visit:
    """One reference of a body. `always`: it is made in every instance of the statement. `exposed`: nothing
    before it in the body is sure to have written the element.
    """

    reference: Reference
    write: bool
    always: bool
    guards: tuple[Expr, ...] = ()
    exposed: bool = True


Element: TypeAlias = tuple[str, str, tuple[Expr, ...]]
# array, member, subscripts: one element in each instance


@dataclass
class Shaped:
    """The final statements and what was assumed for them."""

    statements: list[Statement] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    extents: dict[RawArray, tuple[Expr | None, ...]] = field(default_factory=dict)


def shape(reader: Reader) -> Shaped:
    """Writes whose subscript is not affine, and the like, are among the region's problems then."""
    region = reader.region
    shaped = Shaped()
    by_name = {array.name: array for array in region.arrays.values()}
    visits = [v for raw in region.statements for v in _Finder(region.affine).of_body(raw.body)]
    updated = _updated(region)
    apart = _written_apart(region) | updated
    region.least.update(_least(region, visits))
    shapes: dict[str, Shape] = {}
    for array in list(by_name.values()):
        own = [v for v in visits if v.reference.array == array.name]
        with collecting(region.problems):
            known = _with_size(reader, array, own, _extents(reader, array))
            if known == (None,) and any(_is_told(region, v, updated) for v in own):
                known = (_section(reader, array),)
            shaped.extents[array] = known
        found = _flattened(region, array, own)
        if isinstance(found, Shape) and not _is_flat(region, own, found, shaped.extents[array]):
            shapes[array.name] = found
            shaped.extents[array] = (None, *map(counted, found.extents))
        own = [v for v in own if v.reference.site not in apart]
        mine, rows = array.variable.place == "region", shaped.extents.get(array, ())
        own = [v for v in own if not _stays_in_rows(region, v, rows, mine)]
        _check_writes(region, array, own, shapes, found if isinstance(found, str) else "")
    for number, raw in enumerate(region.statements):
        with collecting(region.problems):
            _finish(region, raw, f"S{number}", shapes, shaped)
    return shaped


@dataclass(frozen=True)
class _Finder:
    """Finds the references of what happens where all `guards` hold, and always where `always` is set.

    What is `written` was so before, in the same instance.
    """

    affine: Affine
    always: bool = True
    guards: tuple[Expr, ...] = ()
    written: frozenset[Element] = frozenset()

    def where(self, test: Expr, holds: bool) -> _Finder:
        """For what a test decides about."""
        guard = implied(self.affine, test, holds)
        guards = self.guards if guard is None else (*self.guards, guard)
        return replace(self, always=False, guards=guards)

    def of_body(self, body: tuple[Action, ...]) -> Generator[Visit, None, frozenset[Element]]:
        """Every reference of a body, reads of an action before its write; what is sure to be written."""
        here = self
        for action in body:
            match action:
                case Store(target, value):
                    for subscript in target.subscripts:
                        yield from here.of(subscript)
                    yield from here.of(value)
                    yield Visit(target, True, self.always, self.guards)
                    here = replace(here, written=here.written | self.element(target))
                case Let(_, _, value, _):
                    yield from here.of(value)
                case Branch(test, then, otherwise):
                    yield from here.of(test)
                    first = yield from here.where(test, True).of_body(then)
                    second = yield from here.where(test, False).of_body(otherwise)
                    here = replace(here, written=first & second)
                case Repeat(test, inner):
                    yield from here.of(test)
                    yield from here.where(test, True).of_body(inner)
        return here.written

    def element(self, r: Reference) -> frozenset[Element]:
        """The element that a reference is, if it is the same one throughout the instance."""
        if any(self.affine.value(s) is None for s in r.subscripts):
            return frozenset()
        return frozenset({(r.array, r.field, r.subscripts)})

    def of(self, expr: Expr) -> Iterator[Visit]:
        match expr:
            case Reference():
                for subscript in expr.subscripts:
                    yield from self.of(subscript)
                exposed = not self.element(expr) or not self.element(expr) <= self.written
                yield Visit(expr, False, self.always, self.guards, exposed)
            case Binary("&&" | "||" as op, left, right):
                yield from self.of(left)
                yield from self.where(left, op == "&&").of(right)
            case Select(test, yes, no):
                yield from self.of(test)
                yield from self.where(test, True).of(yes)
                yield from self.where(test, False).of(no)
            case _:
                for part in children(expr):
                    yield from self.of(part)


def _least(region: Region, visits: Iterable[Visit]) -> dict[str, frozenset[Expr]]:
    """What iterators are not below, each as far as any statement says; none of which it is not plain."""
    tests = [*(c for raw in region.statements for c in raw.domain), *(g for v in visits for g in v.guards)]
    found: dict[str, set[Expr]] = {}
    unclear: set[str] = set()
    for test in dict.fromkeys(part for whole in tests for part in conjuncts(whole)):
        match test:
            case Binary(">=" | ">" as op, Name(name), low) | Binary("<=" | "<" as op, low, Name(name)):
                found.setdefault(name, set()).add(low if "=" in op else add(low, Int(1)))
            case Binary("<=" | "<", Name(), high) | Binary(">=" | ">", high, Name()):
                unclear |= scalars_in(high)
            case _:
                unclear |= scalars_in(test)
    return {name: frozenset(low) for name, low in found.items() if name in region.iterators - unclear}


def _written_apart(region: Region) -> frozenset[int]:
    """The writes, by their places, of which a pragma says that no two iterations write the same element."""
    visits = ((v, raw) for raw in region.statements for v in _Finder(region.affine).of_body(raw.body))
    return frozenset(
        v.reference.site
        for v, raw in visits
        if v.write and any(_keeps_apart(region, k, v.reference.array) for k in raw.loops)
    )


def _updated(region: Region) -> frozenset[int]:
    """The writes that only add to an element, or the like: threads may do so in copies."""
    stores = (store for raw in region.statements if raw.iterators for store in _stores(raw.body))
    return frozenset(s.target.site for s in stores if update(s) is not None)


def _stores(body: Iterable[Action]) -> Iterator[Store]:
    """The stores of a body but for those in loops."""
    for a in body:
        if isinstance(a, Store):
            yield a
        elif isinstance(a, Branch):
            yield from _stores((*a.then, *a.otherwise))


def _keeps_apart(region: Region, loop: int, array: str) -> bool:
    """As `model.scop.keeps_apart`, while the region is read."""
    found = region.loops[loop]
    shared = any(a.name == array and v.place != "region" for v, a in region.arrays.items())
    return shared and found.independent and array not in found.copied


def _extents(reader: Reader, array: RawArray) -> tuple[Expr | None, ...]:
    """The declared extents in terms of constants and parameters; None for an unknown outermost one."""
    ctype: CType = array.variable.type
    if tables(ctype):
        return (None,) * rank(ctype)
    found: list[Expr | None] = []
    if isinstance(ctype, Pointer):
        found.append(None)
        ctype = ctype.target
    while isinstance(ctype, Vector):
        found.append(_extent(reader, array, ctype, outermost=not found))
        ctype = ctype.element
    return tuple(found)


def _with_size(
    reader: Reader, array: RawArray, visits: list[Visit], extents: tuple[Expr | None, ...]
) -> tuple[Expr | None, ...]:
    """The extents with the size of what the function allocated, or the one that all calls give a parameter,
    where data decide on elements.
    """
    region = reader.region
    if extents != (None,) or array.variable.place not in ("local", "parameter"):
        return extents
    if all(region.affine.value(v.reference.subscripts[0]) is not None for v in visits):
        return extents
    if array.variable.place == "local":
        count = allocated(region.context.root, reader.scope, array.variable)
    else:
        whole = partial(is_program, region.context)
        count = size_in_calls(region.context.root, region.context.scope, array.variable, whole)
        if count is not None and any(_is_hidden(reader, node) for node in nodes(count)):
            return extents
    size = None if count is None else region.affine.value(_of_declarations(reader, count))
    return (None if size is None else counted(size),)


def _of_declarations(reader: Reader, node: Any) -> Expr:
    """The value of an expression that is none of the region's: arrays that it reads are none of these either.

    Raises Diagnosed.
    """
    region = reader.region
    known = {*region.arrays}
    try:
        return reader.value(node)
    finally:
        for variable in region.arrays.keys() - known:
            del region.arrays[variable]
            region.bindings.pop(variable, None)  # none yet where its type is refused


def _is_hidden(reader: Reader, node: object) -> bool:
    """Whether a name means something else here than among the function's parameters."""
    found = reader.scope.find(node.name) if isinstance(node, c_ast.ID) else None
    return isinstance(found, Variable) and found.place in ("local", "region")


def _is_told(region: Region, visit: Visit, updated: Collection[int]) -> bool:
    """Whether data tell which element an update writes."""
    subscripts = visit.reference.subscripts
    return visit.reference.site in updated and any(region.affine.value(x) is None for x in subscripts)


def _section(reader: Reader, array: RawArray) -> Expr | None:
    """How many elements of what a pointer points to are reductions of a loop, by the loop's pragma."""
    lengths = {length for loop in reader.region.loops for name, length in loop.sections if name == array.name}
    if len(lengths) != 1:
        return None
    (length,) = lengths
    node = c_ast.Constant("int", length) if length.isdecimal() else c_ast.ID(length)
    try:
        return reader.region.affine.value(_of_declarations(reader, node))
    except Diagnosed:
        return None


def _extent(reader: Reader, array: RawArray, ctype: Vector, outermost: bool) -> Expr | None:
    node = ctype.extent
    if node is None:
        return _listed(array) if outermost else None
    try:
        if not outermost and (part := next(filter(_is_in_memory, nodes(node)), None)) is not None:
            raise _row_size(array, f"'{source_text(part)}' is read from memory")
        value = _of_declarations(replace(reader, scope=ctype.scope or reader.scope), node)
    except Diagnosed:
        if outermost:
            return None  # it is only wanted for checks: what is accessed decides what is copied
        raise
    extent = reader.region.affine.value(value)
    constants = {v.name for v in reader.region.constants if mentions(node, v.name)}
    changed = next(_changes(reader.region, array, sorted(scalars_in(value) | constants)), "")
    if outermost and extent is not None and reader.region.products.names & scalars_in(extent):
        return None
    if extent is not None and not changed:
        return counted(extent)
    if outermost:
        return None
    raise _row_size(array, changed or reason_for(reader.region, value)[0])


def _is_in_memory(node: object) -> bool:
    """Whether it is a member, an element or what a pointer points to."""
    return isinstance(node, c_ast.StructRef | c_ast.ArrayRef) or (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    )


def _row_size(array: RawArray, reason: str) -> Diagnosed:
    message = f"the size of a row of '{array.name}' is not affine: {reason}"
    help_text = "give the array a row size that is a constant or a variable of its own"
    return refusal("PG160", array.position, message, help_text, len(array.name))


def _changes(region: Region, array: RawArray, names: list[str]) -> Iterator[str]:
    """Why the names may have another value in the region than they had at the array's declaration."""
    changed = region.changed
    if region.since is not None and not changed.isdisjoint(names):
        changed = region.since(array.variable.node)
    for name in names:
        if name in changed:
            yield f"'{name}' is changed in the function"
        elif name in region.elsewhere:
            yield f"'{name}' may be changed by what the function calls"


def _listed(array: RawArray) -> Expr | None:
    """The extent of `float c[] = {1, 2, 3}`, and of `char c[] = "abc"`."""
    initial = array.variable.initial
    if isinstance(initial, c_ast.Constant) and initial.value.isascii() and _STRING.fullmatch(initial.value):
        return Int(len(_CHARACTER.findall(initial.value[1:-1])) + 1)
    listed = getattr(initial, "exprs", None)
    if listed is None or any(type(expr).__name__ == "NamedInitializer" for expr in listed):
        return None
    return Int(len(listed))


def _flattened(region: Region, array: RawArray, visits: list[Visit]) -> Shape | str | None:
    """The shape of a one-dimensional array whose subscripts are no affine forms; why not; or None."""
    if rank(array.variable.type) != 1:
        return None
    subscripts = [v.reference.subscripts[0] for v in visits]
    if all(region.affine.value(subscript) is not None for subscript in subscripts):
        return None
    iterators = region.iterators | region.locals
    subscripts = [distributed(region.affine, subscript, iterators) for subscript in subscripts]
    sums = dict.fromkeys(found for subscript in subscripts for found in sums_in(subscript))
    found = find_shape(
        map(polynomial, subscripts), iterators, [x for x in sums if is_parameter(x.atom, iterators)]
    )
    return found if isinstance(found, str) else with_known_extents(region.affine, found)


def _is_flat(region: Region, visits: list[Visit], found: Shape, extents: tuple[Expr | None, ...]) -> bool:
    """Whether an array of known size, which the region only reads, is used at places that no row tells."""
    if None in extents or any(v.write for v in visits):
        return False
    places = (p for v in visits for p in subscripts_for(polynomial(v.reference.subscripts[0]), found)[1:])
    return any(region.affine.value(p) is None for p in places)


def _stays_in_rows(region: Region, visit: Visit, extents: tuple[Expr | None, ...], own: bool) -> bool:
    """Whether an element that data choose is one of a row that the loops around tell, of a known length; an
    array that is the region's `own` may be that row.
    """
    places = [region.affine.value(s) for s in visit.reference.subscripts]
    if len(places) != len(extents) or (all(p is None for p in places) and not own):
        return False
    return all(p is not None or e is not None for p, e in zip(places, extents, strict=True))


def _check_writes(
    region: Region, array: RawArray, visits: list[Visit], shapes: dict[str, Shape], why: str
) -> None:
    for visit in visits:
        if not visit.write:
            continue
        final = _reshaped(region, visit.reference, shapes)
        for subscript in final.subscripts:
            if region.affine.value(subscript) is None:
                site = region.sites[visit.reference.site]
                _check_inside(region, subscript)
                reason, help_text = reason_for(region, subscript, "PG102")
                notes: tuple[Diagnostic, ...] = ()
                if why.startswith(STRIDES):
                    notes = (note(f"'{array.name}' is declared here without its shape", array.position),)
                    reason, help_text = why, f"declare its shape, as in 'float (*{array.name})[m]'"
                message = f"the subscript of the write to '{site.text}' is not affine: {reason}"
                with collecting(region.problems):
                    raise refusal("PG102", site.position, message, help_text, 1, notes)
                break


def _check_inside(region: Region, subscript: Expr) -> None:
    """Raises Diagnosed where a loop within an instance decides: why it is no loop of the nest."""
    match culprit(region, subscript):
        case Name(name) | Reference(name, ()) if name in region.inside:
            raise region.inside[name]


def _reshaped(region: Region, reference: Reference, shapes: dict[str, Shape]) -> Reference:
    """The reference with its final subscripts: in affine form where all have one, else as C computes them.

    Those of a recovered shape are affine but for the outermost.
    """
    found = shapes.get(reference.array)
    subscripts = reference.subscripts
    if found is not None:
        whole = distributed(region.affine, subscripts[0], region.iterators | region.locals)
        subscripts = subscripts_for(polynomial(whole), found, region.least)
    forms = [region.affine.value(s) for s in subscripts]
    if found is None and None in forms:
        return reference
    final = (s if form is None else counted(form) for s, form in zip(subscripts, forms, strict=True))
    return replace(reference, subscripts=tuple(final))


def _finish(region: Region, raw: RawStatement, name: str, shapes: dict[str, Shape], shaped: Shaped) -> None:
    body = map_references(raw.body, lambda r, _: _reshaped(region, r, shapes))
    accesses = []
    finder = _Finder(region.affine)
    visits, sure = _collected(finder.of_body(body))
    for visit in visits:
        element = finder.element(visit.reference)
        must = (visit.always and (bool(element) or not visit.write)) or (visit.write and bool(element & sure))
        site = region.sites[visit.reference.site]
        access = Access(visit.reference, visit.write, must, bool(element), site.position, site.text)
        forms = () if element else tuple(choices(region, s) for s in visit.reference.subscripts)
        accesses.append(replace(access, guards=visit.guards, exposed=visit.exposed, forms=forms))
        if visit.reference.array in shapes:
            _check_rows(region, visit, raw)
            _assume(region, visit, shapes[visit.reference.array], name, shaped.assumptions)
    shaped.statements.append(
        Statement(
            name,
            raw.iterators,
            raw.loops,
            raw.domain,
            raw.schedule,
            body,
            tuple(accesses),
            raw.position,
            raw.text,
            ends=raw.ends,
        )
    )


def _collected(found: Generator[Visit, None, frozenset[Element]]) -> tuple[list[Visit], frozenset[Element]]:
    visits: list[Visit] = []
    while True:
        try:
            visits.append(next(found))
        except StopIteration as end:
            return visits, end.value


def _check_rows(region: Region, visit: Visit, raw: RawStatement) -> None:
    """Refuses a loop over all rows at once, as over `n * m` elements, beside accesses row by row."""
    first, *_ = visit.reference.subscripts
    whole = first == Int(0) and region.products.names & scalars_in(*raw.domain)
    if whole and scalars_in(*visit.reference.subscripts) & region.iterators:
        site = region.sites[visit.reference.site]
        name = visit.reference.array
        message = f"'{site.text}' goes over all of '{name}', of which other accesses tell rows apart"
        raise refusal("PG161", site.position, message, "make them regions of their own")


def _assume(region: Region, visit: Visit, found: Shape, name: str, assumptions: list[Assumption]) -> None:
    site = region.sites[visit.reference.site]
    for subscript, extent in inner_subscripts(visit.reference, found):
        tests = [(form, extent) for form in choices(region, subscript)] or _of_remainder(
            region, subscript, extent
        )
        if not tests:
            reason, help_text = reason_for(region, subscript, "PG161")
            message = f"the rows of '{visit.reference.array}' cannot be told apart in '{site.text}': {reason}"
            raise refusal("PG161", site.position, message, help_text)
        reason = f"'{visit.reference.array}' is taken to have rows of its stride's length"
        for value, bound in tests:
            made = Assumption(name, counted(value), counted(bound), reason, site.position)
            if all((a.statement, a.value, a.bound) != (name, made.value, made.bound) for a in assumptions):
                assumptions.append(made)


def _of_remainder(region: Region, subscript: Expr, extent: Expr) -> list[tuple[Expr, Expr]]:
    """What lies from 0 below what where a remainder does below `extent`, by which it is one; none of another.

    a[i * m + (j + 1) % m]: 0 <= j + 1, and 0 < m
    """
    match subscript:
        case Binary("%", value, by):
            dividend, divisor = region.affine.value(value), region.affine.value(by)
            if dividend is not None and divisor is not None and counted(divisor) == counted(extent):
                return [(dividend, Binary("+", dividend, Int(1))), (Int(0), extent)]
    return []
