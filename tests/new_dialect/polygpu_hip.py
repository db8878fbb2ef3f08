"""HIP as another package would bring it along: CUDA in other words, without its asynchronous copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from polygpu.printing.dialects import CUDA

HIP = replace(
    CUDA,
    name="hip",
    files={"_hip.cpp": "file.hip.cpp.j2"},
    templates=Path(__file__).parent / "templates",
    copy="",
    commit="",
    wait="",
    reserved=CUDA.reserved | {"hipLaunchKernelGGL"},
)
