"""Branches that call what the host alone can run: left out where no region decides."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.compilation import Compilation
from polygpu.lower.realise import CompiledRegion
from polygpu.offload.offers import Offer
from polygpu.runtime.build import Recipe, build_original, build_program
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.test_shared_sums import compiled, files

PROGRAM = """
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct options { int level, *counts; };
static int calls;
static void note(int k) { printf("note %d\\n", k); calls++; }
static void work(int n, int flag, const struct options *o, double a[restrict n][n], const double *restrict b)
{
    int t = flag;
    BODY
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), flag = atoi(argv[2]);
    struct options o = {flag, NULL};
    double *a = malloc(n * n * sizeof *a + 8), *b = malloc(n * sizeof *b + 8), s = 0;
    for (int k = 0; k < n * n; k++) a[k] = k % 17;
    for (int k = 0; k < n; k++) b[k] = k % 5;
    work(n, flag, &o, (void *)a, b);
    for (int k = 0; k < n * n; k++) s += a[k] * (k % 9);
    printf("%d %.17g\\n", calls, s);
    return 0;
}
"""
ROWS = "for (int k = 0; k < n; k++) { TEST for (int i = 0; i < n; i++) a[k][i] += b[i] * k; }"
STEPS = """for (int k = 1; k < n; k++) {
        if (flag) note(k);
        for (int i = 0; i < n; i++) a[k][i] += a[k - 1][n - 1 - i];
    }"""
LEFT_OUT = {
    "a function of the file": "if (flag) note(k);",
    "a library's": 'if (flag) printf("%d\\n", k);',
    "several statements": "if (flag > 0) { calls++; note(k); calls += 2; }",
    "what it reads": 'if (flag) printf("%g\\n", a[k][0]);',
    "a member": "if (o->level) note(k);",
    "the other side": "if (flag == 0) a[k][0] = k; else note(k);",
    "one side and the other": "if (!flag) ; else note(k);",
    "two tests": "if (flag && n > 2) note(k);",
    "either test": "if (flag || n < 1) note(k);",
    "two branches": "if (flag) note(k); if (flag > 1) note(-k);",
    "within another test": "if (k % 2) if (flag) note(k);",
    "loops": "if (flag) for (int i = 0; i < k; i++) note(i);",
    "what must hold": "assert(flag < 9);",
}
HELD = {
    "data": "if (b[k] > 9) note(k);",
    "an iterator": "if (k == n + 3) note(k);",
    "what the loop changes": "if (t) { note(k); t--; }",
    "what nothing decides": "note(k);",
    "a constant": "if (1) note(k);",
    "one of both sides": "if (flag) note(k); else if (k % 9 == 7) note(-k);",
    "one of two": "if (flag) note(k); if (flag == 0) note(-k);",
}


def program(body: str) -> str:
    return PROGRAM.replace("BODY", body)


def of_work(made: Compilation) -> CompiledRegion:
    (region,) = (r for r in made.regions if r.scop.function == "work")
    return region


def printed(made: Compilation, directory: Path, n: int, flag: int) -> tuple[str, str]:
    """What the program prints, and what the original does; with what is said on the way."""
    recipe = Recipe("emulator", ("gcc",), extra=("-w", "-O0", "-ffp-contract=off", "-DPOLYGPU_CHECK=1"))
    if not (directory / "right").exists():
        build_program(files(made, directory), directory / "found", recipe)
        build_original(directory / "sums.c", directory / "right", replace(recipe, extra=("-w",)))
    right, found = (
        subprocess.run([directory / name, str(n), str(flag)], check=True, capture_output=True, text=True)
        for name in ("right", "found")
    )
    assert found.stdout == right.stdout
    return found.stdout, found.stderr


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_branch_is_left_out(name: str, tmp_path: Path) -> None:
    made = compiled(program(ROWS.replace("TEST", LEFT_OUT[name])), tmp_path)
    assert [loop.iterator for loop in of_work(made).scop.loops] == ["k", "i"]
    assert certify(of_work(made)).holds
    assert not printed(made, tmp_path, 33, 0)[1]
    said = printed(made, tmp_path, 33, 2)[1]
    if name != "what must hold":
        assert "the loop runs on the host: the test '" in said


TYPICAL = {
    "if (flag) note(k);": 0,
    "if (flag != 7) note(k);": 7,
    "if (flag > 3 || n > 9999) note(k);": 0,
    "if (!flag) note(k);": 100,
}


@pytest.mark.parametrize("test", TYPICAL)
def test_typical_values_do_not_take_it(test: str, tmp_path: Path) -> None:
    made = compiled(program(ROWS.replace("TEST", test)), tmp_path)
    sizes = Offer(of_work(made), made.device, {}).sizes
    assert sizes == {"n": 4096, "flag": TYPICAL[test]}
    assert Offer(of_work(made), made.device, {"flag": 5}).sizes == {"n": 4096, "flag": 5}


@pytest.mark.parametrize("name", HELD)
def test_a_branch_is_in_the_way(name: str, tmp_path: Path) -> None:
    made = compiled(program(ROWS.replace("TEST", HELD[name])), tmp_path)
    assert [loop.iterator for loop in of_work(made).scop.loops] == ["i"]
    for flag in (0, 2):
        printed(made, tmp_path, 33, flag)


def test_steps_of_the_host_stay_its_own(tmp_path: Path) -> None:
    """To leave a branch out gains nothing where the host runs the loop around it all the same."""
    made = compiled(program(STEPS), tmp_path)
    assert [loop.iterator for loop in of_work(made).scop.loops] == ["i"]
    assert "'printf'" in str([d for d in made.diagnostics if d.id == "PG181"])
    for flag in (0, 2):
        assert not printed(made, tmp_path, 33, flag)[1]


def test_a_marked_region_is_one(tmp_path: Path) -> None:
    made = compiled(program(f"\n#pragma scop\n{STEPS}\n#pragma endscop\n"), tmp_path)
    assert [loop.iterator for loop in of_work(made).scop.loops] == ["k", "i"]
    for flag in (0, 2):
        printed(made, tmp_path, 33, flag)
    for test in ("note(k);", HELD["data"]):  # also within an instance
        rows = ROWS.replace("TEST", test)
        with pytest.raises(Diagnosed, match="'note' is called in a region, but it calls 'printf'"):
            compiled(program(f"\n#pragma scop\n{rows}\n#pragma endscop\n"), tmp_path)
