"""What one choice for a nest takes by the model, or why it is not looked at any further."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, prod
from typing import Any, TypeAlias

from polygpu.lower.realise import CompiledRegion
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.perf.resources import resident
from polygpu.search.choose import BRIEF
from polygpu.search.price import price
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.tune.plan import Limits, Task
from polygpu.tune.subjects import Subject
from polygpu.tune.workers import Spread

AGAIN = "the decisions of another choice"
_DECISION = re.compile(r"^'[^']*': ")  # that a refusal begins with
_NUMBER = re.compile(r"\b\d+\b")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A choice by its number: the `seconds` of the kernel's launches, inf where it was `pruned`, and why."""

    number: int
    decisions: str
    seconds: float
    pruned: str = ""

    def record(self) -> dict[str, Any]:
        how = {"pruned": self.pruned} if self.pruned else {"seconds": self.seconds}
        return {"number": self.number, "decisions": self.decisions} | how


Evaluate: TypeAlias = Callable[[Subject, list[int]], Iterator[Evaluation]]
"""From a subject and choices of it to what they take, in the same order."""


def text_of(decisions: tuple[Decision, ...]) -> str:
    return " ".join(str(replace(d, place=None)) for d in decisions)


def pruned_before(s: Subject, number: int, limits: Limits) -> str:
    """Why a choice is not even made, or ""."""
    choice = s.space[number]
    why = s.space.why_not(choice)
    if not why and limits.even and s.uneven(choice):
        why = "uneven: tiles that do not divide their loops"
    if not why and limits.traffic is not None and s.traffic(choice) > 1 + limits.traffic / 100:
        why = f"traffic over {limits.traffic:g} % above the least"
    return why


def by_model(spread: Spread) -> Evaluate:
    return lambda s, numbers: spread(_modelled, s, numbers)


def _modelled(task: Task, s: Subject, number: int) -> Evaluation:
    return evaluated(s, number, task.limits)


def evaluated(s: Subject, number: int, limits: Limits) -> Evaluation:
    """Makes the kernel and prices it."""
    text, made = text_of(s.decisions(number)), realised(s, number, limits)
    if isinstance(made, str):
        return Evaluation(number, text, inf, made)
    seconds = price(made, s.nest.kernel, s.chooser.device, s.chooser.sizes, BRIEF).seconds
    return Evaluation(number, text, seconds, "" if seconds < inf else "it takes long to be looked at")


def realised(s: Subject, number: int, limits: Limits) -> CompiledRegion | str:
    """The region with the choice, or why that is pruned."""
    device = s.chooser.device
    try:
        made = s.chooser.realiser.realise((*s.decisions(number), *s.chooser.decisions))
    except Diagnosed as problem:
        return _reason(problem, device)
    kernel = made.region.kernels[s.nest.kernel]
    threads = resident(kernel, device).blocks * prod(kernel.block)
    if not threads:
        return "it does not fit: no block is resident"
    if 100 * threads < limits.concurrency * device.threads_per_multiprocessor:
        return f"concurrency below {limits.concurrency:g} %"
    return made


def _reason(problem: Diagnosed, device: Device) -> str:
    """What a diagnostic says of all choices alike."""
    said = _DECISION.sub("", problem.diagnostics[0].message).replace(device.title, "the device")
    return f"refused: {without_numbers(said)}"


def without_numbers(text: str) -> str:
    return _NUMBER.sub("N", text)
