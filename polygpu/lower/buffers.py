"""Device arrays of a region: their extents, what is copied in and out, and how kernels name their sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import chain
from typing import TypeAlias, TypeVar

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.elements import declared
from polygpu.analysis.polyhedra import AffineBuilder, PolyAccess, Polyhedra, PolyStatement, array_tuple
from polygpu.lower.scan import test_of, value_of
from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import ArrayArgument, Buffer, Rows, Span
from polygpu.model.linear import add, linear, maximum, simplify
from polygpu.model.rewrite import numbered, reads_of, references
from polygpu.model.scop import SHORT, Action, Array, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.gist import gist
from polygpu.support.isl_idioms import (
    D,
    TooLongError,
    bounded,
    bounded_hull,
    coalesced,
    identifier,
    isl_name,
    maps,
    surely_within,
    tuple_name,
)
from polygpu.support.recent import Recent, Same

T = TypeVar("T")

_STEPS = 100_000  # of isl, for whether writes cover an array, and for its ends; ordinary ones take hundreds

PITCH = 32  # elements a device row is a multiple of: keeps wide accesses aligned


@dataclass(frozen=True)
class Layout:
    """A buffer, and the sizes kernels may need of it: each an expression and a host value."""

    buffer: Buffer
    sizes: dict[str, Expr]  # scalar argument name -> host expression

    def extent(self, k: int) -> Expr:
        """Extent k as kernels write it: a constant, a parameter or a scalar argument."""
        return self._named(f"{self.buffer.name}_n{k}", self.buffer.extents[k])

    def first(self, k: int) -> Expr:
        """The first subscript of dimension k."""
        return self.buffer.origin[k] if self.buffer.origin else Int(0)

    def is_pitched(self, width: int) -> bool:
        """Whether each row begins with `width` elements that can be accessed together."""
        pitch = self.buffer.pitch
        whole = not isinstance(pitch, Int) or pitch.value % width == 0  # what sizes decide is padded
        return pitch is not None and not self.buffer.origin and whole

    def pitch(self) -> Expr | None:
        if self.buffer.pitch is None:
            return None
        return self._named(f"{self.buffer.name}_pitch", self.buffer.pitch)

    def _named(self, name: str, value: Expr) -> Expr:
        return value if isinstance(value, Int | Name) else Name(name)

    def argument(self, read: bool, written: bool) -> ArrayArgument:
        b = self.buffer
        extents: tuple[Expr | None, ...] = tuple(
            None if k == 0 else self.extent(k) for k in range(len(b.extents))
        )
        return ArrayArgument(b.name, b.type, extents, self.pitch(), read, written, b.structure, b.origin)


def layouts(p: Polyhedra, d: Dependences) -> dict[str, Layout]:
    """The layout of every array that some statement touches, or that is a version of one.

    Raises Diagnosed where isl does not find in reasonable time how much of one is touched.
    """
    used = {a.reference.array for s in p.statements for a in s.accesses}
    known = {a.name for a in p.scop.arrays}
    return {a.name: _layout_in_time(p, d, a) for a in p.arrays if a.name in used or a.name not in known}


def check_extents(p: Polyhedra) -> None:
    """Raises the Diagnosed of `layouts` for an array of which isl does not find how much is touched, before
    dependences and a schedule are found that nothing could be done with.
    """
    used = {a.reference.array for s in p.statements for a in s.accesses}
    for array in (a for a in p.arrays if a.name in used):
        try:
            touched = _touched(p, array)
        except Diagnosed:
            return  # to be told when nothing else is wrong
        if not any(e is None for e in array.extents[1:]):
            _in_time(array, partial(_ends, p, array, touched))


def _layout_in_time(p: Polyhedra, d: Dependences, array: Array) -> Layout:
    return _in_time(array, partial(_layout, p, d, array))


def _in_time(array: Array, made: Callable[[], T]) -> T:
    try:
        return made()
    except TooLongError:
        message = f"isl does not find how much of '{array.name}' is used in reasonable time"
        help_text = f"declare '{array.name}' with its size, or make bounds and tests simpler"
        raise Diagnosed(Diagnostic("PG314", "error", message, array.position, help_text)) from None


def _layout(p: Polyhedra, d: Dependences, array: Array) -> Layout:
    if array.storage != "region" and not array.pointers and any(e is None for e in array.extents[1:]):
        raise Diagnosed(_missing_extent(array))
    touched = _touched(p, array)
    origin, extents, last = _ends(p, array, touched)
    pitch = _pitch(extents[-1]) if len(extents) > 1 else None
    shift = origin if any(o != Int(0) for o in origin) else ()
    read_in, written = _directions(p, d, array, touched)
    host = array.storage != "region"
    declared = (None, *extents[1:]) if array.pointers else array.extents
    buffer = Buffer(
        name=array.name,
        type=array.element,
        extents=extents,
        host_extents=declared if host else extents,
        origin=shift,
        pitch=pitch,
        host=host,
        copy_in=host and read_in,
        copy_out=host and written and array.live_out,
        structure=array.structure,
        last=last,
        rows=_rows(p, array, touched) if array.pointers else None,
        optional=array.storage == "parameter" and _may_be_untouched(p, array),
    )
    sizes: dict[str, Expr] = {
        f"{array.name}_n{k}": e for k, e in enumerate(extents) if not isinstance(e, Int | Name)
    }
    if pitch is not None and not isinstance(pitch, Int):
        sizes[f"{array.name}_pitch"] = pitch
    return Layout(buffer, sizes)


def _may_be_untouched(p: Polyhedra, array: Array) -> bool:
    """Whether there are sizes for which it is copied and data decide that no element of it is touched, or for
    which its pointer is not read at all, and it is declared with its extents.
    """
    if array.optional and not any(e is None for e in array.extents):
        return True
    mine = [a for _, a in p.accesses_of(array.name)]
    sure = [a for a in mine if a.must]
    return len(sure) < len(mine) and not surely_within(_sizes(p, mine), _sizes(p, sure))


def _sizes(p: Polyhedra, accesses: list[PolyAccess]) -> isl.Set:
    """The sizes for which some of these happen, or would if data let them."""
    found = (a.relation.domain().params() for a in accesses)
    return reduce(isl.Set.union, found, isl.Set.empty(p.context.get_space()))


Ends: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]

_ENDS: Recent[Ends] = Recent(256)  # arrays, of which a region is asked before its schedule is found


def _ends(p: Polyhedra, array: Array, touched: list[isl.Set]) -> Ends:
    """The first element of each dimension, the extents from there, and what `_last` has."""
    mine = p.accesses_of(array.name)
    stores = {s.name: [a for a in s.accesses if a.write] for s, _ in mine if _in_conditions(s.body)}
    found = (a.relation for a in (*(a for _, a in mine), *chain(*stores.values())))
    key = array, Same(p.context), tuple(map(Same, found))
    return _ENDS.get(key, lambda: _found_ends(p, array, touched))


def _found_ends(p: Polyhedra, array: Array, touched: list[isl.Set]) -> Ends:
    extents: list[Expr] = []
    origin: list[Expr] = []
    for k, extent in enumerate(array.extents):
        low, length = (Int(0), extent) if extent is not None else _range(p, array, touched, k)
        origin.append(low)
        extents.append(length)
    outside = array.storage != "region" and not array.pointers
    return tuple(origin), tuple(extents), _last(p, array, touched, origin) if outside else ()


def _missing_extent(array: Array) -> Diagnostic:
    message = f"an inner dimension of '{array.name}' has no size"
    help_text = "only the first may be left out, as in 'float a[][n]'"
    return Diagnostic("PG307", "error", message, array.position, help_text)


def _pitch(extent: Expr) -> Expr:
    """Elements from one row to the next: short rows, as of three colours, lie behind each other."""
    if isinstance(extent, Int):
        return extent if extent.value < SHORT else Int(-(-extent.value // PITCH) * PITCH)
    return Binary("*", Binary("/", add(extent, PITCH - 1), Int(PITCH)), Int(PITCH))


def _touched(p: Polyhedra, array: Array) -> list[isl.Set]:
    """The elements of each access; of pieces of a statement those of what is one access in the source, and of
    others one of those that touch the same.
    """
    found: dict[tuple[str, Reference, int], isl.Map] = {}
    seen: set[int] = set()
    for s, a in p.accesses_of(array.name):
        if not s.whole and id(a.relation) in seen:
            continue
        seen.add(id(a.relation))
        relation = _happening(s, a).reset_tuple_id(D.in_).reset_tuple_id(D.out)
        if not a.affine and not _has_ends(relation.range(), array):
            raise Diagnosed(_unknown_extent(p, array, a))
        key = s.whole or s.name, a.reference, relation.dim(D.in_)
        found[key] = coalesced(found[key].union(relation)) if key in found else relation
    return [relation.range() for relation in found.values()]


def _happening(s: PolyStatement, a: PolyAccess) -> isl.Map:
    """Elements by instance; what conditional stores alone read, where what they write has elements."""
    if a.write or not _in_conditions(s.body):
        return a.relation
    numbers = {n: x for n, x in numbered(s.body) if any(a.reference in references(e) for e in reads_of(x))}
    stores = [x.target for n, x in numbers.items() if isinstance(x, Store) and len(n) > 1]
    if not stores or len(stores) < len(numbers):
        return a.relation
    there = [x.relation.domain() for x in s.accesses if x.write and x.reference in stores]
    where = reduce(isl.Set.union, there, isl.Set.empty(s.domain.get_space()))
    return a.relation if a.relation.domain().is_subset(where) else a.relation.intersect_domain(where)


_STORES: Recent[bool] = Recent(64)  # bodies, of each of whose accesses that is asked


def _in_conditions(body: tuple[Action, ...]) -> bool:
    """Whether some store of it is conditional."""
    found = (isinstance(x, Store) and len(n) > 1 for n, x in numbered(body))
    return _STORES.get(Same(body), lambda: any(found))


def _has_ends(elements: isl.Set, array: Array) -> bool:
    """Whether subscripts tell what is touched of the dimensions whose extents are not known."""
    unknown = [k for k, extent in enumerate(array.extents) if extent is None]
    rank = elements.dim(D.set)
    lines = (elements.project_out(D.set, k + 1, rank - k - 1).project_out(D.set, 0, k) for k in unknown)
    return all(line.is_bounded() for line in lines)


def _unknown_extent(p: Polyhedra, array: Array, access: PolyAccess) -> Diagnostic:
    shown = (
        e.name if isinstance(e, Name) else e.value if isinstance(e, Int) else "m" for e in array.extents[1:]
    )
    inner = "".join(f"[{extent}]" for extent in shown)
    sized = f"as in '{array.element} {array.name}[n]{inner}'"
    what = f"declare '{array.name}' with its size, {sized}"
    if array.pointers:
        what = f"make one array of its rows, {sized}"
    elif array.source or array.derived:
        what = f"pass it to a function for these loops, as a parameter with its size, {sized}"
    guessed = any(a.reason.startswith(f"'{array.name}' ") for a in p.scop.assumptions)
    return Diagnostic(
        "PG301",
        "error",
        p.scop.in_source(
            f"'{access.text}' has a data-dependent subscript and the size of '{array.shown}' is not known"
        ),
        access.position,
        p.scop.in_source(f"{what}, and write a subscript for each dimension" if guessed else what),
    )


def _largest(elements: isl.Set, k: int = 0) -> isl.PwAff:
    """In dimension k. Raises TooLongError: subscripts that take turns may keep isl for ever."""
    with bounded(_STEPS):
        return elements.dim_max(k)


def _smallest(elements: isl.Set) -> isl.PwAff:
    with bounded(_STEPS):
        return elements.dim_min(0)


def _range(p: Polyhedra, array: Array, touched: list[isl.Set], k: int) -> tuple[Expr, Expr]:
    """The first subscript of dimension k that any access touches, where that is below 0, and how many there
    are from there to the last.
    """
    union = touched[0]
    for other in touched[1:]:
        union = union.union(other)
    line = union.project_out(D.set, k + 1, union.dim(D.set) - k - 1).project_out(D.set, 0, k)
    if line.is_empty():  # tests within branches rule out every access
        return Int(0), Int(0)
    # exact where memory is the caller's, which may end with the last element touched
    line = bounded_hull(line) if array.storage == "region" else coalesced(line)
    context = p.context
    used = context.intersect(line.params().remove_unknown_divs())  # with those, code may take isl for ever
    end = add(value_of(_largest(line), used), 1)
    high = _if_touched(end, line, context)
    negative = line.intersect(isl.Set("{ [i] : i < 0 }"))
    if negative.is_empty():
        return Int(0), maximum(high, Int(0)) if not isinstance(high, Name | Select) else high
    first = value_of(_smallest(line), used)
    low = _if_touched(first, line, context, is_low=True)
    if low != first and _is_of_one_size(first):  # kernels subtract it at each access: no tests in there
        low = _zero_or_below(first)
        length = simplify(Binary("-", end, low))
        test = test_of(line.params(), context)
        return low, length if test is None else Select(test, length, Int(0))
    low = _zero_or_below(low)
    return low, simplify(Binary("-", high, low))


def _zero_or_below(low: Expr) -> Expr:
    return simplify(Binary("-", Int(0), maximum(simplify(Binary("-", Int(0), low)), Int(0))))


def _is_of_one_size(expr: Expr) -> bool:
    """Whether it is a size and a constant: int holds it where nothing is touched, too."""
    sum_ = linear(expr)
    return [(type(atom), factor) for atom, factor in sum_.terms] == [(Name, 1)]


def _if_touched(end: Expr, line: isl.Set, context: isl.Set, is_low: bool = False) -> Expr:
    """`end`, or 0 at sizes where nothing is touched and the `end` would say otherwise."""
    empty = context.subtract(line.params())
    if empty.is_empty():
        return end
    there = AffineBuilder(empty.get_space()).value(end)
    beyond = there.neg() if is_low else there
    if empty.intersect(beyond.pos_set()).is_empty():
        return end
    test = test_of(line.params(), context)
    return end if test is None else Select(test, end, Int(0))


def _last(p: Polyhedra, array: Array, touched: list[isl.Set], origin: list[Expr]) -> tuple[Expr, ...]:
    """Of rows behind a pointer, the last element touched where that is not the end of a row.

    Nothing says that the caller's memory goes on behind it.
    """
    if len(array.extents) < 2 or not _is_open(p, array) or any(o != Int(0) for o in origin[1:]):
        return ()
    together = coalesced(_there(p, array, reduce(isl.Set.union, touched)))
    if together.is_empty():
        return ()
    sides: list[isl.PwAff] = []
    left, rank = together, together.dim(D.set)
    for k in range(rank):  # isl's lexicographic maximum fails for some sets
        sides.append(_largest(left, k))
        there = isl.Set.from_pw_aff(sides[k]).insert_dims(D.set, 0, k).add_dims(D.set, rank - k - 1)
        left = left.intersect(there)
    context = p.context.intersect(together.params())
    found = tuple(value_of(side, context) for side in sides)
    ends = all(add(at, 1) == size for at, size in zip(found[1:], array.extents[1:], strict=True))
    return () if ends else found


def _is_open(p: Polyhedra, array: Array) -> bool:
    """Whether what is accessed says how many rows there are."""
    first = array.extents[0]
    return first is None or (isinstance(first, Name) and first.name in p.scop.measured)


def _there(p: Polyhedra, array: Array, touched: isl.Set) -> isl.Set:
    """Those within rows that are counted as touched when the region runs: data may rule out others."""
    all_ = declared(p, array)
    if all_ is not None:
        return touched if touched.is_subset(all_) else touched.intersect(all_)
    first = array.extents[0]
    if not isinstance(first, Name):
        return touched
    builder = AffineBuilder(touched.get_space())
    row = isl.PwAff.from_aff(isl.Aff.var_on_domain(builder.local, D.set, 0))
    return touched.intersect(row.lt_set(builder.value(first)))


def _rows(p: Polyhedra, array: Array, touched: list[isl.Set]) -> Rows:
    """What the region may touch of each row that pointers lead to, and what of it it may write."""
    counters = tuple(f"polygpu_{k}" for k in range(array.pointers))
    union = reduce(isl.Set.union, touched)
    around = p.context.intersect(_counted(union.project_out(D.set, array.pointers, 1), counters))
    writes = [a for _, a in p.accesses_of(array.name) if a.write]
    written = [a.relation.range().reset_tuple_id() for a in writes]
    return Rows(
        counters,
        _span(union, counters, around),
        _span(reduce(isl.Set.union, written), counters, around) if written else None,
    )


def _counted(rows: isl.Set, counters: tuple[str, ...]) -> isl.Set:
    """The values that counters have where they go from 0, or what is below it, to the largest subscript."""
    rank = rows.dim(D.set)
    passed = isl.Map("{ [i] -> [k] : 0 <= k <= i or i <= k < 0 }")
    lines = (rows.project_out(D.set, k + 1, rank - k - 1).project_out(D.set, 0, k) for k in range(rank))
    hulls = (isl.Set.from_basic_set(line.apply(passed).simple_hull()) for line in lines)
    return reduce(
        isl.Set.intersect, (_at(line, (name,)).params() for line, name in zip(hulls, counters, strict=True))
    )


def _at(elements: isl.Set, counters: tuple[str, ...]) -> isl.Set:
    """With the first subscripts as parameters."""
    first = elements.dim(D.param)
    elements = elements.move_dims(D.param, first, D.set, 0, len(counters))
    for k, name in enumerate(counters):
        elements = elements.set_dim_id(D.param, first + k, identifier(isl_name(name)))
    return elements


def _span(elements: isl.Set, counters: tuple[str, ...], around: isl.Set) -> Span:
    """From the first to the last element of each row, where `around` holds."""
    row = coalesced(_at(elements, counters))
    if row.is_empty():
        return Span(Int(0), Int(0), None)
    inside = around.intersect(row.params())
    low, high = value_of(_smallest(row), inside), value_of(_largest(row), inside)
    return Span(low, add(high, 1), test_of(row.params(), around))


def _directions(p: Polyhedra, d: Dependences, array: Array, touched: list[isl.Set]) -> tuple[bool, bool]:
    """Whether the region needs the array's old contents, and whether it writes it."""
    mine = {array_tuple(a.reference) for _, a in p.accesses_of(array.name)}
    live_in = any(tuple_name(m, D.out) in mine for m in maps(d.live_in))
    writes = [a for _, a in p.accesses_of(array.name) if a.write]
    if not writes:
        return live_in, False
    if array.live_out and not all(a.must for a in writes):
        return True, True  # what data decide not to write keeps its value
    must = [a.relation.range().reset_tuple_id() for a in writes if a.must and not a.reference.field]
    try:
        with bounded(_STEPS):
            covered = live_in or _covers(p, array, must, touched)
    except TooLongError:
        covered = False  # copied in for nothing, perhaps
    return live_in or not covered, True


