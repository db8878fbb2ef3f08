"""Actions that cannot matter go before anything is scheduled, and the certificate checks that they cannot."""

from __future__ import annotations

import pytest

from polygpu.analysis.dead import dead_actions, without
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.model.rewrite import numbered
from polygpu.model.scop import Branch, Let, Repeat, Store
from polygpu.verify.demand import Demand
from polygpu.verify.source import Source
from tests.unit.middle import VECTORS, dependent

BODIES = [
    # temporaries: an element's first values, its last ones, all of them
    ("float t = x[i]; y[i] = t; t = z[i];", "t y"),
    ("float t = x[i]; t = z[i]; y[i] = t;", "t y"),
    ("float u = z[i]; float t = u * 2; float v = u + t; y[i] = x[i];", "y"),
    ("float u = z[i] + 1; float t = u * 2; y[i] = u;", "u y"),
    ("float t[2]; t[0] = x[i]; t[1] = z[i]; y[i] = t[0];", "t y"),
    # what reads a dead value only to make another one
    ("float t = 0; float u = 0; t += x[i]; u += t; y[i] = 1;", "y"),
    ("float t = 0; for (int j = 0; j < n; j++) t += x[j]; y[i] = 1;", "y"),
    # branches: without effect, with some, around what is not needed
    ("float t = x[i]; if (t > 2) t = z[i]; y[i] = x[i];", "y"),
    ("float t = x[i]; if (t > 2) t = z[i]; y[i] = t;", "t if t y"),
    ("float t = 0; if (x[i] > 2) { t = 1; y[i] = t; }", "if t y"),
    ("float t; if (x[i] > 2) { t = 1; if (z[i] > 3) t = 2; y[i] = 1; }", "if y"),
    ("float t; if (x[i] > 2) { t = 1; y[i] = t; } else { t = z[i]; z[i] = t; t = 3; }", "if t y t z"),
    ("float t; if (x[i] > 2) { if (z[i] > 3) t = 1; else { t = 2; y[i] = t; } }", "if if t y"),
    # branches in branches that write on both sides, or on some
    ("float t; if (x[i] > 2) t = 1; else if (x[i] > 1) t = 2; else t = 3; y[i] = t;", "if t if t t y"),
    ("float t = 0; if (x[i] > 2) { if (z[i] > 1) t = 1; else t = 2; } y[i] = t;", "t if if t t y"),
    ("float t = 0; if (x[i] > 2) { t = 1; if (z[i] > 1) t = 2; } y[i] = t;", "t if t if t y"),
    (
        "float t = 4; if (x[i] > 2) { if (z[i]) t = 1; z[i] = t; t = 5; } else t = 2; y[i] = t;",
        "t if if t z t t y",
    ),
    # locals of a branch
    ("if (x[i] > 2) { float t = z[i]; float u = t; if (u > 3) { t = u; u = 4; } y[i] = 2; }", "if y"),
    ("if (x[i] > 2) { float t = z[i]; if (t > 3) { t = 1; } y[i] = t; }", "if t if t y"),
    ("if (x[i] > 2) { float t = z[i]; if (t > 3) { y[i] = t; t = 1; } }", "if t if y"),
    # what loops within an instance pass from one iteration to the next, and what they do not
    ("float t = 0; for (int j = 0; j < x[i]; j++) { y[i] += t; t = z[j]; }", "t j while y t j"),
    (
        "float u[2]; u[0] = 1; for (int j = 0; j < x[i]; j++) { y[i] += u[0]; u[0] = z[j]; u[1] = 2; }",
        "u j while y u u j",
    ),
    ("float t = 0, u = 1; for (int j = 0; j < x[i]; j++) { t = z[j]; y[i] += t; u = t; }", "j while t y j"),
    (
        "float t = 0; while (y[i] > t) { float u = z[i]; y[i] -= u; if (u > 2) t = u; else u = 2; }",
        "t while u y if t u",
    ),
    ("float t = 0; for (int j = 0; j < x[i]; j++) { t = z[j]; } y[i] = 1;", "y"),
    (
        "float t = 0; for (int j = 0; j < x[i]; j++) if (z[j] > 2) { t = j; break; } y[i] = t;",
        "t j go while if t go j y",
    ),
    # elements of a local array that a branch fills, of which what follows it in the branch reads one
    (
        "if (x[i] > 2) { float t[3]; for (int j = 0; j < 3; j++) t[j] = z[j]; "
        "if (t[1] > 3) { y[i] = t[1]; t[2] += 1; } }",
        "test if t if if y",
    ),
    # what outlives the region, read by nobody and overwritten
    ("if (x[i] > 2) y[i] = 1; y[i] = 0;", "if y y"),
    ("if (x[i] > 2) y[i] = 1; else z[i] = 1;", "if y z"),
]


def read(body: str) -> tuple[Polyhedra, frozenset[tuple[str, tuple[int, ...]]]]:
    p, d = dependent(VECTORS, f"for (int i = 0; i < n; i++) {{ {body} }}")
    return p, dead_actions(p, d)


def shown(p: Polyhedra) -> str:
    """What is assigned to, in order, and where branches begin."""
    found = []
    for s in p.statements:
        for _, a in numbered(s.body):
            match a:
                case Store(target):
                    found.append(target.array)
                case Let(name):
                    found.append(name)
                case Branch():
                    found.append("if")
                case Repeat():
                    found.append("while")
    return " ".join(found)


@pytest.mark.parametrize(("body", "left"), BODIES)
def test_what_cannot_matter_goes(body: str, left: str) -> None:
    p, dead = read(body)
    assert shown(without(p, dead)) == left


@pytest.mark.parametrize("body", [body for body, _ in BODIES])
def test_the_certificate_agrees(body: str) -> None:
    p, dead = read(body)
    assert list(Demand(Source(p), dead).missed()) == []


@pytest.mark.parametrize("body", [body for body, _ in BODIES])
def test_the_certificate_misses_whatever_else_is_left_out(body: str) -> None:
    p, dead = read(body)
    for s in p.statements:
        for number, _ in numbered(s.body):
            if (s.name, number) not in dead:
                found = Demand(Source(p), dead | {(s.name, number)}).missed()
                assert s.name in set(found), (s.name, number)


def test_accesses_go_with_what_makes_them() -> None:
    p, dead = read("float t = z[i]; if (t > 2) { t = y[i]; } y[i] = x[i];")
    (s,) = without(p, dead).statements
    assert [(a.reference.array, a.write) for a in s.accesses] == [("x", False), ("y", True)]


def test_a_program_without_effect_stays_as_it_is() -> None:
    _, dead = read("float t = x[i]; t = t + 1;")
    assert dead == frozenset()


def test_a_read_of_any_element_may_find_each_of_them() -> None:
    body = "int t[4]; for (int j = 0; j < 4; j++) t[j] = x[j]; int k = z[i]; y[i] = t[k & 3];"
    p, dead = read(body)
    assert dead == frozenset()
    first = p.statements[0].name
    assert list(Demand(Source(p), frozenset({(first, (0,))})).missed()) == [first]
