"""Golden texts of the reports on hand-made facts."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from polygpu import devices
from polygpu.model.expr import Position
from polygpu.model.facts import (
    AccessFact,
    CompilationFacts,
    KernelFact,
    LoopVerdict,
    RegionFacts,
)
from polygpu.report import device_table, facts_json, inspect_text
from polygpu.report.quantities import byte_count, counted, duration, number, product, share, significant
from polygpu.report.run import run_json, run_text
from polygpu.report.terminal import inspect_report, run_report

KERNEL = "polygpu_mm_1_0"


def at(line: int, column: int = 5, file: str = "mm.c") -> Position:
    return Position(file, line, column)


LOOPS = (
    LoopVerdict("i", at(13), "for (int i = 0; i < n; i++)", True),
    LoopVerdict("j", at(14), "for (int j = 0; j < n; j++)", True),
    LoopVerdict("k", at(15), "for (int k = 0; k < n; k++)", False, "C[i][j] is summed up", at(16), at(16)),
    LoopVerdict("t", at(17), "for (int t = 0; t < n; t++)", False, "", at(18), at(3, file="step.h")),
)
ACCESSES = (
    AccessFact(0, KERNEL, "C", "C[i][j]", at(16, 9), True, "register", True, 1.0, note="accumulator"),
    AccessFact(1, KERNEL, "A", "A[i][k]", at(16, 20), False, "shared", True, 1.0, 16, "shared_A", 1, 16, 1),
    AccessFact(2, KERNEL, "B", "B[k][j]", at(16, 30), False, "shared", True, 1.0, 16, "shared_B", 0, 1, 1),
    AccessFact(3, KERNEL, "D", "D[j][i]", at(16, 40), False, "global", False, 5.25),
)
PRODUCT = KernelFact(
    KERNEL,
    "polygpu_mm_1",
    at(13),
    (16, 16, 1),
    "ceil(n/16) x ceil(n/16)",
    tile="16 x 16 x 16",
    distribution="j to thread x, i to thread y",
    shared_bytes=2176,
    registers=10,
    blocks_per_multiprocessor=3,
    warps_per_multiprocessor=24,
    occupancy_limit="threads",
    shared_bytes_allocated=2560,
)
REGION = RegionFacts(
    "polygpu_mm_1",
    "mm",
    at(12, 1),
    LOOPS,
    (PRODUCT,),
    ACCESSES,
    ("tile 16 x 16 x 16", "block 16 x 16"),
    ("A and C may overlap: tested at run time",),
)
FACTS = CompilationFacts("8800gtx", "emulator", (REGION,), "NVIDIA GeForce 8800 GTX", 24, "mm.c")

INSPECTED = """\
mm.c: emulator for NVIDIA GeForce 8800 GTX

region polygpu_mm_1  mm.c:12:1, in mm()

  loops
    i  line 13  for (int i = 0; i < n; i++)  parallel
    j  line 14  for (int j = 0; j < n; j++)  parallel
    k  line 15  for (int k = 0; k < n; k++)  sequential  C[i][j] is summed up (line 16)
    t  line 17  for (int t = 0; t < n; t++)  sequential  a dependence (line 18, then step.h:3)

  decisions
    tile 16 x 16 x 16
    block 16 x 16

  kernel polygpu_mm_1_0  line 13
    grid           ceil(n/16) x ceil(n/16)
    block          16 x 16, 256 threads
    tile           16 x 16 x 16
    mapping        j to thread x, i to thread y
    shared memory  2.125 KiB a block, 2.5 KiB as allocated
    registers      10 a thread, estimated
    occupancy      3 blocks, 24 of 24 warps (100 %) a multiprocessor, limited by threads

    access          at       space               transactions a half-warp  banks
    C[i][j]  write  line 16  register            1, coalesced              -\
                               accumulator
    A[i][k]  read   line 16  shared as shared_A  1, coalesced              pad 1: 16-way -> conflict-free
    B[k][j]  read   line 16  shared as shared_B  1, coalesced              conflict-free
    D[j][i]  read   line 16  global              5.25, not coalesced       -

  notes
    A and C may overlap: tested at run time
