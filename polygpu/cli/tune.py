"""`polygpu tune`: searches the choices of each nest for the fastest, by the model or by running them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygpu.cli import console
from polygpu.cli.options import (
    TOLERANCE,
    GccStyleCommand,
    cflags_option,
    input_option,
    pipeline_options,
    program_arguments,
    replay_option,
    sizes_option,
    source_options,
    tolerance_option,
)
from polygpu.cli.outputs import write_all
from polygpu.cli.plan import Plan as Program
from polygpu.runtime.errors import error, writing
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.files import check_writable

if TYPE_CHECKING:
    from polygpu.compilation import Compilation, Options
    from polygpu.tune.evaluate import Evaluate
    from polygpu.tune.plan import Limits, Runs, Task
    from polygpu.tune.running import Runner
    from polygpu.tune.search import Told, Tuned
    from polygpu.tune.subjects import Subject
    from polygpu.tune.workers import Spread

CANDIDATES = 1000
_TOGETHER = 4  # programs that a process builds before they run
MOST = 20_000  # choices of a nest that are all looked at without being asked for by their number

_path = click.Path(dir_okay=False, path_type=Path)


@click.command("tune", cls=GccStyleCommand)
@program_arguments
@click.option(
    "-o",
    "output",
    type=_path,
    metavar="FILE",
    help="Where the best decisions go. [default: FILE.decisions, in the current directory]",
)
@click.option(
    "--strategy",
    type=click.Choice(("random", "exhaustive", "climb")),
    default="random",
    show_default=True,
    help="Which choices are looked at: any, all, or neighbours of good ones.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Choices of a nest that are looked at. [default: {CANDIDATES}; exhaustive: all, of {MOST} at most]",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="What chance begins with.")
@sizes_option("Tune for these sizes, as in n=1000,m=500. [default: typical ones, see explain PG332]")
@click.option(
    "--evaluate",
    type=click.Choice(("model", "run")),
    default="model",
    show_default=True,
    help="What a choice takes: by the device's model at the sizes; or when the program runs with ARGS on "
    "--target, and prints what the original prints (the emulator counts, and the model has times for that).",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="With --evaluate run: run each choice so often and take the median; the emulator counts once.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --evaluate run: end a run after so long. [default: 10 s, and 10 times what rules take]",
)
@tolerance_option("With --evaluate run: by how much printed numbers may differ from the original's.")
@input_option(", with --evaluate run")
@cflags_option
@click.option("--even", is_flag=True, help="Only tiles that divide their loops.")
@click.option(
    "--concurrency",
    type=click.FloatRange(0, 100),
    default=0,
    show_default=True,
    metavar="PERCENT",
    help="Only kernels with so many of the threads that a multiprocessor can hold.",
)
@click.option(
    "--traffic",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    help="Only tiles that load and store up to so much more elements than the tiles that do least.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Evaluate, or build what is run, in so many processes. [default: that of CPUs]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Evaluate by the model on a Dask cluster instead, as in tcp://10.0.0.1:8786; its workers need "
    "polygpu and the file under the same path. Needs polygpu[tune].",
)
@click.option(
    "--log",
    "log_file",
    type=_path,
    metavar="FILE.jsonl",
    help="A line of JSON an evaluation; a search that was ended goes on with it. "
    "[default: FILE.tune.jsonl, beside the decisions]",
)
@click.option("--plot", type=_path, metavar="FILE.svg", help="Plot the times of all choices.")
@click.option(
    "--export",
    type=click.Choice(("kernel-tuner",)),
    help="Search nothing: write FILE_kernel_tuner.py, or -o, with which the library Kernel Tuner does.",
)
@source_options
@replay_option
def command(source: str, arguments: tuple[str, ...], output: Path | None, **values: Any) -> int:
    """Search the choices of each nest for the fastest, by the device's model or by running the program.

    Looks at orders of loops, tiles, threads, points a thread, staged arrays and their buffers, wide copies
    and unrolling; what --decide, --decisions and pragmas decide is kept. Shows the best ten of each nest
    beside what rules choose (-O 1), and writes the best for `polygpu compile --decisions FILE`.
    """
    if arguments and values["evaluate"] != "run":
        raise click.UsageError("ARGS are what the program is run with: they go with --evaluate run")
    if values["export"]:
        script = output or Path(f"{Path(source).stem}_kernel_tuner.py")
        return console.diagnosed(lambda: _export(source, script, values), values["style"])
    output = output or Path(f"{Path(source).stem}.decisions")
    values["log_file"] = values["log_file"] or output.with_name(f"{output.stem}.tune.jsonl")
    _check_paths(Path(source), output, values["log_file"], values["plot"])
    if values["scheduler"] and (values["evaluate"] == "run" or values["workers"]):
        raise click.UsageError("--evaluate run and --workers are of this machine: leave out --scheduler")
    program = Program(source, arguments, values)
    return console.diagnosed(lambda: _tune(program, output), values["style"])


def _check_paths(source: Path, *outputs: Path | None) -> None:
    taken = {source.resolve()}
    for path in (p for p in outputs if p is not None):
        if path.resolve() in taken:
            raise click.UsageError(f"{path} has two meanings; choose another -o, --log or --plot")
        taken.add(path.resolve())


def _export(source: str, output: Path, values: dict[str, Any]) -> int:
    from polygpu.tune.kernel_tuner import COMPILERS, script
    from polygpu.tune.subjects import subjects

    if values["even"] or values["concurrency"] or values["traffic"] is not None:
        raise click.UsageError(
            "Kernel Tuner searches all choices: --even, --concurrency and --traffic are polygpu's"
        )
    if values["target"] not in COMPILERS:
        raise click.UsageError(f"--export kernel-tuner goes with --target {' or '.join(COMPILERS)}")
    options = _options(values)
    with console.progress(f"compiling {source}"):
        made, found = subjects(source, options)
    _check_subjects(source, found, values)
    console.show(made.diagnostics, values["style"])
    write_all({output: script(source, options, found, output)})
    click.echo(f"polygpu: {output}: for `python {output}`, with kernel_tuner and polygpu installed", err=True)
    return 0


def _options(values: dict[str, Any]) -> Options:
    sizes = tuple(f"{name}={size}" for name, size in values["sizes"].items())
    options = pipeline_options(values)
    return replace(options, assume_typical=(*options.assume_typical, *sizes))


def _tune(program: Program, output: Path) -> int:
    from polygpu.report.terminal import print_lines
    from polygpu.report.tuned import tuned_lines, tuned_svg
    from polygpu.tune.plan import Task
    from polygpu.tune.result import result
    from polygpu.tune.subjects import subjects

    source, values = program.source, program.values
    with writing():
        for path in (output, *([values["plot"]] if values["plot"] else [])):
            check_writable(path)
    options = _options(values)
    task = Task(source, options, _limits(values), _runs(program))
    with console.progress(f"compiling {source}"):
        made, found = subjects(source, options)
    if made.diagnostics or values["style"] != "text":
        console.show(made.diagnostics, values["style"])
    tuned, runner = _searched(task, made, found, values)
    texts = {output: result(tuned)}
    if values["plot"]:
        texts[values["plot"]] = tuned_svg(tuned)
    write_all(texts)
    print_lines(tuned_lines(made, tuned, runner))
    click.echo(f"polygpu: {output}: for `polygpu compile --decisions {output} {source}`", err=True)
    return 0


def _limits(values: dict[str, Any]) -> Limits:
    from polygpu.tune.plan import Limits

    return Limits(values["even"], values["concurrency"], values["traffic"])


def _runs(program: Program) -> Runs | None:
    """How choices are run. Raises Diagnosed where they cannot be."""
    from polygpu import devices
    from polygpu.printing import dialects
    from polygpu.runtime import build
    from polygpu.tune.plan import Runs

    values = program.values
    if values["evaluate"] != "run":
        return None
    build.check_target(values["target"])
    capability = devices.load(values["device"]).compute_capability if values["device"] else ""
    recipe = program.recipe(values["target"], Path(program.source).parent, compute_capability=capability)
    times = 1 if dialects.find(values["target"]).counts else values["repeat"]
    tolerance = TOLERANCE if values["tolerance"] is None else values["tolerance"]
    return Runs(recipe, program.arguments, values["stdin"], times, values["timeout"], tolerance)


def _searched(
    task: Task, made: Compilation, found: Sequence[Subject], values: dict[str, Any]
) -> tuple[tuple[Tuned, ...], Runner | None]:
    from polygpu.tune.log import head_of, opened
    from polygpu.tune.plan import Plan
    from polygpu.tune.search import searched

    _check_subjects(task.path, found, values)
    exhaustive = values["strategy"] == "exhaustive"
    candidates = values["candidates"] or (MOST if exhaustive else CANDIDATES)
    plan = Plan(values["strategy"], candidates, values["seed"], task.limits)
    count = values["workers"] or os.cpu_count() or 1
    with (
        _spread(task, count, values["scheduler"]) as spread,
        _evaluator(task, found, spread, count) as (evaluate, launched, runner),
        opened(values["log_file"], head_of(plan, made, found, runner)) as log,
        console.steps() as say,
    ):
        return searched(launched, plan, evaluate, log, _told(plan.candidates, say)), runner


def _spread(task: Task, count: int, scheduler: str | None) -> AbstractContextManager[Spread]:
    from polygpu.tune.workers import cluster, workers

    return cluster(task, scheduler) if scheduler else workers(task, count)


@contextmanager
def _evaluator(
    task: Task, found: Sequence[Subject], spread: Spread, count: int
) -> Iterator[tuple[Evaluate, Sequence[Subject], Runner | None]]:
    """What evaluates choices, of which subjects, and what runs them if anything does."""
    from polygpu.tune.evaluate import by_model
    from polygpu.tune.running import runner

    if task.runs is None:
        yield by_model(spread), found, None
        return
    with tempfile.TemporaryDirectory(prefix="polygpu-") as place:
        directory = Path(place)
        with console.progress("building and running the original and what rules choose"):
            run, launched = runner(task.runs, found, directory)
        yield run.evaluate(spread, directory, _TOGETHER * count), launched, run


def _check_subjects(source: str, found: Sequence[Subject], values: dict[str, Any]) -> None:
    """Raises Diagnosed where there is nothing to search, or too much."""
    if not found:
        text = f"no nest of {source} has choices that the model can price"
        advice = "smaller sizes (--size) are sooner looked at; see `polygpu explain PG913`"
        raise Diagnosed(error("PG913", text, advice))
    most = values["candidates"] or MOST
    large = [s for s in found if len(s.space) > most]
    if values["strategy"] == "exhaustive" and large:
        text = f"there are {len(large[0].space):,} choices for the nest {large[0].place}, more than {most:,}"
        advice = "ask for that many with --candidates, or search by another --strategy"
        raise Diagnosed(error("PG914", text, advice))


def _told(candidates: int, say: Callable[[str], None]) -> Told:
    """Says how far the search is, and the least seconds so far beside those of what rules choose."""
    from polygpu.report.quantities import duration, significant

    def told(s: Subject, done: int, least: float) -> None:
        ratio = f"best {duration(least)}, {significant(s.rules / least)} x rules"
        best = ratio if least < inf else "no time yet"
        say(f"nest {s.place}: {done:,}/{min(candidates, len(s.space)):,}, {best}")

    return told
