"""The section of `inspect` about the papers' algorithms, where it has something special to say."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from benchmarks.programs import kernel_names, source_of
from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.report.explain import explain
from polygpu.report.layout import plain
from polygpu.report.papers import KernelPapers, papers, papers_lines
from tests.support_kernels import some_by_default

SQUARE = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
MATRICES = "int n, float A[restrict n][n], float B[restrict n][n], float x[restrict n], int t[restrict n]"


def found(directory: Path, body: str, device: str = "gtx285") -> tuple[KernelPapers, ...]:
    path = directory / "p.c"
    path.write_text(f"void f({MATRICES})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    compilation = compile_file(str(path), Options(target="emulator", device=device))
    return papers(compilation, explain(compilation), {"n": 64})


def test_what_is_written_and_better_a_texture_could_be_staged(tmp_path: Path) -> None:
    (kernel,) = found(tmp_path, "for (int i = 0; 2 * i < n; i++) x[2 * i] = t[i];")
    written, read = sorted(kernel.references, key=lambda r: r.text, reverse=True)
    assert (written.between_threads, written.space) == ("true non-unit stride i", "texture, or staged")
    assert (read.between_threads, read.space) == ("true linear i", "global")


def test_of_one_thread_only_the_traffic_is_said(tmp_path: Path) -> None:
    (kernel,) = found(tmp_path, "for (int i = 1; i < n; i++) x[i] += x[i - 1];")
    assert (kernel.references, kernel.mappings, kernel.tile) == ((), (), ())
    assert [(t.array, t.write, t.tile, t.tile_at) for t in kernel.traffic] == [
        ("x", False, "n", 64),
        ("x", True, "n - 1", 63),
    ]


def test_bounds_are_said_to_be_bounds(tmp_path: Path) -> None:
    kernels = found(tmp_path, f"{SQUARE} A[i][j] = x[t[j]] + B[i][j] * B[j][i];")
    (row,) = (text for text in plain(papers_lines(kernels)).splitlines() if text.startswith("    B "))
    assert "at most 2*T_i*T_j" in row
    (random,) = (r for r in kernels[0].references if r.text == "x[t[j]]")
    assert (random.between_threads, random.space) == ("random j, random i", "texture")


def test_names_are_said_where_counts_take_long() -> None:
    """Of waves of tiles isl has no time for what a tile moves; that took the names with it."""
    compilation = compile_file(
        str(source_of("seidel-2d")),
        Options(device="h100", certify="off", decisions=("wave(t: 2, i: 8, j: 16)",)),
    )
    (kernel,) = papers(compilation, explain(compilation), {"n": 64, "steps": 8})
    assert len(kernel.references) == 9 and kernel.mappings
    assert kernel.traffic == ()
    assert "A[i - 1][j - 1]  random" in plain(papers_lines((kernel,)))


def test_threads_that_only_copy_are_no_loop(tmp_path: Path) -> None:
    (kernel,) = found(
        tmp_path, "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] += A[i][j];", "h100"
    )
    assert kernel.tile == (("T_i", 16),)
    assert {r.text: r.between_threads for r in kernel.references} == {
        "x[i]": "true linear i",
        "A[i][j]": "false linear i",
    }


@pytest.mark.parametrize(
    ("kernel", "device"),
    some_by_default(list(product(kernel_names(), ("h100", "generic", "8800gtx"))), one_in=19),
)
def test_all_kernels_are_explained(kernel: str, device: str) -> None:
    options = Options(target="emulator", device=device, certify="off", offload="always")
    compilation = compile_file(str(source_of(kernel)), options)
    found = papers(compilation, explain(compilation), {})  # those that isl has time for
    explained = {k.kernel for k in found}
    assert explained <= {k.name for r in compilation.regions for k in r.region.kernels}
    assert explained


def test_of_nothing_nothing_is_said(tmp_path: Path) -> None:
    assert list(papers_lines(())) == []
