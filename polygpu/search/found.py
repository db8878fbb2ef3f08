"""What is known of choices for a nest: what was found, what it is compared with, what that may cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from math import inf

from polygpu.model.decisions import Decision
from polygpu.model.kernel import Kernel
from polygpu.model.kernel_walk import statements
from polygpu.perf.launches import fewest
from polygpu.search.price import Price
from polygpu.search.proposals import Changes
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import parts

_COARSE = 0.9  # of what was looked at more closely
# Microseconds, fitted to 1,500 steps for 68 programs: of each kernel of a region that is made, of a new one
# and of each of its statements; of a choice that is refused; of a price, for each statement of its kernel,
# and how many elements are looked at in one.
_OF_EACH, _OF_NEW, _OF_STATEMENT, _REFUSED = 350, 550, 500, 7000
_OF_PRICE, _OF_PRICED_STATEMENT, _ELEMENTS = 4400, 340, 200


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
    """What may still be spent on making and pricing choices, in microseconds of one processor: counted by
    what is done, so that it is the same on all. Kernels and prices that are `known` cost nothing again;
    `prices` are not asked again.
    """

    left: float = inf
    known: set[Hashable] = field(default_factory=set)
    prices: dict[Hashable, Price] = field(default_factory=dict)

    def refused(self) -> None:
        self.left -= _REFUSED

    def made(self, kernels: Sequence[Kernel]) -> None:
        """Those of a region."""
        self.left -= _OF_EACH * len(kernels)
        for kernel in kernels:
            if self._is_new(parts(kernel, "name")):
                self.left -= _OF_NEW + _OF_STATEMENT * _statements(kernel)

    def priced(self, kernel: Kernel, at: Hashable, elements: int) -> None:
        """By looking at so many elements of arrays, `at` some sizes."""
        if self._is_new((kernel, at)):
            self.left -= _OF_PRICE + _OF_PRICED_STATEMENT * _statements(kernel) + elements // _ELEMENTS

    def _is_new(self, what: Hashable) -> bool:
        """Whether it costs something; from now on it does not."""
        new = self.left < inf and what not in self.known
        if new:
            self.known.add(what)
        return new


def _statements(kernel: Kernel) -> int:
    return sum(1 for _ in statements(kernel.body))


def faster(best: Found, other: Found) -> Found:
    """That which takes less; by more than a sample may err if fewer iterations stand for all."""
    sampled = fewest(other.most, best.most) != best.most
    return other if other.seconds < (_COARSE if sampled else 1) * best.seconds else best
