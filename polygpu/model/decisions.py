"""Decisions that a person or the search takes instead of the passes.

decision ::= [kernel ":"] key "=" value          "tile=64x128", "mm_0_k0:step=16"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

KEYS = {
    "tile": "points of a block along each parallel dimension, outermost first: 64x128",
    "threads": "threads of a block along each parallel dimension, outermost first: 8x16",
    "deal": "how a thread's points lie in the tile: cyclic, blocked or grouped",
    "step": "iterations of a sequential loop between two copies of staged tiles: 16",
    "buffering": "how staged tiles follow each other: none, prefetch or ring",
    "stages": "tiles in a ring: 3",
    "stage": "whether arrays go through shared memory: on, off, or the names of those that do: A+B",
    "constant": "arrays that kernels read through the constant cache: A+B, or off",
    "texture": "arrays that kernels read through the texture cache: A+B, or off",
    "loads": "global loads that a thread has in flight while it copies a tile: 2, or all",
    "pad": "elements of padding on rows of shared arrays, or auto",
    "unroll": "iterations of innermost loops in a row: a number, full or none",
    "registers": "registers a thread, instead of the estimate: 10",
}
SPACES: tuple[Literal["constant", "texture"], ...] = ("constant", "texture")
_WORDS = {
    "deal": ("cyclic", "blocked", "grouped"),
    "buffering": ("none", "prefetch", "ring"),
}
_OR_A_NUMBER = {"pad": ("auto",), "unroll": ("full", "none"), "loads": ("all",)}
_ARRAYS = re.compile(r"[A-Za-z_]\w*(\+[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Decision:
    """`value` of `key` for one kernel, or for all with an empty `kernel`."""

    kernel: str
    key: str
    value: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """The value as numbers."""
        return tuple(int(part) for part in self.value.split("x"))

    @property
    def arrays(self) -> tuple[str, ...]:
        """The value as names of arrays; none for "on" and "off"."""
        return () if self.value in ("on", "off") else tuple(self.value.split("+"))

    def __str__(self) -> str:
        return f"{self.kernel}:{self.key}={self.value}" if self.kernel else f"{self.key}={self.value}"


CARE = (
    "",
    "without fetching tiles ahead",
    "without fetching tiles ahead and without wide accesses",
    "with one element a thread, from global memory",
    "in the source's order, with one element a thread, from global memory",
)
"""What is avoided at each level of care, that of the levels before included."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions of a compilation; the last one for a kernel and key counts.

    What is refuted is compiled again with more `care`, an index of CARE, which goes before decisions.
    """

    items: tuple[Decision, ...] = ()
    care: int = 0

    def find(self, kernel: str, key: str) -> Decision | None:
        fitting = [d for d in self.items if d.key == key and d.kernel in ("", kernel)]
        own = [d for d in fitting if d.kernel]
        chosen = own or fitting
        return chosen[-1] if chosen else None


NO_DECISIONS = Decisions()


def parse(text: str) -> Decision:
    """Raises ValueError, with what is wrong as its message."""
    name, equals, value = text.partition("=")
    kernel, _, key = name.rpartition(":")
    if not equals or key not in KEYS:
        known = ", ".join(sorted(KEYS))
        raise ValueError(f"'{text}' is no decision; write KEY=VALUE with KEY one of {known}")
    decision = Decision(kernel, key, value)
    if key in _WORDS and value not in _WORDS[key]:
        raise ValueError(f"'{text}': {key} is one of {', '.join(_WORDS[key])}")
    if key in ("stage", *SPACES):
        _check_arrays(text, decision)
    elif key not in _WORDS and value not in _OR_A_NUMBER.get(key, ()):
        _check_sizes(text, decision)
    return decision


def _check_arrays(text: str, decision: Decision) -> None:
    if not _ARRAYS.fullmatch(decision.value) or (decision.key in SPACES and decision.value == "on"):
        raise ValueError(f"'{text}': {decision.key} takes {KEYS[decision.key]}")


def _check_sizes(text: str, decision: Decision) -> None:
    try:
        sizes = decision.sizes
    except ValueError:
        raise ValueError(f"'{text}': {decision.key} takes {KEYS[decision.key]}") from None
    least = 0 if decision.key == "pad" else 1
    if any(s < least for s in sizes) or (decision.key not in ("tile", "threads") and len(sizes) != 1):
        raise ValueError(f"'{text}': {decision.key} takes {KEYS[decision.key]}")
