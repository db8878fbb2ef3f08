"""The roofline of a device and where kernels sit under it (Williams et al., CACM 2009).

Both axes are logarithmic: across operations a byte, up operations a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log2
from string import ascii_lowercase

from polygpu.model.device import Device
from polygpu.report.layout import Line, Span, line
from polygpu.report.measures import Measures, basis, peak
from polygpu.report.quantities import significant
from polygpu.support.dataclass import dataclass
from polygpu.support.templates import environment

_COLUMNS, _ROWS, _LABEL = 56, 12, 8
NARROWEST = _LABEL + _COLUMNS + 2  # columns of a drawing
_DOTS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))  # of a braille character, from below


@dataclass(frozen=True, slots=True)
class Mark:
    """A kernel's operations a byte and a second, under a letter; `roof`: what it could reach."""

    letter: str
    name: str
    intensity: float
    rate: float
    roof: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Logarithms to base 2 at the edges."""

    left: int
    right: int
    bottom: int
    top: float

    def across(self, intensity: float) -> float:
        """From 0 at the left edge to 1."""
        return (log2(intensity) - self.left) / (self.right - self.left)

    def up(self, rate: float) -> float:
        return (log2(rate) - self.bottom) / (self.top - self.bottom)


def marks(kernels: Sequence[Measures]) -> list[Mark]:
    """The kernels that compute and move something, lettered; no more than there are letters."""
    drawn = [(k, k.intensity, k.attainable, k.seconds) for k in kernels]
    found = [(k, i, k.operations / s, roof) for k, i, roof, s in drawn if i and s and roof]
    return [
        Mark(letter, k.record["name"], intensity, rate, roof)
        for letter, (k, intensity, rate, roof) in zip(ascii_lowercase, found, strict=False)
    ]


def highest(kernels: Sequence[Measures], device: Device) -> float:
    """The peak to draw: of floats, unless all kernels compute with doubles."""
    return max((k.peak for k in kernels if k.operations), default=peak(device, double=False))


def scale(peak: float, bandwidth: float, kernels: Sequence[Mark]) -> Scale:
    """Edges at powers of two; four octaves either side of the ridge at least, and every kernel.

    A kernel is above the peak where its time was measured on a faster device.
    """
    ridge = log2(peak / bandwidth)
    intensities = [log2(m.intensity) for m in kernels]
    left = floor(min([ridge - 4, *(i - 0.5 for i in intensities)]))
    right = ceil(max([ridge + 4, *(i + 0.5 for i in intensities)]))
    bottom = floor(min([log2(bandwidth) + left, *(log2(m.rate) - 0.5 for m in kernels)]))
    return Scale(left, right, bottom, max([log2(peak), *(log2(m.rate) for m in kernels)]) + 0.5)


def drawing(measures: Sequence[Measures], device: Device, width: int) -> Iterator[Line]:
    """The roof in braille dots, kernels as letters, each with what it leaves of the roof above it.

    Nothing where there are no kernels or less than `NARROWEST` columns.
    """
    kernels, top = marks(measures), highest(measures, device)
    if not kernels or width < NARROWEST:
        return
    s = scale(top, device.bandwidth, kernels)
    cells = _roof(s, top, device.bandwidth)
    for mark in kernels:
        _place(cells, s, mark)
    labels = {row: significant(value / 1e9) for value, row in _rows(s, top)}
    yield line(Span(f"{'GFLOP/s':>{_LABEL}}", "dim"))
    for number, content in enumerate(cells):
        text = labels.get(number, "")
        axis = Span(f"{text:>{_LABEL}} {'┤' if text else '│'}", "dim")
        yield line(axis, *content)
    yield from _bottom(s)
    yield line(" " * (_LABEL + 2), *(Span(f"{m.letter} {m.name}  ") for m in kernels))


def _roof(s: Scale, peak: float, bandwidth: float) -> list[list[Span]]:
    dots = [[0] * _COLUMNS for _ in range(_ROWS)]
    wide, high = 2 * _COLUMNS, 4 * _ROWS
    for x in range(wide):
        intensity = 2 ** (s.left + (x + 0.5) / wide * (s.right - s.left))
        y = int(s.up(min(peak, intensity * bandwidth)) * high)
        if 0 <= y < high:
            dots[_ROWS - 1 - y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return [[Span(chr(0x2800 + d) if d else " ", "label") for d in row] for row in dots]


def _place(cells: list[list[Span]], s: Scale, mark: Mark) -> None:
    """The letter, in the next free column, and a dotted line up to the roof."""
    row, top = (_row(s.up(value)) for value in (mark.rate, mark.roof))
    column = min(int(s.across(mark.intensity) * _COLUMNS), _COLUMNS - 1)
    while cells[row][column].style == "title" and column < _COLUMNS - 1:
        column += 1
    for above in range(top + 1, row):
        if cells[above][column].text == " ":
            cells[above][column] = Span("┊", "dim")
    cells[row][column] = Span(mark.letter, "title")


def _row(up: float) -> int:
    return min(max(_ROWS - 1 - int(up * _ROWS), 0), _ROWS - 1)


def _rows(s: Scale, peak: float) -> Iterator[tuple[float, int]]:
    """The peak's row, and those of powers of ten far enough below."""
    yield peak, _row(s.up(peak))
    for power in range(15, 5, -1):
        up = s.up(10.0**power)
        if up >= 0 and _row(up) > _row(s.up(peak)) + 1:
            yield 10.0**power, _row(up)


