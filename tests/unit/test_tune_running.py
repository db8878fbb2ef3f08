"""Choices that `polygpu tune --evaluate run` builds and runs: their times, and those that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli
from polygpu.compilation import Options
from polygpu.perf.effort import THOROUGH
from polygpu.pipeline import compile_file
from polygpu.search.price import price
from tests.support_kernels import require_opencl

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
void scale(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = B[j][i] * 2.0f;
#pragma endscop
}
static float A[40][50], B[50][40];
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 40;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 50; j++)
            B[j][i] = i - 3.5f * j;
    if (n)
        scale(n, 50, A, B);
    for (int i = 0; i < n; i++)
        printf("%g %g\\n", A[i][i], A[i][49]);
    return 0;
}
"""
TUNE = ["tune", "-d", "8800gtx", "--evaluate", "run", "--candidates", "8"]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("k.c").write_text(PROGRAM)
    return "k.c"


def evaluations() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("k.tune.jsonl").read_text().splitlines()[1:]]


def timed() -> list[dict[str, Any]]:
    return [e for e in evaluations() if "seconds" in e]


def test_the_emulator_counts_and_the_model_has_times_for_that(
    source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same times as those that are predicted, with any number of processes."""
    assert cli.invoke([*TUNE, "-t", "emulator", "--workers", "1", source, "--", "37"]) == 0
    assert "nest 8  scale_0_k0 at 37\n" in capfd.readouterr().out
    once = Path("k.tune.jsonl").read_text()
    Path("k.tune.jsonl").unlink()
    assert cli.invoke([*TUNE, "-t", "emulator", "--workers", "2", source, "--", "37"]) == 0
    assert Path("k.tune.jsonl").read_text() == once
    assert len(timed()) > 1
    for e in timed():
        asked = Options(target="emulator", device="8800gtx", level=1, decisions=(e["decisions"],))
        made = compile_file(source, asked)
        predicted = price(made.regions[0], 0, made.device, {"n": 37, "m": 50}, THOROUGH).seconds
        assert e["seconds"] == pytest.approx(predicted)


def test_opencl_measures(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    require_opencl()
    assert cli.invoke([*TUNE, "-t", "opencl", "--workers", "2", source]) == 0
    assert ", times of kernels measured\n" in capfd.readouterr().out
    assert timed()
    assert all(0 < e["seconds"] < 1 for e in timed())
    head = json.loads(Path("k.tune.jsonl").read_text().splitlines()[0])
    assert head["evaluation"] | {"on": ""} == {
        "target": "opencl", "on": "", "arguments": [], "input": "", "flags": [], "times": 3, "tolerance": 1e-5
    }  # fmt: skip


COMPILER = """\
#!/bin/bash
# Programs of choices by their numbers: what does not build, hangs, fails, prints too much, launches nothing.
out="${@: -1}"
for word; do [ "$last" = -o ] && out="$word"; last="$word"; done
directory=$(basename "$(dirname "$out")")
number="${directory##*_}"
replace() { printf '#!/bin/bash\\n%s\\n' "$1" > "$out"; chmod +x "$out"; }
case "$directory:$out" in
    scale_0_k0_*.o) [ $((number % 6)) = 0 ] && { echo "k.c:12: error: 3 is too many" >&2; exit 1; };;
    scale_0_k0_*) case $((number % 6)) in
        1) replace "exec sleep 100"; exit;;
        2) replace "echo 'polygpu: region scale, kernel k: too many resources (k.c:7)
more' >&2; exit 1"; exit;;
        3) replace "kill -SEGV \\$\\$"; exit;;
        4) replace "echo 0.5 17"; exit;;
        5) replace "exec $(dirname "$(dirname "$out")")/original"; exit;;
    esac;;
esac
exec gcc "$@"
"""
REASONS = {
    0: "it does not build: N is too many",
    1: "it does not end in time",
    2: "it fails: region scale, kernel k: too many resources",
    3: "it fails: exit status 139",
    4: "it prints something else than the original",
    5: "it launches no kernel",
}


def test_what_fails_has_a_reason_and_the_search_goes_on(
    source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("cc").write_text(COMPILER)
    Path("cc").chmod(0o755)
    fails = ["--cc", str(Path("cc").resolve()), "--timeout", "0.5", "--candidates", "16", "--seed", "1"]
    assert cli.invoke([*TUNE, "-t", "emulator", "--workers", "1", *fails, source]) == 0
    built = {e["number"]: e["pruned"] for e in evaluations() if e["pruned"].startswith("it ")}
    assert all(why == REASONS[number % 6] for number, why in built.items())
    assert {*built.values()} == {*REASONS.values()}
    assert "none is faster than what rules choose" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["k.c", "--", "0"], 1, "k cannot be measured as rules choose its kernels: it launches no kernel"),
        (["library.c"], 1, "library.c has no main: there is no program to run"),
        (["twice.c"], 1, "twice cannot be measured as rules choose its kernels: it prints something else"),
        (["k.c", "--timeout", "1e-9"], 1, "it does not end in time"),
        (["k.c", "--cflags", "-lnone"], 1, "[PG903]"),
        (["k.c", "-t", "none"], 2, "'none'"),
    ],
)
def test_a_program_that_is_no_measure_is_none(
    arguments: list[str], status: int, said: str, source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("library.c").write_text(PROGRAM.replace("main", "other"))
    # Each program that runs finds what the one before has left.
    again = (
        'FILE *f = fopen("ran", "a"); printf("%ld\\n", ftell(f)); fputs("1", f); fclose(f);\n    return 0;'
    )
    Path("twice.c").write_text(PROGRAM.replace("return 0;", again))
    assert cli.invoke([*TUNE, "-t", "emulator", *arguments]) == status
    error = capfd.readouterr().err
    assert said in error
    assert error.count("rror: ") == 1 or "PG903" in error
    assert not list(Path().glob("*.decisions")) + list(Path().glob("*.jsonl"))


def test_arguments_are_for_what_runs(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["tune", source, "--", "7"]) == 2
    assert "they go with --evaluate run" in capfd.readouterr().err
