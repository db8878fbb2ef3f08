"""benchmarks/suites.py: loops of a text, what became of them, the table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import suites
from benchmarks.nests import Loop, Nest, by_function, loops_of, nests_of
from benchmarks.programs import ProgramError
from benchmarks.suites import Compiled, Program, Row, described, programs_of, reasons, table, with_constants

TEXT = """\
// for (;;) in a comment
#define EACH for (int i = 0; i < n; i++)
void f(int n, float *a)
{
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            a[i] = 0;
        else {
            a[i] = 1;
        }
    do {
        puts("while (1)");
    } while (n--);
}
static int g(int (*h)(int), int n)
{
    for (int t = 0; t < n; t++) {
        for (int i = 0; i < n; i++) x[i] = h(i);
        while (n > 3) n /= 2;
    }
    return n;
}
"""


def said(identity: str, line: int, message: str, *notes: dict[str, Any]) -> dict[str, Any]:
    return {"id": identity, "line": line, "message": message, "notes": list(notes), "severity": "note"}


def test_loops_have_their_lines_and_functions() -> None:
    expected = [Loop(5, 10, "f"), Loop(17, 20, "g"), Loop(18, 18, "g"), Loop(19, 19, "g")]
    assert loops_of(TEXT) == expected


def test_what_is_said_of_loops_is_told_apart() -> None:
    call = said("PG130", 18, "'h' is called in a region, but it is a pointer")
    diagnostics = [
        said("PG180", 5, "region polygpu_f_0: lines 5-10"),
        said("PG330", 5, "this loop runs in one thread: flow dependence: a[i] is written"),
        said("PG181", 17, "this loop is not offloaded", said("PG124", 19, "'while' in a region")),
        said("PG181", 18, "this loop is not offloaded", call),
    ]
    assert nests_of(TEXT, diagnostics) == [
        Nest(5, 10, "f", "one thread", ("PG330 this loop runs in one thread: flow dependence",)),
        Nest(17, 20, "g", "refused", ("PG130 '...' is called in a region, but it is a pointer",)),
    ]


def test_a_loop_around_a_region_is_no_nest() -> None:
    """What is refused beside the region has the reason of the loop around both."""
    outer = said("PG181", 17, "this loop is not offloaded", said("PG124", 19, "'while' in a region"))
    diagnostics = [said("PG180", 18, "region polygpu_g_0: line 18"), outer]
    found = {(n.first, n.last): (n.verdict, n.reasons) for n in nests_of(TEXT, diagnostics)}
    assert found[18, 18] == ("device", ())
    assert found[19, 19] == ("refused", ("PG124 '...' in a region",))
    assert (17, 20) not in found
    assert found[5, 10] == ("refused", ("nothing is said",))


def test_a_function_counts_by_the_best_of_its_nests() -> None:
    nests = [Nest(1, 2, "f", "refused", ("why",)), Nest(3, 4, "f", "device"), Nest(5, 6, "other", "device")]
    assert by_function(nests, ["f", "g"]) == [nests[1], Nest(0, 0, "g", "refused", ("no loop was found",))]


def test_constants_of_a_header() -> None:
    assert (
        with_constants("#define N 32000\n# define M (N)\n", {"N": 120}) == "#define N 120\n# define M (N)\n"
    )
    with pytest.raises(ProgramError, match="no macro K"):
        with_constants("#define N 1\n", {"K": 2})


def test_every_entry_of_the_table_describes_programs() -> None:
    entries = tomllib.loads(suites.TABLE.read_text())["suite"]
    programs = [p for entry in entries for p in described(entry)]
    assert len({p.title for p in programs}) == len(programs) > 30
    assert not any("{name}" in text for p in programs for text in (*p.sources, *p.includes, p.prepare))


def test_a_folder_of_programs_is_a_suite(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "b.c").write_text("int f(void) { return 0; }\n")
    assert programs_of(tmp_path) == [Program(tmp_path.name, "a", ("a.c",), arguments="")]
    (tmp_path / "a.c").unlink()
    with pytest.raises(ProgramError, match="neither a suite"):
        programs_of(tmp_path)


def test_the_table_has_sums_and_reasons_by_number() -> None:
    nests = (Nest(1, 2, "f", "device"), Nest(3, 4, "f", "refused", ("PG1 why",)))
    files = (Compiled("a.c", 1.5, nests, 2), Compiled("b.c", 2.5, problem="PG9 no loop"))
    rows = [Row("S", name, files, nests, {"emulator": "yes"}, {"emulator": (10**6, 0)}) for name in "ab"]
    lines = list(table(rows))
    assert lines[2].split()[:9] == ["a", "2", "1", "0", "0", "1", "2", "4.0", "(2.5)"]
    assert lines[2].endswith("1.00, 0.00 MB  emulator: yes")
    assert lines[4].split()[:9] == ["all", "4", "2", "0", "0", "2", "4", "8.0", "(2.5)"]
    assert list(reasons(rows)) == ["    2 refused: PG1 why", "    2 file: PG9 no loop"]
