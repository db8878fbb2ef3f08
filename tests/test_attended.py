"""Sums in order by one thread, for which the others of its block copy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.model.kernel import Statement
from polygpu.pipeline import compile_file
from polygpu.runtime.build import Recipe, build_original, build_program
from polygpu.verify.certificate import certify
from tests.unit import kernel_mutants

PROGRAM = """
static void chain(int n, const float a[restrict n], float x[restrict n], float s[restrict 2])
{
#pragma scop
    for (int i = 1; i < n; i++)
        s[0] = s[0] * a[n - i] - x[i] * 0.5f;
    s[1] = x[0] - s[0];
    x[0] = s[1];
#pragma endscop
}
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *a = malloc((n + 1) * sizeof *a), *x = malloc((n + 1) * sizeof *x), s[2] = {1};
    for (int i = 0; i <= n; i++) {
        a[i] = (i * 7919 % 201 - 100) / 100.3f;
        x[i] = (i * 104729 % 301 - 150) / 7.1f;
    }
    chain(n, a, x, s);
    printf("%.9g %.9g %.9g\\n", s[0], s[1], x[0]);
    return 0;
}
"""


def compiled(folder: Path, *decisions: str, device: str = "h100", source: str = PROGRAM) -> Compilation:
    (folder / "chain.c").write_text(source)
    options = Options(target="emulator", device=device, decisions=decisions, level=1)
    return compile_file(str(folder / "chain.c"), options)


def blocks(made: Compilation) -> list[tuple[int, int, int]]:
    return [kernel.block for r in made.regions for kernel in r.region.kernels]


def test_one_thread_is_attended_where_others_help(tmp_path: Path) -> None:
    assert blocks(compiled(tmp_path)) == [(256, 1, 1)]
    assert blocks(compiled(tmp_path, "attend(1)")) == [(1, 1, 1)]
    assert blocks(compiled(tmp_path, device="8800gtx")) == [(1, 1, 1)]
    made = compiled(tmp_path, "attend(32)", device="8800gtx")
    assert blocks(made) == [(32, 1, 1)]
    assert [t.by for t in made.regions[0].taken[0] if t.decision.key == "attend"] == ["person"]
    assert "PG330" in {d.id for d in made.diagnostics}  # it is one thread all the same


@pytest.mark.slow
@pytest.mark.parametrize("device", ["h100", "8800gtx"])
def test_the_sum_is_that_of_the_source(tmp_path: Path, device: str) -> None:
    made = compiled(tmp_path, "attend(32)", device=device)
    run_as_the_source(made, tmp_path, 0, 1, 2, 31, 32, 33, 65, 100)


def run_as_the_source(made: Compilation, tmp_path: Path, *sizes: int) -> None:
    files = {suffix: tmp_path / f"chain{suffix}" for suffix in made.files}
    for suffix, path in files.items():
        path.write_text(made.files[suffix])
    recipe = Recipe("emulator", ("gcc",), extra=("-w", "-O0", "-ffp-contract=off", "-DPOLYGPU_CHECK=1"))
    build_program(files, tmp_path / "found", recipe)
    build_original(tmp_path / "chain.c", tmp_path / "right", recipe)
    for n in sizes:
        right, found = (
            subprocess.run([tmp_path / name, str(n)], check=True, capture_output=True).stdout
            for name in ("right", "found")
        )
        assert found == right, n


def test_it_is_proved(tmp_path: Path) -> None:
    (r,) = compiled(tmp_path, "attend(32)").regions
    certificate = certify(r)
    assert certificate.holds
    assert not certificate.unproved


ELSEWHERE = """
static void chain(int n, float a[restrict 2 * n + 100], float s[restrict 2])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        s[0] = s[0] * 0.5f + a[2 * i + 1];
        a[2 * i + DISTANCE] = s[0];
    }
#pragma endscop
}
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *a = malloc((2 * n + 100) * sizeof *a), s[2] = {1}, sum = 0;
    for (int i = 0; i < 2 * n + 100; i++)
        a[i] = (i * 7919 % 201 - 100) / 100.3f;
    chain(n, a, s);
    for (int i = 0; i < 2 * n + 100; i++)
        sum = sum * 0.9f + a[i];
    printf("%.9g %.9g\\n", s[0], sum);
    return 0;
}
"""


@pytest.mark.parametrize("buffering", ["prefetch", "ring"])
@pytest.mark.parametrize(("distance", "ahead"), [(0, True), (64, False), (98, False)])
def test_nothing_is_copied_while_the_thread_stores_there(
    distance: int, ahead: bool, buffering: str, tmp_path: Path
) -> None:
    """Tiles of odd elements are even ones, too: those which the thread stores, a tile or two further."""
    source = ELSEWHERE.replace("DISTANCE", str(distance))
    device = {"prefetch": "generic", "ring": "h100"}[buffering]
    made = compiled(tmp_path, "attend(32)", device=device, source=source)
    loops = [tiles for r in made.regions for g in r.grids for tiles in g.loops]
    assert [tiles.buffering for tiles in loops] == [buffering if ahead else "none"]
    run_as_the_source(made, tmp_path, 0, 1, 32, 33, 64, 65, 100)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "harmless"),
    [
        (kernel_mutants.without_barrier, [0, 2]),  # which part copies that nothing reads from stores
        (kernel_mutants.later_wait, [1]),  # for copies that nothing reads any more
        (kernel_mutants.without_guard, [0, 1, 2]),  # of a load, and of loops that have no iterations then
        (kernel_mutants.later_loop, []),
        (kernel_mutants.shorter_loop, []),
    ],
)
def test_mistakes_are_found(
    tmp_path: Path, mistake: Callable[[Statement], tuple[Statement, ...] | None], harmless: list[int]
) -> None:
    (r,) = compiled(tmp_path, "attend(32)").regions
    wrong = list(kernel_mutants.kernel_variants(r.region, mistake))
    assert [k for k, region in enumerate(wrong) if certify(r.with_kernels(region)).holds] == harmless
