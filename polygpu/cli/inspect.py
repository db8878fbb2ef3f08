"""`polygpu inspect`: every loop and access, placement, padding and occupancy, and what the papers choose."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from polygpu.cli import console
from polygpu.cli.options import GccStyleCommand, roofline_option, sizes_option, source_options
from polygpu.support.diagnostics import Diagnosed, Diagnostic

if TYPE_CHECKING:
    from polygpu.compilation import Compilation
    from polygpu.model.facts import CompilationFacts
    from polygpu.report.predicted import Prediction


@click.command("inspect", cls=GccStyleCommand)
@click.argument("source", metavar="FILE.c")
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
@sizes_option("Predict for these values of the regions' integer scalars, as in n=1000,m=500.")
@click.option(
    "--decisions",
    "list_decisions",
    is_flag=True,
    help="Print only what was decided for each nest, for `polygpu compile --decisions FILE`.",
)
@roofline_option
@source_options
def command(source: str, **values: Any) -> int:
    """Show what the compiler does with a file and why, and how long its kernels would take.

    Times are those of all launches of a kernel on the device; what launching takes is a line of its own.
    """
    return console.diagnosed(lambda: _inspect(source, values), values["style"])


def _predicted(
    compilation: Compilation, facts: CompilationFacts, values: dict[str, Any]
) -> Prediction | None:
    """None where it would take long, if nothing asks for it. Raises Diagnosed."""
    from polygpu.report.predicted import predict_all

    sizes, regions = values["sizes"], [r.region for r in compilation.regions]
    known = {s.name for r in regions for s in r.integers}
    for name in sizes.keys() - known:
        names = ", ".join(sorted(known)) or "none: all sizes are constants"
        raise Diagnosed(_error(f"--size: no region has an integer scalar '{name}'", f"they are {names}"))
    try:
        return predict_all(regions, compilation.device, facts, _assumed(values["assume"]) | sizes)
    except MemoryError as problem:
        if not (sizes or values["roofline"]):
            return None
        advice = "choose smaller sizes; polygpu run --model-only runs a part of the blocks"
        raise Diagnosed(_error(str(problem), advice)) from None


def _error(message: str, advice: str) -> Diagnostic:
    return Diagnostic("PG331", "error", message, None, advice)


def _assumed(words: tuple[str, ...]) -> dict[str, int]:
    """The values of --assume, which has checked them."""
    pairs = (word.partition("=") for word in words)
    return {name.strip(): int(number) for name, _, number in pairs}


def _inspect(source: str, values: dict[str, Any]) -> int:
    from polygpu.cli.compile import compile_source
    from polygpu.cli.outputs import write_all
    from polygpu.report.explain import explain
    from polygpu.report.facts_json import facts_json
    from polygpu.report.papers import papers, papers_lines
    from polygpu.report.predicted import prediction_record
    from polygpu.report.run import run_roofline
    from polygpu.report.terminal import inspect_report

    compilation = compile_source(source, values)
    if compilation.diagnostics or values["style"] != "text":
        console.show(compilation.diagnostics, values["style"])
    if values["list_decisions"]:
        click.echo(_decided(compilation, values["as_json"]), nl=False)
        return 0
    with console.progress(f"predicting what the kernels of {source} take"):
        facts = explain(compilation, values["sizes"])
        prediction = _predicted(compilation, facts, values) if compilation.regions else None
        sizes = prediction.sizes if prediction else _assumed(values["assume"]) | values["sizes"]
        found = papers(compilation, facts, sizes)
    if values["roofline"] and prediction:
        plot = run_roofline(prediction.regions, compilation.device, facts)
        write_all({values["roofline"]: plot})
    if values["as_json"]:
        record = prediction_record(prediction) if prediction else None
        kernels = [asdict(k) for k in found]
        click.echo(facts_json(facts, papers=kernels, predicted=record), nl=False)
    else:
        inspect_report(facts, prediction=prediction, more=papers_lines(found))
    return 0


def _decided(compilation: Compilation, as_json: bool) -> str:
    """The decisions of all nests of the file."""
    from polygpu.model.decisions import json_listing, listing

    nests = [nest for r in compilation.regions for nest in r.taken]
    return json.dumps(json_listing(nests), indent=2) + "\n" if as_json else listing(nests)
