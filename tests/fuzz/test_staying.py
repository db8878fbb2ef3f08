"""Programs that keep arrays on the device do what they did, with what is older on the host poisoned."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.frontend import FrontendOptions, lift
from polygpu.frontend.residency.walk import Walk
from tests.fuzz.staying import differs, kept, program


def test_most_programs_keep_arrays(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    scopes = 0
    for seed in range(2):
        path.write_text(program(seed))
        lifted = lift(str(path), FrontendOptions(cc=""))
        scopes += any("polygpu_keep" in text for _, text in lifted.kept(lifted.scops).inserted)
    assert scopes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_program_does_what_it_did(tmp_path: Path, seed: int) -> None:
    assert differs(seed, tmp_path) == ""


@pytest.mark.slow
def test_copies_that_are_missed_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walk, "_touched", lambda *_: None)
    assert any(differs(seed, tmp_path) for seed in range(100, 110))
    assert kept((tmp_path / "p100_host.c").read_text())
