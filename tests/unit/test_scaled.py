"""Staged arrays that hold what statements make of their elements: what is made, and what certificates see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, Kernel, ScalarArgument, SharedArray, Statement
from polygpu.model.kernel_walk import statements
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from polygpu.verify.forms import forms_of
from polygpu.verify.match import MismatchError
from polygpu.verify.scoped import UnclearError
from polygpu.verify.verdict import VALUES
from tests.unit import kernel_mutants

PROGRAM = """
void f(int n, int m, float alpha, float beta, float A[restrict n][m], float B[restrict m][n],
       float C[restrict n][n])
{{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += {term};
#pragma endscop
}}
"""
SMALL = "tile(i: 8, j: 16, k: 4) threads(i: 4, j: 8)"
DOUBLE = f"{SMALL} buffer(double)"
ALPHA = Name("alpha", "float")


@cache
def compiled(term: str, decisions: str = DOUBLE) -> CompiledRegion:
    with TemporaryDirectory() as name:
        file = Path(name) / "f.c"
        file.write_text(PROGRAM.format(term=term))
        options = Options(target="emulator", device="h100", decisions=(decisions,))
        return pipeline.compile_file(str(file), options).regions[0]


def copies(kernel: Kernel) -> Iterator[tuple[str, Expr]]:
    """What each assignment to shared memory stores there."""
    names = {s.name for s in kernel.shared}
    for s in statements(kernel.body):
        match s:
            case Assign(Reference(array), value) if array in names:
                yield array, value


def scaled(r: CompiledRegion) -> set[str]:
    """The shared arrays that hold something else than elements."""
    (kernel,) = r.region.kernels
    return {array for array, value in copies(kernel) if not isinstance(value, Reference)}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("alpha * A[i][k] * B[k][j]", {"A_s"}),
        ("A[i][k] * alpha * B[k][j]", {"A_s"}),
        ("A[i][k] * (B[k][j] / beta)", {"B_s"}),
        ("(alpha * A[i][k] - 1.0f) * (-B[k][j])", {"A_s", "B_s"}),
        ("A[i][k] * B[k][j] * alpha", set()),  # the product is scaled, no element
        ("A[i][k] * 2.0 * B[k][j]", set()),  # in double precision
        ("alpha * A[i][k] * B[k][j] + A[i][k]", set()),  # once so, once otherwise
        ("i * A[i][k] * B[k][j]", set()),  # another value at each point
    ],
)
def test_what_is_made_of_elements_with_scalars(term: str, found: set[str]) -> None:
    assert scaled(compiled(term)) == found


def test_what_is_copied_at_once_is_scaled_where_that_is_asked_for() -> None:
    term = "alpha * A[i][k] * B[k][j]"
    assert scaled(compiled(term, f"{SMALL} buffer(none)")) == set()
    assert scaled(compiled(term, f"{SMALL} buffer(none) scale(A)")) == {"A_s"}
    assert scaled(compiled(term, f"{DOUBLE} scale()")) == set()
    with pytest.raises(Diagnosed, match="goes to shared memory by itself"):
        compiled(term, f"{SMALL} buffer(ring) scale(A)")


def test_two_tiles_take_turns() -> None:
    (kernel,) = compiled("A[i][k] * B[k][j]").region.kernels
    assert [s.extents for s in kernel.shared] == [(2, 4, 8), (2, 4, 16)]


@pytest.mark.parametrize("decisions", [DOUBLE, f"{SMALL} buffer(none) scale(A)"])
def test_the_certificate_holds(decisions: str) -> None:
    r = compiled("alpha * A[i][k] * B[k][j]", decisions)
    assert scaled(r) == {"A_s"}
    found = certify(r)
    assert found.holds
    assert not found.unproved


def with_value(change: Callable[[Expr], Expr]) -> kernel_mutants.Change:
    """What is made of a copied element is made otherwise."""

    def changed(s: Statement) -> tuple[Statement, ...] | None:
        match s:
            case Assign(Reference("A_s"), Binary() as value, None):
                return (replace(s, value=change(value)),)
        return None

    return changed


def plain(value: Expr) -> Expr:
    assert isinstance(value, Binary)
    return value.right


def by_beta(value: Expr) -> Expr:
    return Binary("*", Name("beta", "float"), plain(value))


@pytest.mark.parametrize("change", [plain, by_beta])
def test_a_copy_that_makes_something_else_is_refuted(change: Callable[[Expr], Expr]) -> None:
    r = compiled("alpha * A[i][k] * B[k][j] + 0 * beta")
    one = list(kernel_mutants.kernel_variants(r.region, with_value(change)))
    assert len(one) > 1
    everywhere = r.region
    for _ in one:  # the first that is left as it was, each time
        left = list(kernel_mutants.kernel_variants(everywhere, with_value(change)))
        changed = [x for x in left if x != everywhere]
        everywhere = changed[0] if changed else everywhere
    for region in (*one, everywhere):
        assert {f.property for f in certify(replace(r, region=region)).failures} == {VALUES}


def memory(*body: Statement) -> Kernel:
    shared = (SharedArray("s", "float", (4,)), SharedArray("t", "float", (4,)))
    return Kernel("k", (), (), (), (1, 1, 1), shared, body)


def element(array: str) -> Reference:
    return Reference(array, (Name("thread_x"),), "float")


def test_what_memories_hold() -> None:
    times = Binary("*", element("A"), element("A"))
    twice = Binary("+", element("A"), element("A"))
    made = Binary("*", Name("x", "float"), element("s"))
    assert forms_of(memory(Assign(element("s"), element("A")), Declare("x", "float", element("s")))) == {}
    assert forms_of(memory(Assign(element("s"), times), Assign(element("t"), twice))) == {}
    assert forms_of(memory(Declare("x", "float", None, True), Assign(element("t"), made))) == {}


def kernel_of(scalar: str, *body: Statement) -> Kernel:
    return replace(memory(*body), scalars=(ScalarArgument(scalar, "float"),))


SCALED = Assign(element("s"), Binary("*", ALPHA, element("A")))


def test_copies_hold_what_they_copy() -> None:
    found = forms_of(kernel_of("alpha", SCALED, Assign(element("t"), element("s"))))
    assert set(found) == {"s", "t"}
    assert found["s"] == found["t"]


@pytest.mark.parametrize(
    ("other", "error"),
    [
        (Assign(element("s"), element("A")), MismatchError),
        (Assign(element("s"), Binary("+", ALPHA, element("A"))), MismatchError),
        (Assign(element("B"), element("s")), UnclearError),  # leaves the chip
        (Assign(element("t"), Binary("*", ALPHA, element("s"))), MismatchError),  # twice scaled
        (Assign(element("t"), Binary("+", element("t"), element("s"))), UnclearError),
    ],
)
def test_a_memory_that_holds_different_things(other: Statement, error: type[Exception]) -> None:
    with pytest.raises(error):
        forms_of(kernel_of("alpha", SCALED, other))


@pytest.mark.slow
def test_a_second_place_needs_its_barrier_and_its_turn() -> None:
    r = compiled("alpha * A[i][k] * B[k][j]")
    mutants = list(kernel_mutants.kernel_variants(r.region, kernel_mutants.without_barrier))
    assert len(mutants) == 2
    for region in mutants:
        assert VALUES in {f.property for f in certify(replace(r, region=region)).failures}
