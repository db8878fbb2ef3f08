"""What random setups ask for: decisions of all kinds, each for the function of one program."""

from __future__ import annotations

from functools import cache
from random import Random

from polygpu.model.decisions import KEYS, SPACES, parse
from tests.fuzz.compilation import Setup, random_setup
from tests.fuzz.examine import alone
from tests.fuzz.generate import program
from tests.fuzz.test_found import options_of


@cache
def setups() -> tuple[Setup, ...]:
    programs = [[program(f"setups:{8 * k + j}") for j in range(8)] for k in range(60)]
    return tuple(random_setup(Random(f"setups:{k}"), batch) for k, batch in enumerate(programs))


def test_each_text_is_one_decision_for_one_program() -> None:
    for text in (d for setup in setups() for d in setup.decisions):
        (decision,) = parse(text)
        assert str(decision) == text
        assert decision.place is not None
        assert decision.place.function in {f"p{k}" for k in range(8)}


def test_decisions_of_all_kinds_are_drawn() -> None:
    found = [parse(text)[0] for setup in setups() for text in setup.decisions]
    items = {(d.key, value) for d in found for _, value in d.items}
    # sums of all kinds have a setup of their own; the emulator has no tensor cores
    assert {d.key for d in found} == KEYS.keys() - {"reassociate", "tensor"}
    assert {("stage", "block"), ("stage", "i"), ("stage", None), ("wide", 0), ("deal", "grouped")} <= items
    assert any(name.startswith("-") for d in found if d.key == "order" for name in d.names)
    assert any("[" in name for d in found if d.key == "stage" for name in d.names)
    assert any(not d.items for d in found if d.key == "stage")
    assert any(d.key in SPACES and len(d.names) == 2 for d in found)


def test_setups_are_words_of_the_command_line() -> None:
    for setup in setups():
        assert options_of(f"// flags: {setup.words()}\n") == setup.options()


def test_decisions_of_one_program_are_for_it_alone() -> None:
    texts = ("p1: stage(G1_A0, A1)", "p2: stage(A0[i][12]: i)", "p12: unroll(4)", "p2: pad(G2_A3: 1)")
    setup = Setup("emulator", "", texts)
    assert alone(setup, 2).decisions == ("p0: stage(A0[i][12]: i)", "p0: pad(G0_A3: 1)")
    assert alone(setup, 1).decisions == ("p0: stage(G0_A0, A1)",)
