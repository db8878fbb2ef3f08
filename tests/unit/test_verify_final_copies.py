"""Copies of final values, which change nothing in the source: the certificate may see them anywhere there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.compilation import Options
from polygpu.compiler import compile_chosen
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Int, Reference
from polygpu.model.kernel import Assign, Region, Statement
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.verify import certificate, final_copies
from polygpu.verify.budget import Budget
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import Certificate, Failure, Unproved

STENCIL = """
void f(int n, float a[n], float b[n], float c[n]) {
#pragma scop
for (int t = 0; t < 8; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < n - 1; i++) a[i] = b[i - 1] + b[i] + b[i + 1];
}
for (int i = 0; i < n; i++) c[i] = a[n - 1 - i];
for (int i = 0; i < n; i++) b[i] = 2 * c[n - 1 - i];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> CompiledRegion:
    source = tmp_path_factory.mktemp("stencil") / "f.c"
    source.write_text(STENCIL)
    (found,) = compile_chosen(str(source), Options(target="cuda", device="h100")).regions
    return found


def copies(region: CompiledRegion) -> list[str]:
    return [o for k in region.region.kernels for o in final_copies._statements(k.body) if o.startswith("F_")]


@pytest.mark.parametrize("place", [None, 0, 1, 2, 3])
def test_a_copy_may_be_expected_anywhere(
    region: CompiledRegion, place: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place is not None:
        monkeypatch.setattr(final_copies, "_top", lambda *_: place)
    assert copies(region)
    assert certify(region).holds


def test_a_copy_may_be_expected_behind_what_it_copies(
    region: CompiledRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def behind(p: Polyhedra, region: Region) -> Iterator[Polyhedra]:
        likely: dict[str, int] = {}
        found = [final_copies._with(p, region, likely)]
        for name in likely:
            found = [*final_copies._with_behind(p, region, likely, name)]
        return iter(found)

    assert copies(region)
    monkeypatch.setattr(certificate, "with_final_copies", behind)
    assert certify(region).holds


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("other", ["open", "values", "refuted", "without end", "crash"])
def test_what_is_refuted_stays_so_unless_another_place_decides(
    region: CompiledRegion, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Certificate((), (Failure("dependences", "", "one is not kept"),), ())
    tried: list[Polyhedra] = []

    def found(p: Polyhedra, *_: object) -> Certificate:
        tried.append(p)
        if len(tried) == 1:
            return first
        if other == "without end":
            while True:
                pass
        if other == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        failures = (Failure("values", "", "another"),) if other == "refuted" else ()
        kind = "values" if other == "values" else "dependences"  # without values nothing is known of these
        return Certificate((), failures, (Unproved(kind, "", "budget"),))

    monkeypatch.setattr(certificate, "_held_against", found)
    monkeypatch.setattr(certificate, "_patience", lambda _: 0.05)
    subject = certificate._Subject.of(region, ())
    made = certificate._checked(subject, Budget.of(1.0), 1)
    assert made.failures == first.failures


def test_a_wrong_copy_is_refuted_wherever_it_is_expected(region: CompiledRegion) -> None:
    def later(s: Statement) -> Statement:
        if not (isinstance(s, Assign) and s.origin is not None and s.origin.statement.startswith("F_")):
            return s

        def next_one(expr: object) -> Reference | None:
            if not isinstance(expr, Reference):
                return None
            *others, last = expr.subscripts
            return replace(expr, subscripts=(*others, Binary("-", last, Int(1))))

        return replace(s, value=rewrite(s.value, next_one))

    kernels = tuple(replace(k, body=map_statements(k.body, later)) for k in region.region.kernels)
    wrong = replace(region, region=replace(region.region, kernels=kernels))
    assert kernels != region.region.kernels
    assert certify(wrong).failures