def _covers(p: Polyhedra, array: Array, written: list[isl.Set], touched: list[isl.Set]) -> bool:
    """Whether the writes provably reach every element that is copied: all of a declared array, or of its rows
    up to the last one touched.
    """
    if not written or array.pointers:
        return False
    union = written[0]
    for other in written[1:]:
        union = union.union(other)
    if not array.extents:
        return bool(gist(union.params(), p.context.params()).plain_is_universe())
    whole = declared(p, array)
    if whole is None:
        return False
    if array.extents[0] is None:
        inner = len(array.extents) - 1
        line = reduce(isl.Set.union, touched).project_out(D.set, 1, inner)
        if not line.intersect(isl.Set("{ [i] : i < 0 }")).is_empty():
            return False
        passed = isl.Map("{ [x] -> [i] : 0 <= i <= x }")
        whole = whole.intersect(line.apply(passed).add_dims(D.set, inner))
    firsts = ((*[0] * (len(array.extents) - 1), column) for column in (0, 1))
    # of strided writes isl tells at once that they leave out one of these, and may take long for all
    within = all(_element(whole, e).is_subset(_element(union, e)) for e in firsts)
    return within and surely_within(whole, union)


def _element(elements: isl.Set, subscripts: tuple[int, ...]) -> isl.Set:
    """Those of the elements that have these subscripts."""
    for k, subscript in enumerate(subscripts):
        elements = elements.fix_val(D.set, k, isl.Val(subscript))
    return elements
