"""One region of the tree to one Scop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from pycparser import c_ast

from polygpu.frontend.hoist.hoist import Hoisted, declaration_of, hoist
from polygpu.frontend.names.constants import Constant
from polygpu.frontend.names.constants_before import constants_among, constants_before
from polygpu.frontend.names.effects import (
    changed_around,
    changed_by_calls,
    changed_names,
    changed_since,
    outer_iterators,
    used_outside,
)
from polygpu.frontend.names.escapes import escapes
from polygpu.frontend.names.liveness import (
    Block,
    assigned_names,
    free_names,
    live_after,
    mentions,
    read_first,
)
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import (
    Basic,
    Pointer,
    Qualified,
    Record,
    Vector,
    complex_places,
    definition_of,
    element_of,
    fields_of,
    pointer_places,
    rank,
    tables,
)
from polygpu.frontend.normal.forms import Said, further, normal
from polygpu.frontend.read import pointers, statements
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.functions import texts
from polygpu.frontend.read.labels import jumped_to, labels
from polygpu.frontend.read.promises import kept_apart, promises, replicated
from polygpu.frontend.read.settled import settle, unknown_pointer
from polygpu.frontend.read.state import FileContext, RawArray, Region
from polygpu.frontend.read.truths import tell_equal
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.regions.shapes import Shaped, shape
from polygpu.frontend.regions.teams import Team, differing
from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.rewrite import action_expressions, actions, scalars_in
from polygpu.model.scop import Array, Assumption, Conversion, Exposed, Given, Scalar, Scop, Structure
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic, collecting, respelled
from polygpu.support.position import Position

# Of calls, types and threads, which are the same in other forms of the statements.
_LASTING = frozenset({"PG113", "PG116", "PG130", "PG140", "PG142", "PG143"})


@dataclass(frozen=True)
class Extract:
    """A region as found in the tree: `items` of `block`, within `scope`."""

    function: Any
    scope: Scope
    block: Block
    items: tuple[Any, ...]
    position: Position


def lift_region(
    context: FileContext,
    extract: Extract,
    name: str,
    span: tuple[int, int],
    no_alias: bool,
    team: Team | None = None,
) -> Scop:
    """`span` are offsets in the file's text. The threads of a `team` come to the region.

    Raises Diagnosed for all that cannot be lifted. What is wrong with subscripts is only told where
    everything else can be read.
    """

    def lifted(more: frozenset[str]) -> Scop:
        said = Said()
        try:
            scop = _lifted(context, extract, name, span, no_alias, team, more, said)
        except Diagnosed as problem:
            raise Diagnosed(*(_as_spelled(d, said.spelled) for d in problem.diagnostics)) from None
        variables = (n for n in said.named if isinstance(context.scope.find(n), Variable))
        return replace(scop, named=frozenset(variables), spelled=tuple(sorted(said.spelled.items())))

    try:
        scop: Scop | None = lifted(frozenset())
        problem = None
    except Diagnosed as found:
        scop, problem = None, found
    if scop is not None and not _is_unbounded(scop):
        return scop
    reasons = frozenset(d.id for d in problem.diagnostics) if problem is not None else frozenset()
    for more in further(extract.items, reasons) if reasons.isdisjoint(_LASTING) else ():
        with suppress(Diagnosed):
            other = lifted(more)
            if scop is None or "tested" in more or not _is_unbounded(other):
                return other
    if scop is None:
        assert problem is not None
        raise problem
    return scop


def _as_spelled(d: Diagnostic, spelled: Mapping[str, str]) -> Diagnostic:
    """With names as the source has them, not as what is written out of calls and loops does."""
    message, help_text = (respelled(text, spelled) for text in (d.message, d.help))
    return replace(d, message=message, help=help_text, notes=tuple(_as_spelled(n, spelled) for n in d.notes))


def _is_unbounded(scop: Scop) -> bool:
    """Whether data choose among the elements of an array whose size is not known."""
    sizes = {array.name: array.extents for array in scop.arrays}
    loose = (a for s in scop.statements for a in s.accesses if not a.affine)
    return any(
        extent is None and not any(a.forms[k : k + 1])
        for a in loose
        for k, extent in enumerate(sizes.get(a.reference.array, ()))
    )


def _lifted(
    context: FileContext,
    extract: Extract,
    name: str,
    span: tuple[int, int],
    no_alias: bool,
    team: Team | None,
    more: frozenset[str],
    said: Said,
) -> Scop:
    if team is not None:
        _check_shared(context, extract, team)
    constants, around = list(_constants(extract)), _changed_around(extract)
    items = normal(context, extract.function, extract.scope, extract.items, more, said)
    extract = replace(extract, items=items)
    counters = frozenset(name for item in items for name in outer_iterators(item))
    assigned = counters | _assigned(items)
    items, hoisted, reasons = hoist(items, extract.scope, assigned, partial(_taken, context))
    scope = extract.scope.child()
    scope.symbols |= {name: h.variable for name, h in hoisted.items()}
    reserved = _reserved(replace(extract, scope=scope, items=items)) - counters
    kept = frozenset(name for name in counters if _is_kept(extract, name))
    region = Region(
        context,
        _assigned(items),
        changed_names(extract.function.body),
        frozenset(_changed_elsewhere(context, extract)),
        reserved,
        kept,
        labels(extract.function),
        jumped_to(extract.function),
        promises(context.root, items),
        hosts={name: h.value for name, h in hoisted.items()},
        reasons={name: (reason.text, reason.help) for name, reason in reasons.items()},
        around=around,
        since=partial(changed_since, extract.function.body),
    )
    region.constants.update((variable, value.expr) for variable, value in constants)
    known_before = {variable.name for variable in region.constants}
    region.names.update(name for name in kept - known_before if _starts_with(extract, name))
    tests = frozenset(name for name, h in hoisted.items() if h.kind == "test")
    shaped = _read(Reader(region, scope.child()), extract, items, tests)
    scop = _scop(region, extract, hoisted, shaped, name, span, no_alias)
    return replace(scop, team=team is not None)


def _read(reader: Reader, extract: Extract, items: Sequence[Any], tests: frozenset[str]) -> Shaped:
    """The statements of a region, of whose scalars some are `tests`, and 0 or 1. Raises Diagnosed for all
    that is in the way.
    """
    region, path = reader.region, statements.Path()
    with collecting(region.problems):
        _check_team(region.context, extract)
    statements.walk(reader, items, path)
    _check(region)
    with collecting(region.problems):
        pointers.check(region)
        settle(reader, path, lambda v: v.name in region.hosts or _lives(extract, v), extract.position)
    _check(region)
    tell_equal(region, tests)
    shaped = shape(reader)
    shaped.assumptions.extend((*_units(region), *(tested for _, tested in region.untaken)))
    for check in (_check_declarations, _check_registers):
        with collecting(region.problems):
            check(region, extract)
    _check(region)
    return shaped


def _units(region: Region) -> Iterator[Assumption]:
    """That loops step by 1 where scalars say by how much."""
    for name, position in region.units.items():
        reason = f"'{region.hosts.get(name, name)}', by which a loop steps, is taken to be 1"
        yield Assumption("", Binary("-", Name(name), Int(1)), Int(1), reason, position)


def _scop(
    region: Region,
    extract: Extract,
    hoisted: Mapping[str, Hoisted],
    shaped: Shaped,
    name: str,
    span: tuple[int, int],
    no_alias: bool,
) -> Scop:
    context, changed = region.context, region.changed
    affine = _affine_names(shaped, region.conversions) | region.bounding
    among = dict(_among(extract))
    known = {
        s.name: Scalar(
            s.name,
            s.type,
            s.name in affine,
            region.hosts.get(s.name, ""),
            between=among.get(s.name) if s.variable.name == s.name else None,
        )
        for s in region.scalars.values()
    }
    scalars, whole = _split(region, shaped, affine, known)
    ends = _ends(region, shaped, hoisted)
    arrays = [array for array in region.arrays.values() if array.name not in ends]
    return Scop(
        name=name,
        function=extract.function.decl.name,
        file=context.source.path,
        start=span[0],
        end=span[1],
        position=extract.position,
        scalars=scalars,
        arrays=tuple(
            replace(
                _array(array, shaped, extract, changed, hoisted.get(array.variable.name)),
                within=region.within.get(array.variable, ()),
            )
            for array in arrays
        ),
        loops=tuple(region.loops),
        statements=tuple(shaped.statements),
        context=(
            *(_at_least_zero(scalar) for scalar in scalars if scalar.affine and "unsigned" in scalar.type),
            *(
                _truth(s)
                for s in scalars
                if s.affine and s.name in hoisted and hoisted[s.name].kind == "test"
            ),
        ),
        assumptions=tuple(shaped.assumptions),
        untaken=tuple(found for found, _ in region.untaken),
        conversions=tuple(dict.fromkeys(region.conversions)),
        functions=texts(context, region.functions),
        no_alias=no_alias,
        numbers=tuple(_numbers(region, extract)),
        exposed=tuple({e.name: e for e in _all_exposed(region, extract, hoisted, changed)}.values()),
        given=(
            *dict.fromkeys(g for h in hoisted.values() for g in h.given if g.name not in ends),
            *ends.values(),
        ),
        whole=whole,
        varying=_varying(extract, (*scalars, *whole)),
        moved=tuple(_moved(region, extract)),
    )


def _moved(region: Region, extract: Extract) -> Iterator[tuple[str, Expr]]:
    """Raises Diagnosed for a pointer that others may point to."""
    for variable, distance in region.moved.items():
        if escapes(extract.function.body, variable):
            raise unknown_pointer(region, variable)
        yield variable.name, distance


def _varying(extract: Extract, scalars: Iterable[Scalar]) -> frozenset[str]:
    """The scalars that loops around the region change."""
    changed = _changed_around(extract)
    return frozenset(s.name for s in scalars if not changed.isdisjoint(re.findall(r"\w+", s.source)))


def _changed_around(extract: Extract) -> frozenset[str]:
    """What loops around the region change."""
    return changed_around(extract.function.body, extract.items[0]) if extract.items else frozenset()


def _ends(region: Region, shaped: Shaped, hoisted: Mapping[str, Hoisted]) -> dict[str, Given]:
    """The pointers that the region compares with others alone, and how they are set up, by their names."""
    used = {access.reference.array for s in shaped.statements for access in s.accesses}
    found = {}
    for scalar, (first, second) in region.apart.items():
        for one, other, op in ((first, second, "+"), (second, first, "-")):
            if one.name not in used:
                at = f"{other.name} {op} {scalar}"
                own = [g for h in hoisted.values() for g in h.given if g.name == one.name]
                variable = one.variable
                place = Given(one.name, "", variable.name, variable.name, declaration_of(variable), ())
                found[one.name] = replace(own[-1] if own else place, kind="end", type=at)
                break
    return found


def _check(region: Region) -> None:
    if region.problems:
        raise Diagnosed(*dict.fromkeys(_in_source_names(region, problem) for problem in region.problems))


def _in_source_names(region: Region, problem: Diagnostic) -> Diagnostic:
    def spelled(text: str) -> str:
        return re.sub(r"(?<=')\w+\b", lambda word: region.spelled.get(word[0], word[0]), text)

    return replace(problem, message=spelled(problem.message), help=spelled(problem.help))


def _check_shared(context: FileContext, extract: Extract, team: Team) -> None:
    """Refuses loops of a team that one of its threads cannot run for all."""
    for name in differing(team, extract.items, extract.scope, partial(_lives, extract)):
        message = f"each thread has a '{name}' of its own: no thread can run the loop for all of them"
        help_text = f"declare '{name}' in the loop, or before the parallel construct"
        raise refusal("PG116", extract.position, message, help_text)


def _check_team(context: FileContext, extract: Extract) -> None:
    """Refuses what a team does another number of times, or leaves another value of, than the C program."""
    for statement, model in replicated(extract.items):
        message = "every thread of the team runs this statement"
        help_text = "if one thread is meant to, put '#pragma omp single' before it"
        if model == "acc":
            help_text = (
                "put '#pragma acc loop' before the loops of the construct, and move the rest out of it"
            )
        raise refusal("PG116", context.at(statement), message, help_text)
    for name, statement, mentioned in kept_apart(extract.items):
        variable = extract.scope.find(name)
        if isinstance(variable, Variable) and (mentioned or _is_live(variable, extract)):
            message = f"'{name}' is private in this construct and used after it"
            help_text = "use lastprivate, or a variable of its own in the construct"
            raise refusal("PG116", context.at(statement), message, help_text)


def _is_live(variable: Variable, extract: Extract) -> bool:
    partial, members = not isinstance(variable.type, Basic), frozenset[str]()
    if isinstance(variable.type, Qualified):
        partial, members = False, frozenset(m.name for m in variable.type.record.members or ())
    own = variable.place in ("local", "parameter")
    return own and live_after(extract.function.body, extract.block, variable.node, partial, members)


def _assigned(items: Iterable[Any]) -> frozenset[str]:
    return frozenset(name for item in items for name in assigned_names(item))


def _taken(context: FileContext, name: str) -> bool:
    """Whether the file has the name, or a header that it includes may."""
    return context.scope.find(name) is not None or bool(re.search(rf"\b{name}\b", context.source.text))


def _split(
    region: Region, shaped: Shaped, affine: frozenset[str], known: Mapping[str, Scalar]
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The scalars that the region reads, and those that others are made of alone."""
    computed = (e for s in shaped.statements for a in actions(s.body) for e in action_expressions(a))
    read = affine | scalars_in(*computed)
    products = [p for p in region.products.found.values() if p.name in read]
    made = [
        Scalar(p.name, p.type, p.name in affine, p.host, p.value, (0, 1) if p.is_truth else None)
        for p in products
    ]
    inner = scalars_in(*(p.value for p in products)) - read
    return (
        (*(s for s in known.values() if s.name not in inner), *made),
        tuple(s for s in known.values() if s.name in inner),
    )


