"""The time of `polygpu compile` in a fresh process, for each kernel, against its limit.

python benchmarks/compile_time.py [--target cuda] [--kernels mm,lu] [--repeats 5]
python benchmarks/compile_time.py --straight 100,400 --certify off
python benchmarks/compile_time.py --polybench DIRECTORY --device h100 --repeats 1

The second is of loop bodies of so many assignments, the third of the programs of PolyBench/C for large
data; their limits are of processor time. Python keeps compiled modules between runs, if it is let.
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
from benchmarks.polybench import Suite, Variant

LIMITS = {"mm": 0.5, "blocks100": 1.0, "blocks400": 3.0, "arrays100": 1.0, "arrays400": 3.0}  # seconds
LIMIT = 2.0
LIMIT_OF_PROGRAMS = 4.0

BLOCKS = """void f(int n, float x[restrict n][n], float y[restrict n][n], float a[restrict n][n][{count}])
{{
    float t;
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {{
            t = x[i][j];
{body}
        }}
#pragma endscop
}}
"""
ARRAYS = """void f(int n, float x[restrict n], {arrays})
{{
#pragma scop
    for (int i = 1; i < n - 1; i++) {{
{body}
    }}
#pragma endscop
}}
"""


def straight(count: int, directory: Path) -> list[Path]:
    """Loop bodies of `count` assignments: to elements of a block, with a scalar, and to as many arrays."""
    blocks = "\n".join(
        f"a[i][j][{k}] = t * {k} + y[i][j - {k % 2}];" + " t = t * y[i][j];" * (k % 10 == 9)
        for k in range(count)
    )
    each = "\n".join(f"a{k}[i] = x[i - 1] * {k} + x[i + 1];" for k in range(count))
    arrays = ", ".join(f"float a{k}[restrict n]" for k in range(count))
    texts = {
        "blocks": BLOCKS.format(count=count, body=blocks),
        "arrays": ARRAYS.format(arrays=arrays, body=each),
    }
    for name, text in texts.items():
        (directory / f"{name}{count}.c").write_text(text)
    return [directory / f"{name}{count}.c" for name in texts]


def seconds(source: Path, chosen: argparse.Namespace, directory: Path) -> tuple[float, float]:
    """By the clock, and of processor time, which other work on the machine disturbs less."""
    options = ("--certify", chosen.certify, chosen.level)
    if chosen.polybench:
        options += (*Suite(chosen.polybench).includes(source), *Variant("LARGE", "float", True).macros)
    start, used = time.perf_counter(), _processor_time()
    programs.translate_file(source, chosen.target, chosen.device, directory, *options)
    return time.perf_counter() - start, _processor_time() - used


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def line(source: Path, chosen: argparse.Namespace, directory: Path) -> tuple[str, bool, float]:
    """A line of the table, whether the kernel keeps its limit, and its processor time."""
    kernel = source.stem
    try:
        runs = [seconds(source, chosen, directory) for _ in range(chosen.repeats)]
    except programs.ProgramError as error:
        return f"{kernel:15} FAIL {error}", False, 0.0
    wall, processor = ([run[k] for run in runs] for k in range(2))
    limit = LIMIT_OF_PROGRAMS if chosen.polybench else LIMITS.get(kernel, LIMIT)
    by_processor = chosen.straight or chosen.polybench
    verdict = "ok" if median(processor if by_processor else wall) < limit else "FAIL"
    spread = f"{min(wall):.3f} .. {max(wall):.3f}; processor {median(processor):.3f}"
    return (
        f"{kernel:15} {verdict:4} {median(wall):6.3f} s of {limit:.1f}   ({spread})",
        verdict == "ok",
        median(processor),
    )


def sources(chosen: argparse.Namespace) -> list[Path]:
    if not chosen.polybench:
        return [programs.source_of(kernel) for kernel in programs.chosen_kernels(chosen.kernels)]
    found = Suite(chosen.polybench).sources()
    return [found[name] for name in (sorted(found) if chosen.kernels == "all" else chosen.kernels.split(","))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--device")
    parser.add_argument("--kernels", default="all", help="names with commas between them, or all")
    parser.add_argument("--straight", default="", help="numbers of assignments, with commas between them")
    parser.add_argument("--polybench", type=Path, help="a checkout of PolyBench/C")
    parser.add_argument("--certify", default="quick", help="as of polygpu compile")
    parser.add_argument("--level", default="-O2", help="as of polygpu compile: --level=-O1")
    parser.add_argument("--repeats", type=int, default=5, help="the median counts")
    chosen = parser.parse_args()
    passed, used = [], 0.0
    with tempfile.TemporaryDirectory(prefix="polygpu-time-") as directory:
        bodies = [path for n in chosen.straight.split(",") if n for path in straight(int(n), Path(directory))]
        for source in bodies or sources(chosen):
            text, good, processor = line(source, chosen, Path(directory))
            print(text, flush=True)
            passed.append(good)
            used += processor
    print(f"{sum(passed)} of {len(passed)} within their limit, {used:.1f} s of processor time in all")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
