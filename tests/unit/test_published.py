"""Published figures: their file, its bindings, and a few of them modelled from the compiler's own kernels."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import programs
from benchmarks.published import __main__ as command
from benchmarks.published import counted
from benchmarks.published.compare import as_factor, compare, error, orders, perturbed
from benchmarks.published.figures import (
    BINDINGS,
    MEASUREMENTS,
    Binding,
    Figure,
    PublishedError,
    bindings,
    bound,
    figures,
    in_unit,
    operations,
    read,
    seconds,
)
from benchmarks.published.plot import svg
from polygpu import devices
from polygpu.compilation import Compilation
from polygpu.model.facts import CompilationFacts
from polygpu.report.explain import explain

KNOWN = bindings(read(BINDINGS))
ALL = figures(read(MEASUREMENTS))


def test_every_figure_is_bound_to_a_kernel_with_its_arguments() -> None:
    assert len(ALL) == 27
    for figure in ALL:
        binding = bound(figure, KNOWN)
        assert binding is not None, figure.name
        if figure.unit != "threads":
            assert tuple(binding.arguments) == programs.parameters_of(binding.kernel)


def test_constants_that_were_fitted_are_told() -> None:
    fitted = {figure.id: figure.fitted for figure in ALL if figure.fitted}
    assert fitted["ics08-mv"] == ("replay", "conflict_in_issue", "translation")
    assert {name for names in fitted.values() for name in names} <= {*devices.COSTS}
    assert "ics08-tmv" not in fitted


def test_keys_fill_arguments_and_decisions() -> None:
    found = {figure.name: bound(figure, KNOWN) for figure in ALL}
    mv, mm = found["ics08-mv 6144 shared"], found["jang-mm 2x256"]
    assert mv is not None
    assert mm is not None
    assert mv.arguments == {"n": "6144", "m": "6144"}
    assert mv.group == "ics08-mv 6144"
    assert mm.decisions.startswith("tile(i: 2, j: 256, k: 2) threads(i: 2, j: 256) ")


def test_rates_are_times() -> None:
    """2 x 4096^3 operations at 46.49 GFLOP/s take 2.956 s."""
    figure = next(f for f in ALL if f.id == "ppopp08-mm-tiled")
    binding = bound(figure, KNOWN)
    assert binding is not None
    assert operations(binding) == 2 * 4096**3
    assert seconds(figure, binding) == pytest.approx(2.956, abs=5e-4)
    assert in_unit(seconds(figure, binding), figure, binding) == pytest.approx(46.49)


def test_errors_treat_factors_alike_in_both_directions() -> None:
    assert error(1, 2) == error(2, 1) == pytest.approx(log(2))
    assert as_factor(log(1.06)) == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "no [[row]]"),
        ({"row": [{"id": "a", "device": "8800gtx"}]}, "row 'a' lacks a figure"),
        ({"row": [{"id": "a", "ms": 1}]}, "row 'a' lacks device"),
        ({"row": [{"id": "a", "device": "8800gtx", "ms": {"x": "fast"}}]}, "'fast' is no positive number"),
        ({"row": [{"id": "a", "device": "8800gtx", "ms": 0}]}, "0 is no positive number"),
    ],
)
def test_a_malformed_file_is_refused(document: dict[str, Any], says: str) -> None:
    with pytest.raises(PublishedError) as caught:
        figures(document)
    assert says in str(caught.value)


def test_a_binding_has_known_fields_only() -> None:
    with pytest.raises(PublishedError, match="binding of 'a'"):
        bindings({"binding": [{"row": "a", "colour": "red"}]})


def test_a_figure_without_a_binding_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other.toml"
    file.write_text('[[row]]\nid = "lbm"\ndevice = "8800gtx"\nms = { small = 3.5 }\n')
    monkeypatch.setattr("sys.argv", ["published", str(file), "--plot", str(tmp_path / "p.svg")])
    assert command.main() == 0
    assert "not bound to a kernel: lbm small" in capsys.readouterr().out


def test_an_unreadable_file_has_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["published", str(tmp_path / "none.toml")])
    assert command.main() == 1
    assert "none.toml" in capsys.readouterr().err


def test_a_few_figures_from_the_compilers_own_kernels() -> None:
    """A staged kernel with conflicts and without, and a stream that coalesces or not."""
    few = [f for f in ALL if f.name in {"ics08-mv 4096 shared", "ics08-mv 4096 padded"} or "stream" in f.id]
    found = compare(few, KNOWN)
    assert len(found.timed) == 4
    for t in found.timed:
        assert error(t.published, t.modelled()) < log(1.1), t.figure.name
    assert all(order.right == order.pairs == 1 for order in orders(found.timed))
    assert [t.limited_by() for t in found.timed] == [
        "stages: bank conflicts", "stages: memory bandwidth", "memory bandwidth", "uncoalesced memory",
    ]  # fmt: skip
    picture = ElementTree.fromstring(svg(found.timed))
    circles = [e for e in picture.iter() if e.tag.endswith("circle")]
    assert len(circles) == 4 + 2  # a point each, and the legend's
    draws = perturbed(found.timed, 20)
    assert draws == sorted(draws) == perturbed(found.timed, 20)
    assert draws[0] < draws[-1]


def test_blocks_of_a_paper_share_the_compilers_grid_out() -> None:
    """At 5120 the compiler's 40 blocks are 2.5 for each of 16: no multiprocessor waits for a third one."""
    row = next(f.row for f in ALL if f.id == "ics08-mv")
    figures = [Figure(row, (n, "padded"), "gflops", 14.0) for n in ("4096", "5120")]
    rates = [t.in_unit(t.modelled()) for t in compare(figures, KNOWN).timed]
    assert rates[1] == pytest.approx(rates[0], rel=0.01)


def test_one_thread_at_a_time_explains_and_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both count the steps of isl, which has one clock: what comes later needs it without an end."""
    alone: list[bool] = []

    def noted(compilation: Compilation) -> CompilationFacts:
        alone.append(counted._COMPILER.locked())
        return explain(compilation)

    monkeypatch.setattr(counted, "explain", noted)
    compare([f for f in ALL if "stream" in f.id], KNOWN)
    assert alone and all(alone)


def test_the_first_binding_that_matches_counts() -> None:
    figure = next(f for f in ALL if f.id == "ics08-tmv")
    general, special = Binding("ics08-tmv", "*"), Binding("ics08-tmv", "*.blocked")
    assert bound(figure, (special, general)) == bound(figure, (Binding("other"), special))
