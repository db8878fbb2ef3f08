"""Every benchmark kernel on every target against the original program; benchmarks/matrix.py has all sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import build_checked, require_opencl

DEVICES = ["8800gtx", "h100"]
pytestmark = pytest.mark.parametrize("kernel", programs.kernel_names())


def assert_agrees(kernel: str, original: Path, program: Path, sizes: programs.Sizes, exact: bool) -> None:
    comparison = programs.compare(programs.run(original, sizes), programs.run(program, sizes))
    assert comparison.agrees, f"{kernel} {sizes}: {comparison.place}"
    assert comparison.identical or not exact, f"{kernel} {sizes}: {comparison.place}"


@pytest.mark.parametrize("device", DEVICES)
def test_emulator_prints_the_same_bits(kernel: str, device: str, tmp_path: Path) -> None:
    """With the emulator's checks on: no race, no read of unwritten shared memory, no stray address."""
    programs.translate(kernel, "emulator", device, tmp_path)
    original = programs.build_original(kernel, tmp_path)
    program = build_checked(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (0, 1, 2, 33)):
        assert_agrees(kernel, original, program, sizes, exact=True)


@pytest.mark.parametrize("device", DEVICES)
def test_emulator_runs_the_kernels(kernel: str, device: str, tmp_path: Path) -> None:
    """The work is done by launches, not by a fall-back to the original loop, also where it is optimised."""
    programs.translate(kernel, "emulator", device, tmp_path)
    optimised = device == DEVICES[0]
    program = (
        programs.build_emulator(kernel, tmp_path, False, "-O1")
        if optimised
        else build_checked(kernel, tmp_path)
    )
    profile = tmp_path / "profile.json"
    found = programs.run(program, (40,), POLYGPU_PROFILE=str(profile))
    assert found == programs.run(programs.build_original(kernel, tmp_path), (40,))
    regions = json.loads(profile.read_text())["regions"]
    assert any(region["name"].startswith("polygpu_kernel_") for region in regions)
    assert all(kernel["launches"] > 0 for region in regions for kernel in region["kernels"])


def test_opencl(kernel: str, tmp_path: Path) -> None:
    require_opencl()
    # certified in test_kernels_cuda.py, where the kernels are the same
    programs.translate(kernel, "opencl", None, tmp_path, "--certify", "off")
    original = programs.build_original(kernel, tmp_path)
    program = programs.build_opencl(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (1, 33, 100)):
        assert_agrees(kernel, original, program, sizes, exact=False)
