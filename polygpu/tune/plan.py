"""What a search is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What is pruned beside what cannot be: tiles that do not divide their loops, unless not `even`, and
    kernels with fewer threads at a time than `concurrency` percent of what a multiprocessor holds.
    """

    even: bool = False
    concurrency: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How each nest is searched: so many `candidates`, a strategy by its name, a seed of its chance."""

    strategy: str
    candidates: int
    seed: int
    limits: Limits
