"""Decisions from the command line: every one keeps the program's output, and impossible ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.model.decisions import Decision, Decisions, parse
from polygpu.report.explain import explain
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import build_checked

KERNELS = programs.ROOT / "benchmarks" / "kernels"

CHOICES = [
    ("mm", "8800gtx", "tile=32x32 threads=16x16 step=8"),
    ("mm", "8800gtx", "tile=7x9 stage=off"),
    ("mm", "h100", "tile=32x64 threads=8x8 deal=cyclic buffering=none"),
    ("mm", "h100", "tile=32x64 threads=8x8 deal=blocked buffering=ring stages=4"),
    ("mm", "h100", "tile=64x64 threads=8x8 deal=grouped step=32"),
    ("mv", "h100", "tile=128"),
    ("mv", "h100", "tile=96 threads=32 step=16 stages=2"),
    ("mv", "h100", "buffering=prefetch"),
    ("tmv", "h100", "tile=128 threads=32 deal=blocked"),
    ("transpose", "8800gtx", "pad=3"),
    ("jacobi-2d", "h100", "tile=8x32 threads=4x32 deal=cyclic"),
    ("syrk", "h100", "tile=16x16 step=4 buffering=ring"),
    ("mm", "8800gtx", "tile=16x16 unroll=none stage=A"),
    ("mm", "8800gtx", "tile=16x16 step=12 unroll=5 loads=1"),
    ("mm", "8800gtx", "stage=off unroll=4"),
    ("mm", "8800gtx", "unroll=full registers=20"),
    ("mv", "8800gtx", "tile=128 threads=128 stage=A+y loads=2 unroll=none pad=0"),
    ("mv", "8800gtx", "tile=64 threads=64 stage=y step=64 unroll=3"),
    ("mv", "h100", "tile=96 threads=48 buffering=none loads=5"),
    ("trmm", "8800gtx", "unroll=3 loads=2"),
    ("jacobi-2d", "8800gtx", "loads=2 unroll=2"),
]


def compiled(kernel: str, device: str, choice: str, directory: Path) -> Path:
    options = [word for decision in choice.split() for word in ("--decide", decision)]
    programs.translate(kernel, "emulator", device, directory, *options)
    return build_checked(kernel, directory)


@pytest.mark.parametrize(("kernel", "device", "choice"), CHOICES)
def test_decisions_keep_the_output(kernel: str, device: str, choice: str, tmp_path: Path) -> None:
    program = compiled(kernel, device, choice, tmp_path)
    original = programs.build_original(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (1, 33, 100)):
        expected, found = programs.run(original, sizes, 60), programs.run(program, sizes, 60)
        assert programs.compare(expected, found).identical, sizes


@pytest.mark.parametrize(
    ("decision", "number"),
    [
        ("tiles=64", "PG303"),
        ("tile=0x4", "PG303"),
        ("deal=random", "PG303"),
        ("step=8x8", "PG303"),
        ("threads=64x64", "PG304"),
        ("tile=2x3x4x5", "PG304"),
        ("step=1024", "PG305"),
        ("stage=A,B", "PG303"),
        ("stage=C", "PG310"),
        ("stage=D", "PG310"),
        ("unroll=0", "PG303"),
        ("loads=few", "PG303"),
        ("registers=200", "PG304"),
    ],
)
def test_impossible_decisions_are_refused(decision: str, number: str) -> None:
    options = pipeline.Options(target="emulator", device="8800gtx", decisions=(decision,))
    with pytest.raises(Diagnosed) as caught:
        pipeline.compile_file(str(KERNELS / "mm.c"), options)
    assert caught.value.diagnostics[0].id == number


@pytest.mark.parametrize(
    ("decisions", "number"),
    [
        (("stage=off", "unroll=full"), "PG311"),
        (("buffering=prefetch", "loads=2"), "PG304"),
        (("kernel_mm_0_k0:stage=Q",), "PG310"),
    ],
)
def test_decisions_that_do_not_go_together_are_refused(decisions: tuple[str, ...], number: str) -> None:
    with pytest.raises(Diagnosed) as caught:
        pipeline.compile_file(str(KERNELS / "mm.c"), pipeline.Options(device="8800gtx", decisions=decisions))
    assert caught.value.diagnostics[0].id == number


def test_registers_decide_the_resident_blocks() -> None:
    """256 threads: 10 registers leave 3 blocks on a multiprocessor of the 8800 GTX, 11 leave 2."""
    found = {
        count: explain(
            pipeline.compile_file(
                str(KERNELS / "vecadd.c"),
                pipeline.Options(target="emulator", device="8800gtx", decisions=(f"registers={count}",)),
            )
        )
        .regions[0]
        .kernels[0]
        for count in (10, 11)
    }
    assert {count: fact.blocks_per_multiprocessor for count, fact in found.items()} == {10: 3, 11: 2}
    assert found[11].registers == 11


def test_a_tile_must_be_a_multiple_of_its_threads() -> None:
    options = pipeline.Options(target="emulator", decisions=("tile=20x20", "threads=16x16"))
    with pytest.raises(Diagnosed, match="cannot be dealt"):
        pipeline.compile_file(str(KERNELS / "mm.c"), options)


def test_the_decision_for_a_kernel_beats_the_one_for_all() -> None:
    decisions = Decisions((parse("f_0_k0:step=8"), parse("step=16")))
    assert decisions.find("f_0_k0", "step") == Decision("f_0_k0", "step", "8")
    assert decisions.find("f_0_k1", "step") == Decision("", "step", "16")
    assert decisions.find("f_0_k0", "tile") is None


def test_the_last_decision_counts() -> None:
    decisions = Decisions((parse("step=8"), parse("step=16")))
    found = decisions.find("f_0_k0", "step")
    assert found is not None
    assert found.value == "16"
