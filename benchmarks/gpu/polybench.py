"""PolyBench/C on a real GPU: every program against its original, which the CPU of the same machine runs.

python benchmarks/gpu/polybench.py generate DIRECTORY OUT [--datasets LARGE] [--types double,float]
python benchmarks/gpu/polybench.py run OUT [--arch sm_90]

`generate` needs polygpu and a checkout of PolyBench/C 4.2.1, and leaves in OUT all that `run` needs on the
machine with the GPU: nvcc, gcc and Python's standard library.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks import programs
from benchmarks.polybench import Suite, Variant, dump, error_of, translate


def generate(root: Path, out: Path, chosen: argparse.Namespace) -> None:
    suite = Suite(root)
    utilities = out / "utilities"
    utilities.mkdir(parents=True, exist_ok=True)
    for name in ("polybench.c", "polybench.h"):
        shutil.copy(suite.utilities / name, utilities)
    for dataset, kind in itertools.product(chosen.datasets.split(","), chosen.types.split(",")):
        variant = Variant(dataset, kind, c99=True)
        for name, source in suite.sources().items():
            directory = out / f"{name}-{dataset}-{kind}"
            directory.mkdir(exist_ok=True)
            for file in source.parent.glob(f"{name}.[ch]"):
                shutil.copy(file, directory)
            translate(suite, source, variant, "cuda", chosen.device, directory)
            (directory / "macros").write_text("\n".join(variant.macros))
            print(f"{name} {variant}", flush=True)


def prepare(directory: Path, arch: str) -> tuple[str, float]:
    """Builds both programs and runs the original; its dump and its seconds."""
    name = directory.name.split("-LARGE-")[0].split("-MINI-")[0].split("-SMALL-")[0]
    flags = (
        "-O2",
        "-ffp-contract=off",
        "-w",
        "-I",
        str(directory.parent / "utilities"),
        "-I",
        str(directory),
    )
    macros = (directory / "macros").read_text().split()
    suite = directory.parent / "utilities" / "polybench.c"
    programs.call(("gcc", *flags, *macros, directory / f"{name}.c", suite, "-o", directory / "cpu", "-lm"))
    programs.compile_cuda(directory / f"{name}_cuda.cu", directory / "device.o", arch, "-fmad=false")
    for source, output in ((directory / f"{name}_host.c", "host.o"), (suite, "suite.o")):
        programs.call(("gcc", *flags, *macros, "-c", source, "-o", directory / output))
    objects = [directory / o for o in ("host.o", "suite.o", "device.o")]
    programs.call((*programs.nvcc(), f"-arch={arch}", *objects, "-o", directory / "gpu", "-lm"))
    start = time.perf_counter()
    return dump(directory / "cpu"), time.perf_counter() - start


def run(out: Path, arch: str) -> int:
    directories = sorted(d for d in out.iterdir() if (d / "macros").exists())
    good = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        prepared = {d: pool.submit(prepare, d, arch) for d in directories}
        for d in directories:
            try:
                expected, seconds = prepared[d].result()
                profile = d / "profile.json"
                os.environ["POLYGPU_PROFILE"] = str(profile)
                start = time.perf_counter()
                found = dump(d / "gpu")
                wall = time.perf_counter() - start
                verdict = "identical" if expected == found else f"differs by {error_of(expected, found):.1e}"
                kernels = [k for r in json.loads(profile.read_text())["regions"] for k in r["kernels"]]
                device = sum(k["ms"] for k in kernels)
                launches = sum(k["launches"] for k in kernels)
                note = (
                    f"cpu {seconds:6.1f} s, gpu {wall:5.1f} s, kernels {device:9.2f} ms, {launches} launches"
                )
                good += verdict == "identical"
            except programs.ProgramError as problem:
                verdict, note = f"FAILED {str(problem)[:300]}", ""
            print(f"{d.name:32} {verdict:22} {note}", flush=True)
    print(f"{good} of {len(directories)} identical")
    return 0 if good == len(directories) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("generate")
    making.add_argument("directory", type=Path)
    making.add_argument("out", type=Path)
    making.add_argument("--datasets", default="LARGE")
    making.add_argument("--types", default="double,float")
    making.add_argument("--device", default="h100")
    running = commands.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("--arch", default="sm_90")
    chosen = parser.parse_args()
    if chosen.command == "run":
        return run(chosen.out, chosen.arch)
    generate(chosen.directory, chosen.out, chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
