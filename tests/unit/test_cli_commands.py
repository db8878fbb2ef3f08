"""The commands that tell: inspect, devices, explain, doctor; and the Python function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polygpu
from polygpu import cli, devices
from polygpu.cli import console

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
    assert compilation.facts.device == "gtx285"
