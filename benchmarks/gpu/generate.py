"""Compiles every kernel for CUDA into build/gpu/; a machine without the compiler can then build and measure.

python benchmarks/gpu/generate.py [--kernels mm,lu] [--device generic] [-o build/gpu]
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import programs


def generate(kernel: str, device: str | None, directory: Path) -> str:
    """What went wrong, or nothing."""
    try:
        programs.translate(kernel, "cuda", device, directory)
    except programs.ProgramError as error:
        for stale in directory.glob(f"{kernel}_*"):
            stale.unlink()
        return f"{kernel}: {error}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default="all", help="names with commas between them, or all")
    parser.add_argument("--device", help="default: the compiler's for CUDA")
    parser.add_argument("-o", dest="directory", type=Path, default=programs.ROOT / "build" / "gpu")
    chosen = parser.parse_args()
    kernels = programs.chosen_kernels(chosen.kernels)
    chosen.directory.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(lambda k: generate(k, chosen.device, chosen.directory), kernels) if f]
    print("\n".join([*failures, f"{len(kernels) - len(failures)} of {len(kernels)} in {chosen.directory}"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
