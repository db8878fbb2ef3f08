"""Where regions are: between pragmas, or the maximal affine nests of a file without pragmas."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.frontend import FrontendOptions, lift
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from tests.unit.emulated import printed
from tests.unit.frontend_text import bodies, errors, lifted


def texts(directory: Path, source: str) -> dict[str, str]:
    """The source text of each region by its name."""
    found = lifted(directory, source)
    return {scop.name: found.text[scop.start : scop.end] for scop in found.scops}


def test_pragmas_are_part_of_the_region(tmp_path: Path) -> None:
    source = """float a[9], b[9];
void f(void)
{
    /* before */
  #pragma scop
    for (int i = 0; i < 9; i++) a[i] = 0; // ; }
    #pragma endscop /* of f */
    for (;;) if (1) {
#pragma scop
        for (int i = 0; i < 9; i++) b[i] = 0;
#pragma endscop
    }
}
void g(void)
{
    _Pragma("scop") b[0] = 1; _Pragma("endscop") b[1] = 2;
}
"""
    assert texts(tmp_path, source) == {
        "polygpu_f_0": "  #pragma scop\n    for (int i = 0; i < 9; i++) a[i] = 0; // ; }\n"
        "    #pragma endscop /* of f */",
        "polygpu_f_1": "#pragma scop\n        for (int i = 0; i < 9; i++) b[i] = 0;\n#pragma endscop",
        "polygpu_g_0": '_Pragma("scop") b[0] = 1; _Pragma("endscop")',
    }


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    file = tmp_path / "in.c"
    loop = "#pragma scop\n  for (int i = 0; i < 9; i++)\n    a[i] = 0;\n#pragma endscop"
    text = f"float a[9];\nvoid f(void)\n{{\n{loop}\n}}\n".replace("\n", "\r\n")
    file.write_bytes(text.encode())
    for cc in (None, ""):
        found = lift(str(file), FrontendOptions(cc=cc))
        assert found.text == text
        (scop,) = found.scops
        assert text[scop.start : scop.end] == loop.replace("\n", "\r\n")


def test_bytes_that_are_no_unicode_survive(tmp_path: Path) -> None:
    file = tmp_path / "in.c"
    data = b"/* \xe9t\xe9 */ float a[9];\nvoid f(void) { for (int i = 0; i < 9; i++) a[i] = 0; }\n"
    file.write_bytes(data)
    found = lift(str(file))
    assert found.text.encode("utf-8", "surrogateescape") == data
    assert found.text[found.scops[0].start :].startswith("for (int i")


def test_maximal_nests(tmp_path: Path) -> None:
    source = """
    float a[9], b[9];
    int next(void);
    void f(int n)
    {
        for (int i = 0; i < 9; i++) a[i] = 0; /* a comment with } and ; */
        // for (
        for (int i = 0; i < 9; i++) {
            const char c = '}';
            b[i] = a[i] + c;
        }
        n = next();
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) if (a[i] > 0) a[i] = 1; else a[j] = b[j];
        while (next()) {
            for (int i = 0; i < 9; i++) a[i] += 1;
            if (n) for (int j = 0; j < 9; j++) b[j] += 1;
        }
    }
    void g(void) { for (int i = 0; i < 9; i++) b[i] = 0; }
    """
    found = texts(tmp_path, source)
    assert list(found) == ["polygpu_f_0", "polygpu_f_1", "polygpu_f_2", "polygpu_f_3", "polygpu_g_0"]
    assert found["polygpu_f_0"].startswith("for (int i = 0; i < 9; i++) a[i] = 0;")
    assert found["polygpu_f_0"].endswith("b[i] = a[i] + c;\n        }")
    assert found["polygpu_f_1"].endswith("else a[j] = b[j];")
    assert found["polygpu_f_2"] == "for (int i = 0; i < 9; i++) a[i] += 1;"
    assert found["polygpu_f_3"] == "for (int j = 0; j < 9; j++) b[j] += 1;"


def test_every_region_and_every_other_loop_is_named(tmp_path: Path) -> None:
    source = """int printf(const char *, ...);
