"""Device files compile without warnings and compute what a plain loop computes, to the bit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.devices import load
from polygpu.model.kernel import Unit
from polygpu.pipeline import compile_file
from polygpu.printing.emit import emit_device, fill
from polygpu.printing.folding import folded
from polygpu.runtime.toolchain import find_nvcc, opencl_devices
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import together
from tests.unit import kernel_programs
from tests.unit.kernel_drivers import COUNTING, PROGRAMS, driver

STRICT_C = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def write(unit: Unit, target: str, folder: Path) -> dict[str, Path]:
    paths = {}
    for suffix, text in emit_device(unit, load("generic"), target).items():
        paths[suffix] = folder / f"loop{suffix}"
        paths[suffix].write_text(text)
    return paths


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        timeout=120,
    )


def succeed(*command: str | Path, **environment: str) -> None:
    result = run(*command, **environment)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@cache
def opencl() -> bool:
    return shutil.which("gcc") is not None and bool(opencl_devices(("gcc",)))


@cache
def nvcc() -> tuple[str, ...]:
    try:
        return find_nvcc()
    except Diagnosed:
        return ()


@pytest.fixture
def opencl_program(tmp_path: Path) -> Path:
    if not opencl():
        pytest.skip("no C compiler with OpenCL")
    return tmp_path / "program"


def build_opencl(name: str, program: Path) -> None:
    device = write(PROGRAMS[name][0](), "opencl", program.parent)["_opencl.c"]
    (program.parent / "main.c").write_text(driver(name))
    succeed(*STRICT_C, "-c", device, "-o", program.with_suffix(".o"))
    succeed(
        "gcc",
        "-std=c99",
        program.parent / "main.c",
        program.with_suffix(".o"),
        "-o",
        program,
        "-lOpenCL",
        "-lm",
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_opencl_computes_what_the_loop_does(name: str, opencl_program: Path) -> None:
    build_opencl(name, opencl_program)
    succeed(opencl_program)


@pytest.mark.parametrize("name", ["product", "boxes"])
def test_offsets_of_64_bits_compute_the_same(name: str, opencl_program: Path) -> None:
    build_opencl(name, opencl_program)
    device = opencl_program.with_name("loop_opencl.c")
    text = device.read_text()
    assert "> INT_MAX" in text
    device.write_text(text.replace("> INT_MAX", ">= 0"))
    succeed("gcc", "-std=c99", device.with_name("main.c"), device, "-o", opencl_program, "-lOpenCL")
    succeed(opencl_program)


def test_nothing_outside_the_host_arrays_is_touched(opencl_program: Path) -> None:
    build_opencl("boxes", opencl_program)
    sources = [opencl_program.with_name(name) for name in ("main.c", "loop_opencl.c")]
    succeed("gcc", "-std=c99", "-fsanitize=address,undefined", *sources, "-o", opencl_program, "-lOpenCL")
    succeed(opencl_program, ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.parametrize(("failing", "status"), [(2, 1), (100, 0)])
def test_everything_created_is_released_also_after_an_error(
    failing: int, status: int, opencl_program: Path
) -> None:
    build_opencl("product", opencl_program)
    sources = [opencl_program.with_name(name) for name in ("main.c", "loop_opencl.c", "counting.c")]
    sources[2].write_text(COUNTING.replace("FAILING", str(failing)))
    wrapped = [f"-Wl,--wrap={name}" for name in re.findall(r"__wrap_(\w+)", COUNTING)]
    succeed("gcc", *sources, *wrapped, "-o", opencl_program, "-lOpenCL")
    result = run(opencl_program)
    message = "polygpu: region polygpu_f_0, kernel f_0_0: out of resources (loop.c:7)\n"
    assert (result.returncode, result.stdout) == (status, "0 held\n")
    assert result.stderr == (message if status else "")


def test_profile_counts_calls_launches_and_bytes(opencl_program: Path) -> None:
    build_opencl("product", opencl_program)
    profile = opencl_program.with_name("profile.json")
    succeed(opencl_program, POLYGPU_PROFILE=str(profile))
    document = json.loads(profile.read_text())
    assert document["target"] == "opencl"
    assert document["device"]
    (region,) = document["regions"]
    sizes = (0, 1, 2, 15, 16, 17, 33, 50)
    total = 4 * sum(n * n for n in sizes)
    assert (region["name"], region["calls"]) == ("polygpu_f_0", len(sizes))
    assert (region["bytes_in"], region["bytes_out"]) == (2 * total, total)
    (kernel,) = region["kernels"]
    assert (kernel["name"], kernel["launches"]) == ("f_0_0", len(sizes) - 1), "size 0 launches nothing"
    assert (kernel["grid"], kernel["block"]) == ([4, 4, 1], [16, 16, 1])
    assert 0 < kernel["ms_min"] <= kernel["ms"] / kernel["launches"]
    assert sorted(p.name for p in profile.parent.glob("profile*")) == ["profile.json"]


def test_no_profile_without_the_variable(opencl_program: Path) -> None:
    build_opencl("saxpy", opencl_program)
    before = sorted(opencl_program.parent.iterdir())
    succeed(opencl_program)
    assert sorted(opencl_program.parent.iterdir()) == before


def test_unwritable_profile_is_reported(opencl_program: Path) -> None:
    build_opencl("saxpy", opencl_program)
    result = run(opencl_program, POLYGPU_PROFILE="/nowhere/profile.json")
    assert result.stderr == "polygpu: cannot write the profile /nowhere/profile.json\n"


def test_two_device_files_in_one_program_share_the_profile(opencl_program: Path) -> None:
    folder = opencl_program.parent
    build_opencl("saxpy", opencl_program)
    second = (folder / "loop_opencl.c").read_text().replace("polygpu_f_0", "polygpu_g_0")
    (folder / "second.c").write_text(second)
    main = driver("saxpy").replace(
        "    polygpu_f_0(n, 0.75f, x, y);", "    polygpu_f_0(n, 0.75f, x, y); G(n, 0, x, y);"
    )
    (folder / "main.c").write_text(
        main.replace(
            "static const",
            "#define G polygpu_g_0\nvoid G(int, float, const float *, float *);\nstatic const",
            1,
        )
    )
    sources = [folder / name for name in ("main.c", "loop_opencl.c", "second.c")]
    succeed("gcc", "-std=c99", *sources, "-o", opencl_program, "-lOpenCL")
    succeed(opencl_program, POLYGPU_PROFILE=str(folder / "profile.json"))
    regions = json.loads((folder / "profile.json").read_text())["regions"]
    assert [region["name"] for region in regions] == ["polygpu_f_0", "polygpu_g_0"]


def test_failed_build_prints_the_log_and_the_place(opencl_program: Path) -> None:
    build_opencl("saxpy", opencl_program)
    device = opencl_program.with_name("loop_opencl.c")
    device.write_text(device.read_text().replace("y[i] += alpha", "y[i] += no_such_name"))
    succeed("gcc", "-std=c99", device.with_name("main.c"), device, "-o", opencl_program, "-lOpenCL")
    result = run(opencl_program)
    assert result.returncode == 1
    assert "no_such_name" in result.stderr
    assert (
        "polygpu: region polygpu_f_0, program build: the program does not build (loop.c:7)" in result.stderr
    )


@pytest.mark.parametrize("chosen", ["99:0", "0:99", "first", "-1:0"])
def test_missing_device_is_reported(chosen: str, opencl_program: Path) -> None:
    build_opencl("saxpy", opencl_program)
    result = run(opencl_program, POLYGPU_OPENCL_DEVICE=chosen)
    assert result.returncode == 1
    assert result.stderr == "polygpu: region polygpu_f_0, device chosen: no OpenCL device found (loop.c:7)\n"


def test_chosen_device_is_used(opencl_program: Path) -> None:
    build_opencl("saxpy", opencl_program)
    succeed(opencl_program, POLYGPU_OPENCL_DEVICE="0:0")


CUDA_PROGRAMS: dict[str, Callable[[], Unit]] = {
    **{name: build for name, (build, _, _) in PROGRAMS.items()},
    "scopes": lambda: replace(kernel_programs.product(), scopes=True),
    "dynamic_shared": lambda: kernel_programs.product(4, asynchronous=True, tile=32, padding=200),
}


def test_cuda_compiles_without_warnings(tmp_path: Path) -> None:
    if not nvcc():
        pytest.skip("nvcc not found")
    sources = []
    for name, build in CUDA_PROGRAMS.items():
        (tmp_path / name).mkdir()
        sources.append(write(build(), "cuda", tmp_path / name)["_cuda.cu"])
    device = together(sources, tmp_path / "programs.cu", ("polygpu_f_0",))
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in (75, 90)]
    flags = ("-Xcompiler=-Wall", "-Werror=all-warnings")
    succeed(*nvcc(), *codes, *flags, "-c", device, "-o", tmp_path / "loop.o")


def test_large_shared_memory_is_carved_from_one_dynamic_array() -> None:
    text = emit_device(CUDA_PROGRAMS["dynamic_shared"](), load("h100"), "cuda")["_cuda.cu"]
    assert "float (*const Bs)[232] = reinterpret_cast<float (*)[232]>(shared_memory + 29696);" in text
    assert "cudaFuncSetAttribute(f_0_0<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, 59392)" in text
    assert "f_0_0<int><<<grid, block, 59392>>>(" in text


def test_grid_is_cut_only_along_short_axes_that_may_exceed_them() -> None:
    text = emit_device(kernel_programs.product(), load("generic"), "cuda")["_cuda.cu"]
    assert "for (long long from_y = 0; from_y < grid_y; from_y += 65535)" in text
    assert "const int by = blockIdx.y + block_from_y;" in text
    assert "from_x" not in text
    assert "block_from_" not in emit_device(kernel_programs.saxpy(), load("generic"), "cuda")["_cuda.cu"]
    assert "from_x" in emit_device(kernel_programs.saxpy(), load("8800gtx"), "cuda")["_cuda.cu"]


@pytest.mark.parametrize(("target", "suffix"), [("cuda", "_cuda.cu"), ("opencl", "_opencl.c")])
def test_images_are_for_files_whose_host_files_open_scopes(target: str, suffix: str) -> None:
    unit = kernel_programs.product()
    scoped = replace(unit, scopes=True, kept=frozenset(region.name for region in unit.regions))
    plain, keeping = (emit_device(u, load("generic"), target)[suffix] for u in (unit, scoped))
    kept = ("polygpu_image", "polygpu_keep", "polygpu_touched", " hold(")
    assert [text in plain for text in kept] == [False] * len(kept)
    assert [text in keeping for text in kept] == [True] * len(kept)
    assert all("polygpu_take_memory" in text for text in (plain, keeping))


def test_text_does_not_depend_on_the_folder() -> None:
    for target in ("cuda", "opencl"):
        assert not any(
            "kernels/" in text
            for text in emit_device(kernel_programs.saxpy(), load("generic"), target).values()
        )


def test_opencl_source_beside_is_what_is_embedded() -> None:
    files = emit_device(kernel_programs.with_function(), load("generic"), "opencl")
    host = files["_opencl.c"]
    array = host[host.index("source[] = {") : host.index("};")]
    lines = [line.strip() for line in array.splitlines()[1:]]
    embedded = "".join(json.loads(line.rstrip(",").replace("\\?", "?")) for line in lines)
    assert embedded == files["_opencl.cl"]


@pytest.mark.parametrize("ctype", ["float", "double"])
def test_opencl_is_told_of_doubles_that_are_only_copied(ctype: str, tmp_path: Path) -> None:
    loop = "#pragma scop\nfor (int i = 0; i < n; i++) a[i] = b[i];\n#pragma endscop\n"
    (tmp_path / "copy.c").write_text(
        f"void f(int n, {ctype} *restrict a, {ctype} *restrict b)\n{{\n{loop}}}\n"
    )
    text = compile_file(str(tmp_path / "copy.c"), Options(target="opencl")).files["_opencl.cl"]
    assert ("cl_khr_fp64 : enable" in text) == (ctype == "double")


def test_fill_continues_long_lists() -> None:
    assert fill("    f(", ["a", "b"], ");") == "    f(a, b);"
    assert fill("f(", ["aaaa", "bbbb", "cccc"], ");", 12) == "f(aaaa,\n    bbbb,\n    cccc);"
    assert fill("f(", [], ");") == "f();"


def test_folded_breaks_at_the_outermost_operator() -> None:
    line = (
        "    const float value = function(first_argument, second) + other(third_argument, fourth_argument);"
    )
    assert folded([line], 70) == [
        "    const float value = function(first_argument, second) +",
        "        other(third_argument, fourth_argument);",
    ]
    assert folded(["// " + "word " * 40])[0].startswith("// word")
    assert len(folded(["// " + "word " * 40])) == 1


@pytest.mark.parametrize(("target", "suffix"), [("cuda", "_cuda.cu"), ("opencl", "_opencl.c")])
def test_rows_that_stay_are_told_in_bytes(target: str, suffix: str, tmp_path: Path) -> None:
    """Of a sum of sizes all of it counts."""
    path = tmp_path / "program.c"
    path.write_text(
        """static void step(int n, float (*restrict a)[n + 1], float (*restrict b)[n + 1]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n + 1; j++) b[i][j] = a[i][j] + i;
#pragma endscop
}
void all(int n, float (*a)[n + 1], float (*b)[n + 1]) {
  for (int t = 0; t < 9; t++) { step(n, a, b); b[0][0] = t; step(n, b, a); }
}
"""
    )
    text = compile_file(str(path), Options(target=target, level=0, offload="always")).files[suffix]
    assert text.count("(n + 1) * sizeof(") == 2
    assert "n + 1 * sizeof(" not in text
