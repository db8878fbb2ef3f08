"""Where the largest value is, and the last iteration that passes a test: exact, in whatever order it is
looked for, and without leave to reorder anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import Assign, Declare, If, Region
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.verify.certificate import Certifying, certify
from polygpu.verify.verdict import Certificate
from tests.test_shared_sums import assert_same, compiled, one

PROGRAM = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static void find(int n, const TYPE *restrict a, TYPE *restrict found, int *restrict place)
{
    TYPE t = *found;
    int at = *place;
#pragma scop
    for (int i = 0; i < n; i++)
        BODY
#pragma endscop
    *found = t;
    *place = at;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), kind;
    TYPE *a = malloc(n * sizeof *a + 1);
    for (kind = 0; kind < 8; kind++) {
        int k = 0;
        TYPE t = kind == 6 ? 1000 : kind == 7 ? NOTHING : 3;
        while (k < n) {
            a[k] = k * 7919 % 21 - 10;
            if (kind == 1) a[k] = k % 2 ? -0.0 : 0.0;
            if (kind == 2 && k % 61 == 60) a[k] = NOTHING;
            if (kind == 3 && k == n - 1) a[k] = NOTHING;
            if (kind == 4) a[k] = 3;
            if (kind == 5) a[k] = NOTHING;
            k++;
        }
        if (kind == 1) t = -0.0;
        int at = -7;
        find(n, a, &t, &at);
        printf("%a %d\\n", (double)t, at);
    }
    return 0;
}
"""
FLOATS = {
    "the first largest": "if (a[i] > t) { t = a[i]; at = i; }",
    "the last largest": "if (t <= a[i]) { at = i + 1; t = a[i]; }",
    "the first least": "if (a[i] < t) { t = a[i]; at = i; }",
    "what is not less": "if (!(a[i] <= t)) { t = a[i]; at = i; }",
    "of what passes a test": "if (i % 3 && a[i] > t) { t = a[i]; at = 2 * i; }",
    "of absolute values": "{ float v = fabsf(a[i]); if (v > t) { t = v; at = i; } }",
    "a place alone": "if (a[i] < 0) at = i;",
    "its last value": "if (a[i] > 2) { t = a[i]; at = i; }",
    "values of the same iteration": "if (a[i] > 2) { t = a[i] / 3; at = t + i; t = t * at; }",
    "the last value beside a sum": "if (a[i] > 2) { t = a[i] * 2; at += (int)t; }",
    "the first that passes": "if (a[i] > 2 && i % 5) { at = i; t = a[i] + t; break; }",
    "a value alone": "if (a[i] >= t) t = a[i];",
    "or the old one": "t = t > a[i] ? t : a[i];",
}
DOWNWARDS = ("for (int i = 0; i < n; i++)", "for (int i = n - 1; i >= 0; i--)")


def program(body: str, ctype: str = "float") -> str:
    nothing = "NAN" if ctype in ("float", "double") else "-4"
    return PROGRAM.replace("BODY", body).replace("TYPE", ctype).replace("NOTHING", nothing)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if k == 0 else pytest.mark.slow) for k, n in enumerate(FLOATS)]
)
def test_what_is_found_is_exact(name: str, tmp_path: Path) -> None:
    made = compiled(program(FLOATS[name]), tmp_path, reassociate=False)
    assert any(k.shared for k in one(made).region.kernels)
    assert [c.holds for c in Certifying(quick=False).of([one(made)]).values()] == [True]
    assert_same(made, tmp_path, 0, 1, 2, 300, 5000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["the first largest", "what is not less", "a place alone"])
def test_downwards(name: str, tmp_path: Path) -> None:
    made = compiled(program(FLOATS[name]).replace(*DOWNWARDS), tmp_path, reassociate=False)
    assert any(k.shared for k in one(made).region.kernels)
    assert_same(made, tmp_path, 0, 1, 2, 300, 5000)


STORING = {
    "what the loop stores": "{ b[i] = a[i] * a[i] - 3; if (b[i] > t) { t = b[i]; at = i; } }",
    "the difference from it": "{ b[i] = a[i] * a[i] - 3; float v = fabsf(b[i] - a[i]); t = v > t ? v : t; }",
    "of another column": "{ c[i][1] = a[i] * 0.5f + 1; if (!(c[i][1] <= t)) { t = c[i][1]; at = i; } }",
}


