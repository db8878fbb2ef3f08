"""Functions of the program's other files: which are written into regions, and why others are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polygpu import cli
from polygpu.analysis.places import holds, place_of
from polygpu.compilation import Options
from polygpu.frontend import FrontendOptions, lift
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed, Diagnostic

Lifting = Callable[..., tuple[Diagnostic, ...]]

CHAIN = "".join(f"else if (*p > {k}) *p = {k};" for k in range(250))
LOOP = "float v[100]; void loop(void) { for (int i = 0; i < 100; i++) f(&v[i]); }\n"


@pytest.fixture
def said(tmp_path: Path) -> Lifting:
    """What is said of the loop of a file beside others."""

    def lifting(own: str, *others: str) -> tuple[Diagnostic, ...]:
        source = tmp_path / "own.c"
        source.write_text(own)
        paths = [tmp_path / f"other{k}.c" for k in range(len(others))]
        for path, text in zip(paths, others, strict=True):
            path.write_text(text)
        try:
            return lift(str(source), FrontendOptions(others=tuple(map(str, paths)))).diagnostics
        except Diagnosed as problem:
            return problem.diagnostics

    return lifting


def is_region(diagnostics: tuple[Diagnostic, ...]) -> bool:
    return any(d.id == "PG180" for d in diagnostics)


def refusals(diagnostics: tuple[Diagnostic, ...]) -> str:
    return "\n".join(note.message for d in diagnostics for note in d.notes)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        pytest.param("void f(float *);", "void f(float *p) { *p += 1; }", id="plain"),
        pytest.param("void f(float p[2]);", "void f(float *q) { *q += 1; }", id="an array is a pointer"),
        pytest.param(
            "void f(float *);",
            "static float twice(float x) { return 2 * x; }\nvoid f(float *p) { *p = twice(*p); }",
            id="its static helper",
        ),
        pytest.param(
            "void f(float *);",
            "void g(float *p) { *p += 1; }\nvoid f(float *p) { g(p); }",
            id="what it calls",
        ),
        pytest.param(
            "extern float w; void f(float *);", "float w = 2; void f(float *p) { *p += w; }", id="a global"
        ),
        pytest.param(
            "void f(float *);",
            "typedef unsigned word;\nvoid f(float *p) { word k = 3; *p += k; }",
            id="a type",
        ),
        pytest.param(
            "static const float w[2] = {1, 2}; void f(float *);",
            "static const float w[2] = {1, 2}; void f(float *p) { *p += w[1]; }",
            id="a table of both",
        ),
        pytest.param(
            "typedef struct { float a, b; } pair; void f(float *);",
            "typedef struct { float a, b; } pair; void f(float *p) { pair q = {*p, 1}; *p = q.a + q.b; }",
            id="a structure of both",
        ),
        pytest.param(
            "double g(void); static void f(float *p) { *p += g(); }",
            "double g() { return 2; }",
            id="nothing taken",
        ),
        pytest.param(
            "double g(); static void f(float *p) { *p += g(*p); }",
            "double g(double x) { return 2 * x; }",
            id="nothing said of what is taken",
        ),
    ],
)
def test_a_function_of_another_file_is_written_into_a_region(said: Lifting, own: str, other: str) -> None:
    assert is_region(said(f"{own}\n{LOOP}", f"{other}\n"))
    assert not is_region(said(f"{own}\n{LOOP}"))


@pytest.mark.parametrize(
    ("own", "others", "why"),
    [
        pytest.param(
            "void f(float *);",
            ["static int n;\nvoid f(float *p) { *p += n++; }"],
            "it uses 'n', which is not declared here",
            id="a static variable",
        ),
        pytest.param(
            "extern int n; void f(float *);",
            ["static int n;\nvoid f(float *p) { *p += n; }"],
            "'n' means something else in ",
            id="a static variable of a name that is used",
        ),
        pytest.param(
            "static int n = 1; void f(float *);",
            ["int n; void f(float *p) { *p += n; }"],
            "'n' means something else in ",
            id="a variable of the name of a static one",
        ),
        pytest.param(
            "void f(double *);",
            ["void f(float *p) { *p += 1; }"],
            "'f' means something else in ",
            id="another type",
        ),
        pytest.param(
            "void f(float *); static float twice(float x) { return x; }",
            ["static float twice(float x) { return 2 * x; }\nvoid f(float *p) { *p = twice(*p); }"],
            "'twice' of ",
            id="a static helper of a name that is used",
        ),
        pytest.param(
            "void f(float *);",
            ["float v; void f() { v += 1; }"],
            "'f' means something else in ",
            id="nothing taken",
        ),
        pytest.param(
            "typedef struct { float b, a; } pair; void f(float *);",
            ["typedef struct { float a, b; } pair; void f(float *p) { pair q = {*p, 1}; *p = q.a; }"],
            "'pair' means something else in ",
            id="another structure",
        ),
        pytest.param(
            "struct s { int n; }; typedef struct s pair; void f(float *);",
            ["struct s { long n; }; typedef struct s pair; void f(float *p) { pair q; q.n = 1; *p = q.n; }"],
            "'s' means something else in ",
            id="another structure of a type",
        ),
        pytest.param(
            "enum { ONE = 2 }; void f(float *);",
            ["enum { ONE = 1 }; void f(float *p) { *p += ONE; }"],
            "'ONE' means something else in ",
            id="another constant",
        ),
        pytest.param(
            "static const float w = 1; void f(float *);",
            ["static const float w = 2; void f(float *p) { *p += w; }"],
            "'w' means something else in ",
            id="another value",
        ),
        pytest.param(
            "void f(float *);",
            ["void f(float *p) { *p += 1; }", "void f(float *p) { *p += 2; }"],
            "not defined in this file",
            id="two definitions",
        ),
        pytest.param(
            "void f(float *);",
            ["__attribute__((weak)) void f(float *p) { *p += 1; }"],
            "not defined in this file",
            id="one that may be replaced",
        ),
        pytest.param(
            "void f(float *);",
            ["static void f(float *p) { *p += 1; }"],
            "not defined in this file",
            id="a static function",
        ),
        pytest.param(
            "void f(float *);",
            ["void g(float *);\nvoid f(float *p) { g(p); }"],
            "but it calls 'g'",
            id="what it calls is nowhere",
        ),
        pytest.param(
            "void f(float *);",
            [
                f"void f(float *p) {{ if (*p > 0) *p = 0; {CHAIN} }}",
            ],
            "'f' is called in a region",
            id="hundreds of branches",
        ),
    ],
)
def test_it_is_not_where_it_would_mean_something_else(
    said: Lifting, own: str, others: list[str], why: str
) -> None:
    found = said(f"{own}\n{LOOP}", *(f"{other}\n" for other in others))
    assert not is_region(found)
    assert why in refusals(found)


def test_statements_at_the_same_line_of_two_files_have_places_of_their_own(tmp_path: Path) -> None:
    own, other = tmp_path / "own.c", tmp_path / "other.c"
    own.write_text(
        "void f(float *);\nvoid loop(int n, float a[restrict n], float b[restrict n])\n{\n"
        "    for (int i = 0; i < n; i++)\n        f(&a[i]);\n"
        "    for (int i = 1; i < n; i++)\n        b[i] = b[i - 1] + a[i];\n}\n"
    )
    other.write_text("\n\n\n\nvoid f(float *p)\n{\n        p[0] *= 2;\n}\n")
    made = compile_file(str(own), Options(target="emulator", others=(str(other),)))
    (region,) = made.regions
    p = region.polyhedra
    assert {s.position.line for s in p.statements} == {7}
    for s in p.statements:
        place = place_of(p, (s.name,))
        assert [t.name for t in p.statements if holds(place, p, t.name)] == [s.name]


def test_a_diagnostic_is_at_its_place_in_the_other_file(said: Lifting) -> None:
    found = said(
        f"void f(float *);\n{LOOP}", "int k;\n\nvoid f(float *p)\n{\n    static int n;\n    *p += n++;\n}\n"
    )
    (note,) = (n for d in found for n in d.notes if "static" in n.message)
    other = [n.position for d in found for n in d.notes if n.position and "other" in n.position.file]
    assert note.position is not None and note.position.file.endswith("own.c")
    assert [(Path(p.file).name, p.line) for p in other] == [("other0.c", 5)]


def test_sources_of_one_program_are_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.c").write_text("void f(float *p)\n{\n    for (int k = 0; k < 9; k++)\n        p[k] += 1;\n}\n")
    body = "float v[100][9]; int main(void) { for (int i = 0; i < 100; i++) f(v[i]); }\n"
    Path("a.c").write_text(f"void f(float *);\n{body}")
    command = ["compile", "a.c", "f.c", "--target", "emulator", "-MMD", "--diagnostics", "json"]
    assert cli.invoke(command) == 0
    assert "region polygpu_main_0" in capfd.readouterr().err
    assert "f.c" in Path("a.d").read_text()
    Path("b.c").write_text(Path("a.c").read_text())
    cli.invoke([*command, "b.c"])  # two programs: neither has what the other defines
    assert "region polygpu_main_0" not in capfd.readouterr().err
