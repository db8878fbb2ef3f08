"""Registers a thread: live ranges of small bodies, and what is published for chips of the time."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from benchmarks import programs
from polygpu import devices
from polygpu.compilation import Options
from polygpu.model.expr import Binary, Call, Expr, Int, Literal, Name, Reference
from polygpu.model.kernel import ArrayArgument, Assign, Declare, DeclareArray, For, Kernel, Statement
from polygpu.perf.live_ranges import peak_registers
from polygpu.perf.resources import argument_bytes, registers_of, spills
from polygpu.pipeline import compile_file
from polygpu.search.price import price

DEVICE = devices.load("generic")
OLD = devices.load("8800gtx")


def kernel(*body: Statement) -> Kernel:
    array = ArrayArgument("a", "float", (None,), None, True, True)
    return Kernel("k", (), (), (array,), (32, 1, 1), (), body)


def load(index: str) -> Reference:
    return Reference("a", (Name(index),), "float")


def test_values_live_to_their_last_use() -> None:
    """Three values live at once where they are added, however many there are in all."""
    declared = tuple(Declare(f"v{i}", "float", Literal("1.0f", "float"), mutable=True) for i in range(3))
    total = Binary("+", Binary("+", Name("v0", "float"), Name("v1", "float")), Name("v2", "float"))
    once = (*declared, Declare("sum", "float", total))
    assert peak_registers(kernel(*once), DEVICE) == 3
    assert peak_registers(kernel(*once, *once), DEVICE) == 3


def test_doubles_and_private_arrays_take_their_words() -> None:
    body = (
        DeclareArray("r", "double", (4, 2)),
        Assign(Reference("r", (Int(0), Int(0)), "double"), Literal("0.0", "double")),
        Declare("x", "double", Reference("r", (Int(3), Int(1)), "double")),
    )
    assert peak_registers(kernel(*body), DEVICE) == 16


def summed(*inner: Statement) -> tuple[Statement, ...]:
    loop = For("i", Int(0), Name("n"), 1, inner, uniform=True)
    return Declare("sum", "float", Literal("0.0f", "float"), mutable=True), loop


def add(value: Expr) -> Assign:
    return Assign(Name("sum", "float"), Binary("+", Name("sum", "float"), value))


def test_a_loop_keeps_an_address_and_its_counter() -> None:
    """Accumulator, counter, an address of 64 bits and twelve loads in flight; of 32 bits and one load."""
    body = kernel(*summed(add(load("i"))))
    assert peak_registers(body, DEVICE) == 1 + 1 + 2 + 12
    assert peak_registers(body, OLD) == 1 + 1 + 1 + 1


def test_loads_in_flight_leave_room_for_all_threads() -> None:
    """Twelve iterations of 8 loads would fill 96; 65536 registers are 64 for each of 1024 threads."""
    sums = [add(Reference("a", (Binary("+", Name("i"), Int(k)),), "float")) for k in range(8)]
    assert peak_registers(kernel(*summed(*sums)), DEVICE) == 64 - DEVICE.registers_reserved


def test_what_blocks_share_takes_no_register() -> None:
    first = Declare("first", "int", Binary("*", Int(16), Name("block_x")))
    mine = Declare("mine", "int", Binary("+", Name("first"), Name("thread_x")))
    uses = Declare("sum", "int", Binary("+", Name("mine"), Name("first")))
    assert peak_registers(kernel(first, mine, uses), DEVICE) == 1


def test_long_chains_of_values_take_no_long_time() -> None:
    """Each of 200 values is made of the two before it: the ways from the last to the first are 10^41."""
    first = [Declare(f"v{k}", "int", Name("thread_x")) for k in range(2)]
    sums = [Binary("+", Name(f"v{k - 1}"), Name(f"v{k - 2}")) for k in range(2, 200)]
    chain = [Declare(f"v{k}", "int", value) for k, value in enumerate(sums, start=2)]
    last = Assign(Name("sum", "float"), load("v199"))
    assert peak_registers(kernel(*first, *chain, last), DEVICE) == 1 + 2 + 1


def unrolled(index: str, times: int, *body: Statement) -> For:
    return For(index, Int(0), Int(times), 1, body, uniform=True, unroll=True)


def test_operands_of_private_elements_live_together() -> None:
    """A 4 x 8 tile that a column of 4 and a row of 8 add up to: 32 + 4 + 8, the counter, two addresses."""
    column = Reference("a", (Name("i"), Name("r")), "float")
    row = Reference("a", (Name("r8"), Name("i")), "float")
    tile = Reference("t", (Name("r"), Name("r8")), "float")
    inner = Assign(tile, Binary("+", tile, Binary("*", column, row)))
    _, loop = summed(unrolled("r", 4, unrolled("r8", 8, inner)))
    body = kernel(DeclareArray("t", "float", (4, 8)), loop)
    assert peak_registers(body, replace(DEVICE, loads_ahead=1)) == 32 + 4 + 8 + 1 + 2 * 2


def test_addresses_bent_by_a_minimum_are_kept_one_by_one() -> None:
    """Rows min(16 r, n - 1) of 16 unrolled iterations have nothing in common, rows 16 r have a base."""

    def peak(row: Expr) -> int:
        copied = Assign(Name("sum", "float"), Reference("a", (row, Name("i")), "float"))
        return peak_registers(kernel(*summed(unrolled("r", 16, copied))), replace(DEVICE, loads_ahead=1))

    straight = Binary("*", Int(16), Name("r"))
    clamped = Call("min", (straight, Name("n")), "int")
    assert peak(clamped) - peak(straight) == 16 - 2


def test_pointers_are_as_wide_as_the_device_says() -> None:
    one = kernel()
    assert (argument_bytes(one, OLD), argument_bytes(one, DEVICE)) == (4, 8)


@pytest.mark.parametrize(
    ("name", "decisions", "published"),
    [("mm", ("stage()",), 10), ("mm", ("unroll(none)",), 10), ("mm", (), 9), ("saxpy", (), 7)],
)
def test_published_counts(name: str, decisions: tuple[str, ...], published: int) -> None:
    """PPoPP'08 4.1 and 4.2, and its table 3, to one register: the compiler was another one."""
    options = Options(target="emulator", device="8800gtx", decisions=decisions)
    compilation = compile_file(str(programs.source_of(name)), options)
    found = registers_of(compilation.regions[0].region.kernels[0], compilation.device)
    assert abs(found - published) <= 1


def test_a_decision_overrides_the_estimate() -> None:
    one = replace(kernel(), registers=17)
    assert registers_of(one, DEVICE) == 17


def test_what_fills_more_registers_than_there_are_spills_and_is_not_chosen() -> None:
    small = replace(OLD, max_registers_per_thread=4)
    compilation = compile_file(str(programs.source_of("saxpy")), Options(target="emulator", device="8800gtx"))
    r, sizes = compilation.regions[0], {"n": 1000}
    kernel = r.region.kernels[0]
    assert (spills(kernel, OLD), spills(kernel, small)) == (False, True)
    assert price(r, 0, OLD, sizes).seconds < inf == price(r, 0, small, sizes).seconds
    assert not spills(replace(kernel, registers=4), small)