def storing(body: str) -> str:
    return program(body).replace("#include <stdlib.h>", "#include <stdlib.h>\nfloat b[5001], c[5001][2];")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if k == 1 else pytest.mark.slow) for k, n in enumerate(STORING)]
)
def test_values_that_the_loop_stores_are_read_behind_it(name: str, tmp_path: Path) -> None:
    made = compiled(storing(STORING[name]), tmp_path, reassociate=False)
    assert any(k.shared for k in one(made).region.kernels)
    assert [c.holds for c in Certifying(quick=False).of([one(made)]).values()] == [True]
    assert_same(made, tmp_path, 0, 1, 2, 300, 5000)


@pytest.mark.parametrize(
    "body",
    [
        "{ b[i + 1] = a[i] * a[i] - 3; if (b[i] > t) t = b[i]; }",  # stored by the iteration before
        "{ b[i] = a[i] * a[i] - 3; if (b[i] > t) t = b[i]; b[i] = 0; }",
        "{ if (b[i] > t) t = b[i]; b[i] = a[i]; }",
        "{ c[0][1] = a[i] * a[i] - 3; if (c[0][1] > t) t = c[0][1]; }",  # not there behind the loop
        "{ b[i] = a[i] * a[i] - 3; if (b[i] > t) { t = b[i]; b[i] = 0; } }",
    ],
)
def test_values_that_are_not_there_behind_the_loop(body: str, tmp_path: Path) -> None:
    made = compiled(storing(body), tmp_path, reassociate=False)
    assert not any(k.shared for k in one(made).region.kernels)


@pytest.mark.slow
@pytest.mark.parametrize("ctype", ["int", "unsigned", "double", "long"])
def test_types(ctype: str, tmp_path: Path) -> None:
    made = compiled(program(FLOATS["the first largest"], ctype), tmp_path, reassociate=False)
    assert any(k.shared for k in one(made).region.kernels)
    assert_same(made, tmp_path, 0, 1, 300, 5000)


AFTER = """if (a[i] > t) { t = a[i]; at = i; }
    for (int j = 0; j < n; j++)
        if (a[j] < at % 7) t = a[j];
"""


def test_what_a_later_loop_finds_by_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    made = compiled(program(AFTER, "int"), tmp_path, reassociate=False)
    assert "t_best" in {a.name for a in one(made).scop.arrays}
    assert_same(made, tmp_path, 0, 1, 300)


BEFORE = "{ TYPE was = *found; *found = a[i]; if (was > t) { t = was; at = i; } }"


def test_what_is_compared_may_be_of_the_iteration_before(tmp_path: Path) -> None:
    assert_same(compiled(program(BEFORE, "int"), tmp_path, reassociate=False), tmp_path, 0, 1, 300)


TWO = """
static void find(int n, const float a[restrict n][n], float *restrict found, int place[restrict 2])
{
    float t = a[0][0];
    int row = -1, column = -1;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (a[i][j] > t) {
                t = a[i][j];
                row = i;
                column = j;
            }
#pragma endscop
    *found = t;
    place[0] = row;
    place[1] = column;
}
"""


@pytest.mark.slow
def test_two_places(tmp_path: Path) -> None:
    made = compiled(TWO, tmp_path, reassociate=False)
    assert certify(one(made)).holds
    names = {a.name for a in one(made).scop.arrays}
    assert {"t_best", "i_best", "j_best"} <= names


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (a[i] < 0) { at = i; break; }", True),
        ("if (a[i] < 0 && i % 5) { at = i; break; }", True),
        ("if (a[i] / t < 0) { at = i; break; }", True),
        ("if (a[i] < 0 && i < 1) { at = place[i]; break; }", False),  # nor need elements be there
        ("if (a[i] < 0 && i < 1) { place[n] = i; break; }", False),
        ("if (n / (i - 7) < 0) { at = i; break; }", False),  # the source may have ended before
        ("if (a[i] < t) { t = a[i]; break; }", False),  # looks at what it stores
        ("if (a[place[i]] < 0) { at = i; break; }", False),  # places beyond need not be any
        ("{ if (a[i] < 0) { at = i; break; } t = a[i]; }", False),
    ],
)
def test_searches(body: str, found: bool, tmp_path: Path) -> None:
    text = program(body).replace("#pragma scop", "").replace("#pragma endscop", "")
    made = compiled(text, tmp_path, reassociate=False, offload="always", defines=("main=other",))
    names = {a.name for r in made.regions if r.scop.function == "find" for a in r.scop.arrays}
    assert ("i_found" in names) == found