def _bottom(s: Scale) -> Iterator[Line]:
    """The axis with a number at every second octave, or at fewer where they come too near."""
    step = next(n for n in (1, 2, 4, 8, 16) if n * _COLUMNS >= 7 * (s.right - s.left))
    rule, numbers = ["─"] * _COLUMNS, [" "] * _COLUMNS
    for octave in range(-(-s.left // step) * step, s.right, step):
        column = int((octave - s.left) / (s.right - s.left) * _COLUMNS)
        text = str(2**octave) if octave >= 0 else f"1/{2**-octave}"
        if column + len(text) <= _COLUMNS:
            rule[column] = "┬"
            numbers[column : column + len(text)] = text
    yield line(Span(f"{'':{_LABEL}} └{''.join(rule)}", "dim"))
    yield line(Span(f"{'':{_LABEL}}  {''.join(numbers).rstrip()} FLOP a byte", "dim"))


_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _FOOT = 720, 460, 70, 690, 20, 400
_COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#b7950b", "#7d3c98", "#ca6f1e", "#117a65", "#5d6d7e")


def roofline_svg(measures: Sequence[Measures], device: Device) -> str:
    """The same as a plot for a file; without kernels the roof alone."""
    kernels, top = marks(measures), highest(measures, device)
    s = scale(top, device.bandwidth, kernels)

    def x(intensity: float) -> float:
        return round(_LEFT + s.across(intensity) * (_RIGHT - _LEFT), 1)

    def y(rate: float) -> float:
        return round(_FOOT - s.up(rate) * (_FOOT - _TOP), 1)

    slope = max(2.0**s.left, 2.0**s.bottom / device.bandwidth)
    octaves = range(s.left, s.right + 1, max(1, (s.right - s.left) // 8))
    return (
        environment()
        .get_template("report/roofline.svg.j2")
        .render(
            size=(_WIDE, _HIGH),
            frame=(_LEFT, _TOP, _RIGHT, _FOOT),
            title=device.title,
            note=basis(measures),
            roof=[
                (x(slope), y(slope * device.bandwidth)),
                (x(top / device.bandwidth), y(top)),
                (_RIGHT, y(top)),
            ],
            roof_text=f"{significant(top / 1e9)} GFLOP/s, {significant(device.bandwidth / 1e9)} GB/s",
            across=[(x(2.0**n), str(2**n) if n >= 0 else f"1/{2**-n}") for n in octaves],
            up=[(y(10.0**n), significant(10.0**n / 1e9)) for n in range(5, 16) if 0 <= s.up(10.0**n) <= 1],
            points=[
                {
                    "x": x(m.intensity),
                    "y": y(m.rate),
                    "roof": y(m.roof),
                    "name": m.name,
                    "text": f"{significant(m.rate / 1e9)} GFLOP/s at {significant(m.intensity)} FLOP a byte",
                    "colour": _COLOURS[n % len(_COLOURS)],
                }
                for n, m in enumerate(kernels)
            ],
        )
    )
