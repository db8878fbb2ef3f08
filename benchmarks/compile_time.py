"""The time of `polygpu compile` in a fresh process, for each kernel, against its limit.

python benchmarks/compile_time.py [--target cuda] [--kernels mm,lu] [--repeats 5]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs

LIMITS = {"mm": 0.5}  # seconds
LIMIT = 2.0


def seconds(kernel: str, target: str, device: str | None, directory: Path) -> tuple[float, float]:
    """By the clock, and of processor time, which other work on the machine disturbs less."""
    start, used = time.perf_counter(), _processor_time()
    programs.translate(kernel, target, device, directory)
    return time.perf_counter() - start, _processor_time() - used


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def line(kernel: str, chosen: argparse.Namespace, directory: Path) -> tuple[str, bool]:
    """A line of the table, and whether the kernel keeps its limit."""
    try:
        runs = [seconds(kernel, chosen.target, chosen.device, directory) for _ in range(chosen.repeats)]
    except programs.ProgramError as error:
        return f"{kernel:15} FAIL {error}", False
    wall, processor = ([run[k] for run in runs] for k in range(2))
    limit = LIMITS.get(kernel, LIMIT)
    verdict = "ok" if median(wall) < limit else "FAIL"
    spread = f"{min(wall):.3f} .. {max(wall):.3f}; processor {median(processor):.3f}"
    return f"{kernel:15} {verdict:4} {median(wall):6.3f} s of {limit:.1f}   ({spread})", verdict == "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--device")
    parser.add_argument("--kernels", default="all", help="names with commas between them, or all")
    parser.add_argument("--repeats", type=int, default=5, help="the median counts")
    chosen = parser.parse_args()
    passed = []
    with tempfile.TemporaryDirectory(prefix="polygpu-time-") as directory:
        for kernel in programs.chosen_kernels(chosen.kernels):
            text, good = line(kernel, chosen, Path(directory))
            print(text, flush=True)
            passed.append(good)
    print(f"{sum(passed)} of {len(passed)} within their limit")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
