"""How schedule trees are cut into kernels, on trees built by hand and on programs."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.polyhedra import PolyAccess, PolyStatement
from polygpu.model.expr import Position, Reference
from polygpu.schedule.fusion import Scope
from polygpu.schedule.nests import form, nests, outer_members, parallel_members
from polygpu.schedule.tree import (
    Band,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Sequence,
    describe,
    members_on,
    row_text,
    sequence,
    single_iterator,
)
from tests.unit.middle import MATRICES, VECTORS, host_text

DOMAINS = {name: isl.Set(f"[n] -> {{ {name}[i, j] : 0 <= i < n and 0 <= j < n }}") for name in "ST"}


def row(name: str, value: str) -> isl.PwAff:
    return isl.PwAff(f"[n] -> {{ {name}[i, j] -> [({value})] }}")


def member(**values: str) -> Member:
    return Member({name: row(name, value) for name, value in values.items()})


def square(*values: str, permutable: bool = True) -> Band:
    return Band(tuple(member(S=v) for v in values), permutable, Leaf(("S",)))


HERE = Position("k.c", 1, 1)


PAIRS = isl.UnionMap(
    "[n] -> { S[i, j] -> T[i, b] : b >= j; S[i, j] -> T[a, j] : a > i; S[i, j] -> S[i + 1, j + 1];"
    " T[i, j] -> T[i, j + 2]; S[i, j] -> U[i]; U[i] -> S[i, 0] }"
)


@pytest.mark.parametrize(
    "loop",
    [
        member(S="i", T="i"),
        member(S="i + j", T="j"),
        member(S="floor((i + j)/2)", T="n - i"),
        member(S="j"),
        Member({"S": isl.PwAff("[n] -> { S[i, j] -> [(i)] : i < n; S[i, j] -> [(j)] : i >= n }")}),
    ],
    ids=["iterator", "sum", "floor", "one", "pieces"],
)
def test_pairs_at_one_value_are_those_isl_finds(loop: Member) -> None:
    same = loop.at_one_value(PAIRS)
    assert same.is_equal(PAIRS.eq_at_multi_union_pw_aff(loop.function()))
    assert not loop.differs(loop, same)
    moved = PAIRS.apply_domain(loop.relation()).apply_range(loop.relation())
    assert loop.differs(loop, PAIRS) == (not moved.deltas().is_subset(isl.UnionSet("{ [0] }")))


def scope(dependences: str, **touched: tuple[str, ...]) -> Scope:
    """Of statements that read and write elements of an array a."""
    statements = {}
    for name, domain in DOMAINS.items():
        found = []
        for relation in touched.get(name, ()):
            element = isl.Map(f"[n] -> {{ {name}[i, j] -> {relation} : 0 <= i, j < n }}")
            found += [
                PolyAccess(Reference("a", (), "float"), element, write, write, True, HERE, "a[][]")
                for write in (False, True)
            ]
        order = isl.Map(f"{{ {name}[i, j] -> [i, j] }}")
        own = name, ("i", "j"), (0, 1), domain, order, (), tuple(found), HERE, ""
        statements[name] = PolyStatement(*own)
    return Scope(statements, isl.UnionMap(dependences))


def cut(tree: Band | Sequence | Leaf, dependences: str) -> list[str]:
    return describe(form(tree, scope(dependences)))


NONE = "{ }"
ALONG_J = "[n] -> { S[i, j] -> S[i, j + 1] : 0 <= i < n and 0 <= j < n - 1 }"
BOTH = "[n] -> { S[i, j] -> S[i, j + 1] : 0 <= i < n and 0 <= j < n - 1;"
BOTH += " S[i, j] -> S[i + 1, j] : 0 <= i < n - 1 and 0 <= j < n }"


def test_parallel_members_go_to_the_grid() -> None:
    assert cut(square("i", "j"), NONE) == ["kernel [S: i | S: j]", "  S"]


def test_the_rest_of_the_band_runs_inside_a_thread() -> None:
    assert cut(square("i", "j"), ALONG_J) == ["kernel [S: i]", "  loop [S: j]", "    S"]
    assert cut(square("j", "i"), ALONG_J) == ["kernel [S: i]", "  loop [S: j]", "    S"]


def test_without_permutability_only_leading_members_are_parallel() -> None:
    tree = square("j", "i", permutable=False)
    assert parallel_members(tree, isl.UnionMap(ALONG_J)) == []
    assert cut(tree, ALONG_J) == ["host loop [S: j]", "  kernel [S: i]", "    S"]
    assert parallel_members(square("j", "i"), isl.UnionMap(ALONG_J)) == [1]


def test_wavefronts() -> None:
    assert cut(square("i + j", "i"), BOTH) == ["host loop [S: i + j]", "  kernel [S: i]", "    S"]


def test_a_thread_alone_takes_its_loops_with_it() -> None:
    """No member is parallel: one launch, not one an iteration."""
    serial = "[n] -> { S[i, j] -> S[i', j'] : 0 <= i, j, i', j' < n and (i' > i or i' = i and j' > j) }"
    assert cut(square("i", "j", permutable=False), serial) == [
        "kernel [one thread]", "  loop [S: i]", "    loop [S: j]", "      S",
    ]  # fmt: skip


def both_statements(second: str = "j") -> Sequence:
    t = Band((member(T="i"), member(T=second)), True, Leaf(("T",)))
    return Sequence((square("i", "j"), t))


def test_kernels_whose_points_exchange_values_alone_are_fused() -> None:
    within = "[n] -> { S[i, j] -> T[i, j] : 0 <= i, j < n }"
    assert cut(both_statements(), within) == [
        "kernel [S: i; T: i | S: j; T: j]", "  sequence", "    S", "    T",
    ]  # fmt: skip


def test_fusion_finds_the_order_of_dimensions() -> None:
    transposed = "[n] -> { S[i, j] -> T[j, i] : 0 <= i, j < n }"
    assert cut(both_statements(), transposed)[0] == "kernel [S: i; T: j | S: j; T: i]"


def test_kernels_whose_points_exchange_with_others_are_not_fused() -> None:
    shifted = "[n] -> { S[i, j] -> T[i, j + 1] : 0 <= i < n and 0 <= j < n - 1 }"
    assert [line for line in cut(both_statements(), shifted) if "kernel" in line] == [
        "  kernel [S: i | S: j]", "  kernel [T: i | T: j]",
    ]  # fmt: skip


def test_kernels_that_share_neither_values_nor_loops_stay_apart() -> None:
    assert len([line for line in cut(both_statements("i + j"), NONE) if "kernel" in line]) == 2
    assert len([line for line in cut(both_statements(), NONE) if "kernel" in line]) == 1  # loops i and j


def test_fusion_keeps_arrays_in_registers() -> None:
    """Fused, a point would own two elements of the array: S's and T's."""
    within = "[n] -> { S[i, j] -> T[i, j] : 0 <= i, j < n }"
    fused = form(both_statements(), scope(within, S=("a[i, j]",), T=("a[i, j]",)))
    apart = form(both_statements(), scope(within, S=("a[i, j]",), T=("a[i + 1, j]",)))
    assert (len(nests(fused)), len(nests(apart))) == (1, 2)


def test_walking_a_host_program() -> None:
    inner, other = Nest((member(S="j"),), Leaf(("S",))), Nest((), Leaf(("T",)))
    outer = member(S="i")
    host = HostSequence((other, HostLoop(outer, inner)))
    assert nests(host) == [other, inner]
    assert outer_members(host, inner) == [outer]
    assert outer_members(host, other) == []


def test_trees() -> None:
    leaf = Leaf(("S",))
    tree = sequence([Sequence((leaf, Leaf(("T",)))), Band((member(S="i"),), False, leaf)])
    assert isinstance(tree, Sequence)
    assert len(tree.children) == 3
    assert sequence([leaf]) is leaf
    assert [m.text() for m in members_on(square("i", "j"), "S")] == ["S: i", "S: j"]
    assert row_text(isl.PwAff("[n] -> { S[i] -> [(n - 2i)] }")) == "n - 2i"


def test_rows_that_are_one_iterator() -> None:
    assert single_iterator(row("S", "j")) == "j"
    for other in ("2j", "i + j", "j + 1", "n", "j + n", "-j", "floor(j/2)"):
        assert single_iterator(row("S", other)) is None


def test_programs() -> None:
    body = "for (int t = 0; t < 9; t++) for (int i = 1; i < n - 1; i++) x[i] = x[i - 1] + x[i + 1];"
    text = host_text(VECTORS, body)
    assert text[0].startswith("host loop [S0: 2t + i")
    assert text[1].startswith("  kernel [S0: ")
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = B[i][j];"
    assert host_text(MATRICES, body) == ["kernel [S0: i | S0: j]", "  S0"]
