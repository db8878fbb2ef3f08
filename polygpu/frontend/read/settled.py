"""What becomes of assignments whose values are known wherever they are read.

    for i { k = k + 1; a[i + 1] = 0; }    ->    for i { a[i + 1] = 0; }  k = n;

Nothing reads such a variable's element: it is stored once, at the end, if its value matters after the region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pycparser import c_ast

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.state import Address, InMemory, Lost, RawArray, Region, Scalar, Substitute
from polygpu.frontend.read.statements import Path, keep
from polygpu.frontend.read.unsupported import note, refusal
from polygpu.frontend.read.values import is_followed, pointed
from polygpu.model.expr import Call, Expr, Name, Reference
from polygpu.model.rewrite import (
    actions,
    map_actions,
    map_references,
    reads_memory,
    reads_of,
    references,
    rewrite,
    scalars_in,
    sides,
    with_sides,
)
from polygpu.model.scop import Action, Branch, Repeat, Store
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_OWN = ("local", "parameter")  # variables of the function
Lives = Callable[[Variable], bool]


def settle(reader: Reader, path: Path, lives: Lives, position: Position) -> None:
    """Ends the reading of a region. `lives` tells whether a variable's value matters after it.

    Raises Diagnosed for values that matter and that nothing knows.
    """
    region = reader.region
    for variable in region.values:
        if pointed(variable) is not None and variable.place != "region" and lives(variable):
            region.moved[variable] = _distance(region, variable)
    for variable, array in list(region.arrays.items()):
        if is_followed(region, variable) and isinstance(variable.type, Basic):
            _settle(region, variable, array, path, lives, position)
    touched = {r.array for e in (*_expressions(region), *_targets(region)) for r in references(e)}
    for variable, array in list(region.arrays.items()):
        if is_followed(region, variable) and array.name not in touched:
            del region.arrays[variable]
    region.following = False
    _name_starts(region)
    _name_counters(region)


def _distance(region: Region, variable: Variable) -> Expr:
    """How many elements a pointer has moved, where the host can tell that of what it passes to the region."""
    match region.values[variable]:
        case Address(array, (moved,), _) if array.variable is variable and variable.place in _OWN:
            names = scalars_in(moved)
            plain = all(n in region.scalars and n not in region.hosts for n in names)
            if plain and not reads_memory(moved) and names.isdisjoint(region.written | region.elsewhere):
                return moved
    raise unknown_pointer(region, variable)


def _settle(
    region: Region, variable: Variable, array: RawArray, path: Path, lives: Lives, position: Position
) -> None:
    final = region.values.get(variable)
    live = final is not None and variable.place != "region" and lives(variable)
    if live and isinstance(final, Lost):
        raise _iterator(region, variable, final.position)
    if array.name in _read(region) or (live and isinstance(final, InMemory)):
        return
    _forget(region, array)
    if live and isinstance(final, Substitute) and isinstance(variable.type, Basic):
        node = c_ast.ID(variable.name, variable.node.coord)
        target = Reference(array.name, (), variable.type.name, "", region.site(node))
        keep(region, path, Store(target, final.value), position, variable.name)


def _read(region: Region) -> frozenset[str]:
    """The arrays that statements read."""
    return frozenset(r.array for e in _expressions(region) for r in references(e))


def _expressions(region: Region) -> Iterator[Expr]:
    """All that statements compute, but for the elements that they store to."""
    for statement in region.statements:
        for action in actions(statement.body):
            yield from reads_of(action)


def _forget(region: Region, array: RawArray) -> None:
    """Leaves out the stores to a scalar, and what does nothing without them."""
    kept = (replace(s, body=_without(s.body, array.name)) for s in region.statements)
    region.statements[:] = [s for s in kept if s.body]


def _without(body: tuple[Action, ...], name: str) -> tuple[Action, ...]:
    found: list[Action] = []
    for action in body:
        match action:
            case Store(target, _) if target.array == name:
                continue
            case Branch() | Repeat():
                left = [_without(inner, name) for _, inner in sides(action)]
                if any(left):
                    found.append(with_sides(action, left))
            case _:
                found.append(action)
    return tuple(found)


def _name_starts(region: Region) -> None:
    """Makes parameters of the scalars whose value at the region's start is used."""
    used = scalars_in(*_expressions(region), *_targets(region), *_tests(region))
    starts = {name: scalar for name, scalar in region.starts.items() if name in used}
    for scalar in starts.values():
        if scalar.name in region.iterators:
            raise _two_values(region, scalar)
        region.scalars[scalar.name] = scalar
    _call_them(region, {name: scalar.name for name, scalar in starts.items()})
    for variable, array in region.arrays.items():
        if array.name in region.scalars:
            _rename(region, variable, region.unique(f"{array.name}_end"))


