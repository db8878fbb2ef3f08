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
