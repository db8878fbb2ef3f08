"""Programs whose arrays stay on the device, built and run: results, and the bytes that cross the bus."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.printing import dialects
from polygpu.runtime import toolchain
from tests.new_dialect.polygpu_hip import HIP
from tests.support_kernels import require_opencl

TIME_LOOP = """\
#include <stdio.h>
#include <stdlib.h>
void smooth(int n, const float *restrict a, float *restrict b);
void step(int n, const float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}
int main(void) {
  int n = 50;
  float *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
  for (int i = 0; i < 50 * 50; i++) {
    a[i] = b[i] = i % 17;
    if (i == 7) printf("%g\\n", a[i]);
  }
  for (int t = 0; t < 10; t++) {
    step(n, a, b);
    OTHER
    float *s = a;
    a = b;
    b = s;
  }
  for (int i = 0; i < n * n; i++) printf("%g\\n", a[i]);
  return 0;
}
"""
OTHER_FILE = """\
void step(int n, const float *restrict a, float *restrict b);
static void blur(int n, const float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) b[i * n + j] = 0.5f * (a[(i - 1) * n + j] + a[(i + 1) * n + j]);
}
void smooth(int n, const float *restrict a, float *restrict b) {
  for (int t = 0; t < 3; t++) {
    blur(n, a, b);
    if (b[n + 1] > 5) b[n + 1] = 1;
    blur(n, a, b);
    if (t == 1) step(n, b, (float *)a);
  }
}
"""
PLAIN_FILE = """\
void smooth(int n, const float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) b[i * n + j] = 0.5f * (a[(i - 1) * n + j] + a[(i + 1) * n + j]);
}
"""
GPU = pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.slow])
TARGETS = ["emulator", "opencl", "hip", GPU]
LIBRARIES = {"emulator": ("-lm",), "opencl": ("-lOpenCL", "-lm"), "hip": ("-lm",), "cuda": ("-lm",)}
SHIM = Path(__file__).parent / "new_dialect" / "shim"  # plays HIP, which is CUDA by other names

FLAGS = ("-O1", "-w", "-ffp-contract=off", "-DPOLYGPU_COUNTERS=0", "-pthread")
CHUNK = "-DPOLYGPU_CHUNK=4096"  # so that arrays of 10,000 bytes go through pinned buffers
COMPILERS = {
    ".c": ("gcc", *FLAGS),
    ".cpp": ("g++", "-std=c++20", "-fno-strict-aliasing", CHUNK, "-I", SHIM, *FLAGS),
    ".cu": ("nvcc", "-arch=native", "-fmad=false", "-w", CHUNK),
}


def require(target: str) -> None:
    """Skips the test where nothing runs what is compiled for the target."""
    if target == "opencl":
        require_opencl()
    if target == "cuda" and not toolchain.has_cuda_device():
        pytest.skip("no CUDA device")


def built(folder: Path, target: str, *texts: str) -> tuple[Path, Path]:
    """The program of these files as it is, and for the target."""
    sources = [folder / f"file{number}.c" for number in range(len(texts))]
    files: list[Path] = []
    for source, text in zip(sources, texts, strict=True):
        source.write_text(text)
        for suffix, content in compile_file(str(source), Options(target=target, level=0)).files.items():
            path = source.with_name(f"{source.stem}{suffix}")
            path.write_text(content)
            files += [path] if suffix.endswith((".c", ".cpp", ".cu")) else []
    original, compiled = folder / "original", folder / "compiled"
    programs.call((*COMPILERS[".c"], *sources, "-o", original, "-lm"))
    objects = [path.with_suffix(".o") for path in files]
    for path, made in zip(files, objects, strict=True):
        programs.call((*COMPILERS[path.suffix], "-c", path, "-o", made))
    linker = toolchain.find_nvcc() if target == "cuda" else ("g++", "-pthread")
    programs.call((*linker, *objects, "-o", compiled, *LIBRARIES[target]))
    return original, compiled


def profile(program: Path) -> dict[str, Any]:
    """Of a run in which what is older on the host than on the device is poisoned."""
    document = program.with_suffix(".json")
    programs.call((program,), POLYGPU_PROFILE=str(document), POLYGPU_POISON="1")
    found: dict[str, Any] = json.loads(document.read_text())
    return found


def output(program: Path) -> str:
    return programs.call((program,), POLYGPU_POISON="1", PATH=os.environ["PATH"]).stdout


@pytest.mark.parametrize("target", ["emulator", pytest.param("opencl", marks=pytest.mark.slow), GPU])
def test_arrays_of_a_time_loop_cross_the_bus_once_each_way(tmp_path: Path, target: str) -> None:
    require(target)
    original, compiled = built(tmp_path, target, TIME_LOOP.replace("OTHER", ""))
    assert output(compiled) == output(original)
    found = profile(compiled)
    (step,) = (r for r in found["regions"] if r["name"] == "polygpu_step_0")
    whole = 2 * 50 * 50 * 4
    assert step["calls"] == 10
    assert 0.97 * whole < step["bytes_in"] <= whole
    assert 0.97 * whole < step["bytes_out"] <= whole
    assert {(c["array"], c["back"], c["because"]) for c in found["copies"]} == {
        ("a", False, "first use"),
        ("b", False, "first use"),
        ("b", True, "the loop at line 16 ends"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_files_of_a_program_share_what_stays(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(target)
    first = TIME_LOOP.replace("OTHER", "if (t % 3 == 0) smooth(n, a, b); if (t == 7) a[n + 2] += 1;")
    original, compiled = built(tmp_path, target, first, OTHER_FILE)
    assert output(compiled) == output(original)
    because = {copy["because"] for copy in profile(compiled)["copies"]}
    assert "line 9 writes b" in because
    assert not {"smooth at line 18", "step at line 11"} & because


GRID = """\
#define N 40
extern float u[N][N], v[N][N];
extern int steps;
void smooth(void);
void copy(void);
float residual(float *worst);
void start(void);
"""
FILES = {
    "main.c": """\