def _name_counters(region: Region) -> None:
    """What only loops within instances count is called what the source calls it."""
    for variable, array in list(region.arrays.items()):
        name = variable.name
        if array.name == f"{name}_end" and name not in region.names | region.reserved | {*region.scalars}:
            region.names.add(name)
            _rename(region, variable, name)
            if array.name in region.inside:
                region.inside[name] = region.inside[array.name]


def _call_them(region: Region, names: dict[str, str]) -> None:
    """Gives names to what stands for them: as another type it stays one."""

    def named(expr: Expr) -> Expr | None:
        return Name(names[expr.name], expr.type) if isinstance(expr, Name) and expr.name in names else None

    def put(expr: Expr) -> Expr:
        return rewrite(expr, named)

    def target(reference: Reference) -> Reference:
        return replace(reference, subscripts=tuple(map(put, reference.subscripts)))

    if any(name.endswith("@") for name in names):
        region.statements[:] = [
            replace(s, domain=tuple(map(put, s.domain)), body=map_actions(s.body, put, target))
            for s in region.statements
        ]
        region.conversions[:] = [
            replace(c, domain=tuple(map(put, c.domain)), value=put(c.value)) for c in region.conversions
        ]
        region.untaken[:] = [
            (left, replace(a, domain=tuple(map(put, a.domain)))) for left, a in region.untaken
        ]
        inlined = {put(call): put(value) for call, value in region.inlined.items()}
        region.inlined.update((call, value) for call, value in inlined.items() if isinstance(call, Call))


def _targets(region: Region) -> Iterator[Reference]:
    stored = (action for statement in region.statements for action in actions(statement.body))
    return (action.target for action in stored if isinstance(action, Store))


def _tests(region: Region) -> Iterator[Expr]:
    for statement in region.statements:
        yield from statement.domain
    for conversion in region.conversions:
        yield from (conversion.value, *conversion.domain)
    for _, assumption in region.untaken:
        yield from assumption.domain


def _rename(region: Region, variable: Variable, name: str) -> None:
    old = region.arrays[variable]

    def renamed(reference: Reference, written: bool) -> Reference:
        return replace(reference, array=name) if reference.array == old.name else reference

    region.arrays[variable] = replace(old, name=name)
    region.bindings[variable] = region.arrays[variable]
    region.statements[:] = [replace(s, body=map_references(s.body, renamed)) for s in region.statements]


def _two_values(region: Region, scalar: Scalar) -> Diagnosed:
    message = f"'{scalar.name}' is a loop's iterator, and its value before the region matters"
    help_text = "use a variable of its own for the other value"
    return refusal("PG106", region.at(scalar.variable.node), message, help_text, len(scalar.name))


def unknown_pointer(region: Region, variable: Variable) -> Diagnosed:
    name = variable.name
    message = f"the pointer '{name}' is changed in the region, and its value matters after it"
    help_text = "move a copy of it, or subscript it instead of moving it"
    return refusal("PG157", region.at(variable.node), message, help_text, len(name))


def _iterator(region: Region, variable: Variable, position: Position) -> Diagnosed:
    message = f"the value of the iterator '{variable.name}' is used after the region"
    help_text = f"declare it in the loop ('for (int {variable.name} = ...'), or set it again before its use"
    notes = (note(f"'{variable.name}' is declared here", region.at(variable.node)),)
    return refusal("PG106", position, message, help_text, 3, notes)
