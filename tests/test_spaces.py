"""Arrays in constant and texture memory: what is counted and predicted, what runs, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Compilation, Options
from polygpu.model.decisions import SPACES, parse
from polygpu.model.kernel import ArrayArgument, ArraySpace, Region
from polygpu.perf.predict import predict
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import VALUES
from tests.emulated import compiled
from tests.support_kernels import (
    ARCHITECTURES,
    FAST,
    build_checked,
    compile_cuda,
    require_nvcc,
    require_opencl,
    some_by_default,
    together,
    translate,
)
from tests.test_predicted_counts import DEVICES, LARGER, assert_same, sizes_of

# Broadcast, column-wise and row-wise reads, direct and by copy code, with tiles that divide no size.
CASES = [
    ("conv2d", "constant(filter) texture(image) stage()"),
    ("conv2d", "constant(filter) texture(image)"),
    ("mv", "constant(y) texture(A) stage()"),
    ("mv", "constant(A, y) tile(i: 48) threads(i: 48)"),
    ("mm", "constant(B) texture(A) stage() tile(i: 7, j: 9)"),
    ("mm", "constant(A) texture(B) tile(k: 8)"),
    ("transpose", "constant(A) stage()"),
    ("gesummv", "constant(x) texture(A, B) stage() unroll(3)"),
]
COMPILED = [
    ("conv2d", "constant(filter) texture(image) stage()"),
    ("mm", "constant(A) texture(B) buffer(none)"),
    ("gesummv", "constant(x) texture(A, B) buffer(prefetch)"),
]


def assumed(kernel: str) -> tuple[str, ...]:
    names = programs.parameters_of(kernel)
    return tuple(f"{n}={v}" for n, v in zip(names, sizes_of(kernel, LARGER), strict=True))


def made(kernel: str, choice: str, device: str = "8800gtx") -> Compilation:
    return compiled(kernel, device, (choice,) if choice else (), (), assumed(kernel))


def arrays(kernel: str, choice: str, device: str = "8800gtx") -> dict[str, ArrayArgument]:
    """The arrays of the marked region's kernels, all of which read them alike."""
    regions = [r for r in made(kernel, choice, device).regions if "_kernel_" in r.region.name]
    return {a.name: a for r in regions for k in r.region.kernels for a in k.arrays}


@pytest.mark.parametrize(
    ("kernel", "choice", "device"),
    some_by_default([(*case, device) for case in CASES for device in DEVICES], one_in=2),
)
def test_profiles_are_predicted(kernel: str, choice: str, device: str) -> None:
    assert_same(kernel, device, LARGER, (choice,), (), assumed(kernel))


@pytest.mark.parametrize(("kernel", "choice"), CASES)
def test_the_arrays_are_where_they_are_asked_for(kernel: str, choice: str) -> None:
    found = arrays(kernel, choice)
    for decision in (d for d in parse(choice) if d.key in SPACES):
        assert {found[name].space for name in decision.names} == {decision.key}


def test_counts_of_a_filter_by_hand() -> None:
    """16 x 16 threads, all of which read one element of the filter and one of the image, nine times."""
    found = predict(
        compiled("conv2d", "8800gtx", ("constant(filter) texture(image) stage()",)).regions[0].region,
        compiled("conv2d", "8800gtx").device,
        {"n": 64, "m": 64},
    )
    counters = found.record["kernels"][0]["counters"]
    half_warps = 64 * 64 // 16
    assert counters["constant_requests"] == counters["texture_requests"] == 9 * half_warps
    assert counters["constant_steps"] == 0
    # 16 pixels from a multiple of 16 on are two lines of 8; from there and one or two further on, three
    assert counters["texture_lines"] == 3 * half_warps * (2 + 3 + 3)
    assert counters["requests"] == counters["coalesced"] == half_warps
    assert counters["instructions"]["load_constant"] == counters["instructions"]["load_texture"] > 0
    assert counters["lane_accesses"] == 64 * 64 * (9 + 9 + 1)


