"""Values told apart: what was there before the region, and what a scalar has in each iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.analysis import versions
from polygpu.analysis.versions import Versions
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Reference
from polygpu.model.kernel import Assign, Region
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.verify.certificate import certify
from tests.unit.frontend_text import shown_action
from tests.unit.middle import VECTORS, dependent

OLD = "for (int i = 0; i < n - 1; i++) x[i] = x[i + 1] + y[i];"


def told(body: str) -> dict[str, str]:
    p, _ = dependent(VECTORS, body)
    found = Versions(p, tuple(s.name for s in p.statements)).told_apart()
    return {s.name: " ".join(shown_action(a) for a in s.body) for s in found.statements}


def test_what_is_stored_over_is_copied() -> None:
    assert told(OLD) == {
        "B_x_old": "x_old[x_e0] = x[x_e0];",
        "S0": "x[i] = (x_old[(i + 1)] + y[i]);",
    }


def test_values_that_take_many_steps_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "STEPS", 200)
    assert told(OLD) == {"S0": "x[i] = (x[(i + 1)] + y[i]);"}


def test_what_an_iteration_stores_over_itself_is_not() -> None:
    assert told("for (int i = 0; i < n; i++) x[i] = x[i] + y[i];") == {"S0": "x[i] = (x[i] + y[i]);"}


def test_what_other_iterations_have_stored_is_not() -> None:
    found = told("for (int i = 1; i < n; i++) x[i] = x[i - 1] + y[i];")
    assert set(found.values()) == {"x[i] = (x[(i - 1)] + y[i]);"}


def test_what_other_iterations_may_have_stored_is_not() -> None:
    """Data tell whether it is what was there before; the next iteration stores over it."""
    found = told("for (int i = 2; i < n; i++) { if (y[i] > 0) x[i] = 1; z[i] = x[i - 1]; x[i - 2] = 0; }")
    assert "z[i] = x_old[(i - 1)];" not in {text for name, text in found.items() if name != "S1_0"}
    body = "{ if (y[i] > 0) x[i + 1] = y[i]; z[i] = x[i]; x[i + 2] = 1; }"
    found = told(f"for (int i = 0; i < n - 2; i++) {body}")
    assert "z[i] = x_old[i];" not in {text for name, text in found.items() if name != "S1_0"}


def test_what_the_same_iteration_may_have_stored_is_not() -> None:
    """In the one where i is 3 it surely did: that is cut off, and reads what it wrote."""
    body = "if (y[i] > 0) { if (i == 3) x[i] = y[i]; z[i] = x[i]; x[i + 1] = 2 * y[i]; }"
    found = told(f"for (int i = n - 2; i >= 0; i--) {body}")
    assert sorted("z[i] = x_old[i];" in text for name, text in found.items() if name[0] == "S") == [
        False,
        True,
    ]
    body = "{ if (y[i] > 0) { if (y[i] > 3) x[i] = y[i]; z[i] = x[i]; x[i + 1] = 2 * y[i]; } }"
    assert "x_old" not in " ".join(told(f"for (int i = n - 2; i >= 0; i--) {body}").values())


def test_a_scalar_that_the_same_iteration_may_have_set_is_not_told_apart() -> None:
    body = "float t = 1; for (int i = 0; i < n; i++) { if (y[i] > 0) { t = z[i]; } x[i] = t; t = y[i]; }"
    assert "_all" not in " ".join(told(body).values())
    body = "float t = 1; for (int i = 0; i < n; i++) if (y[i] > 0) { if (y[i] > 3) t = 2; x[i] = t; t = 3; }"
    assert "_all" not in " ".join(told(body).values())


def test_a_scalar_of_the_iteration_before() -> None:
    body = "float t = z[0]; for (int i = 0; i < n; i++) { x[i] = y[i] + t; t = z[i]; }"
    found = told(body)
    assert found["S2"] == "t_1_all[i] = z[i];"
    assert found["S0"] == "t_0_all = z[0];"
    assert found["S1_0"] == "x[i] = (y[i] + t_0_all);"
    assert found["S1_1"] == "x[i] = (y[i] + t_1_all[(-1 + (1 * i))]);"


def test_a_sum_is_no_scalar_of_the_iteration_before() -> None:
    body = "float t = 0; for (int i = 0; i < n; i++) { t = t + y[i]; x[i] = t; }"
    assert set(told(body).values()) == {"t = 0;", "t = (t + y[i]);", "x[i] = t;"}


PROGRAM = """
void f(int n, float x[restrict n], const float y[restrict n], float z[restrict n])
{
#pragma scop
    BODY
#pragma endscop
}
"""
PARALLEL = {
    "old values": OLD,
    "downwards": "for (int i = n - 2; i >= 0; i--) x[i + 1] = x[i] + y[i];",
    "half old, half new": "for (int i = 0; i < n; i++) x[i] = x[n - 1 - i] + y[i];",
    "one of them": "for (int i = 0; i < n; i++) x[i] = x[3] + y[i];",
    "a scalar": "float t = 0; for (int i = 0; i < n; i++) { float s = y[i]; x[i] = s + t; t = s; }",
    "two scalars": "float t = 0, u = 1; for (int i = 0; i < n; i++)"
    " { x[i] = y[i] + t + u; u = t; t = y[i]; }",
    "what is stored over twice": "for (int i = 0; i < n - 1; i++)"
    " { x[i] = z[i]; z[i] = y[i] + z[i]; x[i + 1] = z[i] + x[i + 1]; }",
    "both": "float t = 0; for (int i = 0; i < n; i++) { x[i] = t * y[i]; t = z[i]; z[i] = x[i] + 1; }",
}


def compiled(body: str, directory: Path) -> CompiledRegion:
    (directory / "v.c").write_text(PROGRAM.replace("BODY", body))
    (found,) = pipeline.compile_file(str(directory / "v.c"), Options(target="emulator", level=1)).regions
    return found


@pytest.mark.parametrize("name", PARALLEL)
def test_loops_become_parallel_and_are_proved(name: str, tmp_path: Path) -> None:
    made = compiled(PARALLEL[name], tmp_path)
    assert not made.prepared.alone
    assert certify(made).holds


def test_loops_that_gain_nothing_stay_as_they_are(tmp_path: Path) -> None:
    made = compiled("for (int i = 2; i < n - 1; i++) x[i] = x[i + 1] + x[i - 1];", tmp_path)
    assert [a.name for a in made.polyhedra.arrays] == ["x"]


def in_kernel(region: Region, k: int, change: Callable[[Expr], Expr | None]) -> Region:
    def changed(s: object) -> object:
        return replace(s, value=rewrite(s.value, change)) if isinstance(s, Assign) else s

    body = map_statements(region.kernels[k].body, changed)  # type: ignore[arg-type]
    assert body != region.kernels[k].body
    kernels = tuple(replace(x, body=body) if n == k else x for n, x in enumerate(region.kernels))
    return replace(region, kernels=kernels)


def next_of(array: str) -> Callable[[Expr], Expr | None]:
    def change(e: Expr) -> Expr | None:
        if isinstance(e, Reference) and e.array == array:
            return replace(e, subscripts=(Binary("-", e.subscripts[0], Int(1)),))
        return None

    return change


def itself(e: Expr) -> Expr | None:
    return replace(e, array="x") if isinstance(e, Reference) and e.array == "x_old" else None


MUTANTS: dict[str, Callable[[Region], Region]] = {
    "a copy of another element": lambda r: in_kernel(r, 0, next_of("x")),
    "another element of the copy": lambda r: in_kernel(r, 1, next_of("x_old")),
    "no copy": lambda r: replace(r, body=r.body[1:]),
    "the copy afterwards": lambda r: replace(r, body=r.body[::-1]),
    "the array itself": lambda r: in_kernel(r, 1, itself),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_copies_are_not_proved(name: str, tmp_path: Path) -> None:
    made = compiled(OLD, tmp_path)
    certificate = certify(replace(made, region=MUTANTS[name](made.region)))
    assert certificate.failures or certificate.unproved