@pytest.mark.parametrize(
    "body",
    [
        "if (a[i] > t) { t = a[i]; at = at + 1; }",  # counts what was larger
        "if (a[i] > t) t = a[i] + 1;",  # another value than what is compared
        "if (a[i] > t + at) { t = a[i]; at = i; }",
        "if (a[i] * a[i] - 3 > t) { t = a[i] * a[i] - 3; at = i; }",  # which may be fused, or not
    ],
)
def test_what_depends_on_all_before_stays_in_order(body: str, tmp_path: Path) -> None:
    made = compiled(program(body), tmp_path, reassociate=False, defines=("main=other",))
    assert not any(k.shared for k in one(made).region.kernels)


def in_kernel(region: Region, k: int, change: Callable[[object], object]) -> Region:
    body = map_statements(region.kernels[k].body, change)  # type: ignore[arg-type]
    assert body != region.kernels[k].body
    kernels = tuple(replace(x, body=body) if n == k else x for n, x in enumerate(region.kernels))
    return replace(region, kernels=kernels)


def values(change: Callable[[Expr], Expr | None]) -> Callable[[object], object]:
    def changed(s: object) -> object:
        if isinstance(s, Assign | Declare) and s.value is not None:
            return replace(s, value=rewrite(s.value, change))
        return replace(s, test=rewrite(s.test, change)) if isinstance(s, If) else s

    return changed


def operators(old: str, new: str) -> Callable[[object], object]:
    return values(lambda e: Binary(new, e.left, e.right) if isinstance(e, Binary) and e.op == old else None)


def other_value(e: Expr) -> Expr | None:
    """`i + 1` for the iteration of a term."""
    match e:
        case Select(test, Name(name) as yes, no) if not isinstance(yes, Reference) and name.startswith("i"):
            return Select(test, Binary("+", yes, Int(1)), no)
    return None


MUTANTS: dict[str, Callable[[Region], Region]] = {
    "the last of equals": lambda r: in_kernel(r, 3, operators("<", ">")),
    "no longer equal": lambda r: in_kernel(r, 3, operators("==", ">=")),
    "the next place": lambda r: in_kernel(r, 3, values(other_value)),
    "the least": lambda r: in_kernel(r, 1, operators(">", "<")),
    "equals as well": lambda r: in_kernel(r, 5, operators(">", ">=")),
    "the place before the value": lambda r: replace(
        r, body=(r.body[0], *r.body[3:5], *r.body[1:3], r.body[5])
    ),
    "no value": lambda r: replace(r, body=(r.body[0], *r.body[3:])),
    "nothing stored": lambda r: replace(r, body=r.body[:5]),
    "chunks left out": lambda r: replace(r, body=(*r.body[:4], r.body[5])),
}


@pytest.fixture(scope="module")
def largest(tmp_path_factory: pytest.TempPathFactory) -> CompiledRegion:
    text = program(FLOATS["the first largest"])
    return one(compiled(text, tmp_path_factory.mktemp("largest"), reassociate=False))


def test_six_launches(largest: CompiledRegion) -> None:
    """What starts, chunks and the largest of them, chunks of its places and the first, what is stored."""
    assert [len(k.shared) for k in largest.region.kernels] == [0, 1, 1, 1, 1, 0]


QUICK = ("the last of equals", "no longer equal", "the next place", "equals as well")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in MUTANTS]
)
def test_wrong_folds_are_not_proved(name: str, largest: CompiledRegion) -> None:
    certificate: Certificate = certify(replace(largest, region=MUTANTS[name](largest.region)))
    assert certificate.failures or certificate.unproved