def test_lanes_with_addresses_of_their_own_are_served_one_by_one() -> None:
    """The lanes of a half-warp read 16 elements of a row of B, or as many as a tile 9 wide has."""
    found = predict(
        made("mm", "constant(B) stage() tile(i: 16, j: 16)").regions[0].region, made("mm", "").device, {}
    ).record["kernels"][0]["counters"]
    rows, columns, inner = sizes_of("mm", LARGER)
    whole, rest = divmod(columns, 16)
    assert found["constant_requests"] == rows * inner * (whole + 1)
    assert found["constant_steps"] == rows * inner * (whole * 15 + rest - 1)


@pytest.mark.parametrize(
    ("kernel", "choice", "device"),
    some_by_default(
        [(*case, DEVICES[::2][(n + k) % 2]) for n, case in enumerate(CASES) for k in range(2)], one_in=2
    ),
)
def test_the_output_is_the_originals(kernel: str, choice: str, device: str, tmp_path: Path) -> None:
    """With the emulator's checks on."""
    assert_output(kernel, "emulator", device, choice, tmp_path)


@pytest.mark.parametrize(("kernel", "choice"), [CASES[0], CASES[3], CASES[5], CASES[7]])
def test_opencl(kernel: str, choice: str, tmp_path: Path) -> None:
    require_opencl()
    assert_output(kernel, "opencl", None, choice, tmp_path)


def assert_output(kernel: str, target: str, device: str | None, choice: str, directory: Path) -> None:
    options = ["--decide", choice, *(w for a in assumed(kernel) for w in ("--assume", a))]
    translate(kernel, target, device, directory, *options)
    if target == "opencl":
        program = programs.build_opencl(kernel, directory, *FAST)
    else:
        program = build_checked(kernel, directory)
    sizes, original = sizes_of(kernel, LARGER), programs.build_original(kernel, directory)
    comparison = programs.compare(programs.run(original, sizes), programs.run(program, sizes))
    assert comparison.identical if target == "emulator" else comparison.agrees


@pytest.mark.parametrize("architecture", some_by_default([(a,) for a in ARCHITECTURES], one_in=2))
def test_cuda_compiles_without_warnings(architecture: str, tmp_path: Path) -> None:
    """All of them at once."""
    require_nvcc()
    sources = [tmp_path / f"{kernel}_cuda.cu" for kernel, _ in COMPILED]
    for (kernel, choice), source in zip(COMPILED, sources, strict=True):
        options = ["--decide", choice, *(w for a in assumed(kernel) for w in ("--assume", a))]
        translate(kernel, "cuda", None, tmp_path, *options)
        text = source.read_text()
        assert text.count("__constant__") == text.count("cudaMemcpyToSymbol") == 1
        assert "__ldg(" in text
    compile_cuda(together(sources, tmp_path / "kernels.cu"), architecture)


@pytest.mark.parametrize(("kernel", "choice"), CASES)
def test_certificates_hold(kernel: str, choice: str) -> None:
    for r in made(kernel, choice).regions:
        assert certify(r).holds


def read_as(region: Region, array: str, space: ArraySpace) -> Region:
    """The region with an array of its kernels in another space, as it is not."""
    kernels = tuple(
        replace(k, arrays=tuple(replace(a, space=space) if a.name == array else a for a in k.arrays))
        for k in region.kernels
    )
    return replace(region, kernels=kernels)


@pytest.mark.parametrize("space", ["constant", "texture"])
def test_no_certificate_for_what_the_kernel_writes(space: ArraySpace) -> None:
    r = made("mm", "").regions[0]
    failures = certify(replace(r, region=read_as(r.region, "C", space))).failures
    messages = [f.message for f in failures if f.property == VALUES]
    assert messages == [f"'C' is read through the {space} cache, and kernel_mm_0_k0 writes it"]


