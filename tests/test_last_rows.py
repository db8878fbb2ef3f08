"""Copies between host and device end within the last row behind a pointer: the memory may end there too."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli
from tests.support_kernels import in_turns

SUBMATRIX = """
#include <stdio.h>
#include <stdlib.h>

static void scale(int rows, int columns, int length, const float *restrict from, float *restrict to)
{
#pragma scop
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[i * length + j] = 2 * from[i * length + j];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int rows = atoi(argv[1]), columns = atoi(argv[2]), length = columns + 5;
    const size_t count = rows > 0 ? (size_t)(rows - 1) * length + columns : 0;
    float *from = malloc(count * sizeof *from), *to = malloc(count * sizeof *to);
    for (size_t k = 0; k < count; k++) {
        from[k] = k;
        to[k] = -1;
    }
    scale(rows, columns, length, from, to);
    for (size_t k = 0; k < count; k++)
        printf("%g\\n", to[k]);
    free(from);
    free(to);
    return 0;
}
"""


SIZES = [("1", "1"), ("3", "4"), ("33", "70"), ("0", "3"), ("3", "0")]


@pytest.mark.parametrize(("sizes", "device"), in_turns(SIZES, ["8800gtx", "h100"]))
def test_a_submatrix_that_ends_with_its_memory(
    sizes: tuple[str, str],
    device: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The address sanitizer watches the copies, the original says what must come out."""
    monkeypatch.chdir(tmp_path)
    Path("submatrix.c").write_text(SUBMATRIX)
    flags = "-O0 -fsanitize=address -fno-sanitize-recover=all"
    options = ["run", "--target", "emulator", "--device", device, "--check", "--cflags", flags]
    assert cli.invoke([*options, "submatrix.c", "--", *sizes]) == 0, capfd.readouterr().err
    assert "runs on the host" not in capfd.readouterr().err
