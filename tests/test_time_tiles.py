"""Tiles of time found in C: they run like the original at many sizes, and are proved; mutants are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.program import (
    Block,
    Copied,
    Each,
    Grid,
    HostTree,
    InOrder,
    Meet,
    Mirrored,
    Program,
    Run,
    Series,
    Stored,
    children,
    with_children,
)
from polygpu.model.decisions import parse
from polygpu.model.expr import Name
from polygpu.schedule.nests import nests
from polygpu.schedule.time_tiles import existing
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.test_mapped_programs import assert_as_the_original, realiser

LINE = "static void f(int n, float A[restrict n + 4], float B[restrict n + 4], float C[restrict n + 4])"
SQUARE = LINE.replace("n + 4]", "n + 4][n + 4]")
TWO_SWEEPS = """{
#pragma scop
    for (int t = 0; t < n / 4; t++) {
        for (int i = 1; i < n + 3; i++)
            B[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);
        for (int i = 1; i < n + 3; i++)
            A[i] = 0.25f * (B[i - 1] + 2.0f * B[i] + B[i + 1]);
    }
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        C[i] = A[i] + 2.0f * B[i];
}
"""
TEMPORARY = """{
    float T[n + 4];
#pragma scop
    for (int t = 2; t < n; t++) {
        for (int i = 0; i < n + 1; i++)
            T[i] = 0.5f * A[i + 3] + A[i] + B[t];
        for (int i = 0; i < n + 1; i++)
            A[i] = T[i];
    }
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        C[i] = A[i];
}
"""
FIELDS = """{
#pragma scop
    for (int t = 0; t < n - 4; t++) {
        for (int j = 0; j < n; j++)
            B[0][j] = t;
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                B[i][j] = B[i][j] - 0.5f * (C[i][j] - C[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                A[i][j] = A[i][j] - 0.5f * (C[i][j] - C[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                C[i][j] = C[i][j] - 0.25f * (A[i][j + 1] - A[i][j] + B[i + 1][j] - B[i][j]);
    }
#pragma endscop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[i][j] += A[i][j] + 2.0f * B[i][j];
}
"""
INTEGERS = """{
    int D[n + 4], E[n + 4];
    for (int i = 0; i < n + 4; i++)
        D[i] = E[i] = 100 * A[i];
#pragma scop
    for (int t = 0; t < n / 4; t++) {
        for (int i = 1; i < n + 3; i++)
            E[i] = (D[i - 1] + 2 * D[i] + D[i + 1]) / 4;
        for (int i = 1; i < n + 3; i++)
            D[i] = (E[i - 1] + 2 * E[i] + E[i + 1]) / 3;
    }
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        C[i] = D[i] + 2.0f * E[i];
}
"""
OBLIQUE = """{
#pragma scop
    for (int t = 0; t < n / 4; t++) {
        for (int i = 1; i < n + 3; i++)
            for (int j = 2; j < n + 3; j++)
                B[i][j] = 0.25f * (A[i - 1][j - 2] + 2.0f * A[i][j] + A[i + 1][j + 1]);
        for (int i = 1; i < n + 3; i++)
            for (int j = 2; j < n + 3; j++)
                A[i][j] = 0.25f * (B[i - 1][j] + 2.0f * B[i][j - 1] + B[i + 1][j + 1]);
    }
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        for (int j = 0; j < n + 4; j++)
            C[i][j] = A[i][j] + 2.0f * B[i][j];
}
"""
CASES = {
    "two sweeps": (LINE + TWO_SWEEPS, "steps(t: 3) tile(i: 24) threads(i: 8)"),
    "integers": (LINE + INTEGERS, "steps(t: 3) tile(i: 24) threads(i: 8)"),
    "integers, a point a thread": (LINE + INTEGERS, "steps(t: 3) tile(i: 24) threads(i: 24)"),
    "long pieces": (LINE + TWO_SWEEPS, "steps(t: 3) tile(i: 36) threads(i: 4)"),
    "oblique": (SQUARE + OBLIQUE, "steps(t: 1) tile(i: 8, j: 12) threads(i: 8, j: 4)"),
    "oblique pieces": (SQUARE + OBLIQUE, "steps(t: 1) tile(i: 8, j: 16) threads(i: 4, j: 8)"),
    "a temporary": (LINE + TEMPORARY, "steps(t: 2) tile(i: 20) threads(i: 4)"),
    "three fields": (SQUARE + FIELDS, "steps(t: 2) tile(i: 8, j: 12) threads(i: 2, j: 4)"),
}
PROVED_LATER = ("integers", "long pieces", "oblique", "oblique pieces")


def tiled(source: str, decided: str, directory: Path) -> CompiledRegion:
    region = realiser(source, directory).realise(parse(decided))
    assert any(nest.steps for nest in nests(region.prepared.scheduled.host))
    return region


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n == "three fields" else []) for n in CASES]
)
def test_tiles_of_time_compute_what_the_steps_do(name: str, tmp_path: Path) -> None:
    source, decided = CASES[name]
    region = tiled(source, decided, tmp_path)
    assert_as_the_original(region, tmp_path, 0, 1, 4, 5, 8, 12, 13, 21)


@pytest.mark.parametrize("name", ["two sweeps", "a temporary"])
def test_tiles_of_time_in_shared_memory_only(name: str, tmp_path: Path) -> None:
    source, decided = CASES[name]
    region = tiled(source, f"{decided} hold()", tmp_path)
    assert_as_the_original(region, tmp_path, 0, 4, 13, 24)


@pytest.mark.parametrize("name", ["two sweeps", "a temporary", "integers"])
def test_tiles_of_time_are_proved(name: str, tmp_path: Path) -> None:
    source, decided = CASES[name]
    assert certify(tiled(source, f"{decided} hold()", tmp_path), 60).holds


@pytest.mark.parametrize(
    "name",
    ["two sweeps", "a temporary", *(pytest.param(n, marks=pytest.mark.slow) for n in PROVED_LATER)],
)
def test_tiles_of_time_in_registers_are_proved(name: str, tmp_path: Path) -> None:
    assert certify(tiled(*CASES[name], tmp_path), 60).holds


def test_tiles_of_time_end_where_arrays_do() -> None:
    """What is written at `i = 0` whatever n is says nothing of the end, beyond which no tile may read."""
    written = isl.Set("[n] -> { A[i] : i = 0 or 0 < i < n }")
    assert existing(written, (Name("n"),)).is_equal(isl.Set("[n] -> { A[i] : 0 <= i < n }"))


def everywhere(block: Block) -> Block:
    """Points at the rim of a tile use what other blocks have."""
    return Run(block.node) if isinstance(block, Run) else block


def without_barriers(block: Block) -> Block:
    if isinstance(block, Series):
        return Series(tuple(b for b in block.blocks if not isinstance(b, Meet)))
    return block


def of_the_array(block: Block) -> Block:
    """All tiles of time store to the second version, and read what was there before the loop."""
    if not isinstance(block, Copied):
        return block
    stored = block.block
    assert isinstance(stored, Stored)
    boxes = {box.name: replace(box, versions=()) for box in block.boxes}
    places = tuple(replace(s, box=boxes[s.box.name]) for s in stored.boxes)
    return Copied(tuple(boxes.values()), Stored(places, stored.block))


@pytest.mark.parametrize("change", [everywhere, without_barriers, of_the_array])
def test_tiles_of_time_that_are_wrong_are_not_proved(
    change: Callable[[Block], Block], tmp_path: Path
) -> None:
    source, decided = CASES["two sweeps"]
    assert not certify(_wrong(source, f"{decided} hold()", change, tmp_path), 60).holds


def claimed_everywhere(block: Block) -> Block:
    """What points at the rim of a tile compute of no values is taken for values."""
    if not isinstance(block, Run) or block.within is None:
        return block
    assert block.beyond
    return replace(block, within=isl.Set.universe(block.within.get_space()))


def of_own_elements(block: Block) -> Block:
    """Threads read their own elements for those next to them."""
    if not isinstance(block, Mirrored):
        return block
    own = [dict.fromkeys(mirror.distances, (0,)) for mirror in block.mirrors]
    pairs = zip(block.mirrors, own, strict=True)
    return Mirrored(tuple(replace(mirror, distances=found) for mirror, found in pairs), block.block)


def of_nothing(block: Block) -> Block:
    """Registers begin without the values of the array."""
    if not isinstance(block, Mirrored):
        return block
    return Mirrored(tuple(replace(mirror, loaded=False) for mirror in block.mirrors), block.block)


@pytest.mark.parametrize(
    "change", [everywhere, without_barriers, claimed_everywhere, of_own_elements, of_nothing]
)
def test_tiles_of_time_in_registers_that_are_wrong_are_not_proved(
    change: Callable[[Block], Block], tmp_path: Path
) -> None:
    source, decided = CASES["two sweeps"]
    assert not certify(_wrong(source, decided, change, tmp_path), 60).holds


def _wrong(source: str, decided: str, change: Callable[[Block], Block], directory: Path) -> CompiledRegion:
    region = tiled(source, decided, directory)
    host = _changed(region.program.host, change)
    wrong = Realiser(region.prepared, realiser(source, directory).device)
    return wrong.of(Program(region.program.p, host))


def _changed(host: HostTree, change: Callable[[Block], Block]) -> HostTree:
    match host:
        case Grid():
            return replace(host, block=_in_block(host.block, change))
        case Each(fixed, child):
            return Each(fixed, _changed(child, change))
        case InOrder(parts):
            return InOrder(tuple(_changed(part, change) for part in parts))


def _in_block(block: Block, change: Callable[[Block], Block]) -> Block:
    return change(with_children(block, tuple(_in_block(inner, change) for inner in children(block))))


STEP = """{
#pragma scop
    for (int t = 0; t < n; t++) {
        for (int i = 9; i < n; i++)
            B[i] = %s;
        for (int i = 9; i < n; i++)
            %s
    }
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("A[n + 3 - i]", "A[i] = B[i];", "at no bounded distance"),
        ("A[i - 1]", "if (i > t) A[i] = B[i];", "steps differ in what they write of 'A'"),
        ("A[i - 1]", "if (B[i] > 0) A[i] = B[i];", "may write anywhere, or nothing"),
        ("A[i - 9]", "A[i] = B[i];", "more than 8 points"),
    ],
)
def test_other_loops_are_not_tiled(first: str, second: str, reason: str, tmp_path: Path) -> None:
    made = realiser(LINE + STEP % (first, second), tmp_path)
    with pytest.raises(Diagnosed, match=reason):
        made.realise(parse("4: steps(t: 2)"))


def test_members_of_structures_are_not_tiled(tmp_path: Path) -> None:
    step = STEP.replace("B[i] = %s", "A[i].x = A[i - 1].y + 1") % "A[i].y = 2 * A[i].x;"
    made = realiser(
        "struct cell { float x, y; };\nstatic void f(int n, struct cell A[restrict n])" + step, tmp_path
    )
    with pytest.raises(Diagnosed, match="may write anywhere, or nothing"):
        made.realise(parse("5: steps(t: 2)"))


AMONG_OTHERS = """{
#pragma scop
    for (int i = 0; i < n + 4; i++)
        A[i] = C[i];
    for (int t = 0; t < n / 4; t++) {
        for (int i = 1; i < n + 3; i++)
            B[i] = 0.5f * A[i - 1];
        for (int i = 1; i < n + 3; i++)
            A[i] = B[i];
    }
    for (int i = 0; i < n + 4; i++)
        A[i] += C[i];
    for (int i = 0; i < n + 4; i++)
        if (A[i] > 1) {
            if (i % 3 == 1)
                C[i] = 0.5f * C[i];
        }
#pragma endscop
}
"""
BEFORE_A_TEST = AMONG_OTHERS.replace("        A[i] += C[i];\n", "        C[i] = 2 * C[i];\n")


@pytest.mark.parametrize("body", [AMONG_OTHERS, BEFORE_A_TEST])
def test_tiles_of_time_between_other_uses_of_their_arrays_are_proved(body: str, tmp_path: Path) -> None:
    """The copy of the second version is no last thing: what reads the array afterwards comes after it."""
    region = tiled(LINE + body, "steps(t: 3) tile(i: 24) threads(i: 8) hold()", tmp_path)
    assert certify(region, 60).holds
