"""What commands say on standard error: diagnostics, progress, internal errors."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polygpu import __version__
from polygpu.support.diagnostics import Diagnosed, Diagnostic, render, render_json, render_sarif

if TYPE_CHECKING:
    from polygpu.support.catalogue import Entry

INTERNAL_ERROR = 4
PATIENCE = 2.0  # seconds before a progress line is shown


def catalogue() -> dict[str, Entry]:
    """Every diagnostic of the compiler and of the commands, by id."""
    from polygpu.support.catalogue import CATALOGUE

    return CATALOGUE


def show(diagnostics: Iterable[Diagnostic], style: str = "text") -> None:
    """Prints `diagnostics` on standard error; `style` is text, json or sarif."""
    found = tuple(diagnostics)
    match style:
        case "json":
            text = render_json(found)
        case "sarif":
            titles = {identity: entry.title for identity, entry in catalogue().items()}
            text = render_sarif(found, titles, __version__)
        case _:
            text = render(found, _sources(found))
    click.echo(text, nl=False, err=True)


def _sources(diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
    """The text of every readable file that a position names."""
    files = {d.position.file for top in diagnostics for d in (top, *top.notes) if d.position}
    texts = {}
    for file in sorted(files):
        try:
            texts[file] = Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # shown without its line
    return texts


def diagnosed(work: Callable[[], int], style: str = "text") -> int:
    """`work()`, or 1 after showing why it could not be done; 4 where that is a bug of ours."""
    try:
        return work()
    except Diagnosed as problem:
        show(problem.diagnostics, style)
        return problem.status


def report_internal_error(problem: Exception) -> int:
    """One message for a bug of ours; the traceback with --debug or POLYGPU_DEBUG."""
    if "--debug" in sys.argv or os.environ.get("POLYGPU_DEBUG"):
        click.echo("".join(traceback.format_exception(problem)), err=True, nl=False)
    place = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    said = str(problem).partition("\n")[0]
    text = f"polygpu: internal error: {type(problem).__name__}: {said} (at {where}) [PG900]"
    click.echo(text, err=True)
    system = f"polygpu {__version__}, Python {platform.python_version()}, {platform.platform()}"
    click.echo(
        "polygpu: note: this is a bug; please report the source file, the traceback shown by --debug,",
        err=True,
    )
    click.echo(f"polygpu: note: and: {system}; {shlex.join(['polygpu', *sys.argv[1:]])}", err=True)
    return INTERNAL_ERROR


@contextmanager
def progress(what: str) -> Iterator[None]:
    """On a terminal, shows what takes so long once it takes over 2 s."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(what, done), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


def _tick(what: str, done: threading.Event) -> None:
    start, shown = time.monotonic(), False
    delay = PATIENCE
    while not done.wait(delay):
        click.echo(f"\rpolygpu: {what}, {time.monotonic() - start:.0f} s", nl=False, err=True)
        shown, delay = True, 0.5
    if shown:
        click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """What shows, on a terminal, how far work is, on a line that it renews twice a second at most."""
    terminal, shown = sys.stderr.isatty(), 0.0

    def say(text: str) -> None:
        nonlocal shown
        if terminal and time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            click.echo(f"\r\x1b[Kpolygpu: {text}", nl=False, err=True)

    try:
        yield say
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)
