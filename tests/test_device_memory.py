"""Programs for whose arrays the device has no memory, or not for all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import programs
from polygpu.printing import dialects
from tests.new_dialect.polygpu_hip import HIP
from tests.test_resident_programs import GPU, TIME_LOOP, built, require

TARGETS = ["emulator", *(pytest.param(target, marks=pytest.mark.slow) for target in ("opencl", "hip")), GPU]
ARRAY = 50 * 50 * 4
THREE = """\
#include <stdio.h>
#include <stdlib.h>
static void scale(int n, const float *restrict a, float *restrict b) {
  for (int i = 0; i < n; i++) b[i] = 2 * a[i] + b[i];
}
int main(void) {
  int n = 2500;
  float *a = calloc(n, 4), *b = calloc(n, 4), *c = calloc(n, 4);
  for (int i = 0; i < 2500; i++) {
    a[i] = i % 7;
    if (i == 7) printf("%g\\n", a[i]);
  }
  for (int t = 0; t < 7; t++) {
    scale(n, a, b);
    float *s = a;
    a = b;
    b = c;
    c = s;
  }
  for (int i = 0; i < n; i++) printf("%g %g %g\\n", a[i], b[i], c[i]);
  return 0;
}
"""


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(request.param)
    return str(request.param)


def test_loops_run_on_the_host_where_the_device_has_no_memory_which_is_said_once(
    tmp_path: Path, target: str
) -> None:
    original, compiled = built(tmp_path, target, TIME_LOOP.replace("OTHER", ""))
    ran = programs.call((compiled,), POLYGPU_DEVICE_MEMORY=str(ARRAY + 4000), POLYGPU_POISON="1")
    assert ran.stdout == programs.call((original,)).stdout
    assert ran.stderr.count("polygpu: ") == 1
    assert "file0.c:5: the loop runs on the host: the device has no memory left for 'a' (" in ran.stderr


@pytest.mark.slow
def test_arrays_that_stay_make_room_for_those_that_a_region_needs(tmp_path: Path, target: str) -> None:
    original, compiled = built(tmp_path, target, THREE)
    ran = programs.call((compiled,), POLYGPU_DEVICE_MEMORY=str(2 * ARRAY + 4000), POLYGPU_POISON="1")
    assert ran.stdout == programs.call((original,)).stdout
    assert ran.stderr == ""
