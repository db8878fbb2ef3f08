"""benchmarks/certificates.py: verdicts, the lines it prints, its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import certificates
from benchmarks.certificates import OPEN, PROVED, REFUTED, Task, outcome_of, report
from polygpu.verify.verdict import BOUNDS, VALUES, Certificate, Failure, Unproved

FAILURE = Failure(BOUNDS, "k0", "an access outside of global array 'A'")
UNDECIDED = Unproved(VALUES, "", "no end")
LOOP = "void f(int n, float a[n])\n{\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n}\n"


def task(directory: Path, text: str) -> Task:
    source = directory / "f.c"
    source.write_text(text)
    return Task(source, "generic", 60.0)


def test_nothing_is_proved_that_is_open_or_refuted() -> None:
    assert outcome_of("f", Certificate((), (), ())).verdict == PROVED
    assert outcome_of("f", Certificate((), (), (UNDECIDED,))).verdict == OPEN
    assert outcome_of("f", Certificate((), (FAILURE,), (UNDECIDED,))).verdict == REFUTED


def test_a_line_has_property_kernel_and_message() -> None:
    certificate = Certificate((), (FAILURE, FAILURE), (UNDECIDED,))
    expected = "bounds: k0: an access outside of global array 'A' (2); values: no end"
    assert str(outcome_of("f.c generic f:3", certificate)) == f"refuted f.c generic f:3: {expected}"


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (LOOP, 0, "1 regions: 1 proved, 0 open, 0 refuted; 0 of 1 compilations without a region"),
        ("int f(void)\n{\n    return 1;\n}\n", 2, "none    f.c generic: no region"),
        ("void f(int n\n", 2, "none    f.c generic: "),
    ],
)
def test_status(
    text: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report([task(tmp_path, text)], jobs=1) == status
    assert said in capsys.readouterr().out


def test_a_refuted_region_outweighs_a_file_without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [[outcome_of("f", Certificate((), (FAILURE,), ()))], "g.c: no region"]
    monkeypatch.setattr(certificates, "certified", lambda tasks, jobs: iter(results))
    assert report([], jobs=1) == 1
