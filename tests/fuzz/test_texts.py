"""What batches become is compared between trees by digests: of all programs, beside refused ones, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Compilation
from tests.fuzz import texts as under_test
from tests.fuzz.compilation import Refused, Setup, fitting
from tests.fuzz.generate import program
from tests.fuzz.text import program_at, source
from tests.fuzz.texts import digest, texts
from tests.fuzz.work import Job

SETUP = Setup("emulator", "h100")


def test_texts_are_those_of_the_programs_beside_refused_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, refused, last = programs = [program(f"1:{k}") for k in range(3)]
    lines = range(1, source(programs).count("\n"))
    line = next(n for n in lines if program_at(n, programs, SETUP.pragmas) == 1)
    errors = {source(programs): Refused("three", (line,)), source([refused]): Refused("one")}

    def refusing(file: Path, setup: Setup) -> tuple[Compilation | Refused, int]:
        error = errors.get(file.read_text())
        return (error, 0) if error else fitting(file, setup)

    others = list(texts([first, last], SETUP, tmp_path))
    monkeypatch.setattr(under_test, "fitting", refusing)
    assert list(texts(programs, SETUP, tmp_path)) == ["three", "one", *others]
    assert "_cuda.cu" in others


def test_digests_are_of_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(1, 1, 1)
    found = digest(job)
    assert digest(job) == found
    monkeypatch.setattr(under_test, "TARGETS", ())
    assert digest(job) != found
