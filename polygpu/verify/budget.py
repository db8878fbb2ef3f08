"""How much work a certificate may take: steps of isl, of which the same source takes the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from math import inf

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import STEPS_A_SECOND, bounded, steps

_UNCOUNTED = 1.0  # seconds


@dataclass(frozen=True)
class Budget:
    """`most` steps for all that is needed, of which `rest` are for what is not where they are left then.

    `seconds` are what they should take.
    """

    most: float
    rest: float
    seconds: float = inf
    start: float = field(default_factory=steps)

    @staticmethod
    def of(seconds: float) -> Budget:
        return Budget(seconds * STEPS_A_SECOND, seconds * STEPS_A_SECOND, seconds)

    @property
    def expected(self) -> float:
        """Seconds that all of it should take."""
        return min(self.seconds, self.most / STEPS_A_SECOND)

    @property
    def is_quick(self) -> bool:
        """Whether there is less for what is not needed."""
        return self.rest < self.most

    @property
    def expected_rest(self) -> float:
        """Seconds that what is not needed should take, beside what no step of isl is counted for."""
        return _UNCOUNTED + self.rest / STEPS_A_SECOND

    def from_now(self) -> Budget:
        return replace(self, start=steps())

    def without(self, taken: float) -> Budget:
        """The same as if so many steps of those that were taken were none."""
        return replace(self, start=self.start + taken)

    def is_spent(self) -> bool:
        """Whether nothing is left for what is not needed."""
        return steps() >= self.start + self.rest

    @contextmanager
    def step(self, needed: bool) -> Iterator[None]:
        """A part of the work, which may be `needed` whatever the rest takes. Raises TooLongError."""
        with bounded(self.start + (self.most if needed else self.rest) - steps()):
            yield