def _all_exposed(
    region: Region, extract: Extract, hoisted: Mapping[str, Hoisted], changed: frozenset[str]
) -> Iterator[Exposed]:
    """What the region keeps copies of that stores may change meanwhile."""
    for s in region.scalars.values():
        if s.name not in hoisted and _exposed(s.variable, extract):
            name, ctype = s.variable.name, "pointer" if s.name in region.apart else s.type
            yield Exposed(name, f"&{name}", f"sizeof {name}", ctype)
    for h in hoisted.values():
        for path in h.kept:
            if path.pointed or _exposed(path.root, extract):
                ctype = path.type.name if isinstance(path.type, Basic) else "pointer"
                derived = bool(path.loaded) or path.root.place != "parameter" or path.root.name in changed
                size = f"sizeof {path.text}"
                yield Exposed(
                    path.text, h.address_of(path), size, ctype, path.pointed, derived, path.root.name
                )


def _exposed(variable: Variable, extract: Extract) -> bool:
    if "const" in variable.type.qualifiers:
        return False
    return variable.place == "global" or escapes(extract.function.body, variable)


def _at_least_zero(scalar: Scalar) -> Expr:
    return Binary(">=", Name(scalar.name, scalar.type), Int(0))


def _truth(scalar: Scalar) -> Expr:
    value = Name(scalar.name, scalar.type)
    return Binary("&&", Binary(">=", value, Int(0)), Binary("<=", value, Int(1)))


