"""What a search found: the best choices of each nest, why others were pruned, and a plot of all of them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10

from polygpu.compilation import Compilation
from polygpu.printing.dialects import find
from polygpu.report.layout import Line, Span, indented, line, table
from polygpu.report.quantities import count, duration, significant
from polygpu.support.templates import environment
from polygpu.tune.evaluate import text_of
from polygpu.tune.running import Runner
from polygpu.tune.search import Tuned

_BEST = 10  # choices that are shown


def tuned_lines(made: Compilation, found: Iterable[Tuned], runner: Runner | None = None) -> Iterator[Line]:
    """Of each nest: the best choices by their times, of those that take the same the first, and why others
    were pruned. What was not run by a `runner` is modelled.
    """
    by_model = f"{made.device.title}, times of kernels by its model"
    measured = runner is not None and not find(runner.runs.recipe.target).counts
    how = f"{runner.hardware}, times of kernels measured" if measured and runner else by_model
    yield line(Span(f"{made.unit.source}: {how}", "title"))
    if not (measured or made.device.calibrated):
        yield line(Span("no measurement has shown that the model of this device tells choices apart", "bad"))
    for t in found:
        yield ()
        sizes = (f"{name} = {value}" for name, value in sorted(t.subject.chooser.sizes.items()))
        yield from _nest(t, shlex.join(runner.runs.arguments) if runner else ", ".join(sizes))


def _nest(t: Tuned, at: str) -> Iterator[Line]:
    s = t.subject
    yield line(Span(f"nest {s.place}  {s.kernel}" + (f" at {at}" if at else ""), "title"))
    looked, priced = len(t.evaluations), len(t.ranking)
    yield line(f"  {looked:,} of {len(s.space):,} choices looked at, {priced:,} priced")
    if not t.best:
        yield line("  none is faster than what rules choose")
    yield ()
    yield from indented(_ranking(t))
    if t.pruned:
        yield ()
        pruned = [(f"{many:,}", why) for why, many in t.pruned]
        yield from indented(table([(Span("pruned", "label"), ""), *pruned]))


def _ranking(t: Tuned) -> Iterator[Line]:
    """The best that differ in time, beside what rules choose; below, what all of them decide."""
    rules, alike = t.subject.rules, Counter(e.seconds for e in t.ranking)
    shown = list({e.seconds: e for e in reversed(t.ranking)}.values())[: -_BEST - 1 : -1]
    texts = [_each(e.decisions) for e in shown]
    shared = [text for text in texts[0] if all(text in others for others in texts)] if len(texts) > 1 else []
    own = [" ".join(d for d in text if d not in shared) for text in texts]
    rows = [
        (duration(e.seconds), significant(rules / e.seconds), str(alike[e.seconds]), str(e.number), decided)
        for e, decided in zip(shown, own, strict=True)
    ]
    by_rules = (duration(rules), "1", "", "rules", text_of(t.subject.of_rules))
    heads = [Span(h, "label") for h in ("time", "x rules", "alike", "choice", "decisions")]
    yield from table([heads, *rows, by_rules])
    if shared:
        yield line(f"all but rules: {' '.join(shared)}")


def _each(decisions: str) -> list[str]:
    return re.findall(r"\w+\(.*?\)(?= |$)", decisions)


_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _FOOT = 720, 300, 70, 690, 34, 250


def tuned_svg(found: Sequence[Tuned]) -> str:
    """Times of all choices that were priced, the fastest first, beside what rules choose: a panel a nest."""
    panels = [_panel(t) for t in found if t.ranking]
    return (
        environment()
        .get_template("report/tuned.svg.j2")
        .render(size=(_WIDE, _HIGH), frame=(_LEFT, _TOP, _RIGHT, _FOOT), panels=panels)
    )


def _panel(t: Tuned) -> dict[str, object]:
    rules, times = t.subject.rules, [e.seconds for e in t.ranking]
    low, high = floor(log10(min(rules, times[0]))), ceil(log10(max(rules, times[-1]) * 1.001))

    def x(rank: float) -> float:
        return round(_LEFT + (rank + 0.5) / len(times) * (_RIGHT - _LEFT), 1)

    def y(seconds: float) -> float:
        return round(_FOOT - (log10(seconds) - low) / (high - low) * (_FOOT - _TOP), 1)

    faster = sum(seconds < rules for seconds in times)
    return {
        "title": f"{t.subject.kernel}, nest {t.subject.place}",
        "points": [(x(k), y(seconds)) for k, seconds in enumerate(times)],
        "rules": (x(faster - 0.5), y(rules)),
        "rules_text": f"rules: {duration(rules)}, {count(faster)} choices are faster",
        "best_text": f"best: {duration(times[0])}",
        "up": [(y(10.0**n), duration(10.0**n)) for n in range(low, high + 1)],
        "count": f"{len(times):,}",
    }
