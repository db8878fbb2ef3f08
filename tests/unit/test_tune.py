"""Searches of `polygpu tune`: strategies, logs that searches go on with, what is pruned, what is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from polygpu import cli, devices
from polygpu.compilation import Options
from polygpu.model.decisions import Place, listing
from polygpu.pipeline import compile_file
from polygpu.report.layout import plain
from polygpu.report.tuned import tuned_lines
from polygpu.search.space import Nest, Space
from polygpu.support.diagnostics import Diagnosed
from polygpu.tune.evaluate import by_model, evaluated
from polygpu.tune.log import head_of, opened
from polygpu.tune.plan import Limits, Plan, Task
from polygpu.tune.result import result
from polygpu.tune.search import Tuned, searched
from polygpu.tune.strategies import STRATEGIES, Strategy
from polygpu.tune.subjects import Subject, subjects
from polygpu.tune.workers import workers

SUM = """\
void add(int n, float y[restrict n], float x[restrict n])
{
    for (int i = 0; i < n; i++)
        y[i] += x[i];
}
"""
SCALE = """\
void scale(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = B[j][i] * 2.0f;
}
"""
PRODUCT = """\
void product(int n, int m, float C[restrict n][m], float A[restrict n][n], float B[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
"""
SIZES = ("n=500", "m=512")
NEST = Nest(0, Place(1), ("i", "j"), ("k",), ("A",), {})
SPACE = Space(NEST, devices.load("8800gtx"))


def asked(strategy: Strategy, count: int, seed: int, seconds: Callable[[int], float]) -> list[int]:
    """The choices of `SPACE` that a strategy looks at, in its order."""
    asking, found = strategy(SPACE, count, Random(seed)), []
    numbers = next(asking, None)
    while numbers is not None:
        found += numbers
        try:
            numbers = asking.send({n: seconds(n) for n in numbers})
        except StopIteration:
            break
    return found


def distance(number: int) -> float:
    """From the choice that has the value in the middle of each dimension."""
    total = 1.0
    for values in SPACE.dimensions:
        number, k = divmod(number, len(values))
        total += abs(k - len(values) // 2)
    return total


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("seconds", [distance, lambda number: inf], ids=["some", "none"])
def test_strategies_look_at_so_many_choices_each_once(name: str, seconds: Callable[[int], float]) -> None:
    found = asked(STRATEGIES[name], 500, 1, seconds)
    assert len(found) == len(set(found)) == 500
    assert set(found) <= set(range(len(SPACE)))
    assert found == asked(STRATEGIES[name], 500, 1, seconds)


def test_fewer_random_choices_are_the_first_of_more() -> None:
    few, more = (asked(STRATEGIES["random"], count, 1, distance) for count in (100, 1500))
    assert more[:100] == few
    assert few != asked(STRATEGIES["random"], 100, 2, distance)


@pytest.mark.parametrize("name", ["random", "exhaustive"])
def test_all_choices_are_looked_at_where_that_many_are_asked_for(name: str) -> None:
    assert sorted(asked(STRATEGIES[name], len(SPACE) + 1, 1, distance)) == list(range(len(SPACE)))


def test_a_climb_arrives_at_the_top() -> None:
    climbed, drawn = (asked(STRATEGIES[name], 600, 1, distance) for name in ("climb", "random"))
    assert min(map(distance, climbed)) == 1 < min(map(distance, drawn))


def prepared(directory: Path, text: str, limits: Limits = Limits(), *decisions: str) -> Task:  # noqa: B008
    path = directory / "k.c"
    path.write_text(text)
    names = [size for size in SIZES if f"int {size[0]}," in text]
    options = Options(device="8800gtx", assume_typical=tuple(names), decisions=decisions)
    return Task(str(path), options, limits)


def search(
    task: Task,
    log: Path,
    plan: Plan = Plan("random", 40, 0, Limits()),  # noqa: B008
    count: int = 1,
    told: Callable[[Subject, int, float], None] = lambda s, done, least: None,
) -> tuple[Tuned, ...]:
    made, found = subjects(task.path, task.options)
    with opened(log, head_of(plan, made, found)) as file, workers(task, count) as spread:
        return searched(found, plan, by_model(spread), file, told)


def test_random_choices_that_are_all_choices_find_the_least(tmp_path: Path) -> None:
    """And no choice takes less than the best."""
    task = prepared(tmp_path, SUM)
    (drawn,) = search(task, tmp_path / "1", Plan("random", 600, 0, Limits()))
    (every,) = search(task, tmp_path / "2", Plan("exhaustive", 600, 0, Limits()))
    (climbed,) = search(task, tmp_path / "3", Plan("climb", 200, 0, Limits()))
    assert len(every.evaluations) == len(every.subject.space) == 600
    assert drawn.ranking == every.ranking
    least = min(e.seconds for e in every.evaluations)
    assert (
        every.ranking[0].seconds
        == least
        == evaluated(every.subject, every.ranking[0].number, Limits()).seconds
    )
    assert len(climbed.evaluations) == 200
    assert climbed.ranking[0].seconds < 1.01 * least


def test_any_number_of_workers_finds_the_same(tmp_path: Path) -> None:
    task = prepared(tmp_path, SCALE)
    search(task, tmp_path / "1")
    search(task, tmp_path / "2", count=2)
    search(task, tmp_path / "other", Plan("random", 40, 1, Limits()))
    one, two, other = ((tmp_path / name).read_text() for name in ("1", "2", "other"))
    assert one == two
    assert one.splitlines()[1:] != other.splitlines()[1:]
    assert len(one.splitlines()) == 1 + 40


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("after", [0, 1, 33])
def test_a_search_that_was_ended_goes_on(strategy: str, after: int, tmp_path: Path) -> None:
    task, plan = prepared(tmp_path, SUM), Plan(strategy, 60, 0, Limits())
    whole = search(task, tmp_path / "whole", plan)
    log = tmp_path / "log"

    def ending(s: Subject, done: int, least: float) -> None:
        if done > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(task, log, plan, told=ending)
    assert len(log.read_text().splitlines()) == 1 + after + 1
    log.write_text(log.read_text() + '{"kernel": "add_0_k0", "num')
    again = search(task, log, plan)
    assert log.read_text() == (tmp_path / "whole").read_text()
    assert again[0].evaluations == whole[0].evaluations
    before = log.stat().st_mtime_ns
    search(task, log, plan)
    assert log.stat().st_mtime_ns == before


def test_what_the_log_has_is_believed(tmp_path: Path) -> None:
    """It is not evaluated again: another time there is another time here."""
    task, log = prepared(tmp_path, SUM), tmp_path / "log"
    (found,) = search(task, log)
    lines = log.read_text().splitlines()
    best = found.ranking[0]
    k = next(k for k, text in enumerate(lines) if json.loads(text).get("number") == best.number)
    lines[k] = json.dumps(json.loads(lines[k]) | {"seconds": best.seconds / 2})
    log.write_text("".join(f"{text}\n" for text in lines))
    (again,) = search(task, log)
    assert again.ranking[0].seconds == best.seconds / 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"polygpu tune": "0"}\n', "is the log of another search"),
        ("int main;\n", "is no log of `polygpu tune`: line 1"),
        ("int main;", "is no log of `polygpu tune`: line 1"),
        ("HEAD{}\n", "is no log of `polygpu tune`: line 2"),
        ("HEAD7\n", "is no log of `polygpu tune`: line 2"),
    ],
)
def test_files_that_are_no_log_of_the_search_are_left_alone(text: str, said: str, tmp_path: Path) -> None:
    task, log = prepared(tmp_path, SUM), tmp_path / "log"
    search(task, log)
    log.write_text(text.replace("HEAD", log.read_text().splitlines(keepends=True)[0]))
    before = log.read_text()
    with pytest.raises(Diagnosed, match=said) as caught:
        search(task, log)
    assert caught.value.diagnostics[0].id == "PG915"
    assert log.read_text() == before


@pytest.mark.parametrize("change", ["source", "seed", "sizes", "options", "pruned", "strategy"])
def test_a_log_of_another_search_says_what_differs(change: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    search(prepared(tmp_path, SUM), log)
    task = prepared(tmp_path, SUM.replace("x[i]", "2 * x[i]") if change == "source" else SUM)
    if change == "sizes":
        task = Task(task.path, Options(device="8800gtx", assume_typical=("n=600",)), Limits())
    if change == "options":
        task = prepared(tmp_path, SUM, Limits(), "unroll(2)")
    limits = Limits(even=change == "pruned")
    strategy = "climb" if change == "strategy" else "random"
    with pytest.raises(Diagnosed, match=f"another search: {change} ") as caught:
        search(task, log, Plan(strategy, 40, 3 if change == "seed" else 0, limits))
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize("strategy", ["random", "climb"])
def test_a_search_can_be_made_longer(strategy: str, tmp_path: Path) -> None:
    task = prepared(tmp_path, SUM)
    search(task, tmp_path / "log", Plan(strategy, 20, 0, Limits()))
    search(task, tmp_path / "log", Plan(strategy, 40, 0, Limits()))
    search(task, tmp_path / "once", Plan(strategy, 40, 0, Limits()))
    assert (tmp_path / "log").read_text() == (tmp_path / "once").read_text()


def test_pruned_choices_are_counted_by_reasons_without_numbers(tmp_path: Path) -> None:
    (found,) = search(prepared(tmp_path, SCALE), tmp_path / "log", Plan("random", 60, 0, Limits()))
    reasons = dict(found.pruned)
    assert sum(reasons.values()) + len(found.ranking) == 60
    assert {"less than a warp", "another name of a choice"} < reasons.keys()
    assert all(e.seconds == inf for e in found.evaluations if e.pruned)


def tile(s: Subject, number: int) -> dict[str, int]:
    return next(
        {name: int(size or 0) for name, size in d.items} for d in s.decisions(number) if d.key == "tile"
    )


def test_refusals_with_other_numbers_are_one_reason(tmp_path: Path) -> None:
    """Tiles of A of 128 or 256 rows and 64 columns have 32 or 64 KiB; 16 KiB are there."""
    task = prepared(tmp_path, PRODUCT)
    _, (s,) = subjects(task.path, task.options)
    staged = [n for n in range(0, len(s.space), 11) if s.space[n].staged == ("A",)]
    large = [
        n
        for n in staged
        if tile(s, n)["i"] in (128, 256) and tile(s, n)["k"] == 64 and not s.space.why_not(s.space[n])
    ]
    found = [evaluated(s, n, Limits()).pruned for n in large[:: len(large) // 9]]
    assert set(found) == {"refused: the tile of 'A' takes N bytes of shared memory; the device has N left"}


def test_a_tile_is_even_if_it_divides_the_loop(tmp_path: Path) -> None:
    """500 iterations of i, 512 of j: tiles are powers of 2."""
    _, (s,) = subjects(prepared(tmp_path, SCALE).path, prepared(tmp_path, SCALE).options)
    assert s.extents == {"i": 500, "j": 512}
    for number in range(0, len(s.space), 97):
        tiles = tile(s, number)
        assert s.uneven(s.space[number]) == (tiles["i"] not in (1, 2, 4) or tiles["j"] > 512)


def test_what_persons_decide_is_no_choice(tmp_path: Path) -> None:
    """Not even one that a limit prunes: choices that differ in nothing else are looked at once."""
    task = prepared(
        tmp_path, SUM, Limits(even=True), "tile(i: 96) threads(i: 96) order(i) deal(i: 1) stage()"
    )
    (found,) = search(task, tmp_path / "log", Plan("exhaustive", 600, 0, task.limits))
    assert {e.decisions for e in found.ranking} == {
        f"buffer(none) wide(0) unroll({value})" for value in ("auto", "full", 4)
    }
    assert dict(found.pruned).keys() == {
        "less than a warp", "another name of a choice", "the decisions of another choice"
    }  # fmt: skip


def test_everything_may_be_decided(tmp_path: Path) -> None:
    """Then there is one choice, which is no faster than itself."""
    task = prepared(tmp_path, SUM)
    made, _ = subjects(task.path, task.options)
    listed = listing(nest for r in made.regions for nest in r.taken)
    task = Task(task.path, replace(task.options, replayed=listed), Limits())
    found = search(task, tmp_path / "log")
    assert [e.decisions for e in found[0].ranking] == [""]
    assert found[0].best == ()
    shown = plain(tuned_lines(made, found))
    assert re.search(r"x rules +alike +choice +decisions\n .* 1 +1 +\d+\n .* 1 +rules\n", shown)


def test_limits_prune(tmp_path: Path) -> None:
    limits = Limits(even=True, concurrency=50)
    task = prepared(tmp_path, SCALE, limits)
    (found,) = search(task, tmp_path / "log", Plan("random", 150, 0, limits))
    assert {"uneven: tiles that do not divide their loops", "concurrency below 50 %"} < dict(
        found.pruned
    ).keys()
    assert found.ranking
    for e in found.ranking:
        assert not found.subject.uneven(found.subject.space[e.number])


def test_the_result_compiles_to_the_best_kernel(tmp_path: Path) -> None:
    """What a person decided is in it, whatever the choices would be."""
    task = prepared(tmp_path, SCALE, Limits(), "unroll(2)")
    found = search(task, tmp_path / "log", Plan("climb", 100, 0, Limits()))
    (t,) = found
    text = result(found)
    made = compile_file(task.path, Options(device="8800gtx", replayed=text))
    ((nest,),) = (r.taken for r in made.regions)
    taken = {t.decision.key: t.decision for t in nest}
    assert "unroll(2)" in text
    assert "# search" in text
    assert taken["unroll"].value == 2
    assert t.best
    assert "unroll" not in {d.key for d in t.best}
    for d in (d for d in t.best if d.key in {"order", "tile", "threads", "buffer"}):
        assert dict(taken[d.key].items) == dict(d.items)
    _, (again,) = subjects(task.path, Options(device="8800gtx", replayed=text, assume_typical=SIZES))
    assert again.rules == t.ranking[0].seconds


def test_rules_are_kept_where_no_choice_is_faster(tmp_path: Path) -> None:
    task = prepared(tmp_path, SCALE, Limits())
    (t,) = found = search(task, tmp_path / "log", Plan("random", 3, 5, Limits()))
    slow = tuple(e for e in t.evaluations if e.seconds >= t.subject.rules)
    found = (Tuned(t.subject, slow),)
    assert found[0].best == ()
    assert "# search" not in result(found)
    made, _ = subjects(task.path, task.options)
    assert "none is faster than what rules choose" in plain(tuned_lines(made, found))


def test_traffic_is_that_of_tiles(tmp_path: Path) -> None:
    """Of a product of 500 x 500 by 500 x 512 each element of A is loaded for each tile of j, and so on."""
    task = prepared(tmp_path, PRODUCT)
    _, (s,) = subjects(task.path, task.options)

    def moved(i: int, j: int) -> float:
        return 500 * 512 * 500 * (1 / min(i, 500) + 1 / min(j, 512)) + 2 * 500 * 512

    for number in range(0, len(s.space), 9973):
        tiles = tile(s, number)
        assert s.moved.elements(tiles) == pytest.approx(moved(tiles["i"], tiles["j"]), rel=1e-5)
        assert s.traffic(s.space[number]) == pytest.approx(
            moved(tiles["i"], tiles["j"]) / moved(128, 128), rel=1e-5
        )


def test_traffic_prunes_before_a_choice_is_made(tmp_path: Path) -> None:
    task, plan = prepared(tmp_path, PRODUCT), Plan("random", 200, 0, Limits(traffic=50))
    (found,) = search(task, tmp_path / "log", plan)
    why = "traffic over 50 % above the least"
    assert dict(found.pruned)[why] > 5
    for e in found.evaluations:
        traffic = found.subject.traffic(found.subject.space[e.number])
        assert (e.pruned != why or traffic > 1.5) and (traffic <= 1.5 or e.pruned)


def test_tiles_of_persons_move_what_they_move(tmp_path: Path) -> None:
    task = prepared(tmp_path, SCALE, Limits(traffic=0), "tile(i: 2, j: 2)")
    _, (s,) = subjects(task.path, task.options)
    assert {s.traffic(s.space[number]) for number in range(0, len(s.space), 997)} == {1.0}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("k.c").write_text(SCALE)
    return "k.c"


TUNE = ["tune", "-d", "8800gtx", "--workers", "1", "--size", ",".join(SIZES)]


def test_the_command(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([*TUNE, source, "--candidates", "60", "--plot", "k.svg"]) == 0
    said = capfd.readouterr()
    assert sorted(p.name for p in Path().iterdir()) == ["k.c", "k.decisions", "k.svg", "k.tune.jsonl"]
    assert "nest 5  scale_0_k0 at m = 512, n = 500\n  60 of " in said.out
    assert said.err.endswith("polygpu: k.decisions: for `polygpu compile --decisions k.decisions k.c`\n")
    lines = [json.loads(text) for text in Path("k.tune.jsonl").read_text().splitlines()]
    times = [line["seconds"] for line in lines if "seconds" in line]
    assert f", {len(times)} priced\n" in said.out
    svg = ElementTree.parse("k.svg").getroot()
    assert len(svg.findall(".//{http://www.w3.org/2000/svg}circle")) == len(times) + 1
    assert (
        cli.invoke(["compile", "-d", "8800gtx", "--offload", "always", "--decisions", "k.decisions", source])
        == 0
    )


def test_a_terminal_shows_how_far_the_search_is(
    source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert cli.invoke([*TUNE, source, "--candidates", "20"]) == 0
    shown = capsys.readouterr().err
    assert "\r\x1b[Kpolygpu: nest 5: 0/20, no time yet" in shown
    assert "\r\x1b[Kpolygpu: k.decisions: for" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--size", "q=3"], 1, "no region reads an integer 'q'"),
        (
            ["--strategy", "exhaustive", "--candidates", "10"],
            1,
            "choices for the nest 5, more than 10 [PG914]",
        ),
        (["--log", "k.c"], 2, "k.c has two meanings"),
        (["-o", "no/k.decisions"], 1, "cannot write no/k.decisions"),
        (["--plot", "no/k.svg"], 1, "cannot write no/k.svg"),
        (["--log", "no/k.jsonl"], 1, "cannot write no/k.jsonl"),
        (["--decide", "tile(q: 4)"], 1, "there is no loop 'q'"),
    ],
)
def test_bad_input_writes_nothing(
    arguments: list[str], status: int, said: str, source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke([*TUNE, source, *arguments]) == status
    error = capfd.readouterr().err
    assert said in error
    assert error.count("rror: ") == 1
    assert [p.name for p in Path().iterdir()] == ["k.c"]


def test_there_may_be_nothing_to_tune(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = "for (int i = 1; i < n; i++) x[i] += x[i - 1];"
    Path(source).write_text(f"void f(int n, float x[n])\n{{\n#pragma scop\n{text}\n#pragma endscop\n}}\n")
    assert cli.invoke(["tune", "-d", "8800gtx", source]) == 1
    assert "has choices that the model can price [PG913]" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["mm", "jacobi-2d", "doitgen"])
def test_searches_of_benchmarks_beat_rules(kernel: str, tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "benchmarks/kernels" / f"{kernel}.c"
    task = Task(str(path), Options(device="8800gtx"), Limits())
    found = search(task, tmp_path / "log", Plan("climb", 400, 0, Limits()))
    assert any(t.best for t in found)
    text = result(found)
    _, again = subjects(str(path), Options(device="8800gtx", replayed=text))
    for before, after in zip(found, again, strict=True):
        assert after.rules <= before.subject.rules
