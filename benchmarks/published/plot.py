"""Modelled over published times on logarithmic axes, as SVG: no library beyond the templates' is needed."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.published.compare import Timed
from benchmarks.published.figures import HERE

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 600, 72, 620, 16, 548
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8b5fbf", "#b8860b", "#444444", "#d1495b", "#00798c")
BAND = 1.2


def svg(timed: Sequence[Timed]) -> str:
    """The text of the picture."""
    environment = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, autoescape=True, trim_blocks=True
    )
    return environment.get_template("plot.svg.j2").render(_layout(timed))


def _layout(timed: Sequence[Timed]) -> dict[str, Any]:
    pairs = [(t, t.published, t.modelled()) for t in timed]
    low = floor(log10(min(min(p, m) for _, p, m in pairs)))
    high = max(ceil(log10(max(max(p, m) for _, p, m in pairs))), low + 1)

    def x(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (log10(value) - low) / (high - low), 2)

    def y(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (log10(value) - low) / (high - low), 2)

    rows = list(dict.fromkeys(t.figure.id for t in timed))
    colours = {row: COLOURS[k % len(COLOURS)] for k, row in enumerate(rows)}
    least, most = 10.0**low, 10.0**high
    corners = [
        (least, least), (least, least * BAND), (most / BAND, most), (most, most),
        (most, most / BAND), (least * BAND, least),
    ]  # fmt: skip
    return {
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM,
        "ticks": [{"x": x(10.0**k), "y": y(10.0**k), "text": _time(k)} for k in range(low, high + 1)],
        "band": " ".join(f"{x(a)},{y(b)}" for a, b in corners),
        "points": [
            {
                "x": x(p), "y": y(m), "colour": colours[t.figure.id],
                "title": f"{t.figure.name}: {t.figure.value:g} published, {t.in_unit(m):.4g} modelled",
            }
            for t, p, m in pairs
        ],
        "legend": [
            {"text": row, "colour": colours[row], "y": TOP + 24 + 18 * k} for k, row in enumerate(rows)
        ],
    }  # fmt: skip


def _time(exponent: int) -> str:
    """A power of ten seconds: `10 ms`."""
    thousands = exponent // 3
    unit = {0: "s", -1: "ms", -2: "us", -3: "ns"}.get(thousands, f"e{3 * thousands} s")
    return f"{10 ** (exponent - 3 * thousands)} {unit}"
