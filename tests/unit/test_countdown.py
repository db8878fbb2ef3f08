"""Loops over the opposite of an iterator are printed as loops that count down, and do the same."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Unary
from polygpu.model.kernel import Assign, For, If, Statement
from polygpu.printing.countdown import counted_down
from polygpu.printing.dialects import CUDA
from polygpu.printing.printer import Names
from polygpu.printing.statements import print_body

C, J, M, N, S = (Name(name, "int") for name in ("c", "j", "m", "n", "s"))


def less(left: Expr, right: Expr) -> Expr:
    return Binary("-", left, right)


def minus(e: Expr) -> Expr:
    return Unary("-", e)


def text_of(loop: For) -> list[str]:
    head, *body, _ = print_body(counted_down((loop,)), Names(CUDA))
    return [head.removesuffix(" {"), *(line.strip() for line in body)]


def loop(lower: Expr, upper: Expr, value: Expr, step: int = 1, opposite: str = "k") -> For:
    return For("c", lower, upper, step, (Assign(S, value),), uniform=True, opposite=opposite)


@pytest.mark.parametrize(
    ("made", "head", "value"),
    [
        (loop(Int(-2), minus(J), less(N, C)), "for (int k = 2; k > j; --k)", "n + k"),
        (loop(less(Int(1), M), Int(0), minus(C)), "for (int k = m - 1; k > 0; --k)", "k"),
        (loop(minus(N), Int(1), less(minus(C), Int(4))), "for (int k = n; k >= 0; --k)", "k - 4"),
        (loop(minus(N), less(Int(1), J), minus(C)), "for (int k = n; k >= j; --k)", "k"),
        (loop(minus(N), Binary("+", J, Int(1)), minus(C)), "for (int k = n; k + j >= 0; --k)", "k"),
        (loop(minus(N), J, minus(C), 3), "for (int k = n; k + j > 0; k -= 3)", "k"),
        (loop(minus(N), J, Binary("*", Int(-2), C)), "for (int k = n; k + j > 0; --k)", "2 * k"),
        (
            loop(Call("max", (minus(N), minus(M)), "int"), J, minus(C)),
            "for (int k = min(n, m); k + j > 0; --k)",
            "k",
        ),
        (loop(Int(0), N, C), "for (int k = 0; k + n > 0; --k)", "-k"),
        (loop(Int(0), minus(J), C, 1, ""), "for (int c = 0; c + j < 0; ++c)", "c"),
        (loop(Int(0), Binary("+", minus(J), Int(1)), C, 1, ""), "for (int c = 0; c + j <= 0; ++c)", "c"),
        (loop(Int(0), N, less(N, C), 1, ""), "for (int c = 0; c < n; ++c)", "n - c"),
        (
            loop(N, Call("min", (minus(J), less(M, J), minus(N)), "int"), C, 1, ""),
            "for (int c = n; c + max(j, max(j - m, n)) < 0; ++c)",
            "c",
        ),
        (
            loop(minus(N), Call("max", (J, Binary("*", Int(2), M), N), "int"), minus(C)),
            "for (int k = n; k + max(j, max(2 * m, n)) > 0; --k)",
            "k",
        ),
        (
            loop(Int(0), Call("max", (N, minus(M)), "int"), C, 1, ""),
            "for (int c = 0; c < max(n, -m); ++c)",
            "c",
        ),
        (loop(Int(0), Binary("*", Int(-2), J), C, 1, ""), "for (int c = 0; c + 2 * j < 0; ++c)", "c"),
    ],
)
def test_what_is_printed(made: For, head: str, value: str) -> None:
    assert text_of(made) == [head, f"s = {value};"]


PLAIN = """\
#include <stdio.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
"""


def test_they_do_the_same(tmp_path: Path) -> None:
    """Nests drawn at random, as they are and counted down: in which order which values come up."""
    random = Random(5)
    made, turned = [], 0
    for k in range(60):
        body = tuple(_drawn(random, ()))
        turned += counted_down(body) != body
        for name, b in ((f"f{k}", body), (f"g{k}", counted_down(body))):
            lines = "\n".join(print_body(b, Names(CUDA)))
            made.append(f"static int {name}(int n, int m) {{ int s = 7; {lines} return s; }}")
    assert turned > 30
    calls = (f"if (f{k}(n, m) != g{k}(n, m)) bad = {k + 1};" for k in range(60))
    loops = "for (int n = -3; n < 9; n++) for (int m = -3; m < 9; m++) {"
    main = f"int main(void) {{ int bad = 0; {loops} {' '.join(calls)} }} return bad; }}"
    (tmp_path / "nests.c").write_text(PLAIN + "\n".join(made) + "\n" + main)
    program = tmp_path / "nests"
    subprocess.run(["gcc", "-std=c99", "-fwrapv", "-o", program, program.with_suffix(".c")], check=True)
    assert subprocess.run([program], check=False).returncode == 0


def _drawn(random: Random, names: tuple[str, ...]) -> list[Statement]:
    """Up to three loops in each other, each with something that its index tells."""
    name = f"c{len(names)}"
    inner, outer = (*names, name), (*names, "n", "m")
    value = Binary("+", Binary("*", S, Int(31)), _expression(random, inner))
    body: list[Statement] = [Assign(S, value)]
    if len(inner) < 3 and random.random() < 0.7:
        body += _drawn(random, inner)
    if random.random() < 0.4:
        body = [
            If(
                Binary("<", _expression(random, inner), _expression(random, outer)),
                tuple(body),
                (),
                uniform=True,
            )
        ]
    lower, upper, step = (
        less(_expression(random, outer), Int(4)),
        _expression(random, outer),
        random.choice((1, 1, 3)),
    )
    return [
        For(
            name,
            lower,
            upper,
            step,
            tuple(body),
            True,
            opposite=random.choice(("", "_", "_")) and f"k{len(names)}",
        )
    ]


def _expression(random: Random, names: tuple[str, ...]) -> Expr:
    name = Name(random.choice(names), "int")
    match random.randrange(8):
        case 0 | 1:
            return minus(name)
        case 2:
            return less(Int(random.randrange(-5, 6)), name)
        case 3:
            return Binary("+", minus(name), _expression(random, names))
        case 4:
            return Binary("*", Int(random.randrange(-3, 4)), name)
        case 5:
            return Call(random.choice(("min", "max")), (minus(name), _expression(random, names)), "int")
        case 6:
            return Binary("%", Binary("+", _expression(random, names), Name("m", "int")), Int(3))
    return name
