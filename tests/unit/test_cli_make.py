"""The Makefile of benchmarks/make: builds, does nothing twice, and follows headers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support_kernels import require_nvcc, require_opencl

EXAMPLE = Path(__file__).parents[2] / "benchmarks/make"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "make", ignore=shutil.ignore_patterns("build"))
    return tmp_path / "make"


def make(project: Path, *arguments: str) -> str:
    command = ("make", f"POLYGPU={sys.executable} -m polygpu", *arguments)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["CFLAGS"] = "-O0 -Wall -Wno-unknown-pragmas"
    process = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def touch(path: Path) -> None:
    """Gives `path` a time that is certainly later than that of all files made before."""
    later = time.time() + 2
    os.utime(path, (later, later))


def test_the_program_prints_what_the_original_prints(project: Path) -> None:
    assert "diff build/expected" in make(project, "check")
    assert (project / "build/expected").read_text().count("\n") == 10


def test_on_opencl(project: Path) -> None:
    require_opencl()
    assert "diff build/expected" in make(project, "check", "TARGET=opencl")


def test_cuda_builds(project: Path) -> None:
    require_nvcc()
    make(project, "TARGET=cuda", f"NVCC={os.environ['NVCC']}")
    assert "is up to date" in make(project, "TARGET=cuda")


def test_what_changes_is_built_anew_and_nothing_else(project: Path) -> None:
    """A second make does nothing; a touched header has the compiler run, a changed one reaches the kernel."""
    make(project, "check")
    assert "heat_emulator.c -o" not in make(project, "check")
    assert "is up to date" in make(project)
    header, before = project / "heat.h", (project / "build/expected").read_text()
    touch(header)
    output = make(project)
    assert "polygpu compile" in output
    assert "heat_emulator.c -o" not in output
    header.write_text(header.read_text().replace("0.125f", "0.25f"))
    touch(header)
    assert "heat_emulator.c -o" in make(project, "check")
    assert (project / "build/expected").read_text() != before