"""


def test_inspect() -> None:
    assert inspect_text(FACTS) == INSPECTED


def test_a_region_with_nothing_known() -> None:
    kernel = KernelFact("k", "r", at(2), (32, 1, 1), "n")
    access = AccessFact(0, "k", "a", "a[i]", at(3), False, "global", request_lanes=32)
    facts = CompilationFacts("h100", "cuda", (RegionFacts("r", "f", at(1), (), (kernel,), (access,)),))
    assert inspect_text(facts) == (
        "cuda for h100\n\nregion r  mm.c:1:5, in f()\n\n  kernel k  line 2\n    grid           n\n"
        "    block          32 threads\n    shared memory  none\n\n"
        "    access        at      space   transactions a warp  banks\n"
        "    a[i]    read  line 3  global  -                    -\n"
    )


def test_colours_mark_the_same_text() -> None:
    coloured, stream = io.StringIO(), io.StringIO()
    inspect_report(FACTS, Console(file=coloured, force_terminal=True, color_system="standard", width=200))
    assert all(f"\x1b[{style}\x1b[0m" in coloured.getvalue() for style in ("32mparallel", "33msequential"))
    inspect_report(FACTS, Console(file=stream, width=40))
    assert stream.getvalue() == INSPECTED


def test_json_has_every_fact() -> None:
    facts = json.loads(facts_json(FACTS))
    access = facts["regions"][0]["accesses"][1]
    assert (access["text"], access["padding"], access["degree_before"]) == ("A[i][k]", 1, 16)
    assert facts["regions"][0]["loops"][2]["source"] == {"file": "mm.c", "line": 16, "column": 5}
    assert facts["regions"][0]["kernels"][0]["block"] == [16, 16, 1]


def counters(**changed: Any) -> dict[str, Any]:
    names = (
        "requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes",
        "wide_bytes", "near", "far", "spread", "hops", "bytes", "shared_requests", "conflict_steps",
        "lane_accesses", "divergent", "barriers", "rounds", "slots",
    )  # fmt: skip
    return {**dict.fromkeys(names, 0), "instructions": {}, **changed}


def document(warps: int, blocks: int, launches: int = 1) -> dict[str, Any]:
    """ICS'08's mv, unpadded: 512 tiles a block, each copied (stage 0) and multiplied (stage 1)."""
    times = 512 * blocks
    each = warps * times
    copy = counters(slots=91 * each, rounds=8 * each, coalesced=32 * each, requests=32 * each,
                    wide_bytes=2048 * each, bytes=2048 * each)  # fmt: skip
    work = counters(slots=116 * each, conflict_steps=480 * each, shared_requests=64 * each,
                    instructions={"mad": 16 * each, "branch": each}, divergent=each // 4)  # fmt: skip
    total = counters(**{k: copy[k] + work[k] for k in copy if k != "instructions"}) | {
        "instructions": work["instructions"]
    }
    sites = [
        {"site": 0, "array": "a", "space": "global", "write": False, "text": "a[i][j]", "file": "mv.c",
         "line": 7, "column": 9, "counters": copy},
        {"site": -1, "array": "shared_a", "space": "shared", "write": True, "text": "", "file": "",
         "line": 0, "column": 0, "counters": work},
    ]  # fmt: skip
    kernel = {
        "name": "polygpu_mv_1_0",
        "launches": launches,
        "grid": [blocks // launches, 1, 1],
        "block": [32 * warps, 1, 1],
        "blocks_total": blocks,
        "counters": total,
        "stages": [
            {
                "stage": n,
                "executions": times,
                "blocks": blocks,
                "counters": c,
                "groups": [{"first": 0, "warps": warps, "counters": c}],
            }
            for n, c in enumerate((copy, work))
        ],
        "sites": sites,
    }
    region = {
        "name": "polygpu_mv_1",
        "calls": launches,
        "bytes_in": 2**26,
        "bytes_out": 2**14,
        "kernels": [kernel],
    }
    return {"target": "emulator", "device": "8800gtx", "regions": [region]}


NO_FACTS = CompilationFacts("8800gtx", "emulator", ())
"""Nothing about the kernels: eight blocks may be resident, and one a multiprocessor is."""

RUN = """\
emulator: emulated NVIDIA GeForce 8800 GTX

polygpu_mv_1  1 call, 64 MiB to the device, 16 KiB back
  kernel polygpu_mv_1_0  1 launch, grid 16, block 128
    time           5.67 ms modelled, limited by stages: bank conflicts
    launching      10 us more, 5.68 ms together
    rate           5.92 GFLOP/s (2 % of 346), 11.8 GB/s (14 % of 86.4)
    roofline       0.5 FLOP a byte, ridge at 4: bandwidth allows 43.2 GFLOP/s, 14 % of it reached
    global memory  100 % of 1.05 M requests coalesced, 64 MiB moved
    shared memory  bank conflicts: 7.5 further steps a request
    divergence     25 % of 32.8 k branches

    what each resource takes by itself
      stages      5.67 ms  100 %  ############  a block alone, stage by stage
      issue       4.89 ms  86 %   ##########    instructions issued
      memory      948 us   17 %   ##            traffic of device memory
      load/store  97.1 us  2 %                  passes of memory requests
      dispatch    267 ns   < 1 %                blocks started

    costliest accesses, and their share of what all cost
      76 %  shared_a  write, shared  made by the compiler
      24 %  a[i][j]   read, global   mv.c:7
