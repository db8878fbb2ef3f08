"""Structures that updates may be reordered in, as a variable for each member.

    before: struct { double x, y; } s;  for i: { s.x = s.x + a[i].x; s.y = s.y + a[i].y; }
    after:  double s_x, s_y;            for i: { s_x = s_x + a[i].x; s_y = s_y + a[i].y; }

Members of one structure do not overlap, and those of a complex number are its two parts (C99, 6.2.5).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from polygpu.analysis.names import FreeNames
from polygpu.analysis.reductions import is_update
from polygpu.model.decisions import Decision
from polygpu.model.expr import Expr, Reference
from polygpu.model.rewrite import map_scop, references, rewrite
from polygpu.model.scop import Array, Loop, Scop, Store

Names = dict[tuple[str, str], str]  # of a structure and a member: the variable in its place


def separated(scop: Scop, decisions: Sequence[Decision]) -> Scop:
    """`scop` with them. Structures that decisions place stay structures."""
    placed = {name for d in decisions if d.key != "reassociate" for name in d.names}
    chosen = _updated(scop) - placed
    names = _names(scop, [a for a in scop.arrays if a.name in chosen])
    if not names:
        return scop

    def change(e: Expr) -> Expr:
        return rewrite(e, lambda part: _variable(part, names))

    parts: dict[str, list[str]] = {}
    for (array, _), name in names.items():
        parts.setdefault(array, []).append(name)
    made = map_scop(scop, change, change)
    reassociated = {(k, new) for k, array in made.reassociated for new in parts.get(array, [array])}
    return replace(
        made,
        arrays=tuple(new for a in made.arrays for new in _members(a, names)),
        loops=tuple(_loop(loop, parts) for loop in made.loops),
        reassociated=frozenset(reassociated),
    )


def _updated(scop: Scop) -> set[str]:
    """The structures, no arrays of them, that the region knows by members alone, one of which has updates."""
    found = {
        s.body[0].target.array for s in scop.statements if is_update(scop, s) and isinstance(s.body[0], Store)
    }
    whole = {a.reference.array for s in scop.statements for a in s.accesses if not a.reference.field}
    known = {r.array for a in scop.arrays for e in a.extents if e is not None for r in references(e)}
    return {
        a.name
        for a in scop.arrays
        if a.name in found - whole - known and not a.extents and a.structure and not a.structure.pointers
    }


def _names(scop: Scop, arrays: Iterable[Array]) -> Names:
    free = FreeNames.beside(scop)
    used = {(a.reference.array, a.reference.field) for s in scop.statements for a in s.accesses}
    names: Names = {}
    for a in arrays:
        assert a.structure is not None
        for path, _ in a.structure.fields:
            if (a.name, path) in used:
                names[a.name, path] = free.new("_".join((a.name, *re.findall(r"\w+", path))))
    return names


def _variable(part: Expr, names: Names) -> Expr | None:
    if isinstance(part, Reference) and (name := names.get((part.array, part.field))):
        return replace(part, array=name, field="")
    return None


def _members(a: Array, names: Names) -> Iterator[Array]:
    """The variables in the place of a structure; another array as it is."""
    fields = a.structure.fields if a.structure else ()
    found = [(path, ctype, names[a.name, path]) for path, ctype in fields if (a.name, path) in names]
    if not found:
        yield a
    for path, ctype, name in found:
        yield replace(
            a,
            name=name,
            element=ctype,
            structure=None,
            host=_host(a, path) if a.host else "",
            source=f"{a.shown}.{path}",
        )


def _host(a: Array, path: str) -> str:
    assert a.structure is not None
    object_ = a.host[1:] if a.host[1:].isidentifier() and a.host[0] == "&" else f"(*({a.host}))"
    return f"&{a.structure.selected(object_, path)}"


def _loop(loop: Loop, parts: dict[str, list[str]]) -> Loop:
    def of(names: Collection[str]) -> frozenset[str]:
        return frozenset({*names, *(new for name in names for new in parts.get(name, ()))})

    return replace(loop, copied=of(loop.copied), reassociates=of(loop.reassociates))
