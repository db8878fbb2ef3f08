"""What a function allocates has as many elements as it asked for, where nothing changes that."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli
from polygpu.frontend import lift
from tests.unit.frontend_text import shown

BEFORE = "#include <stdlib.h>\nvoid use(float *, int *);\nvoid f(int n, int m, const int *at, float *y)\n{\n"
LOOP = "for (int i = 0; i < 100; i++) y[i] = x[at[i]];"


def extent(tmp_path: Path, body: str, before: str = BEFORE) -> str:
    """Of `x`, "" where it is not known."""
    path = tmp_path / "in.c"
    path.write_text(f"{before}{body}\n}}\n")
    scop = lift(str(path)).scops[-1]
    (found,) = next(array.extents for array in scop.arrays if array.name == "x")
    sources = {s.name: s.source for s in scop.scalars}
    return "" if found is None else sources.get(shown(found), shown(found))


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("float *x = malloc(n * sizeof(float));", "n"),
        ("float *x = (float *)malloc(sizeof *x * 2 * 8);", "16"),
        ("float *x = NULL; x = malloc(4 * n);", "n"),
        ("float *x; int k; k = n + 1; x = calloc(k, sizeof x[0]);", "k"),
        ("float *x; if (n) x = calloc(sizeof(float), m);", "m"),
        ("float *x; for (int k = 0; k < 9; k++) x = malloc(n * sizeof(float));", "n"),
        ("char *x = malloc((size_t)n);", "n"),
        ("float *x = malloc((n + 1) * sizeof(float));", "(n + 1)"),
        ('int k; scanf("%d", &k); float *x = malloc(k * sizeof(float)); scanf("%d", &m);', "k"),
        ('int k; if (fscanf(stdin, "%d %d", &m, &k) < 2) return; float *x = malloc(4 * k);', "k"),
    ],
)
def test_known(body: str, elements: str, tmp_path: Path) -> None:
    assert extent(tmp_path, f"{body} {LOOP}") == elements


def test_a_product_is_as_wide_as_the_number_of_bytes(tmp_path: Path) -> None:
    found = extent(tmp_path, f"float *x = malloc(sizeof(float) * n * m); {LOOP}")
    assert found.replace("(", "").replace(")", "").lower() in ("1ul * n * m", "unsigned long1 * n * m")


@pytest.mark.parametrize(
    "body",
    [
        "float *x = malloc(n * sizeof(float)); x++;",
        "float *x = malloc(n * sizeof(float)); n++;",
        "float *x = malloc(n * sizeof(float)); use(x, &n);",
        'float *x = malloc(n * sizeof(float)); scanf("%d", &n);',
        'scanf("%d", &n); int *k = &n; float *x = malloc(n * sizeof(float)); *k = 3;',
        'float *x; scanf("%p", &x); x = malloc(n * sizeof(float));',
        'float *x = malloc(n * sizeof(float)); scanf("%p", &x);',
        "float *x = malloc(n * sizeof(float)); use((float *)&x, 0);",
        "float *x = malloc(n * sizeof(float)); if (m) x = y;",
        "float *x = malloc(n * sizeof(int *));",
        "float *x = malloc(n * 3);",
        "float *x = malloc(n / 2 * sizeof(float));",
        "float *x = realloc(y, n * sizeof(float));",
        "static float *x; if (n) x = malloc(n * sizeof(float));",
        "float *x; for (int k = 0; k < 9; k++) { n += 2; x = malloc(n * sizeof(float)); }",
        "float *x; again: x = malloc(n * sizeof(float)); if (n--) goto again;",
        "float *x = y; if (m) x = malloc(n * sizeof(float));",
    ],
)
def test_not_known(body: str, tmp_path: Path) -> None:
    assert extent(tmp_path, f"{body} {LOOP}") == ""


def test_a_malloc_of_the_files_own(tmp_path: Path) -> None:
    own = "static void *malloc(unsigned long n) { static char all[999]; return all + n; }\n"
    body = f"float *x = malloc(n * sizeof(float)); {LOOP}"
    assert extent(tmp_path, body, own + BEFORE.replace("#include <stdlib.h>", "")) == ""


def test_the_whole_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n"
        "int n = 300; float *x = malloc(n * sizeof(float)), *y = malloc(n * sizeof(float));\n"
        "int *at = malloc(n * sizeof(int));\n"
        "for (int i = 0; i < n; i++) { x[i] = i; at[i] = i == 3 ? n - 1 : i * 7 % 11; }\n"
        "for (int i = 0; i < n; i++) y[i] = x[at[i]] + 1;\n"
        'for (int i = 0; i < n; i++) printf("%g ", y[i]);\nreturn 0;\n}\n'
    )
    assert cli.invoke(["run", "--target", "emulator", "--offload", "always", "--check", "in.c"]) == 0


CALLED = """#include <stdlib.h>
%s
%svoid f(int n, const float *x, const int *at, float *y)
{
    %s
}
%s
int main(int argc, char **argv)
{
    int size = argc * 10, least = 4;
    float *data = malloc(size * sizeof(float)), *few = malloc(8 * sizeof(float)), local[6];
    %s
}
"""
CALL = "f(size, data, (int *)argv, few);"


def in_calls(
    tmp_path: Path,
    calls: str = CALL,
    head: str = "",
    before: str = "",
    behind: str = "",
    prefix: str = "",
) -> str:
    (tmp_path / "in.c").write_text(CALLED % (head, prefix, f"{before} {LOOP}", behind, calls))
    (scop,) = (s for s in lift(str(tmp_path / "in.c")).scops if s.function == "f")
    (found,) = next(array.extents for array in scop.arrays if array.name == "x")
    return "" if found is None else shown(found)


@pytest.mark.parametrize(
    ("calls", "elements"),
    [
        (CALL, "n"),
        (f"{CALL} {CALL}", "n"),
        ("f(3, few, 0, data);", "8"),
        ("f(3, few, 0, data); f(size, local, 0, data);", "6"),
        # another size is passed, or none, or another one in each call; the pointer or the size changes
        ("f(least, data, 0, few);", ""),
        ("f(size + 1, data, 0, few);", ""),
        ("f(size, data, 0, few); f(3, few, 0, data);", ""),
        ("f(size, data + 1, 0, few);", ""),
        (f"size++; {CALL}", ""),
        (f"data++; {CALL}", ""),
    ],
)
def test_what_all_calls_pass(calls: str, elements: str, tmp_path: Path) -> None:
    assert in_calls(tmp_path, calls) == elements


def test_calls_of_a_function_that_others_may_call(tmp_path: Path) -> None:
    assert (
        in_calls(tmp_path, prefix="static ", head="void other(void);", behind="void g(void) { other(); }")
        == "n"
    )
    # of other files, through a pointer, and by a function that has no size of it
    assert in_calls(tmp_path, head="void other(void);", behind="void g(void) { other(); }") == ""
    assert in_calls(tmp_path, behind="void *g(void) { return (void *)f; }") == ""
    assert in_calls(tmp_path, behind="void g(float *p) { f(3, p, 0, 0); }") == ""


def test_parameters_that_mean_something_else_in_the_loops(tmp_path: Path) -> None:
    assert in_calls(tmp_path, before="n = 3;") == ""
    hidden = "int k = 3; { int n = k; y[0] = n; " + LOOP + " }"
    (tmp_path / "in.c").write_text(CALLED % ("", "", hidden, "", CALL))
    (scop,) = (s for s in lift(str(tmp_path / "in.c")).scops if s.function == "f")
    assert next(array.extents for array in scop.arrays if array.name == "x") == (None,)


@pytest.mark.parametrize(
    ("before", "exposed"),
    [
        ('scanf("%d", &n);', False),
        ('if (sscanf("9", "%d", &n) < 1) return;', False),
        ('scanf("%d", &n); use(y, &n);', True),
        ('scanf("%d", &n + m);', True),
    ],
)
def test_what_is_read_into_a_variable_is_stored_at_once(before: str, exposed: bool, tmp_path: Path) -> None:
    """No pointer keeps its address, by which stores of the region could change it."""
    path = tmp_path / "in.c"
    path.write_text(f"{BEFORE}{before} for (int i = 0; i < n; i++) y[i] = i;\n}}\n")
    (scop,) = lift(str(path)).scops
    assert {e.name for e in scop.exposed} == ({"n"} if exposed else set())


ALLOCATOR = "#include <stdlib.h>\nvoid *get({parameters})\n{{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("parameters", "body", "known"),
    [
        ("size_t n", "void *p = malloc(n); if (p == NULL) exit(1); return p;", True),
        ("size_t n", "void *p; if (!(p = malloc(n))) abort(); return p;", True),
        ("unsigned long n", "return (char *)malloc(n);", True),
        ("size_t n", "n += 8; return malloc(n);", False),
        ("size_t n", "return malloc(n / 2);", False),
        ("size_t n", "void *p = malloc(n); p = (char *)p + 8; return p;", False),
        ("size_t n", "static char all[99]; return n < 99 ? all : malloc(n);", False),
        ("size_t n", "static void *p; if (!p) p = malloc(n); return p;", False),
        ("size_t n", "static char all[99]; if (n < 99) return all; return malloc(n);", False),
        ("size_t n", "void *p = malloc(n); void **q = &p; *q = malloc(4); return p;", False),
        ("int n", "return malloc(n);", False),  # of fewer bits than the number of bytes
    ],
)
def test_functions_that_allocate(parameters: str, body: str, known: bool, tmp_path: Path) -> None:
    before = ALLOCATOR.format(parameters=parameters, body=body) + BEFORE
    assert extent(tmp_path, f"float *x = get(n * sizeof(float)); {LOOP}", before) == ("n" if known else "")


@pytest.mark.parametrize(
    ("bytes_of_all", "elements"),
    [("n * sizeof(struct p)", "n"), ("sizeof *x * m", "m"), ("n * 12", ""), ("n * sizeof(float)", "")],
)
def test_structures(bytes_of_all: str, elements: str, tmp_path: Path) -> None:
    before = f"struct p {{ float x, y; int k; }};\n{BEFORE}"
    loop = LOOP.replace("x[at[i]]", "x[at[i]].y")
    assert extent(tmp_path, f"struct p *x = malloc({bytes_of_all}); {loop}", before) == elements
