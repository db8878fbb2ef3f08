"""Loops of the host whose launches are one: the same results, whatever blocks run them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu import devices
from polygpu.compilation import Compilation, Options
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Joined
from polygpu.model.linear import add
from polygpu.offload.joined import loops_of
from polygpu.pipeline import compile_file
from polygpu.runtime import toolchain
from polygpu.verify.certificate import certify
from polygpu.verify.joined import joined_failures
from polygpu.verify.verdict import DEPENDENCES
from tests.support_kernels import compile_cuda, require_nvcc, translate, unavailable

SHIM = Path(__file__).parent / "new_dialect" / "shim"  # plays HIP, which is CUDA by other names
FLAGS = ("-O1", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unknown-pragmas")
SMALL = "tile(i: 8, j: 8, k: 8) threads(i: 8, j: 4, k: 8) stage() attend(1)"
DURBIN = "tile(i: 32, k: 32) threads(i: 32, k: 32) attend(64)"


def compiled(kernel: str, *decisions: str, device: str = "h100") -> Compilation:
    return compile_file(str(programs.source_of(kernel)), Options(device=device, decisions=decisions, level=1))


def as_hip(text: str) -> str:
    """A file of CUDA in the words of HIP as the shim has them."""
    text = re.sub(r'asm volatile\("bar.sync.*', "shim_barrier(part + 1, threads);", text)
    text = re.sub(
        r"extern __shared__.* shared_memory\[\];",
        "auto shared_memory = block_of_thread->shared.data();",
        text,
    )
    text = re.sub(
        r"(\w+(?:<[\w ]+>)?)<<<grid, block>>>\(", r"hipLaunchKernelGGL(\1, grid, block, 0, 0, ", text
    )
    text = re.sub(
        r"(\w+(?:<[\w ]+>)?)<<<grid, block, (\d+)>>>\(", r"hipLaunchKernelGGL(\1, grid, block, \2, 0, ", text
    )
    text = text.replace("cudaDeviceProp ", "hipDeviceProp_t ").replace(
        "cudaPointerAttributes ", "hipPointerAttribute_t "
    )
    return (
        text.replace("cuda_runtime.h", "hip/hip_runtime.h")
        .replace("cuda", "hip")
        .replace("__forceinline__", "inline")
    )


@cache
def small_chip() -> str:
    """An H100 whose blocks have 64 threads, in one of which two rounds of loads are slower than a barrier."""
    text = (Path(devices.__file__).parent / "h100.toml").read_text()
    text = re.sub(r"(asynchronous_copies = \{ value = )true", r"\g<1>false", text)
    text = re.sub(r"(max_threads_per_block = \{ value = )\d+", r"\g<1>64", text)
    return re.sub(r"(latency = \{ value = )[\d.]+", r"\g<1>1000000.0", text)


@pytest.mark.parametrize(
    ("kernel", "decisions", "runs"),
    [
        pytest.param(
            "durbin", DURBIN, {(0,): "", (1,): "1 blocks", (66,): "3 blocks"}, marks=pytest.mark.slow
        ),
        ("gramschmidt", SMALL, {(1, 1): "1 blocks", (9, 20): "3 blocks", (20, 9): "3 blocks"}),
    ],
)
def test_one_launch_computes_what_many_do(
    tmp_path: Path, kernel: str, decisions: str, runs: dict[programs.Sizes, str]
) -> None:
    program, original = built(tmp_path, kernel, decisions), programs.build_original(kernel, tmp_path)
    log = tmp_path / "launch"
    for size, blocks in runs.items():
        log.write_text("")
        expected = programs.run(original, size)
        assert programs.run(program, size, SHIM_LAUNCHES=str(log)) == expected
        assert log.read_text() == (blocks and f"{blocks} of 64 threads")
    size = (9,) * len(size)
    assert programs.run(program, size, SHIM_NOT_COOPERATIVE="1") == programs.run(original, size)


def with_part(j: Joined, k: int, **changes: Any) -> Joined:
    return replace(j, parts=(*j.parts[:k], replace(j.parts[k], **changes), *j.parts[k + 1 :]))


def mutants(j: Joined) -> Iterator[tuple[str, Joined]]:
    """One launch with one thing wrong in it."""
    for k in range(len(j.meet)):
        yield "blocks go on", replace(j, meet=(*j.meet[:k], False, *j.meet[k + 1 :]))
    for name in j.changes:
        yield "a cache", replace(j, changes=j.changes - {name})
    for k, part in enumerate(j.parts):
        yield "no parts", replace(j, parts=(*j.parts[:k], *j.parts[k + 1 :]))
        yield "half of the threads", with_part(j, k, threads=part.threads // 2)
        yield "a part too many", with_part(j, k, number=j.threads // part.threads + 1)
        yield "waits for others", with_part(j, k, is_whole=not part.is_whole)
        if part.meets:
            yield "threads go on", with_part(j, k, meets=False)
        if part.bytes:
            yield "shares memory", with_part(j, k, bytes=part.bytes // 2)
        if part.meets and part.threads % 32 == 0 and not part.is_whole:
            yield "too many barriers", replace(with_part(j, k, number=16), threads=16 * part.threads)
    yield "an iteration less", replace(j, loop=replace(j.loop, lower=add(j.loop.lower, 1)))
    yield "a launch less", replace(j, loop=replace(j.loop, body=j.loop.body[1:]))


@pytest.mark.parametrize(
    ("kernel", "decisions", "kinds"),
    [
        ("durbin", (DURBIN,), {"waits for others", "threads go on", "a cache"}),
        ("gramschmidt", (SMALL,), {"blocks go on", "an iteration less"}),
        ("cholesky", (), {"shares memory", "too many barriers", "a launch less"}),
        ("jacobi-1d", (), {"half of the threads", "a part too many"}),
    ],
)
def test_a_wrong_launch_is_refuted(kernel: str, decisions: tuple[str, ...], kinds: set[str]) -> None:
    """Of each kind of mutants each one is, and what is right is not."""
    r = compiled(kernel, "launch(one)", *decisions).regions[0]
    assert r.region.joined
    assert [*joined_failures(r.region)] == []
    seen = set()
    for k, j in enumerate(r.region.joined):
        for kind, wrong in mutants(j):
            loops = (*r.region.joined[:k], wrong, *r.region.joined[k + 1 :])
            assert [*joined_failures(replace(r.region, joined=loops))], kind
            seen.add(kind)
    assert kinds <= seen


def test_a_certificate_is_about_joined_launches_too() -> None:
    r = compiled("trisolv", "launch(one)").regions[0]
    (j,) = r.region.joined
    assert certify(r).holds
    wrong = replace(r.region, joined=(replace(j, meet=(False, *j.meet[1:])),))
    refuted = {f.property for f in certify(r.with_kernels(wrong)).failures}
    assert refuted == {DEPENDENCES}


def built(folder: Path, kernel: str, decisions: str) -> Path:
    """A program whose kernels threads of the machine run."""
    if shutil.which("g++") is None:
        unavailable("no g++")
    device = folder / "small.toml"
    device.write_text(small_chip())
    files = compiled(kernel, "launch(one)", decisions, device=str(device)).files
    host, gpu, program = folder / "host.c", folder / "gpu.cpp", folder / "program"
    host.write_text(files["_host.c"])
    gpu.write_text(as_hip(files["_cuda.cu"]))
    programs.call(("gcc", *FLAGS, "-c", host, "-o", host.with_suffix(".o")))
    shim = ("-std=c++20", "-pthread", "-fno-strict-aliasing", "-DPOLYGPU_ROUNDS=100", "-I", SHIM)
    programs.call(("g++", *FLAGS, *shim, "-c", gpu, "-o", gpu.with_suffix(".o")))
    programs.call(("g++", "-pthread", host.with_suffix(".o"), gpu.with_suffix(".o"), "-o", program, "-lm"))
    return program


def test_what_other_launches_write_is_not_taken_to_stay() -> None:
    text = compiled("durbin").files["_cuda.cu"]
    block = re.search(r"block_of_kernel_durbin_0_k3\((const uint3 .*?)\)\n\{", text, re.DOTALL)
    loop = re.search(r"kernel_durbin_0_loop0\((int .*?)\)\n\{", text, re.DOTALL)
    assert block is not None and loop is not None
    assert "const float *alpha, const float *y, float *__restrict__ z" in " ".join(block[1].split())
    assert re.findall(r"\*(__restrict__ )?(\w+)", loop[1]) == [
        ("", "alpha"), ("", "beta"), ("", "r"), ("", "sum"), ("", "y"), ("", "z"),  # r: beside stores
    ]  # fmt: skip


def test_what_nothing_writes_is_restrict() -> None:
    text = compiled("trisolv").files["_cuda.cu"]
    assert "kernel_trisolv_0_loop0(int n, const float *__restrict__ L, float *x)" in text


@pytest.mark.parametrize(
    ("kernel", "device", "decision", "joined"),
    [
        ("durbin", "h100", "", {"rule": "one"}),
        ("durbin", "h100", "launch(each)", {"person": "each"}),
        ("durbin", "8800gtx", "", {"rule": "each"}),
        ("durbin", "8800gtx", "launch(one)", {"person": "one"}),
        ("floyd-warshall", "h100", "", {"rule": "each"}),
    ],
)
def test_short_launches_are_one_unless_somebody_decides(
    kernel: str, device: str, decision: str, joined: dict[str, str]
) -> None:
    made = compiled(kernel, *([decision] if decision else []), device=device)
    taken = (t for nest in made.regions[0].taken for t in nest if t.decision.key == "launch")
    assert {t.by: t.decision.value for t in taken} == joined
    assert ("polygpu_sync_grid" in made.files["_cuda.cu"]) == ("one" in joined.values())


@pytest.mark.slow
def test_one_launch_compiles_without_warnings(tmp_path: Path) -> None:
    require_nvcc()
    source = tmp_path / "gramschmidt.cu"
    source.write_text(compiled("gramschmidt", "launch(one)", SMALL).files["_cuda.cu"])
    compile_cuda(source, "sm_90")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("rounds", ["1", "1000"])
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("durbin", ((1,), (257,), (2000,))),
        ("trisolv", ((1,), (300,), (5000,))),
        ("gramschmidt", ((1, 1), (70, 130), (400, 300))),
        ("seidel-2d", ((5, 3), (400, 20))),
        ("jacobi-1d", ((3, 1), (4096, 50), (100_000, 50))),
        ("lu", ((2,), (300,))),
    ],
)
def test_one_launch_on_a_device(
    tmp_path: Path, kernel: str, sizes: tuple[programs.Sizes, ...], rounds: str
) -> None:
    if not toolchain.has_cuda_device():
        pytest.skip("no CUDA device")
    require_nvcc()
    translate(kernel, "cuda", "h100", tmp_path, "--decide", "launch(one)")
    program = programs.build_cuda(kernel, tmp_path, "native", "-fmad=false", f"-DPOLYGPU_ROUNDS={rounds}")
    original = programs.build_original(kernel, tmp_path)
    for size in sizes:
        assert programs.run(program, size) == programs.run(original, size)


@pytest.mark.parametrize(("inner", "joins"), [("t < i", False), ("t < n", True)])
def test_loops_in_other_loops_are_one_launch_where_they_depend_on_none(
    inner: str, joins: bool, tmp_path: Path
) -> None:
    """Of a loop whose other kernels cannot be joined, an inner one may be, but has no index of that."""
    source = tmp_path / "f.c"
    source.write_text(
        "void f(int n, float A[restrict n][n], float B[restrict n], float C[restrict n])\n{\n#pragma scop\n"
        "for (int i = 1; i < n; i++) {\n"
        "for (int j = 0; j < n; j++) A[i][j] = A[i - 1][n - 1 - j] + B[j];\n"
        f"for (int t = 0; {inner}; t++) {{ for (int j = 0; j < n; j++) C[j] = B[n - 1 - j] / 2;\n"
        "for (int j = 0; j < n; j++) B[j] = C[j] + C[n - 1 - j]; }\n"
        "}\n#pragma endscop\n}\n"
    )
    (made,) = compile_file(str(source), Options(device="h100", level=1, certify="off")).regions
    region, found = made.region, set()
    for kernel in region.kernels:  # all but one
        kernels = tuple(replace(k, joined=k.name != kernel.name) for k in region.kernels)
        found |= {j.loop.index for j in loops_of(replace(region, kernels=kernels), devices.load("h100"))}
    inside = _indices(region.body) - {s.index for s in region.body if isinstance(s, HostFor)}
    assert len(inside) == 1
    assert bool(found & inside) == joins


def _indices(body: tuple[HostStatement, ...]) -> set[str]:
    found = {s.index for s in body if isinstance(s, HostFor)}
    return found.union(*(_indices(s.body) for s in body if isinstance(s, HostFor | HostIf)))
