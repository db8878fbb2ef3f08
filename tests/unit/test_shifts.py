"""Shifts of negative numbers to the left, which all targets define as products, are verified like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli

FIXED = """
void f(int n, const int *restrict a, int *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] = (a[i] % 1000 - 5000 << 8) / 3;
}
"""


def test_a_negative_number_may_be_shifted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.c"
    path.write_text(FIXED)
    assert cli.invoke(["verify", "--target", "emulator", "--offload", "always", str(path)]) == 0
    said = capfd.readouterr().out
    assert "n=513" in said
    assert "not run at" not in said
