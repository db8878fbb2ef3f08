"""Every point of two spaces of Ryoo et al.'s study, modelled on an 8800 GTX: python -m benchmarks.space

    product   tiles of 4, 8, 12, 16; 1, 2, 4 results a thread; unrolled 1, 2, 4 times, fully; prefetch or not
    mri       32 to 512 threads a block; the loop over samples unrolled 1, 2, 4, 8 times, with the registers
              that the study gives for these: an estimate would not have its cliffs

Prints the points from the fastest on, how each parameter alone goes with the rate (Spearman's correlation of
ranks), and which of the study's findings the model shares; --plot DIRECTORY draws the points.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.model.decisions import parse
from polygpu.perf.resources import registers_of, resident
from polygpu.pipeline import File
from polygpu.search.price import price
from polygpu.support.diagnostics import Diagnosed

HERE = Path(__file__).resolve().parent
DEVICE = "8800gtx"
WIDTH, HEIGHT = 640, 360
REGISTERS = {1: 12, 2: 12, 4: 24, 8: 30}  # of MRI-FHD, by times unrolled

Values: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Experiment:
    """A space: values of its parameters, the decisions that they are, operations of a call in billions."""

    name: str
    source: Path
    sizes: dict[str, int]
    operations: float
    parameters: dict[str, tuple[int, ...]]
    decisions: Callable[[Values], str]


@dataclass(frozen=True)
class Point:
    """`rate` in GFLOP/s; registers of a thread, resident blocks and threads of a multiprocessor."""

    values: dict[str, int]
    rate: float
    registers: int
    blocks: int
    threads: int

    def words(self, experiment: Experiment) -> str:
        return " ".join(f"{name} {self.values[name]}" for name in experiment.parameters)


def _unrolled(count: int) -> str:
    return {0: "full", 1: "none"}.get(count, str(count))


def _product(v: Values) -> str:
    tile, ahead = v["tile"], "prefetch" if v["prefetch"] else "none"
    sizes = f"tile(i: {tile}, j: {tile * v['results']}, k: {tile}) threads(i: {tile}, j: {tile})"
    return f"{sizes} stage(A: k, B: k) buffer({ahead}) unroll({_unrolled(v['unroll'])})"


def _mri(v: Values) -> str:
    sizes = f"tile(i: {v['threads']}, k: 32) threads(i: {v['threads']})"
    staged = "stage(kx: k, ky: k, kz: k, real: k, imaginary: k)"
    return f"{sizes} {staged} unroll({_unrolled(v['unroll'])}) registers({REGISTERS[v['unroll']]})"


EXPERIMENTS = (
    Experiment(
        "product",
        programs.source_of("mm"),
        {"n": 4096, "m": 4096, "p": 4096},
        2 * 4.096**3,
        {"tile": (4, 8, 12, 16), "results": (1, 2, 4), "unroll": (1, 2, 4, 0), "prefetch": (0, 1)},
        _product,
    ),
    Experiment(
        "mri",
        HERE / "mri.c",
        {"n": 1 << 17, "m": 2048},
        36 * 0.131072 * 2.048,
        {"threads": (32, 64, 128, 256, 512), "unroll": (1, 2, 4, 8)},
        _mri,
    ),
)


def points(e: Experiment) -> Iterator[Point]:
    """Those that fit, the fastest first."""
    known = tuple(f"{name}={size}" for name, size in e.sizes.items())
    file = File(str(e.source), Options(device=DEVICE, assume=known))
    found = []
    for chosen in product(*e.parameters.values()):
        values = dict(zip(e.parameters, chosen, strict=True))
        try:
            (r, *_) = file.realise(parse(e.decisions(values)), {}).regions
        except Diagnosed:
            continue
        kernel = r.region.kernels[0]
        cost = price(r, 0, file.device, {})
        if cost.blocks:
            blocks = resident(kernel, file.device).blocks
            threads, registers = blocks * prod(kernel.block), registers_of(kernel, file.device)
            found.append(Point(values, e.operations / cost.kernels, registers, blocks, threads))
    return iter(sorted(found, key=lambda p: -p.rate))


def spearman(pairs: list[tuple[float, float]]) -> float:
    """The correlation of ranks, equal values sharing theirs."""
    ranks = [_ranks([p[side] for p in pairs]) for side in (0, 1)]
    means = [sum(r) / len(r) for r in ranks]
    away = [[x - mean for x in r] for r, mean in zip(ranks, means, strict=True)]
    spread = (sum(x * x for x in away[0]) * sum(y * y for y in away[1])) ** 0.5
    return sum(x * y for x, y in zip(*away, strict=True)) / spread if spread else 0.0


def _ranks(values: list[float]) -> list[float]:
    return [sum(v < x for v in values) + sum(v == x for v in values) / 2 for x in values]


def findings(name: str, found: list[Point]) -> dict[str, bool]:
    """What the study says of the space, and whether it is so here."""
    if name == "product":
        best = {t: max(p.rate for p in found if p.values["tile"] == t) for t in (4, 8, 12, 16)}
        plain = {"results": 1, "tile": 16}
        at = {
            (p.values["unroll"], p.values["prefetch"]): p.rate
            for p in found
            if plain.items() <= p.values.items()
        }
        return {
            "tiles of 4 and 12 are below those of 8 and 16": max(best[4], best[12]) < min(best[8], best[16]),
            "one result a thread: unrolling fully gains most": at[0, 0] == max(at.values()),
            "and prefetching then loses": at[0, 1] < at[0, 0],
            "it is within 5 % of the 91.3 GFLOP/s measured": abs(at[0, 0] / 91.3 - 1) < 0.05,
            "two results in 10 registers: within 10 % of the 120 GFLOP/s estimated": any(
                {"results": 2, "tile": 16, "unroll": 0, "prefetch": 0}.items() <= p.values.items()
                and p.registers == 10
                and abs(p.rate / 120 - 1) < 0.1
                for p in found
            ),
        }
    counts = {(p.values["threads"], p.values["unroll"]): p for p in found}
    return {
        "256 threads: two blocks, two, one, one": [counts[256, u].blocks for u in REGISTERS] == [2, 2, 1, 1],
        "unrolling 8 times, with 64 threads, is best": found[0].values == {"threads": 64, "unroll": 8},
        "threads alone do not tell the rate": abs(spearman([(p.threads, p.rate) for p in found])) < 0.5,
    }


def plot(e: Experiment, found: list[Point]) -> str:
    """Rates over the points, from the fastest on, with the threads of a multiprocessor."""
    most, room = max(p.rate for p in found), WIDTH - 80
    marks = [
        {
            "x": round(60 + room * (k + 0.5) / len(found), 1),
            "y": round(HEIGHT - 40 - (HEIGHT - 60) * p.rate / most, 1),
            "size": round(2 + p.threads / 256, 1),
            "title": f"{p.words(e)}: {p.rate:.1f} GFLOP/s, {p.registers} registers, {p.threads} threads",
        }
        for k, p in enumerate(found)
    ]
    environment = Environment(loader=FileSystemLoader(HERE), undefined=StrictUndefined, autoescape=True)
    return environment.get_template("plot.svg.j2").render(
        name=e.name, width=WIDTH, height=HEIGHT, most=f"{most:.0f}", marks=marks
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plot", type=Path, metavar="DIRECTORY")
    parser.add_argument("--all", action="store_true", help="print all points, not the fastest ten")
    chosen = parser.parse_args()
    for e in EXPERIMENTS:
        found = list(points(e))
        print(f"{e.name}: {len(found)} of {prod(map(len, e.parameters.values()))} points fit")
        for p in found if chosen.all else found[:10]:
            taken = f"{p.registers:3} registers  {p.blocks} x {p.threads // p.blocks}"
            print(f"  {p.rate:6.1f} GFLOP/s  {p.words(e):42} {taken}")
        for name in e.parameters:
            alone = spearman([(p.values[name] or 99, p.rate) for p in found])
            print(f"  rank correlation of {name} and rate {alone:5.2f}")
        for text, holds in findings(e.name, found).items():
            print(f"  {'yes' if holds else 'no '}  {text}")
        if chosen.plot:
            chosen.plot.mkdir(parents=True, exist_ok=True)
            (chosen.plot / f"{e.name}.svg").write_text(plot(e, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