def _changed_elsewhere(context: FileContext, extract: Extract) -> Iterator[str]:
    for name in changed_by_calls(extract.function, context.scope):
        symbol = extract.scope.find(name)
        if isinstance(symbol, Variable) and symbol.place == "global":
            yield name


def _reserved(extract: Extract) -> frozenset[str]:
    """Names of outer variables that the region uses, and of those that size its arrays."""
    found = set()
    for name in free_names(list(extract.items)):
        symbol = extract.scope.find(name)
        if isinstance(symbol, Variable):
            found.add(name)
            found |= set(free_names([symbol.node.type]))
    return frozenset(found)


def _mentions(extract: Extract) -> Iterator[str]:
    for name in dict.fromkeys(free_names(list(extract.items))):
        symbol = extract.scope.find(name)
        if isinstance(symbol, Variable) and symbol.place in ("local", "parameter"):
            yield name


def _numbers(region: Region, extract: Extract) -> Iterator[Scalar]:
    """The numbers among what the region mentions, with those that are constants where it starts."""
    for name in _mentions(extract):
        symbol = extract.scope.find(name)
        if isinstance(symbol, Variable) and isinstance(symbol.type, Basic):
            yield Scalar(name, symbol.type.name, False, value=region.constants.get(symbol))


def _constants(extract: Extract) -> Iterator[tuple[Variable, Constant]]:
    """The variables that hold a constant where the region starts."""
    if extract.items:
        yield from constants_before(extract.function.body, extract.items[0], extract.scope)