"""


def test_run() -> None:
    text = run_text(document(4, 16), devices.load("8800gtx"), NO_FACTS)
    assert text == RUN


def test_a_profile_gives_the_time_of_its_counts() -> None:
    """TIMING: mv shared, 5.92 GFLOP/s; several launches of the same grid take as long each."""
    gtx = devices.load("8800gtx")
    one, three = (run_text(document(4, 16 * n, n), gtx, NO_FACTS) for n in (1, 3))
    assert "5.92 GFLOP/s" in one and "5.92 GFLOP/s" in three
    assert "17 ms modelled, 5.67 ms a launch" in three


def test_launches_take_time_of_their_own() -> None:
    """1000 launches at 10 us, beside 1000 times 5.67 ms: 10 ms and 5.68 s."""
    gtx = devices.load("8800gtx")
    profile = document(4, 16_000, 1000)
    assert "launching      10 ms more, 5.68 s together" in run_text(profile, gtx, NO_FACTS)
    (kernel,) = json.loads(run_json(profile, gtx, NO_FACTS))["regions"][0]["kernels"]
    assert kernel["launch_time_s"] == pytest.approx(0.01)
    assert kernel["time_with_launches_s"] == pytest.approx(kernel["time_s"] + 0.01)


def test_a_summary_has_what_all_launches_take() -> None:
    """Twice 10 and 1000 launches of 5.67 ms, at 10 us each."""
    gtx = devices.load("8800gtx")
    profile = document(4, 16_000, 1000)
    (few,) = document(4, 160, 10)["regions"][0]["kernels"]
    profile["regions"][0]["kernels"].append(few | {"name": "other"})
    rows = [row.split() for row in run_text(profile, gtx, NO_FACTS).splitlines()[3:8]]
    assert rows[0][:4] == ["kernel", "launches", "launching", "time"]
    assert rows[1][1:6] == ["1,000", "10", "ms", "5.67", "s"]
    assert rows[2][:6] == ["other", "10", "100", "us", "56.7", "ms"]
    assert rows[3] == ["all", "1,010", "10.1", "ms", "5.72", "s"]
    assert " ".join(rows[4]) == "time and launching together: 5.73 s"
    (region,) = json.loads(run_json(profile, gtx, NO_FACTS))["regions"]
    assert (region["launches"], region["launch_time_s"]) == (1010, pytest.approx(0.0101))
    assert region["time_with_launches_s"] == pytest.approx(region["kernel_time_s"] + 0.0101)


def test_a_run_on_a_gpu_has_its_measured_time() -> None:
    kernel = {"name": KERNEL, "launches": 2, "grid": [8, 4, 1], "block": [16, 16, 1], "ms": 3.0}
    region = {"name": "polygpu_mm_1", "calls": 2, "bytes_in": 100, "bytes_out": 0, "kernels": [kernel]}
    profile = {"target": "cuda", "device": "NVIDIA H100", "regions": [region]}
    assert run_text(profile, devices.load("h100"), FACTS) == (
        "cuda: NVIDIA H100\n\npolygpu_mm_1  2 calls, 100 B to the device, 0 B back\n"
        "  kernel polygpu_mm_1_0  2 launches, grid 8 x 4, block 16 x 16\n"
        "    time       3 ms measured, 1.5 ms a launch\n"
        "    occupancy  3 blocks, 24 of 64 warps (38 %) a multiprocessor, limited by threads\n"
    )


def test_a_kernel_that_never_ran() -> None:
    profile = document(4, 16)
    record = profile["regions"][0]["kernels"][0]
    record.update(launches=0, blocks_total=0)
    text = run_text(profile, devices.load("8800gtx"), NO_FACTS)
    assert text.endswith("  kernel polygpu_mv_1_0  0 launches, grid 16, block 128\n")


def test_run_report_on_a_terminal_has_the_same_text() -> None:
    stream = io.StringIO()
    run_report(document(4, 16), devices.load("8800gtx"), NO_FACTS, Console(file=stream, width=40))
    assert stream.getvalue() == RUN


def test_device_table() -> None:
    lines = device_table(devices.load("8800gtx")).splitlines()
    assert lines[0] == "8800gtx: NVIDIA GeForce 8800 GTX"
    assert any(row.split()[:3] == ["banks", "16", "32-bit"] for row in lines)
    assert any(row.split()[:2] == ["max_block", "512"] and "512 x 512 x 64" in row for row in lines)
    (latency,) = (row for row in lines if row.split()[:1] == ["latency"])
    assert "420" in latency and "cycles a round of global loads" in latency and "ISCA'09" in latency


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (byte_count(2176), "2.125 KiB"),
        (byte_count(0), "0 B"),
        (byte_count(3 * 2**41), "6 TiB"),
        (duration(0.0452), "45.2 ms"),
        (duration(2.5e-10), "0.25 ns"),
        (share(0.001), "< 1 %"),
        (share(0.005), "< 1 %"),
        (share(0.995), "> 99 %"),
        (share(0.999), "> 99 %"),
        (share(1.0), "100 %"),
        (counted(1, "launch"), "1 launch"),
        (counted(1234, "launch"), "1,234 launches"),
        (counted(16381, "launch"), "16.4 k launches"),
        (counted(538968064, "request"), "539 M requests"),
        (counted(999_960, "request"), "1 M requests"),
        (byte_count(1023.99 * 1024), "1 MiB"),
        (duration(0.9996), "1 s"),
        (duration(66912.4), "66,900 s"),
        (number(5.25), "5.25"),
        (number(16.0), "16"),
        (significant(66912.4), "66,900"),
        (significant(0.4512), "0.451"),
        (product((16, 1, 4)), "16 x 1 x 4"),
        (product((1, 1, 1)), "1"),
    ],
)
def test_quantities(found: str, expected: str) -> None:
    assert found == expected
