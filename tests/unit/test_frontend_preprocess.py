"""Preprocessing with and without a C compiler, headers, GNU extensions, and the way back to the source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from polygpu.frontend import FrontendOptions, Lifted, lift
from polygpu.frontend.text.clean import clean
from polygpu.frontend.text.preprocess import Preprocessed
from polygpu.frontend.text.source import Source, align
from polygpu.model.scop import Scop
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from tests.unit.frontend_text import bodies, domain, errors, extents, lifted

KERNELS = sorted((Path(__file__).parent.parent.parent / "benchmarks" / "kernels").glob("*.c"))
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(params=[pytest.param(None, marks=NEEDS_COMPILER), ""], ids=["compiler", "pcpp"])
def cc(request: pytest.FixtureRequest) -> str | None:
    """Both ways to preprocess."""
    found: str | None = request.param
    return found


def scop_of(directory: Path, text: str, cc: str | None, **options: object) -> Scop:
    (scop,) = lifted(directory, text, cc=cc, **options).scops
    return scop


def loop(body: str) -> str:
    return f"void f(float *a) {{ for (int i = 0; i < 9; i++) a[i] = {body}; }}\n"


def test_macros(cc: str | None, tmp_path: Path) -> None:
    source = """
#define N 100 /* elements */
#define HALF (N / \\
              2)
#define AT(A, i, j) A[(i) + 0][(j) + 0]
#if defined(N) && N > 50
#define VALUE 1.5f
#else
#define VALUE bad syntax here
#endif
void f(float A[N][N])
{
    for (int i = 0; i < HALF; i++) // half
        AT(A, i, i) = VALUE;
}
"""
    scop = scop_of(tmp_path, source, cc)
    assert bodies(scop) == ["A[i][i] = 1.5f;"]
    assert domain(scop.statements[0]) == ["(i >= 0)", "(i < 50)"]
    assert extents(scop) == {"A": ["100", "100"]}
    (access,) = scop.statements[0].accesses
    assert (access.position.line, access.position.column) == (14, 9)


def test_options(cc: str | None, tmp_path: Path) -> None:
    include = tmp_path / "include"
    include.mkdir()
    (include / "sizes.h").write_text("#define SIZE 12\n")
    (tmp_path / "forced.h").write_text("#define FORCED 3\n")
    (tmp_path / "near.h").write_text("typedef double real;\n")
    source = """
#include <sizes.h>
#include "near.h"
#ifdef GONE
#error "GONE is defined"
#endif
void f(real *a) { for (int i = FORCED; i < SIZE - LESS - ONE; i++) a[i] = 0; }
"""
    scop = scop_of(
        tmp_path,
        source,
        cc,
        include_dirs=(str(include),),
        defines=("LESS=2", "ONE", "GONE"),
        undefines=("GONE",),
        includes=(str(tmp_path / "forced.h"),),
    )
    assert domain(scop.statements[0]) == ["(i >= 3)", "(i < 9)"]
    assert scop.arrays[0].element == "double"


def test_dependencies(cc: str | None, tmp_path: Path) -> None:
    (tmp_path / "only_macros.h").write_text("#define ZERO 0\n")
    (tmp_path / "types.h").write_text('#include "only_macros.h"\ntypedef float real;\n')
    found = lifted(tmp_path, '#include "types.h"\n#include <stdio.h>\n' + loop("(real)ZERO"), cc=cc)
    assert found.dependencies[0] == str(tmp_path / "in.c")
    assert {Path(name).name for name in found.dependencies} == {"in.c", "types.h", "only_macros.h"}
    assert any(name.endswith("stdio.h") for name in found.system_dependencies) == (cc is None)
    assert set(found.sources) == set(found.dependencies)


def test_standard_headers(cc: str | None, tmp_path: Path) -> None:
    headers = (
        "assert complex ctype errno float inttypes limits math setjmp signal stdarg stdbool stddef stdint "
        "stdio stdlib string time"
    )
    source = "".join(f"#include <{name}.h>\n" for name in headers.split())
    source += """
