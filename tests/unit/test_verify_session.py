"""Work of isl in a budget."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.verify.budget import OutOfBudgetError, limited

WHOLE = "[n] -> { [] -> [(n)] }"


def test_a_parser_without_steps_left() -> None:
    """isl calls that a syntax error too."""
    with pytest.raises(OutOfBudgetError), limited(0):
        isl.PwAff(WHOLE)
    with pytest.raises(isl.Error, match="syntax error"), limited(1):
        isl.PwAff("{ what }")
    assert isl.PwAff(WHOLE).is_equal(isl.PwAff(WHOLE))
