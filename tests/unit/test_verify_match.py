"""Integers of the source that a kernel computes with the conversions of unsigned parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.compilation import Options
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Name, Reference, Unary
from polygpu.model.kernel_walk import map_operands, map_statements
from polygpu.model.rewrite import rewrite, walk
from polygpu.pipeline import compile_file
from polygpu.verify.affine import Scope, parameter
from polygpu.verify.certificate import certify
from polygpu.verify.match import Matcher, MismatchError

PROGRAM = """
void f(unsigned int m, long c[restrict 97])
{
    int u;
#pragma scop
    u = -(m < 96 ? m : 96) + 2;
    for (int i = (m < 96 ? m : 96); i >= 0; i -= 2) {
        c[i] = -u + 3;
        u += 2;
    }
#pragma endscop
}
"""
OF_DATA = """
void f(unsigned int m, int a[restrict 97], long c[restrict 97])
{
#pragma scop
    for (int i = 0; i < (m < 96 ? m : 96); i++)
        c[i] = VALUE;
#pragma endscop
}
"""
BY_DATA = """
void f(int a[restrict 16], int b[restrict 16], int c[restrict 3][16], int at[restrict 16])
{
#pragma scop
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 16; j++)
            a[j] = b[j] + i;
        for (int j = 0; j < 16; j++)
            c[i][j] = a[at[j]] + 1;
    }
#pragma endscop
}
"""
PASSED = Name("m", "int")
LEAST = Call("min", (PASSED, Int(96)), "unsigned int")


def shifted(m: Expr, least: Expr, by: int = 2) -> Expr:
    """`-(int)(-m + by) + (int)(least / 2)`."""
    first = Unary("-", Cast("int", Binary("+", Unary("-", m), Int(by))))
    return Binary("+", first, Cast("int", Binary("/", least, Int(2))))


def match(source: Expr, kernel: Expr, least: int = 0) -> None:
    scope = Scope(isl.Set(f"[m] -> {{ [] : m >= {least} }}")).bind("m", parameter("m"))
    symbols = {"m": Name("m", "unsigned int")}
    Matcher(scope, scope, symbols, frozenset(), frozenset(), lambda _: None).match(source, kernel)


SOURCE = shifted(Name("m", "unsigned int"), LEAST)


def test_conversions_are_those_of_the_source() -> None:
    match(SOURCE, shifted(Cast("unsigned int", PASSED), LEAST))


@pytest.mark.parametrize(
    "kernel",
    [
        shifted(Cast("unsigned int", PASSED), LEAST, 3),
        shifted(Cast("unsigned char", PASSED), LEAST),
        shifted(Cast("unsigned int", PASSED), Call("min", (PASSED, Int(95)), "unsigned int")),
    ],
    ids=["another constant", "another type", "another part"],
)
def test_anything_else_differs(kernel: Expr) -> None:
    with pytest.raises(MismatchError):
        match(SOURCE, kernel)


def test_a_program_that_does_so_is_proved(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(PROGRAM)
    made = compile_file(str(tmp_path / "f.c"), Options(target="emulator", device="generic"))
    assert "unsigned int)m" in made.files["_emulator.c"]
    certificate = certify(made.regions[0])
    assert certificate.holds, certificate


DIFFERENCE = Binary("-", PASSED, Int(5))


def test_a_difference_of_unsigned_values_is_one_of_integers_where_it_does_not_wrap() -> None:
    source = Binary("-", Name("m", "unsigned int"), Int(5))
    match(source, DIFFERENCE, 5)
    with pytest.raises(MismatchError):
        match(source, DIFFERENCE, 4)


@pytest.mark.parametrize("value", ["m - 5", "a[i] * m", "a[i] / m", "(a[i] > 3 ? a[i] : m)"])
def test_values_without_the_conversions_of_the_source_are_refuted(value: str, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(OF_DATA.replace("VALUE", value))
    (made,) = compile_file(str(tmp_path / "f.c"), Options(target="emulator", device="generic")).regions
    assert certify(made).holds

    def plain(e: Expr) -> Expr:
        return rewrite(e, lambda x: x.operand if isinstance(x, Cast) and x.type == "unsigned int" else None)

    wrong = tuple(
        replace(k, body=map_statements(k.body, lambda s: map_operands(s, plain, plain)))
        for k in made.region.kernels
    )
    assert wrong != made.region.kernels
    assert certify(replace(made, region=replace(made.region, kernels=wrong))).failures


def test_what_data_choose_may_be_read_from_a_version_of_the_array_but_not_from_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "f.c").write_text(BY_DATA)
    options = Options(target="emulator", device="generic", decisions=("expand(a: i)",))
    (made,) = compile_file(str(tmp_path / "f.c"), options).regions
    (version,) = (b.name for b in made.region.buffers if not b.host)
    assert not certify(made).failures  # nor a proof: data tell whose value is read

    def other(e: Expr) -> Expr:
        return rewrite(e, lambda x: changed(x) if isinstance(x, Reference) and is_by_data(x) else None)

    def is_by_data(e: Reference) -> bool:
        return e.array == version and any(isinstance(x, Reference) for s in e.subscripts for x in walk(s))

    def changed(e: Reference) -> Reference:
        return replace(e, array="at", subscripts=e.subscripts[1:])

    wrong = tuple(
        replace(k, body=map_statements(k.body, lambda s: map_operands(s, other, other)))
        for k in made.region.kernels
    )
    assert wrong != made.region.kernels
    assert certify(replace(made, region=replace(made.region, kernels=wrong))).failures
