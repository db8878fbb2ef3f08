"""Dependency files: what gcc writes for the same names, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu.cli.depfile import depfile, escape

NAMES = ["plain.h", "a b.h", "c#d.h", "e$f.h", "g%h.h", "i:j.h", "back\\slash.h", "k\\ l.h", "tab\tm.h"]


@pytest.mark.parametrize("phony", [False, True])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_same_text_as_gcc(tmp_path: Path, count: int, phony: bool) -> None:
    """All awkward names, and enough plain ones that the rule has to be folded."""
    headers = NAMES + [f"header_number_{k}.h" for k in range(count)]
    for name in headers:
        (tmp_path / name).touch()
    (tmp_path / "x.c").write_text("".join(f'#include "{name}"\n' for name in headers))
    flags = ("-MP",) if phony else ()
    command = ("gcc", "-MM", *flags, "-MT", "one", "-MT", "two$", "x.c")
    expected = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert depfile(("one", "two$"), ("x.c", *headers), phony) == expected


def test_targets_are_quoted_by_the_caller() -> None:
    assert escape("a b$c#d") == "a\\ b$$c\\#d"
    assert depfile(("x_host.c", "x.cu"), ("x.c",)) == "x_host.c x.cu: x.c\n"
