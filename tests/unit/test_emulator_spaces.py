"""What the emulator counts and checks where arrays are read through the constant and texture caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from polygpu.model.expr import Binary, Expr, Int, Literal
from polygpu.model.kernel import ArraySpace, Assign, Declare, If, Statement
from polygpu.model.scop import Structure
from tests.unit.emulator_harness import (
    BX,
    Outcome,
    Program,
    X,
    argument,
    at,
    buffer,
    kernel,
    less,
    plus,
    run,
    site,
    times,
)
from tests.unit.emulator_programs import wide

CHECK = ("-DPOLYGPU_CHECK=1", "-fopenmp")
COUNTS = ("constant_requests", "constant_steps", "texture_requests", "texture_lines")
SPACES: tuple[ArraySpace, ...] = ("constant", "texture")


def in_space(program: Program, array: str, space: ArraySpace) -> Program:
    kernels = tuple(
        replace(k, arrays=tuple(replace(a, space=space) if a.name == array else a for a in k.arrays))
        for k in program.kernels
    )
    return replace(program, kernels=kernels)


def reading(
    index: Sequence[Expr], threads: int = 32, length: int = 4096, guard: Expr | None = None
) -> Program:
    """`y[x] = a[index]`, in two dimensions of 64 columns where there are two subscripts."""
    body: list[Statement] = [Assign(at("y", X, site=1), at("a", *index, site=0))]
    if guard is not None:
        body = [If(guard, tuple(body), (), uniform=False)]
    shape = (length // 64, 64) if len(index) > 1 else (length,)
    pitched = argument("a", None, Int(64), pitch=Int(64)) if len(index) > 1 else argument("a")
    code = kernel(body, [pitched, argument("y")], (threads, 1, 1))
    sites = (site(0, "a", "a[]"), site(1, "y", "y[]", write=True))
    return Program((code,), (buffer("a", *shape), buffer("y", threads)), sites=sites)


def counted(program: Program, space: ArraySpace, device: str = "8800gtx") -> Outcome:
    values = {
        b.name: [float(i % 251) for i in range(4096 if b.name in "ax" else 256)] for b in program.buffers
    }
    return run(in_space(program, program.buffers[0].name, space), values, device)


def quarter(index: Expr) -> Expr:
    return Binary("/", index, Int(4))


# (subscripts, (constant steps, texture lines) on half-warps, on warps) of 32 threads
PATTERNS: dict[str, tuple[tuple[Expr, ...], tuple[int, int], tuple[int, int]]] = {
    "one word for all": ((Int(7),), (0, 2), (0, 1)),
    "a row": ((X,), (30, 4), (31, 4)),
    "a row off by one": ((plus(X, Int(1)),), (30, 6), (31, 5)),
    "every fourth word": ((times(X, Int(4)),), (30, 16), (31, 16)),
    "four lanes a word": ((quarter(X),), (6, 2), (7, 1)),
    "a column": ((X, Int(0)), (30, 32), (31, 32)),
    "one word for each half": ((Binary("/", X, Int(16)),), (0, 2), (1, 1)),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_addresses_and_lines_of_a_warp(name: str) -> None:
    """Lines have 32 bytes: 8 words."""
    index, half_warps, warps = PATTERNS[name]
    for device, requests, (steps, lines) in (("8800gtx", 2, half_warps), ("h100", 1, warps)):
        constant = counted(reading(index), "constant", device)
        texture = counted(reading(index), "texture", device)
        assert [constant.site(0, "a")[c] for c in COUNTS] == [requests, steps, 0, 0]
        assert [texture.site(0, "a")[c] for c in COUNTS] == [0, 0, requests, lines]
        assert constant.arrays == texture.arrays
        for outcome in (constant, texture):
            assert outcome.site(0, "a")["requests"] == outcome.site(0, "a")["wide_bytes"] == 0
            assert outcome.site(0, "a")["lane_accesses"] == 32
            assert outcome.counters["requests"] == outcome.site(1, "y", write=True)["requests"]


def test_idle_lanes_ask_for_nothing() -> None:
    """Of 40 threads the first 20 read a row: a half-warp, and 4 lanes of the next one."""
    program = reading((X,), threads=40, guard=less(X, Int(20)))
    assert counted(program, "constant").site(0, "a")["constant_steps"] == 15 + 3
    assert counted(program, "constant").site(0, "a")["constant_requests"] == 2
    assert counted(program, "texture").site(0, "a")["texture_lines"] == 2 + 1


@pytest.mark.parametrize(("space", "part"), [("constant", 4 * 15), ("texture", 4 * 8)])
def test_wide_reads(space: ArraySpace, part: int) -> None:
    """Two warps read 16 bytes a lane: 16 addresses, 256 bytes in 8 lines, in each half-warp."""
    outcome = run(in_space(wide(256), "x", space), {"x": [1.0] * 256, "y": [0.0] * 256})
    counts = dict(zip(COUNTS, (outcome.site(0, "x")[c] for c in COUNTS), strict=True))
    assert counts[f"{space}_requests"] == 4
    assert counts["constant_steps" if space == "constant" else "texture_lines"] == part
    assert outcome.arrays["y"] == [2.0] * 256


def test_members_of_structures_lie_in_lines_of_their_own() -> None:
    """Structures of 32 bytes: the last member of each is in its line; of 12 bytes: 16 of them lie in six."""
    for members, lines in ((8, 16), (3, 6)):
        fields = tuple((f"m{k}", "float") for k in range(members))
        text = f"typedef struct {{ float {', '.join(f for f, _ in fields)}; }} record;"
        record = Structure("record", text, fields)
        last = at("a", X, site=0, member=f"m{members - 1}")
        array = replace(argument("a", ctype="record"), structure=record, space="texture")
        code = kernel([Assign(at("y", X), last)], [array, argument("y")], (16, 1, 1))
        held = replace(buffer("a", 16, ctype="record"), structure=record)
        program = Program((code,), (held, buffer("y", 16)), sites=(site(0, "a", "a[i].m"),))
        outcome = run(program, {"a": [0.0] * (16 * members), "y": [0.0] * 16})
        assert outcome.site(0, "a")["texture_lines"] == lines


def test_textures_are_waited_for_and_constants_are_not() -> None:
    body: list[Statement] = [
        Declare("v", "float", at("a", X, site=0)),
        Assign(at("y", X, site=1), plus(at("a", Int(0)), Literal("1.0f", "float"))),
    ]
    rounds: dict[ArraySpace, Any] = {}
    for space in ("global", *SPACES):
        code = kernel(body, [argument("a"), argument("y")], (32, 1, 1))
        program = Program((code,), (buffer("a", 32), buffer("y", 32)))
        made = run(in_space(program, "a", space), {"a": [1.0] * 32, "y": [0.0] * 32})
        rounds[space] = made.counters["rounds"]
        assert made.counters["instructions"][f"load_{space}"] == 2
        assert made.arrays["y"] == [2.0] * 32
    assert rounds["texture"] == rounds["global"] > 0
    assert rounds["constant"] == 0


def test_the_lines_of_the_middle_block_are_noted() -> None:
    """Blocks of 32 threads read 40 elements from 32 * block on, in ten steps: 160 bytes, 5 lines; but asked
    for are 4 lines twice and 6 (over half-warps) where they are not aligned.
    """
    code = kernel(
        [Assign(at("y", plus(times(BX, Int(32)), X)), at("a", plus(times(BX, Int(32)), X, Int(k)), site=0))
         for k in (0, 4, 8)],
        [argument("a"), argument("y")], (32, 1, 1),
    )  # fmt: skip
    program = Program((code,), (buffer("a", 200), buffer("y", 160)), (5, 1, 1))
    data = {"a": [0.0] * 200, "y": [0.0] * 160}
    for flags in (("-fopenmp",), ("-Wno-unknown-pragmas",)):
        kernel_record = run(in_space(program, "a", "texture"), data, flags=flags).kernel
        assert kernel_record["textures"] == {"bytes": 800, "lines": 4 + 6 + 4, "distinct": 5}


@pytest.mark.parametrize("space", SPACES)
def test_reads_out_of_bounds_are_found(space: ArraySpace) -> None:
    program = in_space(reading((plus(X, Int(4080)),)), "a", space)
    outcome = run(program, {"a": [0.0] * 4096, "y": [0.0] * 32}, flags=CHECK)
    assert outcome.status == 3
    assert "test.c:10:5: error: out of bounds: read of 'a[]'" in outcome.errors
    assert "16 problems found" in outcome.errors


@pytest.mark.parametrize("space", SPACES)
def test_a_word_that_another_block_writes_is_a_race(space: ArraySpace) -> None:
    """What kernels do to an array that is said to be read only is still looked at."""
    body: list[Statement] = [
        If(less(BX, Int(1)), (Assign(at("a", X, site=1), Literal("1.0f", "float")),),
           (Assign(at("y", X), at("a", X, site=0)),), uniform=True),
    ]  # fmt: skip
    code = kernel(body, [argument("a"), argument("y")], (32, 1, 1))
    sites = (site(0, "a", "first"), site(1, "a", "second", write=True))
    program = Program((code,), (buffer("a", 32), buffer("y", 32)), (2, 1, 1), sites=sites)
    outcome = run(in_space(program, "a", space), {"a": [0.0] * 32, "y": [0.0] * 32}, flags=CHECK)
    assert outcome.status == 3
    assert "race between blocks: read of 'first'" in outcome.errors
