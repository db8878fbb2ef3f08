"""Sums and the like whose terms threads share: from C to kernels that are proved, and run like the original.

Floating-point terms here are small integers, whose sums are the same in any order.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Region
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.pipeline import compile_file
from polygpu.runtime.build import Recipe, build_original, build_program
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import VALUES, Certificate
from tests.support_kernels import ARCHITECTURES, compile_cuda, require_nvcc, require_opencl

SMALL = "share(i: 64) threads(i: 32)"
SUM = """
static int sum(int n, const int *restrict a)
{
    int t = 3;
#pragma scop
    for (int i = 0; i < n; i++)
        t += a[i];
#pragma endscop
    return t;
}
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    int *a = malloc(n * sizeof *a + 1);
    for (int i = 0; i < n; i++)
        a[i] = i * 7919 % 201 - 100;
    printf("%.0f\\n", (double)sum(n, a));
    return 0;
}
"""
FLOATS = SUM.replace("int t", "float t").replace("int *", "float *").replace("int sum", "float sum")
OF_INTEGERS = {
    "a product": "t *= a[i] | 1;",
    "bits": "t ^= a[i] << (i & 7);",
    "and": "t = t && a[i] > -99;",
    "or": "t = a[i] > 99 || t;",
    "a conditional count": "if (a[i] > 3 && a[i] < 50) t++;",
    "the least": "t = t < a[i] ? t : a[i];",
    "a difference": "t = t - a[i] - i;",
}
OF_FLOATS = {
    "a product": "t *= a[i] < 0 ? -1 : 1;",
    "a count": "t += a[i] > 3;",
    "a conditional sum": "if (a[i] > 3) t += a[i];",
    "the largest": "if (a[i] > t) t = a[i];",
    "the least": "if (a[i] * 2 <= t) t = a[i] * 2;",
}
ROWS = """
static void rows(int n, const float a[restrict 5][n], float s[restrict 5], float d[restrict 5])
{
#pragma scop
    for (int i = 0; i < 5; i++) {
        s[i] = 2;
        d[i] = 7;
        for (int j = 0; j < n; j++) {
            s[i] += a[i][j];
            if (a[i][j] < d[i])
                d[i] = a[i][j];
        }
    }
#pragma endscop
}
"""


def compiled(text: str, directory: Path, *decisions: str, **options: object) -> Compilation:
    (directory / "sums.c").write_text(text)
    given = {"target": "emulator", "reassociate": True, "decisions": decisions, "level": 1, **options}
    return compile_file(str(directory / "sums.c"), Options(**given))  # type: ignore[arg-type]


def one(made: Compilation) -> CompiledRegion:
    (region,) = made.regions
    return region


def blocks(made: Compilation) -> list[tuple[int, int, int]]:
    return [k.block for r in made.regions for k in r.region.kernels]


def files(made: Compilation, directory: Path) -> dict[str, Path]:
    for suffix, text in made.files.items():
        (directory / f"sums{suffix}").write_text(text)
    return {suffix: directory / f"sums{suffix}" for suffix in made.files}


def assert_same(made: Compilation, directory: Path, *sizes: int) -> None:
    """The program prints what the original prints; the emulator checks all accesses."""
    target = made.options.target
    checks = ("-DPOLYGPU_CHECK=1",) if target == "emulator" else ()
    recipe = Recipe(target, ("gcc",), extra=("-w", "-O0", "-ffp-contract=off", *checks))
    build_program(files(made, directory), directory / "found", recipe)
    build_original(directory / "sums.c", directory / "right", replace(recipe, extra=("-w",)))
    for n in sizes:
        right, found = (
            subprocess.run([directory / name, str(n)], check=True, capture_output=True).stdout
            for name in ("right", "found")
        )
        assert found == right, n


def test_integers_are_shared_and_floats_when_asked(tmp_path: Path) -> None:
    two = [(256, 1, 1), (256, 1, 1)]
    assert blocks(compiled(SUM, tmp_path, reassociate=False)) == two
    assert blocks(compiled(FLOATS, tmp_path, reassociate=False)) == [(1, 1, 1)]
    assert blocks(compiled(FLOATS, tmp_path)) == two


@pytest.mark.parametrize("pragma", ["polygpu reassociate(t)", "omp parallel for reduction(+: t)"])
def test_pragmas_allow_another_order(pragma: str, tmp_path: Path) -> None:
    text = FLOATS.replace("#pragma scop", f"#pragma {pragma}").replace("#pragma endscop", "")
    made = compiled(text, tmp_path, reassociate=False, defines=("main=other",))
    region = next(r for r in made.regions if r.scop.function == "sum")
    assert len(region.region.kernels) == 2
    assert region.reordered == {"float"}


@pytest.mark.parametrize(
    "loop", ["int i = low; i <= n; i++", "int i = 0; i < n - low; i++", "int i = low + 1; i < n; i++"]
)
def test_loops_may_start_at_a_parameter(loop: str, tmp_path: Path) -> None:
    text = f"int f(int low, int n, const int *a)\n{{\nint t = 3;\nfor ({loop}) t += a[i];\nreturn t;\n}}\n"
    assert len(blocks(compiled(text, tmp_path))) == 2


def test_what_another_order_would_gain_is_said(tmp_path: Path) -> None:
    text = FLOATS.replace("#pragma scop", "").replace("#pragma endscop", "")
    (said,) = (d for d in compiled(text, tmp_path, reassociate=False).diagnostics if d.id == "PG309")
    assert said.help == "the sum of t over i is kept in order: --reassociate lets threads share it"


def test_a_sum_of_chunks_is_proved_and_runs(tmp_path: Path) -> None:
    made = compiled(FLOATS, tmp_path, SMALL)
    certificate = certify(one(made))
    assert certificate.holds
    assert certificate.reassociated == {"t": "+"}
    assert_same(made, tmp_path, 0, 1, 63, 64, 65, 1000)


UPDATES = [("int", name) for name in OF_INTEGERS] + [("float", name) for name in OF_FLOATS]


@pytest.mark.slow
@pytest.mark.parametrize(("ctype", "name"), UPDATES)
def test_updates(ctype: str, name: str, tmp_path: Path) -> None:
    text, update = (SUM, OF_INTEGERS[name]) if ctype == "int" else (FLOATS, OF_FLOATS[name])
    made = compiled(text.replace("t += a[i];", update), tmp_path)
    assert blocks(made) == [(256, 1, 1), (256, 1, 1)]
    assert certify(one(made)).holds
    assert_same(made, tmp_path, 0, 1, 2047, 2049, 10000)


def test_updates_of_one_element_are_one(tmp_path: Path) -> None:
    text = FLOATS.replace("t += a[i];", "{ t += a[i]; b[i] = a[i] * 2; t += b[i]; }")
    text = text.replace("restrict a)", "restrict a, float *restrict b)").replace("(n, a)", "(n, a, a)")
    assert [len(k.shared) for k in one(compiled(text, tmp_path)).region.kernels] == [0, 1, 1]


def test_rows_that_are_few_are_shared(tmp_path: Path) -> None:
    """In one thread each they would leave most of a chip idle; what is before the sums is a kernel."""
    made = compiled(ROWS, tmp_path)
    assert [len(k.shared) for k in one(made).region.kernels] == [0, 2, 2]
    assert blocks(compiled(ROWS, tmp_path, "share()")) == [(64, 1, 1)]


@pytest.mark.parametrize("update", ["t = a[i] - t;", "{ t += a[i]; a[i] = t; }", "t += a[i] * (t > 5);"])
def test_no_terms_in_any_order(update: str, tmp_path: Path) -> None:
    text = (
        FLOATS.replace("t += a[i];", update)
        .replace("const ", "")
        .replace("float t = 3", "float t = 3, v = 1")
    )
    assert blocks(compiled(text, tmp_path)) == [(1, 1, 1)]


def test_decisions_are_followed_and_replayed(tmp_path: Path) -> None:
    made = compiled(SUM, tmp_path, SMALL)
    assert blocks(made) == [(32, 1, 1), (256, 1, 1)]
    taken = [str(t.decision) for kernel in one(made).taken for t in kernel]
    assert taken[:2] == ["7: share(i: 64)", "7: threads(i: 32)"]
    assert compiled(SUM, tmp_path, *taken).files == made.files
    with pytest.raises(Diagnosed, match="is for no nest"):
        compiled(SUM.replace("t += a[i]", "t = a[i] - t"), tmp_path, "6: share(i)")
    with pytest.raises(Diagnosed, match="halves"):
        compiled(SUM, tmp_path, "share(i: 64) threads(i: 48)")


DEEP = SUM.replace(
    "for (int i = 0; i < n; i++)\n        t += a[i];",
    """for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            for (int k = j; k < 4; k += 2)
                for (int l = 0; l < LENGTH; l++)
                    t += a[i] * (j + k) + l;""",
)


@pytest.mark.parametrize(("length", "block"), [("n", (256, 1, 1)), ("3", (4, 4, 4))])
def test_of_four_loops_the_three_innermost_have_threads(
    length: str, block: tuple[int, int, int], tmp_path: Path
) -> None:
    made = compiled(DEEP.replace("LENGTH", length), tmp_path)
    assert blocks(made)[0] == block
    assert "threads(i: 1," in str(one(made).taken[0][1].decision)
    assert certify(one(made)).holds
    assert_same(made, tmp_path, 0, 3, 40)


def test_threads_that_a_block_does_not_have_are_refused(tmp_path: Path) -> None:
    text = DEEP.replace("LENGTH", "3")
    with pytest.raises(Diagnosed, match="three dimensions of threads"):
        compiled(text, tmp_path, "threads(i: 4)")
    with pytest.raises(Diagnosed, match="a block of 2048 threads"):
        compiled(SUM, tmp_path, "share(i: 64) threads(i: 2048)")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cuda_compiles_without_warnings(architecture: str, tmp_path: Path) -> None:
    require_nvcc()
    text = FLOATS.replace("t += a[i];", "t = a[i] > t ? a[i] : t;")
    compile_cuda(files(compiled(text, tmp_path, target="cuda"), tmp_path)["_cuda.cu"], architecture)


@pytest.mark.slow
def test_opencl_prints_the_same(tmp_path: Path) -> None:
    require_opencl()
    assert_same(compiled(FLOATS, tmp_path, SMALL, target="opencl"), tmp_path, 0, 1, 65, 5000)


PART = "t_part"


def is_kept(s: object) -> bool:
    """Whether a statement stores a chunk's partial result."""
    return isinstance(s, Assign) and isinstance(s.target, Reference) and s.target.array == PART


