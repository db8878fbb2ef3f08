"""`polygpu verify`: right compilations pass, and each kind of mistake is found, with its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli, pipeline
from polygpu.analysis.dependences import Dependences
from polygpu.analysis.dependences import compute as compute_dependences
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.compilation import Compilation
from polygpu.lower import realise
from polygpu.mapping.padding import Padded, pad
from polygpu.schedule import prepare
from polygpu.support.isl_idioms import empty_union_map
from tests.unit.kernel_mutations import (
    Mutation,
    padding_on_one_side,
    shifted_copy,
    shorter_copy,
    swapped_loops,
    without_barrier,
)

PRODUCT = """\
void product(int n, int m, const float A[restrict n][m], const float y[restrict m], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += A[i][j] * y[j];
#pragma endscop
}
"""
FOLD = """\
void fold(int n, float x[restrict n], const float b[restrict n][n])
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x[k] = 0.5f * x[k] + b[i][j];
#pragma endscop
}
"""
SWEEP = """\
void sweep(int n, int a[restrict n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        a[i] = (a[i - 1] + a[i]) % 1000;
#pragma endscop
}
"""
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>

struct point { double x; short weight; };
static struct point points[50];
static unsigned char marks[8][50];

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 50;
    int total = 0, i;
    for (int t = 0; t < 50; t++)
        points[t].weight = t;
#pragma scop
    for (i = 0; i < n; i++) {
        points[i].x = 0.5 * points[i].weight;
        marks[3][i] = 1;
    }
    for (i = 0; i < n; i++)
        total += points[i].weight;
#pragma endscop
    printf("%d %.17g\\n", total, points[n - 1].x);
    return 0;
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def verify(text: str, *arguments: str, device: str = "8800gtx") -> int:
    Path("file.c").write_text(text)
    return cli.invoke(["verify", "--device", device, "--cflags", "-O0", "file.c", *arguments])


@pytest.mark.parametrize("text", [PRODUCT, FOLD, SWEEP])
def test_right_compilations_pass(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(text) == 0
    output = capfd.readouterr().out
    assert "same arrays as the original, no fault, at " in output
    assert "program  not run: there is no main" in output
    assert output.count("  proved  ") == 6
    assert "verify: proved for all sizes; no difference in " in output


def test_each_default_device_is_verified(capfd: pytest.CaptureFixture[str]) -> None:
    """What `compile` would write for each target, or for the one that is named."""
    Path("file.c").write_text(SWEEP)
    assert cli.invoke(["verify", "--json", "--seconds", "1", "file.c"]) == 0
    found = json.loads(capfd.readouterr().out)["devices"]
    assert [(d["device"], d["targets"]) for d in found] == [
        ("a current GPU", ["cuda", "opencl"]),
        ("NVIDIA GeForce 8800 GTX", ["emulator"]),
    ]
    assert all(d["regions"][0]["certificate"]["holds"] for d in found)
    assert cli.invoke(["verify", "--seconds", "1", "--target", "opencl", "file.c"]) == 0
    output = capfd.readouterr().out
    assert output.startswith("file.c: opencl, verified on the emulator as a current GPU\n")
    assert "8800" not in output


def test_without_a_proof(capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(PRODUCT, "--proof-seconds", "0") == 0
    output = capfd.readouterr().out
    assert "no proof was asked for" in output
    assert "verify: no difference in " in output


def test_a_proof_that_runs_out_of_time_is_no_proof(capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(PRODUCT, "--proof-seconds", "0.001") == 0
    output = capfd.readouterr().out
    assert "NOT PROVED  values: budget" in output
    assert "proved for all sizes" not in output


def test_sizes_are_small_odd_and_around_the_tiles(capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(PRODUCT, "--json") == 0
    attempts = json.loads(capfd.readouterr().out)["devices"][0]["regions"][0]["attempts"]
    assert {a["outcome"] for a in attempts} == {"same"}
    tried = {(a["sizes"]["n"], a["sizes"]["m"]) for a in attempts}
    assert {(k, k) for k in (0, 1, 2, 3, 17, 31, 32, 33)} <= tried  # tiles of 32 threads
    assert any(n != m for n, m in tried)


def test_a_parameter_with_an_assumed_value_has_that(capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(PRODUCT, "--json", "--assume", "m=5") == 0
    region = json.loads(capfd.readouterr().out)["devices"][0]["regions"][0]
    assert {a["outcome"] for a in region["attempts"]} == {"same"}
    assert {tuple(a["sizes"]) for a in region["attempts"]} == {("n",)}


def test_a_region_of_main_and_the_whole_program(capfd: pytest.CaptureFixture[str]) -> None:
    """Structures, file-scope arrays, a variable that is written, an iterator declared outside."""
    assert verify(PROGRAM, "--", "20") == 0
    output = capfd.readouterr().out
    assert "region polygpu_main_0  file.c:14:9, in main()" in output
    assert "same arrays as the original, no fault, at 10 sizes: n=0" in output
    assert "program  same: prints what the original prints, to the bit" in output
    # beyond the arrays, which have 50 elements, the host's loop would run, but the original is undefined
    assert "not run at n=100" in output


def test_one_byte_beyond_no_bytes_is_undefined(capfd: pytest.CaptureFixture[str]) -> None:
    """Where nothing of `a` may be touched on the device and the host's loop runs, at m = 6 and n = 1."""
    keyed = """\
    void keyed(int n, int m, unsigned char *restrict a, const unsigned char *restrict key)
    {
    #pragma omp parallel for
        for (int i = 0; i < n; i++)
            a[i] ^= key[i % m];
    }
    """
    assert verify(keyed) == 0
    undefined = re.findall(
        "not run at (.*): undefined in the original: heap-buffer-overflow", capfd.readouterr().out
    )
    assert "m=6 n=1" in undefined[0]


def test_far_beyond_an_array_is_undefined(capfd: pytest.CaptureFixture[str]) -> None:
    """At subscripts around 255 of 100 elements the original reads what is in another array."""
    limited = """\
    void limited(int n, unsigned char *restrict out, const unsigned char *restrict in,
                 const unsigned char *restrict limit, const int *restrict red)
    {
        for (int i = 0; i < n; i++) {
            out[2 * i] = limit[255 - (in[i] + red[in[i]])];
            out[2 * i + 1] = limit[255 - in[i]];
        }
    }
    """
    assert verify(limited) == 0
    output = capfd.readouterr().out
    assert re.search("not run at .*=100.*: undefined in the original: heap-buffer-overflow", output)
    assert "different" not in output


HELPERS = """\
float factor = 3;
static float twice(float x) { return 2 * x; }
void scale(float *p) { *p = twice(*p); }
void weigh(float *p) { *p *= factor; }
"""
CALLER = """\
#include <stdio.h>
extern float factor;
void scale(float *p);
void weigh(float *p);
float a[50];
int main(void)
{
    for (int i = 0; i < 50; i++)
        a[i] = i;
    for (int i = 0; i < 50; i++)
        %s(&a[i]);
    for (int i = 0; i < 50; i++)
        printf("%%g\\n", a[i]);
    return 0;
}
"""


def test_regions_call_functions_of_other_files(capfd: pytest.CaptureFixture[str]) -> None:
    Path("helpers.c").write_text(HELPERS)
    assert verify(CALLER % "scale", "--with", "helpers.c") == 0
    output = capfd.readouterr().out
    assert "verify: proved for all sizes; no difference in 1 run of 1 region" in output
    assert "program  same: prints what the original prints, to the bit" in output


def test_a_variable_of_the_region_and_of_what_it_calls_is_not_one_in_a_driver(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("helpers.c").write_text(HELPERS)
    for text, more in (
        (CALLER % "weigh", ("--with", "helpers.c")),
        (HELPERS + (CALLER % "weigh").replace("extern float factor;", ""), ()),
    ):
        assert verify(text, *more) == 0
        output = capfd.readouterr().out
        assert "not run alone: functions that it calls use 'factor'" in output
        assert "program  same: prints what the original prints, to the bit" in output


def test_what_cannot_be_checked_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    hidden = """\
    void scale(float *restrict a)
    {
        enum { COUNT = 10 };
    #pragma scop
        for (int i = 0; i < COUNT; i++)
            a[i] = 2 * a[i];
    #pragma endscop
    }
    """
    assert verify(hidden) == 0
    output = capfd.readouterr().out
    assert "not run alone: its text does not build on its own: " in output
    assert "COUNT" in output
    assert "verify: proved for all sizes; nothing could be compared" in output


def mutate(monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    """As if a pass made the mistake in every kernel."""

    def wrong(*arguments: Any) -> Padded:
        padded = pad(*arguments)
        kernel = mutation(padded.kernel)
        assert kernel != padded.kernel
        return replace(padded, kernel=kernel)

    monkeypatch.setattr(realise, "pad", wrong)


@pytest.mark.parametrize(
    ("text", "mutation", "said"),
    [
        (PRODUCT, without_barrier(0), "race between two barriers"),
        (PRODUCT, without_barrier(1), "race between two barriers"),
        (PRODUCT, shorter_copy, "read of a word that was never written"),
        (PRODUCT, shifted_copy, "x[0] is "),
        (PRODUCT, padding_on_one_side, "polygpu_product_0 at n="),
        (FOLD, swapped_loops, "x[0] is "),
    ],
    ids=["first barrier", "second barrier", "shorter copy", "shifted copy", "padding", "swapped loops"],
)
def test_mutated_kernels_are_found(
    text: str,
    mutation: Mutation,
    said: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch, mutation)
    assert verify(text) == 3
    output = capfd.readouterr()
    assert "file.c:3:9: error: polygpu_" in output.err
    assert said in output.err
    assert "[PG910]" in output.err
    assert "  WRONG   " in output.out
    assert "verify: the compiled program is wrong" in output.out


def test_a_removed_dependence_is_found(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its dependence the sweep runs in parallel: threads race for each element."""

    def wrong(p: Polyhedra) -> Dependences:
        return replace(compute_dependences(p), flow=empty_union_map(), memory=empty_union_map())

    monkeypatch.setattr(prepare, "compute", wrong)
    assert verify(SWEEP) == 3
    error = capfd.readouterr().err
    assert "race between two barriers" in error
    assert "file.c:5:9: error: " in error
    assert "source S0[i=1]" in error
    assert "where n=" in error


def test_a_wrong_program_is_found(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the host file, which no region alone would show."""
    honest = pipeline.File.realise

    def wrong(file: pipeline.File, *words: Any) -> Compilation:
        compilation = honest(file, *words)
        host = compilation.files["_host.c"].replace("total, points", "total + 1, points")
        return replace(compilation, files=compilation.files | {"_host.c": host})

    monkeypatch.setattr(pipeline.File, "realise", wrong)
    assert verify(PROGRAM, "--", "20") == 3
    assert "line 1 of the output: '190 9.5' became '191 9.5' [PG905]" in capfd.readouterr().err


def test_an_original_that_differs_from_itself_is_no_wrong_compilation(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """gcc makes of the power a product where it optimises."""
    Path("v.c").write_text(
        "#include <math.h>\nvoid f(int n, const float a[restrict n], float b[restrict n])\n"
        "{\n    for (int i = 0; i < n; i++)\n        b[i] = powf(a[i], 2);\n}\n"
    )
    assert cli.invoke(["verify", "--device", "8800gtx", "--proof-seconds", "0", "v.c"]) == 0
    assert "depend on how it is optimised" in capfd.readouterr().out
