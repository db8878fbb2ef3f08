"""The commands that tell: inspect, devices, explain, doctor; and the Python function."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import polygpu
from polygpu import cli, devices
from polygpu.cli import console
from polygpu.cli.doctor import flaw_of_nvcc
from polygpu.report import predicted as prediction
from polygpu.report.explain import explain

SCALE = """\
void scale(int n, float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] = 2 * x[i];
#pragma endscop
}
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "scale.c"
    path.write_text(SCALE)
    return str(path)


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["--help"]) == 0
    overview = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"\n  {name} " in overview
        assert cli.invoke([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: polygpu {name} ")


def test_inspect_says_what_becomes_of_loop_and_access(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["inspect", "--target", "emulator", source]) == 0
    text = capsys.readouterr().out
    assert "polygpu_scale_0" in text
    assert "parallel" in text
    assert cli.invoke(["inspect", "--json", "--target", "emulator", source]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["regions"][0]["loops"][0]["parallel"] is True
    assert {access["text"] for access in facts["regions"][0]["accesses"]} == {"x[i]"}


PRODUCT = """\
void product(int n, float C[restrict n][n], float A[restrict n][n], float B[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""
BY_THE_PAPERS = """\
  kernel product_0_k0  n = 64
    access   between threads                within a thread  space   here
    C[i][j]  true linear j, false linear i  -                global  register
    A[i][k]  false linear i                 linear           shared  shared, staged
    B[k][j]  true linear j                  linear           shared  shared, staged

    rank  threads      uncoalesced  staged        resident
    1     32 j x 16 i  0            A 256, B 256  2 blocks, 100 %
    1     16 j x 32 i  0            A 256, B 256  2 blocks, 100 %
    2     16 j x 16 i  0            A 256, B 256  4 blocks, 100 %

    array          of a tile  T_j = 16 x T_i = 16  of all tiles
    C      loads   T_i*T_j    256                  n**2          4,096
    A      loads   T_i*n      1,024                n**3/T_j      16,384
    B      loads   T_j*n      1,024                n**3/T_i      16,384
    C      stores  T_i*T_j    256                  n**2          4,096
"""


def test_inspect_says_what_the_papers_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.c").write_text(PRODUCT)
    words = ["-O1", "--target", "emulator", "--device", "gtx285", "--size", "n=64", "p.c"]
    assert cli.invoke(["inspect", *words]) == 0
    section = (
        capsys.readouterr().out.partition("\nby the papers' algorithms: ")[2].partition("\npredicted")[0]
    )
    assert section.partition("\n\n")[2] == BY_THE_PAPERS
    assert cli.invoke(["inspect", "--json", *words]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["papers"]
    assert kernel["references"][0]["space"] == "global"
    assert kernel["mappings"][0]["staged"] == [["A", 256], ["B", 256]]
    (loads,) = (t for t in kernel["traffic"] if t["array"] == "A")
    assert (loads["launch"], loads["launch_at"], loads["launch_exact"]) == ("n**3/T_j", 64**3 // 16, True)


def test_devices_lists_all_and_describes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["devices"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(devices.names())
    assert cli.invoke(["devices", "8800gtx"]) == 0
    assert "86.4" in listed[0]
    assert "16384" in capsys.readouterr().out
    assert cli.invoke(["devices", "nosuchgpu"]) == 1
    assert "unknown device 'nosuchgpu'" in capsys.readouterr().err


def test_explain_knows_every_diagnostic(capsys: pytest.CaptureFixture[str]) -> None:
    for identity, entry in console.catalogue().items():
        assert cli.invoke(["explain", identity]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"{identity}: {entry.title}\n")
        assert entry.explanation in text
    assert cli.invoke(["explain", "[pg901]"]) == 0
    assert capsys.readouterr().out.startswith("PG901")
    assert cli.invoke(["explain", "PG99999"]) == 2


def test_explain_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(console.catalogue())


def test_doctor_says_what_is_missing_and_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.invoke(["doctor"]) == 0
    assert "C compiler" in capsys.readouterr().out
    assert cli.invoke(["doctor", "--cc", "nosuchcc"]) == 0
    assert "install one (Debian: apt-get install gcc)" in capsys.readouterr().out
    monkeypatch.setattr("polygpu.cli.doctor.PACKAGES", ("nosuchpackage",))
    assert cli.invoke(["doctor"]) == 1
    assert "pip install nosuchpackage" in capsys.readouterr().out


def test_compiling_from_python(source: str) -> None:
    compilation = polygpu.compile(source, target="emulator", device="gtx285")
    assert set(compilation.files) == {"_host.c", "_emulator.c"}
    assert explain(compilation).device == "gtx285"


def predicted(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert cli.invoke(["inspect", "--json", "--target", "emulator", "--device", "8800gtx", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["predicted"]
    return found


def test_inspect_predicts_at_the_sizes_asked_for(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """1024 floats: 64 half-warps that read 64 bytes each and write them, one multiplication a float."""
    found = predicted(capsys, "--size", "n=1024", source)
    (kernel,) = found["regions"][0]["kernels"]
    assert found["sizes"] == {"n": 1024}
    assert (kernel["bytes_moved"], kernel["float_operations"]) == (2 * 4 * 1024, 1024)
    assert kernel["roofline"]["intensity_flop_per_byte"] == 1 / 8
    assert [access["line"] for access in kernel["costliest_accesses"]] == [5, 5]


def test_inspect_predicts_for_what_is_assumed(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel,) = predicted(capsys, "--assume", "n=2048", source)["regions"][0]["kernels"]
    assert kernel["bytes_moved"] == 2 * 4 * 2048


ELIMINATION = """\
void eliminate(int n, float a[n][n])
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] = a[i][j] - a[i][k] * a[k][j];
#pragma endscop
}
"""


def test_predictions_without_sizes_are_quick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Launches that all differ: a smaller size, and 16 stand for all 2 (1 + 4 + ... + (n - 1)^2) operations.

    Warps count whole: a few percent more where they cross the diagonal.
    """
    path = tmp_path / "eliminate.c"
    path.write_text(ELIMINATION)
    found = predicted(capsys, "-O1", str(path))
    n = found["sizes"]["n"]
    operations = sum(k["float_operations"] for r in found["regions"] for k in r["kernels"])
    assert n < 4096 and n.bit_count() == 1
    assert found["host_iterations_looked_at"] == 16
    assert operations == pytest.approx((n - 1) * n * (2 * n - 1) / 3, rel=0.1)


def test_decided_registers_are_what_is_shown(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """256 threads of 20 registers: one block of 5120 of 8192."""
    (kernel,) = predicted(capsys, "--registers", "20", source)["regions"][0]["kernels"]
    occupancy = kernel["occupancy"]
    assert (occupancy["registers_per_thread"], occupancy["registers_are_decided"]) == (20, True)
    assert (occupancy["blocks_per_multiprocessor"], occupancy["limited_by"]) == (1, "registers")
    assert cli.invoke(["inspect", "--registers", "20", source]) == 0
    assert "registers      20 a thread, as decided" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--size", "m=3"), 1, "no region has an integer scalar 'm' [PG331]"),
        (("--size", "n"), 2, "'n' is not NAME=N"),
        (("--size", "n=-4"), 2, "'n=-4' is not NAME=N"),
        (("--roofline", "missing/roof.svg"), 1, "cannot write missing/roof.svg"),
    ],
)
def test_what_cannot_be_predicted(
    source: str, words: tuple[str, ...], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["inspect", *words, source]) == status
    assert said in capsys.readouterr().err


def test_decisions_on_scalars_say_what_becomes_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "half.c"
    path.write_text(
        "void half(int n, float a[n]) {\n    float s;\n#pragma scop\n    s = 0.5f;\n"
        "    for (int i = 0; i < n; i++)\n        a[i] = s;\n#pragma endscop\n}\n"
    )
    assert cli.invoke(["inspect", str(path)]) == 0
    assert "    line 4: only scalars: s is written directly\n" in capsys.readouterr().out


def test_predictions_that_take_long_show_progress(
    source: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = prediction.predict_all

    def slow(*arguments: Any) -> prediction.Prediction:
        time.sleep(0.3)
        return honest(*arguments)

    monkeypatch.setattr(prediction, "predict_all", slow)
    monkeypatch.setattr(console, "PATIENCE", 0.05)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.invoke(["inspect", source]) == 0
    assert "predicting what the kernels of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "flawed"), [("12.4", False), ("12.6", True), ("13.3", True), ("13.4", False), ("14.0", False)]
)
def test_doctor_knows_what_nvcc_mistranslates(release: str, flawed: bool) -> None:
    assert bool(flaw_of_nvcc(f"nvcc: Cuda compilation tools, release {release}, V{release}.88")) == flawed
