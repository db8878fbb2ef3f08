"""Every benchmark kernel on every target against the original program; benchmarks/matrix.py has all sizes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import (
    DRIVER_FLAGS,
    FAST,
    build_checked,
    in_turns,
    require_opencl,
    some_by_default,
    translate,
)

DEVICES = ["8800gtx", "h100"]
KERNELS = programs.kernel_names()


def assert_agrees(kernel: str, original: Path, program: Path, sizes: programs.Sizes, exact: bool) -> None:
    comparison = programs.compare(programs.run(original, sizes), programs.run(program, sizes))
    assert comparison.agrees, f"{kernel} {sizes}: {comparison.place}"
    assert comparison.identical or not exact, f"{kernel} {sizes}: {comparison.place}"


@pytest.mark.parametrize(("kernel", "device"), in_turns(KERNELS, DEVICES))
def test_emulator_prints_the_same_bits(kernel: str, device: str, tmp_path: Path) -> None:
    """With the emulator's checks on: no race, no read of unwritten shared memory, no stray address.

    The work is done by launches, not by a fall-back to the original loop. Certified in test_kernels_cuda.py.
    """
    programs.translate(kernel, "emulator", device, tmp_path, "--certify", "off")
    original = programs.build_original(kernel, tmp_path)
    program = build_checked(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (0, 1, 2, 33)):
        assert_agrees(kernel, original, program, sizes, exact=True)
    assert_launched(kernel, original, program, tmp_path)


@pytest.mark.parametrize("kernel", some_by_default([(kernel,) for kernel in KERNELS[::4]], one_in=2))
def test_the_emulator_optimised(kernel: str, tmp_path: Path) -> None:
    programs.translate(kernel, "emulator", DEVICES[0], tmp_path, "--certify", "off")
    original = programs.build_original(kernel, tmp_path)
    assert_launched(kernel, original, programs.build_emulator(kernel, tmp_path, False, "-O1"), tmp_path)


def assert_launched(kernel: str, original: Path, program: Path, directory: Path) -> None:
    """All kernels run, and print what the original does."""
    # after one step tiles of time copy their result back, after an even number of tiles they need not
    launches, profile = Counter[str](), directory / "profile.json"
    extents = programs.extents_of(kernel)
    timed = extents < len(programs.parameters_of(kernel))
    # parts of tiles of steps that have tiles before and behind them are there from three tiles on
    for sizes in ((40,), (40,) * extents + (1,) if timed else (70,)):
        if launches and all(launches.values()):
            break
        found = programs.run(program, sizes, POLYGPU_PROFILE=str(profile))
        assert found == programs.run(original, sizes)
        for region in json.loads(profile.read_text())["regions"]:
            launches.update({f"{region['name']} {k['name']}": k["launches"] for k in region["kernels"]})
    assert any(name.startswith("polygpu_kernel_") for name in launches)
    assert all(count > 0 for count in launches.values()), launches


@pytest.mark.parametrize("kernel", some_by_default([(kernel,) for kernel in KERNELS], one_in=3))
def test_opencl(kernel: str, tmp_path: Path) -> None:
    assert_opencl_agrees(kernel, tmp_path, *FAST)


@pytest.mark.parametrize("kernel", some_by_default([(kernel,) for kernel in KERNELS], one_in=7))
def test_opencl_optimised(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DRIVER_FLAGS)
    assert_opencl_agrees(kernel, tmp_path)


def assert_opencl_agrees(kernel: str, tmp_path: Path, *flags: str) -> None:
    require_opencl()
    # certified in test_kernels_cuda.py, where the kernels are the same
    translate(kernel, "opencl", None, tmp_path, "--certify", "off")
    original = programs.build_original(kernel, tmp_path)
    program = programs.build_opencl(kernel, tmp_path, *flags)
    for sizes in programs.size_vectors(kernel, (1, 33, 100)):
        assert_agrees(kernel, original, program, sizes, exact=False)
