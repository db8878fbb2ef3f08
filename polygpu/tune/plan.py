"""What a search is asked for."""

from __future__ import annotations

from pathlib import Path

from polygpu.compilation import Options
from polygpu.runtime.build import Recipe
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What is pruned beside what cannot be: tiles that do not divide their loops, unless not `even`,
    kernels with fewer threads at a time than `concurrency` percent of what a multiprocessor holds, and
    tiles that load and store `traffic` percent more than those that do least.
    """

    even: bool = False
    concurrency: float = 0.0
    traffic: float | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """How choices are run: the program with `arguments` and standard input, so many `times` for at most
    `timeout` seconds (None: much longer than what rules choose). Numbers that it prints may differ from the
    original's by `tolerance`, relative.
    """

    recipe: Recipe
    arguments: tuple[str, ...] = ()
    stdin: Path | None = None
    times: int = 1
    timeout: float | None = None
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Task:
    """What is searched, as processes are told it; without `runs` choices are priced by the model."""

    path: str
    options: Options
    limits: Limits
    runs: Runs | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How each nest is searched: so many `candidates`, a strategy by its name, a seed of its chance."""

    strategy: str
    candidates: int
    seed: int
    limits: Limits
