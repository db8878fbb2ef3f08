"""Builds the files of a compilation into a program, and the original for comparison."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from polygpu.runtime import toolchain
from polygpu.runtime.errors import error
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

# Without contraction a host computes what the C source says, so that outputs can be equal to the bit.
OPTIMISE = ("-O2", "-ffp-contract=off")
_NATIVE = ("-fopenmp", "-march=native")
OLDEST_CUDA = 75  # nvcc 13 compiles for compute capability 7.5 and above


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build. `language` holds what the user's own text needs (-I, -D, -std); `extra` is --cflags.
    `others` are the program's other source files.

    A `brief` run takes less time than the C compiler does to optimise for it.
    """

    target: str
    cc: tuple[str, ...]
    language: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    compute_capability: str = ""
    brief: bool = False


def check_target(target: str) -> None:
    """Raises Diagnosed (PG902) where programs for `target` cannot be built, or not be run here."""
    elsewhere = "or `polygpu compile` here and build "
    match target:
        case "cuda" if not toolchain.has_cuda_device():
            help_text = f"use --target emulator, {elsewhere}where a GPU is"
            raise Diagnosed(error("PG902", "no CUDA device to run on", help_text))
        case "cuda" | "opencl" | "emulator":
            return
    message = f"how programs for {target} are built is not known"
    raise Diagnosed(error("PG902", message, f"use --target emulator, {elsewhere}by the manual of {target}"))


def build_original(source: Path, program: Path, recipe: Recipe) -> None:
    """Builds the user's own file, sequentially. Raises Diagnosed (PG903)."""
    files = (str(source), *recipe.others)
    _link((*recipe.cc, *OPTIMISE, *recipe.language, *recipe.extra, *files, "-o", str(program), "-lm"))


def build_program(files: dict[str, Path], program: Path, recipe: Recipe) -> None:
    """Builds `files` (by suffix) into `program`, objects beside it. Raises Diagnosed (PG902, PG903)."""
    match recipe.target:
        case "emulator":
            _build_emulator(files, program, recipe)
        case "opencl":
            device = (*recipe.cc, *OPTIMISE, *recipe.extra, "-c", str(files["_opencl.c"]))
            _build(files, device, (*recipe.cc, *recipe.extra), ("-lOpenCL",), program, recipe)
        case _:
            nvcc = (*toolchain.find_nvcc(), f"-arch={_architecture(recipe.compute_capability)}")
            _build(files, (*nvcc, "-O3", "-c", str(files["_cuda.cu"])), nvcc, (), program, recipe)


def _build_emulator(files: dict[str, Path], program: Path, recipe: Recipe) -> None:
    """With threads and the host's own instructions, or else without those that `recipe.cc` does not know."""
    level = ("-O1",) if recipe.brief else ()

    def build(native: tuple[str, ...]) -> None:
        compiler = (*recipe.cc, *OPTIMISE, *level, *native, *recipe.extra)
        linker = (*recipe.cc, *native, *recipe.extra)
        _build(files, (*compiler, "-c", str(files["_emulator.c"])), linker, (), program, recipe)

    try:
        build(_NATIVE)
    except Diagnosed:
        native = native_flags(recipe.cc)
        if native == _NATIVE:
            raise
        build(native)


def _build(
    files: dict[str, Path],
    device: tuple[str, ...],
    linker: tuple[str, ...],
    libraries: tuple[str, ...],
    program: Path,
    recipe: Recipe,
) -> None:
    """Compiles the host file, and the device file by the command `device`, at once; links them."""
    objects = [str(program.with_name(f"{program.name}_{part}.o")) for part in ("host", "device")]
    host = (*recipe.cc, *OPTIMISE, *recipe.language, *recipe.extra, "-c")
    others = [(str(program.with_name(f"{program.name}_{k}.o")), file) for k, file in enumerate(recipe.others)]
    compiled = [(*host, file, "-o", name) for name, file in ((objects[0], str(files["_host.c"])), *others)]
    execute(*compiled, (*device, "-o", objects[1]))
    objects += [name for name, _ in others]
    _link((*linker, *objects, "-o", str(program), *libraries, "-lm"))


def _link(command: tuple[str, ...]) -> None:
    """With OpenMP's library where functions of it are called: the program may measure time with them, and its
    pragmas have no effect all the same. Raises Diagnosed (PG903).
    """
    try:
        execute(command)
    except Diagnosed as problem:
        if not re.search(r"undefined .*\bomp_\w+", problem.diagnostics[0].message):
            raise
        execute((*command, "-lgomp"))


def _architecture(compute_capability: str) -> str:
    """nvcc's name for the chip that is here, else for the one that was asked for."""
    if toolchain.has_cuda_device():
        return "native"
    return f"sm_{max(OLDEST_CUDA, int(compute_capability.replace('.', '') or 0))}"


@functools.cache
def native_flags(cc: tuple[str, ...]) -> tuple[str, ...]:
    """Those of -fopenmp and -march=native that `cc` supports; the emulator runs without them, but slower."""
    if _accepts(cc, _NATIVE):
        return _NATIVE
    return tuple(flag for flag in _NATIVE if _accepts(cc, (flag,)))


def _accepts(cc: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory(prefix="polygpu-") as directory:
        source = Path(directory, "probe.c")
        source.write_text("int main(void) { return 0; }\n")
        command = (*cc, *flags, str(source), "-o", str(source.with_suffix("")))
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def execute(*commands: tuple[str, ...]) -> None:
    """Runs compilers at the same time. Raises Diagnosed (PG903) with what the first that fails says."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(c, text=True, errors="replace", **pipes) for c in commands]
    results = [(process, *process.communicate()) for process in running]
    for command, (process, output, errors) in zip(commands, results, strict=True):
        if process.returncode:
            said = (errors or output).rstrip()
            raise Diagnosed(
                error("PG903", f"{shlex.join(command)}: exit status {process.returncode}\n{said}")
            )
