"""Dataflow of variables that loops declare."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis import polyhedra
from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.scoping import depths_of, scoped
from polygpu.compilation import Options
from polygpu.frontend import FrontendOptions, lift
from polygpu.pipeline import compile_file
from polygpu.support.isl_idioms import D, maps, tuple_name

BORDER = """
void f(int w, int h, const float a[restrict h][w], int W, int H, float b[restrict H][W], int border)
{{
    {before}
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {{
            {inside}
            if (x < border || x >= w || y < border || y >= h) val = 0;
            else val = a[y][x];
            b[y][x] = val;
        }}
}}
"""


def analysed(text: str, tmp_path: Path) -> tuple[polyhedra.Polyhedra, Dependences]:
    file = tmp_path / "f.c"
    file.write_text(text)
    (scop,) = lift(str(file), FrontendOptions()).scops
    p = polyhedra.build(scop)
    return p, compute(p)


def flow_of(d: Dependences, array: str, p: polyhedra.Polyhedra) -> list[isl.Map]:
    """The dependences into the statement that reads the array."""
    reading = {s.name for s in p.statements for a in s.accesses if a.reference.array == array and not a.write}
    return [m for m in maps(d.flow) if tuple_name(m, D.out) in reading]


@pytest.mark.parametrize(("before", "inside", "depth"), [("", "float val;", 2), ("float val;", "", 0)])
def test_iterations_have_variables_of_their_own(before: str, inside: str, depth: int, tmp_path: Path) -> None:
    p, d = analysed(BORDER.format(before=before, inside=inside), tmp_path)
    assert depths_of(p) == ({"val": depth} if depth else {})
    flow = flow_of(d, "val", p)
    assert flow
    for m in flow:
        same = isl.Map.universe(m.get_space())
        for k in range(2):
            same = same.equate(D.in_, k, D.out, k)
        if depth:  # whatever the test says
            assert m.is_subset(same)
    # what is written is in the same place in all of them
    carried = [m for m in maps(d.memory) if tuple_name(m, D.in_) != tuple_name(m, D.out)]
    assert carried


def test_a_variable_of_an_outer_loop_is_one_for_its_inner_loops(tmp_path: Path) -> None:
    text = """
    void f(int n, int m, const float a[restrict n][m], float *restrict b)
    {
        for (int i = 0; i < n; i++) {
            float sum = 0;
            for (int j = 0; j < m; j++)
                if (j < i) sum += a[i][j];
            b[i] = sum;
        }
    }
    """
    p, d = analysed(text, tmp_path)
    assert depths_of(p) == {"sum": 1}
    access = next(a for s in scoped(p).statements for a in s.accesses if a.reference.array == "sum")
    assert access.relation.dim(D.out) == 1
    (adding,) = {s.name for s in p.statements if len(s.iterators) == 2}
    steps = [m for m in maps(d.flow) if (tuple_name(m, D.in_), tuple_name(m, D.out)) == (adding, adding)]
    assert steps and all(
        m.deltas().is_subset(isl.Set("{ [d, e] : d = 0 and e > 0 }"))
        for m in (m.reset_tuple_id(D.in_).reset_tuple_id(D.out) for m in steps)
    )


def test_a_border_is_one_kernel_of_all_points(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(BORDER.format(before="", inside="float val = 0;"))
    (region,) = compile_file(str(file), Options(target="cuda", device="h100")).regions
    assert all(len(grid.axes) == 2 for grid in region.grids)
