"""The last of several writes, exactly: isl's own answers are checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import chain, permutations
from typing import Any, TypeVar

import islpy as isl

from polygpu.support.child import in_child, in_helper, steps_for
from polygpu.support.gist import gist
from polygpu.support.isl_idioms import (
    D,
    TooLongError,
    basic_maps,
    bounded,
    coalesced,
    has_strides,
    in_order,
    in_time,
    pass_by,
    steps,
)
from polygpu.support.recent import Recent

W = TypeVar("W")
Found = TypeVar("Found", isl.Set, isl.Map)
_DOUBTFUL, _LONG = 500, 1000  # strides
_DOUBTFUL_SECONDS = 2.0
_SOON = 20_000  # steps, which take about as long as to copy this process
_FLOORS = 30  # with more of them isl was seen to take a quarter of a minute for a maximum, and for a subset
_MANY_FLOORS = 4  # of one piece that is subtracted, for which isl was seen to take minutes
_MANY_PIECES = 8  # with long floors, from which isl was seen to take minutes for a difference
_SECONDS = 1.0
_SEARCHED = 200_000  # steps for one maximum, which takes half as many at most in the certificates of kernels
_SEARCHED_BY_DIMENSION = 400_000  # for one of many pieces, and such a certificate takes half as many
_MANY = 4  # pieces
_BETWEEN = "\n"  # texts of sets
_LONG_TEXT = 5000  # letters, which isl takes longer to read than this process to be copied
_STRIDE = re.compile(r"(?:mod |/)(\d{3,})|(\d{3,})(?=[A-Za-z_*(])")  # in a text of isl's
_LAST: Recent[list[isl.Map]] = Recent(256)
_FOUND: Recent[Any] = Recent(256)
_TOO_FEW: Recent[float] = Recent(64)  # steps for what was made elsewhere


def last_writes(earlier: dict[W, isl.Map], times: dict[W, isl.Map]) -> dict[W, isl.Map]:
    """For each read the last of the writes `earlier` than it; `times` map the writes to one line of time.

    Raises TooLongError, and with long strides soon: isl's numbers may grow out of what a word holds then, and
    its steps take hundreds of times as long.
    """
    ranked = _ranked([times[w] for w in earlier])
    writes = [*zip(earlier.values(), ranked, strict=True)]
    if len(writes) < 2:
        found = _last_writes(writes)
    else:  # many regions of a file add up in the same way
        found = _LAST.get(tuple(map(str, chain.from_iterable(writes))), lambda: _last_writes(writes))
    return {w: pairs for w, pairs in zip(earlier, found, strict=True) if not pairs.is_empty()}


def _ranked(times: Sequence[isl.Map]) -> list[isl.Map]:
    """The same order with 0, 1, ... for the places of the writes in what is around them: those of another
    sum, which are elsewhere, have the same times then.
    """
    found = [*times]
    for k in range(times[0].dim(D.out) if times else 0):
        values = [t.plain_get_val_if_fixed(D.out, k) for t in times]
        if all(v.is_int() for v in values):
            places = [v.to_python() for v in values]
            ranks = {place: rank for rank, place in enumerate(sorted({*places}))}
            for n, place in enumerate(places):
                if ranks[place] != place:
                    free = found[n].project_out(D.out, k, 1).insert_dims(D.out, k, 1)
                    found[n] = free.fix_val(D.out, k, isl.Val(ranks[place]))
    return found


def _last_writes(writes: Sequence[tuple[isl.Map, isl.Map]]) -> list[isl.Map]:
    latest_of = [_in_few(_latest_in_time(pairs, time)) for pairs, time in writes]
    found = list(latest_of)
    slow = len(writes) > 1 and any(has_strides(pairs, _LONG) for pairs, _ in writes)
    for k, other in permutations(range(len(writes)), 2):
        in_time()
        sets = found[k], latest_of[other], in_order(writes[k][1], writes[other][1])
        found[k] = _not_followed_soon(*sets) if slow else _not_followed(*sets)
    return [pairs if pairs.is_empty() else _in_few(pairs) for pairs in found]


def _in_few(pairs: isl.Map) -> isl.Map:
    """`pairs` in few pieces, where a maximum or a difference has made many of them."""
    return coalesced(pairs) if pairs.n_basic_map() > _MANY else pairs


def is_doubtful(pairs: isl.Map) -> bool:
    """Whether isl may take long for the last of the second executions."""
    return has_strides(pairs, _DOUBTFUL) or _floors(pairs) > _FLOORS


def _latest_in_time(pairs: isl.Map, time: isl.Map) -> isl.Map:
    in_time()
    if not is_doubtful(pairs):
        return latest(pairs, time)
    return _found(isl.Map, latest, pairs, time, "the last of some writes")


def _floors(pairs: isl.Map) -> int:
    return sum(b.dim(D.div) for b in basic_maps(pairs))


def _most_floors(items: isl.Set) -> int:
    """Of one piece."""
    return max((b.dim(D.div) for b in items.get_basic_sets()), default=0)


def subtracted(items: isl.Set, others: isl.Set) -> isl.Set:
    """The difference. Raises TooLongError where a few steps of isl would go on for ever."""
    floors, many = _most_floors(others), items.n_basic_set() > _MANY_PIECES
    if floors < _MANY_FLOORS and not ((floors or many) and any(map(_has_long_floors, (items, others)))):
        return items.subtract(others)
    return _found(isl.Set, _difference, items, others, "a difference")


def without(pairs: isl.Map, others: isl.Map) -> isl.Map:
    """The difference. Raises TooLongError where isl would go on for ever for `pairs` with many floors."""
    if others.plain_is_universe():
        return isl.Map.empty(pairs.get_space())
    floors = max((b.dim(D.div) for b in basic_maps(pairs)), default=0)
    if floors < _MANY_FLOORS:
        return pairs.subtract(others)
    return _found(isl.Map, _difference, pairs, others, "a difference")


def _difference(items: Found, others: Found) -> Found:
    """What both have in common makes it long to take `others` away."""
    return items.subtract(gist(others, items))


def _has_long_floors(item: isl.Set) -> bool:
    """Whether isl may go on for ever to take it away, or a set with floors from it, however few it has."""
    return _most_floors(item) > 0 and has_strides(item, _DOUBTFUL)


def _found(kind: type[Found], work: Callable[..., Found], one: Found, other: Found, what: str) -> Found:
    """What `work` makes of two sets, be it in another region's certificate.

    It is made here if that takes few steps, and none is long, else elsewhere; as a text, in which isl says
    a set in fewer pieces and floors than it has them.
    """
    texts = str(one), str(other)

    def made() -> Found:
        long = any(
            int(found[1] or found[2]) >= _DOUBTFUL for text in texts for found in _STRIDE.finditer(text)
        )
        here = None if long else _made_soon(work, (one, other))
        return kind(str(here)) if here is not None else _made_elsewhere(kind, work, (one, other), what)

    found: Found = _FOUND.get((what, texts), made)
    return found


def _made_soon(work: Callable[..., Found], sets: Sequence[Found]) -> Found | None:
    """What `work` makes of the sets, where it takes few steps."""
    in_time()
    before = steps()
    with suppress(isl.Error), bounded(_SOON):
        return work(*sets)
    pass_by(before - steps())  # who does it again counts them again: certificates do not pay for both
    return None


def _made_elsewhere(kind: type[Found], work: Callable[..., Found], sets: Sequence[Found], what: str) -> Found:
    """In a helper, which has to read the sets, or in a copy of this process that has them."""
    question, most = _BETWEEN.join(map(str, sets)), steps_for(_DOUBTFUL_SECONDS)
    if most <= _TOO_FEW.found.get((what, question), 0.0):
        raise TooLongError(f"isl takes too long for {what}")
    try:
        if len(question) > _LONG_TEXT:
            found = in_child(lambda: str(work(*sets)), _DOUBTFUL_SECONDS)
        else:
            found = in_helper(partial(_answer, kind, work), question, _DOUBTFUL_SECONDS)
    except TimeoutError:
        found = None
    if found is None:
        _TOO_FEW.replace((what, question), most)
        raise TooLongError(f"isl takes too long for {what}")
    return kind(found)


def _answer(kind: type[Found], work: Callable[..., Found], question: str) -> str:
    before = steps()
    sets = [*map(kind, question.split(_BETWEEN))]
    pass_by(before - steps())  # who asks has read them: how certificates go does not depend on who answers
    return str(work(*sets))


def latest(pairs: isl.Map, time: isl.Map) -> isl.Map:
    """The pairs whose second execution no other one of the same first follows.

    isl's lexicographic maximum is wrong for some sets whose constraints have several moduli, fails for others
    and takes long where strides are of several sizes; of two executions in the same iteration of most loops
    there often is just one. Either counts only if it leaves nothing out and nothing follows what it names.
    """
    if pairs.is_single_valued():
        return pairs
    after = in_order(time, time)
    for guess in (_plainly_single, lambda m: _maximum(m.apply_range(time)).apply_range(time.reverse())):
        last = guess(pairs).intersect(pairs)
        if pairs.domain().is_subset(last.domain()) and last.reverse().apply_range(pairs).is_disjoint(after):
            return last
        in_time()
    return pairs.subtract(pairs.apply_range(after.reverse()))


def _plainly_single(pairs: isl.Map) -> isl.Map:
    """The parts that have one execution for each."""
    single = [isl.Map.from_basic_map(b) for b in basic_maps(pairs) if b.is_single_valued()]
    return reduce(isl.Map.union, single, isl.Map.empty(pairs.get_space()))


def _maximum(times: isl.Map) -> isl.Map:
    """The lexicographic maximum, or nothing at all where isl fails, or searches for long."""
    nothing = isl.Map.empty(times.get_space())
    try:
        if _floors(times) <= _FLOORS:
            with bounded(_SEARCHED if times.n_basic_map() < _MANY else _SEARCHED_BY_DIMENSION):
                return _greatest(times)
        found = in_child(lambda: str(_greatest(times)), _SECONDS)
    except (isl.Error, TimeoutError):
        return nothing
    return isl.Map(found) if found else nothing


def _greatest(times: isl.Map) -> isl.Map:
    """The lexicographic maximum, of many pieces by one dimension after the other.

    isl's own tells cases of all of them apart at once: with several floors it makes three times as many
    pieces, in up to five times the time.
    """
    if times.n_basic_map() < _MANY:
        return times.lexmax()
    count = times.dim(D.out)
    for k in range(count):
        values = times.project_out(D.out, k + 1, count - k - 1).project_out(D.out, 0, k)
        if not values.is_single_valued():
            most = coalesced(values.lexmax()).insert_dims(D.out, 0, k).add_dims(D.out, count - k - 1)
            times = coalesced(times.intersect(most))
    return times


def _not_followed_soon(pairs: isl.Map, others: isl.Map, order: isl.Map) -> isl.Map:
    """The same where strides are long: isl's steps may be long then, so not many are taken here."""
    sets = pairs, others, order
    found = _made_soon(_not_followed, sets)
    if found is None:
        found = _made_elsewhere(isl.Map, _not_followed, sets, "the last of two writes")
    return found


def _not_followed(pairs: isl.Map, others: isl.Map, order: isl.Map) -> isl.Map:
    """`pairs` without those whose execution is also in `others` with a write that `order` puts later."""
    both = pairs.range_product(others).intersect_range(order.wrap())
    if both.is_empty():
        return pairs
    followed = both.domain()
    if followed.n_basic_set() > _MANY:  # what it has in common with `pairs` makes it long to take away
        followed = gist(followed, pairs.domain())
    if _has_long_floors(followed):
        return pairs.intersect_domain(subtracted(pairs.domain(), followed))
    return pairs.subtract_domain(followed)
