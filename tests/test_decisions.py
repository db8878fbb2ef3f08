"""Decisions from the command line: every one keeps the program's output, and impossible ones are refused."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from benchmarks import programs
from polygpu import cli, pipeline
from polygpu.compilation import Options
from polygpu.mapping.program import Grid
from polygpu.mapping.transformations import Access, Deal, Order, Strip, Transformation
from polygpu.mapping.wanted import RefusedError
from polygpu.model.device import Device
from polygpu.report.explain import explain
from polygpu.support.catalogue import CATALOGUE
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import build_checked, some_by_default, translate

KERNELS = programs.ROOT / "benchmarks" / "kernels"

CHOICES = [
    ("mm", "8800gtx", "tile(i: 32, j: 32, k: 8) threads(i: 16, j: 16)"),
    ("mm", "8800gtx", "tile(i: 7, j: 9) stage()"),
    ("mm", "h100", "tile(i: 32, j: 64) threads(i: 8, j: 8) deal(cyclic) buffer(none)"),
    ("mm", "h100", "tile(i: 32, j: 64) threads(i: 8, j: 8) deal(blocked) buffer(ring: 4)"),
    ("mm", "h100", "tile(i: 64, j: 64, k: 32) threads(i: 8, j: 8) deal(grouped)"),
    ("mm", "h100", "tile(i: 32, j: 64) threads(i: 4, j: 16) deal(grouped) buffer(ring: 3) walk(columns)"),
    ("syrk", "h100", "tile(i: 16, j: 32, k: 4) threads(i: 4, j: 4) deal(grouped) walk(snake)"),
    ("mv", "h100", "tile(i: 128)"),
    ("mv", "h100", "tile(i: 96, j: 16) threads(i: 32) buffer(ring: 2)"),
    ("mv", "h100", "buffer(prefetch)"),
    ("tmv", "h100", "tile(i: 128) threads(i: 32) deal(blocked)"),
    ("transpose", "8800gtx", "pad(3)"),
    ("jacobi-2d", "h100", "tile(i: 8, j: 32) threads(i: 4, j: 32) deal(cyclic)"),
    ("syrk", "h100", "tile(i: 16, j: 16, k: 4) buffer(ring)"),
    ("mm", "8800gtx", "tile(i: 16, j: 16) unroll(none) stage(A)"),
    ("mm", "8800gtx", "tile(i: 16, j: 16, k: 12) unroll(5) loads(1)"),
    ("mm", "8800gtx", "stage() unroll(4)"),
    ("mm", "8800gtx", "unroll(full) registers(20)"),
    ("mv", "8800gtx", "tile(i: 128) threads(i: 128) stage(A, y) loads(2) unroll(none) pad(0)"),
    ("mv", "8800gtx", "tile(i: 64, j: 64) threads(i: 64) stage(y) unroll(3)"),
    ("mv", "h100", "tile(i: 96) threads(i: 48) buffer(none) loads(5)"),
    ("trmm", "8800gtx", "unroll(3) loads(2)"),
    ("jacobi-2d", "8800gtx", "loads(2) unroll(2)"),
]


def compiled(kernel: str, device: str, choice: str, directory: Path) -> Path:
    translate(kernel, "emulator", device, directory, "--decide", choice)
    return build_checked(kernel, directory)


@pytest.mark.parametrize(("kernel", "device", "choice"), some_by_default(CHOICES, one_in=2))
def test_decisions_keep_the_output(kernel: str, device: str, choice: str, tmp_path: Path) -> None:
    program = compiled(kernel, device, choice, tmp_path)
    original = programs.build_original(kernel, tmp_path)
    for sizes in programs.size_vectors(kernel, (1, 33, 100)):
        expected, found = programs.run(original, sizes, 60), programs.run(program, sizes, 60)
        assert programs.compare(expected, found).identical, sizes


def spaces(grid: Grid, device: Device) -> Iterator[list[Transformation]]:
    yield list(Order.space(grid, device))
    yield list(Deal.space(grid, device))
    yield list(Access.space(grid, device))
    yield list(Strip.space(grid, device))


def asked(t: Transformation) -> str:
    """A member of the spaces of mm's nest, as the decisions that ask for it."""
    match t:
        case Order(axes):
            return f"order({', '.join('ij'[k] for k in axes)})"
        case Deal(((a, b, c), (x, y, z))):
            return f"tile(i: {a * b}, j: {x * y}) threads(i: {a}, j: {x}) deal(i: {c}, j: {z})"
        case Access(widest, _, unroll):
            return f"wide({widest}) unroll({ {None: 'auto', 0: 'full'}.get(unroll, unroll) })"
        case Strip((width,), buffering):
            return f"tile(k: {width}) buffer({buffering})"
    raise AssertionError(t)


