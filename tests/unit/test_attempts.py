"""How many iterations of a kernel's loops are looked at where all of them are too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import programs
from polygpu.perf.predict import Predicted, Work, predict, region
from polygpu.perf.predict.values import TooMuchError
from tests.emulated import compiled

_MOST = 1000  # elements of an attempt


@pytest.mark.parametrize(
    ("elements", "tried", "taken"),
    [
        (lambda most: 200 + most, [None, 4, 16, 64, 64], 64),
        (lambda most: 200 + 15 * most, [None, 4, 16, 64, 16], 16),
        (lambda most: 200 + 100 * most, [None, 4, 16, 4], 4),
        (lambda most: 600 + 5 * most, [None, 4, 16, 16], 16),  # four times as many could not do
        (lambda most: 500 + 75 * most, [None, 4, 4], 4),
        (lambda most: 600 + 200 * most, [None, 4, 1], 1),
    ],
)
def test_iterations_are_tried_from_the_fewest_on(
    monkeypatch: pytest.MonkeyPatch, elements: Callable[[int], int], tried: list[int | None], taken: int
) -> None:
    """Attempts that fail take as much as any: there is one at most after that for all iterations.

    Of the one that counts, the last that fits, what partitions of the memory move is asked for besides.
    """
    asked = watched(monkeypatch, elements)
    assert (attempted("mm").most, asked) == (taken, tried)


def test_without_loops_there_is_nothing_to_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch, lambda most: most)
    with pytest.raises(MemoryError):
        attempted("saxpy")
    assert asked == [None]


def attempted(kernel: str) -> Predicted:
    made = compiled(kernel, "8800gtx")
    sizes = dict.fromkeys(programs.parameters_of(kernel), 64)
    return predict(made.regions[0].region, made.device, sizes, work=Work(0, least=_MOST))


def watched(monkeypatch: pytest.MonkeyPatch, elements: Callable[[int], int]) -> list[int | None]:
    """The numbers of iterations that are tried, where so many take so many elements."""
    asked: list[int | None] = []
    whole = region._within

    def within(work: Work, tree: Any, device: Any, launched: Any, blocks: int, most: int | None) -> Any:
        asked.append(most)
        spent = _MOST + 1 if most is None else elements(most)
        work.spent += min(spent, _MOST)
        if spent > _MOST:
            raise TooMuchError
        return whole(Work(None), tree, device, launched, blocks, most)

    monkeypatch.setattr(region, "_within", within)
    return asked
