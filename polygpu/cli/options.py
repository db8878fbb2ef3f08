"""The options that all compiling commands share, in gcc's spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from polygpu.model.fragments import POLICIES
from polygpu.printing import dialects

if TYPE_CHECKING:
    from polygpu.compilation import Options

# Options of gcc that take their value in the same word too, and that click would not split.
_JOINED = ("-include", "-MF", "-MT")

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GccStyleCommand(click.Command):
    """Accepts `-MFfile`, `-MTname` and `-includefile` beside the forms with a space.

    `optional` maps options that may stand alone, or with `=VALUE`, to what they are alone.
    """

    def __init__(self, *words: Any, optional: Mapping[str, str] = MappingProxyType({}), **more: Any) -> None:
        super().__init__(*words, **more)
        self.optional = optional

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = args.index("--") if "--" in args else len(args)
        given = [f"{word}={self.optional[word]}" if word in self.optional else word for word in args[:own]]
        return super().parse_args(ctx, split_joined([*given, *args[own:]]))


def split_joined(arguments: list[str]) -> list[str]:
    """`-MFx` -> `-MF x`, up to a `--`."""
    words: list[str] = []
    for index, word in enumerate(arguments):
        if word == "--":
            return [*words, *arguments[index:]]
        option = next((o for o in _JOINED if word.startswith(o) and word != o), None)
        words += [option, word.removeprefix(option)] if option else [word]
    return words


class Target(click.types.StringParamType):
    """The name of a target. Those of installed packages take a while to find: only where one may be meant."""

    name = "target"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return dialects.find(value).name
        except ValueError:
            return _targets().convert(value, param, ctx)

    def get_metavar(self, *context: Any, **more: Any) -> str | None:
        return _targets().get_metavar(*context, **more)


def _targets() -> click.Choice[str]:
    return click.Choice([dialect.name for dialect in dialects.registered()])


_SOURCE_OPTIONS = (
    click.option("-t", "--target", type=Target(), default="cuda", show_default=True,
                 help="What to generate."),
    click.option("-d", "--device", default="", metavar="NAME|FILE.toml",
                 help="The GPU to compile for; see `polygpu devices`."),
    click.option("-I", "includes", multiple=True, metavar="DIR", help="Search DIR for headers."),
    click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro."),
    click.option("-U", "undefines", multiple=True, metavar="NAME", help="Undefine a macro."),
    click.option("-include", "include_files", multiple=True, metavar="FILE", help="Include FILE first."),
    click.option("-std", "std", default="", metavar="STANDARD", help="The C standard, as in -std=c99."),
    click.option("--cc", default=None, metavar="COMMAND",
                 help="The C compiler. [default: $CC, cc, gcc or clang]"),
    click.option("--assume-no-alias", is_flag=True,
                 help="Pointer parameters never overlap: leave out the run-time test."),
    click.option("--with", "others", multiple=True, type=click.Path(exists=True, dir_okay=False),
                 metavar="FILE.c", help="Another source file of the program, as are the other sources of a "
                 "`compile`: functions that it defines may be written into regions."),
    click.option("--part", is_flag=True,
                 help="The program has other files, which call functions of this one: arrays stay on the "
                 "device meanwhile. [default: where headers show it]"),
    click.option("--reassociate", is_flag=True,
                 help="Let threads share floating-point sums, products and extremes: another order "
                 "rounds in another way."),
    click.option("--tensor-cores", type=click.Choice(tuple(POLICIES)), default=None,
                 help="Compute products on tensor cores, with operands rounded so, and terms added up in the "
                 "order of the device: tensor(POLICY) for all nests."),
    click.option("--time-budget", type=click.FloatRange(min=0), default=10.0, show_default=True,
                 metavar="SECONDS", help="Search at most so long for a schedule of a region; all of it may "
                 "take half as long again, and 25 seconds at least. Counted in steps: the same source has "
                 "the same schedule everywhere."),
    click.option("--decide", "decisions", multiple=True, metavar="[PLACE:]KEY(...)",
                 help="Take decisions yourself, as in 'tile(i: 64, j: 128)'; see `polygpu explain PG303`."),
    click.option("--assume", "assume", multiple=True, metavar="NAME=NUMBER[,...]",
                 help="Compile for this value of a parameter; other values run the original loop."),
    click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True, metavar="LEVEL",
                 help="How much is chosen: 0 the source's order, nothing staged; 1 what rules say; 2 what "
                 "the model of the device prefers among a few choices; 3 among a thousand for each nest."),
    click.option("--offload", type=click.Choice(("auto", "always", "never")), default=None,
                 help="Whether loops without a pragma go to the device: where that is faster, copies "
                 "included; always; or nothing does. [default: auto to compile for a GPU, else always]"),
    click.option("--assume-typical", "assume_typical", multiple=True, metavar="NAME=NUMBER[,...]",
                 help="Weigh device against host at this value of a size; see `polygpu explain PG332`."),
    click.option("--certify", type=click.Choice(("quick", "full", "off")), default="quick", show_default=True,
                 help="How much is proved of what is written: bounds, barriers and ranges, and what is "
                 "decided soon; everything; nothing."),
    click.option("--registers", type=click.IntRange(min=1), default=None, metavar="N",
                 help="Registers a thread, instead of the estimate: --decide 'registers(N)'."),
    click.option("--diagnostics", "style", type=click.Choice(("text", "json", "sarif")), default="text",
                 show_default=True, help="The format of errors and warnings."),
    click.option("--debug", is_flag=True, help="Show the traceback of an internal error."),
)  # fmt: skip


roofline_option = click.option(
    "--roofline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Write a plot of where the kernels sit under the device's roofline.",
)
replay_option = click.option(
    "--decisions",
    "decision_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Follow the decisions of FILE, which `polygpu inspect --decisions` wrote; --decide goes before.",
)
cflags_option = click.option(
    "--cflags", default="", metavar="FLAGS", help="More flags for the C compiler, in one word."
)


def sizes_option(what: str) -> Callable[[Decorated], Decorated]:
    """Values of sizes by their names."""
    return click.option(
        "--size",
        "sizes",
        multiple=True,
        metavar="NAME=N[,...]",
        callback=lambda _context, _option, words: _sizes(words),
        help=what,
    )


def _sizes(words: tuple[str, ...]) -> dict[str, int]:
    """`("n=1000,m=500", "p=3")` as numbers by name. Raises click.BadParameter."""
    sizes: dict[str, int] = {}
    for word in (part for text in words for part in text.split(",")):
        name, equals, number = word.partition("=")
        if not (name.strip().isidentifier() and equals and number.strip().isdigit()):
            raise click.BadParameter(f"'{word}' is not NAME=N, as in n=1000")
        sizes[name.strip()] = int(number)
    return sizes


def input_option(unless: str = "") -> Callable[[Decorated], Decorated]:
    """What the program reads, `unless` something else holds."""
    return click.option(
        "--input",
        "stdin",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"What the program reads on standard input{unless}.",
    )


TOLERANCE = 1e-5


def tolerance_option(what: str) -> Callable[[Decorated], Decorated]:
    """By how much numbers may differ; `what` says which."""
    return click.option(
        "--tolerance",
        type=click.FloatRange(min=0),
        default=None,
        show_default="1e-5, 0.001 where sums of floats are reassociated, 0.01 where tensor cores round",
        metavar="RELATIVE",
        help=what,
    )


def program_arguments(function: Decorated) -> Decorated:
    """Adds the source of a program and what it is called with."""
    arguments = click.argument("arguments", nargs=-1, metavar="[-- ARGS...]")
    return click.argument("source", metavar="FILE.c")(arguments(function))


def source_options(function: Decorated) -> Decorated:
    """Adds the options that say what is compiled and for what."""
    for option in reversed(_SOURCE_OPTIONS):
        function = option(function)
    return function


_PIPELINE_FIELDS = (
    "target", "device", "includes", "defines", "undefines", "include_files", "std", "assume_no_alias",
    "level", "time_budget", "cc", "decisions", "assume", "assume_typical", "certify", "reassociate",
    "part", "others",
)  # fmt: skip


def pipeline_options(values: dict[str, Any]) -> Options:
    """The compiler's options out of a command's parameters."""
    import os

    from polygpu.compilation import Options

    chosen = {name: values[name] for name in _PIPELINE_FIELDS}
    if values["tensor_cores"] is not None:
        chosen["decisions"] = (f"tensor({values['tensor_cores']})", *chosen["decisions"])
    if values["registers"] is not None:
        chosen["decisions"] = (*chosen["decisions"], f"registers({values['registers']})")
    if values.get("decision_file"):
        chosen["replayed"] = values["decision_file"].read_text(encoding="utf-8", errors="replace")
    cc, offload = chosen["cc"] or os.environ.get("CC"), values["offload"] or "always"
    return Options(**{**chosen, "cc": cc, "offload": offload})


def language_flags(values: dict[str, Any]) -> tuple[str, ...]:
    """The same for a C compiler that compiles the user's own text."""
    return (
        *(f"-I{directory}" for directory in values["includes"]),
        *(f"-D{macro}" for macro in values["defines"]),
        *(f"-U{macro}" for macro in values["undefines"]),
        *(word for file in values["include_files"] for word in ("-include", file)),
        *((f"-std={values['std']}",) if values["std"] else ()),
    )
