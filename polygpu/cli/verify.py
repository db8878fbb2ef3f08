"""`polygpu verify`: check a compilation by other means than the passes that made it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygpu.cli import console
from polygpu.cli.options import (
    GccStyleCommand,
    cflags_option,
    input_option,
    program_arguments,
    replay_option,
    source_options,
)
from polygpu.cli.plan import Plan
from polygpu.printing import dialects
from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polygpu.compilation import Compilation
    from polygpu.lower.realise import CompiledRegion
    from polygpu.report.verify import Report
    from polygpu.runtime.build import Recipe
    from polygpu.runtime.trial import Attempt, Trial
    from polygpu.runtime.whole import ProgramTrial
    from polygpu.verify.verdict import Certificate

DIFFERENT = 3


@click.command("verify", cls=GccStyleCommand)
@program_arguments
@source_options
@replay_option
@input_option()
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=None,
    show_default="0, 0.001 where sums of floats are reassociated",
    metavar="RELATIVE",
    help="The relative difference of two numbers that is accepted.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Run each region, and the program, at most so long.",
)
@click.option(
    "--proof-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for the proof of each region; 0: run only.",
)
@cflags_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def command(context: click.Context, /, source: str, arguments: tuple[str, ...], **values: Any) -> int:
    """Check that what FILE.c is compiled to does what FILE.c does.

    First the kernels are proved for all sizes, from nothing but the source and the code that is printed:
    order, barriers, the elements that are read, bounds. Then each region is run alone on the emulator at
    small, odd and boundary sizes, and the whole program with ARGS if there is a main. The emulator looks for
    races, reads of unwritten memory and addresses out of bounds; the results are compared with the
    original's. All that for each device that a target is compiled for by default, or for that of --target
    or --device.

    Exit status: 0 when nothing is wrong, 1 when FILE.c does not compile, 2 for wrong usage, 3 when a proof
    fails, a run has a fault or a result differs. What could not be decided in time is said and no failure.
    """
    given = context.get_parameter_source("target") == click.core.ParameterSource.COMMANDLINE
    plan, devices = (
        Plan(source, arguments, values),
        _devices(values["device"], values["target"] if given else ""),
    )
    return console.diagnosed(lambda: _verify(plan, devices), values["style"])


def _devices(device: str, target: str) -> dict[str, tuple[str, ...]]:
    """The devices to verify for, with the targets that are meant."""
    targets = (dialects.find(target),) if target else dialects.registered()
    if device:
        return {device: (target,) if target else ()}
    return {
        d: tuple(t.name for t in targets if t.device == d) for d in dict.fromkeys(t.device for t in targets)
    }


def _verify(plan: Plan, devices: Mapping[str, tuple[str, ...]]) -> int:
    from polygpu.report.verify import verify_json, verify_text

    reports = tuple(_reports(plan, devices))
    console.show((d for r in reports for d in _findings(r)), plan.values["style"])
    click.echo(verify_json(reports) if plan.values["as_json"] else verify_text(reports), nl=False)
    return DIFFERENT if any(r.faulty for r in reports) else 0


def _reports(plan: Plan, devices: Mapping[str, tuple[str, ...]]) -> Iterator[Report]:
    said: set[Diagnostic] = set()
    for device, targets in devices.items():
        compilation = _compile(plan, device)
        console.show([d for d in compilation.diagnostics if d not in said], plan.values["style"])
        said.update(compilation.diagnostics)
        with tempfile.TemporaryDirectory(prefix="polygpu-") as name:
            yield _report(plan, compilation, targets, Path(name))


def _report(plan: Plan, compilation: Compilation, targets: tuple[str, ...], directory: Path) -> Report:
    from polygpu.report.verify import RegionReport, Report

    files = plan.write(compilation, directory)
    recipe = plan.recipe("emulator", Path(plan.source).resolve().parent)
    text = compilation.sources[plan.source]
    regions = tuple(
        RegionReport(
            region, _certificate(region, plan), _trial(region, text, files["_emulator.c"], recipe, plan)
        )
        for region in compilation.regions
    )
    program = _program(plan, compilation, text, files, recipe)
    return Report(plan.source, compilation.device.title, targets, regions, program)


def _compile(plan: Plan, device: str) -> Compilation:
    """What a target that is compiled for `device` would run, for the emulator."""
    from polygpu.cli.compile import compile_source

    chosen = {"target": "emulator", "device": device, "certify": "off"}
    return compile_source(plan.source, {**plan.values, **chosen})


def _certificate(region: CompiledRegion, plan: Plan) -> Certificate | None:
    from polygpu.verify.certificate import certify

    if not plan.values["proof_seconds"]:
        return None
    with console.progress(f"proving {region.scop.name}"):
        return certify(region, plan.values["proof_seconds"])


def _trial(region: CompiledRegion, text: str, device_file: Path, recipe: Recipe, plan: Plan) -> Trial:
    from polygpu.runtime import compare, trial

    if shared := trial.shared(region):
        return trial.Trial((), f"functions that it calls use '{shared}'")
    tolerance = compare.accepted(plan.values["tolerance"], 0.0, (region,))
    limits = trial.Limits(plan.values["seconds"], tolerance)
    try:
        with console.progress(f"building {region.scop.name}"):
            programs = trial.build_programs(region, text, device_file, recipe)
    except Diagnosed as problem:
        return trial.Trial((), f"its text does not build on its own: {_first_error(problem)}")
    with console.progress(f"running {region.scop.name} at small, odd and boundary sizes"):
        found = tuple(_in_time(trial.attempts(programs, region, limits), limits.seconds))
    return trial.Trial(found, "", programs.driver.not_compared)


def _in_time(attempts: Iterator[Attempt], seconds: float) -> Iterator[Attempt]:
    end = time.monotonic() + seconds
    for attempt in attempts:
        yield attempt
        if time.monotonic() > end:
            return


def _first_error(problem: Diagnosed) -> str:
    lines = problem.diagnostics[0].message.splitlines()
    return next((line.strip() for line in lines if "error:" in line), lines[0])


def _program(
    plan: Plan, compilation: Compilation, text: str, files: dict[str, Path], recipe: Recipe
) -> ProgramTrial:
    from polygpu.runtime import compare, whole

    values = plan.values
    texts = [text, *(Path(other).read_text(errors="replace") for other in values["others"])]
    if not whole.has_main(texts):
        return whole.ProgramTrial(
            "not done", "there is no main; --with FILE.c adds the program's other files"
        )
    tolerance = compare.accepted(values["tolerance"], 0.0, compilation.regions)
    request = whole.Request(plan.arguments, values["stdin"], values["others"], values["seconds"], tolerance)
    with console.progress("running the whole program"):
        return whole.try_program(Path(plan.source), files, recipe, request)


def _findings(report: Report) -> list[Diagnostic]:
    """What is wrong, as errors at the place of the region."""
    from polygpu.report.verify import at

    found = []
    for r in report.regions:
        scop = r.region.scop
        for failure, _ in r.certificate.distinct if r.certificate else ():
            place = failure.positions[0] if failure.positions else scop.position
            found.append(Diagnostic("PG910", "error", str(failure), place))
        for attempt in r.trial.faulty[:1]:
            number = "PG908" if attempt.outcome == "different" else "PG909"
            message = f"{scop.name} at {at(attempt)}: {_wrong(attempt)}"
            found.append(Diagnostic(number, "error", message, scop.position))
    program = report.program
    if program.faulty:
        found.append(error("PG909" if program.outcome == "faults" else "PG905", program.reason))
    return found


def _wrong(attempt: Attempt) -> str:
    if attempt.values:
        parts = [
            f"{v.element} is {v.found} instead of {v.expected} ({v.count} wrong)" for v in attempt.values
        ]
        return "; ".join(parts)
    return attempt.reason
