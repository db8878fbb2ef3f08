"""Which pairs of arrays may be the same memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.analysis.in_step import in_step
from polygpu.frontend import FrontendOptions, lift

EACH = "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) "


@pytest.mark.parametrize(
    ("parameters", "loops", "expected"),
    [
        ("float *v, float *r", "for (int i = 1; i < n; i++) r[i] = v[i] + 1;", True),
        ("float (*v)[n], float (*r)[n]", EACH + "v[i][j + 1] = r[i][j + 1];", True),
        ("float (*v)[n], float (*r)[2 * n]", EACH + "v[i][j] = r[i][j];", False),
        ("float *v, float *r", "for (int i = 1; i < n; i++) r[i] = v[i - 1] + 1;", False),
        ("float *v, float *r", "for (int i = 1; i < n; i++) { r[i] = v[i]; r[i] += 1; }", False),
        ("float *v, float *r", EACH + "r[i] += v[i];", False),
        ("float *v, float *r", EACH + "r[i + j] = v[i + j];", False),
        ("float *v, float *r", "for (int i = 1; i < n; i++) { r[i] = v[i]; v[i] = 0; }", False),
        ("float *v, int *r", "for (int i = 1; i < n; i++) r[i] = v[i];", False),
    ],
)  # fmt: skip
def test_arrays_are_in_step_where_one_is_read_just_before_the_other_is_written(
    tmp_path: Path, parameters: str, loops: str, expected: bool
) -> None:
    path = tmp_path / "f.c"
    path.write_text(f"void f(int n, {parameters}) {{\n{loops}\n}}\n")
    (scop,) = lift(str(path), FrontendOptions(cc="")).scops
    arrays = {array.name: array for array in scop.arrays}
    assert in_step(scop, arrays["v"], arrays["r"]) is expected
    assert in_step(scop, arrays["r"], arrays["v"]) is expected
