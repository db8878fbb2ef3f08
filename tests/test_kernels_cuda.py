"""Every benchmark kernel as CUDA, for the compilers of two architectures."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import ARCHITECTURES, compile_cuda, require_nvcc, together, translate

GROUPS = 5  # of kernels that are compiled at once


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("group", range(GROUPS))
def test_cuda_compiles_without_warnings(group: int, architecture: str, tmp_path: Path) -> None:
    require_nvcc()
    kernels = programs.kernel_names()[group::GROUPS]
    for kernel in kernels:
        translate(kernel, "cuda", None, tmp_path)
    sources = [tmp_path / f"{kernel}_cuda.cu" for kernel in kernels]
    compile_cuda(together(sources, tmp_path / "kernels.cu"), architecture)