float a[9];
void f(int *k)
{
    for (int i = 0; i < 9; i++)
        a[i] = 0;
    for (int i = 0; i < 9; i++)
        a[k[i]] = 0;
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 9; j++)
            a[j] += 1;
        printf("%f", a[i]);
    }
}
"""
    found = lifted(tmp_path, source)
    said = [(d.id, d.position.line if d.position else 0, [n.id for n in d.notes]) for d in found.diagnostics]
    assert said == [("PG180", 5, []), ("PG181", 7, ["PG102"]), ("PG181", 9, ["PG130"]), ("PG180", 10, [])]
    assert found.diagnostics[0].message == "region polygpu_f_0: lines 5-6"
    assert found.diagnostics[3].message == "region polygpu_f_1: lines 10-11"


def test_loops_that_do_all_in_their_tests_are_named(tmp_path: Path) -> None:
    source = """
void f(int n, char *d, const char *s, const volatile int *flag, float *a)
{
    while ((*d++ = *s++) != 0) ;
    while (!flag[0]) ;
    do ; while (flag[1]);
    for (int i = 0; i < n; i++) a[i] = 0;
}
"""
    refused = [d for d in lifted(tmp_path, source).diagnostics if d.id == "PG181"]
    assert [d.position.line for d in refused if d.position] == [4, 5, 6]


def test_regions_do_not_grow_over_what_cannot_be_lifted(tmp_path: Path) -> None:
    source = """
    void f(int n, float *a, float *x)
    {
        for (int i = 0; i < n; i++) a[i] = 0;
        float y = a[0];
        for (int i = 0; i < n; i++) a[i] = y;
        ;
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = x[j];
    }"""
    found = lifted(tmp_path, source)
    assert [[len(a.extents) for a in scop.arrays if a.name == "a"] for scop in found.scops] == [[1], [2]]
    assert bodies(found.scops[1]) == ["a[0][i] = y;", "a[i_2][j] = x[j];"]


def test_pragmas_of_others_before_a_loop_go_with_it(tmp_path: Path) -> None:
    source = """
    void f(int n, float *a)
    {
        #pragma omp parallel for
        for (int i = 0; i < n; i++) a[i] = 0;
        #pragma GCC ivdep
        for (int i = 0; i < n; i++) a[i] = 1;
    }"""
    (text,) = texts(tmp_path, source).values()
    assert text.startswith("        #pragma omp")
    assert text.endswith("a[i] = 1;")


def test_iterators_that_are_read_after_the_region(tmp_path: Path) -> None:
    """Their last value is stored; one that is no affine form is refused."""
    head = "void f(int n, float *a, int *k) { int i, j = 0; "
    loop = "\n#pragma scop\nfor (i = 0; i < n; i++) a[i] = 0;\n#pragma endscop\n"

    def stored(text: str) -> list[str]:
        (scop,) = lifted(tmp_path, text).scops
        assert {a.name: a.host for a in scop.arrays if a.name != "a"} in ({}, {"i_end": "&i"})
        return bodies(scop)[1:]

    for after in (
        "k[0] = i;",
        "if (n) i = 2; k[0] = i;",
        "do { k[0] = i; } while (j++ < 3);",
        "int *p = &i; k = p;",
    ):
        assert stored(head + loop + after + "}") == ["i_end = max(0, n);"], after
        guarded = loop.replace("i < n", "i < n && n < 9")
        assert [e.id for e in errors(tmp_path, head + guarded + after + "}")] == ["PG106"]
    assert stored(head + f"while (n--) {{ k[0] = i; {loop} }}" + "}") == ["i_end = max(0, n);"]
    for after in ("", "i = 3; k[0] = i;", "for (i = 0; i < 3; i++) k[i] = i;", "{ int i = 2; k[0] = i; }"):
        assert stored(head + loop + after + "}") == []
    assert stored(head + f"while (n--) {{ i = 2; k[0] = i; {loop} }}" + "}") == []


def test_live_out_of_locals(tmp_path: Path) -> None:
    head = "float f(int n, float *a) { float s = 0, t[9]; "
    loop = "\n#pragma scop\nfor (int i = 0; i < n; i++) { s += a[i]; t[i] = s; }\n#pragma endscop\n"

    def live(after: str) -> list[str]:
        (scop,) = lifted(tmp_path, head + loop + after + "}").scops
        return sorted(a.name for a in scop.arrays if a.live_out and a.name != "a")

    assert live("return 0;") == []
    assert live("return s;") == ["s"]
    assert live("s = 1; return s;") == []
    assert live("s += 1; return 0;") == ["s"]
    assert live("t[0] = 1; return t[1];") == ["t"]
    assert live("while (n) { if (n > 3) break; s = 0; } return s;") == ["s"]
    assert live("if (n) goto end; s = 0; end: return s;") == ["s"]
    assert live("if (n) goto end; a[0] = 1; end: s = 1; return s;") == []
    assert live("while (n) { if (n > 3) goto end; s = 0; n--; end: a[n] = s; }") == ["s"]
    assert live("again: s = 1; if (n--) goto again; return s;") == ["s", "t"]


def test_options_reach_the_scop(tmp_path: Path) -> None:
    source = "void f(float *a, float *b) { for (int i = 0; i < N; i++) a[i] = b[i]; }"
    (scop,) = lifted(tmp_path, source, defines=("N=7",), assume_no_alias=True).scops
    assert scop.no_alias
    assert not lifted(tmp_path, source, defines=("N=7",)).scops[0].no_alias


def test_all_errors_of_a_file_are_reported(tmp_path: Path) -> None:
    source = """void f(int n, float *a)
{
#pragma scop
    do a[n] = 0; while (n--);
#pragma endscop
#pragma scop
    goto end;
#pragma endscop
end:;
}
"""
    assert [(e.id, e.position.line if e.position else 0) for e in errors(tmp_path, source)] == [
        ("PG124", 4),
        ("PG120", 7),
    ]


def test_what_is_in_the_way_in_a_function_is_said_of_each_loop_that_calls_it(tmp_path: Path) -> None:
    source = """static int near(const int *g, int i)
{
    long double s = g[i];
    return s;
}
void f(int n, const int *restrict g, int *restrict h, float *restrict x)
{
    for (int t = 0; t < 9; t++) {
        for (int i = 0; i < n; i++)
            h[i] = near(g, i);
        x[t] = 1;
    }
    for (int i = 0; i < n; i++)
        x[i] = 0;
    for (int i = 0; i < n; i++)
        h[i] += near(g, i);
}
"""
    refused = [d for d in lifted(tmp_path, source).diagnostics if d.id == "PG181"]
    assert [d.position.line for d in refused if d.position] == [8, 15]
    assert {d.notes[0].position.line for d in refused if d.notes[0].position} == {3}


def test_a_file_without_loops(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as caught:
        lifted(tmp_path, "int main(void) { return 0; }\n")
    assert [d.id for d in caught.value.diagnostics] == ["PG100"]


def test_regions_of_included_files(tmp_path: Path) -> None:
    (tmp_path / "loops.h").write_text("static void g(float *a) { for (int i = 0; i < 9; i++) a[i] = 1; }\n")
    found = lifted(
        tmp_path, '#include "loops.h"\nvoid f(float *a) { for (int i = 0; i < 9; i++) a[i] = 0; }\n'
    )
    assert [scop.name for scop in found.scops] == ["polygpu_f_0"]
    assert [d.id for d in found.diagnostics] == ["PG182", "PG180"] or [d.id for d in found.diagnostics] == [
        "PG180",
        "PG182",
    ]
    assert found.dependencies == (str(tmp_path / "in.c"), str(tmp_path / "loops.h"))


@pytest.mark.parametrize(
    ("file", "function", "name"),
    [
        ("in.c", "void f(float *x)", "polygpu_f_0"),
        ("in.c", "inline extern void f(float *x)", "polygpu_f_0"),
        ("in.c", "static void f(float *x)", "polygpu_in_f_0"),
        ("in.c", "inline void f(float *x)", "polygpu_in_f_0"),
        ("in.c", "static void f(float *);\nvoid f(float *x)", "polygpu_in_f_0"),
        ("jacobi-2d.v2.c", "static void f(float *x)", "polygpu_jacobi_2d_v2_f_0"),
        ("mv.c", "static void kernel_mv(float *x)", "polygpu_kernel_mv_0"),
        ("m.c", "static void mv(float *x)", "polygpu_m_mv_0"),
    ],
)
@pytest.mark.parametrize("pragmas", [("", ""), ("#pragma scop\n", "\n#pragma endscop\n")])
def test_names_of_regions(
    file: str, function: str, name: str, pragmas: tuple[str, str], tmp_path: Path
) -> None:
    loop = "for (int i = 0; i < 9; i++) x[i] = 0;".join(pragmas)
    (tmp_path / file).write_text(f"{function}\n{{\n{loop}\n}}\n")
    assert [scop.name for scop in lift(str(tmp_path / file)).scops] == [name]


def test_names_of_regions_of_one_file_differ(tmp_path: Path) -> None:
    loop = "{ for (int i = 0; i < 9; i++) x[i] = 0; }"
    found = texts(tmp_path, f"static void f(float *x) {loop}\nvoid in_f(float *x) {loop}\n")
    assert list(found) == ["polygpu_in_f_0", "polygpu_in_f_1"]


def test_static_functions_of_one_name_link(tmp_path: Path) -> None:
    files = []
    for name, other in (("a", "int g(void);"), ("b", "")):
        main = f"{other}\nint main(void) {{ f(); return x[3] + g() - 21; }}" if other else ""
        (tmp_path / f"{name}.c").write_text(
            f"static int x[9];\nstatic void f(void) {{ for (int i = 0; i < 9; i++) x[i] += 3 * i; }}\n"
            f"{main or 'int g(void) { f(); return x[4]; }'}\n"
        )
        for suffix, text in compile_file(
            str(tmp_path / f"{name}.c"), Options(target="emulator")
        ).files.items():
            (tmp_path / f"{name}{suffix}").write_text(text)
            files.append(f"{name}{suffix}")
    subprocess.run(["gcc", "-w", *files, "-o", "program", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "program"], check=True)


LABELLED = """#include <stdio.h>
int main(void)
{
    float x[9] = {0};
    int k = 0;
again: once_more:
#pragma scop
    for (int i = 0; i < 9; i++) x[i] += i;
#pragma endscop
    if (k++ < 3) goto again;
    if (k++ < 8) goto once_more;
    switch (k) {
    case 9:
#pragma scop
        for (int i = 0; i < 9; i++) x[i] *= 3;
#pragma endscop
    default:
    case 3: inner:
#pragma scop
        for (int i = 0; i < 9; i++) x[i] -= 7;
#pragma endscop
        if (x[0] > -30) goto inner;
        break;
    case 1: ;
    }
    printf("%g %g\\n", x[3], x[8]);
}
"""


def test_regions_behind_labels(tmp_path: Path) -> None:
    (tmp_path / "in.c").write_text(LABELLED)
    done = compile_file(str(tmp_path / "in.c"), Options(target="emulator"))
    assert len(done.regions) == 3
    for suffix, text in done.files.items():
        (tmp_path / f"in{suffix}").write_text(text)
    assert printed(tmp_path, "in_host.c", "in_emulator.c") == printed(tmp_path, "in.c")


@pytest.mark.parametrize(
    ("first", "count"),
    [
        ("for (int k = 0; k < n; k++) a[k] = 0;", 2),
        ("for (int k = 0; k < w; k++) a[k] = 0;", 1),  # the first row
        ("for (int k = 1; k <= w - 2; k++) a[k + 1] = 0;", 1),
        ("for (int k = 0; k < w; k++) a[k + 1] = 0;", 2),
        ("for (int k = 0; k < n; k++) b[k] = 0;", 1),
    ],
)
def test_loops_that_see_rows_otherwise_are_regions_of_their_own(
    first: str, count: int, tmp_path: Path
) -> None:
    rows = "for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) a[i * w + j] += 1;"
    found = texts(tmp_path, f"void f(int n, int h, int w, float *a, float *b) {{ {first} {rows} }}")
    assert len(found) == count
