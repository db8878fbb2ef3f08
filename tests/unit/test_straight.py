"""Which neighbouring statements become one, which stay apart and why, and what the one is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from polygpu.analysis.distances import fixed, onward
from polygpu.analysis.straight import clustered
from polygpu.compilation import Options
from polygpu.model.decisions import parse
from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.scop import Scop
from polygpu.perf.predict import predict
from polygpu.pipeline import compile_file
from polygpu.report.explain import explain
from polygpu.report.text import inspect_text
from polygpu.verify.certificate import certify
from tests.unit.emulated import built, compiled, printed
from tests.unit.frontend_text import access_text, bodies, region

ARRAYS = "int n, int k[restrict n], float a[restrict n], float b[restrict n], float c[restrict n], " \
         "float d[restrict n][n], float e[restrict n][n], float q[restrict n][2][2]"  # fmt: skip


def merged(directory: Path, body: str, *decisions: str) -> Scop:
    return clustered(region(directory, ARRAYS, body), [d for text in decisions for d in parse(text)])


def counts(scop: Scop) -> list[int]:
    """How many statements of the source each statement is."""
    return [len(s.parts) or 1 for s in scop.statements]


I = "for (int i = 1; i < n - 1; i++) { %s }"  # noqa: E741
IJ = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) { %s }"


@pytest.mark.parametrize(
    "body",
    [
        I % "a[i] = 1; b[i] = 2;",
        I % "a[i] = c[i - 1]; b[i] = c[i + 1];",  # which nobody writes
        I % "a[i] = c[i]; b[i] = a[i]; a[i] = 3;",
        I % "q[i][0][0] = 1; q[i][0][1] = q[i][0][0]; q[i][1][1] = 2;",
        I % "a[3 * i] = 1; a[3 * i + 1] = a[3 * i]; a[3 * i - 1] = 2;",
        I % "a[i] = b[k[i]]; c[i] = 1;",
        I % "if (a[i] > 1) b[i] = 2; c[i] = b[i];",
        IJ % "d[i][j] = e[j][i]; d[i][j] += 1;",
        # each round of a loop around writes the same elements again
        "for (int t = 0; t < n; t++) " + I % "a[i] = 1; b[i] = t;",
        # other loops have a part in it, but none that could be parallel
        "for (int t = 0; t < n; t++) {"
        + I % "a[i] = c[i - 1]; b[i] = c[i];"
        + I % "c[i] = a[i] + b[i - 1];"
        + "}",
    ],
)
def test_one_statement(body: str, tmp_path: Path) -> None:
    assert len(merged(tmp_path, body).statements) <= 1 + ("c[i] = a" in body)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (I % "a[i] = 1; b[i] = a[i - 1];", [1, 1]),  # from another iteration
        (I % "a[i] = b[i + 1]; b[i] = 1;", [1, 1]),
        (I % "a[i] = 1; a[n - i] = 2;", [1, 1]),
        (I % "a[3 * i] = 1; a[3 * i + 3] = 2;", [1, 1]),
        (I % "a[i] = 1; b[i] = a[k[i]];", [1, 1]),  # as data have it
        (I % "a[i] = 1; b[0] += c[i]; c[i] = 2;", [1, 1, 1]),  # a sum, and what it needs
        (I % "a[i] = a[i - 1]; b[i] = 2;", [1, 1]),  # a recurrence and what is parallel
        (IJ % "a[i] += d[i][j]; b[j] += d[i][j];", [1, 1]),  # sums along different loops
        (IJ % "d[i][j] = 1; e[j][i] = 2;", [1, 1]),  # each along its rows
        (IJ % "a[j] = 1; d[i][j] = 2;", [1, 1]),
        (I % "a[i] = 1; if (i > 3) b[i] = 2; c[i] = 1;", [1, 1, 1]),  # other iterations
        ("a[0] = 1; b[0] = 2;", [1, 1]),  # no loop
        # what a neighbour's neighbour needs from other iterations does not keep the others apart
        (I % "a[i] = 1; b[i] = 2; c[i] = a[i - 1]; q[i][0][0] = 3;", [2, 2]),
        # unless it goes round in a circle: b would be in it with a
        (I % "b[i] = 2; a[i] = q[i - 1][0][0]; q[i][0][0] = a[i];", [1, 1, 1]),
        # a value that is used now and, by way of t, in the next iteration
        ("float s, t = 0; " + I % "s = a[i] * c[i]; b[i] = s + t; t = s;", [1, 1, 1, 1]),
        ("float s, t = 0; " + I % "s = a[i]; b[i] = s + t; t = c[i];", [1, 2, 1]),  # nothing goes round
        # a and b belong to different sums
        (
            "for (int i = 0; i < n; i++) { a[i] = 0; b[i] = 0; "
            "for (int j = 0; j < n; j++) { a[i] += d[i][j]; b[i] += e[i][j]; } }",
            [1, 1, 1, 1],
        ),
    ],
)  # fmt: skip
def test_statements_apart(body: str, found: list[int], tmp_path: Path) -> None:
    assert counts(merged(tmp_path, body)) == found


def test_values_of_an_iteration_are_locals(tmp_path: Path) -> None:
    scop = merged(tmp_path, "float t; " + I % "t = a[i]; b[i] = t * t; t = t + b[i]; c[i] = t;")
    assert bodies(scop) == ["float t = a[i]; b[i] = (t * t); float t_2 = (t + b[i]); c[i] = t_2;"]
    assert "t" not in [a.name for a in scop.arrays]
    (s,) = scop.statements
    assert [access_text(a) for a in s.accesses if a.exposed] == ["R must a[i]", "W must b[i]", "W must c[i]"]


@pytest.mark.parametrize(
    "body",
    [
        I % "a[i] = t; t = b[i]; c[i] = t;",  # of the iteration before
        I % "t = b[i]; a[i] = t; c[i] = a[i - 1] + t;",  # of two statements
        I % "if (a[i] > 0) t = 1; else t = 2; b[i] = t;",  # set in branches
        I % "t = b[i]; a[i] = t;" + "a[0] = t;",  # the last value
    ],
)
def test_other_scalars_stay(body: str, tmp_path: Path) -> None:
    assert "t" in [a.name for a in merged(tmp_path, f"float t = 0; {body}").arrays]


def test_locals_of_several_statements_have_names_of_their_own(tmp_path: Path) -> None:
    body = "float t; " + I % "t = a[i]; b[i] = t;" + I % "t = b[i]; c[i] = t;"
    assert bodies(merged(tmp_path, body)) == [
        "float t = a[i]; b[i] = t;",
        "float t_2 = b[i_2]; c[i_2] = t_2;",
    ]


def test_a_kernel_begins_where_it_is_asked_to(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) {\na[i] = 1;\nb[i] = 2;\nc[i] = 3;\n}"
    lines = [s.position.line for s in region(tmp_path, ARRAYS, body).statements]
    assert counts(merged(tmp_path, body)) == [3]
    assert counts(merged(tmp_path, body, f"split({lines[1]})")) == [1, 2]
    assert counts(merged(tmp_path, body, "split(c)")) == [2, 1]


@pytest.mark.parametrize(
    ("decisions", "kernels"),
    [
        ((), 1),
        (("split(6)",), 2),
        (("split(b, 7)",), 3),
        (("split(7)", "fuse(5, 7)"), 1),
        (("6: tile(i: 64)",), 1),
    ],
)
def test_decisions_within_a_statement(decisions: tuple[str, ...], kernels: int, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(
        "void f(int n, float a[restrict n], float b[restrict n], float c[restrict n])\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) {\na[i] = 1;\nb[i] = a[i];\nc[i] = b[i];\n}\n#pragma endscop\n}\n"
    )
    done = compile_file(str(tmp_path / "f.c"), Options(target="cuda", decisions=decisions))
    assert [len(r.region.kernels) for r in done.regions] == [kernels]


def i(shift: int) -> Expr:
    return Binary("+", Name("i"), Int(shift))


def test_distances() -> None:
    assert fixed((Name("i"), Binary("+", Name("i"), Name("j"))), ("i", "j", "k")) == {"k"}
    assert fixed((Binary("%", Name("i"), Int(2)),), ("i",)) == {"i"}
    assert onward((i(0),), (i(-1),), ("i",))
    assert not onward((i(0),), (i(1),), ("i",))
    assert onward((i(0),), (i(1),), ("-i",))
    assert onward((i(0), Int(0)), (i(1), Int(1)), ("i",))  # never the same
    assert not onward((i(0),), (i(-1),), ("j", "i"))  # in another round of j, any one
    assert not onward((i(0),), (Name("n"),), ("i",))


PROGRAM = """
#include <stdio.h>
typedef float block[5][5];
void jacld(int n, int m, float dt, float u[restrict n][m][5], float rho[restrict n][m],
    float qs[restrict n][m], block a[restrict n][m], block b[restrict n][m], block d[restrict n][m])
{
    float tmp1, tmp2, tmp3;
#pragma scop
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < m - 1; i++) {
%s
        }
