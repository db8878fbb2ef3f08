"""What sets and functions say beyond what holds around them.

isl's own `gist` writes beyond its arrays, and with luck ends the program, for a part of a set that has
nothing in common with what holds around it where equations of that part tell so (`uset_gist_full` of
isl_map_simplify.c takes what is left for not empty). Such parts are taken out before it is asked. Of floors
that have no definition, as projections leave them, it was seen to lose constraints, so that more was left
than the set has: they get one before.
"""

from __future__ import annotations

from functools import reduce
from typing import TypeVar

import islpy as isl

from polygpu.support.isl_idioms import pieces

Parts = TypeVar("Parts", isl.Set, isl.Map)


def gist(item: Parts, context: Parts) -> Parts:
    """A set, or relation, that is `item` in `context`, with fewer constraints."""
    found: Parts = _meeting(_defined(item), context).gist(context)
    return found


def gist_params(item: isl.Set, context: isl.Set) -> isl.Set:
    """The same, where `context` holds of the parameters."""
    return gist(item, isl.Set.universe(item.get_space()).intersect_params(context))


def function_gist(function: isl.PwAff, context: isl.Set) -> isl.PwAff:
    """A function that has the values of `function` in `context`; itself if it has none there."""
    whole = pieces(function)
    left = [(_meeting(_defined(domain), context), value) for domain, value in whole]
    if all(mine is domain for (mine, _), (domain, _) in zip(left, whole, strict=True)):
        return function.gist(context)  # many pieces take long to put together again
    kept = [isl.PwAff.alloc(domain, value) for domain, value in left if not domain.is_empty()]
    return reduce(isl.PwAff.union_add, kept).gist(context) if kept else function


def _defined(item: Parts) -> Parts:
    """The same set, or relation, whose floors all have a definition; itself if they have one."""
    found: Parts = item.compute_divs()
    return item if found.plain_is_equal(item) else found


def _meeting(item: Parts, context: Parts) -> Parts:
    """The parts of `item` that have something in common with `context`."""
    parts = _parts(item)
    kept = [part for part in parts if not part.intersect(context).is_empty()]
    if len(kept) == len(parts):
        return item
    nothing: Parts = type(item).empty(item.get_space())
    return reduce(type(item).union, kept, nothing)


def _parts(item: Parts) -> list[Parts]:
    if isinstance(item, isl.Set):
        return [isl.Set.from_basic_set(part) for part in item.get_basic_sets()]
    return [isl.Map.from_basic_map(part) for part in item.get_basic_maps()]
