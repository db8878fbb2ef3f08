"""Decisions about loops and kernels: certified, run on the emulator with its checks, and fed back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from polygpu.analysis.places import positions
from polygpu.compilation import Compilation, Options
from polygpu.model.decisions import Decision, Value, json_listing, listing, read
from polygpu.pipeline import compile_file
from polygpu.runtime.build import Recipe, build_program
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.verify.certificate import certify

HEAD = """#include <stdio.h>
#include <stdlib.h>
#define N 70
float A[N][N], B[N][N], C[N][N], x[N], y[N];
int K[N][N][N];
void f(int n) {
"""
TAIL = """}
int main(int count, char **words)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            A[i][j] = i + 0.5f * j;
            B[i][j] = 0.25f * (i - j);
            C[i][j] = x[i] = y[j] = i % 7;
            for (int k = 0; k < N; k++)
                K[i][j][k] = i + j - k;
        }
    f(atoi(words[1]));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            printf("%g %g %g %g %d\\n", A[i][j], C[i][j], x[i], y[j], K[i][j][(i + 3 * j) % N]);
    return 0;
}
"""


def compiled(directory: Path, body: str, *decisions: str) -> Compilation:
    """A function with these lines, the first of which has the number 7."""
    path = directory / "f.c"
    path.write_text(f"{HEAD}{body}{TAIL}")
    return compile_file(str(path), Options(target="emulator", device="8800gtx", decisions=decisions))


def taken(compilation: Compilation) -> list[Decision]:
    return [t.decision for r in compilation.regions for kernel in r.taken for t in kernel]


def person(compilation: Compilation) -> Iterator[str]:
    """What somebody decided, kernel by kernel."""
    kernels = (kernel for r in compilation.regions for kernel in r.taken)
    return (str(t.decision) for kernel in kernels for t in kernel if t.by == "person")


def check(directory: Path, body: str, *decisions: str) -> Compilation:
    """Certifies the regions, feeds their decisions back, and compares the program's output."""
    made = compiled(directory, body, *decisions)
    assert all(certify(r).holds for r in made.regions)
    again = compiled(directory, body, *map(str, taken(made)))
    assert (taken(again), again.files) == (taken(made), made.files)
    nests = [nest for r in made.regions for nest in r.taken]
    assert list(read(listing(nests))) == list(read(json.dumps(json_listing(nests)))) == taken(made)
    files = {suffix: directory / f"f{suffix}" for suffix in made.files}
    for suffix, text in made.files.items():
        files[suffix].write_text(text)
    flags = ("-w", "-DPOLYGPU_CHECK=1", "-ffp-contract=off")
    build_program(files, directory / "translated", Recipe("emulator", ("gcc",), extra=flags))
    subprocess.run(["gcc", "-w", "-ffp-contract=off", "f.c", "-o", "original"], cwd=directory, check=True)
    for n in ("0", "1", "17", "67"):
        assert output(directory / "translated", n) == output(directory / "original", n), n
    return made


def output(program: Path, *words: str) -> str:
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def refusal(directory: Path, body: str, *decisions: str) -> Diagnostic:
    with pytest.raises(Diagnosed) as caught:
        compiled(directory, body, *decisions)
    return caught.value.diagnostics[0]


TABLES = """    #pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 1; k < n; k++)
            for (int l = 1; l < n; l++)
                K[i][k][l] = K[i][k - 1][l] + K[i][k][l - 1];
    #pragma endscop
"""
SUMS = """    #pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 1; k < n; k++)
            for (int l = 0; l < n; l++)
                x[i] += A[l][k] * B[k][l];
    #pragma endscop
"""
ROWS = """    #pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
    #pragma endscop
"""
BETWEEN = """    #pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 1; k < n; k++) {
            x[i] = 0.5f * x[i] + k;
            for (int l = 1; l < n; l++)
                x[i] += A[l][k];
        }
    #pragma endscop
"""


@pytest.mark.parametrize(
    ("body", "decisions", "followed"),
    [
        (TABLES, "inner(l, k)", ["11: inner(l, k)"]),
        (TABLES, "11: inner(l, k) tile(l: 16)", ["11: inner(l, k)", "11: tile(i: 64, l: 16)"]),
        (ROWS, "sequential(i) inner(k, i)", ["11: sequential(i)", "11: inner(k, i)"]),
        (ROWS, "sequential(i) inner(k, -i)", ["11: sequential(i)", "11: inner(k, -i)"]),
    ],
)
def test_order_of_the_loops_of_a_thread(
    body: str, decisions: str, followed: list[str], tmp_path: Path
) -> None:
    assert list(person(check(tmp_path, body, decisions))) == followed


