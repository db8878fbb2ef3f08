"""Registers a thread: live ranges of small bodies, and what is published for chips of the time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import programs
from polygpu import devices
from polygpu.codegen.live_ranges import peak_registers
from polygpu.codegen.resources import argument_bytes, registers_of
from polygpu.model.expr import Binary, Int, Literal, Name, Reference
from polygpu.model.kernel import ArrayArgument, Assign, Declare, DeclareArray, For, Kernel, Statement
from polygpu.pipeline import Options, compile_file

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


def test_a_loop_keeps_an_address_and_its_counter() -> None:
    """The accumulator, the counter, a 64-bit address, and five loads in flight; 32 bits and one load once."""
    add = Assign(Name("sum", "float"), Binary("+", Name("sum", "float"), load("i")))
    loop = For("i", Int(0), Name("n"), 1, (add,), uniform=True)
    body = (Declare("sum", "float", Literal("0.0f", "float"), mutable=True), loop)
    assert peak_registers(kernel(*body), DEVICE) == 1 + 1 + 2 + 5
    assert peak_registers(kernel(*body), OLD) == 1 + 1 + 1 + 1


def test_pointers_are_as_wide_as_the_device_says() -> None:
    one = kernel()
    assert (argument_bytes(one, OLD), argument_bytes(one, DEVICE)) == (4, 8)


@pytest.mark.parametrize(
    ("name", "decisions", "published"),
    [("mm", ("stage=off",), 10), ("mm", ("unroll=none",), 10), ("saxpy", (), 7)],
)
def test_published_counts(name: str, decisions: tuple[str, ...], published: int) -> None:
    """PPoPP'08 4.1 and 4.2, and its table 3."""
    options = Options(target="emulator", device="8800gtx", decisions=decisions)
    compilation = compile_file(str(programs.source_of(name)), options)
    found = registers_of(compilation.regions[0].region.kernels[0], compilation.device)
    assert published * 0.7 <= found <= published * 1.3


def test_a_decision_overrides_the_estimate() -> None:
    one = replace(kernel(), registers=17)
    assert registers_of(one, DEVICE) == 17
