"""Arrays of which nobody says how long they are, with subscripts that data tell.

float A0[n][m], s += A0[i][j];    ->    float A0[][m], s += A0[U0[i] & 7][j];
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from random import Random
from typing import Any

from tests.fuzz.program import Array, Assign, Operation, Program, Read

UNSIZED = 0.3  # of the programs that may have any
OPEN = "open"  # a storage: a parameter without its outermost extent
INDEX = Array("U0", "int", 1, OPEN)
MASKED = Operation("({0} & 7)", ())


def with_unsized(p: Program, random: Random) -> Program:
    """The program with such arrays; the same one mostly. They are those that it only reads."""
    if random.random() > UNSIZED:
        return p
    held, stored = {name for name, _ in p.held}, set(_stored(p.regions))
    may = [a.name for a in p.arrays if a.storage in ("restrict", "plain") and not a.constant]
    chosen = [a for a in may if a not in held | stored and random.random() < 0.8]
    if not chosen:
        return p
    arrays = (replace(a, storage=OPEN) if a.name in chosen else a for a in p.arrays)
    return replace(p, arrays=(*arrays, INDEX), regions=_redirected(p.regions, chosen, random))


def has_unsized(p: Program) -> bool:
    return any(a.storage == OPEN for a in p.arrays)


def _stored(part: Any) -> list[str]:
    if isinstance(part, Assign) and isinstance(part.target, Read):
        return [part.target.array]
    return [name for item in _inside(part) for name in _stored(item)]


def _inside(part: Any) -> tuple[Any, ...]:
    if isinstance(part, tuple):
        return part
    if hasattr(part, "__dataclass_fields__"):
        return tuple(getattr(part, f.name) for f in fields(part))
    return ()


def _redirected(part: Any, chosen: Collection[str], random: Random) -> Any:
    """`part` with most first subscripts of the arrays read from another array."""
    if isinstance(part, tuple):
        return tuple(_redirected(item, chosen, random) for item in part)
    if not hasattr(part, "__dataclass_fields__"):
        return part
    if isinstance(part, Read) and part.array in chosen and random.random() < 0.7:
        first, *rest = part.subscripts
        return replace(part, subscripts=(replace(MASKED, operands=(Read(INDEX.name, (first,)),)), *rest))
    changed = {f.name: _redirected(getattr(part, f.name), chosen, random) for f in fields(part)}
    return replace(part, **changed)
