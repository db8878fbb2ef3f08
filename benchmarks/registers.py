"""Registers a thread: the estimate from the kernel IR against what nvcc allocates.

    python -m benchmarks.registers [KERNELS] [DEVICES] [ARCHITECTURE]

Prints a line a kernel, and the distribution of the errors.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import programs
from polygpu.codegen.resources import registers_of
from polygpu.pipeline import Options, compile_file

_ENTRY = re.compile(
    r"entry function '_Z(?:N\d+_GLOBAL__N\w*?)?L?(\d+)(\w+)'.*?Used (\d+) registers", re.DOTALL
)


def allocated(text: str, architecture: str) -> dict[str, int]:
    """What nvcc says of each kernel; of its version with 32-bit offsets where there are two."""
    with TemporaryDirectory() as folder:
        source = Path(folder, "kernels.cu")
        source.write_text(text)
        command = ("nvcc", f"-arch={architecture}", "--ptxas-options=-v", "-c", "-o", "/dev/null", source)
        report = programs.call(command)
    found: dict[str, int] = {}
    for length, name, count in _ENTRY.findall(report.stderr + report.stdout):
        kernel, rest = name[: int(length)], name[int(length) :]
        if not rest.startswith("Ix"):
            found[kernel] = int(count)
    return found


def estimates(kernel: str, device: str, architecture: str) -> Iterator[tuple[str, int, int]]:
    """(kernel, estimated, allocated)"""
    compilation = compile_file(str(programs.source_of(kernel)), Options(target="cuda", device=device))
    known = allocated(compilation.files["_cuda.cu"], architecture)
    for region in compilation.regions:
        for k in region.region.kernels:
            if k.name in known:
                yield k.name, registers_of(k, compilation.device), known[k.name]


def main(kernels: str = "all", devices: str = "generic,h100", architecture: str = "sm_90") -> None:
    errors = []
    for device in devices.split(","):
        for kernel in programs.chosen_kernels(kernels):
            for name, estimate, count in estimates(kernel, device, architecture):
                errors.append(estimate / count - 1)
                print(f"{device:8} {name:32} {estimate:4} estimated {count:4} allocated {errors[-1]:+6.0%}")
    sizes = sorted(map(abs, errors))
    half, most = sizes[len(sizes) // 2], sizes[int(0.9 * len(sizes))]
    inside = sum(e <= 0.2 for e in sizes) / len(sizes)
    print(f"{len(errors)} kernels: median {statistics.median(errors):+.1%}, without its sign {half:.1%}")
    print(f"{inside:.0%} within 20 %, 90 % within {most:.0%}, worst {sizes[-1]:.0%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
