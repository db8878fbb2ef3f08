"""isl, with dimensions by name and lists that iterate. Everything works in the default context."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from math import inf
from time import monotonic, process_time
from typing import TypeVar

import islpy as isl

from polygpu.support.dataclass import dataclass

D = isl.dim_type
CONTEXT = isl.DEFAULT_CONTEXT
_CASES = 64  # floors of all cases of a value: with 120 the larger of it and 0 takes minutes
_FLOORS = 8  # of a set: more than 4 are rare, and a step with 12 of them takes 20 us
_HIDDEN, _LARGE = 2, 1000  # integers of a part that exist; coefficients that are no tiles'

Piecewise = TypeVar("Piecewise", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap, isl.PwAff)
Union = TypeVar("Union", isl.UnionSet, isl.UnionMap)

_RESERVED = frozenset(
    "max min mod and or not exists implies floor ceil floord ceild infty infinity nan true false rat".split()
)
_SUFFIX = "__"


def isl_name(name: str) -> str:
    """A spelling of a C identifier that isl's parser takes as an identifier."""
    return name + _SUFFIX if name.lower() in _RESERVED or name.endswith(_SUFFIX) else name


def c_name(name: str) -> str:
    """The inverse of `isl_name`."""
    return name.removesuffix(_SUFFIX)


def identifier(name: str) -> isl.Id:
    """An id equal to the one isl's parser makes (`isl.Id(name)` is not: it carries a Python object)."""
    return isl.Id.read_from_str(CONTEXT, name)


def set_options() -> None:
    """Puts every option of the (global) context to what the compiler relies on."""
    options = {
        "schedule_outer_coincidence": 1,
        "schedule_maximize_band_depth": 1,
        "schedule_serialize_sccs": 1,
        "schedule_treat_coalescing": 1,
        "ast_build_atomic_upper_bound": 1,
        "ast_build_prefer_pdiv": 1,
        "ast_build_exploit_nested_bounds": 1,
        "ast_build_detect_min_max": 1,
    }
    for name, value in options.items():
        getattr(CONTEXT, "set_" + name)(value)
    CONTEXT.set_on_error(isl.on_error.CONTINUE) if hasattr(CONTEXT, "set_on_error") else None


class TooLongError(isl.Error):
    """isl has used up its steps, or there is no time left."""


STEPS_A_SECOND = 2_000_000  # where isl is slow; elsewhere it does twice or three times as many
_SLOW = 3  # times the processor time that a number of steps should take: then there are steps that are long
_ITERATIONS, _USUAL = 4000, 4e-8  # of a loop of Python, and the seconds of one where `_SLOW` was found
_MOMENT = 0.02  # seconds
_PROBED = 1 << 14, 1 << 7  # steps: what most work does not take, and what is not told from nothing


@dataclass
class _Clock:
    """`past` steps were done before isl counted from 0; there is an error at `end`.

    So many seconds of the processor were taken `elsewhere`, by a child that goes on; and `seen` in all when
    they were last asked for, which counts until the wall's clock shows `stale`.
    """

    past: float = 0
    end: float = inf
    elsewhere: float = 0.0
    seen: float = 0.0
    stale: float = 0.0


_CLOCK = _Clock()
_DEADLINE = ContextVar("_DEADLINE", default=inf)


def steps() -> float:
    """A clock that isl's work moves on, alike on all machines: how many steps it has done, to a third."""
    pass_by(_counted())
    return _CLOCK.past


def pass_by(work: float) -> None:
    """Moves the clock on from where isl's count began."""
    _CLOCK.past += work
    CONTEXT.reset_operations()
    CONTEXT.set_max_operations(0 if _CLOCK.end == inf else max(1, int(_CLOCK.end - _CLOCK.past)))


