"""Rates, the roofline and its drawings, against figures worked out by hand."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from polygpu import devices
from polygpu.model.facts import CompilationFacts
from polygpu.report.layout import line, plain, wrapped
from polygpu.report.measures import Measures, measured, measures_record
from polygpu.report.roofline import NARROWEST, drawing, marks, roofline_svg
from polygpu.report.run import run_json, run_text
from polygpu.report.terminal import show

GTX = devices.load("8800gtx")
"""16 multiprocessors x 16 operations x 1.35 GHz = 345.6 GFLOP/s; 86.4 GB/s: the ridge is at 4."""

NO_FACTS = CompilationFacts("8800gtx", "emulator", ())
SVG = "{http://www.w3.org/2000/svg}"


def record(name: str, mads: int, ms: float = 1.0, kind: str = "mad", **bytes_moved: int) -> dict[str, Any]:
    """A kernel's record: warps' multiply-adds, measured milliseconds, and what it moved."""
    counters = {"wide_bytes": 0, "near": 0, "far": 0, "requests": 1, "coalesced": 1, "shared_requests": 0,
                "conflict_steps": 0, "divergent": 0, "instructions": {kind: mads}} | bytes_moved  # fmt: skip
    head = {"name": name, "launches": 1, "grid": [1, 1, 1], "block": [32, 1, 1], "ms": ms}
    return head | {"counters": counters}


def of(device: str, *records: dict[str, Any]) -> list[Measures]:
    return [measured(r, devices.load(device), NO_FACTS) for r in records]


def test_rates_and_the_roofline_by_hand() -> None:
    """10^6 warp mads: 64 MFLOP in 1 ms; 1000 x 16 KB and 500 fetches of 32 B."""
    (k,) = of("8800gtx", record("k", 10**6, wide_bytes=16_000_000, near=300, far=200))
    found = measures_record(k)
    assert found["gflop_per_s"] == pytest.approx(64)
    assert found["bytes_moved"] == 16_016_000
    assert found["gb_per_s"] == pytest.approx(16.016)
    roof = found["roofline"]
    assert roof["peak_gflop_per_s"] == pytest.approx(345.6)
    assert roof["bandwidth_gb_per_s"] == pytest.approx(86.4)
    assert roof["ridge_flop_per_byte"] == pytest.approx(4)
    assert roof["intensity_flop_per_byte"] == pytest.approx(64 / 16.016)
    assert roof["attainable_gflop_per_s"] == pytest.approx(86.4 * 64 / 16.016)
    assert roof["share_of_attainable"] == pytest.approx(16.016 / 86.4)
    assert (found["time_s"], found["time_is_modelled"]) == (1e-3, False)


@pytest.mark.parametrize(
    ("device", "kind", "peak"),
    [
        ("gtx285", "mad", 30 * 1.476e9 * 16),
        ("gtx285", "double_mad", 30 * 1.476e9 * 2),  # one double unit a multiprocessor
        ("8800gtx", "double_mad", 345.6e9),  # doubles run as float
    ],
)
def test_the_peak_is_that_of_the_type(device: str, kind: str, peak: float) -> None:
    (k,) = of(device, record("k", 10, kind=kind, wide_bytes=128))
    assert k.peak == pytest.approx(peak)


def test_the_peak_of_a_mixture() -> None:
    """Half of the operations at 16 a cycle, half at 2: 2 / (1/16 + 1/2)."""
    both = record("k", 10, wide_bytes=128)
    both["counters"]["instructions"]["double_mad"] = 10
    (k,) = of("gtx285", both)
    assert k.peak == pytest.approx(30 * 1.476e9 * 2 / (1 / 16 + 1 / 2))


def test_a_kernel_that_computes_nothing_has_no_place() -> None:
    copy = record("copy", 0, wide_bytes=10**6)
    (k,) = of("8800gtx", copy)
    assert (k.intensity, k.attainable, marks([k])) == (None, None, [])
    assert measures_record(k)["roofline"]["share_of_attainable"] is None
    assert not list(drawing([k], GTX, 200))
    text = run_text(document(copy), GTX, NO_FACTS)
    assert "roofline       no floating-point operation: there is nothing but bandwidth" in text


def test_a_kernel_measured_on_a_faster_device_is_above_the_roof() -> None:
    fast = of("8800gtx", record("fast", 54_000_000, wide_bytes=864_000_000))  # ten times the peak
    root = ElementTree.fromstring(roofline_svg(fast, GTX))
    point = next(c for c in root.iter(f"{SVG}circle") if c.find(f"{SVG}title") is not None)
    corner = (next(root.iter(f"{SVG}polyline")).get("points") or "").split()[-1]
    assert 20 < float(point.get("cy") or 0) < float(corner.split(",")[1])


def test_the_drawing_places_kernels_by_their_logarithms() -> None:
    """Octaves -2 to 6 across 56 columns; from 2^34 to 1.41 x peak up 12 rows.

    At the ridge and its peak: column (2 - -2) / 8 x 56 = 28, row 1, under half an octave of 12 / 4.83 rows.
    At 1 FLOP a byte and an eighth of its bandwidth: column 14; log2(10.8e9) = 33.33, so from 2^32 = octave
    33.33 - 0.5 rounded down, the row is 11 - floor((33.33 - 32) / 6.83 x 12) = 9.
    """
    at_ridge = record("k", 5_400_000, wide_bytes=86_400_000)
    below = record("low", 168_750, wide_bytes=10_800_000)
    lines = plain(drawing(of("8800gtx", at_ridge, below), GTX, NARROWEST)).splitlines()
    rows = lines[1:13]
    assert [(row.index("a") - 10) for row in rows if "a" in row] == [28]
    assert [number for number, row in enumerate(rows) if "b" in row] == [9]
    assert rows[9].index("b") - 10 == 14
    assert rows[7][24] == rows[8][24] == "┊"
    assert lines[-1].strip() == "a k  b low"
    assert any(row.lstrip().startswith("346 ┤") for row in rows)
    assert not list(drawing(of("8800gtx", at_ridge), GTX, NARROWEST - 1))


def test_kernels_at_one_place_stand_side_by_side() -> None:
    same = [record(name, 10**6, wide_bytes=64_000_000) for name in ("x", "y", "z")]
    text = plain(drawing(of("8800gtx", *same), GTX, 80))
    assert "abc" in text
    assert "a x  b y  c z" in text


def test_the_plot_has_each_kernel_and_is_xml() -> None:
    """At the ridge on the roof: half way across 70...690; the roof's corner is there too."""
    plot = roofline_svg(of("8800gtx", record("a<b", 5_400_000, wide_bytes=86_400_000)), GTX)
    root = ElementTree.fromstring(plot)
    point = next(c for c in root.iter(f"{SVG}circle") if c.find(f"{SVG}title") is not None)
    assert float(point.get("cx") or 0) == pytest.approx(380)
    title = point.find(f"{SVG}title")
    assert title is not None and title.text == "a<b: 346 GFLOP/s at 4 FLOP a byte"
    roof = next(root.iter(f"{SVG}polyline")).get("points") or ""
    assert f"380.0,{point.get('cy')}" in roof.split()
    assert ElementTree.fromstring(roofline_svg([], GTX)).find(f"{SVG}polyline") is not None


