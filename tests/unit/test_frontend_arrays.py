"""Arrays: extents, storage, how the host names them, flattened ones, structures, scalars in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontend_text import (
    access_text,
    assumptions,
    bodies,
    domain,
    errors,
    extents,
    lifted,
    only_scop,
    region,
    shown,
)

LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("float A[n][m]", ["n", "m"]),
        ("float A[restrict static n][m]", ["n", "m"]),
        ("float A[][m]", [None, "m"]),
        ("float (*A)[m]", [None, "m"]),
        ("float (*restrict A)[m + 1]", [None, "(m + 1)"]),
        ("float A[100][2 * 50]", ["100", "100"]),
        ("float (*A)[SIZE]", [None, "64"]),
        ("float A[n * m][m]", [None, "m"]),
    ],
)
def test_extents_of_parameters(declaration: str, expected: list[str | None], tmp_path: Path) -> None:
    head = "enum { HALF = 32, SIZE = 2 * HALF };"
    scop = region(tmp_path, f"int n, int m, {declaration}", f"{LOOPS} A[i][j] = 0;", head)
    assert extents(scop) == {"A": expected}
    (array,) = scop.arrays
    assert (array.storage, array.host, array.restrict) == ("parameter", "&A[0][0]", "restrict" in declaration)
    assert (array.element, array.live_out, array.constant) == ("float", True, False)


def test_storage_and_host_names(tmp_path: Path) -> None:
    scop = only_scop(
        tmp_path,
        """
        static double grid[8][9];
        extern int counts[];
        const float weights[] = {1, 2, 3};
        float use(float (*)[4]);
        float f(int n, const float *restrict x, float s)
        {
            float local[n][4], dead[4], sum, last;
            float *y = local[0];
        #pragma scop
            float row[4];
            for (int i = 0; i < 4; i++) {
                row[i] = grid[i][i] + counts[i] + weights[i] + x[i];
                local[i][i] = row[i];
                dead[i] = y[i];
                sum = sum + dead[i];
                s = s + 1;
                last = s;
            }
        #pragma endscop
            return use(local) + sum;
        }""",
    )
    found = {a.name: (a.storage, a.host, a.live_out, a.constant) for a in scop.arrays}
    assert found == {
        "row": ("region", "", False, False),
        "grid": ("global", "&grid[0][0]", True, False),
        "counts": ("global", "counts", True, False),
        "weights": ("global", "weights", True, True),
        "x": ("parameter", "x", True, True),
        "local": ("local", "&local[0][0]", True, False),
        "dead": ("local", "dead", False, False),
        "y": ("parameter", "y", True, False),
        "sum": ("local", "&sum", True, False),
        "s": ("local", "&s", False, False),
        "last": ("local", "&last", False, False),
    }
    assert extents(scop)["weights"] == ["3"]
    assert extents(scop)["counts"] == [None]
    assert extents(scop)["local"] == ["n", "4"]
    assert extents(scop)["sum"] == []


def test_scalars_that_are_only_read(tmp_path: Path) -> None:
    parameters = "int n, unsigned long m, float alpha, double unused, char c, float *a"
    scop = region(tmp_path, parameters, "for (int i = 0; i < n; i++) if (i < m) a[i] = alpha * c;")
    assert [(s.name, s.type, s.affine) for s in scop.scalars] == [
        ("n", "int", True),
        ("m", "unsigned long", True),
        ("alpha", "float", False),
        ("c", "char", False),
    ]
    assert [shown(c) for c in scop.context] == ["(m >= 0)"]


@pytest.mark.parametrize(
    ("subscript", "shape", "element"),
    [
        ("i * m + j", [None, "m"], "A[i][j]"),
        ("j + m * i", [None, "m"], "A[i][j]"),
        ("(size_t)i * m + j", [None, "m"], "A[i][j]"),
        ("(i - 1) * m + (j + 1)", [None, "m"], "A[(i - 1)][(j + 1)]"),
        ("i * m + m - 1 - j", [None, "m"], "A[i][((m - j) - 1)]"),
        ("(i + 1) * m - 1", [None, "m"], "A[i][(m - 1)]"),
        ("(n - 1 - i) * m + j", [None, "m"], "A[((n - i) - 1)][j]"),
        ("(i * n + j) * m + i", [None, "n", "m"], "A[i][j][i]"),
        ("i * n * m + j * m", [None, "n", "m"], "A[i][j][0]"),
        ("i * 2 * m + 2 * j + 1", [None, "(2 * m)"], "A[i][((2 * j) + 1)]"),
        ("i * 100 + j", [None], "A[((i * 100) + j)]"),
        ("i + j", [None], "A[(i + j)]"),
    ],
)
def test_flattened_arrays(subscript: str, shape: list[str | None], element: str, tmp_path: Path) -> None:
    head = "#include <stddef.h>"
    scop = region(tmp_path, "int n, int m, float *A", f"{LOOPS} A[{subscript}] = 0;", head)
    assert extents(scop) == {"A": shape}
    assert bodies(scop) == [f"{element} = 0;"]
    assert all(access.affine for s in scop.statements for access in s.accesses)


def test_flattened_arrays_assume_their_inner_subscripts_in_bounds(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "int n, int m, float *A, float *B",
        f"{LOOPS} A[i * m + j] = B[(i * m + j) * n + 3] + A[i * m];",
    )
    assert assumptions(scop) == [
        "S0: 0 <= j < m",
        "S0: 0 <= 3 < n",
        "S0: 0 <= 0 < m",
    ]
    assert extents(scop) == {"A": [None, "m"], "B": [None, "m", "n"]}


def test_flattened_array_with_a_data_dependent_row(tmp_path: Path) -> None:
    scop = region(tmp_path, "int n, int m, float *A, int *k, float *x", f"{LOOPS} x[j] = A[k[i] * m + j];")
    assert extents(scop)["A"] == [None, "m"]
    assert "R must A[k[i]][j] data" in [access_text(a) for a in scop.statements[0].accesses]
    assert assumptions(scop) == ["S0: 0 <= j < m"]


def test_pointers_as_arrays(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "int n, int m, float (*A)[m], float *p",
        f"{LOOPS} {{ float *row = A[i]; float *q = p + 2 * i; const float *r = &A[i][1];"
        " *(p + i) = row[j] + q[1] + *q + (*(A + i))[j] + r[j] + 1[p]; }",
    )
    assert bodies(scop) == [
        "p[i] = (((((A[i][j] + p[((2 * i) + 1)]) + p[(2 * i)]) + A[i][j]) + A[i][(1 + j)]) + p[1]);"
    ]


def test_structures(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "int n, particle *p, struct vector v[n], struct vector *w, struct vector c",
        """for (int i = 0; i < n; i++) {
            p[i].place.x += v[i].x * p[i].mass[1] + c.y + w->x;
            p[i].kind++;
            w[i] = v[n - 1 - i];
        }""",
        "struct vector { double x, y; };\n"
        "typedef struct { struct vector place; float mass[2]; int kind; } particle;",
    )
    assert bodies(scop) == [
        "p[i].place.x = (p[i].place.x + (((v[i].x * p[i].mass[1]) + c_y) + w[0].x));",
        "p[i].kind = (p[i].kind + 1);",
        "w[i].x = v[((n - 1) - i)].x;",
        "w[i].y = v[((n - 1) - i)].y;",
    ]
    by_name = {a.name: a for a in scop.arrays}
    assert by_name["v"].element == "struct vector"
    assert [(s.name, s.type, s.source) for s in scop.scalars][1:] == [("c_y", "double", "c.y")]
    structure = by_name["p"].structure
    assert structure is not None
    assert structure.name == "particle"
    assert structure.fields == (
        ("place.x", "double"),
        ("place.y", "double"),
        ("mass[0]", "float"),
        ("mass[1]", "float"),
        ("kind", "int"),
    )
    assert structure.definition == (
        "typedef struct { struct { double x; double y; } place; float mass[2]; int kind; } particle;"
    )


def test_locals_of_the_region(tmp_path: Path) -> None:
    """Integers are replaced by their value where it is known; all else is an array of the region."""
    scop = region(
        tmp_path,
        "int n, int m, float *a",
        """for (int i = 0; i < n; i++) {
            int at = i * m + 1, changed = i;
            long wide = at;
            float t = a[at], w[2] = {1}, u;
            changed++;
            u = t + wide;
            a[at - 1] = u * changed + w[i % 2];
        }""",
    )
    assert bodies(scop) == [
        "t = a[i][1];",
        "w[0] = 1;",
        "w[1] = 0;",
        "u = (t + (long)((i * m) + 1));",
        "a[i][0] = ((u * (i + 1)) + w[(i % 2)]);",
    ]
    assert {a.name: a.storage for a in scop.arrays} == {
        "a": "parameter", "t": "region", "w": "region", "u": "region"
    }  # fmt: skip


def test_data_dependent_reads(tmp_path: Path) -> None:
    scop = region(
        tmp_path, "int n, int *k, float *a, float x[n]", "for (int i = 0; i < n; i++) a[i] = x[k[i]];"
    )
    assert [access_text(a) for a in scop.statements[0].accesses] == [
        "R must k[i]",
        "R must x[k[i]] data",
        "W must a[i]",
    ]


def test_loop_over_all_elements_of_a_declared_matrix(tmp_path: Path) -> None:
    scop = region(
        tmp_path, "float A[10][20]", "for (int i = 0; i < 10; i++) for (int j = 0; j < 20; j++) A[i][j] = 0;"
    )
    assert domain(scop.statements[0]) == ["(i >= 0)", "(i < 10)", "(j >= 0)", "(j < 20)"]


def test_packed_structures_and_vectors_are_refused(tmp_path: Path) -> None:
    body = "for (int i = 0; i < 9; i++) a[i].x = 0;"
    for head in (
        "struct s { char c; float x; } __attribute__((packed));",
        "struct __attribute__((aligned(64))) s { float x; };",
        "#pragma pack(push, 1)\nstruct s { char c; float x; };\n#pragma pack(pop)",
    ):
        text = f"{head}\nvoid f(struct s *a)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
        assert [e.id for e in errors(tmp_path, text)] == ["PG146"]
    harmless = (
        f"struct s {{ float x; }};\nstruct s a[9] __attribute__((aligned(64)));\nvoid f(void) {{ {body} }}\n"
    )
    assert lifted(tmp_path, harmless).scops


@pytest.mark.parametrize(
    ("declared", "statement", "refused"),
    [
        ("register float s = 0;", "s += a[i];", True),
        ("register float s[9];", "s[i] = a[i];", True),
        ("register float s[9] = {1};", "a[i] += s[i];", True),
        ("register float s = 3;", "a[i] *= s;", False),
        ("register float *s = a + 9;", "s[i] = a[i];", False),
        ("register int n = k;", "if (i < n) a[i] = 0;", False),
    ],
)
def test_register_variables_have_no_address(
    declared: str, statement: str, refused: bool, tmp_path: Path
) -> None:
    text = (
        f"float f(float *a, int k)\n{{\n    {declared}\n#pragma scop\n"
        f"    for (register int i = 0; i < 9; i++) {{ {statement} }}\n#pragma endscop\n    return a[0];\n}}\n"
    )
    if refused:
        assert [e.id for e in errors(tmp_path, text)] == ["PG117"]
    else:
        assert len(lifted(tmp_path, text).scops) == 1
