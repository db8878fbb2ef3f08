"""What a region writes whole is not copied to the device, also behind pointers whose sizes nobody knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.pipeline import compile_file
from polygpu.printing.printer import print_expr
from polygpu.verify.certificate import certify

HEAD = "void f(int n, int m, float *restrict a, float (*restrict b)[100], const float *restrict x)"


def region(tmp_path: Path, body: str) -> CompiledRegion:
    path = tmp_path / "f.c"
    path.write_text(f"{HEAD} {{ {body} }}\n")
    (found,) = compile_file(str(path), Options(level=0)).regions
    return found


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        ("for (int i = 0; i < n; i++) a[i] = x[i];", False),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = x[j];", False),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < 100; j++) b[i][j] = x[j];", False),
        ("for (int i = 0; i < n; i++) b[i][0] = x[i];", True),
        ("for (int i = 1; i < n; i++) a[i] = x[i];", True),
        ("for (int i = 0; i < n; i++) a[2 * i] = x[i];", True),
        ("for (int i = 0; i < n; i++) a[i - 3] = x[i];", True),
        ("for (int i = 0; i < n; i++) { a[3 * i] = x[i]; a[3 * i + 1] = x[i]; }", True),
        ("for (int i = 0; i < n; i++) { a[2 * i] = x[i]; a[2 * i + 1] = x[i]; }", False),
        ("for (int i = 0; i < n; i++) if (x[i] > 0) a[i] = x[i];", True),
        ("for (int i = 0; i < n; i++) a[i] += x[i];", True),
    ],
)
def test_what_is_written_whole_is_not_copied_in(tmp_path: Path, body: str, needed: bool) -> None:
    r = region(tmp_path, body)
    (written,) = (b for b in r.region.buffers if b.copy_out)
    assert written.copy_in == needed
    assert not certify(r).failures


@pytest.mark.parametrize(
    ("start", "first", "length"),
    [
        ("m", "-max(-m, 0)", "n >= m + 1 ? n + max(-m, 0) : 0"),
        ("m - 3", "-max(-m + 3, 0)", "n + 2 >= m ? n + max(-m + 3, 0) : 0"),
        ("m + n", "-max(-(m <= -1 ? m + n : 0), 0)", "(m <= -1 ? n : 0) + max(-(m <= -1 ? m + n : 0), 0)"),
    ],
)
def test_the_first_element_is_found_without_a_test_where_int_holds_it(
    tmp_path: Path, start: str, first: str, length: str
) -> None:
    """A size and a constant; where nothing is touched, the length is 0."""
    r = region(tmp_path, f"for (int i = {start}; i < n; i++) a[i] = x[0];")
    (a,) = (b for b in r.region.buffers if b.name == "a")
    found = [print_expr(e).replace("polygpu_max", "max") for e in (a.origin[0], a.extents[0])]
    assert found == [first, length]
    assert not certify(r).failures


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 1; i < n; i++) a[i] = x[i];",
        "for (int i = 0; i < n; i++) a[2 * i] = x[i];",
        "for (int i = 0; i < n; i++) b[i][0] = x[i];",
    ],
)
def test_the_certificate_finds_elements_that_come_back_though_nobody_wrote_them(
    tmp_path: Path, body: str
) -> None:
    r = region(tmp_path, body)
    buffers = tuple(replace(b, copy_in=b.copy_in and not b.copy_out) for b in r.region.buffers)
    failures = certify(replace(r, region=replace(r.region, buffers=buffers))).failures
    assert any("parts of it were never written" in failure.message for failure in failures)
