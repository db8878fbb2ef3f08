"""Work of isl in a budget."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.support.isl_idioms import TooLongError
from polygpu.verify.budget import Budget

WHOLE = "[n] -> { [] -> [(n)] }"


def test_a_parser_without_steps_left() -> None:
    """isl calls that a syntax error too."""
    with pytest.raises(TooLongError), Budget.of(0).step(needed=True):
        isl.PwAff(WHOLE)
    with pytest.raises(isl.Error, match="syntax error"), Budget.of(1).step(needed=True):
        isl.PwAff("{ what }")
    assert isl.PwAff(WHOLE).is_equal(isl.PwAff(WHOLE))


def test_what_is_not_needed_has_what_is_left() -> None:
    budget = Budget(1_000_000, 10_000)
    with budget.step(needed=True):
        for _ in range(10_000):
            isl.Set("{ : }")
    with pytest.raises(TooLongError), budget.step(needed=False):
        isl.PwAff(WHOLE)
    with budget.step(needed=True):
        isl.PwAff(WHOLE)
