"""The old values that conditional stores keep: kernels must have those that anything depends on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu import pipeline
from polygpu.analysis import polyhedra
from polygpu.compilation import Options
from polygpu.frontend import FrontendOptions, lift
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Int, Name, Reference
from polygpu.model.kernel import Assign, If, Statement
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import numbered
from polygpu.model.scop import Let, Store
from polygpu.support.isl_idioms import TooLongError
from polygpu.verify.certificate import certify
from polygpu.verify.demand import Demand
from polygpu.verify.source import Source
from tests.unit.kernel_mutants import kernel_variants

PROGRAM = """
void f(int n, float x[restrict n], float y[restrict n][64])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < LAST; j++) {
            if (y[i][j] > 2)
                x[i] = j;
            if (SURE)
                x[i] = y[i][j];
        }
#pragma endscop
}
"""
FIRST_IS_OVERWRITTEN = [
    ("j % 2 == 0", 64, "j = 63"),
    ("j % 2 == 1", 63, "j = 62"),
    ("j % 3 == 0", 64, "false"),
    ("j % 3 == 1", 64, "62 <= j <= 63"),
    ("j > 59", 64, "false"),  # each of the 60 before it may find only the one before itself
    ("j / 4 == 7", 64, "32 <= j <= 63"),
]
FIRST_IS_KEPT = "j % 2 == 0 && j < i"


def compiled(directory: Path, sure: str, last: int) -> CompiledRegion:
    (directory / "v.c").write_text(PROGRAM.replace("SURE", sure).replace("LAST", str(last)))
    (found,) = pipeline.compile_file(str(directory / "v.c"), Options(target="emulator", level=1)).regions
    return found


def without_loads(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Registers are not loaded from the array that they hold elements of."""

    def is_load(s: Statement) -> bool:
        return isinstance(s, Assign) and isinstance(s.value, Reference) and s.value.array == "x"

    def emptied(s: Statement) -> Statement:
        return replace(s, then=tuple(x for x in s.then if not is_load(x))) if isinstance(s, If) else s

    return map_statements(tuple(s for s in body if not is_load(s)), emptied)


def test_what_takes_too_long_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def too_long(*of: object) -> None:
        looked.append(of)
        raise TooLongError("isl takes too long")

    found = Source(polyhedra.build(compiled(tmp_path, FIRST_IS_KEPT, 64).scop))
    monkeypatch.setattr("polygpu.verify.source.last_writes", too_long)
    (old,) = (s for s in found.slots if s.implied)
    for _ in range(2):
        with pytest.raises(TooLongError):
            found.last("x")
        with pytest.raises(TooLongError):
            found.writers(old)
    assert len(looked) == 2


@pytest.mark.parametrize(("sure", "last", "found"), FIRST_IS_OVERWRITTEN)
def test_old_values_that_are_found(sure: str, last: int, found: str, tmp_path: Path) -> None:
    source = Source(polyhedra.build(compiled(tmp_path, sure, last).scop))
    (old,) = (s for s in source.slots if s.implied)
    expected = source.p.statement(old.statement).domain.intersect(
        isl.Set(f"[n] -> {{ {old.statement}[i, j] : {found} }}")
    )
    assert Demand(source).instances(old).is_equal(expected)


@pytest.mark.parametrize(
    ("sure", "found"), [("j > 59", "j = 63"), ("j % 3 == 1", "j >= 61"), ("j / 4 == 7", "j >= 31")]
)
def test_old_values_that_are_found_behind_sure_writes(sure: str, found: str, tmp_path: Path) -> None:
    """What is stored before the last of these is found by nothing, however long a chain leads there."""
    text = PROGRAM.replace("LAST", "64")
    first, second = (
        "if (y[i][j] > 2)\n                x[i] = j;",
        "if (SURE)\n                x[i] = y[i][j];",
    )
    text = text.replace(first, "FIRST").replace(second, first).replace("FIRST", second).replace("SURE", sure)
    (tmp_path / "v.c").write_text(text)
    options = Options(target="emulator", level=1)
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    source = Source(polyhedra.build(made.scop))
    (old,) = (s for s in source.slots if s.implied)
    domain = source.p.statement(old.statement).domain
    expected = domain.intersect(isl.Set(f"[n] -> {{ {old.statement}[i, j] : {found} }}"))
    assert Demand(source).instances(old).is_equal(expected)
    assert certify(made).holds


@pytest.mark.parametrize(("sure", "last"), [(sure, last) for sure, last, _ in FIRST_IS_OVERWRITTEN])
def test_an_element_that_is_overwritten_need_not_be_loaded(sure: str, last: int, tmp_path: Path) -> None:
    made = compiled(tmp_path, sure, last)
    (kernel,) = made.region.kernels
    assert kernel.body == without_loads(kernel.body)
    assert certify(made).holds


def test_an_element_that_a_later_read_or_the_end_may_find_must_be_loaded(tmp_path: Path) -> None:
    made = compiled(tmp_path, FIRST_IS_KEPT, 64)
    assert certify(made).holds
    (kernel,) = made.region.kernels
    wrong = replace(kernel, body=without_loads(kernel.body))
    assert wrong != kernel
    certificate = certify(replace(made, region=replace(made.region, kernels=(wrong,))))
    assert "reads a value that nobody computed" in [f.message for f in certificate.failures]


