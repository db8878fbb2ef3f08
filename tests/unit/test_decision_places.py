"""For which nests decisions are: their places, and the names that loops have in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import islpy as isl
import pytest

from benchmarks import programs
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.compilation import Compilation, Options
from polygpu.lower.remarks import left_out
from polygpu.mapping.wanted import labels, runs_backwards
from polygpu.pipeline import compile_file
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.tree import Member
from polygpu.support.diagnostics import Diagnosed
from tests.unit.middle import MATRICES, VECTORS, mapped, scheduled

FOUR = """
void f(int n, float a[restrict 2 * n], float b[restrict n], float c[restrict 2 * n])
{
#pragma scop
    for (int i = 1; i < n; i++) {
        a[i] = 1;
        b[i] = a[i - 1] - c[n-1-i]; c[n - i] = 3;
    }
    for (int j = 1; j < n; j++)
        c[j] += a[j] * b[n - j];
#pragma endscop
}
void g(int n, float a[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] += 1;
#pragma endscop
}
"""

Compiled = Callable[..., Compilation]


@pytest.fixture
def four(tmp_path: Path) -> Compiled:
    file = tmp_path / "four.c"
    file.write_text(FOUR)
    return lambda *decisions: compile_file(
        str(file), Options(target="emulator", device="8800gtx", decisions=decisions)
    )


def followers(compilation: Compilation) -> list[str]:
    """The places of the kernels that do what somebody asked for."""
    kernels = (kernel for r in compilation.regions for kernel in r.taken)
    return [str(kernel[0].decision.place) for kernel in kernels if any(t.by == "person" for t in kernel)]


def unrolled(compilation: Compilation) -> list[object]:
    kernels = (kernel for r in compilation.regions for kernel in r.taken)
    return [t.decision.value for kernel in kernels for t in kernel if t.decision.key == "unroll"]


def test_each_nest_has_a_place_of_its_own(four: Compiled) -> None:
    assert followers(four("unroll(2)")) == ["6", "7.9", "7.37", "10", "17"]


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("6", ["6"]),
        ("7", ["7.9", "7.37"]),
        ("7.37", ["7.37"]),
        ("7.9#1", ["7.9"]),
        ("7#2", ["7.37"]),
        ("5", ["6", "7.9", "7.37"]),  # the loop around them
        ("9", ["10"]),
        ("f", ["6", "7.9", "7.37", "10"]),
        ("g", ["17"]),
        ("four.c:17", ["17"]),
        ("somewhere/four.c:7.9", ["7.9"]),
    ],
)
def test_places(place: str, found: list[str], four: Compiled) -> None:
    assert followers(four(f"{place}: unroll(2)")) == found


@pytest.mark.parametrize("place", ["4", "6.8", "7#3", "7.9#2", "5.5", "other.c:6", "h"])
def test_no_nest_is_there(place: str, four: Compiled) -> None:
    with pytest.raises(Diagnosed) as caught:
        four(f"{place}: unroll(2)")
    (said,) = caught.value.diagnostics
    assert (said.id, said.message) == ("PG303", f"'{place}: unroll(2)' is for no nest of this file")


def test_the_narrower_place_counts_then_the_later_decision(four: Compiled) -> None:
    given = ("6: unroll(7)", "f: unroll(3)", "unroll(1)", "unroll(2)", "f: unroll(4)", "5: unroll(5)")
    assert unrolled(four(*given)) == [5, 5, 5, 4, 2]


LABELS = """
void f(int n, float a[restrict n], float b[restrict n][n])
{
#pragma scop
first:
    for (int i = 0; i < n; i++)
        a[i] = 1;
    second: for (int i = 0; i < n; i++)
        %s: for (int j = 0; j < n; j++)
            b[i][j] = 2;
third:
#pragma polygpu wide(0)
    for (int i = 0; i < n; i++)
        a[n - 1 - i] *= b[0][i];
#pragma endscop
}
void g(int n, float a[restrict n])
{
#pragma scop
again:
    for (int i = 0; i < n; i++)
        a[i] += 1;
#pragma endscop
}
"""


def labelled(directory: Path, inner: str, *decisions: str) -> Compilation:
    file = directory / "labelled.c"
    file.write_text(LABELS % inner)
    return compile_file(str(file), Options(target="emulator", device="8800gtx", decisions=decisions))


@pytest.mark.parametrize(
    ("place", "nest"), [("first", 0), ("second", 1), ("inner", 1), ("third", 2), ("again", 3)]
)
def test_a_label_is_a_place(place: str, nest: int, tmp_path: Path) -> None:
    found = unrolled(labelled(tmp_path, "inner", f"{place}: unroll(2)"))
    assert found == [2 if k == nest else "auto" for k in range(4)]


def test_what_a_label_names_must_follow(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed, match="the nest does not read 'a'"):
        labelled(tmp_path, "inner", "second: stage(a)")


@pytest.mark.parametrize(("inner", "or_"), [("g", "the function"), ("again", "the label in g()")])
def test_labels_that_may_be_something_else(inner: str, or_: str, tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as caught:
        labelled(tmp_path, inner, f"{inner}: unroll(2)")
    (said,) = caught.value.diagnostics
    message = f"'{inner}: unroll(2)': '{inner}' may be the label in f() or {or_}"
    assert (said.id, said.message) == ("PG303", message)
    assert said.help == f"go by the line of a loop: 9 or {19 if inner == 'g' else 21}"


def test_what_has_no_place_is_left_where_a_nest_cannot_follow_it(four: Compiled) -> None:
    assert followers(four("tile(j: 64)")) == followers(four("stage(b)")) == ["10"]
    for impossible in ("tile(k: 64)", "stage(d)", "hold(d)"):
        with pytest.raises(Diagnosed, match=r"there is no (loop|array)"):
            four(impossible)


def test_a_function_is_all_of_its_nests(four: Compiled) -> None:
    """As without a place, those follow that can, and it is an error where none does."""
    assert followers(four("f: stage(b)")) == followers(four("f: tile(j: 64)")) == ["10"]
    assert followers(four("f: order(j)")) == ["10"]
    for impossible in ("f: tile(k: 64)", "f: hold(d)"):
        with pytest.raises(Diagnosed, match=r"there is no (loop|array)"):
            four(impossible)
    with pytest.raises(Diagnosed, match="owns one element of 'b' alone"):
        four("f: hold(b)")


def test_what_is_left_out_is_said(four: Compiled) -> None:
    (said,) = left_out(four("f: stage(b)").regions)
    assert said.endswith("four.c:7:9: not followed: 'f: stage(b)': 'b' cannot go through shared memory: "
                         "the kernel writes it")  # fmt: skip


def test_padding_is_for_what_is_staged(four: Compiled) -> None:
    assert followers(four("pad(b: 3)")) == ["10"]
    for asked, advice in (("10: pad(c: 2)", "what is staged is b[n-j]"), ("6: pad(a: 2)", "decide stage")):
        with pytest.raises(Diagnosed, match="is not staged in shared memory") as caught:
            four(asked)
        (said,) = caught.value.diagnostics
        assert said.id == "PG310"
        assert said.help.startswith(advice)


def test_padding_has_to_fit(four: Compiled) -> None:
    assert followers(four("pad(b: 900)")) == ["10"]
    with pytest.raises(
        Diagnosed, match=r"rows so long take \d+ bytes of shared memory; NVIDIA .* has \d+"
    ) as caught:
        four("10: pad(b: 32768)")
    (said,) = caught.value.diagnostics
    assert (said.id, said.help) == ("PG304", "ask for less padding")


@pytest.mark.parametrize("asked", ["hold(T)", "stage(A)"])
def test_nests_without_what_is_named_stay_as_they_are(asked: str) -> None:
    """The second product of 2mm has no A, and no element of T for itself: it stages and holds as before."""

    def last(*decisions: str) -> list[str]:
        options = Options(target="emulator", device="8800gtx", decisions=decisions)
        (region,) = [
            r for r in compile_file(str(programs.source_of("2mm")), options).regions if len(r.taken) > 1
        ]
        return [str(t.decision) for t in region.taken[-1]]

    assert last(asked) == last()


def test_with_a_place_it_is_an_error(four: Compiled) -> None:
    for asked, number in (("6: stage(b)", "PG310"), ("10: hold(b)", "PG310"), ("6: order(j)", "PG304")):
        with pytest.raises(Diagnosed) as caught:
            four(asked)
        assert [d.id for d in caught.value.diagnostics] == [number]


def test_a_single_thread_has_no_use_for_decisions_on_blocks() -> None:
    """The division of trisolv is such a thread, between two nests with parallel loops."""

    def made(*decisions: str) -> Compilation:
        options = Options(target="emulator", device="8800gtx", decisions=decisions)
        return compile_file(str(programs.source_of("trisolv")), options)

    assert followers(made("registers(7)")) == ["16", "19", "18"]
    assert followers(made("unroll(4) buffer(none) loads(2)")) == ["16", "18"]
    for asked in ("19: unroll(4)", "19: tile(i: 4)", "19: order(i)"):
        with pytest.raises(Diagnosed, match="is for no nest of this file"):
            made(asked)


def test_pieces_of_an_index_set_split_are_numbered() -> None:
    """The statement of floyd-warshall becomes nine, one after another in the host's loop."""
    path = str(programs.source_of("floyd-warshall"))

    def made(*decisions: str) -> Compilation:
        return compile_file(path, Options(target="emulator", device="8800gtx", decisions=decisions))

    plain = made()
    places = [str(kernel[0].decision.place) for r in plain.regions for kernel in r.taken]
    assert sorted(places) == [f"18.17#{k}" for k in range(1, 10)]
    assert followers(made("18.17#4: registers(7)")) == ["18.17#4"]
    assert followers(made("18.17: registers(7)")) == followers(made("15: registers(7)")) == places


