"""What threads keep in registers, and whether it is loaded first."""

from __future__ import annotations

from typing import NoReturn

import islpy as isl
import pytest

from polygpu.mapping import owned
from tests.unit.middle import mapped

SQUARES = "int n, float a[restrict n][n], float b[restrict n][n], float c[restrict n][n]"
LOADED = [
    ("sum", "c[i][j] += a[i][k] * b[k][j];", "", True),
    ("started", "c[i][j] += a[i][k] * b[k][j];", "c[i][j] = 0;", False),
    ("started by what it was", "c[i][j] += a[i][k] * b[k][j];", "c[i][j] = 2 * c[i][j];", True),
    ("started for some", "c[i][j] += a[i][k] * b[k][j];", "if (i > 2) c[i][j] = 0;", True),
]


@pytest.mark.parametrize("known", [True, False], ids=["dataflow", "no dataflow"])
@pytest.mark.parametrize(
    ("update", "before", "load"), [case[1:] for case in LOADED], ids=[c[0] for c in LOADED]
)
def test_sums_are_loaded_unless_something_starts_them(
    update: str, before: str, load: bool, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where isl has no dataflow."""

    def fails(*_: object) -> NoReturn:
        raise isl.Error("no dataflow")

    if not known:
        monkeypatch.setattr(owned, "dataflow", fails)
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    grid = mapped(SQUARES, f"{loops} {{ {before} for (int k = 0; k < n; k++) {update} }}", "h100")
    (held,) = owned.promote(grid)
    assert held.load is load
