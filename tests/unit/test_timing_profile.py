"""Modelled times of what the emulator counted, against the same model on counts made by hand."""

import pytest

from polygpu import devices
from polygpu.perf.profile_time import float_operations, from_profile
from polygpu.perf.timing import Blocks, Stage, Warps, kernel_time
from tests.unit.emulator_harness import run
from tests.unit.emulator_programs import products

N = 256
HAND_COUNTS = (
    (Stage(N, (Warps(8, slots=7, rounds=1, lanes=32, near=2, half_warps=2, wide_bytes=128),)),),
    (
        Stage(N // 16, (Warps(8, slots=7, rounds=1, half_warps=4, wide_bytes=256),)),
        Stage(N // 16, (Warps(8, slots=16 * 7 + 4),)),
    ),
)


@pytest.mark.parametrize(("number", "stages"), list(enumerate(HAND_COUNTS)), ids=("naive", "tiled"))
def test_products_of_ppopp08(number: int, stages: tuple[Stage, ...]) -> None:
    """Section 4 of the paper, 10 registers: three blocks of 256 threads are resident."""
    gtx = devices.load("8800gtx")
    record = run(products(N)[number], {name: [0.0] * N * N for name in "ABC"}).kernel
    found = from_profile(record, gtx, resident=3)
    by_hand = kernel_time(gtx, [Blocks((N // 16) ** 2, stages)], 3)
    assert found.limited_by == by_hand.limited_by
    assert found.seconds == pytest.approx(by_hand.seconds, rel=0.02)
    assert float_operations(record["counters"]["instructions"], gtx.warp) == 2 * N**3


def test_blocks_are_told_apart_by_the_stages_that_they_get_to() -> None:
    """Where four of 16 blocks do it all on four of 16 multiprocessors, each takes four times as long."""
    gtx = devices.load("8800gtx")
    record = run(products(64)[1], {name: [0.0] * 64 * 64 for name in "ABC"}).kernel
    few = record | {"stages": [stage | {"blocks": 4} for stage in record["stages"]]}
    every, some, even = (from_profile(r, gtx, 3, e) for r, e in ((record, False), (few, False), (few, True)))
    assert even == every
    assert some.seconds == pytest.approx(4 * every.seconds)
    assert dict(some.terms)["memory"] == pytest.approx(dict(every.terms)["memory"])
