"""How many steps a shared memory request takes: bank conflicts and broadcasts.

Word w lies in bank `w mod banks`. A request comes from a half-warp on chips that broadcast a single word a
step (CC 1.x, 16 banks), from a warp on later ones (32 banks). The same rules run in the emulator, written
in C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from polygpu.model.device import Device
from polygpu.support.dataclass import dataclass

Word: TypeAlias = int | None  # None: an idle lane


@dataclass(frozen=True, slots=True)
class Banks:
    """`count` banks of `word` bytes each; `single_broadcast`: a step broadcasts one word, else any number."""

    count: int
    word: int
    single_broadcast: bool

    @staticmethod
    def of(device: Device) -> Banks:
        return Banks(device.banks, device.bank_bytes, device.single_broadcast)


@dataclass(frozen=True, slots=True)
class Steps:
    """`steps` that an access takes in `requests` of a word (or phases); equal when conflict-free."""

    steps: int
    requests: int

    @property
    def degree(self) -> int:
        """The n of "n-way conflict", rounded up; 1 is free of conflicts, 0 an idle request."""
        return -(-self.steps // self.requests) if self.requests else 0


def degree(words: Sequence[Word], banks: Banks) -> int:
    """Steps of one request of words, 0 when no lane is active."""
    active = [word for word in words if word is not None]
    return (_broadcast_loop if banks.single_broadcast else _distinct_words)(active, banks.count)


def _broadcast_loop(waiting: list[int], banks: int) -> int:
    """CC 1.x (CUDA C Programming Guide 4.2, F.3.3): a step serves all lanes of the broadcast word, here
    that of the lowest waiting lane, and the lowest waiting lane of each other bank.
    """
    steps = 0
    while waiting:
        broadcast = waiting[0]
        busy = {broadcast % banks}
        left = []
        for word in waiting:
            if word == broadcast:
                continue
            if word % banks in busy:
                left.append(word)
            else:
                busy.add(word % banks)
        waiting = left
        steps += 1
    return steps


def _distinct_words(words: Sequence[int], banks: int) -> int:
    """CC >= 3.0: as many steps as the fullest bank has distinct words."""
    in_bank: defaultdict[int, set[int]] = defaultdict(set)
    for word in words:
        in_bank[word % banks].add(word)
    return max(map(len, in_bank.values()), default=0)


def access_steps(addresses: Sequence[Word], size: int, banks: Banks) -> Steps:
    """Steps of lanes that access `size` bytes each at byte `addresses`, aligned to their size.

    Accesses wider than a word: CC 1.x makes one request of each word of all lanes (stride-1 doubles
    conflict 2-way); later chips serve 64-bit accesses a half-warp, 128-bit ones a quarter-warp at a time.
    """
    width = max(1, size // banks.word)
    if banks.single_broadcast:
        parts = [[a if a is None else a // banks.word + part for a in addresses] for part in range(width)]
    else:
        lanes = max(1, len(addresses) // width)
        groups = [addresses[start : start + lanes] for start in range(0, len(addresses), lanes)]
        parts = [[a // banks.word + p for a in g if a is not None for p in range(width)] for g in groups]
    counts = [degree(part, banks) for part in parts]
    return Steps(sum(counts), sum(count > 0 for count in counts))
