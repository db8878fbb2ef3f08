"""Prints published and modelled figures side by side, and draws them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

from benchmarks import programs
from benchmarks.published import __doc__ as usage
from benchmarks.published.compare import (
    Comparison,
    Timed,
    as_factor,
    compare,
    error,
    mean_error,
    orders,
    perturbed,
)
from benchmarks.published.figures import BINDINGS, MEASUREMENTS, PublishedError, bindings, figures, read
from benchmarks.published.plot import svg
from polygpu.support.diagnostics import Diagnosed


def report(found: Comparison) -> Iterator[str]:
    yield f"{'':34}{'published':>10} {'modelled':>10} {'ratio':>7}  limited by"
    for table in dict.fromkeys(t.figure.id for t in found.timed):
        rows = [t for t in found.timed if t.figure.id == table]
        yield from map(_row, rows)
        yield f"  {table}: mean error {mean_error(rows):.1%}"
    for r in found.resident:
        ratio = r.modelled / r.figure.value
        yield f"{r.figure.name:34}{r.figure.value:10.0f} {r.modelled:10.0f} {ratio:7.3f}  resident threads"
    yield ""
    yield from _summary(found.timed)
    yield from (f"not bound to a kernel: {figure.name}" for figure in found.unbound)


def _row(t: Timed) -> str:
    modelled = t.modelled()
    published = t.figure.value
    found = t.in_unit(modelled)
    unit = {"gflops": "GFLOP/s"}.get(t.figure.unit, t.figure.unit)
    numbers = f"{published:10.4g} {found:10.4g} {found / published:7.3f}"
    return f"{t.figure.name:34}{numbers}  {unit}, {t.limited_by()}"


def _summary(timed: tuple[Timed, ...]) -> Iterator[str]:
    if not timed:
        yield "no figure is timed"
        return
    errors = {t.figure.name: error(t.published, t.modelled()) for t in timed}
    worst = max(errors, key=lambda name: errors[name])
    mean = as_factor(fmean(errors.values()))
    yield f"{len(timed)} figures: mean error {mean:.1%}, largest {as_factor(errors[worst]):.1%} ({worst})"
    rest = [t for t in timed if not t.figure.fitted]
    if 0 < len(rest) < len(timed):
        yield f"{len(rest)} of them that no constant was fitted to: mean error {mean_error(rest):.1%}"
    for order in orders(timed):
        verdict = "right" if order.right == order.pairs else f"wrong in {order.pairs - order.right} pairs"
        yield f"order of {order.group}: {verdict} ({order.pairs} pairs)"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published",
        description=usage,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("measurements", type=Path, nargs="?", default=MEASUREMENTS)
    parser.add_argument("--bindings", type=Path, default=BINDINGS, help="what stands for the figures")
    parser.add_argument("--plot", type=Path, default=Path("published.svg"), help="default: published.svg")
    parser.add_argument(
        "--perturb", type=int, default=0, metavar="N", help="move all costs by +-20 %%, N times"
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    try:
        found = compare(figures(read(chosen.measurements)), bindings(read(chosen.bindings)))
    except (PublishedError, programs.ProgramError, Diagnosed) as problem:
        print(f"published: {problem}", file=sys.stderr)
        return 1
    print("\n".join(report(found)))
    if found.timed:
        chosen.plot.write_text(svg(found.timed), encoding="utf-8")
        print(f"plot: {chosen.plot}")
    if chosen.perturb and found.timed:
        errors = perturbed(found.timed, chosen.perturb, seed=chosen.seed)
        below = sum(e < 0.12 for e in errors) / len(errors)
        print(f"costs moved by +-20 %, {len(errors)} draws: mean error below 12 % in {below:.0%}, "
              f"median {median(errors):.1%}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