def _counted() -> float:
    """How many steps isl has counted since it began at 0, which it says only by failing at so many."""
    most, least = _PROBED
    if not _fails_at(least):
        return least
    while _fails_at(most):
        most *= 2
    while not _fails_at(most // 2):
        most //= 2
    return 0.75 * most


def _fails_at(operations: int) -> bool:
    CONTEXT.set_max_operations(operations)
    try:
        isl.Val(1)
    except isl.Error:
        return True
    return False


@cache
def slow() -> float:
    """How many times the processor time that a number of steps should take shows that there are long ones.

    More on a machine that takes longer for everything: what is found in time must not depend on that.
    """
    return _SLOW * max(1.0, min(_of_a_loop() for _ in range(3)) / (_ITERATIONS * _USUAL))


def _of_a_loop() -> float:
    start, sum_ = process_time(), 0
    for k in range(_ITERATIONS):
        sum_ += k * k
    return process_time() - start


def spent() -> float:
    """Seconds of the processor, with those of children that have ended, and what others say they `take`."""
    children = os.times()
    return process_time() + children.children_user + children.children_system + _CLOCK.elsewhere


def _spent_lately() -> float:
    """The same as of a moment ago: to ask the system takes as long as many a step of isl."""
    now = monotonic()
    if now >= _CLOCK.stale:
        _CLOCK.seen, _CLOCK.stale = spent(), now + _MOMENT
    return _CLOCK.seen


def take(seconds: float) -> None:
    """Counts time of the processor that a child has taken which goes on."""
    _CLOCK.elsewhere += seconds
    _CLOCK.stale = 0.0


@contextmanager
def hurried(seconds: float) -> Iterator[None]:
    """What should take so many seconds: what takes steps that are long is not begun inside.

    `bounded` work that begins after `slow()` times as many of the processor raises TooLongError.
    """
    _CLOCK.stale = 0.0  # in a copy of a process the time begins anew
    token = _DEADLINE.set(min(_DEADLINE.get(), spent() + slow() * seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def in_time() -> None:
    """Raises TooLongError where the time that `hurried` gives is over."""
    if _is_late():
        raise TooLongError("time is up")


def _is_late() -> bool:
    end = _DEADLINE.get()
    return end < inf and _spent_lately() >= end


@contextmanager
def bounded(operations: float) -> Iterator[None]:
    """TooLongError as soon as isl has done `operations` steps inside, or those of a limit around.

    Also where the time that `hurried` gives is over. Inside, isl's functions raise what islpy makes of that.
    """
    outer = _CLOCK.end
    _CLOCK.end = min(outer, steps() + (0 if _is_late() else operations))
    pass_by(0)
    try:
        yield
    except Exception:
        if exhausted():
            raise TooLongError("too many steps") from None
        raise
    else:
        if exhausted():
            raise TooLongError("too many steps")
    finally:
        _CLOCK.end = outer
        steps()


def unbounded() -> None:
    """In a copy of the process that goes on beside it: what bounds that one bounds this no longer."""
    _CLOCK.end = inf
    _DEADLINE.set(inf)
    pass_by(0)


def left() -> float:
    """How many steps isl may do in what is `bounded` here."""
    return _CLOCK.end - steps()


def exhausted() -> bool:
    """Whether isl may do nothing more: each allocation is a step.

    Its functions then give None, which islpy makes errors of several types of, and some lookups no error.
    """
    try:
        isl.Set("{ : }")
    except isl.Error:
        return True
    return False


def maps(union: isl.UnionMap) -> list[isl.Map]:
    """The maps of a union, ordered by tuple names (isl's own order is that of a hash)."""
    items = union.get_map_list()
    found = [items.get_at(i) for i in range(items.n_map())]
    return sorted(found, key=lambda m: (tuple_name(m, D.in_), tuple_name(m, D.out)))


def sets(union: isl.UnionSet) -> list[isl.Set]:
    """The sets of a union, ordered by tuple name."""
    items = union.get_set_list()
    found = [items.get_at(i) for i in range(items.n_set())]
    return sorted(found, key=lambda s: s.get_tuple_name() or "")


def tuple_name(item: isl.Map, kind: isl.dim_type) -> str:
    return item.get_tuple_name(kind) or "" if item.has_tuple_name(kind) else ""


def basic_maps(item: isl.Map) -> list[isl.BasicMap]:
    found: list[isl.BasicMap] = []
    item.foreach_basic_map(found.append)
    return found


def in_order(one: isl.Map, two: isl.Map) -> isl.Map:
    """Pairs of what `one` and what `two` puts at times, the first earlier: `one.lex_lt_map(two)`, which
    makes a part for each dimension of time. Most dimensions are places in the text, alike or in an order.
    """
    alike: list[int] = []
    order, end = isl.Map.lex_lt_map, one.dim(D.out)
    for k in range(end):
        a, b = (m.plain_get_val_if_fixed(D.out, k) for m in (one, two))
        if a.is_int() and b.is_int():
            alike.append(k)
            if a != b:
                order, end = isl.Map.lex_le_map if a < b else isl.Map.lex_lt_map, k
                break
    return order(*(_without(m, end, alike) for m in (one, two)))


def _without(times: isl.Map, end: int, dropped: Iterable[int]) -> isl.Map:
    times = times.project_out(D.out, end, times.dim(D.out) - end)
    for k in sorted(dropped, reverse=True):
        times = times.project_out(D.out, k, 1) if k < end else times
    return times


def has_strides(item: isl.Map | isl.Set, least: int) -> bool:
    """Whether dimensions are related by such factors, as places in flat arrays of several dimensions are."""
    kinds = (D.set, D.div) if isinstance(item, isl.Set) else (D.in_, D.out, D.div)
    parts: list[isl.BasicMap | isl.BasicSet] = []
    (item.foreach_basic_set if isinstance(item, isl.Set) else item.foreach_basic_map)(parts.append)
    return any(
        abs(c.get_coefficient_val(kind, k).to_python()) >= least
        for b in parts
        for c in b.get_constraints()
        for kind in kinds
        if c.involves_dims(kind, 0, count := b.dim(kind))
        for k in range(count)
    )


def pieces(pw: isl.PwAff) -> list[tuple[isl.Set, isl.Aff]]:
    found: list[tuple[isl.Set, isl.Aff]] = []
    pw.foreach_piece(lambda domain, aff: found.append((domain, aff)))
    return found


def has_floors(pw: isl.PwAff) -> bool:
    return any(aff.dim(D.div) for _, aff in pieces(pw))


def coordinate(space: isl.Space, name: str) -> isl.Aff:
    """The parameter `name` as a function on a space of sets."""
    local = isl.LocalSpace.from_space(space)
    return isl.Aff.var_on_domain(local, D.param, space.find_dim_by_name(D.param, name))


def union_pw_affs(item: isl.MultiUnionPwAff, position: int) -> Iterator[isl.PwAff]:
    """The piecewise affine functions (one a statement) of dimension `position`."""
    found: list[isl.PwAff] = []
    item.get_union_pw_aff(position).foreach_pw_aff(found.append)
    yield from sorted(found, key=pw_name)


def pw_name(pw: isl.PwAff) -> str:
    """The statement a piecewise affine function is defined on."""
    name: str = pw.get_tuple_id(D.in_).get_name()
    return name


def parameters(item: isl.Set | isl.Map) -> list[str]:
    return [item.get_dim_name(D.param, i) or "" for i in range(item.dim(D.param))]


def bounding(item: isl.Set) -> list[str]:
    """The parameters that the bounds of `item` depend on."""
    return [name for k, name in enumerate(parameters(item)) if item.involves_dims(D.param, k, 1)]


def with_parameters(item: isl.Set, names: list[str]) -> isl.Set:
    """`item` with the parameters `names` added where missing."""
    for name in names:
        if item.find_dim_by_name(D.param, name) < 0:
            item = item.add_dims(D.param, 1)
            item = item.set_dim_id(D.param, item.dim(D.param) - 1, identifier(name))
    return item


def single_space(space: isl.Space, name: str) -> isl.Space:
    """`space` with the parameter `name`, added when missing."""
    if space.find_dim_by_name(D.param, name) >= 0:
        return space
    space = space.add_dims(D.param, 1)
    return space.set_dim_id(D.param, space.dim(D.param) - 1, identifier(name))


def coalesced(item: Piecewise) -> Piecewise:
    """`item` in fewer pieces; as it is where an assertion of isl's breaks on it."""
    try:
        return item.coalesce()
    except isl.Error:
        return item


def common(first: isl.Set, others: Iterable[isl.Set]) -> isl.Set:
    """The intersection of all, in few pieces all the way: sets of a few pieces soon have thousands."""
    return reduce(lambda found, other: coalesced(found.intersect(other)), others, first)


def bounded_hull(item: isl.Set) -> isl.Set:
    """A convex set around `item` made of its own constraints; `item` itself where that is unbounded."""
    hull = isl.Set.from_basic_set(item.remove_divs().simple_hull())
    return hull if hull.is_bounded() else item


def few_floors(item: isl.Set) -> isl.Set:
    """`item`. Where time is limited, raises TooLongError for so many floors that each step takes long."""
    if has_many_floors(item) and _DEADLINE.get() < inf:
        raise TooLongError("too many floors")
    return item


def has_many_floors(item: isl.Set) -> bool:
    """Whether steps may take long for that alone."""
    return max((part.dim(D.div) for part in item.get_basic_sets()), default=0) > _FLOORS


def surely_within(some: isl.Set, others: isl.Set) -> bool:
    """Whether `some` is known to be within `others`, such as elements within others: False where isl may take
    minutes to say, or an assertion of its own fails, as for some sets with several moduli.
    """
    if any(map(hides_quotients, basic_maps(isl.Map.from_range(others)))):
        return False
    try:
        return bool(some.is_subset(others))
    except isl.Error:
        return False


def hides_quotients(part: isl.BasicMap) -> bool:
    """Whether `part` only says of several integers that they exist, with large coefficients: what quotients
    they are may take isl minutes, in few steps.
    """
    hidden = part.dim(D.div)
    if hidden < _HIDDEN or _has_quotients(part):
        return False
    order = D.div, D.param, D.in_, D.out, D.cst
    for rows in (part.inequalities_matrix(*order), part.equalities_matrix(*order)):
        values = (rows.get_element_val(row, k) for row in range(rows.rows()) for k in range(hidden))
        if any(abs(value.to_python()) > _LARGE for value in values):
            return True
    return False


def _has_quotients(part: isl.BasicMap) -> bool:
    """Whether each integer that `part` says to exist is a quotient."""
    try:
        part.get_div(0)
    except isl.Error:
        return False
    return True


def few_cases(value: isl.PwAff) -> isl.PwAff:
    """`value`. Where time is limited, raises TooLongError for so many cases with floors that it takes long to
    compare.
    """
    floors = sum(part.dim(D.div) for where, _ in pieces(value) for part in where.get_basic_sets())
    if floors > _CASES and _DEADLINE.get() < inf:
        raise TooLongError("too many cases with floors")
    return value


def empty_union_map() -> isl.UnionMap:
    return isl.UnionMap("{ }")


def union_of(items: Iterable[isl.Map]) -> isl.UnionMap:
    return _united([isl.UnionMap.from_map(item) for item in items], empty_union_map())


def union_set_of(items: Iterable[isl.Set]) -> isl.UnionSet:
    return _united([isl.UnionSet.from_set(item) for item in items], isl.UnionSet("{ }"))


def _united(parts: Sequence[Union], empty: Union) -> Union:
    """Their union by halves: each step copies what it has, which is too much for one part at a time."""
    if len(parts) < 2:
        return parts[0] if parts else empty
    middle = len(parts) // 2
    return _united(parts[:middle], empty).union(_united(parts[middle:], empty))
