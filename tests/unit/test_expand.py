"""What is expanded, by which loops, and what the accesses become."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis import expand as expand_module
from polygpu.analysis.dependences import carried, compute
from polygpu.analysis.expand import expand, whole
from tests.unit.frontend_text import shown_action
from tests.unit.middle import MATRICES, VECTORS, analysed, expanded, same_map


def levels(parameters: str, body: str, generous: bool = False) -> dict[str, tuple[int, ...]]:
    p = analysed(parameters, body)
    return {e.renamed: e.levels for e in expand(p, compute(p), generous)[1]}


def test_a_scalar_gets_a_dimension_for_each_loop() -> None:
    body = (
        "float t; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { t = A[i][j]; B[i][j] = t * t; }"
    )
    p, d, found = expanded(MATRICES, body)
    assert found == {"t": 2}
    inside = "0 <= i < n and 0 <= j < m"
    assert same_map(d.all, f"[n, m] -> {{ S0[i, j] -> S1[i, j] : {inside} }}")
    write = next(a for a in p.statement("S0").accesses if a.write)
    assert same_map(write.relation, f"[n, m] -> {{ S0[i, j] -> t[i, j] : {inside} }}")
    assert [shown_action(a) for a in p.statement("S1").body] == ["B[i][j] = (t[i][j] * t[i][j]);"]
    t = p.array("t")
    assert (t.extents, t.storage, t.live_out) == ((None, None), "region", False)


def test_only_loops_that_values_stay_within_count() -> None:
    """`t` passes from one j to the next: it is a row's own, not an element's."""
    body = (
        "float t; for (int i = 0; i < n; i++) {"
        " t = 0; for (int j = 0; j < m; j++) { t = t + A[i][j]; B[i][j] = t; } }"
    )
    assert levels(MATRICES, body) == {"t": (0,)}


def test_arrays_get_no_dimension_for_a_loop_that_stays_sequential() -> None:
    sweep = "float y[n]; for (int t = 0; t < 9; t++) {"
    sweep += " for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i + 1];"
    sweep += " for (int i = 1; i < n - 1; i++) x[i] = y[i]; }"
    assert levels("int n, float x[restrict n]", sweep) == {}


def test_small_arrays_are_expanded_where_it_makes_loops_parallel() -> None:
    body = "float s[4]; for (int i = 0; i < n; i++) {"
    body += " for (int k = 0; k < 4; k++) s[k] = A[i][k]; for (int k = 0; k < 4; k++) B[i][k] = s[3 - k]; }"
    _, d, found = expanded(MATRICES, body)
    assert found == {"s": 1}
    assert same_map(d.all, "[n, m] -> { S0[i, k] -> S1[i, 3 - k] : 0 <= i < n and 0 <= k < 4 }")


def test_arrays_do_not_grow_by_loops_whose_iterations_have_elements_of_their_own() -> None:
    """Of `t` each i has a row, which each k overwrites."""
    parameters = "int n, float A[restrict n][n], float B[restrict n][n][n]"
    body = "float t[n][n], u[n]; for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) {"
    body += " for (int j = 0; j < n; j++) t[i][j] = A[k][j];"
    body += " for (int j = 0; j < n; j++) B[k][i][j] = t[i][n - 1 - j]; }"
    body += " for (int i = 0; i < n; i++) { u[i] = A[i][0]; A[i][0] = u[i] * u[i]; }"
    assert levels(parameters, body) == {"t": (0,)}


def test_members_of_one_array_are_apart() -> None:
    """Each i overwrites both members of `t`."""
    head = "struct p { float x, y; };"
    body = "struct p t[4]; for (int i = 0; i < n; i++) { for (int k = 0; k < 4; k++) t[k].x = A[i][k];"
    body += " for (int k = 0; k < 4; k++) t[k].y = A[i][k]; for (int k = 0; k < 4; k++)"
    body += " B[i][k] = t[3 - k].x * t[k].y; }"
    p = analysed(MATRICES, body, head)
    assert {e.levels for e in expand(p, compute(p))[1]} == {(0,)}


def test_elements_of_constant_subscripts_are_compared_with_few_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That two iterations share none of B[i][0] to B[i][39], constants tell, not 1,600 pairs."""
    pairs: list[int] = []

    def counting(relation: isl.Map, level: int) -> isl.Map:
        pairs.append(level)
        return carried(relation, level)

    def overwritten(body: str) -> bool:
        p = analysed(MATRICES, f"for (int i = 0; i < n; i++) {{ {body} }}")
        return expand_module._overwrites(p, whole(p, "B"), 0)

    monkeypatch.setattr(expand_module, "carried", counting)
    own = " ".join(f"B[i][{k}] = A[i][{k}];" for k in range(40))
    assert not overwritten(own) and 0 < len(pairs) < 3 * 40
    assert overwritten(f"{own} B[7][3] = 0;")
    assert overwritten("B[i][1] = 0; B[1][1] = B[i + 1][1];")
    assert overwritten("B[i][1] = 0; for (int k = 0; k < i; k++) B[k + 1][k] = 0;")
    assert not overwritten("B[i][1] = 0; for (int k = 0; k < i; k++) B[i][k] = 0;")


def test_sequential_loops_between_parallel_ones_are_left_out() -> None:
    """The middle loop carries x: only the outer and the inner one become dimensions."""
    body = (
        "float t; for (int i = 0; i < n; i++) for (int k = 1; k < m; k++) for (int j = 0; j < n; j++)"
        " { t = x[i][k - 1][j]; x[i][k][j] = t; }"
    )
    assert levels("int n, int m, float x[restrict n][m][n]", body) == {"t": (0, 2)}