def test_no_certificate_for_constants_that_change_between_launches(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(CHAIN)
    r = pipeline.compile_file(str(file), Options("emulator")).regions[0]
    first, second = r.region.kernels
    (later,) = read_as(replace(r.region, kernels=(second,)), "y", "constant").kernels
    failures = certify(replace(r, region=replace(r.region, kernels=(first, later)))).failures
    messages = [f.message for f in failures if f.property == VALUES]
    assert messages == ["'y' is read through the constant cache, and f_0_k0 writes it"]


def test_no_certificate_for_asynchronous_copies_through_a_cache() -> None:
    options = Options("emulator", "h100", decisions=("buffer(ring: 3)",))
    r = pipeline.compile_file(str(programs.source_of("mm")), options).regions[0]
    failures = certify(replace(r, region=read_as(r.region, "B", "texture"))).failures
    messages = [f.message for f in failures if f.property == VALUES]
    assert messages == ["'B' is copied asynchronously, which the texture cache cannot"]


TYPES = """
#include <stdbool.h>
#include <stdio.h>
struct cell { float x; int k; double w; unsigned char c; };
static struct cell cells[50];
static double table[7][9];
static bool flag[40];
static char c[40];
static unsigned char u[40];
static short s[40];
static long l[40];
static unsigned long ul[40];
static float out[40];
int main(void)
{
    for (int i = 0; i < 50; i++) {
        cells[i] = (struct cell){i, i, i / 3.0, i};
        table[i / 9][i % 9] = i;
    }
    for (int i = 0; i < 40; i++) {
        flag[i] = i % 3;
        c[i] = s[i] = -i;
        u[i] = 200 + i;
        ul[i] = l[i] = 1L << i;
    }
#pragma scop
    for (int i = 0; i < 40; i++) {
        double t = flag[i] ? c[i] : u[39 - i];
        t += s[i] + l[i] + ul[i] + cells[i + 3].x * cells[i].w + cells[i].c;
        for (int k = 0; k < 7; k++)
            t += table[k][i % 9];
        out[i] = t;
    }
#pragma endscop
    for (int i = 0; i < 40; i++)
        printf("out[%d] %.9g\\n", i, out[i]);
    return 0;
}
"""
READ = ("cells", "table", "flag", "c", "u", "s", "l", "ul")


def types(target: str, space: str, directory: Path) -> Path:
    """Compiles a program that reads all types of elements through one cache."""
    source = directory / "types.c"
    source.write_text(TYPES)
    made = pipeline.compile_file(str(source), Options(target, decisions=(f"{space}({', '.join(READ)})",)))
    assert [d.message for d in made.diagnostics if d.id == "PG313"] == []
    for suffix, text in made.files.items():
        (directory / f"types{suffix}").write_text(text)
    return source


@pytest.mark.parametrize("space", ["constant", "texture"])
@pytest.mark.parametrize("target", ["emulator", "opencl"])
def test_elements_of_all_types(target: str, space: str, tmp_path: Path) -> None:
    libraries = ["-lOpenCL", "-lm"] if target == "opencl" else ["-lm"]
    if target == "opencl":
        require_opencl()
    source = types(target, space, tmp_path)
    outputs: list[str] = []
    for files in ([source], [tmp_path / "types_host.c", tmp_path / f"types_{target}.c"]):
        program = tmp_path / f"program{len(outputs)}"
        programs.call(("gcc", "-w", *files, "-o", program, *libraries))
        outputs.append(programs.call((program,)).stdout)
    assert outputs[0] == outputs[1]


def test_cuda_reads_elements_of_all_types(tmp_path: Path) -> None:
    require_nvcc()
    for space in SPACES:
        (tmp_path / space).mkdir()
        types("cuda", space, tmp_path / space)
    sources = [tmp_path / space / "types_cuda.cu" for space in SPACES]
    both = together(sources, tmp_path / "types.cu", own=("polygpu_main_0",))
    programs.compile_cuda(both, tmp_path / "types.o", "sm_75")


def refused(text: str, *decisions: str, assume: tuple[str, ...] = (), device: str = "8800gtx") -> list[str]:
    """The warnings PG313 of a compilation; all of its arrays are then in global memory."""
    done = pipeline.compile_file(text, Options("emulator", device, decisions=decisions, assume=assume))
    kept = {a.space for r in done.regions for k in r.region.kernels for a in k.arrays}
    assert kept <= {"global"}
    return [d.message.partition(": ")[2] for d in done.diagnostics if d.id == "PG313"]


MM = str(programs.source_of("mm"))
FULL = ("n=256", "m=256", "p=256")


@pytest.mark.parametrize(
    ("decision", "assume", "why"),
    [
        ("texture(C)", (), "'C' stays in global memory in kernel_mm_0_k0: the kernel writes it"),
        ("constant(C)", FULL, "'C' stays in global memory in kernel_mm_0_k0: the kernel writes it"),
        ("texture(D)", (), "no kernel reads an array 'D'"),
        (
            "constant(A)",
            (),
            "'A' stays in global memory in kernel_mm_0_k0: its size is not known at compile time",
        ),
        (
            "constant(A)",
            FULL,
            "'A' stays in global memory in kernel_mm_0_k0: it takes 262144 bytes of constant memory, and "
            "65536 are left",
        ),
    ],
)
def test_what_cannot_be_done_is_said(decision: str, assume: tuple[str, ...], why: str) -> None:
    assert refused(MM, decision, assume=assume) == [why]


def test_asynchronous_copies_read_global_memory() -> None:
    said = refused(MM, "texture(B) buffer(ring: 3)", device="h100")
    assert said == [
        "'B' stays in global memory in kernel_mm_0_k0: its tiles are copied asynchronously, which bypasses "
        "that cache"
    ]


CHAIN = """
void f(float x[restrict 64], float y[restrict 64], float z[restrict 64][64])
{
#pragma scop
    for (int i = 0; i < 64; i++)
        y[i] = 2 * x[i];
    for (int j = 0; j < 64; j++)
        for (int i = 0; i < 64; i++)
            z[i][j] += y[63 - i];
#pragma endscop
}
"""


def test_constant_memory_is_not_for_what_another_kernel_writes(tmp_path: Path) -> None:
    """The texture cache is: a launch sees what the ones before it wrote."""
    file = tmp_path / "f.c"
    file.write_text(CHAIN)
    options = Options("emulator", decisions=("constant(y)",))
    done = pipeline.compile_file(str(file), options)
    (said,) = [d.message for d in done.diagnostics if d.id == "PG313"]
    assert said.endswith("f_0_k0 writes it")
    done = pipeline.compile_file(str(file), Options("emulator", decisions=("texture(y)",)))
    first, second = done.regions[0].region.kernels
    assert [d for d in done.diagnostics if d.id == "PG313"] == []
    assert {a.name: a.space for a in second.arrays}["y"] == "texture"
    assert {a.name: a.space for a in first.arrays}["y"] == "global"


TWO = """
void f(float x[restrict 10000], float y[restrict 10000])
{
#pragma scop
    for (int i = 0; i < 10000; i++)
        y[i] = 2 * x[i];
#pragma endscop
#pragma scop
    for (int i = 0; i < 10000; i++)
        y[i] += x[i];
#pragma endscop
}
"""


def test_regions_of_a_file_share_constant_memory(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(TWO)
    done = pipeline.compile_file(str(file), Options("cuda", decisions=("constant(x)",)))
    (said,) = [d.message for d in done.diagnostics if d.id == "PG313"]
    assert said.endswith("it takes 40000 bytes of constant memory, and 25536 are left")
    assert done.files["_cuda.cu"].count("static __constant__") == 1


def test_the_last_decision_counts() -> None:
    assert refused(MM, "texture(A)", "texture()") == []
