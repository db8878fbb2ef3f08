"""Arrays that are read from copies of what was before the region, where that makes more loops parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.analysis.old_values import from_copies, in_more_loops
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Reference
from polygpu.model.kernel import If, Region, Statement
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.unit.frontend_text import shown_action
from tests.unit.middle import MATRICES, analysed
from tests.unit.test_versions import in_kernel

LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
PRODUCT = (
    f"{LOOPS} {{ for (int k = i + 1; k < n; k++) A[i][j] += C[k][i] * A[k][j]; A[i][j] = 2 * A[i][j]; }}"
)

READ_BY_DATA = f"{LOOPS} A[i][j] = B[i][j] > 1 ? A[i + 1][j + 1] : 0;"


def copied(body: str) -> tuple[str, ...]:
    p = analysed(MATRICES, body)
    return in_more_loops(p, {s.name for s in p.statements})


@pytest.mark.parametrize(
    ("body", "arrays"),
    [
        (PRODUCT, ("A",)),
        (PRODUCT.replace("k = i + 1", "k = i"), ("A",)),  # A[i][j] is read before it is stored
        (PRODUCT.replace("k = i + 1; k < n; k++", "k = n - 1; k >= i; k--"), ()),  # or it has been stored
        (PRODUCT.replace("k = i + 1; k < n", "k = 0; k < i"), ()),  # these have been stored
        (f"{LOOPS} for (int k = 0; k < n; k++) B[i][j] += C[k][i] * A[k][j];", ()),  # nothing is stored over
        ("for (int i = 0; i < n - 1; i++) for (int j = 0; j < m; j++) A[i][j] = A[i + 1][j];", ()),
    ],
)
def test_old_values_that_are_read_in_more_loops_than_there_are_dimensions(
    body: str, arrays: tuple[str, ...]
) -> None:
    assert copied(body) == arrays


def test_all_reads_of_old_values_are_from_the_copy() -> None:
    p = analysed(MATRICES, PRODUCT)
    found, names = from_copies(p, ("A", "B"))
    assert names == {"A": "A_old"}
    assert [" ".join(map(shown_action, s.body)) for s in found.statements] == [
        "A_old[A_e0][A_e1] = A[A_e0][A_e1];",
        "A[i][j] = (A[i][j] + (C[k][i] * A_old[k][j]));",
        "A[i][j] = (2 * A[i][j]);",
    ]


PROGRAM = f"""
void f({MATRICES})
{{
#pragma scop
    BODY
#pragma endscop
}}
"""


def compiled(directory: Path, *decisions: str, body: str = PRODUCT) -> CompiledRegion:
    (directory / "v.c").write_text(PROGRAM.replace("BODY", body))
    options = Options(target="emulator", level=1, decisions=decisions)
    (found,) = pipeline.compile_file(str(directory / "v.c"), options).regions
    return found


def dimensions(made: CompiledRegion) -> list[int]:
    return [len(grid.axes) for grid in made.grids]


def test_more_loops_become_parallel_and_are_proved(tmp_path: Path) -> None:
    made = compiled(tmp_path)
    assert dimensions(made) == [2, 2]
    assert certify(made).holds
    again = compiled(tmp_path, *(str(t.decision) for kernel in made.taken for t in kernel))
    assert again.region == made.region


def test_a_loop_that_gains_nothing_reads_the_array_itself(tmp_path: Path) -> None:
    """The sum along j is in order, and i is parallel by itself."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m - 1; j++) for (int k = j + 1; k < m; k++)"
    made = compiled(tmp_path, body=f"{body} A[i][0] += A[i][k];")
    assert [a.name for a in made.polyhedra.arrays] == ["A"]


def test_copies_by_decision(tmp_path: Path) -> None:
    made = compiled(tmp_path, "version()")
    assert dimensions(made) == [1, 2]
    assert versions(made) == ["version()", "version()"]
    again = compiled(tmp_path, *(str(t.decision) for kernel in made.taken for t in kernel))
    assert again.region == made.region
    body = "for (int i = 0; i < n - 1; i++) for (int j = 0; j < m; j++) A[i][j] = A[i + 1][j];"
    assert dimensions(compiled(tmp_path, body=body)) == [1]
    made = compiled(tmp_path, "version(A)", body=body)
    assert dimensions(made) == [2, 2] and certify(made).holds
    assert versions(made) == ["version(A)"]


def versions(made: CompiledRegion) -> list[str]:
    taken = [t for kernel in made.taken for t in kernel if t.decision.key == "version"]
    assert all(t.by == "person" for t in taken)
    return [str(replace(t.decision, place=None)) for t in taken]


def test_a_copy_that_nothing_would_read(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as caught:
        compiled(tmp_path, "version(C)")
    said = caught.value.diagnostics[0]
    why = "no statement reads values from before the region that other iterations store over"
    assert (said.id, said.message) == ("PG304", f"'version(C)': {why}")


def test_elements_that_an_array_does_not_have_are_not_copied(tmp_path: Path) -> None:
    """Only data keep the last iterations from reading them."""
    made = compiled(tmp_path, "version(A)", body=READ_BY_DATA)
    assert versions(made) == ["version(A)"]
    assert certify(made).holds


def test_a_copy_of_fewer_elements_than_data_may_read_is_refuted(tmp_path: Path) -> None:
    made = compiled(tmp_path, "version(A)", body=READ_BY_DATA)

    def one_less(e: Expr) -> Expr | None:
        if isinstance(e, Binary) and e.op == "<":
            return replace(e, right=Binary("-", e.right, Int(1)))
        return None

    def smaller(s: Statement) -> Statement:
        return replace(s, test=rewrite(s.test, one_less)) if isinstance(s, If) else s

    copy, *rest = made.region.kernels
    fewer = replace(copy, body=map_statements(copy.body, smaller))
    certificate = certify(replace(made, region=replace(made.region, kernels=(fewer, *rest))))
    assert "reads an element that nobody copied" in [f.message for f in certificate.failures]


def changed(array: str, dimension: int, by: int) -> Callable[[Expr], Expr | None]:
    """Reads of another element of the array."""

    def change(e: Expr) -> Expr | None:
        if not (isinstance(e, Reference) and e.array == array):
            return None
        moved = Binary("+", e.subscripts[dimension], Int(by))
        return replace(e, subscripts=(*e.subscripts[:dimension], moved, *e.subscripts[dimension + 1 :]))

    return change


def itself(e: Expr) -> Expr | None:
    return replace(e, array="A") if isinstance(e, Reference) and e.array == "A_old" else None


MUTANTS: dict[str, Callable[[Region], Region]] = {
    "a copy of another row": lambda r: in_kernel(r, 0, changed("A", 0, -1)),
    "a copy of another column": lambda r: in_kernel(r, 0, changed("A", 1, 1)),
    "another row of the copy": lambda r: in_kernel(r, 1, changed("A_old", 0, -1)),
    "no copy": lambda r: replace(r, body=r.body[1:]),
    "the copy afterwards": lambda r: replace(r, body=r.body[::-1]),
    "the array itself": lambda r: in_kernel(r, 1, itself),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_copies_are_refuted(name: str, tmp_path: Path) -> None:
    made = compiled(tmp_path)
    certificate = certify(replace(made, region=MUTANTS[name](made.region)))
    assert certificate.failures or certificate.unproved
