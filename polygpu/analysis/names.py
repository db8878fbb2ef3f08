"""Names of the source that kernels have a use for: a parameter `tid`, or `x_r` beside an array `x`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import BUILT_IN
from polygpu.model.rewrite import actions, map_scop, rewrite, sides, with_sides
from polygpu.model.scop import Access, Action, Let, Measure, Scop, Statement
from polygpu.support.dataclass import dataclass

# What lowering calls its own values: after an array, an iterator or another of these names.
_SUFFIXED = re.compile(r"(?:_(?:all|column|first|g|in|n\d+|next|pitch|r|row|s\d*|slot|tile|u))+")
_HOST = re.compile(r"(?:device|pitch_of|rows_of)_(\w+)|(\w+)_of_polygpu_\w+")  # what calls of kernels name
_DEFAULT = re.compile(r"[cp]\d+|s")  # loops that are no iterator of the source
_FIXED = BUILT_IN | {"tid"}


def with_free_names(scop: Scop) -> tuple[Scop, dict[str, str]]:
    """The scop with such names changed, and what each new name is in the source."""
    names = {*names_of(scop), *_iterators(scop)}
    new: dict[str, str] = {}
    for name in sorted(n for n in names if _clashes(n, names)):
        taken = names | {*new.values()}
        new[name] = next(c for c in _others(name) if c not in taken and not c.endswith("__"))
    return (_Renaming(new).scop(scop) if new else scop), {b: a for a, b in new.items()}


def names_of(scop: Scop) -> Iterator[str]:
    """Scalars, arrays and the locals of statements."""
    yield from (s.name for s in scop.scalars)
    yield from (a.name for a in scop.arrays)
    for statement in scop.statements:
        yield from (a.name for a in actions(statement.body) if isinstance(a, Let))


@dataclass(frozen=True)
class FreeNames:
    """Names for what passes make beside a scop: none that anything of it has, or that was given before."""

    taken: set[str]

    @classmethod
    def beside(cls, scop: Scop) -> FreeNames:
        scalars = (x.name for x in (*scop.whole, *scop.numbers))
        parts = (x.name for x in scop.given)
        statements = (x.name for x in scop.statements)
        return cls({*names_of(scop), *_iterators(scop), *scalars, *parts, *statements})

    def new(self, name: str) -> str:
        """`name`, numbered from 2 on if it is taken."""
        tries = (f"{name}{k}" if k > 1 else name for k in count(1))
        found = next(n for n in tries if n not in self.taken)
        self.taken.add(found)
        return found


def _iterators(scop: Scop) -> Iterator[str]:
    """Those of statements and of loops."""
    yield from (i for s in scop.statements for i in s.iterators)
    yield from (loop.iterator for loop in scop.loops)


def _others(name: str) -> Iterator[str]:
    yield f"{name.rstrip('_')}_"
    yield from (f"{name}{k}_" for k in count(2))


def _clashes(name: str, names: set[str]) -> bool:
    if name.endswith("__"):  # what isl calls the names that it has a meaning for
        return True
    if any(name[: at.start()] in names for at in re.finditer("__", name)):  # a member's, to sets
        return True
    host = _HOST.fullmatch(name)
    if name in _FIXED or (host and (host[1] or host[2]) in names):
        return True
    parts = name.split("_")
    stems = ("_".join(parts[:k]) for k in range(1, len(parts)))
    return any(
        (stem in names or _DEFAULT.fullmatch(stem)) and _SUFFIXED.fullmatch(name[len(stem) :])
        for stem in stems
    )


@dataclass(frozen=True)
class _Renaming:
    """Each name in `new` becomes another one, wherever a scop has it."""

    new: Mapping[str, str]

    def name(self, name: str) -> str:
        return self.new.get(name, name)

    def names(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self.name, names))

    def expr(self, expr: Expr) -> Expr:
        return rewrite(expr, self._changed)

    def _changed(self, expr: Expr) -> Expr | None:
        match expr:
            case Name(name, _):
                return replace(expr, name=self.name(name))
            case Reference(array, subscripts):
                return replace(expr, array=self.name(array), subscripts=tuple(map(self.expr, subscripts)))
        return None

    def action(self, a: Action) -> Action:
        if isinstance(a, Let):
            return replace(a, name=self.name(a.name))
        return with_sides(a, (tuple(map(self.action, side)) for _, side in sides(a)))

    def position(self, p: int | str) -> int | str:
        match p:
            case str() if p.startswith("-"):
                return f"-{self.name(p[1:])}"
            case str():
                return self.name(p)
        return p

    def access(self, a: Access) -> Access:
        if a.course is None:
            return a
        return replace(a, course=replace(a.course, iterators=self.names(a.course.iterators)))

    def statement(self, s: Statement) -> Statement:
        return replace(
            s,
            accesses=tuple(map(self.access, s.accesses)),
            iterators=self.names(s.iterators),
            schedule=tuple(map(self.position, s.schedule)),
            body=tuple(map(self.action, s.body)),
        )

    def measure(self, m: Measure) -> Measure:
        extents = tuple((self.name(array), self.name(scalar)) for array, scalar in m.extents)
        copies = (replace(a, name=self.name(a.name)) for a in m.copies)
        return Measure(extents, tuple(map(self.statement, m.statements)), tuple(copies))

    def scop(self, scop: Scop) -> Scop:
        scop = map_scop(scop, self.expr, self.expr)
        return replace(
            scop,
            scalars=tuple(replace(s, name=self.name(s.name)) for s in scop.scalars),
            arrays=tuple(replace(a, name=self.name(a.name)) for a in scop.arrays),
            loops=tuple(replace(loop, iterator=self.name(loop.iterator)) for loop in scop.loops),
            statements=tuple(map(self.statement, scop.statements)),
            assumptions=tuple(replace(a, iterators=self.names(a.iterators)) for a in scop.assumptions),
            conversions=tuple(replace(c, iterators=self.names(c.iterators)) for c in scop.conversions),
            measures=tuple(map(self.measure, scop.measures)),
        )
