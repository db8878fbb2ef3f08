"""What the middle of the compiler refuses, and where the diagnostic points."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Compilation, Options
from polygpu.support.diagnostics import Diagnosed


def compile_text(text: str, directory: Path) -> Compilation:
    file = directory / "k.c"
    file.write_text(text)
    return pipeline.compile_file(str(file), Options(target="emulator"))


REFUSED = [
    (
        "float a[100];\nvoid f(void)\n{\n#pragma scop\n"
        "    for (int i = 0; i <= 100; i++)\n        a[i] = 1;\n#pragma endscop\n}\n",
        "PG302",
        6,
    ),
    (
        "void f(int n, float a[n])\n{\n#pragma scop\n"
        "    for (int i = 0; i <= n; i++)\n        a[i] = 1;\n#pragma endscop\n}\n",
        "PG302",
        5,
    ),
    (
        "void f(int n, float a[n][])\n{\n#pragma scop\n"
        "    for (int i = 0; i < n; i++)\n        a[i][0] = 1;\n#pragma endscop\n}\n",
        "PG307",
        1,
    ),
    (
        "void f(int n, float *a, int k[n], float b[n])\n{\n#pragma scop\n"
        "    for (int i = 0; i < n; i++)\n        b[i] = a[k[(int)b[i]]];\n#pragma endscop\n}\n",
        "PG301",
        5,
    ),
]


@pytest.mark.parametrize(("text", "number", "line"), REFUSED)
def test_refused_with_a_place(text: str, number: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as caught:
        compile_text(text, tmp_path)
    first = caught.value.diagnostics[0]
    assert first.id == number
    assert first.position is not None
    assert first.position.line == line
    assert first.help


def test_a_bound_that_may_fit_is_tested_at_run_time(tmp_path: Path) -> None:
    text = (
        "void f(int n, int m, float a[n])\n{\n#pragma scop\n"
        "    for (int i = 0; i < m; i++)\n        a[i] = 1;\n#pragma endscop\n}\n"
    )
    host = compile_text(text, tmp_path).files["_host.c"]
    assert "m <= n" in host or "n >= m" in host
    assert "a[i] = 1;" in host  # the loop stays as the alternative


def test_a_recurrence_nobody_marked_stays_on_the_host(tmp_path: Path) -> None:
    text = "void f(int n, float a[n])\n{\n    for (int i = 1; i < n; i++)\n        a[i] += a[i - 1];\n}\n"
    found = compile_text(text, tmp_path)
    assert found.offloaded == 0
    assert found.files == {}
    assert [d.id for d in found.diagnostics if d.severity == "warning"] == ["PG309"]


def test_a_marked_recurrence_is_offloaded(tmp_path: Path) -> None:
    text = (
        "void f(int n, float a[n])\n{\n#pragma scop\n    for (int i = 1; i < n; i++)\n"
        "        a[i] += a[i - 1];\n#pragma endscop\n}\n"
    )
    assert compile_text(text, tmp_path).offloaded == 1


def test_a_loop_that_one_thread_runs_says_why(tmp_path: Path) -> None:
    """The scalar chains through the inner loop, the outer loop needs it: nothing there is parallel."""
    text = (
        "void f(int n, float x[restrict n], float y[restrict n])\n{\n    float s = 0;\n#pragma scop\n"
        "    for (int i = 0; i < n; i++)\n        s = s * 0.5f + x[i];\n"
        "    for (int i = 0; i < n; i++)\n        y[i] = s + x[i];\n#pragma endscop\n}\n"
    )
    (found,) = (d for d in compile_text(text, tmp_path).diagnostics if d.id == "PG330")
    assert found.position is not None
    assert found.position.line == 5
    assert "s is written, then read by a later iteration" in found.message
    assert found.help == "see `polygpu explain PG330`"


def test_a_sum_in_one_thread_names_the_flag_that_lets_threads_share_it(tmp_path: Path) -> None:
    text = (
        "float a[99][99], b[99][99];\nfloat f(void)\n{\n    float s = 0, t = 0;\n#pragma scop\n"
        "    for (int i = 0; i < 99; i++)\n        for (int j = 0; j < 99; j++) {\n"
        "            a[i][j] = 2 * b[i][j];\n            s += b[i][j];\n        }\n"
        "    for (int i = 0; i < 99; i++)\n        t = 0.5f * t + b[0][i];\n"
        "#pragma endscop\n    return s + t;\n}\n"
    )
    said = compile_text(text, tmp_path).diagnostics
    found = {d.message.split()[8]: d.help for d in said if d.id == "PG330"}
    assert found == {
        "s": "the sum of s over i, j is kept in order: --reassociate lets threads share it",
        "t": "see `polygpu explain PG330`",
    }