def statement(p: Polyhedra, member: str) -> Member:
    return Member({"S0": isl.PwAff(f"[n, m] -> {{ S0[i, j] -> [({member})] }}")})


@pytest.mark.parametrize(
    ("row", "name", "backwards"),
    [
        ("i", "i", False),
        ("-j", "j", True),
        ("i + j", "i + j", False),
        ("-i - j", "i + j", True),
        ("2i + j", "2i + j", False),
        ("n - 1 - i", "1 - n + i", True),
    ],
)
def test_loops_are_called_by_their_iterators(row: str, name: str, backwards: bool) -> None:
    p, _ = scheduled(MATRICES, "for (int i = 0; i < n; i++)\n for (int j = 0; j < m; j++)\n A[i][j] = 1;")
    loop = statement(p, row)
    line = p.statement("S0").position.line
    assert loop_names(p, loop) == {name, f"{name}@{line}"}
    assert runs_backwards(loop) == backwards


TURNED = """
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = B[i][j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[j][i] = A[j][i];
"""


def test_two_loops_of_one_name_are_told_apart_by_the_line() -> None:
    """The second nest runs with its loops interchanged, in the first one's."""
    square = "int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n]"
    m = mapped(square, TURNED)
    first, last = sorted({m.p.statement(s).position.line for s in m.statements})
    members = [a.member for a in m.axes]
    assert loop_names(m.p, members[0]) == {"i", "j", f"i@{first}", f"j@{last}"}
    assert loop_names(m.p, members[1]) == {"i", "j", f"j@{first}", f"i@{last}"}
    assert labels(m.p, members) == [f"i@{first}", f"i@{last}"]
    tiled = mapped(square, TURNED, decisions=f"tile(j@{last}: 8, j@{first}: 16)")
    assert [a.tile for a in tiled.axes] == [8, 16]