def test_an_order_that_a_dependence_forbids(tmp_path: Path) -> None:
    for asked in ("11: inner(l, k)", "inner(-k)"):
        said = refusal(tmp_path, SUMS, asked)
        why = f"'{asked}': flow dependence: x[i] is written, then read by a later iteration"
        assert (said.id, said.message) == ("PG304", why)
        assert [note.position.line for note in said.notes if note.position] == [11, 11]


def test_orders_that_do_not_fit(tmp_path: Path) -> None:
    said = refusal(tmp_path, ROWS, "inner(j, k)")
    assert said.message.endswith("'j' is no loop that a thread of this nest runs: they are k")
    assert said.help == "decide sequential(j) too"
    said = refusal(tmp_path, BETWEEN, "inner(l, k)")
    assert said.message.endswith("'l' cannot go around 'k': other statements stand between these loops")


CHAIN = """    #pragma scop
    for (int i = 0; i < n; i++) {
        x[i] = 2 * y[i];
        C[i][0] = x[i] + 1;
    }
    for (int i = 0; i < n; i++)
        y[i] = 3;
    for (int i = 1; i < n; i++)
        C[i][1] = C[i - 1][0];
    for (int i = 0; i < n; i++)
        C[i][2] = 4;
    #pragma endscop
"""
STEPS = """    #pragma scop
    for (int t = 0; t < 3; t++) {
        for (int i = 1; i < n; i++)
            x[i] = 0.5f * y[i - 1];
        for (int i = 1; i < n; i++)
            y[i] = x[i] + C[t][i];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                A[i][j] += 2;
    }
    #pragma endscop
"""
UNLIKE = """    #pragma scop
    for (int i = 0; i < n; i++)
        x[i] = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = 2;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j] += A[i][j];
    #pragma endscop
"""
SINGLE = """    #pragma scop
    for (int i = 1; i < n; i++)
        y[i] = 0.5f * y[i - 1];
    for (int i = 0; i < n; i++)
        x[i] = y[i];
    #pragma endscop
"""
THREAD = """    #pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 1; k < n; k++) {
            x[i] = x[i] + A[i][k];
            y[i] = 0.5f * y[i] + %s;
        }
    #pragma endscop
"""


def kernels(made: Compilation) -> list[str]:
    """The lines of the statements of each."""
    return [
        " ".join(str(at.line) for s in grid.statements for at in positions(r.polyhedra.statement(s)))
        for r in made.regions
        for grid in r.grids
    ]


@pytest.mark.parametrize(
    ("body", "decisions", "found"),
    [
        (CHAIN, "unroll(auto)", ["9 10 13", "15", "17"]),
        (CHAIN, "split(10)", ["9", "10 13", "15", "17"]),
        (CHAIN, "split(10, 13)", ["9", "10", "13", "15", "17"]),
        (CHAIN, "split(10, 13) fuse(9, 13)", ["9 13", "10", "15", "17"]),
        (CHAIN, "fuse(9, 17)", ["9 10 13 17", "15"]),
        (CHAIN, "9: split(13) fuse(15, 17)", ["9 10", "13", "15 17"]),
        (CHAIN, "split(y)", ["9 10", "13", "15", "17"]),
        (CHAIN, "fuse(9, 10, 13) split(13)", ["9 10", "13", "15", "17"]),
        (STEPS, "split(12)", ["10", "12", "15"]),
        (UNLIKE, "unroll(auto)", ["9", "12", "13"]),
        (UNLIKE, "fuse(9, 12)", ["9 12", "13"]),  # threads run j
        (UNLIKE, "fuse(12, 13)", ["9", "12 13"]),  # in one loop with j
        (THREAD % "1", "split(11)", ["10", "11"]),
    ],
)
def test_kernels_that_are_asked_for(body: str, decisions: str, found: list[str], tmp_path: Path) -> None:
    assert kernels(check(tmp_path, body, decisions)) == found


