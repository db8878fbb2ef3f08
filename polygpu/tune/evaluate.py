"""What one choice for a nest takes by the model, or why it is not looked at any further."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

from polygpu.lower.realise import CompiledRegion
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.perf.resources import resident
from polygpu.search.choose import BRIEF
from polygpu.search.price import price
from polygpu.support.diagnostics import Diagnosed
from polygpu.tune.plan import Limits
from polygpu.tune.subjects import Subject

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


def text_of(decisions: tuple[Decision, ...]) -> str:
    return " ".join(str(replace(d, place=None)) for d in decisions)


def pruned_before(s: Subject, number: int, limits: Limits) -> str:
    """Why a choice is not even made, or ""."""
    choice = s.space[number]
    why = s.space.why_not(choice)
    if not why and limits.even and s.uneven(choice):
        why = "uneven: tiles that do not divide their loops"
    return why


def evaluated(s: Subject, number: int, limits: Limits) -> Evaluation:
    """Makes the kernel and prices it."""
    decisions = s.decisions(number)
    text, device = text_of(decisions), s.chooser.device
    try:
        made = s.chooser.realiser.realise((*decisions, *s.chooser.decisions))
    except Diagnosed as problem:
        return Evaluation(number, text, inf, _reason(problem, device))
    if limits.concurrency and _concurrency(made, s) < limits.concurrency:
        return Evaluation(number, text, inf, f"concurrency below {limits.concurrency:g} %")
    found = price(made, s.nest.kernel, device, s.chooser.sizes, BRIEF)
    if found.seconds == inf:
        why = "it takes long to be looked at" if found.blocks else "it does not fit: no block is resident"
        return Evaluation(number, text, inf, why)
    return Evaluation(number, text, found.seconds)


def _concurrency(made: CompiledRegion, s: Subject) -> float:
    """Percent of the threads that a multiprocessor can hold; 100 where not even a block fits: that is said
    by its own name.
    """
    kernel, device = made.region.kernels[s.nest.kernel], s.chooser.device
    blocks = resident(kernel, device).blocks
    return 100 * blocks * prod(kernel.block) / device.threads_per_multiprocessor if blocks else 100.0


def _reason(problem: Diagnosed, device: Device) -> str:
    """What a diagnostic says of all choices alike: without their numbers."""
    said = _DECISION.sub("", problem.diagnostics[0].message).replace(device.title, "the device")
    return "refused: " + _NUMBER.sub("N", said)
