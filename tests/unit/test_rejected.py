"""Each file of tests/rejected draws exactly the diagnostics beside it; `pytest --update` rewrites them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu.cli.console import catalogue
from polygpu.frontend import FrontendOptions, lift
from polygpu.support.catalogue import CATALOGUE
from polygpu.support.diagnostics import Diagnosed, Diagnostic, render

REJECTED = Path(__file__).parent.parent / "rejected"
ROOT = REJECTED.parent.parent
CASES = sorted(REJECTED.glob("*.c"))


def rejection(name: str) -> tuple[Diagnostic, ...]:
    """The diagnostics for a file of the current directory, which must not compile."""
    with pytest.raises(Diagnosed) as caught:
        lift(name, FrontendOptions())
    return caught.value.diagnostics


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_rejected(case: Path, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REJECTED)
    text = render(rejection(case.name), {case.name: case.read_text()})
    golden = case.with_suffix(".txt")
    if update:
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_error_says_where_why_and_what_to_do(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REJECTED)
    lines = case.read_text().split("\n")
    errors = [d for d in rejection(case.name) if d.severity == "error"]
    assert errors
    for error in errors:
        assert error.help
        assert error.position is not None
        assert error.position.file == case.name
        assert 1 <= error.position.column <= len(lines[error.position.line - 1]) + 1
        assert error.id in CATALOGUE


def test_every_id_is_in_the_catalogue() -> None:
    used = set()
    for file in (ROOT / "polygpu").rglob("*.py"):
        used |= set(re.findall(r'"(PG\d{3})"', file.read_text()))
    assert used - catalogue().keys() == set()


def test_examples_of_the_catalogue_differ() -> None:
    for entry in CATALOGUE.values():
        assert entry.title
        assert entry.explanation
        assert not entry.good or entry.bad != entry.good