int log_message(FILE *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    assert(file != NULL);
    int last = va_arg(list, int) + (int)offsetof(div_t, quot);
    va_end(list);
    bool ok = vfprintf(file, format, list) != EOF && errno == 0 && isdigit('3');
    printf("%" PRIu64 "\\n", (uint64_t)last);
    return ok ? EXIT_SUCCESS : RAND_MAX;
}
void f(size_t n, int32_t *k, uint8_t *b, double *x)
{
    for (size_t i = 0; i < n; i++) {
        k[i] = INT_MAX - (int32_t)b[i];
        x[i] = isnan(x[i]) ? FLT_MAX : fabs(x[i]);
    }
}
"""
    scop = scop_of(tmp_path, source, cc)
    assert {a.name: a.element for a in scop.arrays} == {"k": "int", "b": "unsigned char", "x": "double"}
    assert [s.type for s in scop.scalars] == ["unsigned long"]
    first, second = bodies(scop)
    assert first in ("k[i] = (2147483647 - (int)b[i]);", "k[i] = (0x7fffffff - (int)b[i]);")
    assert second.startswith("x[i] = (isnan(x[i]) ? ")


def test_extensions_are_hidden(cc: str | None, tmp_path: Path) -> None:
    source = """
typedef int v4 __attribute__((vector_size(16)));
static __inline__ __attribute__((always_inline, const)) float two(void) { return 2; }
extern double cube(double) __asm__("my_cube");
static __thread int counter;
__extension__ typedef unsigned long long wide;
static int table[4] __attribute__((aligned(16)));
int g(void) __attribute__((
    noreturn));
int g(void) { __asm__ __volatile__("" ::: "memory"); __label__ x; return __alignof__(int) + sizeof(v4); }
void f(int n, float *__restrict__ a, const float *__restrict b, __const int *c)
{
    for (int i = 0; i < n; i++) a[i] = b[i] + c[i] + two() + table[i] + (wide)i;
}
"""
    source = source.replace(" __label__ x;", "")
    scop = scop_of(tmp_path, source, cc)
    assert bodies(scop) == ["a[i] = ((((b[i] + c[i]) + two()) + table[i]) + (unsigned long long)i);"]
    assert {a.name for a in scop.arrays if a.restrict} == {"a", "b"}
    access = next(a for a in scop.statements[0].accesses if a.write)
    assert (access.position.line, access.position.column) == (13, 33)


@NEEDS_COMPILER
def test_a_function_that_only_the_compiler_understands(tmp_path: Path) -> None:
    strange = "int g(int n) { int h(int k) { return k + n; } return h(n); }\n"
    found = lifted(tmp_path, strange + loop("0"))
    assert [d.id for d in found.diagnostics] == ["PG007", "PG180"]
    assert [e.id for e in errors(tmp_path, strange.replace("return h(n)", "return h(n") + loop("0"))] == [
        "PG004"
    ]


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "declaration",
    [
        "__auto_type strange = 3;",
        "struct s { int a; } strange = { a: 3 };",
        "int strange(int x) { switch (x) { case 1 ... 5: return 1; } return 0; }",
        "int strange(x, y) int x; float *y; { void *p = &&end; goto *p; end: return x; }",
    ],
)
def test_what_cannot_be_parsed_costs_itself_alone(declaration: str, tmp_path: Path) -> None:
    before, after = "struct t { int a[3]; } t = {{1, 2, 3}};\n", "void g(int n, float *x) { x[n] = 0; }\n"
    found = lifted(tmp_path, f"{before}{declaration}\n{after}{loop('t.a[0]')}")
    assert [d.id for d in found.diagnostics] == ["PG007", "PG180"]


@NEEDS_COMPILER
def test_types_of_system_headers_are_known(tmp_path: Path) -> None:
    source = """#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
