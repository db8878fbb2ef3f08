"""The line on standard error that says how far a long emulation is; each look at the clock takes a second."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.pipeline import compile_file

CLOCK = """\
#include <time.h>
static time_t seconds = 1000;
#define time(unused) (seconds++)
"""
STENCIL = """\
void steps(int n, float x[102], float y[102])
{
#pragma scop
    for (int t = 0; t < n; t++) {
        for (int i = 1; i < 101; i++)
            y[i] = x[i - 1] + x[i + 1];
        for (int i = 1; i < 101; i++)
            x[i] = y[i];
    }
#pragma endscop
}
"""
MAIN = "int main(void) { static float x[25600], y[25600]; steps(%d, x, y); return 0; }\n"
ONE_LAUNCH = """\
void steps(int n, float x[25600], float y[25600])
{
#pragma scop
    for (int i = 0; i < 25600; i++)
        y[i] = x[i] + n;
#pragma endscop
}
"""


def built(folder: Path, source: str, count: int) -> Path:
    file = folder / "steps.c"
    file.write_text(source + MAIN % count)
    files = compile_file(str(file), Options(target="emulator", device="8800gtx", assume_no_alias=True)).files
    paths = [folder / f"steps{suffix}" for suffix in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    (folder / "clock.h").write_text(CLOCK)
    program = folder / "steps"
    programs.call(("gcc", "-O1", "-include", folder / "clock.h", *paths, "-o", program, "-lm"))
    return program


def told(program: Path, **environment: str) -> list[str]:
    """The lines that followed each other in one place."""
    done = subprocess.run([program], capture_output=True, check=True, env=environment)
    return [re.sub(r"\x1b\[\d*[mK]", "", part) for part in done.stderr.decode().split("\r")][1:]


def test_host_loops_tell_their_part(tmp_path: Path) -> None:
    """40 iterations of two launches of one block each: a look at the clock a launch, from 3 s on.

    The launch after 3 s is the fourth, in iteration 1 of 40: 2 %, and 3 x 39 s are left at that rate.
    """
    lines = told(built(tmp_path, STENCIL, 40), POLYGPU_PROGRESS="1")
    assert len(lines) == 2 * 40 - 3 + 1
    assert lines[0] == "steps_0_k1  ........................   2 %  3 s, about 117 s left"
    half = next(row for row in lines if " 50 %" in row)
    assert half == "steps_0_k0  ############............  50 %  40 s, about 40 s left"
    assert lines[-1] == ""


def test_a_single_launch_tells_its_part(tmp_path: Path) -> None:
    """100 blocks of 256: block k comes after k seconds."""
    lines = told(built(tmp_path, ONE_LAUNCH, 1), POLYGPU_PROGRESS="1")
    assert lines[0] == "steps_0_k0  ........................   3 %  3 s, about 97 s left"
    assert lines[96] == "steps_0_k0  #######################.  99 %  99 s, about 1 s left"
    assert lines[97:] == [""]


def test_nobody_who_did_not_ask_is_told(tmp_path: Path) -> None:
    assert told(built(tmp_path, ONE_LAUNCH, 1)) == []


@pytest.mark.parametrize("count", [0, 1])
def test_short_runs_say_nothing(tmp_path: Path, count: int) -> None:
    assert told(built(tmp_path, STENCIL, count), POLYGPU_PROGRESS="1") == []
