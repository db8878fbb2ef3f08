"""What a device that only measures time is said to count: what the emulator counts in the same program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli
from tests.support_kernels import require_opencl

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>

static void smooth(int n, int steps, float a[restrict n], float b[restrict n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.5f * (a[i - 1] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
#pragma endscop
}

static void sum_rows(int n, unsigned m, float a[restrict n][m], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += a[i][j];
#pragma endscop
}

static void positive(int n, float a[restrict n], float b[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            b[i] = a[i];
#pragma endscop
}

int main(void)
{
    float *a = calloc(10000, sizeof *a), *b = calloc(10000, sizeof *b);
    for (int i = 0; i < 10000; i++)
        a[i] = i % 17 - 5;
    smooth(1000, 2, a, b);
    smooth(77, 3, a, b);
    smooth(1000, 2, a, b);
    sum_rows(70, 41, (float (*)[41])a, b);
    for (int n = 1; n <= CALLS; n++)
        positive(n, a, b);
    printf("%g\\n", b[0]);
    free(a);
    free(b);
    return 0;
}
"""
TIMES = {"time_s", "time_per_launch_s", "launch_time_s", "time_with_launches_s", "gflop_per_s", "gb_per_s"}
SAID = {"time_is_modelled", "counters_are"}


def kernels(text: str, target: str, capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    Path("loops.c").write_text(text)
    assert cli.invoke(["run", "-t", target, "-d", "8800gtx", "--json", *words, "loops.c"]) == 0
    error = capfd.readouterr().err
    report = json.loads(error[error.index('{\n  "target"') :])
    return {k["name"]: k for region in report["regions"] for k in region["kernels"]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_opencl()
    monkeypatch.chdir(tmp_path)


def test_calls_with_several_sizes_count_what_the_emulator_counts(capfd: pytest.CaptureFixture[str]) -> None:
    text = PROGRAM.replace("CALLS", "1")
    measured, emulated = (kernels(text, target, capfd) for target in ("opencl", "emulator"))
    assert measured.keys() == emulated.keys()
    affine = [name for name in measured if "positive" not in name]
    assert sum(emulated[name]["launches"] for name in affine) == 15
    for name in affine:
        found, expected = measured[name], emulated[name]
        assert (found["counters_are"], found["time_is_modelled"]) == ("predicted", False)
        assert (expected["counters_are"], expected["time_is_modelled"]) == ("counted", True)
        assert found["time_s"] > 0
        assert found["modelled_time_s"] == pytest.approx(expected["time_s"])
        for each in (found, expected):  # how much of the roof is reached is a matter of time
            del each["roofline"]["share_of_attainable"]
        for key in found.keys() - TIMES - SAID:
            assert found[key] == expected[key], (name, key)


def test_what_data_decide_is_not_counted(capfd: pytest.CaptureFixture[str]) -> None:
    found = kernels(PROGRAM.replace("CALLS", "1"), "opencl", capfd)
    (kernel,) = (k for name, k in found.items() if "positive" in name)
    assert kernel["not_counted_because"] == "data decide what it accesses, or how often"
    assert (kernel["counters"], kernel["gb_per_s"], kernel["costliest_accesses"]) == (None, 0.0, [])
    assert kernel["time_s"] > 0


def test_more_sizes_than_a_profile_keeps(capfd: pytest.CaptureFixture[str]) -> None:
    text = PROGRAM.replace("if (a[i] > 0)\n", "")
    kept, lost = (kernels(text.replace("CALLS", str(n)), "opencl", capfd) for n in (32, 33))
    (name,) = (name for name in kept if "positive" in name)
    assert kept[name]["bytes_moved"] > 0
    assert lost[name]["not_counted_because"] == "the profile lacks sizes that its region is called with"


def test_the_text_and_the_plot_say_so(capfd: pytest.CaptureFixture[str]) -> None:
    Path("loops.c").write_text(PROGRAM.replace("CALLS", "1"))
    assert cli.invoke(["run", "-t", "opencl", "-d", "gtx285", "--roofline", "roof.svg", "loops.c"]) == 0
    text = capfd.readouterr().err
    note = "counted by prediction for NVIDIA GeForce GTX 285, time measured"
    assert note in text.splitlines()[1]
    assert "nothing: data decide what it accesses, or how often" in text
    assert "loops.c:21" in text
    assert note in Path("roof.svg").read_text()
