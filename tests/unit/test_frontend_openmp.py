"""Loops with pragmas before and around them: which regions replace them, and which stay where threads run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.frontend import lift
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.verify.certificate import certify
from tests.unit.emulated import built, printed

LOOP = "for (int i = 0; i < 9; i++) x[i] += 1;"


def found(directory: Path, body: str) -> tuple[list[str], list[Diagnostic]]:
    """The texts of the regions of a file without pragmas of ours, and what is said about other loops."""
    file = directory / "in.c"
    file.write_text(f"int next(void);\n{body}\n")
    try:
        lifted = lift(str(file))
    except Diagnosed as problem:
        return [], [d for d in problem.diagnostics if d.id == "PG181"]
    texts = [lifted.text[scop.start : scop.end].strip() for scop in lifted.scops]
    return texts, [d for d in lifted.diagnostics if d.id == "PG181"]


@pytest.mark.parametrize(
    "pragmas",
    [
        "#pragma omp parallel for\n",
        "#pragma omp parallel for simd schedule(static)\n",
        "# pragma  omp simd\n",
        "#pragma GCC ivdep\n",
        "#pragma omp parallel for\n#pragma GCC unroll 4\n",
        '_Pragma("omp parallel for") ',
        '_Pragma("omp simd")\n_Pragma("GCC ivdep") ',
    ],
)
def test_pragmas_of_a_loop_go_with_it(pragmas: str, tmp_path: Path) -> None:
    texts, said = found(tmp_path, f"void f(float *x)\n{{\nx[0] = 3; x[1] = 4;\n{pragmas}{LOOP} x[0] = 2;\n}}")
    assert (texts, said) == ([f"{pragmas}{LOOP}"], [])


@pytest.mark.parametrize("pragma", ["omp atomic", "acc atomic", "omp critical", "omp ordered", "mine"])
def test_pragmas_behind_a_test_of_data_have_no_effect(pragma: str, tmp_path: Path) -> None:
    loop = f"for (int i = 0; i < 9; i++) {{ if (x[i] > 3)\n#pragma {pragma}\nx[0] += x[i]; }}"
    texts, said = found(tmp_path, f"void f(int *x)\n{{\n{loop}\n}}")
    assert (texts, said) == ([loop], [])


@pytest.mark.parametrize(
    "pragma", ["STDC FP_CONTRACT OFF", "GCC diagnostic push", 'message "omp"', "omp barrier", "mine"]
)
def test_other_pragmas_stay(pragma: str, tmp_path: Path) -> None:
    body = f"{LOOP}\n#pragma {pragma}\n{LOOP}\n#pragma {pragma}\n#pragma GCC ivdep\n{LOOP}"
    texts, said = found(tmp_path, f"void f(float *x)\n{{\n{body}\n}}")
    assert (texts, said) == ([LOOP, LOOP, f"#pragma GCC ivdep\n{LOOP}"], [])


@pytest.mark.parametrize(
    "block",
    [
        f"#pragma omp master\n{LOOP}",
        f"#pragma omp single nowait\n{LOOP}",
        f"#pragma omp for\n{LOOP}",
        f"#pragma omp task\n#pragma GCC ivdep\n{LOOP}",
        f"#pragma omp parallel\n{LOOP}",
        f"#pragma omp target\n#pragma omp task\n{LOOP}",
        f"#pragma omp parallel\n#pragma omp critical\n{LOOP}",
        f"#pragma omp parallel\n{{ while (next()) {{\n#pragma omp parallel for\n{LOOP}\n}} }}",
        f"#pragma omp sections\n{{\n#pragma omp section\n{LOOP}\n#pragma omp section\n{{ {LOOP} }}\n}}",
        f"#pragma omp parallel for\nfor (int k = 0; k < 9; k++) {{ next(); {LOOP} }}",
        f"if (next())\n#pragma omp single\n{LOOP}",
        f"switch (next()) {{ case 1:\n#pragma omp single\n{LOOP} }}",
    ],
)
def test_loops_in_constructs_stay(block: str, tmp_path: Path) -> None:
    body = f"{LOOP}\n{block}\nnext();\n{LOOP}"
    texts, said = found(tmp_path, f"void f(float *x)\n{{\n{body}\n}}")
    assert texts == [LOOP, LOOP]
    assert {note.id for d in said for note in d.notes} - {"PG124", "PG130"} == {"PG116"}
    inner = block.count("for (int")
    assert len([d for d in said if "loop" in d.message]) == inner


EACH = "for (int i = 0; i < 9; i++) x[i] = x[i] * n;"


@pytest.mark.parametrize(
    "construct",
    [
        f"#pragma omp parallel\n{{\n#pragma omp for\n{EACH}\n}}",
        f"#pragma omp parallel num_threads(3) if(n > 3)\n#pragma omp for nowait\n{EACH}",
        f'_Pragma("omp parallel") {{ _Pragma("omp for") {EACH} }}',
        f"#pragma omp parallel\n{{\n#pragma omp single\nx[3] = 1;\n#pragma omp for\n{EACH}\n"
        f"#pragma omp barrier\n#pragma omp master\n{{ x[4] = x[5]; }}\n#pragma omp for simd\n{EACH}\n}}",
        f"#pragma omp parallel private(t)\n{{\nint k = 0;\nt = n; k = k + 1;\n"
        f"for (int j = 0; j < 4; j++)\n{{\n#pragma omp for\n{EACH}\n}} }}",
        f"#pragma omp target teams distribute parallel for map(tofrom: x[0:9])\n{EACH}",
        f"#pragma omp target map(x[0:9])\n{{\n#pragma omp teams distribute parallel for\n{EACH}\n}}",
        f"#pragma acc kernels\n{{\n{EACH}\n{EACH} }}",
        f"#pragma acc parallel copy(x[0:9])\n{{\n#pragma acc loop gang vector\n{EACH}\n}}",
    ],
)
def test_a_construct_to_which_one_thread_comes_is_a_region(construct: str, tmp_path: Path) -> None:
    body = f"void f(float *x, int n, float t)\n{{\nnext();\n{construct}\nnext();\n}}"
    assert found(tmp_path, body) == ([construct], [])


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (f"for (k = 0; k < 3; k++) {{\n{EACH}\n}}", "every thread of the team runs"),
        (f"#pragma omp critical\n{EACH}", "every thread of the team runs"),
        (f"#pragma omp sections\n{{ {EACH} }}", "every thread of the team runs"),
        (f"#pragma omp parallel for\n{EACH}", "every thread of the team runs"),
    ],
)
def test_a_construct_that_counts_threads_stays(block: str, what: str, tmp_path: Path) -> None:
    body = f"int k;\nvoid f(float *x, int n)\n{{\n#pragma omp parallel\n{{\n{block}\n}}\n}}"
    texts, said = found(tmp_path, body)
    assert texts == []
    assert what in next(d for d in said if "construct" in d.message).notes[0].message


FOR = "#pragma omp for private(j)"
VARYING = "each thread has a 'me' of its own"


@pytest.mark.parametrize(
    "block",
    [
        f"x[0] += 1;\n{FOR}\n{EACH}",
        f"for (k = 0; k < 3; k++) {{\n{FOR}\n{EACH}\n}}",
        f"#pragma omp critical\nx[0] += 1;\n{FOR} nowait\n{EACH}",
        f"int me = next();\nif (me) me++;\n{FOR}\n{EACH}",
        f"int me;\nnext();\n{FOR}\nfor (int i = 0; i < 9; i++) {{ me = i; x[i] = me; }}",
        f"float *p = x, *q = x + n;\nint k = 0;\ndo {{\n{FOR}\n"
        "for (int i = 0; i < 9; i++) p[i] = q[i];\nfloat *t = p; p = q; q = t;\n} while (++k < n);\nnext();",
        f"if (n > 3)\n{FOR}\n{EACH}\nelse next();",
        f"float *t = x;\n{FOR}\nfor (int i = 0; i < 9; i++) {{ float t = i; x[i] = t; }}\nnext();\nt[0] = 1;",
    ],
)
def test_loops_that_a_team_shares_are_regions_of_their_own(block: str, tmp_path: Path) -> None:
    body = f"int k;\nvoid f(float *x, int n)\n{{\nint j;\n#pragma omp parallel\n{{\n{block}\n}}\n}}"
    texts, said = found(tmp_path, body)
    assert [text.splitlines()[0].removesuffix(" nowait") for text in texts] == [FOR]
    assert said == []
    file = tmp_path / "in.c"
    host = compile_file(str(file), Options(target="emulator", offload="always")).files["_host.c"]
    assert host.count("#pragma omp barrier\n#pragma omp single copyprivate(polygpu_left)\n    {\n") == 1
    assert host.count("polygpu_left = !polygpu_f_0(") == 1


@pytest.mark.parametrize(
    "block",
    [
        f"int me = next();\n{FOR}\nfor (int i = 0; i < 9; i++) x[i] = me;",
        f"int me = 0;\nif (next()) me = 1;\n{FOR}\nfor (int i = 0; i < 9; i++) x[i] = me;",
        f"int me = 0;\n#pragma omp single\nme = next();\n{FOR}\nfor (int i = 0; i < 9; i++) x[i] = me;",
        f"int me = 0;\n{FOR}\nfor (int i = 0; i < 9; i++) me += x[i];\nx[me] += 1;",
        f"int me = 0;\nscan(&me);\n{FOR}\nfor (int i = 0; i < 9; i++) x[i] = me;",
        f"int me = 0;\nwhile (1) {{ if (next()) break; me++; }}\n{FOR}\n"
        "for (int i = 0; i < 9; i++) x[i] = me;",
        f"float me[9];\nnext();\n{FOR}\nfor (int i = 0; i < 9; i++) me[i] = x[i];",
        f"{FOR} ordered\nfor (int i = 0; i < 9; i++) x[i] = n;\nnext();",
    ],
)
def test_loops_that_threads_would_do_in_another_way_stay(block: str, tmp_path: Path) -> None:
    body = (
        f"void scan(int *);\nvoid f(float *x, int n)\n{{\nint j;\n#pragma omp parallel\n{{\n{block}\n}}\n}}"
    )
    texts, said = found(tmp_path, body)
    assert texts == []
    why = "threads of OpenMP may run" if "ordered" in block else VARYING
    assert any(why in note.message for d in said for note in d.notes)


@pytest.mark.parametrize("clause", ["firstprivate(t)", "reduction(+: t)", "default(private)"])
def test_private_variables_of_a_team_are_its_threads_own(clause: str, tmp_path: Path) -> None:
    block = f"#pragma omp parallel {clause}\n{{ next();\n{FOR}\nfor (int i = 0; i < 9; i++) x[i] = t;\n}}"
    texts, _ = found(tmp_path, f"void f(float *x, float t)\n{{\nint j;\n{block}\n}}")
    assert len(texts) == (clause == "firstprivate(t)")


def test_teams_within_teams_stay(tmp_path: Path) -> None:
    block = f"#pragma omp parallel\n{{ next();\n{FOR}\n{EACH}\n}}"
    body = f"void f(float *x, int n)\n{{\nint j;\n#pragma omp parallel\n{{ next();\n{block}\n}}\n}}"
    assert found(tmp_path, body)[0] == []


@pytest.mark.parametrize(("clause", "count"), [("private(t)", 0), ("lastprivate(t)", 1), ("shared(x)", 1)])
def test_what_is_private_has_another_value_after_the_construct(
    clause: str, count: int, tmp_path: Path
) -> None:
    loop = f"#pragma omp parallel for {clause}\nfor (int i = 0; i < 9; i++) {{ t = x[i]; x[i] = t * t; }}"
    assert len(found(tmp_path, f"float f(float *x, float t)\n{{\n{loop}\nreturn t; }}")[0]) == count
    assert len(found(tmp_path, f"float f(float *x, float t)\n{{\n{loop}\nt = 3; return t; }}")[0]) == 1
    assert len(found(tmp_path, f"void f(float *x, float t)\n{{\n{loop}\n{loop}\n}}")[0]) == 1


@pytest.mark.parametrize(
    ("pragma", "independent", "reassociates"),
    [
        ("omp parallel for", [True, False], []),
        ("omp parallel for collapse(2) schedule(static, 4)", [True, True], []),
        ("omp parallel for reduction(+: s, t) private(k)", [True, False], ["s", "t"]),
        ("omp simd reduction(max: s)", [False, False], ["s"]),
        ("omp target teams distribute parallel for simd", [True, False], []),
        ("omp parallel for ordered", [False, False], []),
        ("acc parallel loop gang collapse(2)", [True, True], []),
        ("acc kernels loop", [False, False], []),
        ("acc kernels loop independent", [True, False], []),
        ("acc parallel loop seq", [False, False], []),
        ("GCC ivdep", [False, False], []),
    ],
)
def test_promises_are_recorded(
    pragma: str, independent: list[bool], reassociates: list[str], tmp_path: Path
) -> None:
    nest = "for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) x[i][j] = j;"
    (tmp_path / "in.c").write_text(f"void f(float (*x)[9]) {{\n#pragma {pragma}\n{nest}\n}}\n")
    (scop,) = lift(str(tmp_path / "in.c")).scops
    assert [loop.independent for loop in scop.loops] == independent
    assert sorted(scop.loops[0].reassociates) == reassociates


@pytest.mark.parametrize(
    "function",
    [
        "int t[8];\n#pragma omp parallel for private(t)\n%s",
        "#pragma omp parallel for reduction(+: x[:8])\n%s",
        "#pragma omp parallel reduction(+: x)\n{\n#pragma omp for\n%s\n}",
    ],
)
def test_nothing_is_promised_of_what_each_thread_has_a_copy_of(function: str, tmp_path: Path) -> None:
    array = "t" if " t[8]" in function else "x"
    body = function % f"for (int i = 0; i < 9; i++) {array}[to[i]] = i;"
    source = (
        f"int x[8], z[8];\n#pragma omp threadprivate(z)\nvoid f(const int *restrict to)\n{{\n{body}\n}}\n"
    )
    for text in (source, source.replace("x[to[i]]", "z[to[i]]")):
        (tmp_path / "in.c").write_text(text)
        with pytest.raises(Diagnosed) as caught:
            lift(str(tmp_path / "in.c"))
        assert "PG102" in {note.id for d in caught.value.diagnostics for note in d.notes}


def test_of_arrays_that_an_iteration_has_by_itself_only_that_loop_is_independent(tmp_path: Path) -> None:
    body = "int t[8]; for (int i = 0; i < 9; i++) t[to[i]] = i; x[k] = t[3];"
    nest = f"#pragma omp parallel for\nfor (int k = 0; k < 9; k++) {{ {body} }}"
    (tmp_path / "in.c").write_text(f"int x[9];\nvoid f(const int *restrict to)\n{{\n{nest}\n}}\n")
    (scop,) = lift(str(tmp_path / "in.c")).scops
    assert [(loop.iterator, loop.independent) for loop in scop.loops] == [("k", True), ("i", False)]


@pytest.mark.parametrize("place", ["atomic", "critical(name)", "atomic update"])
def test_where_threads_take_turns_nothing_is_promised(place: str, tmp_path: Path) -> None:
    nest = f"for (int i = 0; i < 9; i++) {{\n#pragma omp {place}\nx[0] += i;\n}}"
    (tmp_path / "in.c").write_text(f"void f(float *x) {{\n#pragma omp parallel for\n{nest}\n}}\n")
    (scop,) = lift(str(tmp_path / "in.c")).scops
    assert not scop.loops[0].independent


def test_loops_of_functions_that_constructs_call_stay(tmp_path: Path) -> None:
    texts, said = found(
        tmp_path,
        f"""
        void inner(float *x) {{ {LOOP} }}
        void outer(float *x) {{ inner(x); }}
        void other(float *x) {{ {LOOP} outer(x); }}
        void f(float *x) {{
        #pragma omp parallel
            {{ x[0] = 0; outer(x + 9); }}
            other(x);
        }}""",
    )
    assert texts == [LOOP]
    assert [d.position.line for d in said if d.position] == [3]


def test_a_pragma_that_the_flags_hide_stays(tmp_path: Path) -> None:
    before = "#ifdef THREADS\nnext();\n#pragma omp parallel for\n#endif\n"
    assert found(tmp_path, f"void f(float *x)\n{{\n{before}{LOOP}\n}}") == ([LOOP], [])


@pytest.mark.parametrize(
    "nest",
    [
        f"#ifdef _OPENMP\n#pragma omp parallel for\n#endif\n{LOOP}",
        f"#ifdef _OPENMP\n  #pragma omp simd\n\n#else\n#endif\n{LOOP}",
        f"#ifndef _OPENMP\n#pragma omp parallel for\n#endif\n{LOOP}",
        f"#ifdef A\n#ifdef _OPENMP\n#pragma omp parallel for\n#endif\n#endif\n#ifdef B\n#endif\n{LOOP}",
    ],
)
def test_directives_around_a_pragma_go_with_its_loop(nest: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"void f(float *x)\n{{\nnext();\n{nest}\nnext();\n}}") == ([nest], [])


@pytest.mark.parametrize(
    "body",
    [
        f"#ifdef _OPENMP\nif (x[0] > 0)\n#pragma omp parallel for\n#else\n#endif\n{LOOP}",
        f"#define A\n#ifdef A\nnext();\n#pragma omp parallel for\n#else\n#pragma omp simd\n#endif\n{LOOP}",
    ],
)
def test_a_pragma_that_cannot_go_with_its_loop_keeps_it(body: str, tmp_path: Path) -> None:
    texts, said = found(tmp_path, f"void f(float *x)\n{{\n{body}\n}}")
    assert (texts, [d.notes[0].id for d in said]) == ([], ["PG113"])


@pytest.mark.parametrize(
    ("before", "pragma"),
    [
        ("#ifdef _OPENMP\nnext();\n%s\n#endif\n", "#pragma omp parallel for"),
        ("#ifndef A\nnext();\n%s\n#endif\n", "#pragma omp parallel for"),
        ("#ifndef A\nnext();\n%s\n#endif\n/* comment\n*/ // more\n\n", "#pragma omp simd \\\n  simdlen(4)"),
        ("#ifndef A\n#ifndef B\nnext();\n%s\n#endif\n#endif\n", "#pragma acc parallel loop // why"),
    ],
)
def test_a_pragma_after_statements_of_a_condition_is_left_out_alone(
    before: str, pragma: str, tmp_path: Path
) -> None:
    text = f"int next(void);\nvoid f(float *x)\n{{\n{before.replace('%s', pragma)}{LOOP}\n}}\n"
    file = tmp_path / "in.c"
    file.write_text(text)
    (scop,) = lift(str(file)).scops
    assert text[scop.start : scop.end] == LOOP
    assert [text[start:end] for start, end in scop.pragmas] == [pragma]
    host = compile_file(str(file), Options(target="emulator", certify="off")).files["_host.c"]
    assert pragma not in host
    assert "next();" in host and host.count("#endif") == before.count("#endif")


@pytest.mark.parametrize(
    ("between", "regions"),
    [
        ("#ifdef _OPENMP\nnext(); // hidden\n#endif", 2),
        ("#if defined(_OPENMP) && defined(A)\n#else\n;\n#endif", 2),
        ("#ifdef _OPENMP\n/* no\ncode */ // here\n# pragma omp \\\n  simd\n#endif", 1),
        ("#ifdef A\nnext();\n#endif", 1),
    ],
)
def test_statements_for_openmp_stay_between_loops(between: str, regions: int, tmp_path: Path) -> None:
    texts, said = found(tmp_path, f"void f(float *x)\n{{\n{LOOP}\n{between}\n{LOOP}\n}}")
    assert (len(texts), said) == (regions, [])
    assert all("next" not in text for text in texts) or "_OPENMP" not in between


REGION = f"#pragma scop\n{LOOP}\n#pragma endscop\n"


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (f"#pragma omp parallel\n{{\n#pragma omp single\n{{\n{REGION}}}\n}}", None),
        (
            f"#pragma omp parallel\n{{\n#pragma omp critical(name)\n{{\nif (x[0] > 0) {{\n{REGION}}}\n}}\n}}",
            None,
        ),
        (f"#pragma omp barrier\n{REGION}", None),
        (f"#pragma omp simd\nfor (int k = 0; k < 9; k++) {{\n{REGION}}}", None),
        (f"#pragma omp parallel\n{{\n{REGION}}}", 6),
        (f"#pragma omp parallel\n{REGION}", 5),
        (f"#pragma omp parallel for\nfor (int k = 0; k < 9; k++) {{\nx[k] = 0;\n{REGION}}}", 7),
        (f"#pragma omp single\n{{\n#pragma omp taskloop\nfor (int k = 0; k < 9; k++)\n{{\n{REGION}}}\n}}", 9),
    ],
)
def test_marked_regions_are_run_by_one_thread(block: str, line: int | None, tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(f"int n;\nvoid f(float *x)\n{{\n{block}\n}}\n")
    if line is None:
        assert len(lift(str(tmp_path / "in.c")).scops) == 1
        return
    with pytest.raises(Diagnosed) as caught:
        lift(str(tmp_path / "in.c"))
    (error,) = caught.value.diagnostics
    assert (error.id, error.position and error.position.line) == ("PG116", line)


PROGRAM = f"""#include <stdio.h>
static float x[9], sum;
static void add(void) {{ {LOOP} }}
int main(void)
{{
    {LOOP}
#pragma omp parallel num_threads(3)
    {{
#pragma omp master
        {LOOP}
#pragma omp barrier
#pragma omp for
        {LOOP}
#pragma omp critical
        add();
    }}
    #pragma omp parallel for
    for (int i = 0; i < 9; i++)
        x[i] *= i;
    float t;
    int j;
    if (x[2] > 0)
#pragma omp parallel private(t, j) num_threads(3)
    {{
        t = 2;
#pragma omp single
        x[3] += 1;
        for (j = 0; j < 2; j++) {{
#pragma omp for schedule(static, 1) nowait
            for (int i = 0; i < 9; i++) {{
                x[i] *= t;
                x[i] += j;
            }}
#pragma omp barrier
        }}
#pragma omp for reduction(+: sum)
        for (int i = 0; i < 9; i++) sum += x[i];
    }}
    else
#pragma omp parallel for collapse(2) lastprivate(t)
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {{ t = i + j; x[3 * i + j] += t; }}
    printf("%g ", sum);
    for (int i = 0; i < 9; i++) printf("%g ", x[i]);
}}
"""


def test_a_program_with_threads_prints_the_same(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    for suffix, text in compile_file(str(tmp_path / "program.c"), Options(target="emulator")).files.items():
        (tmp_path / f"program{suffix}").write_text(text)
    found = printed(tmp_path, "program_host.c", "program_emulator.c", flags=("-fopenmp",))
    assert found == printed(tmp_path, "program.c", flags=("-fopenmp",))


PROMISED = """#include <stdio.h>
int x[300], to[300];
int main(void)
{
    for (int i = 0; i < 300; i++) to[i] = %s;
#pragma omp parallel for
    for (int i = 0; i < 300; i++) x[to[i]] = i;
    printf("%%d", x[7]);
}
"""


@pytest.mark.parametrize(("place", "status"), [("(7 * i) % 300", 0), ("i / 2", 3)])
def test_the_checking_emulator_finds_a_promise_that_is_broken(
    place: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "p.c").write_text(PROMISED % place)
    done = compile_file(str(tmp_path / "p.c"), Options(target="emulator"))
    assert certify(done.regions[0]).holds
    for suffix, text in done.files.items():
        (tmp_path / f"p{suffix}").write_text(text)
    built(tmp_path, "p_host.c", "p_emulator.c", program="p", flags=("-DPOLYGPU_CHECK=1",))
    ran = subprocess.run([tmp_path / "p"], capture_output=True, text=True, check=False)
    assert (ran.returncode, "race" in ran.stderr) == (status, status != 0)
