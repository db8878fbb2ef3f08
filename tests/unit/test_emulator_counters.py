"""What the emulator counts, against numbers worked out by hand from the manual's rules and TIMING's."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygpu.devices import load
from polygpu.model.expr import Int
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, SharedArray, Statement, Unit
from polygpu.printing.emulator.program import print_emulator
from tests.unit.emulator_harness import (
    BX,
    CC,
    FLAGS,
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
from tests.unit.emulator_programs import products, reduction, ring, saxpy, transpose, triangle, wide


def chosen(counters: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: counters[name] for name in names}


def test_a_coalesced_stream() -> None:
    """1024 floats: 64 half-warps read x and y and write y, 64 bytes each."""
    outcome = run(saxpy(1024, 128), {"x": [0.0] * 1024, "y": [0.0] * 1024})
    expected = {
        "requests": 192, "coalesced": 192, "transactions_64": 192, "bytes": 64 * 192, "wide_bytes": 64 * 192,
        "lanes": 0, "divergent": 0,
    }  # fmt: skip
    assert chosen(outcome.counters, *expected) == expected
    assert outcome.counters["lane_accesses"] == 3 * 1024
    region = outcome.profile["regions"][0]
    assert (region["bytes_in"], region["bytes_out"]) == (8192, 8192)
    assert outcome.kernel["block"] == [128, 1, 1]


def test_a_guard_diverges_in_the_warp_that_it_cuts() -> None:
    """1000 = 7 * 128 + 3 * 32 + 8: one warp of 32 is cut; idle lanes do not break coalescing."""
    outcome = run(saxpy(1000, 128), {"x": [0.0] * 1000, "y": [0.0] * 1000})
    assert outcome.counters["divergent"] == 1
    assert outcome.counters["lane_accesses"] == 3000
    assert outcome.site(0, "x")["requests"] == 63
    assert outcome.site(0, "x")["coalesced"] == 63


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (
            "8800gtx",
            {"requests": 8, "coalesced": 0, "transactions_32": 128, "transactions_128": 0, "lanes": 128},
        ),
        # Half-warps read bytes 64h + 4 up to 64h + 68. Even ones lie across the middle of their 128 B
        # segment and take all of it; odd ones take its upper half and 32 B of the next.
        ("gtx285", {"requests": 8, "coalesced": 8, "transactions_32": 4, "transactions_128": 4, "lanes": 0}),
        # A warp's 128 B reach into a fifth sector, which still counts as coalesced.
        ("h100", {"requests": 4, "coalesced": 4, "transactions_32": 20, "transactions_128": 0, "lanes": 0}),
    ],
)
def test_a_stream_that_is_off_by_one(device: str, expected: dict[str, int]) -> None:
    outcome = run(saxpy(128, 128, shift=1), {"x": [0.0] * 129, "y": [0.0] * 128}, device)
    assert chosen(outcome.site(0, "x"), *expected) == expected


@pytest.mark.parametrize(("padding", "steps"), [(0, 15), (1, 0)])
def test_padding_takes_the_tile_of_a_transpose_from_16_way_to_free(padding: int, steps: int) -> None:
    """48 x 48: 9 blocks of 16 half-warps; each reads a column of the tile."""
    outcome = run(transpose(48, padding), {"a": [0.0] * 2304, "b": [0.0] * 2304})
    assert outcome.site(0, "tile")["shared_requests"] == 9 * 16
    assert outcome.site(0, "tile")["conflict_steps"] == 9 * 16 * steps
    assert outcome.site(-1, "tile", write=True)["conflict_steps"] == 0
    assert outcome.site(0, "a")["coalesced"] == outcome.site(1, "b", write=True)["coalesced"] == 9 * 16
    entry = outcome.kernel["sites"][0]
    assert chosen(entry, "site", "array", "space") == {"site": 0, "array": "a", "space": "global"}
    place = {"text": "a[i][j]", "file": "test.c", "line": 10, "column": 5}
    assert chosen(entry, *place) == place


def test_unpadded_tiles_on_32_banks() -> None:
    """A warp reads words 16 x + y for 16 x and two y: each of the four banks it meets has 8 of the words."""
    outcome = run(transpose(16, 0), {"a": [0.0] * 256, "b": [0.0] * 256}, "h100")
    assert outcome.site(0, "tile")["shared_requests"] == 8
    assert outcome.site(0, "tile")["conflict_steps"] == 8 * 7


def test_stages_lie_between_barriers() -> None:
    outcome = run(reduction(3), {"x": [1] * 384, "out": [0] * 3})
    stages = outcome.kernel["stages"]
    assert [stage["executions"] for stage in stages] == [3, 3 * 7, 3]
    assert [stage["blocks"] for stage in stages] == [3, 3, 3]
    assert [stage["counters"]["barriers"] for stage in stages] == [3, 3 * 7, 0]
    # A guard parts warp 0 for 16, 8, 4, 2 and 1 lanes of a half, and at the end for thread 0.
    assert [stage["counters"]["divergent"] for stage in stages] == [0, 3 * 5, 3]


def test_blocks_without_work_get_to_none_of_its_stages() -> None:
    """Of five blocks the last three copy: each of their four iterations is a stage."""
    place = plus(times(BX, Int(32)), X)
    copy = Assign(at("b", place), at("a", place))
    work = For("s", Int(0), Int(4), 1, (copy, Barrier()), uniform=True)
    body: list[Statement] = [copy, Barrier(), If(less(Int(1), BX), (work,), (), uniform=True), copy]
    arrays = [argument("a"), argument("b")]
    program = Program((kernel(body, arrays, (32, 1, 1)),), (buffer("a", 160), buffer("b", 160)), (5, 1, 1))
    stages = run(program, {"a": [0.0] * 160, "b": [0.0] * 160}).kernel["stages"]
    ran = [(s["executions"], s["blocks"]) for s in stages if s["executions"]]  # not the test by itself
    assert ran == [(5, 5), (3 * 4, 3), (5, 5)]


def test_alike_warps_of_a_stage_are_grouped() -> None:
    """In the halving stage warp 0 adds 7 times, warp 1 once (of 64 lanes), warps 2 and 3 never."""
    outcome = run(reduction(2), {"x": [1] * 256, "out": [0] * 2})
    groups = outcome.kernel["stages"][1]["groups"]
    assert [(g["first"], g["warps"]) for g in groups] == [(0, 1), (1, 1), (2, 2)]
    adds = [g["counters"]["instructions"]["load_shared"] // g["warps"] for g in groups]
    assert adds == [2 * 7, 2, 0]


def test_loops_whose_lanes_end_apart_diverge_at_each_end() -> None:
    """64 rows, two warps, trip counts 1..32 and 33..64: 31 iterations leave a part of the lanes behind.

    Lanes read down a column and pay one by one, but for a last lane that is left alone at its own word.
    """
    outcome = run(triangle(64), {"a": [0.0] * 64 * 64, "out": [0.0] * 64})
    assert outcome.counters["divergent"] == 2 * 31
    assert outcome.site(0, "a")["lanes"] == 64 * 65 // 2 - 4
    assert outcome.counters["instructions"]["load_global"] == 32 + 64


def test_far_fetches_are_those_in_other_rows_of_the_memory() -> None:
    """Rows of 4 KB, 12 KB a DRAM row stripe: 16 lanes of a column reach 6 stripes, or 5 from an edge."""
    n = 16
    column = at("a", X, Int(0), site=0)
    code = kernel(
        [Assign(at("y", X), column)],
        [argument("a", None, Int(1024), pitch=Int(1024)), argument("y")],
        (n, 1, 1),
    )
    program = Program(
        (code,), (buffer("y", n), buffer("a", n, 1024)), sites=(site(0, "a", "a[i][0]"),)
    )  # fmt: skip
    outcome = run(program, {"a": [0.0] * (n * 1024), "y": [0.0] * n})
    first = 512  # y takes the first 256 bytes from 256 on
    stripes = {(first + 4096 * i) // 12288 for i in range(n)}
    assert outcome.site(0, "a")["far"] == len(stripes) - 1 == 5
    assert outcome.site(0, "a")["near"] == n - 5


def test_a_wide_access_is_one_request_of_all_its_bytes() -> None:
    outcome = run(wide(256), {"x": [0.0] * 256, "y": [0.0] * 256})
    expected = {"requests": 4, "coalesced": 4, "transactions_128": 8, "bytes": 1024, "lane_accesses": 64}
    assert chosen(outcome.site(0, "x"), *expected) == expected
    assert outcome.counters["instructions"]["load_global"] == 2
    later = run(wide(256), {"x": [0.0] * 256, "y": [0.0] * 256}, "h100")
    assert chosen(later.site(0, "x"), "requests", "transactions_32") == {"requests": 2, "transactions_32": 32}


def test_asynchronous_copies_count_as_one_instruction_and_a_round_each_wait() -> None:
    outcome = run(ring(5, pending=1), {"x": [0.0] * 320, "y": [0.0] * 320}, "h100")
    assert outcome.counters["instructions"]["copy"] == 2 * 5
    assert outcome.counters["rounds"] == 2 * 5
    assert outcome.site(0, "x")["requests"] == 2 * 5


def test_the_naive_product_counts_as_published() -> None:
    """A rolled iteration: 7 slots, 1 round; A[i][k] is one word for 16 lanes, B[k][j] coalesces."""
    n = 64
    outcome = run(products(n)[0], {name: [0.0] * n * n for name in "ABC"})
    warps = n * n // 32
    c = outcome.counters
    assert c["instructions"]["mad"] == c["rounds"] == warps * n
    assert c["slots"] == warps * (7 * n + 2)  # and a move before the loop, a store behind it
    assert (outcome.site(0, "A")["lanes"], outcome.site(0, "A")["near"]) == (32 * warps * n, 2 * warps * n)
    assert (outcome.site(1, "B")["coalesced"], outcome.site(1, "B")["wide_bytes"]) == (
        2 * warps * n,
        128 * warps * n,
    )


def test_the_tiled_product_counts_as_published() -> None:
    """A step: 11 slots for two copies, the loop and two barriers, 16 times 6 (one of the two factors stays in
    shared memory), one round, no conflict.
    """
    n = 64
    outcome = run(products(n)[1], {name: [0.0] * n * n for name in "ABC"})
    warps, steps = n * n // 32, n // 16
    assert outcome.counters["slots"] == warps * (steps * (11 + 16 * 6) + 2)
    assert outcome.counters["rounds"] == warps * steps
    assert outcome.counters["conflict_steps"] == 0
    assert outcome.counters["barriers"] == 16 * steps * 2
    assert outcome.counters["coalesced"] == outcome.counters["requests"]


def test_a_uniform_guard_and_a_shared_scalar() -> None:
    """Threads of an even block write one word, all of them read it: one step by broadcast."""
    even = less(BX, Int(1))
    body: list[Statement] = [
        If(even, (Assign(at("s", Int(0), ctype="int"), Int(3)),), (), uniform=True),
        If(less(Int(0), BX), (Assign(at("s", Int(0), ctype="int"), Int(5)),), (), uniform=True),
        Barrier(),
        Declare("v", "int", at("s", Int(0), ctype="int")),
        Assign(at("y", plus(times(BX, Int(32)), X), ctype="int"), plus(at("s", Int(0), ctype="int"), X)),
    ]
    code = kernel(body, [argument("y", ctype="int")], (32, 1, 1), [SharedArray("s", "int", (1,))])
    outcome = run(Program((code,), (buffer("y", 64, ctype="int"),), (2, 1, 1)), {"y": [0] * 64})
    assert outcome.arrays["y"] == [3 + i for i in range(32)] + [5 + i for i in range(32)]
    assert outcome.counters["conflict_steps"] == outcome.counters["divergent"] == 0
    assert outcome.counters["shared_requests"] == 2 * 3 * 2


def test_counters_do_not_depend_on_threads() -> None:
    program, data = triangle(200), {"a": [0.0] * 200 * 200, "out": [0.0] * 200}
    parallel = run(program, data, flags=("-fopenmp", "-O2", "-march=native"))
    serial = run(program, data, flags=("-Wno-unknown-pragmas",))
    assert parallel.profile == serial.profile


def test_files_of_one_program_write_one_profile(tmp_path: Path) -> None:
    if CC is None:
        pytest.skip("no C compiler")
    (region,) = saxpy(64, 32).unit().regions
    for name in ("one", "two"):
        unit = Unit(f"{name}.c", name, (replace(region, name=f"polygpu_{name}_1"),))
        (tmp_path / f"{name}.c").write_text(print_emulator(unit, load("8800gtx")))
    calls = "polygpu_two_1(n, x, y);\n    polygpu_one_1(n, x, y);\n    polygpu_two_1(n, x, y);"
    prototypes = "".join(f"void polygpu_{name}_1(int, float *, float *);\n" for name in ("one", "two"))
    data = "int n = 64;\n    float x[64] = {0}, y[64] = {0};"
    (tmp_path / "main.c").write_text(f"{prototypes}int main(void)\n{{\n    {data}\n    {calls}\n}}\n")
    subprocess.run([CC, *FLAGS, "-fopenmp", "one.c", "two.c", "main.c", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./a.out"], cwd=tmp_path, check=True, env={**os.environ, "POLYGPU_PROFILE": "p.json"})
    regions = json.loads((tmp_path / "p.json").read_text())["regions"]
    assert [(r["name"], r["calls"]) for r in regions] == [("polygpu_two_1", 2), ("polygpu_one_1", 1)]
    assert not (tmp_path / "p.json.tmp").exists()