def _among(extract: Extract) -> Iterator[tuple[str, tuple[int, int]]]:
    """The variables that hold one of several constants where the region starts, with the ends of these."""
    if extract.items:
        for variable, values in constants_among(extract.function.body, extract.items[0], extract.scope):
            yield variable.name, (min(values), max(values))


def _is_kept(extract: Extract, name: str) -> bool:
    """Whether the value of an iterator matters outside of its loops."""
    variable = extract.scope.find(name)
    outside = any(used_outside(item, name) for item in extract.items)
    return outside or (isinstance(variable, Variable) and _lives(extract, variable))


def _starts_with(extract: Extract, name: str) -> bool:
    """Whether the value that a variable has before the region may matter."""
    variable = extract.scope.find(name)
    if not isinstance(variable, Variable):
        return False
    return read_first(extract.items, variable.node, _lives(extract, variable))


def _lives(extract: Extract, variable: Variable) -> bool:
    """Whether the value that a scalar or pointer has after the region may be read."""
    body = extract.function.body
    return (
        variable.place == "global"
        or escapes(body, variable)
        or live_after(body, extract.block, variable.node)
    )


def _check_declarations(region: Region, extract: Extract) -> None:
    """The region becomes a call: what it declares is gone after it."""
    following = _items_of(extract.block.node)[extract.block.end :] if extract.block.end else ()
    for item in extract.items:
        if (
            isinstance(item, c_ast.Decl)
            and item.name
            and any(mentions(other, item.name) for other in following)
        ):
            message = f"'{item.name}' is declared in the region and used after it"
            help_text = "declare it before the region"
            raise refusal("PG114", region.at(item), message, help_text, len(item.name))


