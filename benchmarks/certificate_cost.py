"""What certificates cost: `polygpu compile` with one and without, in turns, in fresh processes.

python benchmarks/certificate_cost.py [--certify quick] [--device h100] [--repeats 5] [--limit 0.6]
       [--polybench DIRECTORY] [FILE.c...]

Without files: the benchmark kernels. The ratio is that of the medians of processor time; status 1 where
one is beyond the limit.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from benchmarks.polybench import Suite


def seconds(source: Path, flags: tuple[str, ...], certify: str, directory: str) -> float:
    """Processor time of one compilation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, "-m", "polygpu", "compile", source, *flags, "--certify", certify, "--offload")
    programs.call((*command, "always", "-o", f"{directory}/"), PYTHONPATH=str(programs.ROOT))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def line(name: str, source: Path, flags: tuple[str, ...], chosen: argparse.Namespace, directory: str) -> bool:
    kinds = ("off", chosen.certify)
    runs = [[seconds(source, flags, kind, directory) for kind in kinds] for _ in range(chosen.repeats)]
    without, certified = (median(run[k] for run in runs) for k in range(2))
    cost = certified / without - 1
    verdict = "ok" if cost <= chosen.limit else "FAIL"
    print(f"{name:16} {verdict:4} {cost:+6.0%}   {without:.3f} s without, {certified:.3f} s with", flush=True)
    return cost <= chosen.limit


def sources(chosen: argparse.Namespace) -> dict[str, tuple[Path, tuple[str, ...]]]:
    found = {Path(f).stem: (Path(f), ()) for f in chosen.files}
    if chosen.polybench:
        suite = Suite(Path(chosen.polybench))
        flags = {name: (*suite.includes(path), "-DLARGE_DATASET") for name, path in suite.sources().items()}
        found |= {f"PB {name}": (path, flags[name]) for name, path in suite.sources().items()}
    return found or {k: (programs.source_of(k), ()) for k in programs.kernel_names()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--certify", default="quick", choices=("quick", "full"))
    parser.add_argument("--device", default="h100")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=0.6)
    parser.add_argument("--polybench", metavar="DIRECTORY")
    chosen = parser.parse_args()
    passed = []
    with tempfile.TemporaryDirectory(prefix="polygpu-cost-") as directory:
        for name, (source, flags) in sources(chosen).items():
            try:
                passed.append(line(name, source, ("--device", chosen.device, *flags), chosen, directory))
            except programs.ProgramError as error:
                print(f"{name:16} FAIL {error}", flush=True)
                passed.append(False)
    print(f"{sum(passed)} of {len(passed)} within {chosen.limit:.0%}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
