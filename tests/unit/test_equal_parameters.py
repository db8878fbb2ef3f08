"""Whether parameters are equal is a parameter where branches depend on it, and `else if` makes one domain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu.analysis import polyhedra
from polygpu.analysis.names import with_free_names
from polygpu.compilation import Options
from polygpu.frontend.shape.equal import with_truths
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.pipeline import compile_file
from polygpu.verify.certificate import certify


def chain(branches: int) -> str:
    tests = "".join(f"if (kind == k{b}) x[i] = {b} * y[i]; else " for b in range(branches))
    parameters = ", ".join(("int n", "int kind", *(f"int k{b}" for b in range(branches))))
    return f"""
void f({parameters}, float *restrict x, const float *restrict y)
{{
#pragma scop
    for (int i = 0; i < n; i++) {{ {tests} x[i] = 0; }}
#pragma endscop
}}
"""


def region(directory: Path, text: str) -> CompiledRegion:
    (directory / "f.c").write_text(text)
    (made,) = compile_file(str(directory / "f.c"), Options(target="emulator", level=0)).regions
    return made


@pytest.mark.parametrize("branches", [1, 2, 4])
def test_each_branch_has_one_domain(branches: int, tmp_path: Path) -> None:
    made = region(tmp_path, chain(branches))
    free, _ = with_free_names(made.scop)
    p = polyhedra.build(free)
    assert [s.domain.n_basic_set() for s in p.statements] == [1] * (branches + 1)
    assert certify(made).holds


def test_the_host_tests_as_the_source_does(tmp_path: Path) -> None:
    made = region(tmp_path, chain(1))
    truth = next(s for s in made.scop.scalars if s.name == "kind_is_k0")
    assert (truth.host, truth.between) == ("(kind == k0)", (0, 1))
    assert {"kind", "k0"}.isdisjoint(s.name for s in made.scop.scalars)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if (n == m) x[i] = 1;", "there is no other branch"),
        ("if (i == m) x[i] = 1; else x[i] = 2;", "an iterator is tested"),
        ("if (n == m) x[i] = 1; else x[i + m] = 2;", "a subscript has the value"),
    ],
)
def test_other_tests_stay_as_they_are(body: str, why: str, tmp_path: Path) -> None:
    made = region(
        tmp_path,
        f"void f(int n, int m, float x[n + m]) {{\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n}}\n",
    )
    assert not [s for s in made.scop.scalars if "_is_" in s.name], why


def known(value: Expr) -> Name | None:
    match value:
        case Binary("==", Name(left), Name(right)):
            return Name(f"{left}_is_{right}")
    return None


EQUAL = Binary("==", Name("a"), Name("b"))
OTHER = Binary("!=", Name("a"), Name("b"))
LESS = Binary("<", Name("a"), Int(4))


def test_all_domains_use_the_parameter() -> None:
    change = with_truths([(EQUAL,), (OTHER,)], frozenset(), known)
    assert change((EQUAL,)) == (Binary(">=", Name("a_is_b"), Int(1)),)
    assert change((OTHER,)) == (Binary("<", Name("a_is_b"), Int(1)),)


@pytest.mark.parametrize(
    ("domains", "elsewhere"),
    [
        ([(EQUAL,)], frozenset()),
        ([(OTHER,), (LESS,)], frozenset()),
        ([(OTHER,)], frozenset({"b"})),
        ([(Binary("!=", Name("a"), Int(3)),)], frozenset()),
    ],
)
def test_nothing_else_changes(domains: list[tuple[Expr, ...]], elsewhere: frozenset[str]) -> None:
    change = with_truths(domains, elsewhere, known)
    assert [change(domain) for domain in domains] == domains


def test_a_long_switch_has_as_many_ranges_as_cases(tmp_path: Path) -> None:
    """Parameters for its tests would have 2 ** 16 combinations."""
    cases = "".join(f"case {3 * k}: return y * y + {k};" for k in range(16))
    text = f"""
static float value(float y, int kind) {{ switch (kind) {{ {cases} }} return y; }}
void f(int n, int kind, float *restrict x, const float *restrict y)
{{
    for (int i = 0; i < n; i++)
        x[i] = value(y[i], kind);
}}
"""
    (tmp_path / "f.c").write_text(text)
    (made,) = compile_file(str(tmp_path / "f.c"), Options(target="emulator", level=0)).regions
    assert made.region.kernels
    assert "kind" in {s.name for s in made.scop.scalars}
    p = polyhedra.build(with_free_names(made.scop)[0])
    assert max(s.domain.n_basic_set() for s in p.statements) == 17


def test_code_grows_with_the_branches_alone(tmp_path: Path) -> None:
    def copies(branches: int) -> int:
        text = str(region(tmp_path, chain(branches)).region.kernels)
        return len(re.findall(r"Origin\(", text))

    assert copies(4) - copies(3) == copies(3) - copies(2) > 0