#include <stdio.h>
#include "grid.h"
float u[N][N], v[N][N];
int steps = 10;
int main(void) {
  float worst[2];
  start();
  for (int t = 0; t < steps; t++) {
    smooth();
    copy();
    if (t % 4 == 3) {
      float most = residual(worst);
      printf("%g %g\\n", most, worst[1]);
    }
  }
  printf("%g\\n", u[N / 2][N / 2]);
  return 0;
}
""",
    "smooth.c": """\
#include "grid.h"
void smooth(void) {
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++) v[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
}
""",
    "rest.c": """\
#include "grid.h"
void copy(void) {
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++) u[i][j] = v[i][j];
}
float residual(float *worst) {
  for (int k = 0; k < 2; k++) worst[k] = u[1][k + 1];
  float most = 0;
  for (int i = 0; i < N; i++) {
    if (v[i][3] > most) most = v[i][3];
    worst[1] += i == 3;
  }
  return most;
}
""",
    "start.c": """\
#include "grid.h"
void start(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) u[i][j] = v[i][j] = (i * 7 + j * 3) % 13;
}
""",
}


def linked(folder: Path, compiled: set[str]) -> tuple[Path, Path]:
    """The program of FILES as it is, and with what polygpu makes of those that are `compiled`."""
    (folder / "grid.h").write_text(GRID)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    files = [name for name in FILES if name not in compiled]
    for name in sorted(compiled):
        for suffix, text in compile_file(
            str(folder / name), Options(target="emulator", level=0)
        ).files.items():
            made = folder / f"{name.removesuffix('.c')}{suffix}"
            made.write_text(text)
            files.append(made.name)
    flags = ("-O1", "-w", "-ffp-contract=off", "-DPOLYGPU_COUNTERS=0", "-I", folder)
    for program, of in (("original", list(FILES)), ("program", files)):
        programs.call(("gcc", *flags, *(folder / name for name in of), "-o", folder / program, "-lm"))
    return folder / "original", folder / "program"


@pytest.mark.slow
def test_global_arrays_stay_on_the_device_across_files(tmp_path: Path) -> None:
    original, program = linked(tmp_path, set(FILES))
    assert output(program) == output(original)
    found = profile(program)
    whole = 2 * 40 * 40 * 4
    assert sum(r["bytes_in"] for r in found["regions"]) <= whole
    assert sum(r["bytes_out"] for r in found["regions"]) <= 4 * whole


@pytest.mark.slow
@pytest.mark.parametrize("left", ["smooth.c", "rest.c", "start.c", "main.c"])
def test_a_file_that_polygpu_did_not_compile_finds_what_is_new(tmp_path: Path, left: str) -> None:
    original, program = linked(tmp_path, set(FILES) - {left})
    assert output(program) == output(original)
    if left == "rest.c":
        assert "copy at line 10" in {copy["because"] for copy in profile(program)["copies"]}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_file_without_scopes_beside_one_that_keeps_arrays(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the first to run, so that it writes the profile of both."""
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(target)
    first = TIME_LOOP.replace("OTHER", "if (t % 3 == 0) smooth(n, a, b);")
    first = first.replace("  for (int t", "  smooth(n, a, b);\n  for (int t")
    original, compiled = built(tmp_path, target, first, PLAIN_FILE)
    assert output(compiled) == output(original)
    found = profile(compiled)
    calls = {region["name"]: region["calls"] for region in found["regions"]}
    assert calls["polygpu_smooth_0"] == 5
    assert "smooth at line 19" in {copy["because"] for copy in found["copies"]}


