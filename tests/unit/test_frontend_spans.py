"""Which text a region replaces: all of its loops and nothing else, whatever macros make of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.frontend import FrontendOptions, lift
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from tests.unit.emulated import printed
from tests.unit.frontend_text import errors, lifted

MACROS = """#define N 9
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AT(x, i) x[(i) + 1]
#define EACH(i) for (int i = 0; i < N; i++)
#define SPLIT x[8] = 1;
#define COUNTING(k) int k; for (k = 0; k < N; k++)
#define SIMD _Pragma("GCC ivdep")
#define SET(x) (x) = 5;
#define BUMP(x) (x) += 1; count++
#define SEMI ;
#define BEGIN {
#define END }
#define IFPOS(x) if (x > 3)
#define ELSE else
#define NOTHING
#define ID(...) __VA_ARGS__
int count;
"""
LOOP = "for (int i = 0; i < 9; i++)"


def regions(directory: Path, body: str, **options: object) -> list[str]:
    """The texts that regions replace in a function, found without pragmas."""
    file = directory / "in.c"
    file.write_text(f"{MACROS}void f(float *x, float *y)\n{{\n    {body}\n}}\n")
    (directory / "body.inc").write_text("x[i] = 3;\n")
    (directory / "none.inc").write_text("\n")
    try:
        found = lift(str(file), FrontendOptions(**options))  # type: ignore[arg-type]
    except Diagnosed as problem:
        assert [d.id for d in problem.diagnostics if d.severity == "error"] == ["PG100"]
        return []
    return [found.text[scop.start : scop.end] for scop in found.scops]


@pytest.mark.parametrize(
    "nest",
    [
        "for (int i = 0; i < N; i++) AT(x, i) = MAX(y[i], 0);",
        f'{LOOP} {{ x[i] = 3;\n#include "none.inc"\n }}',
        f'{LOOP}\n#include "none.inc"\n x[i] = 0;',
        "for (int i = 0; i < N; i++) { if (i > 3) AT(x, i) = MAX(y[i], 0); else x[i] = 0; }",
        f"{LOOP} SIMD for (int j = 0; j < N; j++) {{ x[9 * i + j] = 1; }}",
        f"{LOOP} EACH(j) x[9 * i + j] = 1;",
        f"{LOOP} IFPOS(i) x[i] = 1; else x[i] = 2;",
        f"{LOOP} IFPOS(i) x[i] = 1; ELSE x[i] = 2;",
        f"{LOOP} BEGIN x[i] = 1; SET(x[i]) }}",
        f"{LOOP} {{ x[i] = 1 SEMI y[i] = 2; }}",
        f"{LOOP} {{ ID(x[i] = 1; y[i] = 2;) }}",
        f"{LOOP} {{ NOTHING x[i] = \\\n 1; /* ; \n }} */ }}",
        "EACH(i) x[i] = 0;",
        "EACH(i) { EACH(j) x[i] = N; }",
        f"{LOOP} {{\n#if 1\n x[i] = 0;\n#elif 2\n x[i] = 1; }}\n#else\n#ifdef Y\n#endif\n#endif\n }}",
    ],
)
@pytest.mark.parametrize("cc", [None, ""])
def test_a_nest_with_macros_is_replaced_as_a_whole(nest: str, cc: str | None, tmp_path: Path) -> None:
    for following in ("x[0] = 77;", "BUMP(x[0]);", "SEMI", "", "SET(x[0])", "NOTHING x[0] = 77;"):
        assert regions(tmp_path, f"y[0] = 3; {nest} {following}", cc=cc) == [nest]


@pytest.mark.parametrize(
    "nest",
    [
        f"{LOOP} BUMP(x[i]);",
        f"{LOOP} x[i] = i SEMI x[0] = 77;",
        f"{LOOP} BEGIN x[i] = i; x[i] *= 2; END x[0] = 77;",
        f"{LOOP} {{ x[i] = i; END x[0] = 77;",
        f"{LOOP} SET(x[i]) x[0] = 77;",
        f'{LOOP}\n#include "body.inc"\n x[0] = 44;',
        f"ID({LOOP} x[i] = i;)",
        f"ID(\n{LOOP}\n x[i] = i;\n) x[0] = 77;",
        "SPLIT EACH(i) x[i] = 0;",
        "if (y[0] > 0) EACH(i) x[i] = 0;",
        "COUNTING(k) x[k] = 0;",
        f"{LOOP} {{\n#undef N\n#define N 3\n x[i] = N; }} x[0] = N;",
        f"#if 1\n{LOOP} {{\n#else\n{LOOP[:-4]} i += 2) {{\n#endif\n x[i] = 0; }}",
    ],
)
@pytest.mark.parametrize("cc", [None, ""])
def test_a_nest_stays_where_its_end_is_hidden(nest: str, cc: str | None, tmp_path: Path) -> None:
    assert regions(tmp_path, nest, cc=cc) == []


def test_parentheses_of_branches_are_not_added_up(tmp_path: Path) -> None:
    body = f"x[0] = (y[0]\n#if 1\n+ 1);\n#elif 2\n+ 2);\n#else\n+ 3);\n#endif\n {LOOP} x[i] = 0;"
    assert regions(tmp_path, body) == [f"{LOOP} x[i] = 0;"]
    assert regions(tmp_path, f"ID(x[0] = (1\n#if 0\n);\n#else\n);\n#endif\n {LOOP} x[i] = 0;)") == []


def test_headers_are_found_and_times_may_differ(tmp_path: Path) -> None:
    (tmp_path / "nests.h").write_text('#include "width.h"\n')
    (tmp_path / "width.h").write_text("#define WIDTH 7\n")
    head = 'const char *when = __TIMESTAMP__ __FILE__;\n#include "nests.h"\n'
    nest = "for (int i = 0; i < WIDTH; i++) x[i] = 0;"
    assert regions(tmp_path, f"x[0] = 3;\n}}\n{head}void g(float *x)\n{{ {nest}") == [nest]


PROGRAM = """#include <stdio.h>
{macros}
int main(void)
{{
    float x[90], y[9] = {{3, -1}};
    for (int i = 0; i < N; i++) SIMD for (int j = 0; j < 4; j++) {{ x[4 * i + j] = j; }}
    x[0] = 77;
    for (int i = 0; i < N; i++) BUMP(x[i]);
    x[1] *= 3;
    for (int i = 0; i < N; i++)
#include "body.inc"
    x[2] *= 3;
    for (int i = 0; i < N; i++) AT(y, i - 1) += i SEMI y[3] = 0;
    for (int i = 0; i < N; i++) BEGIN x[i] += i; x[i] *= 2; END
    for (int i = 0; i < N; i++) IFPOS(i) x[i] = 1; ELSE x[i] += 2;
    ID(for (int i = 0; i < N; i++) x[i] += 5;)
    printf("%d", count);
    while (count--) printf(" %g %g", x[count], y[count]);
    printf("\\n");
}}
"""


def test_the_program_prints_the_same(tmp_path: Path) -> None:
    (tmp_path / "body.inc").write_text("x[i] += 2;\n")
    (tmp_path / "program.c").write_text(PROGRAM.format(macros=MACROS))
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    assert [d.id for d in done.diagnostics].count("PG181") == 6
    for suffix, text in done.files.items():
        (tmp_path / f"program{suffix}").write_text(text)
    assert printed(tmp_path, "program_host.c", "program_emulator.c") == printed(tmp_path, "program.c")


@pytest.mark.parametrize("directive", ["#undef K", "# define K 2", '#include "k.h"'])
def test_regions_hold_no_directive_that_lasts(directive: str, tmp_path: Path) -> None:
    (tmp_path / "k.h").write_text("#undef K\n#define K 3\n")
    head = f"#define K 1\nvoid f(float *x)\n{{\n#pragma scop\n{LOOP} {{\n"
    tail = "\nx[i] = 3;\n}\n#pragma endscop\nx[9] = K;\n}\n"
    (error,) = errors(tmp_path, f"{head}{directive}{tail}")
    assert (error.id, error.position and error.position.line) == ("PG113", 6)
    file = tmp_path / "in.c"
    unmarked = (part.replace("#pragma scop", "").replace("#pragma endscop", "") for part in (head, tail))
    file.write_text(directive.join(unmarked))
    with pytest.raises(Diagnosed) as caught:
        lift(str(file))
    assert "PG113" in {note.id for d in caught.value.diagnostics for note in d.notes}
    for harmless in (
        f"/*\n{directive}\n*/",
        f"#if 0\n{directive}\n#endif",
        f"{directive}\n#undef K\n#define K 1",
    ):
        file.write_text(f"{head}{harmless}{tail}")
        assert len(lift(str(file)).scops) == 1


def test_included_statements_are_of_the_loop(tmp_path: Path) -> None:
    (tmp_path / "step.inc").write_text("x[i] += 2;\n")
    program = """#include <stdio.h>
