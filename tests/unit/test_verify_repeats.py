"""Certificates of loops that data end: the kernel's loop is the source's, action by action, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, If, Region, Statement, While
from polygpu.model.kernel_walk import bodies, map_operands, statements, with_bodies
from polygpu.model.rewrite import rewrite
from polygpu.verify.certificate import certify
from tests.unit.expression_mutants import expressions
from tests.unit.kernel_mutants import with_kernel

PRODUCT = """
void f(int n, int m, const int ptr[restrict n + 1], const int idx[restrict m], const float v[restrict m],
       const float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int j = ptr[i]; j < ptr[i + 1]; j++) {
            if (idx[j] < 0)
                continue;
            s += v[j] * x[idx[j]];
            if (s > 100)
                break;
        }
        y[i] = s;
    }
#pragma endscop
}
"""

ORBIT = """
void f(int n, int most, float a[restrict n], float b[restrict n], int count[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float x = 0, y = 0;
        int k = 0;
        while (k < most && x * x + y * y < 4) {
            float t = x * x - y * y + a[i];
            y = 2 * x * y + b[i];
            x = t;
            k++;
        }
        count[i] = k;
        b[i] = x;
    }
#pragma endscop
}
"""

IN_PLACE = """
void f(int n, const int last[restrict n], float y[restrict n], const float x[restrict n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 0; j < last[i]; j++)
            y[i] = 0.5f * y[i] + x[j & 7];
#pragma endscop
}
"""


def compiled(directory: Path, text: str) -> CompiledRegion:
    (directory / "in.c").write_text(text)
    return pipeline.compile_file(str(directory / "in.c"), Options(target="cuda", device="h100")).regions[0]


@pytest.mark.parametrize("text", [PRODUCT, ORBIT, IN_PLACE], ids=["product", "orbit", "in place"])
def test_what_is_right_is_proved(tmp_path: Path, text: str) -> None:
    certificate = certify(compiled(tmp_path, text))
    assert certificate.holds
    assert not certificate.unproved


def _others(e: Expr) -> Iterator[Expr]:
    """Another number, operator, local, or element."""
    match e:
        case Int(value):
            yield Int(value + 1)
        case Binary(op, left, right):
            yield Binary({"<": "<=", "+": "-", "-": "+", "*": "+", "&&": "||"}.get(op, "*"), left, right)
            if left != right and op != "+":
                yield Binary(op, right, left)
        case Name(name) if name in ("s", "x", "y", "t"):
            yield replace(e, name={"s": "t", "x": "y", "y": "x", "t": "x"}[name])
        case Reference(_, (subscript,)) if not isinstance(subscript, Reference):
            yield replace(e, subscripts=(Binary("+", subscript, Int(1)),))


def _changed(s: Statement) -> Iterator[tuple[Statement, ...]]:
    """A statement left out, or with an expression of its own changed."""
    if isinstance(s, Assign | If | While):
        yield ()
    match s:
        case Declare(value=value) if value is not None and s.mutable:
            yield from ((replace(s, value=v),) for v in expressions(value, _others))
        case Assign(value=value):
            yield from ((replace(s, value=v),) for v in expressions(value, _others))
        case If(test) | While(test):
            yield from ((replace(s, test=v),) for v in expressions(test, _others))


def _variants(body: tuple[Statement, ...], inside: bool = False) -> Iterator[tuple[Statement, ...]]:
    """`body` with one thing changed in a loop that data end: neighbours swapped, too."""
    for k, s in enumerate(body):
        if inside or isinstance(s, While):
            yield from ((*body[:k], *new, *body[k + 1 :]) for new in _changed(s))
        if inside and k and s != body[k - 1] and not isinstance(body[k - 1], Declare):
            yield (*body[: k - 1], s, body[k - 1], *body[k + 1 :])
        for n, inner in enumerate(bodies(s)):
            for new_body in _variants(inner, inside or isinstance(s, While)):
                sides = [*bodies(s)]
                sides[n] = new_body
                yield (*body[:k], with_bodies(s, sides), *body[k + 1 :])


def mutants(region: Region) -> Iterator[Region]:
    (kernel,) = region.kernels
    return (with_kernel(region, replace(kernel, body=body)) for body in _variants(kernel.body))


def passing(r: CompiledRegion, found: Iterable[Region]) -> list[str]:
    """The loops of mutants whose certificate holds, with nothing left open."""
    proofs = ((region, certify(replace(r, region=region))) for region in found)
    return [str(region.kernels[0].body) for region, c in proofs if c.holds and not c.unproved]


@pytest.mark.slow
@pytest.mark.parametrize("text", [PRODUCT, ORBIT, IN_PLACE], ids=["product", "orbit", "in place"])
def test_mistakes_are_found(tmp_path: Path, text: str) -> None:
    r = compiled(tmp_path, text)
    found = list(mutants(r.region))
    assert len(found) > 8
    assert passing(r, found) == []


def _renamed(body: tuple[Statement, ...], old: str, new: str) -> tuple[Statement, ...]:
    def put(e: Expr) -> Expr:
        return rewrite(e, lambda part: Name(new, "float") if _is(part, old) else None)

    def one(s: Statement) -> Statement:
        s = map_operands(s, put, put)
        if isinstance(s, Assign) and isinstance(s.target, Name) and _is(s.target, old):
            s = replace(s, target=replace(s.target, name=new))
        return with_bodies(s, (_renamed(inner, old, new) for inner in bodies(s)))

    return tuple(one(s) for s in body if not (isinstance(s, Declare) and s.name == old))


def _is(e: Expr, name: str) -> bool:
    return isinstance(e, Name) and e.name == name


def test_two_locals_in_one_register_are_not_proved(tmp_path: Path) -> None:
    r = compiled(tmp_path, ORBIT)
    (kernel,) = r.region.kernels
    assert {"x", "y"} <= {s.name for s in statements(kernel.body) if isinstance(s, Declare)}
    one = with_kernel(r.region, replace(kernel, body=_renamed(kernel.body, "y", "x")))
    assert passing(r, [one]) == []