def document(*records: dict[str, Any]) -> dict[str, Any]:
    region = {"name": "r", "calls": 1, "bytes_in": 8, "bytes_out": 4, "kernels": list(records)}
    return {"target": "emulator", "device": "8800gtx", "regions": [region]}


def test_many_kernels_have_a_summary_and_small_ones_only_that() -> None:
    long, short = record("long", 10**6, ms=99.5, wide_bytes=10**6), record("short", 10, ms=0.5, wide_bytes=64)
    text = run_text(document(long, short), GTX, NO_FACTS)
    rows = [row.split("  ") for row in text.splitlines() if row.startswith(("  long", "  short", "  all"))]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["long", "1", "99.5 ms", "> 99 %", "0.643", "0.0101"],
        ["short", "1", "500 us", "< 1 %", "0.00128", "0.000128"],
        ["all", "2", "100 ms"],
    ]
    assert "kernel long" in text and "kernel short" not in text


def test_json_has_the_units_in_its_names() -> None:
    report = json.loads(run_json(document(record("k", 10**6, wide_bytes=10**6)), GTX, NO_FACTS))
    (region,) = report["regions"]
    assert (region["bytes_to_device"], region["bytes_from_device"], region["kernel_time_s"]) == (8, 4, 1e-3)
    assert region["kernels"][0]["gflop_per_s"] == pytest.approx(64)


def test_only_terminals_get_drawings_and_narrow_lines() -> None:
    from polygpu.report.terminal import run_report

    run = document(record("k", 10**6, wide_bytes=10**7))
    shown = {}
    for terminal in (False, True):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        run_report(
            run, GTX, NO_FACTS, Console(file=stream, width=70, force_terminal=terminal, color_system=None)
        )
        stream.seek(0)
        shown[terminal] = stream.read()
    assert shown[False] == run_text(run, GTX, NO_FACTS)
    assert "┤" in shown[True] and "┤" not in shown[False]
    assert max(map(len, shown[True].splitlines())) <= 70 < max(map(len, shown[False].splitlines()))


def test_wrapped_lines_go_on_under_their_last_part() -> None:
    row = line("  ", "name", "  ", "one two three four")
    assert plain(wrapped([row], 20)).splitlines() == ["  name  one two", "        three four"]
    assert plain(wrapped([row], 40)).splitlines() == ["  name  one two three four"]
    late = line("  a much longer beginning", "  ", "tail end")
    assert plain(wrapped([late], 24)).splitlines() == [
        "  a much longer",
        "      beginning  tail",
        "      end",
    ]
    assert plain(wrapped([line("word" * 10)], 8)) == "word" * 10 + "\n"


def test_show_prints_brackets_as_they_are() -> None:
    stream = io.StringIO()
    show([line("a[i] [bold]x")], Console(file=stream, width=40))
    assert stream.getvalue() == "a[i] [bold]x\n"