def other_chunk(e: Expr) -> Expr | None:
    if isinstance(e, Reference) and e.array == PART:
        return replace(e, subscripts=(Binary("+", e.subscripts[0], Int(1)),))
    return None


def rewritten(region: Region, kernel: int, store: bool, new: object) -> Region:
    """The region with another store of partial results, or another place where they are read."""

    def changed(s: object) -> object:
        if store and is_kept(s):
            return new
        if not store and isinstance(s, Assign) and s.origin is None:
            return replace(s, value=rewrite(s.value, other_chunk))
        return s

    body = map_statements(region.kernels[kernel].body, changed)  # type: ignore[arg-type]
    assert body != region.kernels[kernel].body
    kernels = list(region.kernels)
    kernels[kernel] = replace(kernels[kernel], body=body)
    return replace(region, kernels=tuple(kernels))


def stored(place: Expr) -> Assign:
    return Assign(Reference(PART, (place,), "float"), Reference(f"{PART}_r_parts", (Int(0),), "float"))


CHUNK = Name("i_chunk")
MUTANTS: dict[str, Callable[[Region], Region]] = {
    "another chunk's place": lambda r: rewritten(r, 0, True, stored(Binary("+", CHUNK, Int(1)))),
    "one place for all": lambda r: rewritten(r, 0, True, stored(Int(0))),
    "no chunk is stored": lambda r: rewritten(
        r, 0, True, Assign(Reference(f"{PART}_r_parts", (Int(0),), "float"), Name(f"{PART}_r", "float"))
    ),
    "another chunk is read": lambda r: rewritten(r, 1, False, None),
    "the launches the other way round": lambda r: replace(r, body=r.body[::-1]),
    "no chunks": lambda r: replace(r, body=r.body[1:]),
    "nothing combined": lambda r: replace(r, body=r.body[:1]),
    "combined twice": lambda r: replace(r, body=(*r.body, r.body[1])),
    "the chunks twice": lambda r: replace(r, body=(r.body[0], *r.body)),
    "too few threads": lambda r: replace(r, kernels=(replace(r.kernels[0], block=(16, 1, 1)), r.kernels[1])),
}


@pytest.fixture(scope="module")
def floats(tmp_path_factory: pytest.TempPathFactory) -> CompiledRegion:
    return one(compiled(FLOATS, tmp_path_factory.mktemp("floats"), SMALL))


SLOW = ("another chunk is read", "combined twice", "another chunk's place")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in MUTANTS]
)
def test_wrong_sums_of_chunks_are_not_proved(name: str, floats: CompiledRegion) -> None:
    mutant = MUTANTS[name](floats.region)
    certificate: Certificate = certify(replace(floats, region=mutant))
    assert VALUES in {f.property for f in certificate.failures} | {u.property for u in certificate.unproved}