int main(void)
{
    float x[9] = {5};
    for (int i = 0; i < 9; i++) {
#ifdef SLOW
#define STEP 1
#include "slow.inc"
#else
#include "step.inc"
#endif
    }
    printf("%g %g %d\\n", x[0], x[8], __LINE__);
}
"""
    (tmp_path / "program.c").write_text(program)
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    assert [d.id for d in done.diagnostics if d.severity != "note"] == []
    for suffix, text in done.files.items():
        (tmp_path / f"program{suffix}").write_text(text)
    assert printed(tmp_path, "program_host.c", "program_emulator.c") == ("7 2 13\n", "")


BRANCHES = """
void f(int n, float *x, float *y)
{
    if (n > 3)
#pragma scop
        for (int i = 0; i < n; i++) x[i] = y[i];
#pragma endscop
    else if (n > 2)
#pragma scop
        for (int i = 0; i < n; i++) x[i] = 2 * y[i];
#pragma endscop
    else
        y[0] = 1;
}
"""


@pytest.mark.parametrize(
    "source", [BRANCHES, BRANCHES.replace("#pragma scop\n", "").replace("#pragma endscop\n", "")]
)
def test_a_region_may_be_the_branch_of_an_if(source: str, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(source)
    done = compile_file(str(tmp_path / "in.c"), Options(target="emulator"))
    (tmp_path / "host.c").write_text(done.files["_host.c"])
    assert len(done.regions) == 2
    subprocess.run(["gcc", "-fsyntax-only", "-Wall", "-Werror", "host.c"], cwd=tmp_path, check=True)


def test_numbers_hide_their_letters(tmp_path: Path) -> None:
    """A macro in the loop, so that it is preprocessed again with marks: none may come to stand in `0.f`."""
    loop = "for (int i = 0; i < 9; i++) AT(i) = 2;"
    text = (
        f"#define AT(i) a[i]\nvoid f(float *a)\n{{\nfloat s[2] = {{0.f, 1e-3f}};\n{loop}\na[0] = s[1];\n}}\n"
    )
    (scop,) = lifted(tmp_path, text).scops
    assert text[scop.start : scop.end].strip() == loop


# As programs have OpenMP that are also compiled without: in macros.
THREADS = """#ifdef _OPENMP
#define OMP(x) _Pragma(#x)
#else
#define OMP(x)
#endif
#define SHARED OMP(omp parallel for)
#define SUM(x) OMP(omp parallel for reduction(+ : x))
#define TEAM OMP(omp parallel)
#define PARTS OMP(omp for)
#define NOTHING
"""
ON = ("_OPENMP=201511",)
STEP = "for (int i = 0; i < 9; i++) x[i] += 1;"
TWICE = f"for (int j = 0; j < 9; j += 8) {{ {STEP} }}"


@pytest.mark.parametrize(
    ("body", "off", "on"),
    [
        (f"x[0] = 3;\n    SHARED\n    {STEP}", [f"SHARED\n    {STEP}"], [f"SHARED\n    {STEP}"]),
        (f"SUM( x[0] ) /* of one */ {STEP}", [f"SUM( x[0] ) /* of one */ {STEP}"], None),
        (f"NOTHING {STEP}", [STEP], [STEP]),
        (f"TEAM\n    {{\n    PARTS\n    {STEP}\n    }}", [], [f"PARTS\n    {STEP}"]),
        (f"if (x[0]) {STEP}", [STEP], [STEP]),
        (f"// {{ 1 }}\n    SHARED // 2;\n    {STEP}", [f"SHARED // 2;\n    {STEP}"], None),
        (f"TEAM\n    x[0] = 3;\n    SHARED\n    {TWICE}", [], [f"SHARED\n    {TWICE}"]),
    ],
)
def test_macros_that_are_pragmas_with_openmp_go_with_their_loop(
    body: str, off: list[str], on: list[str] | None, tmp_path: Path
) -> None:
    """The same regions are right whether or not the host file is compiled with OpenMP."""
    file = tmp_path / "in.c"
    file.write_text(f"{THREADS}void f(float *x)\n{{\n    {body}\n}}\n")
    for defines, expected in (((), off), (ON, off if on is None else on)):
        try:
            found = lift(str(file), FrontendOptions(defines=defines))
        except Diagnosed as problem:
            assert expected == []
            assert "PG113" in {note.id for d in problem.diagnostics for note in d.notes}
            continue
        assert [found.text[scop.start : scop.end] for scop in found.scops] == expected
        host = compile_file(str(file), Options(target="emulator", offload="always", defines=defines)).files
        (tmp_path / "host.c").write_text(host["_host.c"])
        command = ["gcc", "-fsyntax-only", "-w", "-Werror=unknown-pragmas", "host.c"]
        for flags in ([], ["-fopenmp"]):
            subprocess.run([*command, *flags], cwd=tmp_path, check=True)


def test_loops_within_a_macro_that_may_make_threads_say_so(tmp_path: Path) -> None:
    printing = f'for (int j = 0; j < 9; j++) {{ printf("%d", j); {STEP} }}'
    text = f"#include <stdio.h>\n{THREADS}void f(float *x)\n{{\n    SHARED\n    {printing}\n}}\n"
    with pytest.raises(Diagnosed) as problem:
        lifted(tmp_path, text)
    found = [note.id for d in problem.value.diagnostics for note in d.notes]
    assert found == ["PG130", "PG113"]
