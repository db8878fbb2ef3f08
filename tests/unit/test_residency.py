"""What the host file says so that arrays stay on the device between calls of regions."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from polygpu.frontend import FrontendOptions, lift

FUNCTIONS = """\
void unknown(float *p);
void step(int n, const float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
}
float sum(int n, const float *a) {
  float s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
float grid[8][8];
static int order[8];
"""

SWAP = "float *s = a; a = b; b = s;"


def said(tmp_path: Path, body: str, before: str = "") -> str:
    """`main` with this body as the host file has it, without its regions being replaced; on one line."""
    path = tmp_path / "program.c"
    path.write_text(
        f"{FUNCTIONS}{before}int main(void) {{\n  int n = 8;\n  float *a, *b, *c, x = 0;\n{body}\n}}\n"
    )
    lifted = lift(str(path), FrontendOptions(cc=""))
    text = lifted.text
    for offset, insertion in reversed(lifted.kept(lifted.scops).inserted):
        text = text[:offset] + insertion + text[offset:]
    return re.sub(r"\s+", " ", text[text.index("float x = 0;" if "float x = 0;" in text else "x = 0;") :])


def test_a_time_loop_that_swaps_pointers_keeps_arrays(tmp_path: Path) -> None:
    text = said(tmp_path, f"for (int t = 0; t < 9; t++) {{ step(n, a, b); {SWAP} }}")
    assert text.startswith(f"x = 0; polygpu_keep(); for (int t = 0; t < 9; t++) {{ step(n, a, b); {SWAP} }}")
    assert "polygpu_host" not in text
    assert text.endswith('polygpu_release("the loop at line 15 ends"); } ')


def test_a_tree_that_is_too_deep_to_copy_is_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deep(_: object) -> bytes:
        raise RecursionError

    body = f"for (int t = 0; t < 9; t++) {{ step(n, a, b); x += a[3]; {SWAP} }}"
    expected = said(tmp_path, body)
    assert "polygpu_keep" in expected
    monkeypatch.setattr(pickle, "dumps", deep)
    assert said(tmp_path, body) == expected


def test_without_a_loop_nothing_is_kept(tmp_path: Path) -> None:
    assert "polygpu" not in said(tmp_path, "step(n, a, b); step(n, b, a);")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('printf("%g", a[t]);', 'polygpu_host_reads(0, 0, "printf at line 15 reads a");'),
        ("x += a[3];", 'polygpu_host_reads(0, 0, "line 15 reads a");'),
        ("b[t] = 1;", 'polygpu_host_writes(0, 0, "line 15 writes b");'),
        ("*b += 1;", 'polygpu_host_writes(0, 0, "line 15 writes *b");'),
        ("x = grid[t][2];", 'polygpu_host_reads(&grid, sizeof grid, "line 15 reads grid");'),
        ("grid[t][2] = x;", 'polygpu_host_writes(&grid, sizeof grid, "line 15 writes grid");'),
        ("while (a[t] > 1) t++;", 'polygpu_host_reads(0, 0, "line 15 reads a");'),
        ("if (a[t] > 1) x = 2;", 'polygpu_host_reads(0, 0, "line 15 reads a");'),
        ("free(c);", '{ const int polygpu_scopes = polygpu_pause("free at line 15");'),
        ("unknown(a);", '= polygpu_keeps_unknown ? -1 : polygpu_pause("unknown at line 15");'),
        ("int k = system(0);", ' = polygpu_pause("system at line 15");'),
        ("if (t == 3) return 1;", '{ polygpu_release("return at line 15"); return 1; }'),
    ],
)
def test_what_the_host_does_between_is_said_before(tmp_path: Path, statement: str, expected: str) -> None:
    text = said(tmp_path, f"for (int t = 0; t < 9; t++) {{ step(n, a, b); {SWAP} {statement} }}")
    assert expected in text
    assert text.index("step(n, a, b);") < text.index(expected) < text.index('polygpu_release("the loop')


def test_what_a_loop_tests_is_said_before_each_test(tmp_path: Path) -> None:
    reads = 'polygpu_host_reads(0, 0, "line 15 reads a");'
    text = said(tmp_path, "for (int t = 0; a[t] < 9; t++) step(n, a, b);")
    assert f"{reads} for (int t = 0; a[t] < 9; t++) {{ step(n, a, b); {reads} }} polygpu_release" in text
    text = said(tmp_path, "do { step(n, a, b); } while (a[0] < 9);")
    assert f"polygpu_keep(); do {{ step(n, a, b); {reads} }} while" in text


@pytest.mark.parametrize(
    "statement",
    [
        "x = sqrtf(x) + n;",
        "c = malloc(n); order[t] = n;",
        'printf("%d %g %s\\n", t, x, "text");',
        "int k = order[2]; k++;",
        "float few[4] = {0}; few[t % 4] = x; x += few[1];",
        "if (t == 3) break;",
        "x += sum(n, a);",
        "switch (t) { case 1: x = 2; break; default: x = 3; }",
    ],
)
def test_what_touches_no_array_of_regions_is_left_alone(tmp_path: Path, statement: str) -> None:
    text = said(tmp_path, f"for (int t = 0; t < 9; t++) {{ step(n, a, b); {SWAP} {statement} }}")
    assert "polygpu_keep();" in text
    assert "polygpu_host" not in text
    assert "polygpu_pause" not in text


@pytest.mark.parametrize(
    "loop",
    [
        "for (int t = 0; a[t] < 9; t++) { if (t == 2) continue; step(n, a, b); }",
        "again: step(n, a, b); if (x > 3) goto again; for (int t = 0; t < 9; t++) step(n, a, b);",
        "for (int t = 0; t < 9; t++) switch (t) { case 1: step(n, a, b); }",
        "for (int t = 0; t < 9; t++) b[t] = sum(n, a) + sum(n, b);",
        "volatile int done = 0; while (!done) step(n, a, b);",
        "for (int t = 0; t < 9; t++) { step(n, a, b);\n#pragma omp parallel\n { step(n, a, b); } }",
    ],
)
def test_what_cannot_be_looked_after_is_as_it_was(tmp_path: Path, loop: str) -> None:
    assert "polygpu" not in said(tmp_path, loop)


def test_functions_of_the_file_are_looked_after(tmp_path: Path) -> None:
    both = "float both(int n, float *a, float *b) { step(n, a, b); b[0] = 1; step(n, b, a); return a[1]; }\n"
    path = tmp_path / "program.c"
    path.write_text(f"{FUNCTIONS}{both}void f(int n, float *a, float *b) {{ while (both(n, a, b) > 1) ; }}\n")
    lifted = lift(str(path), FrontendOptions(cc=""))
    texts = [text.strip() for _, text in lifted.kept(lifted.scops).inserted]
    assert texts == [
        'polygpu_host_writes(b, sizeof *b, "line 12 writes b");',
        'polygpu_host_reads(a + 1, sizeof *a, "line 12 reads a");',
        "polygpu_keep();",
        'polygpu_release("the loop at line 13 ends");',
    ]
    assert lifted.kept(lifted.scops).regions == {"polygpu_step_0"}


def test_arrays_of_blocks_are_forgotten_where_they_end(tmp_path: Path) -> None:
    body = "float few[8]; step(n, a, few); if (t) continue; step(n, few, a); a = b;"
    text = said(tmp_path, f"for (int t = 0; t < 9; t++) {{ {body} }}")
    forget = "polygpu_forget(&few, sizeof few);"
    assert f"if (t) {{ {forget} continue; }} step(n, few, a); a = b; {forget} }} polygpu_release" in text


def test_braces_stand_around_single_statements(tmp_path: Path) -> None:
    text = said(
        tmp_path,
        "for (int t = 0; t < 9; t++) { step(n, a, b); a = b; if (t) if (n) return 2; else x = a[1]; }",
    )
    assert '{ if (n) { polygpu_release("return at line 15"); return 2; }' in text
    assert 'else { polygpu_host_reads(0, 0, "line 15 reads a"); x = a[1]; } } }' in text


def test_macros_are_statements_where_they_stand(tmp_path: Path) -> None:
    swap = "#define SWAP(p, q) do { float *r = p; p = q; q = r; } while (0)\n#define STEPS 4\n"
    text = said(tmp_path, "for (int t = 0; t < STEPS; t++) { step(n, a, b); SWAP(a, b); b[0] = 1; }", swap)
    assert 'SWAP(a, b); polygpu_host_writes(0, 0, "line 17 writes b"); b[0] = 1; }' in text


def test_a_loop_of_a_macro_is_left_alone(tmp_path: Path) -> None:
    loops = "#define EACH for (int t = 0; t < 4; t++) {\n"
    assert "polygpu_keep" not in said(tmp_path, "if (n) EACH step(n, a, b); }", loops)


def test_pragmas_stay_before_their_loops(tmp_path: Path) -> None:
    host = '#pragma omp parallel for\n for (int k = 0; k < n; k++) printf("%g", a[k]);'
    text = said(tmp_path, f"for (int t = 0; t < 9; t++) {{ step(n, a, b); a = b;\n{host} }}")
    said_before = 'polygpu_host_reads(0, 0, "printf at line 17 reads a");'
    assert f"a = b; {said_before} #pragma omp parallel for for" in text


def test_pragmas_about_data_keep_arrays_without_a_loop(tmp_path: Path) -> None:
    block = "#pragma omp target data map(tofrom: a[0:n])\n{ step(n, a, b); step(n, b, a); }"
    text = said(tmp_path, f"{block}\nx = a[1];")
    assert text.startswith("x = 0; polygpu_keep(); polygpu_map(&a[0], ")
    assert "; #pragma omp target data map(tofrom: a[0:n]) { step(n, a, b); step(n, b, a); } polygpu" in text
    unmapped, _, left = text.partition("polygpu_unmap(&a[0], ")[2].partition(";")
    assert unmapped and left.startswith(' polygpu_release("the statement at line 16 ends");')


def test_what_two_walks_say_of_a_statement_lies_within_each_other(tmp_path: Path) -> None:
    """A function that opens a scope and calls itself: what opens it calls it one that is looked after, what
    looks after it calls it one that is not.
    """
    text = said(
        tmp_path,
        "return 0; } void down(int n, int m, float *a, float *b) { step(n, a, b); step(n, b, a);\n"
        "for (int k = 0; k < m; k++) down(n, m - 1, a, b);",
    )
    assert text.count("polygpu_keep();") == text.count("polygpu_release(") == 1
    paused, _, behind = text.partition("polygpu_pause(")[2].partition("polygpu_resume(polygpu_scopes); }")
    assert paused and "polygpu_release" not in paused and "polygpu_release" in behind


@pytest.mark.parametrize(
    "body", ["float *t = __builtin_alloca(4 * n);", "float *t = (float[8]){0};", "struct { float x[8]; } t;"]
)
def test_a_function_with_memory_of_its_own_is_left_alone(tmp_path: Path, body: str) -> None:
    name = "t.x" if "struct" in body else "t"
    own = f"void own(int n, float *a) {{ {body} step(n, a, {name}); step(n, {name}, a); }}\n"
    text = said(tmp_path, "for (int t = 0; t < 9; t++) { step(n, a, b); a = b; own(n, a); }", own)
    assert 'polygpu_pause("own")' in text or "polygpu_keep" not in text or "struct" in body


def test_of_an_array_whose_size_another_file_tells_no_size_is_said(tmp_path: Path) -> None:
    loop = f"for (int t = 0; t < 9; t++) {{ step(n, a, table); {SWAP} table[t] = x; }}"
    assert "polygpu_host_writes(0, 0, " in said(tmp_path, loop, "extern float table[];\n")


def test_files_say_which_functions_look_after_arrays(tmp_path: Path) -> None:
    (tmp_path / "grid.h").write_text(
        "extern float u[9]; extern int n; void other(float *); void f(float *), g(int);\n"
    )
    text = """\
#include "grid.h"
static int weight[3];
void f(float *p) {
  for (int t = 0; t < n; t++) { other(p); p[2] = weight[1] + n; }
}
void g(int k) { n = k; if (k) goto end; u[0] = k; end: ; }
"""
    path = tmp_path / "program.c"
    path.write_text(text)
    lifted = lift(str(path), FrontendOptions(cc=""))
    kept = lifted.kept(())
    assert kept.exported == ("f",)
    assert [text.strip() for _, text in kept.inserted] == [
        "polygpu_keep();",
        '{ const int polygpu_scopes = polygpu_keeps_other ? -1 : polygpu_pause("other at line 4");',
        'polygpu_resume(polygpu_scopes); } polygpu_host_writes(p + 2, sizeof *p, "line 4 writes p");',
        'polygpu_release("the loop at line 4 ends");',
    ]


@pytest.mark.parametrize("before", ["__attribute__((weak)) ", "static ", "inline "])
def test_what_others_may_replace_or_cannot_call_says_nothing(tmp_path: Path, before: str) -> None:
    path = tmp_path / "program.c"
    path.write_text(
        f"extern float u[9];\nvoid other(void);\n{before}void f(void) {{ }}\nvoid h(void) {{ other(); }}\n"
    )
    assert "f" not in lift(str(path), FrontendOptions(cc="")).kept(()).exported


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("float *q = grid[0]; q[3] = x;", "0, 0"),
        ("float *q = &grid[1][2]; q += 2; *q = x;", "&grid, sizeof grid"),
        ("float *q; q = table + 4; if (t) q = (float *)table; q[3] = x;", "&table, sizeof table"),
        ("float *q = table; q = a; q[3] = x;", "0, 0"),
        ("float *q = table, **r = &q; q[3] = x;", "0, 0"),
    ],
)
def test_a_pointer_into_known_arrays_touches_these(tmp_path: Path, pointer: str, expected: str) -> None:
    loop = f"for (int t = 0; t < 9; t++) {{ step(n, a, table); {SWAP} {pointer} }}"
    text = said(tmp_path, loop, "float table[8];\n")
    assert f"polygpu_host_writes({expected}, " in text


def calls(tmp_path: Path, pragma: str, before: str = "") -> list[str]:
    """The calls about data that a pragma makes, each with its arguments."""
    text = said(
        tmp_path, f"struct {{ float *p; float few[4]; }} s;\n#pragma {pragma}\n{{ step(n, a, b); }}", before
    )
    return re.findall(r"polygpu_(?:map|unmap|update)\(.*?\);", text)


WHOLE = "&a[0], (const char *)(&a[(0) + (n) - 1] + 1) - (const char *)&a[0]"


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("omp target enter data map(to: a[0:n])", [f"polygpu_map({WHOLE});"]),
        ("omp target enter data map(always, to: a[:n])", [f"polygpu_map({WHOLE});"]),
        (
            "acc enter data copyin(a[0:n]) create(grid)",
            [f"polygpu_map({WHOLE});", "polygpu_map(&grid, sizeof grid);"],
        ),
        ("omp target exit data map(from: a[0:n])", [f'polygpu_unmap({WHOLE}, 0, "exit data at line 16");']),
        ("acc exit data delete(a) finalize", ['polygpu_unmap(a, 0, 1, "exit data at line 16");']),
        ("omp target update from(a[0:n])", [f'polygpu_update({WHOLE}, 1, "update at line 16");']),
        ("acc update self(a) async(1)", ['polygpu_update(a, 0, 1, "update at line 16");']),
        ("acc update device(s.few)", ['polygpu_update(&s.few, sizeof s.few, 0, "update at line 16");']),
        ("acc data present(a[0:n]) deviceptr(b)", []),
        ("omp target enter data map(to: x)", []),
        ("omp parallel for", []),
    ],
)
def test_pragmas_about_data_are_calls(tmp_path: Path, pragma: str, expected: list[str]) -> None:
    assert calls(tmp_path, pragma) == expected


def test_a_block_of_data_ends_what_it_maps(tmp_path: Path) -> None:
    mapped, ended = calls(tmp_path, "omp target data map(tofrom: a[0:n]) map(alloc: x)")
    assert mapped == f"polygpu_map({WHOLE});"
    assert ended == f'polygpu_unmap({WHOLE}, 0, "the data region of line 16 ends");'
    assert calls(tmp_path, "omp target data map(to: a[0:n]) if(target: n > 5)") == []


def test_a_condition_stands_before_the_call(tmp_path: Path) -> None:
    text = said(
        tmp_path, "#pragma omp target enter data map(to: a[0:n]) if(target enter data: n > 5)\nstep(n, a, b);"
    )
    assert "if (n > 5) polygpu_map(&a[0]" in text


def test_rows_that_do_not_lie_together_are_updated_one_by_one(tmp_path: Path) -> None:
    (call,) = calls(tmp_path, "omp target update to(grid[1:3][2:4])")
    row = "grid[(1) + polygpu_0]"
    end = f"(const char *)(&{row}[(2) + (4) - 1] + 1) - (const char *)&{row}[2]"
    assert call == f'polygpu_update(&{row}[2], {end}, 0, "update at line 16");'
    text = said(tmp_path, "#pragma omp target update to(grid[1:3][2:4])\nstep(n, a, b);")
    assert "for (long long polygpu_0 = 0; polygpu_0 < (long long)(3); polygpu_0++) polygpu_update(" in text


def test_functions_that_nobody_looks_after_touch_all_that_pragmas_map(tmp_path: Path) -> None:
    jumps = "void jumps(float *p) { again: p[0] += 1; if (p[0] < 4) goto again; }\n"
    path = tmp_path / "program.c"
    path.write_text(
        f"{FUNCTIONS}{jumps}void f(int n, float *a, float *b) {{\n#pragma acc enter data copyin(a[0:n])\n"
        "step(n, a, b); jumps(b); }\n"
    )
    lifted = lift(str(path), FrontendOptions(cc=""))
    texts = [text.strip() for _, text in lifted.kept(lifted.scops).inserted]
    assert 'polygpu_host_writes(0, 0, "jumps");' in texts


def test_a_file_that_no_header_tells_of_is_said_to_be_a_part(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text("void f(int n, float a[n]) {\n  for (int i = 0; i < n; i++) a[i] += 1;\n}\n")
    for part, expected in ((False, ()), (True, ("f",))):
        lifted = lift(str(path), FrontendOptions(cc="", part=part))
        assert lifted.kept(lifted.scops).exported == expected


LENT = """\
extern float u[9], v[4], *at;
void other(float *y, int n);
void f(float *p, int n) {
  for (int t = 0; t < n; t++) { for (int i = 0; i < 9; i++) u[i] = i + t; other(v, n); }
}
"""
LEFT = "polygpu_keeps_other ? -1 : (polygpu_host_{}(&v, sizeof v, "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int i = 0; i < n; i++) y[i] = i;", LEFT.format("writes")),
        ("*y += 1;", LEFT.format("writes")),
        ("y[0]++;", LEFT.format("writes")),
        ("n = y[3];", LEFT.format("reads")),
        ("float u = 2, at = n; u += at; y[2] = u;", LEFT.format("writes")),
        ("n = 2 * n + 1;", "polygpu_keeps_other ? -1 : polygpu_leave();"),
    ],
)
def test_a_function_of_another_file_touches_what_it_is_lent(tmp_path: Path, body: str, expected: str) -> None:
    assert expected in said_of_lent(tmp_path, body)


@pytest.mark.parametrize(
    "body",
    [
        "u[0] = 1;",
        "at[0] = 1;",
        "float *z = y; z[0] = 1;",
        "y = u; y[0] = 1;",
        "*(y + 1) = n;",
        "at = y;",
        "more(y);",
        "more(u);",
        "float **z = &y; **z = 1;",
        "1[y] = 2;",
        "both = (struct pair){1, 2};",
        "both.first = 1;",
        "{ float both = 1; } both = best;",
        "memset(y, 0, 4);",
        "extern float w[2]; w[0] = 1;",
        "{ float y[2]; y[0] = 1; }",
        "*(float *)(void *)at = 1;",
        "__typeof__(at) z = at; *z = 1;",
        "number z = at; *z = 1;",
    ],
)
def test_a_function_that_may_touch_more_pauses_scopes(tmp_path: Path, body: str) -> None:
    text = said_of_lent(tmp_path, body)
    assert "polygpu_pause(" in text
    assert "polygpu_leave" not in text


def said_of_lent(folder: Path, body: str) -> str:
    """What stands around the call of `other`, which another file defines like this."""
    declared = "extern float u[9], v[4], *at;\ntypedef float *number;\nvoid more(float *p);\n"
    declared += "extern struct pair { float first, second; } both, best;\n"
    declared += "double sqrt(double);\nvoid *memset(void *, int, unsigned long);\n"
    (folder / "other.c").write_text(f"{declared}void other(float *y, int n) {{ {body} }}\n")
    path = folder / "program.c"
    path.write_text(declared + LENT)
    lifted = lift(str(path), FrontendOptions(cc="", others=(str(folder / "other.c"),)))
    return " ".join(text for _, text in lifted.kept(()).inserted)
