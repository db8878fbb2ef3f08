"""`polygpu doctor`: what is installed, what each missing thing disables, how to get it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import click

from polygpu import __version__
from polygpu.runtime import build, toolchain
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

PACKAGES = ("islpy", "sympy", "pycparser", "pcpp", "jinja2", "click", "rich")


@dataclass(frozen=True, slots=True)
class Finding:
    """`missing` says what cannot be done without it and how to install it; "" where it is there. `flaw` is
    what is wrong with one that is.
    """

    name: str
    state: str
    missing: str = ""
    required: bool = False
    flaw: str = ""


@click.command("doctor")
@click.option(
    "--cc", default=None, metavar="COMMAND", help="The C compiler. [default: $CC, cc, gcc or clang]"
)
def command(cc: str | None) -> int:
    """Check what is installed; status 1 when something that `compile` needs is missing."""
    findings = tuple(_findings(cc))
    for finding in findings:
        mark = "MISSING" if finding.missing else "FLAWED " if finding.flaw else "ok     "
        click.echo(f"{mark}  {finding.name:18} {finding.state}".rstrip())
        if explanation := finding.missing or finding.flaw:
            click.echo(f"         {explanation}")
    return int(any(finding.required and finding.missing for finding in findings))


def _findings(cc: str | None) -> Iterator[Finding]:
    yield Finding("polygpu", f"{__version__}, Python {platform.python_version()}, {platform.system()}")
    yield from map(_package, PACKAGES)
    compiler = _c_compiler(cc)
    yield compiler
    if not compiler.missing:
        yield _openmp(cc)
        yield _opencl(cc)
    yield _nvcc()
    yield _gpu()


def _package(name: str) -> Finding:
    try:
        return Finding(name, version(name), required=True)
    except PackageNotFoundError:
        return Finding(name, "", f"polygpu does not work without it: pip install {name}", required=True)


def _found(name: str, find: Callable[[], tuple[str, ...]], without: str) -> Finding:
    try:
        tool = find()
    except Diagnosed as problem:
        return Finding(name, "", f"{without}; {problem.diagnostics[0].help}")
    return Finding(name, f"{tool[0]}: {toolchain.version_of(tool)}")


def _c_compiler(cc: str | None) -> Finding:
    without = (
        "`run` cannot build programs, and `compile` preprocesses in Python, without the system's headers"
    )
    return _found("C compiler", lambda: toolchain.find_cc(cc), without)


def _openmp(cc: str | None) -> Finding:
    if "-fopenmp" in build.native_flags(toolchain.find_cc(cc)):
        return Finding("OpenMP", f"{os.cpu_count()} processors")
    return Finding("OpenMP", "", "the emulator runs on one processor; install libomp (Debian: libomp-dev)")


def _opencl(cc: str | None) -> Finding:
    devices = toolchain.opencl_devices(toolchain.find_cc(cc))
    if devices is None:
        help_text = (
            "`run --target opencl` cannot build; Debian: apt-get install ocl-icd-opencl-dev pocl-opencl-icd"
        )
        return Finding("OpenCL", "", help_text)
    if not devices:
        help_text = "OpenCL programs build but find no device; Debian: apt-get install pocl-opencl-icd"
        return Finding("OpenCL", "no device", help_text)
    return Finding("OpenCL", "; ".join(devices))


def _nvcc() -> Finding:
    found = _found("nvcc", toolchain.find_nvcc, "`run --target cuda` cannot build")
    return replace(found, flaw=flaw_of_nvcc(found.state))


def flaw_of_nvcc(state: str) -> str:
    """What a release is known to translate wrongly that generated code cannot keep clear of everywhere."""
    release = re.search(r"release (\d+)\.(\d+)", state)
    if release is None or not (12, 6) <= (int(release[1]), int(release[2])) < (13, 4):
        return ""
    return (
        "it loses signs in the least and the largest of three integers for compute capability 9.0 (H100); "
        "nvcc 13.4 does not: pip install 'polygpu[cuda]'"
    )


def _gpu() -> Finding:
    if toolchain.has_cuda_device():
        return Finding("CUDA device", "found by the driver")
    return Finding(
        "CUDA device", "", "CUDA programs compile but do not run here; --target emulator needs no GPU"
    )
