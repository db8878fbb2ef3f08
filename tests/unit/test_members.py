"""Sums in members of structures, which threads share, and structures whose members a region counts.

Floating-point terms here are small integers, whose sums are the same in any order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.analysis.members import separated
from polygpu.analysis.reductions import permitted
from polygpu.model.decisions import parse
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.test_shared_sums import assert_same, blocks, compiled, one

PROGRAM = """
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
struct point { float x, y; };
DECLARED
static void add(int n, const struct point *restrict a)
{
    BEFORE
#pragma scop
    for (int i = 0; i < n; i++) {
        LOOP
    }
#pragma endscop
    printf("%.17g %.17g %d\\n", (double)(FIRST), (double)(SECOND), (int)(THIRD));
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    struct point *a = malloc(n * sizeof *a + 1);
    for (int i = 0; i < n; i++)
        a[i] = (struct point){i * 7919 % 201 - 100, i * 31 % 17};
    add(n, a);
    return 0;
}
"""
POINT = {
    "BEFORE": "struct point s = {1, 2};",
    "LOOP": "s.x += a[i].x * a[i].y; s.y += a[i].y;",
    "FIRST": "s.x",
    "SECOND": "s.y",
}
COMPLEX = {
    "BEFORE": "double complex z = 3;",
    "LOOP": "z += a[i].x * (a[i].y - 2 * I);",
    "FIRST": "creal(z)",
    "SECOND": "cimag(z)",
}
INNER = {
    "DECLARED": "static struct { int count; struct { double sum[2], least; } of; } s;",
    "LOOP": "s.of.sum[1] += a[i].x; if (a[i].y < s.of.least) s.of.least = a[i].y; s.count++;",
    "FIRST": "s.of.sum[1]",
    "SECOND": "s.of.least",
    "THIRD": "s.count",
}
COUNTED = {  # a number of the loop's alone, beside an array in the structure
    "BEFORE": "struct { int count, last; float v[3]; } s = {5, 0, {1, 2, 3}};",
    "LOOP": "s.v[1] += a[i].x; s.count++; s.last = i;",
    "FIRST": "s.v[1]",
    "SECOND": "s.last",
    "THIRD": "s.count",
}
PROGRAMS = {"a point": POINT, "a complex number": COMPLEX, "within another": INNER, "counted": COUNTED}


def text_of(parts: dict[str, str]) -> str:
    text = PROGRAM
    for name in ("DECLARED", "BEFORE", "LOOP", "FIRST", "SECOND", "THIRD"):
        text = text.replace(name, parts.get(name, "0" if name == "THIRD" else ""))
    return text


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("reassociate", [True, False])
def test_programs_print_the_same(name: str, reassociate: bool, tmp_path: Path) -> None:
    made = compiled(text_of(PROGRAMS[name]), tmp_path, reassociate=reassociate)
    assert_same(made, tmp_path, 0, 1, 100, 5000)


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_share_the_terms(name: str, tmp_path: Path) -> None:
    """In another order, which the certificate proves; in the source's, one thread adds."""
    shared = compiled(text_of(PROGRAMS[name]), tmp_path)
    assert (256, 1, 1) in blocks(shared)
    found = certify(one(shared))
    assert found.holds
    assert set(found.reassociated.values()) <= {"+", "<"}
    assert len(found.reassociated) >= 1


def test_structures_may_have_names_that_begin_alike(tmp_path: Path) -> None:
    """Sets call a member of `z` z__im; `z_` is another structure (found by the fuzzer)."""
    found = {"BEFORE": "double complex z = 3, z_[5000]; for (int i = 0; i < n; i++) z_[i] = a[i].x;"}
    loop = {"LOOP": "if (a[i].y > 9) z = a[i].x * (2 * I); z_[i] = z_[i] * (a[i].y - 2 * I);"}
    said = {"FIRST": "creal(z)", "SECOND": "cimag(z_[n / 2])"}
    made = compiled(text_of({**found, **loop, **said}), tmp_path)
    certificates = [certify(region) for region in made.regions]
    assert not any(c.failures for c in certificates)
    assert_same(made, tmp_path, 0, 100)


def test_decisions_and_pragmas_name_the_structure(tmp_path: Path) -> None:
    text = text_of(POINT)
    assert (256, 1, 1) in blocks(compiled(text, tmp_path, "reassociate(s)", reassociate=False))
    said = text.replace("#pragma scop", "#pragma polygpu reassociate(s)").replace("#pragma endscop", "")
    assert (256, 1, 1) in blocks(compiled(said, tmp_path, reassociate=False, defines=("main=other",)))
    with pytest.raises(Diagnosed, match="there is no array 'q'"):
        compiled(text, tmp_path, "reassociate(q)", reassociate=False)


def test_structures_that_are_placed_stay_and_so_do_those_with_sums_in_order(tmp_path: Path) -> None:
    scop = one(compiled(text_of(POINT), tmp_path, reassociate=False)).scop
    assert separated(scop, ()) == scop
    free = permitted(scop, (), everything=True)
    members = {(a.name, a.element, a.host, a.source) for a in separated(free, ()).arrays if not a.extents}
    assert members == {("s_x", "float", "&s.x", "s.x"), ("s_y", "float", "&s.y", "s.y")}
    assert separated(free, parse("stage(s)")) == free
