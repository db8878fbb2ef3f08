"""Decisions that a person or the search takes instead of the passes.

decision ::= [kernel ":"] key "=" value          "tile=64x128", "mm_0_k0:step=16"
"""

from __future__ import annotations

from dataclasses import dataclass

KEYS = {
    "tile": "points of a block along each parallel dimension, outermost first: 64x128",
    "threads": "threads of a block along each parallel dimension, outermost first: 8x16",
    "deal": "how a thread's points lie in the tile: cyclic, blocked or grouped",
    "step": "iterations of a sequential loop between two copies of staged tiles: 16",
    "buffering": "how staged tiles follow each other: none, prefetch or ring",
    "stages": "tiles in a ring: 3",
    "stage": "whether arrays go through shared memory: on or off",
    "pad": "elements of padding on rows of shared arrays, or auto",
}
_WORDS = {
    "deal": ("cyclic", "blocked", "grouped"),
    "buffering": ("none", "prefetch", "ring"),
    "stage": ("on", "off"),
}


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

    def __str__(self) -> str:
        return f"{self.kernel}:{self.key}={self.value}" if self.kernel else f"{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions of a compilation; the last one for a kernel and key counts."""

    items: tuple[Decision, ...] = ()

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
    if key not in _WORDS and not (key == "pad" and value == "auto"):
        _check_sizes(text, decision)
    return decision


def _check_sizes(text: str, decision: Decision) -> None:
    try:
        sizes = decision.sizes
    except ValueError:
        raise ValueError(f"'{text}': {decision.key} takes {KEYS[decision.key]}") from None
    least = 0 if decision.key == "pad" else 1
    if any(s < least for s in sizes) or (decision.key not in ("tile", "threads") and len(sizes) != 1):
        raise ValueError(f"'{text}': {decision.key} takes {KEYS[decision.key]}")