#pragma endscop
}
int main(void)
{
    enum { n = 9, m = 14 };
    static float u[n][m][5], rho[n][m], qs[n][m];
    static block a[n][m], b[n][m], d[n][m];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            rho[j][i] = 1.0f / (1 + i + j), qs[j][i] = 0.5f * i - 0.25f * j;
            for (int k = 0; k < 5; k++)
                u[j][i][k] = 0.125f * (i + 2 * j) - k;
        }
    jacld(n, m, 0.5f, u, rho, qs, a, b, d);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            for (int k = 0; k < 25; k++)
                printf("%%g %%g %%g\\n", a[j][i][0][k], b[j][i][0][k], d[j][i][0][k]);
}
"""


def jacld() -> str:
    """Blocks of 5 x 5 for each point of a grid, of scalars that are set anew: as LU of NAS has them."""
    lines: list[str] = []
    for block, point, last in (("d", "j][i", "qs[j][i]"), ("a", "j - 1][i", "0.5f"), ("b", "j][i - 1", "dt")):
        lines += [f"tmp1 = rho[{point}];", "tmp2 = tmp1 * tmp1;", "tmp3 = tmp1 * tmp2;"]
        for r in range(5):
            for c in range(5):
                value = f"tmp{1 + (r + c) % 3} * u[{point}][{c}] * {r + 1}.25f - {last}"
                lines.append(f"{block}[j][i][{r}][{c}] = {value};")
    return PROGRAM % "\n".join(lines)


def test_a_body_of_many_statements_is_one_kernel(tmp_path: Path) -> None:
    made = compiled(tmp_path, jacld())
    (region_,) = made.regions
    assert [k.name for k in region_.region.kernels] == ["jacld_0_k0"]
    assert len(region_.polyhedra.statements) == 1
    assert certify(region_).holds
    original, _ = printed(tmp_path, "program.c")
    built(tmp_path, "program_host.c", "program_emulator.c")
    profile = tmp_path / "profile.json"
    ran = subprocess.run(
        [tmp_path / "program"],
        check=True,
        capture_output=True,
        text=True,
        env={"POLYGPU_PROFILE": str(profile)},
    )
    assert ran.stdout == original
    found = predict(region_.region, made.device, {"n": 9, "m": 14})
    assert [found.record] == json.loads(profile.read_text())["regions"]


def test_reports_show_where_statements_begin_and_end(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(jacld())
    first = next(k for k, text in enumerate(jacld().splitlines(), 1) if text.startswith("tmp1"))
    options = Options(target="cuda", decisions=(f"{first + 50}: unroll(2)",))
    done = compile_file(str(tmp_path / "program.c"), options)
    text = done.files["_cuda.cu"]
    assert f"// program.c:{first}: tmp1 = rho[j][i];" in text
    assert "// ... 77 more statements" in text
    assert f"// program.c:{first + 83}: b[j][i][4][4] = " in text
    assert any(t.by == "person" for kernel in done.regions[0].taken for t in kernel)
    assert f"lines {first} to {first + 83}: " in inspect_text(explain(done))


@pytest.mark.parametrize(("count", "left"), [(40, 40), (120, 1)])
def test_bodies_of_too_many_statements_are_one(tmp_path: Path, count: int, left: int) -> None:
    """Each reads what the one before it has from another iteration: they would stay apart."""
    stores = (f"e[{k}][i] = e[{k - 1}][i - 1];" for k in range(1, count + 1))
    scop = merged(tmp_path, I % " ".join(stores))
    assert counts(scop) == [count // left] * left


def test_of_too_many_statements_those_with_loops_stay_apart(tmp_path: Path) -> None:
    stores = [f"e[{k}][i] = e[{k - 1}][i - 1];" for k in range(1, 121)]
    stores.insert(60, "for (int t = k[i]; t < k[i + 1]; t++) a[i] += b[t];")
    scop = merged(tmp_path, I % " ".join(stores))
    assert counts(scop) == [59, 2, 60]


def test_too_many_statements_with_a_kernel_that_is_to_begin(tmp_path: Path) -> None:
    stores = [f"e[{k}][i] = e[{k - 1}][i - 1];" for k in range(1, 121)]
    stores.insert(60, "a[i] = e[7][i - 1];")
    assert counts(merged(tmp_path, I % " ".join(stores), "split(a)")) == [60, 61]