extern jmp_buf restart;
static fpos_t place;
div_t divided(struct timeval when, sigjmp_buf saved);
"""
    assert [d.id for d in lifted(tmp_path, source + loop("0")).diagnostics] == ["PG180"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.cpp", "void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 0; }"),
        ("in.c", "#include <vector>\nvoid f(std::vector<float> &x) { }"),
        ("in.c", "template <class T> void f(T *x) { }"),
        ("in.h", "class F : public G { int x; };"),
    ],
)
def test_another_language_is_called_by_its_name(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text.replace("#include <vector>", ""))
    with pytest.raises(Diagnosed) as caught:
        lift(str(tmp_path / name))
    assert [d.id for d in caught.value.diagnostics] == ["PG008"]


@NEEDS_COMPILER
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.stem)
def test_both_preprocessors_give_the_same_scops(kernel: Path) -> None:
    def scops(options: FrontendOptions) -> Lifted:
        return lift(str(kernel), options)

    with_compiler, without = scops(FrontendOptions()), scops(FrontendOptions(cc=""))
    assert with_compiler.scops == without.scops
    assert with_compiler.dependencies == without.dependencies == (str(kernel),)


def test_errors_of_the_preprocessor(cc: str | None, tmp_path: Path) -> None:
    (missing,) = errors_with(tmp_path, '\n#include "nowhere.h"\n', cc)
    assert (missing.id, missing.position.line if missing.position else 0) == ("PG002", 2)
    assert "-I" in missing.help
    (stated,) = errors_with(tmp_path, '#error "no"\n', cc)
    assert stated.id == "PG002"
    assert "no" in stated.message


def errors_with(directory: Path, text: str, cc: str | None) -> list[Diagnostic]:
    with pytest.raises(Diagnosed) as caught:
        lifted(directory, text, cc=cc)
    return [d for d in caught.value.diagnostics if d.severity == "error"]


def test_warnings_of_the_preprocessor(cc: str | None, tmp_path: Path) -> None:
    found = lifted(tmp_path, "#warning old\n" + loop("0"), cc=cc)
    assert [d.id for d in found.diagnostics] == ["PG003", "PG180"]


def test_a_compiler_that_does_not_exist(tmp_path: Path) -> None:
    (error,) = errors_with(tmp_path, loop("0"), "no-such-compiler")
    assert error.id == "PG006"
    (error,) = errors_with(tmp_path, loop("0"), "false")
    assert error.id == "PG006"


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.c", tmp_path):
        with pytest.raises(Diagnosed) as caught:
            lift(str(path))
        assert [d.id for d in caught.value.diagnostics] == ["PG001"]


def test_names_of_files_may_be_odd(cc: str | None, tmp_path: Path) -> None:
    for name in ("with space.c", 'quo"te.c', "back\\slash.c", "-dash.c", "ümlaut.c"):
        file = tmp_path / name
        file.write_text(loop("0"))
        found = lift(str(file), FrontendOptions(cc=cc))
        assert found.scops[0].file == str(file)
        assert found.dependencies == (str(file),)


def test_relative_names(cc: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "h.h").write_text("#define N 9\n")
    (tmp_path / "sub" / "in.c").write_text('#include "h.h"\n' + loop("N"))
    monkeypatch.chdir(tmp_path / "sub")
    for path, header in (("in.c", "h.h"), ("../sub/in.c", "../sub/h.h")):
        found = lift(path, FrontendOptions(cc=cc))
        assert found.dependencies == (path, header)
        assert found.scops[0].position.file == path


def test_pieces_of_one_line_are_joined() -> None:
    """What a system header's macro produced is marked as system text within the user's line."""
    text = (
        '# 1 "in.c"\n# 1 "/usr/include/a.h" 1 3 4\ntypedef unsigned long size_t;\nextern int hidden;\n'
        '# 2 "in.c" 2\nsize_t x =\n# 2 "in.c" 3 4\n   ((void *)0)\n# 2 "in.c"\n   ;\nint y;\n'
    )
    found = clean(Preprocessed(text, (), system=True), "in.c")
    assert found.text == "typedef unsigned long size_t;\nsize_t x = ((void *)0) ;\nint y;\n"
    assert found.places == (("", 0), ("in.c", 2), ("in.c", 3))
    assert found.files == ("in.c",)
    assert found.system_files == ("/usr/include/a.h",)


@pytest.mark.parametrize(
    ("original", "preprocessed", "expected"),
    [
        ("a[i] = b[i];", "a[i] = b[i];", "a i b i"),
        ("x = N * y;", "x = 100 * y;", "x N y"),
        ("AT(i, j) += s;", "A[(i)][(j)] += s;", "AT i j s"),
        ("x = f(N, N) + M;", "x = f((1 + 2), (1 + 2)) + z;", "x f N N N N M"),
    ],
)
def test_what_a_macro_produced_is_at_the_macro(original: str, preprocessed: str, expected: str) -> None:
    tokens = Source("", preprocessed).tokens(1)
    matched = align(tokens, Source("", original).tokens(1))
    found = [where.text for token, where in zip(tokens, matched, strict=True) if token.text.isalnum()]
    assert found == expected.split()


def test_end_of_statements() -> None:
    for text in (
        "for (;;) { a; }",
        "for (;;) for (;;) a = (1, 2);",
        "if (a) b; else { c; }",
        "if (a) if (b) c; else d;",
        "f(\"};\", '}') /* ; */ // ;\n;",
        "x = (struct s){ 1, 2 };",
        "#pragma x ;\n  a;",
        "for (;;) switch (a) { case 1: b; }",
        "for (;;) do a; while (b);",
        "do { a; } while (b);",
        "for (;;) over: for (;;) { a; }",
        "over /* : */ : { a; }",
        "a ? b : c;",
    ):
        assert Source("", text + " rest; }").statement_end(0) == len(text), text
    for text in (
        "for (;;) {",
        "for (;;) case 1: { a; } b;",
        "do a; b;",
        "for (;;) {\n#if A\n}\n#endif\n}",
        "",
        "a",
    ):
        assert Source("", text).statement_end(0) is None, text
