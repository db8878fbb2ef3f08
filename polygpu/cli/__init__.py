"""The command line: `polygpu COMMAND`, one module a command, loaded when it is used."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import click

from polygpu import __version__
from polygpu.cli import console

COMMANDS = ("compile", "run", "verify", "inspect", "tune", "devices", "explain", "doctor")

USAGE_ERROR = 2
INTERRUPTED = 130


class LazyGroup(click.Group):
    """Finds `command` in `polygpu.cli.NAME`, so that no command pays for another's imports."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"polygpu.cli.{cmd_name}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="polygpu")
def polygpu() -> None:
    """Compiles C loop nests for GPUs: to CUDA, OpenCL, or C that emulates a GPU.

    Exit status: 0 done, 1 a diagnosed error, 2 wrong usage, 3 outputs differ, 4 internal error.
    """


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line `arguments` and returns the exit status; no exception leaves."""
    try:
        status = polygpu.main(args=arguments, prog_name="polygpu", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as problem:
        problem.show()
        return USAGE_ERROR
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`polygpu inspect | head`); nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as problem:  # noqa: BLE001 (the one place where a traceback turns into a message)
        return console.report_internal_error(problem)


class _Unasked(ModuleType):
    """In place of `islpy.version`, which nobody asks here: to find it out, islpy loads importlib.metadata,
    and with it all about e-mail, in a tenth of the time of a small compilation.
    """

    def __getattr__(self, name: str) -> str:
        return ""


def main() -> NoReturn:
    """The entry point of the `polygpu` program.

    A compilation lives for a moment and allocates hundreds of thousands of objects: collecting cycles
    between them and freeing them one by one at the end costs a fifth of its time and returns nothing
    that the end of the process does not.
    """
    gc.set_threshold(1_000_000)
    sys.modules["islpy.version"] = _Unasked("islpy.version")
    status = invoke()
    if child := sys.modules.get("polygpu.support.child"):
        child.dismiss()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
