"""Builds the files of a compilation into a program, and the original for comparison."""

from __future__ import annotations

import functools
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from polygpu.runtime import toolchain
from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed

# Without contraction a host computes what the C source says, so that outputs can be equal to the bit.
OPTIMISE = ("-O2", "-ffp-contract=off")
OLDEST_CUDA = 75  # nvcc 13 compiles for compute capability 7.5 and above


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build. `language` holds what the user's own text needs (-I, -D, -std); `extra` is --cflags."""

    target: str
    cc: tuple[str, ...]
    language: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    compute_capability: str = ""


def build_original(source: Path, program: Path, recipe: Recipe) -> None:
    """Builds the user's own file, sequentially. Raises Diagnosed (PG903)."""
    execute((*recipe.cc, *OPTIMISE, *recipe.language, *recipe.extra, str(source), "-o", str(program), "-lm"))


def build_program(files: dict[str, Path], program: Path, recipe: Recipe) -> None:
    """Builds `files` (by suffix) into `program`, objects beside it. Raises Diagnosed (PG902, PG903)."""
    host = program.with_name(f"{program.name}_host.o")
    device = program.with_name(f"{program.name}_device.o")
    compiler = (*recipe.cc, *OPTIMISE)
    execute((*compiler, *recipe.language, *recipe.extra, "-c", str(files["_host.c"]), "-o", str(host)))
    match recipe.target:
        case "emulator":
            native = native_flags(recipe.cc)
            execute((*compiler, *native, *recipe.extra, "-c", str(files["_emulator.c"]), "-o", str(device)))
            linker: tuple[str, ...] = (*recipe.cc, *native)
        case "opencl":
            execute((*compiler, *recipe.extra, "-c", str(files["_opencl.c"]), "-o", str(device)))
            linker = recipe.cc
        case _:
            linker = (*toolchain.find_nvcc(), f"-arch={_architecture(recipe.compute_capability)}")
            execute((*linker, "-O3", "-c", str(files["_cuda.cu"]), "-o", str(device)))
    libraries = ("-lOpenCL", "-lm") if recipe.target == "opencl" else ("-lm",)
    link_flags = () if recipe.target == "cuda" else recipe.extra
    execute((*linker, str(host), str(device), "-o", str(program), *link_flags, *libraries))


def _architecture(compute_capability: str) -> str:
    """nvcc's name for the chip that is here, else for the one that was asked for."""
    if toolchain.has_cuda_device():
        return "native"
    return f"sm_{max(OLDEST_CUDA, int(compute_capability.replace('.', '') or 0))}"


@functools.cache
def native_flags(cc: tuple[str, ...]) -> tuple[str, ...]:
    """Those of -fopenmp and -march=native that `cc` supports; the emulator runs without them, but slower."""
    wanted = ("-fopenmp", "-march=native")
    if _accepts(cc, wanted):
        return wanted
    return tuple(flag for flag in wanted if _accepts(cc, (flag,)))


def _accepts(cc: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory(prefix="polygpu-") as directory:
        source = Path(directory, "probe.c")
        source.write_text("int main(void) { return 0; }\n")
        command = (*cc, *flags, str(source), "-o", str(source.with_suffix("")))
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def execute(command: tuple[str, ...]) -> None:
    """Runs a compiler. Raises Diagnosed (PG903) with what it says."""
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        said = (result.stderr or result.stdout).rstrip()
        raise Diagnosed(error("PG903", f"{shlex.join(command)}: exit status {result.returncode}\n{said}"))
