"""Every benchmark kernel on every target against the original program; benchmarks/matrix.py has all sizes."""

from __future__ import annotations

import json
from collections import Counter
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
    original, profile = programs.build_original(kernel, tmp_path), tmp_path / "profile.json"
    # after one step tiles of time copy their result back, after an even number of tiles they need not
    launches = Counter[str]()
    extents = programs.extents_of(kernel)
    timed = extents < len(programs.parameters_of(kernel))
    for sizes in ((40,), (40,) * extents + (1,)) if timed else ((40,),):
        found = programs.run(program, sizes, POLYGPU_PROFILE=str(profile))
        assert found == programs.run(original, sizes)
        for region in json.loads(profile.read_text())["regions"]:
            launches.update({f"{region['name']} {k['name']}": k["launches"] for k in region["kernels"]})
    assert any(name.startswith("polygpu_kernel_") for name in launches)
    assert all(count > 0 for count in launches.values()), launches


def test_opencl(kernel: str, tmp_path: Path) -> None:
    require_opencl()
    # certified in test_kernels_cuda.py, where the kernels are the same
    programs.translate(kernel, "opencl", None, tmp_path, "--certify", "off")
    original = programs.build_original(kernel, tmp_path)
    program = programs.build_opencl(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (1, 33, 100)):
        assert_agrees(kernel, original, program, sizes, exact=False)
