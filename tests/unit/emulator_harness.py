"""Builds and runs hand-written Kernel IR on the emulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu.devices import load
from polygpu.model.expr import Binary, Expr, Int, Name, Position, Reference
from polygpu.model.kernel import (
    ArrayArgument,
    Buffer,
    HostStatement,
    Kernel,
    Launch,
    Region,
    ScalarArgument,
    SharedArray,
    Site,
    Statement,
    Unit,
)
from polygpu.printing.emulator.program import print_emulator

CC = next((name for name in ("gcc", "cc") if shutil.which(name)), None)
FLAGS = ("-std=c99", "-O0", "-Wall", "-Wextra", "-Werror")
CODES = {"float": "f", "double": "d", "int": "i", "char": "b"}

X, Y = Name("thread_x"), Name("thread_y")
BX, BY = Name("block_x"), Name("block_y")


def plus(*terms: Expr) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = Binary("+", total, term)
    return total


def times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)


def less(left: Expr, right: Expr) -> Expr:
    return Binary("<", left, right)


def at(name: str, *subscripts: Expr, ctype: str = "float", site: int = -1, member: str = "") -> Reference:
    return Reference(name, subscripts, ctype, member, site)


def argument(
    name: str, *extents: Expr | None, ctype: str = "float", pitch: Expr | None = None
) -> ArrayArgument:
    return ArrayArgument(name, ctype, extents or (None,), pitch, read=True, written=True)


def kernel(
    body: Sequence[Statement],
    arrays: Sequence[ArrayArgument],
    block: tuple[int, int, int],
    shared: Sequence[SharedArray] = (),
    scalars: Sequence[str] = (),
    name: str = "k",
) -> Kernel:
    """A kernel whose scalars are ints."""
    return Kernel(
        name,
        ("test",),
        tuple(ScalarArgument(s, "int") for s in scalars),
        tuple(arrays),
        block,
        tuple(shared),
        tuple(body),
    )


def buffer(name: str, *extents: int, ctype: str = "float", pitch: int | None = None) -> Buffer:
    """A host array of these extents, copied in and out; `pitch` elements a row on the device."""
    shape = tuple(Int(extent) for extent in extents)
    row = Int(pitch if pitch is not None else extents[-1])
    origin = (Int(0),) * len(extents)
    return Buffer(name, ctype, shape, shape, origin, row if len(extents) > 1 else None, True, True, True)


def site(number: int, name: str, text: str, write: bool = False) -> Site:
    return Site(number, name, text, write, Position("test.c", 10 + number, 5))


@dataclass(frozen=True)
class Program:
    """One region of one or more kernels; `body` is what the host does, by default one launch of each."""

    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    scalars: Mapping[str, int] = field(default_factory=dict)
    body: tuple[HostStatement, ...] = ()
    sites: tuple[Site, ...] = ()
    functions: tuple[str, ...] = ()

    def unit(self) -> Unit:
        grid = (Int(self.grid[0]), Int(self.grid[1]), Int(self.grid[2]))
        launches = tuple(
            Launch(k.name, grid, tuple(Name(s.name) for s in k.scalars)) for k in self.kernels
        )  # fmt: skip
        region = Region(
            "polygpu_test_1",
            tuple(ScalarArgument(name, "int") for name in self.scalars),
            self.buffers,
            self.kernels,
            self.body or launches,
            self.sites,
            self.functions,
        )
        return Unit("test.c", "test", (region,))


@dataclass(frozen=True)
class Outcome:
    arrays: dict[str, list[Any]]
    profile: dict[str, Any]
    status: int
    errors: str

    @property
    def kernel(self) -> dict[str, Any]:
        kernels: list[dict[str, Any]] = self.profile["regions"][0]["kernels"]
        return kernels[0]

    @property
    def counters(self) -> dict[str, Any]:
        counters: dict[str, Any] = self.kernel["counters"]
        return counters

    def site(self, number: int, name: str, write: bool = False) -> dict[str, int]:
        """The counters of one entry of the profile's sites."""
        key = (number, name, write)
        entries = {(s["site"], s["array"], s["write"]): s["counters"] for s in self.kernel["sites"]}
        counters: dict[str, int] = entries[key]
        return counters


def run(
    program: Program,
    data: Mapping[str, Sequence[Any]],
    device: str = "8800gtx",
    flags: Sequence[str] = ("-fopenmp",),
) -> Outcome:
    """Compiles without warnings, runs, and reads back every buffer; scalars hold for any number type."""
    if CC is None:
        pytest.skip("no C compiler")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [folder / "test_emulator.c", folder / "main.c"]
        sources[0].write_text(print_emulator(program.unit(), load(device)))
        sources[1].write_text(_main(program))
        programs.call((CC, *FLAGS, *flags, *sources, "-o", folder / "program", "-lm"))
        for b in program.buffers:
            _write(folder / f"{b.name}.in", b.type, data[b.name])
        environment = {**os.environ, "POLYGPU_PROFILE": "profile.json", "OMP_NUM_THREADS": "2"}
        ran = subprocess.run(
            ["./program"], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        arrays = {b.name: _read(folder / f"{b.name}.out", b.type) for b in program.buffers}
        profile = json.loads((folder / "profile.json").read_text())
        return Outcome(arrays, profile, ran.returncode, ran.stderr)


def _write(path: Path, ctype: str, values: Sequence[Any]) -> None:
    path.write_bytes(array(CODES.get(ctype, "f"), values).tobytes())


def _read(path: Path, ctype: str) -> list[Any]:
    values = array(CODES.get(ctype, "f"))
    values.frombytes(path.read_bytes())
    return values.tolist()


def _main(program: Program) -> str:
    """A host program that reads each buffer from a file, calls the region, and writes the buffers."""
    structures = "".join(b.structure.definition + "\n" for b in program.buffers if b.structure)
    parameters = [f"int {name}" for name in program.scalars] + [
        f"{b.type} *{b.name}" for b in program.buffers
    ]
    arguments = [str(value) for value in program.scalars.values()] + [b.name for b in program.buffers]
    lines = [
        f"#include <stdio.h>\n{structures}void polygpu_test_1({', '.join(parameters)});",
        "static char memory[1 << 22];\nint main(void)\n{\nchar *next = memory;",
    ]
    for b in program.buffers:
        lines += [
            f'FILE *{b.name}_in = fopen("{b.name}.in", "rb");',
            f"{b.type} *{b.name} = ({b.type} *)next;",
            f"const size_t {b.name}_size = fread(next, 1, 1 << 20, {b.name}_in);",
            f"next += ({b.name}_size + 255) / 256 * 256;\nfclose({b.name}_in);",
        ]
    lines.append(f"polygpu_test_1({', '.join(arguments)});")
    for b in program.buffers:
        lines += [
            f'FILE *{b.name}_out = fopen("{b.name}.out", "wb");',
            f"fwrite({b.name}, 1, {b.name}_size, {b.name}_out);\nfclose({b.name}_out);",
        ]
    return "\n".join([*lines, "return 0;\n}\n"])