def possible(device: str) -> Iterator[str]:
    """An order, a deal, an access and a strip of those that a search may try, all at once, at random."""
    path, options = str(KERNELS / "mm.c"), Options(target="emulator", device=device)
    made = pipeline.compile_file(path, options)
    (grid,) = made.regions[0].grids
    random, choices = Random(device), list(spaces(grid, made.device))
    while True:
        text = " ".join(asked(random.choice(space)) for space in choices)
        try:
            pipeline.compile_file(path, replace(options, decisions=(text,)))
            yield text
        except RefusedError:
            continue


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_members_of_the_spaces_keep_the_output(device: str, tmp_path: Path) -> None:
    original, sizes = programs.build_original("mm", tmp_path), (33, 40, 50)
    expected = programs.run(original, sizes)
    for number, text in enumerate(islice(possible(device), 2)):
        directory = tmp_path / str(number)
        directory.mkdir()
        assert programs.run(compiled("mm", device, text, directory), sizes) == expected, text


@pytest.mark.parametrize(
    ("decision", "number"),
    [
        ("tiles(i: 64)", "PG303"),
        ("tile(i: 0, j: 4)", "PG303"),
        ("tile(l: 4)", "PG303"),
        ("tile(i=64)", "PG303"),
        ("deal(random)", "PG303"),
        ("threads(i: 64, j: 64)", "PG304"),
        ("threads(i: 6) tile(i: 20)", "PG304"),
        ("order(i)", "PG304"),
        ("order(i, k)", "PG304"),
        ("wide(32)", "PG304"),
        ("tile(k: 1024)", "PG305"),
        ("stage(A+B)", "PG303"),
        ("18: stage(C)", "PG310"),
        ("stage(D)", "PG303"),
        ("hold(A)", "PG310"),
        ("stage(A: i)", "PG310"),
        ("threads(k: 4)", "PG303"),
        ("18: tile(i@17: 4)", "PG303"),
        ("unroll(0)", "PG303"),
        ("loads(few)", "PG303"),
        ("registers(200)", "PG304"),
        ("stage() unroll(full)", "PG311"),
        ("buffer(prefetch) loads(2)", "PG304"),
        ("18: stage(Q)", "PG310"),
    ],
)
def test_impossible_decisions_are_refused(decision: str, number: str) -> None:
    options = Options(target="emulator", device="8800gtx", decisions=(decision,))
    with pytest.raises(Diagnosed) as caught:
        pipeline.compile_file(str(KERNELS / "mm.c"), options)
    assert caught.value.diagnostics[0].id == number


def test_registers_decide_the_resident_blocks() -> None:
    """256 threads: 10 registers leave 3 blocks on a multiprocessor of the 8800 GTX, 11 leave 2."""
    found = {
        count: explain(
            pipeline.compile_file(
                str(KERNELS / "vecadd.c"),
                Options(target="emulator", device="8800gtx", decisions=(f"registers({count})",)),
            )
        )
        .regions[0]
        .kernels[0]
        for count in (10, 11)
    }
    assert {count: fact.blocks_per_multiprocessor for count, fact in found.items()} == {10: 3, 11: 2}
    assert found[11].registers == 11


def test_a_tile_must_be_a_multiple_of_its_threads() -> None:
    options = Options(target="emulator", decisions=("tile(i: 20, j: 20) threads(i: 16, j: 16)",))
    with pytest.raises(Diagnosed, match="cannot be dealt"):
        pipeline.compile_file(str(KERNELS / "mm.c"), options)


@pytest.mark.parametrize("number", ["PG303", "PG304", "PG305", "PG310", "PG311", "PG313"])
def test_examples_of_the_catalogue(
    number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands: the one draws the diagnostic, the other none."""
    monkeypatch.chdir(tmp_path)
    for kernel in ("mm", "mv"):
        Path(f"{kernel}.c").write_text(programs.source_of(kernel).read_text())
    entry = CATALOGUE[number]
    cli.invoke(shlex.split(entry.bad)[1:])
    assert f"[{number}]" in capsys.readouterr().err
    assert cli.invoke(shlex.split(entry.good)[1:]) == 0
    assert "[PG" not in capsys.readouterr().err
