"""Terms of sums ahead of tiles of steps: which these are, certified, run; wrong orders are refuted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

import polygpu
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.program import Each, Grid, HostTree, InOrder, Program
from polygpu.model.decisions import parse
from polygpu.model.expr import Binary, Int
from polygpu.model.scop import Store
from polygpu.schedule.sharing import retargeted
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.isl_idioms import D
from polygpu.verify.certificate import certify
from tests.support_kernels import some_by_default
from tests.test_mapped_programs import assert_as_the_original, realiser

MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), size = (n + 4) * (n + 4);
    int *x = malloc(size * 4), *y = malloc(size * 4), *z = malloc(size * 4);
    for (int i = 0; i < size; i++) {
        x[i] = i * 7919 % 23 + 1;
        y[i] = i * 31 % 37;
        z[i] = i * 31 % 5;
    }
    f(n, (void *)x, (void *)y, (void *)z);
    for (int i = 0; i < n * n; i++)
        printf("%d\\n", z[i]);
    return 0;
}
"""
HEAD = """
static void f(int n, TYPE p[restrict n], TYPE w[restrict n][n], TYPE t[restrict n][n])
{
#pragma scop
"""
TAIL = "#pragma endscop\n}\n"
INT = HEAD.replace("TYPE", "int")
LARGER = """
            t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
"""
PAIRS = f"""{INT}
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {{
            t[i][j] = t[i][j] >= t[i][j - 1] ? t[i][j] : t[i][j - 1];
            t[i][j] = t[i][j] >= t[i + 1][j - 1] + w[i][j] ? t[i][j] : t[i + 1][j - 1] + w[i][j];
            for (int k = i + 1; k < j; k++){LARGER}
        }}
{TAIL}"""
PRODUCTS = f"""{INT}
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {{
            t[i][j] = j == i + 1 ? 0 : 1000000000;
            for (int k = i + 1; k < j; k++)
                t[i][j] = t[i][k] + t[k][j] + p[i] * p[k] * p[j] < t[i][j]
                    ? t[i][k] + t[k][j] + p[i] * p[k] * p[j] : t[i][j];
        }}
{TAIL}"""
SHORTEST = f"""{INT}
    for (int l = 1; l < n; l++)
        for (int i = 0; i < n - l; i++) {{
            t[i][i + l] = 2147483647;
            for (int k = i; k < i + l; k++) {{
                int cost = t[i][k] + t[k + 1][i + l] + p[i] * p[k + 1] * p[i + l];
                if (cost < t[i][i + l])
                    t[i][i + l] = cost;
            }}
        }}
{TAIL}"""
SCALAR = f"""{INT}
    for (int l = 1; l < n; l++)
        for (int i = 0; i < n - l; i++) {{
            int best = 2147483647;
            for (int k = i; k < i + l; k++) {{
                int cost = t[i][k] + t[k + 1][i + l];
                if (cost < best)
                    best = cost;
            }}
            t[i][i + l] = best + w[i][i + l];
        }}
{TAIL}"""
TREE = f"""{INT}
    for (int l = 1; l < n; l++)
        for (int i = 0; i < n - l; i++) {{
            t[i][i + l] = 1000000000;
            for (int r = i; r < i + l; r++)
                t[i][i + l] =
                    t[i][r] + t[r + 1][i + l] < t[i][i + l] ? t[i][r] + t[r + 1][i + l] : t[i][i + l];
            t[i][i + l] += w[i][i + l];
        }}
{TAIL}"""
PARSES = f"""{INT}
    for (int l = 1; l < n; l++)
        for (int i = 0; i < n - l; i++)
            for (int k = i; k < i + l; k++)
                t[i][i + l] |= t[i][k] & t[k + 1][i + l] << 1;
{TAIL}"""
SOURCES = {
    "pairs": PAIRS,
    "a product of matrices": PRODUCTS,
    "one by a test": SHORTEST,
    "a search tree": TREE,
    "parses": PARSES,
}
WIDTH = 8
_realised: dict[tuple[str, int], CompiledRegion] = {}


def made(source: str, directory: Path) -> Realiser:
    return realiser(source, directory, MAIN)


def ahead(source: str, directory: Path, width: int = WIDTH) -> CompiledRegion:
    """Once for all tests that look at it, with its file left in the directory."""
    region = made(source, directory)
    if (source, width) not in _realised:
        loop = "r" if source is TREE else "k"
        _realised[source, width] = region.realise(parse(f"ahead({loop}: {width})"))
    return _realised[source, width]


@pytest.mark.parametrize("name", some_by_default([(name,) for name in SOURCES], one_in=len(SOURCES)))
def test_terms_that_wait_for_nothing_go_ahead(name: str, tmp_path: Path) -> None:
    region = ahead(SOURCES[name], tmp_path)
    assert sum(s.combines for s in region.polyhedra.statements) == 3
    assert certify(region).holds
    assert_as_the_original(region, tmp_path, 0, 1, 2, WIDTH, WIDTH + 1, 2 * WIDTH + 3, 40)