LAYOUTS = """\
#include <stdio.h>
#include <stdlib.h>
void step(int n, const float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}
void scale(int m, float *a) {
  for (int i = 0; i < m; i++) a[i] = a[i] * 0.5f + 1;
}
int main(void) {
  int n = 50;
  float *a = calloc(n * n, sizeof *a), *b = calloc(n * n, sizeof *b);
  for (int t = 0; t < 10; t++) {
    step(n, a, b);
    scale(n * n, a);
    float *s = a;
    a = b;
    b = s;
  }
  for (int i = 0; i < n * n; i++) printf("%g\\n", a[i]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_several_shapes_change_on_the_device(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of 50 elements is 64 long on the device where the array has rows, else 50."""
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(target)
    original, compiled = built(tmp_path, target, LAYOUTS)
    assert output(compiled) == output(original)
    regions = profile(compiled)["regions"]
    assert sum(r["bytes_in"] for r in regions) <= 2 * 50 * 50 * 4
    assert sum(r["bytes_out"] for r in regions) <= 2 * 50 * 50 * 4


ONE_ARRAY_TWICE = """\
#include <stdio.h>
#include <stdlib.h>
void mix(int n, const float *x, const float *y, float *restrict b) {
  for (int i = 0; i < n; i++) b[i] = x[i] + 0.5f * y[2 * i] + 0.25f * b[i];
}
int main(void) {
  int n = 3000;
  float *a = malloc(2 * n * sizeof *a), *b = malloc(2 * n * sizeof *b), *c = calloc(2 * n, sizeof *c);
  for (int i = 0; i < 2 * 3000; i++) {
    a[i] = i % 13;
    b[i] = i % 7;
    if (i == 3) printf("%g\\n", a[i]);
  }
  for (int t = 0; t < 5; t++) {
    mix(n, a, a, b);
    float *s = a;
    a = b;
    b = c;
    c = s;
  }
  for (int i = 0; i < n; i += 100) printf("%g %g\\n", a[i], b[i]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_an_array_that_a_region_has_twice_does_not_move_while_it_runs(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its second name it is longer than the memory that it has on the device."""
    monkeypatch.setattr(dialects, "_registered", {**dialects._registered, "hip": HIP})
    require(target)
    original, compiled = built(tmp_path, target, ONE_ARRAY_TWICE)
    assert output(compiled) == output(original)


ROWS = """\
#include <stdio.h>
void fill(int n, float row[]);
float u[40][40], row[40];
int main(void) {
  for (int t = 0; t < 40; t++) {
    fill(40, row);
    for (int i = 0; i < 40; i++) u[t][i] += row[i];
    if (row[7] < 0) break;
  }
  for (int i = 0; i < 40; i++) printf("%g %g\\n", u[i][i], row[i]);
  return 0;
}
"""
FILL = """\
void fill(int n, float row[]) {
  for (int i = 0; i < n; i++) row[i] = row[i] * 0.5f + i;
  row[3] += 1;
  row[4] = row[3] + row[5];
  AFTER
}
"""


@pytest.mark.parametrize(
    ("after", "compiled"),
    [("", False), ("", True), ("if (n > 1000) goto end; row[6] -= row[4]; end: ;", True)],
    ids=["not compiled", "looked after", "not looked after"],
)
def test_a_function_of_another_file_that_is_lent_an_array_leaves_the_others(
    tmp_path: Path, after: str, compiled: bool
) -> None:
    texts = {"rows": ROWS, "fill": FILL.replace("AFTER", after)}
    sources = {name: tmp_path / f"{name}.c" for name in texts}
    for name, path in sources.items():
        path.write_text(texts[name])
    files = [] if compiled else [sources["fill"]]
    for name in ("rows", "fill") if compiled else ("rows",):
        others = tuple(str(path) for path in sources.values() if path != sources[name])
        options = Options(target="emulator", level=0, others=others, part=True, offload="always")
        for suffix, text in compile_file(str(sources[name]), options).files.items():
            files.append(tmp_path / f"{name}{suffix}")
            files[-1].write_text(text)
    original, program = tmp_path / "original", tmp_path / "program"
    for made, of in ((original, sources.values()), (program, files)):
        programs.call(("gcc", *FLAGS, *of, "-o", made, "-lm"))
    assert output(program) == output(original)
    found = profile(program)
    (rows,) = (r for r in found["regions"] if r["name"] == "polygpu_main_0")
    whole = 40 * 40 * 4
    assert rows["calls"] == 40
    assert rows["bytes_in"] <= 2 * whole  # the array once, and a row each time
    assert rows["bytes_out"] <= whole
