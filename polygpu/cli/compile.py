"""`polygpu compile`: C in, a host file and a device file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygpu.cli import console
from polygpu.cli.depfile import depfile, escape
from polygpu.cli.options import GccStyleCommand, pipeline_options, replay_option, source_options
from polygpu.cli.outputs import HOST, make_directory, place_all, stem_of, write_all
from polygpu.printing.dialects import default_offload
from polygpu.runtime.errors import error, writing
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.files import check_writable

if TYPE_CHECKING:
    from polygpu.compilation import Compilation

EMITTED = ("host", "device", "schedule")


@dataclass(frozen=True, slots=True)
class Dependencies:
    """-MD, -MMD, -MF, -MT and -MP. `file` and `targets` are empty where they have their defaults."""

    system: bool
    file: str
    targets: tuple[str, ...]
    phony: bool

    def path(self, outputs: dict[str, Path]) -> Path:
        stem = stem_of(outputs)
        return Path(self.file) if self.file else stem.with_name(f"{stem.name}.d")

    def text(self, outputs: dict[str, Path], compilation: Compilation) -> str:
        targets = self.targets or tuple(escape(str(path)) for path in outputs.values())
        system = compilation.system_dependencies if self.system else ()
        return depfile(targets, (*compilation.dependencies, *system), self.phony)


@click.command("compile", cls=GccStyleCommand)
@click.argument("sources", nargs=-1, required=True, metavar="FILE.c...")
@click.option(
    "-o",
    "output",
    metavar="DIR/|STEM|FILE",
    help="Where to write: a directory (made if it ends with a slash), a stem, or the device file's name.",
)
@source_options
@replay_option
@click.option(
    "-MD", "all_dependencies", is_flag=True, help="Write a dependency file for make, system headers included."
)
@click.option("-MMD", "user_dependencies", is_flag=True, help="The same without system headers.")
@click.option(
    "-MF", "dependency_file", default="", metavar="FILE", help="Name the dependency file. [default: STEM.d]"
)
@click.option(
    "-MT",
    "dependency_targets",
    multiple=True,
    metavar="TARGET",
    help="Name the rule's target. [default: the outputs]",
)
@click.option("-MP", "phony", is_flag=True, help="Add an empty rule for each header.")
@click.option(
    "--emit", type=click.Choice(EMITTED), help="Print this on standard output instead of writing files."
)
@click.option("--time-passes", is_flag=True, help="Print how long each pass took.")
@click.option("-v", "--verbose", is_flag=True, help="Say what is proved and what is written.")
def command(sources: tuple[str, ...], **values: Any) -> int:  # fmt: skip
    """Compile C files: FILE.c becomes FILE_host.c and a device file.

    The device file is FILE_cuda.cu, FILE_opencl.c with FILE_opencl.cl, or FILE_emulator.c. Build the host
    file with your C compiler in place of FILE.c, and link it with the device file.
    """
    dependencies = _dependencies(values)
    if dependencies and dependencies.file and len(sources) > 1:
        raise click.UsageError("-MF names one file, but several sources are compiled")
    placed = place_all(sources, values["output"], values["target"])
    values["offload"] = values["offload"] or default_offload(values["target"])
    style = values["style"]
    return console.diagnosed(lambda: _compile_all(placed, dependencies, values), style)


def _dependencies(values: dict[str, Any]) -> Dependencies | None:
    if values["all_dependencies"] or values["user_dependencies"]:
        targets = values["dependency_targets"]
        # As in gcc, -MMD wins when both are given.
        system = not values["user_dependencies"]
        return Dependencies(system, values["dependency_file"], targets, values["phony"])
    if values["dependency_file"] or values["dependency_targets"] or values["phony"]:
        raise click.UsageError("-MF, -MT and -MP need -MD or -MMD")
    return None


def _compile_all(
    placed: dict[str, dict[str, Path]], dependencies: Dependencies | None, values: dict[str, Any]
) -> int:
    """Compiles every source before anything is written; shows all diagnostics in one go."""
    if not values["emit"]:
        make_directory(values["output"])
        _check_outputs(placed, dependencies)
    diagnostics: list[Diagnostic] = []
    compiled: dict[str, Compilation] = {}
    status = 0
    given = tuple(placed) if _is_one_program((*placed, *values["others"])) else ()
    for source in placed:
        others = tuple(other for other in (*given, *values["others"]) if other != source)
        try:
            compiled[source] = compile_source(source, {**values, "others": others})
            diagnostics += compiled[source].diagnostics
        except Diagnosed as problem:
            diagnostics += problem.diagnostics
            status = max(status, problem.status)
    if diagnostics or values["style"] != "text":
        console.show(diagnostics, values["style"])
    if status:
        return status
    if values["time_passes"]:
        _show_times(compiled)
    if values["emit"]:
        for compilation in compiled.values():
            click.echo(_emitted(compilation, values["emit"]), nl=False)
        return 0
    _write(placed, compiled, dependencies, values["verbose"])
    return 0


def _is_one_program(sources: tuple[str, ...]) -> bool:
    """Whether no two of them have a main: what one file defines is what others call."""
    if len(sources) == 1:
        return True
    from polygpu.runtime.whole import has_main

    texts = [Path(source).read_text(errors="replace") for source in sources if Path(source).is_file()]
    return sum(has_main([text]) for text in texts) < 2


def compile_source(source: str, values: dict[str, Any]) -> Compilation:
    """Compiles and certifies one file.

    Raises Diagnosed, also when no region of it can be offloaded (PG907).
    """
    from polygpu.compiler import compile_certified

    with console.progress(f"compiling {source}"):
        compilation = compile_certified(source, pipeline_options(values))
    if not compilation.files:
        nothing = error("PG907", f"no region of {source} can run on the device")
        raise Diagnosed(*compilation.diagnostics, nothing)
    return compilation


def _check_outputs(placed: dict[str, dict[str, Path]], dependencies: Dependencies | None) -> None:
    """Fails before any work where a file cannot be written."""
    paths = [path for outputs in placed.values() for path in outputs.values()]
    if dependencies:
        paths += [dependencies.path(outputs) for outputs in placed.values()]
    with writing():
        for path in paths:
            check_writable(path)


def _write(
    placed: dict[str, dict[str, Path]],
    compiled: dict[str, Compilation],
    dependencies: Dependencies | None,
    verbose: bool,
) -> None:
    texts: dict[Path, str] = {}
    rules: dict[Path, str] = {}
    for source, compilation in compiled.items():
        texts |= {placed[source][suffix]: text for suffix, text in compilation.files.items()}
        if dependencies:
            rules[dependencies.path(placed[source])] = dependencies.text(placed[source], compilation)
    changed = write_all({**texts, **rules})
    for path in rules:
        # Always fresh, so that a build can use it as the stamp of outputs that did not change.
        path.touch()
    if verbose:
        from polygpu.compiler import summaries

        for text in (t for compilation in compiled.values() for t in summaries(compilation)):
            click.echo(f"polygpu: {text}", err=True)
        for path in (*texts, *rules):
            click.echo(f"polygpu: {path}{'' if path in changed else ' (unchanged)'}", err=True)


def _emitted(compilation: Compilation, kind: str) -> str:
    match kind:
        case "host":
            return compilation.files[HOST]
        case "device":
            return "".join(text for suffix, text in compilation.files.items() if suffix != HOST)
        case _:
            from polygpu.report.explain import explain
            from polygpu.report.text import inspect_text

            return inspect_text(explain(compilation))


def _show_times(compiled: dict[str, Compilation]) -> None:
    for source, compilation in compiled.items():
        total = sum(seconds for _, seconds in compilation.timings)
        rows = (*compilation.timings, ("total", total))
        click.echo(f"{source}:", err=True)
        for name, seconds in rows:
            click.echo(f"  {seconds * 1e3:9.1f} ms  {name}", err=True)
