"""The compilers and libraries of this machine."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.templates import template_directory

C_COMPILERS = ("cc", "gcc", "clang")
_CC_HELP = "install one (Debian: apt-get install gcc) or name it with --cc or CC"
_NVCC_HELP = "install CUDA, or `pip install 'polygpu[cuda]'`, or name it with NVCC; or use --target emulator"


def find_cc(chosen: str | None = None) -> tuple[str, ...]:
    """The C compiler's command: `chosen`, $CC, or the first of cc, gcc, clang. Raises Diagnosed (PG902)."""
    named = chosen or os.environ.get("CC")
    for candidate in (named,) if named else C_COMPILERS:
        command = tuple(shlex.split(candidate))
        if command and shutil.which(command[0]):
            return command
    raise Diagnosed(error("PG902", f"no C compiler: {named or ', '.join(C_COMPILERS)} not found", _CC_HELP))


def find_nvcc() -> tuple[str, ...]:
    """nvcc's command: $NVCC, PATH, $CUDA_HOME, /usr/local/cuda, pip's packages; else Diagnosed (PG902)."""
    if named := os.environ.get("NVCC"):
        command = tuple(shlex.split(named))
        if command and shutil.which(command[0]):
            return command
        raise Diagnosed(error("PG902", f"NVCC names {named}, which is not found", _NVCC_HELP))
    for place in (None, *_cuda_places()):
        if found := shutil.which("nvcc", path=None if place is None else str(place / "bin")):
            return (found, *_pip_libraries(Path(found)))
    raise Diagnosed(error("PG902", "nvcc not found", _NVCC_HELP))


def _cuda_places() -> tuple[Path, ...]:
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return (*map(Path, homes), Path("/usr/local/cuda"), *_pip_cuda())


def _pip_cuda() -> tuple[Path, ...]:
    """The toolkits among the installed Python packages: site-packages/nvidia/cu13 and its like."""
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec else None
    return tuple(sorted(place for root in roots or () for place in Path(root).glob("cu[0-9]*")))


def _pip_libraries(nvcc: Path) -> tuple[str, ...]:
    """pip's toolkit keeps its libraries in lib, where nvcc looks in lib64."""
    root = nvcc.parent.parent
    return ("-L", str(root / "lib")) if root in _pip_cuda() else ()


def opencl_devices(cc: tuple[str, ...]) -> tuple[str, ...] | None:
    """`platform: device` for all OpenCL devices here; None when no program can be linked with OpenCL."""
    with tempfile.TemporaryDirectory(prefix="polygpu-") as directory:
        program = str(Path(directory, "devices"))
        command = (*cc, str(template_directory() / "opencl" / "devices.c"), "-o", program, "-lOpenCL")
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        listing = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
        return tuple(listing.stdout.splitlines())


def has_cuda_device() -> bool:
    """Whether the driver finds a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def version_of(command: tuple[str, ...]) -> str:
    """The line of `command --version` that holds a version number."""
    shown = subprocess.run((*command, "--version"), capture_output=True, text=True, check=False)
    lines = [line.strip() for line in shown.stdout.splitlines() if any(c.isdigit() for c in line)]
    releases = [line for line in lines if "release" in line]
    return (releases or lines or ["unknown version"])[0]
