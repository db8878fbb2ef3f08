"""Compares what two programs print: floating-point numbers to a relative tolerance, all else exactly."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from polygpu.support.dataclass import dataclass

if TYPE_CHECKING:
    from polygpu.lower.realise import CompiledRegion

# A floating-point number as printf writes it; integers count as text, since they must be equal.
_FLOAT = re.compile(
    r"([-+]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)|[-+]?\b(?:nan|inf|infinity)\b)",
    re.IGNORECASE,
)
_REORDERED = {"float": 1e-3, "double": 1e-9}
_ROUNDED = {"tf32": 1e-2, "half": 1e-2, "bfloat16": 5e-2, "double": 1e-9}  # operands: to 11 bits, or to 8


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two outputs differ; lines count from 1, "" stands for a missing line."""

    line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """`largest` is the greatest relative difference of two numbers in the same place."""

    identical: bool
    numbers: int
    largest: float
    difference: Difference | None

    @property
    def agrees(self) -> bool:
        return self.difference is None


def accepted(asked: float | None, usual: float, regions: Iterable[CompiledRegion]) -> float:
    """The relative difference of numbers that counts as none: what is `asked` for, or else the `usual` one.

    Where terms come in another order it is more: thousands of floats, which differ in a part of 2^24 each. So
    it is where tensor cores round operands.
    """
    if asked is not None:
        return asked
    found = [*regions]
    reordered = (_REORDERED[ctype] for r in found for ctype in r.reordered)
    return max([usual, *reordered, *(_ROUNDED[policy] for r in found for policy in r.policies)])


def relative_difference(left: float, right: float) -> float:
    """|left - right| / max(|left|, |right|); 0 for two NaNs, infinite for a NaN and a number."""
    if left == right or (math.isnan(left) and math.isnan(right)):
        return 0.0
    if not (math.isfinite(left) and math.isfinite(right)):
        return math.inf
    # Halved, so that the difference of two huge numbers of opposite sign does not overflow.
    return 2 * (abs(left / 2 - right / 2) / max(abs(left), abs(right)))


def remaining(output: str, ignored: Iterable[str]) -> str:
    """`output` without the lines that a regular expression of `ignored` matches somewhere.

    Of one with named groups, what these match is left out and the line stays. Raises re.error.
    """
    patterns = [re.compile(pattern) for pattern in ignored]
    return "\n".join(_remaining_lines(output.split("\n"), patterns)) if patterns else output


def _remaining_lines(lines: Sequence[str], patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    for line in lines:
        if not any(not p.groupindex and p.search(line) for p in patterns):
            yield _without_groups(line, patterns)


def _without_groups(line: str, patterns: Sequence[re.Pattern[str]]) -> str:
    for pattern in (p for p in patterns if p.groupindex):
        for match in reversed(list(pattern.finditer(line))):
            for group in reversed(list(pattern.groupindex)):
                line = line[: match.start(group)] + line[match.end(group) :]
    return line


def compare_outputs(expected: str, found: str, tolerance: float = 1e-5) -> Comparison:
    """Compares line by line; numbers differ when their relative difference exceeds `tolerance`."""
    numbers, largest = 0, 0.0
    first: Difference | None = None
    lines = zip_longest(expected.splitlines(), found.splitlines())
    for number, (left, right) in enumerate(lines, 1):
        count, distance = _compare_lines(left, right)
        numbers += count
        if math.isfinite(distance):
            largest = max(largest, distance)
        if distance > tolerance and first is None:
            first = Difference(number, left or "", right or "")
    return Comparison(expected == found, numbers, largest, first)


def _compare_lines(left: str | None, right: str | None) -> tuple[int, float]:
    """The count of numbers compared and their largest relative difference, infinite for other text."""
    if left is None or right is None:
        return 0, math.inf
    if left == right:
        return len(_FLOAT.findall(left)), 0.0
    # split alternates text and numbers.
    one, other = _FLOAT.split(left), _FLOAT.split(right)
    if len(one) != len(other) or any(
        a.split() != b.split() for a, b in zip(one[::2], other[::2], strict=True)
    ):
        return 0, math.inf
    pairs = zip(one[1::2], other[1::2], strict=True)
    return len(one) // 2, max((relative_difference(float(a), float(b)) for a, b in pairs), default=0.0)