ANYWHERE = """
void f(int n, int x[restrict n], int y[restrict n][64], int z[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        z[i] = WHICH;
        for (int j = 0; j < 64; j++) {
            if (y[i][j] > 2)
                x[i] = j;
            if (SURE)
                x[i] = y[i][j];
        }
    }
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("which", "sure", "found"),
    [
        ("x[y[i][0] & 7]", "j == 63", "false"),  # finds what is left in the end, if it is a later instance's
        ("x[y[i][0] & 7]", "j == 62", "j = 63"),
        ("x[i] + x[y[i][0] & 7]", "j % 2 == 0", "j = 63"),
    ],
)
def test_old_values_that_reads_of_any_element_may_find(
    which: str, sure: str, found: str, tmp_path: Path
) -> None:
    text = ANYWHERE.replace("WHICH", which).replace("SURE", sure)
    (tmp_path / "v.c").write_text(text)
    options = Options(target="emulator", level=1)
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    source = Source(polyhedra.build(made.scop))
    (old,) = (s for s in source.slots if s.implied)
    domain = source.p.statement(old.statement).domain
    expected = domain.intersect(isl.Set(f"[n] -> {{ {old.statement}[i, j] : {found} }}"))
    assert Demand(source).instances(old).is_equal(expected)


def test_a_branch_that_writes_on_both_sides_needs_no_old_value(tmp_path: Path) -> None:
    """Also where a read of the array may find any element."""
    both = "if (y[i][j] > 2)\n                x[i] = j;\n            else\n                x[i] = 3;"
    text = ANYWHERE.replace("if (y[i][j] > 2)\n                x[i] = j;", both)
    (tmp_path / "v.c").write_text(text.replace("WHICH", "x[y[i][0] & 7]").replace("SURE", "j == 7"))
    options = Options(target="emulator", level=1)
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    source = Source(polyhedra.build(made.scop))
    first, second = (s for s in source.slots if s.implied)
    assert Demand(source).instances(first).is_empty()
    assert not Demand(source).instances(second).is_empty()
    assert certify(made).holds


PASSED_ON = """
void f(int m, float A[restrict 25][41], float B[restrict 222])
{
#pragma scop
    for (int i = 0; i < (m < 95 ? m : 95); i += 3) {
        unsigned long t = 4;
        for (int j = i + 1; j < 3; j++) {
            B[i + 7] = 0.5f * B[i + 7] + t;
            if (A[0][j - 1] <= A[j + 2][2])
                t = t * 3u < 7 ? t : 7;
        }
        AFTER;
    }
#pragma endscop
}
"""


@pytest.mark.parametrize("after", ["", "B[i + 107] = t"])
def test_the_old_value_of_the_last_iteration_may_have_no_reader(after: str, tmp_path: Path) -> None:
    """Iterations pass `t` on: each of its three assignments is needed, the old value only if one reads it."""

    def without(s: Statement) -> tuple[Statement, ...] | None:
        match s:
            case Assign(Name(name) | Reference(name), _) if name.startswith("t"):
                return ()
        return None

    (tmp_path / "v.c").write_text(PASSED_ON.replace("AFTER", after))
    options = Options(target="emulator", device="8800gtx", level=0, certify="off")
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    assert certify(made).holds
    changed = [certify(replace(made, region=r)).holds for r in kernel_variants(made.region, without)]
    assert changed == [False] * 3


@pytest.mark.parametrize(
    ("test", "known"),
    [("i > n - 2", False), ("(i > n - 2) == 0", False), ("!(i + 2 > n)", True), ("(i + 2 > n) == 0", True)],
)
def test_differences_of_unsigned_values_decide_nothing(test: str, known: bool, tmp_path: Path) -> None:
    """They wrap around below 0, also inside of a test of a truth value."""
    body = f"for (int i = 0; i < n; i++)\n        if ({test})\n            x[i] = 1;"
    text = f"void f(unsigned n, float x[restrict n])\n{{\n#pragma scop\n    {body}\n#pragma endscop\n}}\n"
    (tmp_path / "v.c").write_text(text)
    options = Options(target="emulator", level=1)
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    (write,) = (s for s in Source(polyhedra.build(made.scop)).slots if s.write)
    everywhere = isl.Set(f"[n] -> {{ {write.statement}[i] : 0 <= i < n }}")
    assert write.reached.is_subset(everywhere)
    assert write.reached.is_equal(everywhere) == (not known)


BRANCHES = """
void f(int n, int x[restrict n], int y[restrict n][8])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int t = y[i][0];
        BODY
    }
#pragma endscop
}
"""
OTHER = "if (y[i][2] > 2) t = y[i][3]; x[i] = t;"


@pytest.mark.parametrize(
    ("body", "missed"),
    [
        (f"if (y[i][1] > 1) {{ t = 7; }} else {{ {OTHER} }}", False),
        (f"if (y[i][1] > 1) {{ t = 7; }} {OTHER}", True),
        (f"if (y[i][1] > 1) {{ t = 7; }} else {{ {OTHER} }} x[i] += t;", True),
        (f"for (int k = 0; k < y[i][4]; k++) if (y[i][k] > 1) {{ t = 7; }} else {{ {OTHER} }}", True),
    ],
)
def test_what_only_another_branch_may_find_is_not_missed(body: str, missed: bool, tmp_path: Path) -> None:
    (tmp_path / "v.c").write_text(BRANCHES.replace("BODY", body))
    p = polyhedra.build(lift(str(tmp_path / "v.c"), FrontendOptions(cc="")).scops[0])
    places = [
        (s.name, number)
        for s in p.statements
        for number, a in numbered(s.body)
        if isinstance(a, Store | Let) and a.value == Int(7)
    ]
    assert len(places) == 1
    assert bool([*Demand(Source(p), frozenset(places)).missed()]) == missed
