"""`polygpu run`: compile, build, run the whole program, check it, report on it."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from polygpu.cli import console
from polygpu.cli.options import (
    TOLERANCE,
    GccStyleCommand,
    cflags_option,
    input_option,
    program_arguments,
    replay_option,
    roofline_option,
    source_options,
    tolerance_option,
)
from polygpu.cli.outputs import write_all
from polygpu.cli.plan import Plan
from polygpu.printing import dialects
from polygpu.runtime.errors import error, writing

if TYPE_CHECKING:
    from polygpu.compilation import Compilation
    from polygpu.runtime.build import Recipe
    from polygpu.runtime.compare import Comparison, Difference
    from polygpu.runtime.execute import Execution
    from polygpu.support.diagnostics import Diagnostic

DIFFERENT = 3
ON_STDERR, ON_STDOUT = "stderr", "-"
SHOWN = 12  # lines of the output that a terminal gets of a program that is checked


@click.command("run", cls=GccStyleCommand, optional={"--json": ON_STDERR})
@program_arguments
@source_options
@replay_option
@click.option(
    "-o", "output", default=None, metavar="DIR/", help="Keep the generated files and the program in DIR."
)
@click.option("--check", is_flag=True, help="Run the original too, and compare what both print.")
@tolerance_option("The relative difference of two numbers that --check accepts.")
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="REGEX",
    callback=lambda _context, _option, patterns: _compiled(patterns),
    help="Lines that --check leaves out of the comparison; of a REGEX with named groups, what these match.",
)
@input_option("; with --check, it reads nothing by default")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End the program after so long.",
)
@cflags_option
@click.option(
    "--model-only",
    is_flag=True,
    help="Emulator: run few blocks of each launch and count for all; what the program prints is left out.",
)
@click.option(
    "--json",
    "json_file",
    metavar="[=FILE]",
    help="The report as JSON, on standard error or into FILE; with '-' on standard output, where the "
    "program then prints on standard error. See the README.",
)
@roofline_option
@click.option("-q", "--quiet", is_flag=True, help="No report.")
def command(source: str, arguments: tuple[str, ...], **values: Any) -> int:  # fmt: skip
    """Compile FILE.c, build the program, run it with ARGS and report on its kernels.

    The program's output and exit status are passed through; the report goes to standard error. With --check
    the status is 3 when the program does not print what the original prints.

    The report has each kernel's time, rates, place under the roofline, occupancy and costliest accesses. The
    emulator counts, and times are modelled, with what launching takes beside them. On a GPU (--target cuda
    or opencl) times are measured, without what launching takes; what --device would count is predicted.
    """
    if values["model_only"] and (values["check"] or not dialects.find(values["target"]).counts):
        raise click.UsageError("--model-only goes with --target emulator, and not with --check")
    plan = Plan(source, arguments, values)
    return console.diagnosed(lambda: _run(plan), values["style"])


def _compiled(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Raises click.BadParameter for what is no regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise click.BadParameter(f"'{pattern}': {problem}") from None
    return patterns


def _run(plan: Plan) -> int:
    if plan.values["output"] is not None:
        directory = Path(plan.values["output"])
        with writing():
            directory.mkdir(parents=True, exist_ok=True)
        return _run_in(directory, plan)
    with tempfile.TemporaryDirectory(prefix="polygpu-") as temporary:
        return _run_in(Path(temporary), plan)


def _run_in(directory: Path, plan: Plan) -> int:
    """Compiles and builds in `directory`, runs in the user's current one; the program's exit status, or 3."""
    from polygpu.cli.compile import compile_source
    from polygpu.runtime import build

    build.check_target(plan.values["target"])
    compilation = compile_source(plan.source, plan.values)
    console.show(compilation.diagnostics, plan.values["style"])
    recipe = _recipe(plan)
    program = directory.resolve() / Path(plan.source).stem
    with console.progress(f"building {program.name}"):
        build.build_program(plan.write(compilation, directory), program, recipe)
    if not plan.values["check"]:
        return _execute(program, plan, compilation, capture=False).status
    original = program.with_name(f"{program.name}_original")
    with console.progress(f"building {original.name}"):
        build.build_original(Path(plan.source), original, recipe)
    return _check(program, original, plan, compilation)


def _recipe(plan: Plan) -> Recipe:
    from polygpu import devices

    device = plan.values["device"]
    # The host file lies elsewhere: the source's own directory stands in for its `#include "..."`.
    return plan.recipe(
        plan.values["target"],
        Path(plan.source).parent,
        compute_capability=devices.load(device).compute_capability if device else "",
        brief=plan.values["model_only"],
    )


def _execute(program: Path, plan: Plan, compilation: Compilation, *, capture: bool) -> Execution:
    """Runs the compiled program; the report follows its output."""
    from polygpu.runtime import execute, profile

    values = plan.values
    stream = sys.stderr if values["json_file"] == ON_STDOUT else sys.stdout
    with tempfile.TemporaryDirectory(prefix="polygpu-") as directory:
        document = Path(directory, "profile.json")
        execution = execute.run_program(
            program,
            plan.arguments,
            capture=capture or values["model_only"],
            output=None if stream is sys.stdout else stream,
            stdin=values["stdin"],
            environment=_environment(values, document),
            timeout=values["timeout"],
        )
        show_output(b"" if values["model_only"] else execution.stdout, stream)
        wanted = not values["quiet"] or values["roofline"]
        if wanted and not document.exists():
            click.echo("polygpu: no region ran on the device to the program's end", err=True)
        elif wanted and (document.exists() or execution.status == 0):
            _report(_with_counts(profile.read_profile(document), compilation), compilation, values)
    return execution


def show_output(output: bytes, stream: TextIO) -> None:
    """The output of a program that was captured, on a terminal the first lines of it."""
    lines = output.splitlines(keepends=True)
    short = stream.isatty() and len(lines) > 2 * SHOWN
    stream.buffer.write(b"".join(lines[:SHOWN]) if short else output)
    stream.flush()
    if short:
        text = f"polygpu: {len(lines) - SHOWN:,} more lines are not shown: a file or a pipe gets all of them"
        click.echo(text, err=True)


def _with_counts(document: Mapping[str, Any], compilation: Compilation) -> Mapping[str, Any]:
    """The profile, with counters also where the device has none."""
    from polygpu.report.counted import with_counts

    with console.progress("predicting what the kernels count"):
        return with_counts(document, [r.region for r in compilation.regions], compilation.device)


def _report(document: Mapping[str, Any], compilation: Compilation, values: dict[str, Any]) -> None:
    from polygpu.report.explain import explain
    from polygpu.report.run import run_json, run_roofline
    from polygpu.report.terminal import run_report

    device, facts = compilation.device, explain(compilation)
    if values["roofline"]:
        write_all({values["roofline"]: run_roofline(document["regions"], device, facts)})
    if values["quiet"]:
        return
    match values["json_file"]:
        case None:
            run_report(document, device, facts)
        case "stderr" | "-" as place:
            click.echo(run_json(document, device, facts), nl=False, err=place == ON_STDERR)
        case file:
            write_all({Path(file): run_json(document, device, facts)})


def _environment(values: dict[str, Any], document: Path) -> dict[str, str]:
    asked = {
        "POLYGPU_PROFILE": not values["quiet"] or values["roofline"],
        "POLYGPU_PROGRESS": not values["quiet"] and sys.stderr.isatty(),
        "POLYGPU_SAMPLE": values["model_only"],
        "POLYGPU_POISON": values["check"],
    }
    return {name: str(document) if name == "POLYGPU_PROFILE" else "1" for name, on in asked.items() if on}


def _check(program: Path, original: Path, plan: Plan, compilation: Compilation) -> int:
    from polygpu.runtime import compare, execute

    values = plan.values
    with console.progress("running the original"):
        expected = execute.run_program(
            original, plan.arguments, capture=True, stdin=values["stdin"], timeout=values["timeout"]
        )
    found = _execute(program, plan, compilation, capture=True)
    if found.status != expected.status:
        text = f"exit status {found.status}, but {expected.status} from the original"
        console.show([error("PG905", text)], values["style"])
        return DIFFERENT
    original_text, text = (
        compare.remaining(run.stdout.decode(errors="replace"), values["ignored"]) for run in (expected, found)
    )
    tolerance = compare.accepted(values["tolerance"], TOLERANCE, compilation.regions)
    comparison = compare.compare_outputs(original_text, text, tolerance)
    if comparison.difference:
        console.show([_difference(comparison.difference, plan)], values["style"])
        return DIFFERENT
    click.echo(f"check: {_verdict(comparison, expected, original_text, tolerance)}", err=True)
    return found.status


def _difference(difference: Difference, plan: Plan) -> Diagnostic:
    what = "what --ignore leaves of the output" if plan.values["ignored"] else "the output"
    text = (
        f"line {difference.line} of {what} differs from the original's\n"
        f"  original: {difference.expected}\n  compiled: {difference.found}"
    )
    return error("PG905", text, f"`polygpu inspect {plan.source}` shows how it was parallelised")


def _verdict(comparison: Comparison, expected: Execution, compared: str, tolerance: float) -> str:
    if not compared.strip():
        why = "--ignore leaves nothing of its output" if expected.stdout else "it prints nothing"
        return f"only the exit status was compared, {expected.status}: {why}"
    if comparison.identical:
        return f"prints what the original prints, to the bit ({comparison.numbers} floating-point numbers)"
    return (
        f"agrees with the original: largest relative difference {comparison.largest:.2g} "
        f"in {comparison.numbers} floating-point numbers (up to {tolerance:g} is accepted)"
    )
