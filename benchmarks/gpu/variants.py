"""Random choices for kernels, timed on a GPU, and whether the model puts them in the same order.

python benchmarks/gpu/variants.py generate [--kernels mm,mv] [--count 20] [--seed 1] [--device h100]
python benchmarks/gpu/variants.py measure            on a machine with a GPU, without the compiler
python benchmarks/gpu/variants.py compare [FILE...]  Kendall's tau of the modelled and the measured times

`generate` writes CUDA files and variants.json into build/variants/, `measure` adds times and whether the
output is the original's: $OUT/variants.json, or the same file. Variant 0 of a kernel is what rules choose,
what is chosen by default is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from math import exp, inf, log
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import programs
from benchmarks.gpu import measure
from benchmarks.gpu.measure import Builder
from benchmarks.programs import Sizes

Variant: TypeAlias = dict[str, Any]

PLACE = programs.ROOT / "build" / "variants"
KEPT = Path(__file__).resolve().parent / "variants.json"
PROBLEMS: dict[str, Sizes] = {
    "mm": (2048,), "mv": (8192,), "tmv": (8192,), "mvt": (8192,), "gemver": (8192,), "transpose": (8192,),
    "conv2d": (4096,), "jacobi-2d": (8192, 4), "heat-3d": (256, 4), "syrk": (4096,), "syr2k": (4096,),
    "covariance": (4096,), "gesummv": (8192,), "fdtd-2d": (4096, 4096, 4), "doitgen": (160,),
}  # fmt: skip
CHECKED: dict[str, Sizes] = {"heat-3d": (67, 3), "doitgen": (67,)}  # the others' large sizes are soon run
EXACT = ("covariance",)  # checked without contraction: its results are small differences of large sums


def generate(kernel: str, count: int, seed: int, device: str) -> Iterator[Variant]:
    """Writes so many variants of a kernel: the default, those that rules propose for its nests, others."""
    from polygpu.compilation import Options  # noqa: PLC0415
    from polygpu.mapping.wanted import RefusedError  # noqa: PLC0415 - a machine with a GPU may lack all of it
    from polygpu.model.decisions import Decision  # noqa: PLC0415
    from polygpu.pipeline import File  # noqa: PLC0415
    from polygpu.search.choose import Chooser, choose  # noqa: PLC0415
    from polygpu.search.space import Space, nests_of  # noqa: PLC0415

    chance = random.Random(f"{seed}:{kernel}")
    file = File(str(programs.source_of(kernel)), Options(device=device))
    regions = [r for r in file.realise((), {}).regions if "kernel" in r.region.name]
    spaces = [Space(n, file.device) for r in regions for n in nests_of(r)]

    def drawn(space: Space) -> tuple[Decision, ...]:
        while True:
            choice = space[chance.randrange(len(space))]
            if not space.why_not(choice):
                return choice.decisions(space.nest)

    default = tuple(d for r in regions for d in choose(r, file.realisers[r.scop], (), {}))

    def asked() -> Iterator[tuple[Decision, ...]]:
        yield ()
        yield default
        choosers = [(Chooser(file.realisers[r.scop], {}, ()), r) for r in regions]
        each = [chooser.proposed(r, nest) for chooser, r in choosers for nest in nests_of(r)]
        for proposed in zip_longest(*each, fillvalue=()):
            yield tuple(d for decisions in proposed for d in decisions)
        while True:
            yield tuple(d for space in spaces for d in drawn(space))

    number = 0
    for decisions in asked():
        try:
            made = file.realise(decisions, {})
        except RefusedError:
            continue
        name = f"{kernel}_v{number}"
        for suffix, text in made.files.items():
            (PLACE / f"{name}{suffix}").write_text(text)
        asks = {"decisions": list(map(str, decisions)), "default": decisions == default}
        yield {"name": name, "kernel": kernel, **asks}
        number += 1
        if number > count:
            return


def time_all(output: Path, jobs: int) -> None:
    """Builds all variants side by side, then runs and times one after another."""
    variants: list[Variant] = json.loads((PLACE / "variants.json").read_text())
    builder = Builder(PLACE, Path(os.environ.get("TMPDIR", "/tmp")) / "polygpu-variants", "sm_90")
    with ThreadPoolExecutor(jobs) as pool:
        built = list(pool.map(lambda v: measure.guarded(lambda: _built(builder, v), v["name"]), variants))
        kernels = sorted({v["kernel"] for v in variants})
        right = dict(zip(kernels, pool.map(lambda k: _original(builder, k), kernels), strict=True))
    done: list[Variant] = []
    for v, b in zip(variants, built, strict=True):
        timed = partial(_timed, b, v["kernel"], right[v["kernel"]])
        done.append(v | (measure.guarded(timed, v["name"]) if not b["failures"] else b))
        print(v["name"], done[-1].get("ms", "-"), *done[-1]["failures"], flush=True)
        output.write_text(json.dumps(done, indent=1))


def _built(builder: Builder, v: Variant) -> Variant:
    program = builder.cuda(v["name"], "timed")
    exact = builder.cuda(v["name"], "exact", "-fmad=false") if v["kernel"] in EXACT else program
    return {"program": program, "exact": exact, "failures": []}


def _checked_at(kernel: str) -> Sizes:
    return CHECKED.get(kernel) or programs.large_sizes(kernel)


def _original(builder: Builder, kernel: str) -> str:
    return programs.call((builder.original(kernel), *measure.groups([_checked_at(kernel)]))).stdout


def _timed(built: Variant, kernel: str, right: str) -> Variant:
    found = programs.call((built["exact"], *measure.groups([_checked_at(kernel)])), timeout=60)
    compared = programs.compare(right, found.stdout)
    if found.stderr or not compared.agrees:
        return {
            "failures": [f"another output, {compared.error:.1e} at {compared.place} {found.stderr[:100]}"]
        }
    profile = measure.profile(built["program"], PROBLEMS[kernel], 4)
    kernels = {k["name"]: k["ms_min"] * k["launches"] / 4 for r in profile["regions"] for k in r["kernels"]}
    return {"sizes": PROBLEMS[kernel], "kernels": kernels, "ms": sum(kernels.values()), "failures": []}


def modelled(v: Variant, files: dict[str, Any], device: str) -> dict[str, float]:
    """Milliseconds of each kernel of a variant."""
    from polygpu.compilation import Options  # noqa: PLC0415
    from polygpu.model.decisions import parse  # noqa: PLC0415
    from polygpu.pipeline import File  # noqa: PLC0415
    from polygpu.search.price import price  # noqa: PLC0415

    kernel = v["kernel"]
    if kernel not in files:
        files[kernel] = File(str(programs.source_of(kernel)), Options(device=device))
    made = files[kernel].realise(tuple(d for text in v["decisions"] for d in parse(text)), {})
    found: dict[str, float] = {}
    for r in made.regions:
        if r.region.name.startswith("polygpu_kernel"):
            sizes = _named(kernel, v["sizes"])
            for k, code in enumerate(r.region.kernels):
                found[code.name] = 1e3 * price(r, k, files[kernel].device, sizes).kernels
    return found


def _named(kernel: str, sizes: list[int]) -> dict[str, int]:
    """The arguments of a program by their names; those left out are as the first one."""
    names = programs.parameters_of(kernel)
    return dict(zip(names, [*sizes, *[sizes[0]] * len(names)], strict=False))


def tau(pairs: list[tuple[float, float]]) -> float:
    """Kendall's tau-b without ties: concordant less discordant pairs, over all."""
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for k, a in enumerate(pairs) for b in pairs[k + 1 :]]
    return sum((s > 0) - (s < 0) for s in signs) / max(1, len(signs))