def _check_registers(region: Region, extract: Extract) -> None:
    """What the region writes is passed by its address: `register` variables have none."""
    for variable, array in region.arrays.items():
        if "register" in variable.storage and _storage(variable, extract) == "local":
            message = f"'{variable.name}' is written in the region and declared register: it has no address"
            if not isinstance(variable.type, Basic):
                message = f"'{variable.name}' is declared register: it has no address"
            help_text = "remove 'register' from its declaration"
            raise refusal("PG117", array.position, message, help_text, len(variable.name))


def _items_of(node: Any) -> list[Any]:
    return list((node.block_items if isinstance(node, c_ast.Compound) else node.stmts) or ())


def _affine_names(shaped: Shaped, conversions: Iterable[Conversion]) -> frozenset[str]:
    """Names in domains, affine subscripts, extents, assumptions and conversions."""
    return scalars_in(*_affine(shaped, conversions))


def _affine(shaped: Shaped, conversions: Iterable[Conversion]) -> Iterator[Expr]:
    for statement in shaped.statements:
        yield from statement.domain
        for access in statement.accesses:
            yield from access.guards
            yield from (form for forms in access.forms for form in forms)
            if access.affine:
                yield from access.reference.subscripts
    for extents in shaped.extents.values():
        yield from (e for e in extents if e is not None)
    for assumption in shaped.assumptions:
        yield from (assumption.value, assumption.bound, *assumption.domain)
    for conversion in conversions:
        yield from (conversion.value, *conversion.domain)


def _storage(variable: Variable, extract: Extract) -> str:
    if variable.place == "region" or _is_within(variable, extract):
        return "region"
    if isinstance(variable.type, Pointer) or (
        variable.place == "parameter" and isinstance(variable.type, Vector)
    ):
        return "parameter"
    return "local" if variable.place == "parameter" else variable.place


def _is_within(variable: Variable, extract: Extract) -> bool:
    """Whether a `register` variable's value matters in the region alone, which has one of its own then."""
    if "register" not in variable.storage or not isinstance(variable.type, Basic):
        return False
    return not (_lives(extract, variable) or read_first(extract.items, variable.node, after=False))


def _array(
    array: RawArray, shaped: Shaped, extract: Extract, changed: frozenset[str], hoisted: Hoisted | None
) -> Array:
    variable = array.variable
    element = element_of(variable.type)
    pointers = tables(variable.type)
    storage = "parameter" if pointers else hoisted.storage if hoisted else _storage(variable, extract)
    structure = None
    if isinstance(element, Qualified):
        record = element.record
        structure = _structure(record)
    made = Array(
        name=array.name,
        element=element.name if isinstance(element, Basic) else structure.name if structure else "",
        extents=shaped.extents[array],
        storage=storage,
        position=array.position,
        host="" if storage == "region" else _host(array),
        restrict="restrict" in variable.type.qualifiers,
        constant="const" in element.qualifiers,
        live_out=storage in ("parameter", "global") or (storage == "local" and _live(array, extract)),
        structure=structure,
        escapes=storage == "local" and escapes(extract.function.body, variable),
        derived=storage == "parameter" and (variable.place != "parameter" or variable.name in changed),
        pointers=pointers,
    )
    if hoisted is None:
        return made
    derived, local = hoisted.derived(changed), storage == "local"
    return replace(
        made,
        host=hoisted.host,
        live_out=True,
        restrict=False,
        escapes=local,
        derived=derived,
        source=hoisted.path.text,
        optional=hoisted.optional,
    )


def _structure(record: Record) -> Structure:
    fields, places, pointers = tuple(fields_of(record)), complex_places(record), pointer_places(record)
    if "" not in places:
        return Structure(record.name, definition_of(record), fields, complex=places, pointers=pointers)
    name = f"polygpu_complex_{fields[0][1]}"
    return Structure(name, definition_of(replace(record, name=name)), fields, record.name, places)


def _host(array: RawArray) -> str:
    depth, name = rank(array.variable.type), array.variable.name
    return name if depth == 1 or tables(array.variable.type) else f"&{name}{'[0]' * depth}"


def _live(array: RawArray, extract: Extract) -> bool:
    return escapes(extract.function.body, array.variable) or _is_live(array.variable, extract)
