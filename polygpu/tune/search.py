"""The search: a strategy for each nest, what it asks for evaluated or found in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import inf
from random import Random
from typing import TypeAlias

from polygpu.model.decisions import Decision
from polygpu.support.dataclass import dataclass
from polygpu.tune.evaluate import AGAIN, Evaluate, Evaluation, pruned_before, text_of
from polygpu.tune.log import Log
from polygpu.tune.plan import Limits, Plan
from polygpu.tune.strategies import STRATEGIES
from polygpu.tune.subjects import Subject

Told: TypeAlias = Callable[[Subject, int, float], None]
"""Is told how many choices of a nest have been looked at, and the least seconds."""


@dataclass(frozen=True)
class Tuned:
    """A nest and what was found out about it, in the order in which it was."""

    subject: Subject
    evaluations: tuple[Evaluation, ...]

    @cached_property
    def ranking(self) -> tuple[Evaluation, ...]:
        """What was not pruned, the fastest first."""
        return tuple(
            sorted((e for e in self.evaluations if not e.pruned), key=lambda e: (e.seconds, e.number))
        )

    @property
    def pruned(self) -> list[tuple[str, int]]:
        """Why choices were pruned, and how many, most first."""
        return Counter(e.pruned for e in self.evaluations if e.pruned).most_common()

    @property
    def best(self) -> tuple[Decision, ...]:
        """The decisions of the fastest choice; none where what rules choose is as fast."""
        if not self.ranking or self.ranking[0].seconds >= self.subject.rules:
            return ()
        return self.subject.decisions(self.ranking[0].number)


def searched(
    found: Sequence[Subject], plan: Plan, evaluate: Evaluate, log: Log, told: Told
) -> tuple[Tuned, ...]:
    """Each nest by itself, beside others as rules choose them."""
    return tuple(Tuned(s, tuple(_nest(s, plan, evaluate, log, told))) for s in found)


def _nest(s: Subject, plan: Plan, evaluate: Evaluate, log: Log, told: Told) -> Iterator[Evaluation]:
    chance, texts, done, least = Random(f"{plan.seed}:{s.kernel}"), set[str](), 0, inf
    asking = STRATEGIES[plan.strategy](s.space, plan.candidates, chance)
    numbers = next(asking, None)
    told(s, done, least)
    while numbers is not None:
        seconds: dict[int, float] = {}
        for made in _batch(s, numbers, plan.limits, texts, evaluate, log):
            done, least = done + 1, min(least, made.seconds)
            seconds[made.number] = made.seconds
            told(s, done, least)
            yield made
        try:
            numbers = asking.send(seconds)
        except StopIteration:
            return


def _batch(
    s: Subject,
    numbers: list[int],
    limits: Limits,
    texts: set[str],
    evaluate: Evaluate,
    log: Log,
) -> Iterator[Evaluation]:
    """The evaluations of a few choices; `texts` are the decisions of those before."""
    here = {n: e for n in numbers if (e := _here(s, n, limits, texts, log)) is not None}
    others = evaluate(s, [n for n in numbers if n not in here])
    for n in numbers:
        made = here[n] if n in here else next(others)
        if (s.kernel, n) not in log.known:
            log.write(s, made)
        yield made


def _here(s: Subject, number: int, limits: Limits, texts: set[str], log: Log) -> Evaluation | None:
    """What is known of a choice, or soon found out."""
    why, text = pruned_before(s, number, limits), text_of(s.decisions(number))
    if not why and text in texts:
        why = AGAIN
    if not why:
        texts.add(text)
    known = log.known.get((s.kernel, number))
    return known or (Evaluation(number, text, inf, why) if why else None)
