"""Rows of flattened arrays that are as long as the function computes of what it is passed.

A0[i * w1_A0 + j]    ->    A0[i * (w1_A0 >> 1) + j], where w1_A0 is twice as large
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.fuzz.program import Array, Program

COMPUTED = 0.3  # of the programs that have such arrays
_WAYS = (
    ("{0}", "{0}"),
    ("({0} >> 1)", "2 * ({0}) + 1"),
    ("({0} / 3)", "3 * ({0}) + 2"),
    ("({0} ^ 5)", "({0}) ^ 5"),
    ("({0} & 4095)", "({0}) | 4096"),
    ("(~{0} & 4095)", "4095 - ({0})"),
    ("(({0} + 1) / 2)", "2 * ({0})"),
)


def with_widths(p: Program, random: Random) -> Program:
    """The program with such rows; the same one mostly."""
    flat = any(a.storage == "flat" and a.rank > 1 for a in p.arrays)
    return replace(p, widths=str(random.random())) if flat and random.random() < COMPUTED else p


def computed(p: Program, array: Array, width: str) -> str:
    """How the function has the length of a row of which it is passed `width`."""
    return _way(p, array)[0].format(width)


def passed(p: Program, array: Array, width: str) -> str:
    """What a function is passed for rows of so many elements."""
    return _way(p, array)[1].format(width)


def _way(p: Program, array: Array) -> tuple[str, str]:
    return Random(f"{p.widths}:{array.name}").choice(_WAYS) if p.widths else _WAYS[0]
