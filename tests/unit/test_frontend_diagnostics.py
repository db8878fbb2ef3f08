"""Diagnostics as text, JSON and SARIF."""

from __future__ import annotations

import json

from polygpu.support.diagnostics import Diagnosed, Diagnostic, render, render_json, render_sarif
from polygpu.support.position import Position

SOURCES = {"a.c": "int x;\n\tfoo(bar);\nlast"}
DIAGNOSTIC = Diagnostic(
    "PG101",
    "error",
    "it is not affine",
    Position("a.c", 2, 6),
    "use a constant",
    (Diagnostic("", "note", "declared here", Position("a.c", 1, 5)),),
    length=3,
)


def test_text() -> None:
    assert render([DIAGNOSTIC], SOURCES) == (
        "a.c:2:6: error: it is not affine [PG101]\n"
        "    2 | \tfoo(bar);\n"
        "      | \t    ^~~\n"
        "a.c:1:5: note: declared here\n"
        "    1 | int x;\n"
        "      |     ^\n"
        "a.c:2:6: note: use a constant\n"
    )


def test_text_without_position_or_source() -> None:
    assert render([Diagnostic("PG001", "error", "gone")], {}) == "polygpu: error: gone [PG001]\n"
    assert render([DIAGNOSTIC], {}).count("\n") == 3


def test_carets_stay_within_the_line() -> None:
    for column, length in ((1, 100), (5, 1), (99, 9), (0, 1)):
        found = Diagnostic("PG101", "note", "here", Position("a.c", 3, column), length=length)
        caret = render([found], SOURCES).split("\n")[2].removeprefix("      | ")
        assert caret.strip(" ~") == "^"
        assert len(caret) <= len("last") + 1
    assert render([Diagnostic("PG101", "note", "here", Position("a.c", 99, 1))], SOURCES).count("\n") == 1
    nothing = Diagnostic("PG101", "note", "here", Position("a.c", 3, 1), length=0)
    assert render([nothing], SOURCES).count("\n") == 1


def test_json() -> None:
    (record,) = json.loads(render_json([DIAGNOSTIC]))
    assert record == {
        "id": "PG101",
        "severity": "error",
        "message": "it is not affine",
        "file": "a.c",
        "line": 2,
        "column": 6,
        "length": 3,
        "help": "use a constant",
        "notes": [record["notes"][0]],
    }
    assert record["notes"][0]["message"] == "declared here"
    assert json.loads(render_json([])) == []


def test_sarif() -> None:
    log = json.loads(render_sarif([DIAGNOSTIC, DIAGNOSTIC], {"PG101": "title"}, "1.0"))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"] == [{"id": "PG101", "shortDescription": {"text": "title"}}]
    first, _ = run["results"]
    assert (first["ruleId"], first["level"]) == ("PG101", "error")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.c"},
        "region": {"startLine": 2, "startColumn": 6, "endColumn": 9},
    }
    assert first["relatedLocations"][0]["message"]["text"] == "declared here"


def test_exception_carries_its_diagnostics() -> None:
    problem = Diagnosed(DIAGNOSTIC, DIAGNOSTIC)
    assert problem.diagnostics == (DIAGNOSTIC, DIAGNOSTIC)
    assert str(problem) == "it is not affine\nit is not affine"
