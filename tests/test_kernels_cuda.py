"""Every benchmark kernel as CUDA, for the compiler of one of two architectures; for both by hand, where its
optimiser looks at all of them, too.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import (
    ARCHITECTURES,
    compile_cuda,
    require_nvcc,
    some_by_default,
    together,
    translate,
)

GROUPS = 5  # of kernels that are compiled at once; odd, so that each is compiled for some architecture
LAST = GROUPS - 1


@pytest.mark.parametrize(
    ("architecture", "group"),
    some_by_default(list(itertools.product(ARCHITECTURES, range(GROUPS))), one_in=len(ARCHITECTURES)),
)
def test_cuda_compiles_without_warnings(architecture: str, group: int, tmp_path: Path) -> None:
    require_nvcc()
    compile_cuda(of_group(group, tmp_path), architecture, optimised=False)


@pytest.mark.parametrize(
    "group", [pytest.param(g, marks=[pytest.mark.slow] * (g < LAST)) for g in range(GROUPS)]
)
def test_the_optimiser_does_not_warn(group: int, tmp_path: Path) -> None:
    """Of a loop that it cannot unroll, say."""
    require_nvcc()
    compile_cuda(of_group(group, tmp_path), ARCHITECTURES[0])


def of_group(group: int, directory: Path) -> Path:
    """The CUDA sources of its kernels in one file."""
    kernels = programs.kernel_names()[group::GROUPS]
    for kernel in kernels:
        translate(kernel, "cuda", None, directory)
    return together([directory / f"{kernel}_cuda.cu" for kernel in kernels], directory / "kernels.cu")
