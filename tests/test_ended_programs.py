"""Programs that end within a loop which runs on the device otherwise: `assert`, and `exit` behind a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu import cli

SOURCE = Path(__file__).parent / "realcode" / "pixels_that_are_asserted.c"


@pytest.mark.parametrize("argument", ["7", "29"])
def test_they_end_where_the_original_ends(argument: str, tmp_path: Path) -> None:
    """The first fails a test of an iterator, the second an assertion."""
    compiled = ["compile", "-t", "emulator", "--offload", "always", "-o", f"{tmp_path}/", str(SOURCE)]
    assert cli.invoke(compiled) == 0
    ended = []
    stem = SOURCE.stem
    for name, files in (("original", [str(SOURCE)]), ("made", [f"{stem}_host.c", f"{stem}_emulator.c"])):
        subprocess.run(["gcc", "-O1", "-o", name, *files, "-lm", "-lpthread"], cwd=tmp_path, check=True)
        command = [f"./{name}", argument]
        ended.append(subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True))
    original, made = ended
    assert (made.returncode, made.stdout) == (original.returncode, original.stdout)
    assert original.returncode == (1 if argument == "7" else -6)
    said = original.stderr.rpartition(":")[2].strip() if argument == "29" else original.stderr
    assert said in made.stderr
    assert "the loop runs on the host" in made.stderr