def test_pragmas_decide_about_kernels_and_loops(tmp_path: Path) -> None:
    first, rest = CHAIN.split("\n", 1)
    made = check(tmp_path, f"{first}\n#pragma polygpu split(11) fuse(16, 18)\n{rest}")
    assert kernels(made) == ["10", "11 14", "16 18"]
    first, rest = TABLES.split("\n", 1)
    made = check(tmp_path, f"{first}\n#pragma polygpu inner(l, k)\n{rest}")
    assert list(person(made)) == ["12: inner(l, k)"]


def test_kernels_that_cannot_be(tmp_path: Path) -> None:
    said = refusal(tmp_path, CHAIN, "fuse(10, 15)")
    why = "flow dependence: C[i][0] is written, then read in another thread as C[i - 1][0]"
    assert (said.id, said.message) == ("PG304", f"'fuse(10, 15)': {why}")
    assert [note.position.line for note in said.notes if note.position] == [10, 15]
    said = refusal(tmp_path, STEPS, "fuse(12, 15)")
    assert said.message.endswith("loops of the host are around these statements that they do not share")
    said = refusal(tmp_path, SINGLE, "fuse(9, 11)")
    assert said.message == "'fuse(9, 11)': one of the nests has no parallel loop"
    said = refusal(tmp_path, THREAD % "x[i]", "split(11)")
    why = "anti dependence: x[i] is read, then written in another iteration"
    assert (said.id, said.message) == ("PG304", f"'split(11)': {why}")
    said = refusal(tmp_path, CHAIN, "fuse(9, 99)")
    assert (said.id, said.help) == ("PG303", "it has 9, 10, 13, 15, 17")


TEMPORARIES = """    float t, r;
    #pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            t = A[i][j] + 1;
            C[i][j] = t * t;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (j == 0)
                r = 0;
            r = r + A[i][j];
            t = r * 2;
            C[i][j] += t;
        }
    #pragma endscop
"""


def expanded(made: Compilation) -> dict[str, Value]:
    """The loops by which temporaries are expanded, in any kernel."""
    return {name: value for d in taken(made) if d.key == "expand" for name, value in d.items}


@pytest.mark.parametrize(
    ("decisions", "found"),
    [
        ("unroll(auto)", {"r": "i"}),  # t is a local of each iteration
        ("expand(t)", {"t_0": "i j", "t_1": "i j", "r": "i"}),
        ("expand(t: i)", {"t_0": "i", "t_1": "i", "r": "i"}),
        ("11: expand(t: i)", {"t_0": "i", "t_1": "i", "r": "i"}),
        ("expand(t_1)", {"t_0": "i j", "t_1": "i j", "r": "i"}),
        ("expand(t: i) expand(t)", {"t_0": "i j", "t_1": "i j", "r": "i"}),
        ("expand(t: none)", {"t_0": "none", "t_1": "none", "r": "i"}),
        ("expand(r: none)", {"r": "none"}),
    ],
)
def test_temporaries_that_are_asked_for(decisions: str, found: dict[str, Value], tmp_path: Path) -> None:
    assert expanded(check(tmp_path, TEMPORARIES, decisions)) == found


def test_temporaries_that_cannot_be(tmp_path: Path) -> None:
    said = refusal(tmp_path, TEMPORARIES, "expand(r: i j)")
    why = "flow dependence: r is written, then read in another iteration of j"
    assert (said.id, said.message) == ("PG304", f"'expand(r: i j)': {why}")
    assert said.help == "its values stay within iterations of i"
    assert [note.position.line for note in said.notes if note.position] == [18, 18]
    said = refusal(tmp_path, TEMPORARIES, "expand(r: k)")
    assert said.message.endswith("'k' is not around all that uses 'r'")
    said = refusal(tmp_path, TEMPORARIES, "expand(A: i)")
    assert said.message.endswith("it is no temporary: values are read that come from outside of the region")


def test_what_nothing_uses_is_no_temporary(tmp_path: Path) -> None:
    unused = """    float t;
    #pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            t = A[i][j];
            C[i][j] = A[i][j];
        }
    #pragma endscop
"""
    said = refusal(tmp_path, unused, "expand(t: i)")
    assert said.message == "'expand(t: i)': no statement that matters uses it"
    said = refusal(tmp_path, TEMPORARIES, "expand(t: i, q: none)")
    assert (said.id, said.help) == ("PG303", "there are A, C, r, t, t_0, t_1")