def test_these_are_the_terms_whose_operands_are_of_earlier_tiles(tmp_path: Path) -> None:
    """Operand t[i][k] is stored in step k - i, t[k + 1][j] in step j - k - 1, unless that is 0: in none."""
    n, p = 40, ahead(PAIRS, tmp_path).polyhedra
    early, late = (s for s in p.statements if s.whole)
    expected: dict[bool, set[tuple[int, ...]]] = {True: set(), False: set()}
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(i + 1, j):
                waits = any(c and c // WIDTH == (j - i) // WIDTH for c in (k - i, j - k - 1))
                expected[waits].add((i, j, k))
    assert instances(early.domain, n) == expected[False]
    assert instances(late.domain, n) == expected[True]
    assert max(sum(x[:2] == (0, j) for x in expected[True]) for j in range(n)) < 2 * WIDTH


def instances(domain: isl.Set, n: int) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()
    fixed = domain.fix_val(D.param, domain.find_dim_by_name(D.param, "n"), isl.Val(n))
    fixed.foreach_point(
        lambda point: found.add(
            tuple(point.get_coordinate_val(D.set, k).to_python() for k in range(fixed.dim(D.set)))
        )
    )
    return found


def test_floating_point_terms_go_ahead_with_leave_only(tmp_path: Path) -> None:
    """An element of another type than what its terms are would be rounded in between."""
    source = PARSES.replace("int p", "float p").replace("int w", "float w").replace("int t", "float t")
    source = source.replace("|= t[i][k] & t[k + 1][i + l] << 1", "+= t[i][k] * t[k + 1][i + l]")
    with pytest.raises(Diagnosed):
        compiled(source, tmp_path, "ahead(k: 8)")
    assert "t_ahead" in compiled(source, tmp_path, "ahead(k: 8)", "reassociate(t)")


def compiled(source: str, directory: Path, *decisions: str) -> str:
    (directory / "hand.c").write_text(source + MAIN)
    path = str(directory / "hand.c")
    made = polygpu.compile(path, target="emulator", device="h100", decisions=decisions, certify="off")
    return made.files["_emulator.c"]


def test_one_step_has_no_terms_ahead(tmp_path: Path) -> None:
    region = ahead(PAIRS, tmp_path, 1)
    assert not any(s.combines for s in region.polyhedra.statements)


def test_terms_that_nearly_all_wait_stay_in_their_steps(tmp_path: Path) -> None:
    """Where all terms wait in all steps of a tile but the first, steps are as long as before."""
    source = PAIRS.replace("t[k + 1][j]", "t[i + 1][j]")  # of the step before
    region = made(source, tmp_path).realise(())
    assert not any(s.combines for s in region.polyhedra.statements)
    assert any(s.combines for s in made(PAIRS, tmp_path).realise(()).polyhedra.statements)


@pytest.mark.slow
def test_what_scalars_hold_goes_ahead_where_it_is_asked_for(tmp_path: Path) -> None:
    """The certificate is open then: the source has one element for the sums of many."""
    assert not any(s.combines for s in made(SCALAR, tmp_path).realise(()).polyhedra.statements)
    region = ahead(SCALAR, tmp_path)
    assert any(s.combines for s in region.polyhedra.statements) and not certify(region).failures
    assert_as_the_original(region, tmp_path, 1, WIDTH + 1, 40)


def test_steps_before_the_terms_ahead_of_them_are_refuted(tmp_path: Path) -> None:
    program = ahead(PAIRS, tmp_path).program
    tree = program.host
    assert isinstance(tree, Each) and isinstance(tree.child, InOrder)
    early, *steps = tree.child.children
    wrong = replace(program, host=replace(tree, child=InOrder((*steps, early))))
    assert certify(made(PAIRS, tmp_path).of(wrong)).failures


def not_neutral(p: Polyhedra) -> PolyStatement:
    """Sums that begin from 0, which is more than a term may be."""
    start = next(s for s in p.statements if s.combines and not any(a.write is False for a in s.accesses))
    (store,) = start.body
    assert isinstance(store, Store)
    return replace(start, body=(replace(store, value=Int(0)),))


def of_a_neighbour(p: Polyhedra) -> PolyStatement:
    """What is left of a sum goes on from what the terms of another element add up to."""
    copy = next(s for s in p.statements if s.combines and len(s.accesses) == 2)
    read = next(a.reference for a in copy.accesses if not a.write)
    step, point = read.subscripts
    return retargeted(copy, read, replace(read, subscripts=(step, Binary("+", point, Int(1)))))


def too_many(p: Polyhedra) -> PolyStatement:
    """All terms go ahead, and then those that wait come once more."""
    early, late = (s for s in p.statements if s.whole)
    return replace(early, domain=early.domain.union(late.domain.set_tuple_name(early.name)).coalesce())


@pytest.mark.parametrize(
    "wrong", [not_neutral, of_a_neighbour, pytest.param(too_many, marks=pytest.mark.slow)]
)
def test_wrong_sums_are_refuted(wrong: Callable[[Polyhedra], PolyStatement], tmp_path: Path) -> None:
    program = ahead(PAIRS, tmp_path).program
    new = wrong(program.p)
    statements = tuple(new if s.name == new.name else s for s in program.p.statements)
    other = with_polyhedra(program, replace(program.p, statements=statements))
    assert certify(made(PAIRS, tmp_path).of(other)).failures


def with_polyhedra(program: Program, p: Polyhedra) -> Program:
    def tree(node: HostTree) -> HostTree:
        match node:
            case Each(_, child):
                return replace(node, child=tree(child))
            case InOrder(children):
                return InOrder(tuple(map(tree, children)))
            case Grid():
                return replace(node, p=p)

    return Program(p, tree(program.host))