def paired(variants: list[Variant], device: str) -> dict[str, list[tuple[float, float]]]:
    """By kernel and sizes, the modelled and the measured milliseconds of each variant that ran right."""
    files: dict[str, Any] = {}
    pairs: dict[str, list[tuple[float, float]]] = {}
    for v in variants:
        if not v.get("failures"):
            times = modelled(v, files, device)
            pairs.setdefault(_problem(v), []).append((sum(times.values()), v["ms"]))
    return pairs


def _problem(v: Variant) -> str:
    return " ".join([v["kernel"], *map(str, v["sizes"])])


def compare(paths: list[Path], device: str) -> None:
    variants = [v for path in paths for v in json.loads(path.read_text())]
    defaults = {_problem(v): v["ms"] for v in variants if v.get("default") and not v.get("failures")}
    pairs = paired(variants, device)
    for kernel, found in sorted(pairs.items()):
        ratios = [log(m / t) for m, t in found if m < inf]  # the model takes some for too large
        middle = sum(ratios) / len(ratios)
        spread = exp((sum((r - middle) ** 2 for r in ratios) / len(ratios)) ** 0.5)
        least = min(t for _, t in found)
        best = min(found)[1] / least
        default = f", default {defaults[kernel] / least:.2f}" if kernel in defaults else ""
        ratio = f"modelled / measured {exp(middle):5.2f} x/ {spread:4.2f}"
        print(
            f"{kernel:20} {len(found):3} variants  tau {tau(found):5.2f}  {ratio}  choice {best:.2f} of best"
            + default
        )
    together = [p for found in pairs.values() for p in found]
    mean = sum(map(tau, pairs.values())) / len(pairs)
    print(f"{len(together)} variants: tau {tau(together):.3f} of all, {mean:.3f} within kernels on average")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("step", choices=("generate", "measure", "compare"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--kernels", default=",".join(PROBLEMS))
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="h100")
    parser.add_argument("--jobs", type=int, default=16)
    chosen = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    if chosen.step == "generate":
        for stale in PLACE.glob("*_v*"):
            stale.unlink()
        variants = [
            v
            for kernel in chosen.kernels.split(",")
            for v in generate(kernel, chosen.count, chosen.seed, chosen.device)
        ]
        (PLACE / "variants.json").write_text(json.dumps(variants, indent=1))
        print(f"{len(variants)} variants in {PLACE}")
    elif chosen.step == "measure":
        out = os.environ.get("OUT")
        time_all(Path(out) / "variants.json" if out else PLACE / "variants.json", chosen.jobs)
    else:
        compare(chosen.files or [KEPT], chosen.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