def test_generous_expansion_takes_sequential_loops_up_to_the_rank_of_arrays() -> None:
    body = (
        "float t; for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) { t = A[i - 1][j]; A[i][j] = t; }"
    )
    assert levels(MATRICES, body) == {"t": (1,)}
    assert levels(MATRICES, body, generous=True) == {"t": (0, 1)}
    deeper = body.replace("float t;", "float t; for (int k = 0; k < n; k++)")
    assert levels(MATRICES, deeper, generous=True) == levels(MATRICES, deeper)


def test_lives_of_one_scalar_may_be_as_deep_as_their_loops() -> None:
    body = "float t; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { t = A[i][j]; B[i][j] = t; }"
    body += "for (int i = 0; i < n; i++) { t = A[i][0]; C[0][i] = t; }"
    assert levels(MATRICES, body) == {"t_0": (0, 1), "t_1": (0,)}


def test_a_scalar_of_a_sequential_loop_is_expanded_all_the_same() -> None:
    body = "float t; for (int i = 0; i < n; i++) { t = y[i]; x[0] += t; }"
    assert levels(VECTORS, body) == {"t": (0,)}


def test_webs_are_renamed_apart() -> None:
    """Two uses of one scalar that exchange no value."""
    body = "float t; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t; }"
    body += "for (int i = 0; i < n; i++) { t = y[n - 1 - i]; z[i] = t; }"
    assert levels(VECTORS, body) == {"t_0": (0,), "t_1": (0,)}
    local = "if (t > 2) { float t_1 = t; if (t_1 > 3) t_1 = 3; z[i] = t_1; }"
    assert levels(VECTORS, body.replace("z[i] = t;", local)) == {"t_0": (0,), "t_1_": (0,)}


def test_what_turns_of_a_loop_within_an_iteration_pass_on_is_one_web() -> None:
    """The counter that the second loop sets is the one that it tests."""
    body = (
        "for (int i = 0; i < n; i++) { float h[4] = {0}; int t = 0, k = i;"
        " while (k > 0 && t < 32) { h[k & 3] += 1; t++; k = k / 2 + (x[i] > 9); }"
        " float u = h[1]; while (t > 0) { u = u * 3 + h[t & 3]; t--; } z[i] = u; }"
    )
    found = levels(VECTORS, body)
    assert found["t"] == (0,)
    assert not any(name.startswith("t_") for name in found)


def test_values_from_before_the_region_stay_where_they_are() -> None:
    assert (
        levels(VECTORS + ", float s[restrict 1]", "for (int i = 0; i < n; i++) { y[i] = s[0]; s[0] = x[i]; }")
        == {}
    )


def test_data_dependent_subscripts_are_left_alone() -> None:
    body = "float t[8]; for (int i = 0; i < n; i++) { t[0] = x[i]; y[i] = t[k[i]]; }"
    assert levels(VECTORS + ", int k[restrict n]", body) == {}


def test_an_array_whose_iterations_own_elements_is_not_expanded() -> None:
    assert levels(VECTORS, "for (int i = 0; i < n; i++) { x[i] = y[i]; z[i] = x[i]; }") == {}


def test_arrays_that_live_on_keep_their_name_and_get_a_copy() -> None:
    """x[0] is the caller's: an array of all its values, then the last one back."""
    p, d, found = expanded(VECTORS, "for (int i = 0; i < n; i++) { x[0] = y[i]; z[i] = x[0]; }")
    assert found == {"x_all": 1}
    assert [s.name for s in p.statements] == ["S0", "S1", "F_x"]
    assert [shown_action(a) for a in p.statement("S1").body] == ["z[i] = x_all[i][0];"]
    assert p.array("x").live_out
    assert not p.array("x_all").live_out
    assert same_map(d.all, "[n] -> { S0[i] -> S1[i] : 0 <= i < n; S0[n - 1] -> F_x[0] : n >= 1 }")


def test_final_values_are_kept_apart_by_the_loops_that_overwrite_them_only() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { x[i] = A[i][j]; B[i][j] = x[i]; }"
    p, _, found = expanded("int n, int m, float A[restrict n][m], float B[restrict n][m], float x[n]", body)
    assert found == {"x_all": 1}
    write = next(a for a in p.statement("S0").accesses if a.write)
    inside = "0 <= i < n and 0 <= j < m"
    assert same_map(write.relation, f"[n, m] -> {{ S0[i, j] -> x_all[j, i] : {inside} }}")


def test_final_values_take_no_more_dimensions_than_the_data_have() -> None:
    """Copies of a plane for every k would be in memory, all of them, for one that is kept."""
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++)"
    body = f"{loops} A[i][j] = y[k]; for (int i = 0; i < n; i++) z[i] = y[i];"
    parameters = "int n, int m, float A[restrict n][n], float y[restrict n], float z[restrict n]"
    assert levels(parameters, body) == {}
    assert levels(f"{parameters}, float V[restrict n][n][m]", body.replace("y[k]", "V[i][j][k]")) == {
        "A_all": (2,)
    }


def test_one_element_of_many_is_expanded_alone() -> None:
    p, _, found = expanded(VECTORS, "for (int i = 0; i < n; i++) { x[7] = y[i]; z[i] = x[7]; }")
    assert found == {"x_all": 1}
    assert p.array("x_all").extents == (None, None)


def test_a_structure_is_expanded_with_its_members() -> None:
    body = "struct pair { float v; int k; } t[2]; for (int i = 0; i < n; i++) {"
    body += " t[0].v = y[i]; t[1].v = y[i] * 2; t[0].k = 3; x[i] = t[0].v + t[1].v + t[0].k; }"
    p, _, found = expanded(VECTORS, body)
    assert found == {"t": 1}
    assert p.array("t").extents[0] is None and len(p.array("t").extents) == 2
