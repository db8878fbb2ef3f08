"""Copies `a[e] = a[e]` in the source program, which change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.polyhedra import (
    AffineBuilder,
    PolyAccess,
    Polyhedra,
    PolyStatement,
    access_relation,
    array_tuple,
    named,
    statement_space,
)
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import (
    Assign,
    Declare,
    For,
    HostIf,
    HostStatement,
    If,
    Kernel,
    Launch,
    Region,
    Statement,
    While,
)
from polygpu.model.kernel_walk import bodies, reads, statements, touched, written
from polygpu.model.rewrite import names_in, reads_memory, references
from polygpu.model.scop import Access, Store
from polygpu.support.child import in_child
from polygpu.support.isl_idioms import D

_PLACES = 8  # for one copy, of which each may take a certificate
_SECONDS = 1.0  # for the last of the writes of a copy's elements

Writes: TypeAlias = list[tuple[PolyStatement, PolyAccess]]


def with_final_copies(p: Polyhedra, region: Region) -> Iterator[Polyhedra]:
    """`p` with `a[e] = a[e]` for arrays whose final values the region copies from a temporary.

    Such a copy changes nothing in the source, wherever it stands and whatever it copies, so that the
    generated one can be held against it: it is there for the sizes for which the host launches the kernel,
    after what is launched before that and of what this wrote, as far as the order of the source has it so.
    Other places for one of the copies follow: of each element right behind the last of the writes whose
    value it may be, and then the nearest ones outside of all loops.
    """
    likely: dict[str, int] = {}
    yield _with(p, region, likely)
    for name in likely:
        yield from _with_behind(p, region, likely, name)
    places = {p.positions, *(_place(s) for s in p.statements if not s.schedule.is_empty())}
    for name, top in likely.items():
        for other in sorted(places - {top}, key=lambda place: (abs(place - top), place))[:_PLACES]:
            yield _with(p, region, likely | {name: other})


def _with_behind(p: Polyhedra, region: Region, tops: dict[str, int], name: str) -> Iterator[Polyhedra]:
    """`p` with the copies, that of this name behind the last writes of its elements, if these are found."""
    kernel, uses = _wanted(p, region)[name], _uses_of(region)
    array = _copied_to(name, uses[kernel][1])
    assert array is not None
    found = _with(p, region, dict(tops))
    copy = found.statement(name)
    target = next(a.relation for a in copy.accesses if a.write)
    writes = _writes(found, array, _stored_with(region, uses, kernel))

    def last() -> str:
        """When in the source an element of the copy is written last, as a text, or nothing."""
        of_each = (
            target.apply_range(a.relation.reverse()).apply_range(s.schedule)
            for s, a in writes
            if s is not copy
        )
        times = reduce(isl.Map.union, of_each, copy.schedule.subtract(copy.schedule)).lexmax()
        good = times.is_single_valued() and copy.domain.is_subset(times.domain())
        return str(times) if good else ""

    try:
        text = in_child(last, _SECONDS)  # what is refuted stays so where isl takes long, or breaks down
    except TimeoutError:
        return
    if text:
        rank = copy.schedule.dim(D.out)

        def placed(s: PolyStatement) -> PolyStatement:
            order = (isl.Map(text) if s is copy else s.schedule).add_dims(D.out, 1)
            return replace(s, schedule=order.fix_val(D.out, rank, isl.Val(int(s is copy))))

        yield replace(found, statements=tuple(map(placed, found.statements)))


def _wanted(p: Polyhedra, region: Region) -> dict[str, str]:
    """What is no statement of the source, and the kernels that have it."""
    known = {s.name for s in p.statements}
    return {n: k.name for k in region.kernels for n in _statements(k.body) if n not in known}


def _uses_of(region: Region) -> dict[str, tuple[set[str], set[str]]]:
    """What each kernel reads and writes."""
    return {k.name: touched(k.body) for k in region.kernels}


def _with(p: Polyhedra, region: Region, tops: dict[str, int]) -> Polyhedra:
    """`p` with the copies, those without a place in `tops` at the likeliest one, which goes there."""
    launched = list(_launched(region.body))
    kernels = {k.name: k for k in region.kernels}
    wanted = _wanted(p, region)
    uses = _uses_of(region) if wanted else {}
    for name, kernel in sorted(wanted.items()):
        array = _copied_to(name, uses[kernel][1])
        if array is not None and kernel in launched and any(a.name == array for a in p.arrays):
            later = {k: kernels[k] for k in launched[launched.index(kernel) + 1 :]}
            writes = _writes(p, array, _stored_with(region, uses, kernel))
            space = statement_space(p.parameters, name, _elements(writes))
            copied = _copied(space, writes, list(_tests(region.body, kernel)))
            sizes = copied.params()
            tests = {k: _tests(region.body, k) if launched.count(k) == 1 else iter(()) for k in later}
            meant = [(later[k], _passing(p, sizes, around)) for k, around in tests.items()]
            top = tops.setdefault(name, _top(p, array, copied, meant))
            copy = _final_copy(p, array, top, writes, copied)
            p = replace(p, statements=(*(_moved(s, top) for s in p.statements), copy))
    return p


def _copied_to(name: str, stored: Set[str]) -> str | None:
    """Of the arrays that a kernel stores, the one of a copy `F_array`; of several, others end in `_`."""
    found = [a for a in stored if name.startswith(f"F_{a}") and not name.removeprefix(f"F_{a}").strip("_")]
    return max(found, key=len, default=None)


def _launched(body: tuple[HostStatement, ...]) -> Iterator[str]:
    """Kernels in the order of their launches."""
    for s in body:
        if isinstance(s, Launch):
            yield s.kernel
        else:
            yield from _launched(s.body)


def _top(p: Polyhedra, array: str, copied: isl.Set, later: list[tuple[Kernel, isl.Set]]) -> int:
    """The place of a copy at the top of the source's order: before what `later` kernels do with it, for the
    sizes with which they are launched where it is made.
    """
    sites = {site for k, sizes in later for site in _sites(p, k.body, {array, *_tiles(k.body, array)}, sizes)}
    names = {n for k, _ in later if array in set.union(*touched(k.body)) for n in _statements(k.body)}
    mine = (s for s in p.statements if s.name in names and not s.schedule.is_empty())
    elements = copied.reset_tuple_id()
    return min((_place(s) for s in mine if _uses(s, array, elements, sites)), default=p.positions)


def _tiles(body: tuple[Statement, ...], array: str) -> Iterator[str]:
    """The arrays that elements of `array` are copied to, each for accesses of many sites."""
    for s in statements(body):
        target = written(s)
        if isinstance(target, Reference) and array in (r.array for e in reads(s) for r in references(e)):
            yield target.array


def _sites(p: Polyhedra, body: tuple[Statement, ...], arrays: Set[str], sizes: isl.Set) -> Iterator[int]:
    """Those of accesses to the `arrays` for some of the `sizes`, -1: any; others in the source may go to
    temporaries here.
    """
    for s in body if not sizes.is_empty() else ():
        target = written(s)
        own = [target] if isinstance(target, Reference) else []
        mine = (*own, *(r for e in reads(s) for r in references(e)))
        yield from (r.site for r in mine if r.array in arrays)
        holds = _holds(p, s.test) if isinstance(s, If) else None
        for k, inner in enumerate(bodies(s)):
            left = sizes if holds is None else sizes.subtract(holds) if k else sizes.intersect(holds)
            yield from _sites(p, inner, arrays, left)


def _passing(p: Polyhedra, sizes: isl.Set, tests: Iterator[Expr]) -> isl.Set:
    """Those of the sizes that pass the tests which depend on nothing else."""
    found = (holds for test in tests if (holds := _holds(p, test)) is not None)
    return reduce(isl.Set.intersect, found, sizes)


def _holds(p: Polyhedra, test: Expr) -> isl.Set | None:
    """The sizes for which a test holds; None where it depends on something else, or is not affine."""
    if reads_memory(test) or not names_in(test) <= {*p.parameters}:
        return None
    try:
        return AffineBuilder(statement_space(p.parameters, "sizes", ())).condition(test).params()
    except ValueError:
        return None


def _stored_with(region: Region, uses: Mapping[str, tuple[set[str], set[str]]], copying: str) -> set[str]:
    """The statements of kernels that write a temporary which the kernel of a copy reads."""
    read = uses[copying][0] - {b.name for b in region.buffers if b.host}
    return {n for k in region.kernels if read & uses[k.name][1] for n in _statements(k.body)}


def _place(s: PolyStatement) -> int:
    return int(s.schedule.range().dim_min_val(0).to_python())


def _uses(s: PolyStatement, array: str, elements: isl.Set, sites: set[int]) -> bool:
    mine = (a for a in s.accesses if array_tuple(a.reference) == array)
    own = (a.relation.range().reset_tuple_id() for a in mine if {a.reference.site, -1} & sites)
    return any(not touched.is_disjoint(elements) for touched in own)


def _writes(p: Polyhedra, array: str, writers: set[str]) -> Writes:
    """The writes of an array by statements of these names, or all of them where none of these does."""
    found = [
        (s, a) for s in p.statements for a in s.accesses if a.write and array_tuple(a.reference) == array
    ]
    return [(s, a) for s, a in found if s.name in writers] or found


def _written(writes: Writes) -> isl.Set:
    return reduce(isl.Set.union, (a.relation.range().reset_tuple_id() for _, a in writes))


def _moved(s: PolyStatement, top: int) -> PolyStatement:
    """The statement one place later, if it is not before place `top`."""
    if s.schedule.is_empty() or _place(s) < top:
        return s
    same = isl.MultiAff.identity(s.schedule.get_space().range().map_from_set())
    later = same.set_aff(0, same.get_aff(0).add_constant_val(isl.Val(1)))
    return replace(s, schedule=s.schedule.apply_range(isl.Map.from_multi_aff(later)))


def _tests(body: tuple[HostStatement, ...], kernel: str) -> Iterator[Expr]:
    """The tests around the launch of a kernel."""
    for s in body:
        if isinstance(s, HostIf) and _launches(s.body, kernel):
            yield s.test
            yield from _tests(s.body, kernel)


def _launches(body: tuple[HostStatement, ...], kernel: str) -> bool:
    return any(s.kernel == kernel if isinstance(s, Launch) else _launches(s.body, kernel) for s in body)


def _statements(body: tuple[Statement, ...]) -> Iterator[str]:
    for s in body:
        match s:
            case Assign() | Declare() | If() | While() if s.origin is not None:
                yield s.origin.statement
            case For() | While():
                yield from _statements(s.body)
            case If():
                yield from _statements((*s.then, *s.otherwise))


def _elements(writes: Writes) -> tuple[str, ...]:
    """Names for the subscripts of what is written."""
    r = writes[0][1].reference
    return tuple(f"{r.array}_e{k}" for k in range(len(r.subscripts)))


def _copied(space: isl.Space, writes: Writes, tests: list[Expr]) -> isl.Set:
    """The elements that a copy is for, where the host passes the `tests`."""
    domain = named(space, _written(writes))
    for test in tests:
        domain = domain.intersect(AffineBuilder(space).condition(test))
    return domain


def _final_copy(p: Polyhedra, array: str, top: int, writes: Writes, domain: isl.Set) -> PolyStatement:
    like, access = writes[0]
    name, elements = domain.get_tuple_name(), _elements(writes)
    space = statement_space(p.parameters, name, elements)
    reference = replace(access.reference, subscripts=tuple(Name(e) for e in elements))
    accesses = tuple(_access(space, domain, reference, write, access) for write in (False, True))
    order = isl.Map.from_domain(domain)
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space()))
    order = isl.Map.from_aff(zero.set_constant_val(isl.Val(top)))
    for _ in range(like.schedule.dim(D.out) - 1):
        order = order.flat_range_product(isl.Map.from_aff(zero))
    body = (Store(reference, reference),)
    text = f"{array} keeps its final values"
    return PolyStatement(
        name, elements, (), domain, order.intersect_domain(domain), body, accesses, like.position, text
    )


def _access(space: isl.Space, domain: isl.Set, r: Reference, write: bool, like: PolyAccess) -> PolyAccess:
    access = Access(r, write, True, True, like.position, like.text)
    relation = access_relation(AffineBuilder(space), domain, access)
    return PolyAccess(r, relation, write, True, True, like.position, like.text)
