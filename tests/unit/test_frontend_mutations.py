"""Broken C: whatever the front end is given, it answers with scops or diagnostics, and soon."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from polygpu.frontend import FrontendOptions, lift
from polygpu.support.diagnostics import Diagnosed, render
from tests.processor import at_most

KERNELS = Path(__file__).parent.parent.parent / "benchmarks" / "kernels"
MOST_SECONDS = 10.0
_TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d[\w.]*|\s+|\S')

PRODUCT = """#define N 100
void mm(float A[N][N], float B[N][N], float C[N][N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i][j] = 0;
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
#pragma endscop
}
"""
FLAT = """typedef struct { float x, y; } point;
static int min(int a, int b) { return a < b ? a : b; }
void flat(int n, int m, const int *index, point *restrict p, float *a)
{
    int i, j;
    for (i = n - 1; i >= 0; i -= 2)
        for (j = 0; j < min(m, i + 5) && j < 20; j++) {
            float t = a[i * m + j];
            int k = i + j;
            if (t > 0 && i > 1) { float u = t * t; p[k].x += u; } else p[k].y = a[index[i] * m + j];
            a[i * m + j] = (i > 0 ? t : 1.5f) / 2;
        }
}
"""


def sources() -> list[str]:
    return [PRODUCT, FLAT, *(file.read_text() for file in sorted(KERNELS.glob("*.c"))[:6])]


def mutants(count: int, seed: int) -> Iterator[str]:
    """Sources with up to four tokens or characters deleted, doubled, swapped or replaced."""
    choice = random.Random(seed)
    texts = sources()
    for _ in range(count):
        pieces = _TOKEN.findall(choice.choice(texts))
        if choice.random() < 0.3:
            pieces = list("".join(pieces))
        for _ in range(choice.randint(1, 4)):
            mutate(pieces, choice)
        yield "".join(pieces)


def mutate(pieces: list[str], choice: random.Random) -> None:
    at = choice.randrange(len(pieces))
    other = choice.randrange(len(pieces))
    match choice.randrange(4):
        case 0:
            del pieces[at]
        case 1:
            pieces.insert(at, pieces[at])
        case 2:
            pieces[at], pieces[other] = pieces[other], pieces[at]
        case 3:
            pieces[at] = pieces[other]


def check(text: str, file: Path, options: FrontendOptions) -> None:
    """Lifting gives scops, or diagnostics that can be rendered and say what to do."""
    file.write_text(text)
    with at_most(MOST_SECONDS, "to lift it"):
        try:
            lifted = lift(str(file), options)
            assert lifted.scops or any(d.id == "PG100" for d in lifted.diagnostics)
            diagnostics = lifted.diagnostics
        except Diagnosed as problem:
            diagnostics = problem.diagnostics
            errors = [d for d in diagnostics if d.severity == "error"]
            assert errors
            assert all(error.help and error.position for error in errors)
        assert render(diagnostics, {str(file): text}) or not diagnostics


@pytest.mark.parametrize("seed", range(6))
def test_mutated_kernels(seed: int, tmp_path: Path) -> None:
    for text in mutants(10, seed):
        check(text, tmp_path / "mutant.c", FrontendOptions())


@pytest.mark.parametrize("seed", range(4))
def test_mutated_kernels_without_a_compiler(seed: int, tmp_path: Path) -> None:
    for text in mutants(10, 100 + seed):
        check(text, tmp_path / "mutant.c", FrontendOptions(cc=""))


@pytest.mark.slow
@pytest.mark.parametrize("cc", [None, ""], ids=["compiler", "pcpp"])
@pytest.mark.parametrize("seed", range(10))
def test_two_thousand_mutated_kernels(cc: str | None, seed: int, tmp_path: Path) -> None:
    for text in mutants(100, 1000 + seed):
        check(text, tmp_path / "mutant.c", FrontendOptions(cc=cc))


@pytest.mark.parametrize(
    "text", ["", "\n", "\0", "\ufeffint x;", "/*", '"', "#", "#if 1\n", "#include", "}", "("]
)
@pytest.mark.parametrize("cc", [None, ""], ids=["compiler", "pcpp"])
def test_scraps(text: str, cc: str | None, tmp_path: Path) -> None:
    check(text, tmp_path / "scrap.c", FrontendOptions(cc=cc))


@pytest.mark.parametrize("opening", ["(", "{", "a[", "-", "!", "f(", "if (1) "])
@pytest.mark.parametrize("depth", [100, 5000])
def test_deep_nesting(opening: str, depth: int, tmp_path: Path) -> None:
    check(f"void f(int n, float *a) {{ a[0] = {opening * depth}1; }}", tmp_path / "deep.c", FrontendOptions())


def test_long_sum(tmp_path: Path) -> None:
    terms = " + ".join(f"a[i + {k}]" for k in range(3000))
    text = f"void f(int n, float *a, float *b) {{ for (int i = 0; i < n; i++) b[i] = {terms}; }}"
    check(text, tmp_path / "sum.c", FrontendOptions())
