"""What loops leave to their next iterations stays in registers: where it may, and what certificates say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.carried import carry
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Statement
from polygpu.model.kernel_walk import Body, statements
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import INSTANCES, VALUES
from tests.unit import kernel_mutants

J, K, N, T = Name("j"), Name("k"), Name("n"), Name("thread_x")
ONE = Int(1)


def element(array: str, *subscripts: Expr) -> Reference:
    return Reference(array, subscripts, "float")


def plus(index: Expr, number: int) -> Expr:
    return Binary("+", index, Int(number))


def loop(*body: Statement, lower: Expr = ONE, upper: Expr = N) -> For:
    return For("j", lower, upper, 1, body, uniform=True)


def term(read: Expr) -> Expr:
    return Binary("+", read, element("b", J))


NEXT = Assign(element("a", T, J), term(element("a", T, plus(J, -1))))


def carried(*body: Statement) -> Body:
    return carry(body, frozenset({"a", "b"}), 32)


def test_the_value_of_the_iteration_before() -> None:
    register = Name("a_c", "float")
    inner = loop(Assign(register, term(register)), Assign(element("a", T, J), register))
    load = Declare("a_c", "float", element("a", T, Int(0)), mutable=True)
    assert carried(loop(NEXT)) == (If(Binary("<", Int(1), N), (load, inner), (), uniform=True),)
    assert carried(loop(NEXT, upper=Int(8))) == (load, replace(inner, upper=Int(8)))


def test_other_statements_have_the_value_too() -> None:
    """Before the element is written from its register, behind it from what that was before."""
    register, old = Name("a_c", "float"), Name("a_b", "float")
    before, behind = (Assign(element(name, J), term(element("a", T, plus(J, -1)))) for name in "cd")
    written = (Assign(register, term(register)), Assign(element("a", T, J), register))
    first, kept = replace(before, value=term(register)), Declare("a_b", "float", register)
    load = Declare("a_c", "float", element("a", T, Int(0)), mutable=True)
    found = carried(loop(before, NEXT, upper=Int(8)))
    assert found == (load, loop(first, *written, upper=Int(8)))
    found = carried(loop(before, NEXT, behind, upper=Int(8)))
    last = replace(behind, value=term(old))
    assert found == (load, loop(first, kept, *written, last, upper=Int(8)))


def test_a_statement_of_its_own_may_be_all_that_reads_it() -> None:
    register = Name("a_c", "float")
    reader = Assign(element("c", J), element("a", T, plus(J, -1)))
    writer = Assign(element("a", T, J), element("b", J))
    load = Declare("a_c", "float", element("a", T, Int(0)), mutable=True)
    inner = (
        replace(reader, value=register),
        replace(writer, target=register),
        replace(writer, value=register),
    )
    assert carried(loop(reader, writer, upper=Int(8))) == (load, loop(*inner, upper=Int(8)))


def test_a_test_is_not_made_twice() -> None:
    test = Binary("<", Int(1), N)
    (found,) = carried(If(test, (loop(NEXT),), (), uniform=True))
    assert isinstance(found, If)
    assert [type(s) for s in found.then] == [Declare, For]


@pytest.mark.parametrize(
    "body",
    [
        (Assign(element("a", T, J), term(element("a", T, plus(J, -2)))),),  # two iterations before
        (Assign(element("a", T, J), term(element("a", T, plus(J, 1)))),),  # one later
        (Assign(element("a", T, J), term(element("b", plus(J, -1)))),),  # another array
        (Assign(element("a", T, Int(0)), term(element("a", T, Int(0)))),),  # held, if anything
        (NEXT, Assign(element("a", T, plus(J, 1)), Int(0))),  # written twice
        (NEXT, Barrier()),
        (Declare("k", "int", element("b", J)), Assign(element("a", K, J), element("a", K, plus(J, -1)))),
        (If(Binary("<", T, N), (NEXT,), (), uniform=False),),
        (Assign(element("s", J), element("s", plus(J, -1))),),  # no global memory
    ],
)  # fmt: skip
def test_what_stays_in_memory(body: Body) -> None:
    assert carried(loop(*body)) == (loop(*body),)


def test_without_registers_everything_stays() -> None:
    assert carry((loop(NEXT),), frozenset({"a"}), 0) == (loop(NEXT),)


PROGRAM = """
void f(int n, int m, float a[restrict n][m], float b[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = m - 2; j >= 0; j--)
            a[i][j] = a[i][j + 1] * 0.5f + b[i][j];
#pragma endscop
}
"""


@cache
def compiled(device: str) -> CompiledRegion:
    with TemporaryDirectory() as name:
        file = Path(name) / "f.c"
        file.write_text(PROGRAM)
        return pipeline.compile_file(str(file), Options(target="emulator", device=device)).regions[0]


def is_load(s: Statement) -> bool:
    return isinstance(s, Declare) and s.name == "a_c"


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_the_certificate_holds(device: str) -> None:
    """Also of the ring on an H100, whose tiles begin below 0."""
    r = compiled(device)
    assert any(map(is_load, statements(r.region.kernels[0].body)))
    found = certify(r)
    assert found.holds
    assert not found.unproved


def elsewhere(s: Statement) -> tuple[Statement, ...] | None:
    """The register begins with the element beside the right one."""
    match s:
        case Declare("a_c", value=Reference() as value):
            *rows, column = value.subscripts
            moved = Binary("-", column, Binary(">", column, Int(0)))
            return (replace(s, value=replace(value, subscripts=(*rows, moved))),)
    return None


def unstored(s: Statement) -> tuple[Statement, ...] | None:
    match s:
        case Assign(Reference("a"), Name("a_c")):
            return ()
    return None


@pytest.mark.parametrize(("change", "kind"), [(elsewhere, VALUES), (unstored, INSTANCES)])
def test_mistakes_are_refuted(change: kernel_mutants.Change, kind: str) -> None:
    r = compiled("8800gtx")
    mutants = list(kernel_mutants.kernel_variants(r.region, change))
    assert mutants
    for region in mutants:
        assert kind in {f.property for f in certify(replace(r, region=region)).failures}
