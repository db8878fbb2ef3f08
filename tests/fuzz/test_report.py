"""Forms that are asked for are drawn, and what the fuzzer says of a run is what was found."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections import Counter

import pytest

from tests.fuzz.__main__ import forms, jobs, parser
from tests.fuzz.compilation import Certified, Setup
from tests.fuzz.examine import Failure, Outcome
from tests.fuzz.kinds import FORMS, STAYING, described
from tests.fuzz.report import Report
from tests.fuzz.work import Job

SETUP = Setup("emulator", "")


@pytest.mark.parametrize("form", [name for name in FORMS if name != STAYING])
def test_programs_of_a_form(form: str) -> None:
    job = Job(7, 8, 2, form=form)
    assert all(form in job.forms(p) for p in job.programs())


def test_forms_take_turns() -> None:
    words = "--only sums,staying --programs 20 --batch 8 --first 100 --opencl 0".split()
    made = list(jobs(parser().parse_args(words)))
    assert made == [
        Job(1, 100, 8, form="sums"),
        Job(1, 108, 8, form="staying"),
        Job(1, 116, 4, form="sums"),
    ]


def test_forms_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        forms("help")
    assert capsys.readouterr().out == described()
    assert [line.split()[0] for line in described().splitlines()] == list(FORMS)
    with pytest.raises(ArgumentTypeError, match="no form 'sum'"):
        forms("held,sum")


def test_a_run_is_counted_by_form() -> None:
    report = Report(verbose=False)
    refused = Failure(1, "refused", "fuzz.c:3:1: error: no [PG172]", SETUP)
    certificates = [Certified(0, "holds"), Certified(0, "open", "values: budget"), Certified(2, "holds")]
    by_form = {0: ("sums",), 1: ("held", "sums"), 2: ()}
    report.add(
        Job(5, 40, 3),
        Outcome([refused], Counter({"programs": 3, "regions": 3}), certificates, by_form),
    )
    assert report.summary().splitlines()[1:4] == [
        "held               1         1         0         0",
        "sums               2         1         1         1  50 % proved",
        "all                3         1         2         1  67 % proved",
    ]
    assert "refused: 1 PG172\n3 programs in 0 s (3 regions): no failure" in report.summary()
    made = json.loads(report.json())
    assert made["open"] == [{"program": "5:40", "reason": "values: budget"}]
    assert made["refused"] == {"PG172": 1}
    assert made["forms"]["sums"] == {"programs": 2, "refused": 1, "proved": 1, "open": 1}


def test_failures_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(verbose=False)
    report.add(Job(5, 40, 1), Outcome([Failure(0, "differs", "A1", SETUP, (7, 5))], forms={0: ()}))
    assert "program 5:40 differs at n=7 m=5" in capsys.readouterr().out
    assert report.summary().endswith(": 1 differs")
    assert json.loads(report.json())["failures"][0]["kind"] == "differs"
