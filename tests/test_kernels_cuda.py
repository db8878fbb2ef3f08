"""Every benchmark kernel as CUDA, for the compiler of one of two architectures; for both by hand."""

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


@pytest.mark.parametrize(
    ("architecture", "group"),
    some_by_default(list(itertools.product(ARCHITECTURES, range(GROUPS))), one_in=len(ARCHITECTURES)),
)
def test_cuda_compiles_without_warnings(architecture: str, group: int, tmp_path: Path) -> None:
    require_nvcc()
    kernels = programs.kernel_names()[group::GROUPS]
    for kernel in kernels:
        translate(kernel, "cuda", None, tmp_path)
    sources = [tmp_path / f"{kernel}_cuda.cu" for kernel in kernels]
    compile_cuda(together(sources, tmp_path / "kernels.cu"), architecture)