def test_loops_of_single_statements_have_the_name_alone() -> None:
    m = mapped(VECTORS, "for (int i = 0; i < n; i++) x[i] = y[i];", decisions="tile(i: 32)")
    assert [a.tile for a in m.axes] == [32]
    assert labels(m.p, [a.member for a in m.axes]) == ["i"]


def test_arrays_have_the_names_of_the_source(tmp_path: Path) -> None:
    """Kernels have a use for the name `tid`, and call the array otherwise."""
    file = tmp_path / "renamed.c"
    file.write_text("""
void f(int n, float x[restrict n], float tid[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += tid[i][j];
#pragma endscop
}
void g(int n, float tid[restrict n], float x_r[restrict 8], float x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            tid[i] += x * x_r[j];
#pragma endscop
}
""")

    def made(asked: str) -> Compilation:
        return compile_file(str(file), Options(target="emulator", device="8800gtx", decisions=(asked,)))

    for asked in ("stage(tid)", "stage(tid[i][j]: j)", "pad(tid: 3)"):
        assert followers(made(asked))[0] == "7"
    for asked in ("hold(tid)", "constant(x_r)", "texture(x_r)"):
        compiled = made(asked)
        assert followers(compiled) == ["15"]
        assert f"15: {asked}" in {str(t.decision) for r in compiled.regions for t in r.taken[-1]}


def orders(kernel: str, *decisions: str) -> list[str]:
    options = Options(target="emulator", device="8800gtx", decisions=decisions)
    regions = compile_file(str(programs.source_of(kernel)), options).regions
    return [str(t.decision) for r in regions for ts in r.taken for t in ts if t.decision.key == "order"]


def test_skewed_loops() -> None:
    """The host's loop of seidel-2d is a wavefront of all three; two of them are left for the grid."""
    assert orders("seidel-2d") == ["18: order(t, i)"]
    assert orders("seidel-2d", "order(i, -t)") == ["18: order(i, -t)"]


def test_loops_that_the_compiler_added() -> None:
    """doitgen's array `sum` is expanded over the loops around, and its last elements are copied back."""
    added = [order for order in orders("doitgen") if "sum" in order]
    assert added == ["21.21#2: order(sum_e0)"]
    assert orders("doitgen", "order(-sum_e0)")[-1] == "21.21#2: order(-sum_e0)"
