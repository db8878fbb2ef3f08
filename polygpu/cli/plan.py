"""A program to compile, build and run, as `polygpu run` and `polygpu verify` take it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygpu.cli.options import language_flags
from polygpu.cli.outputs import place, write_all
from polygpu.support.dataclass import dataclass

if TYPE_CHECKING:
    from polygpu.compilation import Compilation
    from polygpu.runtime.build import Recipe


@dataclass(frozen=True, slots=True)
class Plan:
    """The source, the program's arguments, and the command's other parameters."""

    source: str
    arguments: tuple[str, ...]
    values: dict[str, Any]

    def write(self, compilation: Compilation, directory: Path) -> dict[str, Path]:
        """The files of the compilation by suffix, in `directory`. Raises Diagnosed (PG901)."""
        placed = place(self.source, f"{directory}/", compilation.options.target)
        files = {placed[suffix]: text for suffix, text in compilation.files.items()}
        write_all(files)
        return {suffix: placed[suffix] for suffix in compilation.files}

    def recipe(self, target: str, beside: Path, **more: Any) -> Recipe:
        """How its files are built for `target`; `beside` has the headers that the source includes."""
        from polygpu.runtime import build, toolchain

        return build.Recipe(
            target=target,
            cc=toolchain.find_cc(self.values["cc"]),
            language=("-iquote", str(beside), *language_flags(self.values)),
            extra=tuple(shlex.split(self.values["cflags"])),
            others=self.values["others"],
            **more,
        )
