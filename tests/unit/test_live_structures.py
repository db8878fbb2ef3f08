"""Whether a structure's value is used after a region, which tells whether each thread may have its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pycparser import c_ast, c_parser

from polygpu.compilation import Options
from polygpu.frontend.names.liveness import Block, live_after
from polygpu.pipeline import compile_file

BEFORE = """
struct pair { int x, y; };
int use(struct pair);
int f(int n, struct pair other, struct { struct pair q; int x; } t)
{
    struct pair q, *p;
    int i, x, y;
"""
REGION = "for (i = 0; i < n; i++) q.x = i;"


def is_live(after: str, *more: str, before: str | None = None) -> bool:
    """That of `q` behind the region; with what comes `before` it the three are the body of a loop."""
    inside = f"{{ {{ {before or ''} }} {REGION} {after} }}"
    text = inside if before is None else f"do {inside} while (x);"
    function = c_parser.CParser().parse(f"{BEFORE}{text} return n; }}").ext[-1]
    items = function.body.block_items
    around = next(item for item in items if isinstance(item, c_ast.Compound | c_ast.DoWhile))
    block = Block(around if before is None else around.stmt, 1, 2)
    return live_after(function.body, block, items[0], members={"x", "y", *more})


@pytest.mark.parametrize(
    "after",
    [
        "",
        "x = 1; n = x;",
        "n = t.x; t.q = other;",
        "q = other; n = use(q);",
        "q.x = 1; q.y = 2; n = use(q);",
        "q.x = 1; n = q.x;",
        "for (i = 0; i < n; i++) { q.x = i; n += q.x; }",
        "if (n) { q = other; } else { q = t.q; } n = use(q);",
        "{ struct pair q = other; n = use(q); }",
        "q.x = n = 2; n = q.x;",
    ],
)
def test_what_is_set_first_is_not_used(after: str) -> None:
    assert not is_live(after)


@pytest.mark.parametrize(
    "after",
    [
        "n = use(q);",
        "q.x = 1; n = q.y;",
        "q.x = q.x + 1;",
        "q.x = q.y;",
        "q.x += 1;",
        "if (n) q = other; n = q.x;",
        "if (n) q.x = 1; n = q.x;",
        "for (i = 0; i < n; i++) { n += q.x; q.x = i; }",
        "while (n > x) q.x = n--; n = q.x;",
        "p = &q; q = other;",
        "q = (struct pair){q.x, 1};",
    ],
)
def test_what_is_read_first_is_used(after: str) -> None:
    assert is_live(after)


def test_members_that_are_never_named_are_those_of_the_whole() -> None:
    assert is_live("q.x = 1; q.y = 2; n = use(q);", "z")
    assert not is_live("q.x = 1; q.y = 2; n = q.y;", "z")


def test_names_of_no_member_are_parts_of_the_whole() -> None:
    assert is_live("q.x = 1; q.y = 2; n = q.inner;")


# -- all paths through random statements -----------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A statement of `SIMPLE`; or one of its `bodies` (if), or its only one any number of times."""

    kind: str
    text: str = ""
    bodies: tuple[list[Part], ...] = ()


SIMPLE: dict[str, tuple[str, str]] = {  # what is read of the structure, and then set
    "q.x = n;": ("", "x"),
    "q.y = n;": ("", "y"),
    "q = other;": ("", "xy"),
    "q.x = q.y;": ("y", "x"),
    "q = (struct pair){1, q.x};": ("x", "xy"),
    "n = q.x;": ("x", ""),
    "n = q.y;": ("y", ""),
    "n = use(q);": ("xy", ""),
    "q.y += 2;": ("y", "y"),
    "x = y;": ("", ""),
}


TEXTS = {"if": "if (n) {{ {} }} else {{ {} }}", "while": "while (n) {{ {} }}", "do": "do {{ {} }} while (n);"}


def statements(random: Random, depth: int) -> list[Part]:
    return [statement(random, depth) for _ in range(random.randrange(4))]


def statement(random: Random, depth: int) -> Part:
    kind = random.choice(("simple", "simple", "simple", *TEXTS)) if depth else "simple"
    if kind == "simple":
        return Part(kind, random.choice(list(SIMPLE)))
    return Part(kind, "", tuple(statements(random, depth - 1) for _ in range(1 + (kind == "if"))))


def spelled(parts: Iterable[Part]) -> str:
    texts = (p.text or TEXTS[p.kind].format(*map(spelled, p.bodies)) for p in parts)
    return " ".join(texts)


def ways(part: Part) -> list[tuple[list[Part], ...]]:
    """Which bodies may run one after the other: of a loop up to three times, which shows all there is."""
    if part.kind == "if":
        return [(body,) for body in part.bodies]
    return [part.bodies * count for count in range(part.kind == "do", 4)]


def read_on(parts: Iterable[Part], left: frozenset[str]) -> tuple[bool, set[frozenset[str]]]:
    """Whether a path reads what is left of the old value, and what can be left of it afterwards."""
    behind, was_read = {left}, False
    for part in parts:
        if part.text:
            reads, sets = SIMPLE[part.text]
            was_read |= any(not old.isdisjoint(reads) for old in behind)
            behind = {old - {*sets} for old in behind}
            continue
        after: set[frozenset[str]] = set()
        for way in ways(part):
            here = behind
            for body in way:
                found = [read_on(body, old) for old in here]
                was_read |= any(read for read, _ in found)
                here = {state for _, states in found for state in states}
            after |= here
        behind = after
    return was_read, behind


def test_a_path_that_reads_the_old_value_makes_it_live() -> None:
    answers = []
    for seed in range(400):
        parts = statements(Random(seed), 2)
        live, _ = read_on(parts, frozenset("xy"))
        assert is_live(spelled(parts)) == live, spelled(parts)
        before = statements(Random(-1 - seed), 2)
        again, _ = read_on([*parts, *before, *parts], frozenset("xy"))
        assert is_live(spelled(parts), before=spelled(before)) == again, (spelled(before), spelled(parts))
        answers.append((live, again))
    assert {*answers} == {(False, False), (False, True), (True, True)}


LOOPS = """
#include <complex.h>
#include <stdio.h>
struct pair { double x, y; };
void f(int n, double a[restrict n], double complex b[restrict n])
{
    struct pair q;
    double complex z;
    for (int i = 0; i < n; i++) {
        q.x = a[i]; q.y = a[i] + 1; z = b[i] * q.x;
        a[i] = q.x * q.y; b[i] = z * z;
    }
    puts("half");
    for (int i = 0; i < n; i++) {
        q = (struct pair){a[i], creal(b[i])}; z = q.y * I;
        a[i] = q.x * q.y; b[i] = z + z;
    }
}
"""


def test_loops_with_structures_that_others_set_again_are_parallel(tmp_path: Path) -> None:
    (tmp_path / "pairs.c").write_text(LOOPS)
    made = compile_file(str(tmp_path / "pairs.c"), Options(target="emulator", device="h100"))
    assert len(made.regions) == 2
    assert not {"PG330", "PG309"} & {d.id for d in made.diagnostics}
