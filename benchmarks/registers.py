"""Registers a thread: the estimate from the kernel IR against what nvcc allocates.

    python -m benchmarks.registers [KERNELS] [DEVICES]

Prints a line a kernel, estimated and allocated, and for each device the distribution of the errors.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.perf.resources import registers_of, resident
from polygpu.pipeline import compile_file

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


@dataclass(frozen=True, slots=True)
class Row:
    """Registers a thread of one kernel, and whether as many blocks are resident with both."""

    kernel: str
    estimated: int
    allocated: int
    same: bool

    @property
    def error(self) -> float:
        return self.estimated / self.allocated - 1


def rows(kernel: str, device: str) -> Iterator[Row]:
    compilation = compile_file(str(programs.source_of(kernel)), Options(target="cuda", device=device))
    chip = compilation.device
    known = allocated(compilation.files["_cuda.cu"], f"sm_{chip.compute_capability.replace('.', '')}")
    for region in compilation.regions:
        for k in region.region.kernels:
            if k.name in known:
                real = replace(k, registers=known[k.name])
                same = resident(k, chip).blocks == resident(real, chip).blocks
                yield Row(k.name, registers_of(k, chip), known[k.name], same)


def summary(device: str, found: list[Row]) -> str:
    errors = [row.error for row in found]
    sizes = sorted(map(abs, errors))
    inside, same = sum(e <= 0.2 for e in sizes) / len(sizes), sum(row.same for row in found) / len(found)
    most = sizes[int(0.9 * len(sizes))]
    return (
        f"{device}: {len(found)} kernels, median error {statistics.median(errors):+.0%}, mean "
        f"{statistics.mean(errors):+.0%}, without signs {statistics.median(sizes):.0%} and "
        f"{statistics.mean(sizes):.0%}; {inside:.0%} within 20 %, 90 % within {most:.0%},"
        f" worst {sizes[-1]:.0%}; occupancy the same for {same:.0%}"
    )


def main(kernels: str = "all", devices: str = "generic,h100") -> None:
    for device in devices.split(","):
        found = []
        for kernel in programs.chosen_kernels(kernels):
            for row in rows(kernel, device):
                found.append(row)
                print(f"{device:8} {row.kernel:32} {row.estimated:4} {row.allocated:4} {row.error:+6.0%}")
        print(summary(device, found))


if __name__ == "__main__":
    main(*sys.argv[1:])
