"""What is known of choices for a nest: what was found, what it is compared with, what that may cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from math import inf

from polygpu.model.decisions import Decision
from polygpu.perf.launches import fewest
from polygpu.search.price import Price
from polygpu.search.proposals import Changes
from polygpu.support.dataclass import dataclass

_COARSE = 0.9  # of what was looked at more closely


@dataclass(frozen=True)
class Found:
    """What is better than what rules choose, and which of each group of proposals `won`, -1: none.

    It takes so many seconds; where it is nothing, less would have to. `most` iterations of its loops were
    looked at, `sizes` were enough.
    """

    changes: Changes = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    won: tuple[int, ...] = ()
    seconds: float = inf
    most: int | None = None
    sizes: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Looked:
    """The `sizes` at which a nest's choices are compared, and the `seconds` of what rules choose: inf where
    that is not known. In `most` iterations of each kernel's loops (None: all) it was looked at, and those
    choices that were before: what was too much for them is not tried again.
    """

    sizes: Mapping[str, int]
    seconds: float
    most: int | None = None


@dataclass
class Effort:
    """What may still be spent on making and pricing choices, in parts of some 20 ns: counted by what is done,
    so that it is the same on all machines. What is `known` costs nothing again; `prices` are not asked again.
    """

    left: float = inf
    known: set[Hashable] = field(default_factory=set)
    prices: dict[Hashable, Price] = field(default_factory=dict)

    def spend(self, effort: int, what: Hashable) -> None:
        if self.left < inf and what not in self.known:
            self.known.add(what)
            self.left -= effort


def faster(best: Found, other: Found) -> Found:
    """That which takes less; by more than a sample may err if fewer iterations stand for all."""
    sampled = fewest(other.most, best.most) != best.most
    return other if other.seconds < (_COARSE if sampled else 1) * best.seconds else best
