"""Certificates of programs whose proof needs more than that each store is a store of the source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import SharedArray
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import BOUNDS

DEAD = """
void f(int n, int m, const double x[restrict n], double c[restrict m], const int a[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double t = x[i];
            c[j] += t;
            if (a[i][j] > 3)
                t = 0.5 * c[j];
        }
#pragma endscop
}
"""

LOOKUP = """
void f(int n, int m, float b[restrict m], const int a[restrict m])
{
#pragma scop
    for (int i = n - 1; i >= 0; i -= 2) {
        float t = i + 2;
        for (int j = (n - 1 < i + 3 ? n - 1 : i + 3); j > 0; j -= 2) {
            float u[3];
            for (int k = 0; k < 3; k++)
                u[k] = 5;
            t = 0.5f * t + u[0];
        }
    }
    for (int i = 0; i < m; i++)
        if (a[i] > 3)
            b[i] = b[a[i] & 7];
#pragma endscop
}
"""


# t is read for its own update only
CIRCLE = """
void f(int n, int A0[restrict n + 2][n + 3], int A1[restrict 2 * n + 1], double A2[restrict 3][n + 1][n + 1])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int t1[2];
        for (int j = 0; j < 2; j++) {
            t1[j] = (8) < (A0[i][2 * j] & 255) ? (8) : (A0[i][2 * j] & 255);
        }
        for (int j = n - 1; j >= i + 1; j--) {
            if (A1[j + 1] > A2[2][j][j - 1]) {
                if ((t1[0] & 1023) < (A1[i] & 1023) && (A1[i] & 1023) != 3) {
                    t1[0] += ((i + 2) > 30 ? (t1[1] & 255) : 5) & 15;
                }
            }
        }
        %s
    }
#pragma endscop
}
"""


def compiled(text: str, device: str, directory: Path) -> CompiledRegion:
    file = directory / "f.c"
    file.write_text(text)
    return pipeline.compile_file(str(file), Options(target="emulator", device=device)).regions[0]


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_a_conditional_write_that_nobody_reads(device: str, tmp_path: Path) -> None:
    """It need not keep the old value, which was written to another temporary."""
    assert certify(compiled(DEAD, device, tmp_path)).holds


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_a_conditional_write_that_is_read(device: str, tmp_path: Path) -> None:
    text = DEAD.replace("t = 0.5 * c[j];", "t = 0.5 * c[j];\n            c[j] += 2 * t;")
    region = compiled(text, device, tmp_path)
    assert certify(region).holds


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
@pytest.mark.parametrize("after", ["", "A0[i][0] = t1[0];"])
def test_a_temporary_that_only_its_own_updates_read(after: str, device: str, tmp_path: Path) -> None:
    """Without anything after it, nothing in the region matters; of t1[1] little is read even then."""
    assert certify(compiled(CIRCLE % after, device, tmp_path)).holds


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_subscripts_that_depend_on_data_leave_other_arrays_clear(device: str, tmp_path: Path) -> None:
    """A temporary nobody reads need not be written, whatever is known about other arrays."""
    region = compiled(LOOKUP, device, tmp_path)
    assert not certify(region).failures


EMPTY = """
void f(int n, float a[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float t[n - 1];
        for (int j = 0; j < n - 1; j++)
            t[j] = j;
        a[i] = t[0];
    }
#pragma endscop
}
"""


def test_an_array_of_the_region_without_elements_is_touched_by_no_defined_program(tmp_path: Path) -> None:
    assert not certify(compiled(EMPTY, "8800gtx", tmp_path)).failures


# the arm reads what no other access does, wherever its test holds
ARM = """
void f(int A[restrict 19][19], const char G[restrict 19][19])
{
#pragma scop
    for (int i = 0; i < 8; i++)
        for (int j = i; j >= 2; j--)
            for (int k = j + 1; k < 8 - j; k++)
                if ((A[i + 1][i - j + 7] & 15) < (G[i][j + i] & 15)) {
                    A[j - 2][k] = A[j - 2][k] + A[2][k];
                    A[j][k - 1] = i + 2 > %s ? A[2 * i + 2][2 * i + 4] : 5;
                    A[k][i + 1] = A[k][i + 1] + A[j - 1][2 * i + 1];
                }
#pragma endscop
}
"""


def _with_rows(region: CompiledRegion, rows: int) -> CompiledRegion:
    """The region with so many rows of each staged tile."""

    def smaller(s: SharedArray) -> SharedArray:
        return replace(s, extents=(min(rows, s.extents[0]), *s.extents[1:]))

    kernels = tuple(replace(k, shared=tuple(map(smaller, k.shared))) for k in region.region.kernels)
    return replace(region, region=replace(region.region, kernels=kernels))


def test_arms_of_conditional_expressions_are_read_where_their_tests_hold(tmp_path: Path) -> None:
    never = compiled(ARM % 30, "h100", tmp_path)
    (rows,) = {s.extents[0] for k in never.region.kernels for s in k.shared}
    assert rows < 16, "what the arm would read is outside of the tile"
    assert certify(never).holds
    sometimes = compiled(ARM % 7, "h100", tmp_path)
    assert certify(sometimes).holds
    failures = certify(_with_rows(sometimes, rows)).failures
    assert any(f.property == BOUNDS and "outside of shared array" in f.message for f in failures)
