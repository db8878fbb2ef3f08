"""Programs that end within a loop which runs on the device otherwise: `assert`, and `exit` behind a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polygpu import cli

SOURCE = Path(__file__).parent / "realcode" / "pixels_that_are_asserted.c"
POINTERS = """
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct s { int n; double *x; };
void f(struct s *p, int n)
{
    for (int i = 0; i < n; i++) {
        assert(p != NULL);
        p->x[i] = i * 0.5;
    }
}
void g(struct s *p, int n, int far)
{
    for (int i = 0; i < n; i++) {
        if (i >= far) {
            printf("too far\\n");
            exit(4);
        }
        p->x[i] = i * 0.5;
    }
}
void h(struct s *p, int n)
{
    for (int i = 0; i < n; i++) {
        assert(p && p->x);
        p->x[i] = i * 0.5;
    }
}
static void set(double *x, double value) { *x = value; }
void k(double *restrict x, double *restrict y, int n, int far)
{
    for (int i = 0; i < n; i++) {
        i < far ? set(&x[i], i * 0.5) : exit(5);
        y[i] = x[i] + 1;
    }
}
int main(int argc, char **argv)
{
    double a[10], b[10];
    struct s q = {10, a};
    f(&q, 10);
    g(&q, 10, 20);
    h(&q, 10);
    k(a, b, 10, 10);
    printf("%g\\n", b[9]);
    printf("%g\\n", a[9]);
    fflush(stdout);
    switch (atoi(argv[1])) {
    case 0: f(NULL, 3); break;
    case 1: g(NULL, 3, 0); break;
    case 2: h(NULL, 3); break;
    case 3: q.x = NULL; h(&q, 3); break;
    case 4: f(NULL, 0); g(NULL, 0, 0); h(NULL, 0); break;
    case 5: k(a, b, 10, 9); break;
    }
    return 0;
}
"""


def outcomes(source: Path, argument: str, directory: Path) -> list[subprocess.CompletedProcess[str]]:
    """Of the original, and of the program whose loops are offloaded."""
    compiled = ["compile", "-t", "emulator", "--offload", "always", "-o", f"{directory}/", str(source)]
    assert cli.invoke(compiled) == 0
    stem, found = source.stem, []
    for name, files in (("original", [str(source)]), ("made", [f"{stem}_host.c", f"{stem}_emulator.c"])):
        subprocess.run(["gcc", "-O1", "-o", name, *files, "-lm", "-lpthread"], cwd=directory, check=True)
        command = [f"./{name}", argument]
        found.append(subprocess.run(command, check=False, cwd=directory, capture_output=True, text=True))
    return found


@pytest.mark.parametrize(("argument", "status"), [("7", 1), ("29", -6)])
def test_they_end_where_the_original_ends(argument: str, status: int, tmp_path: Path) -> None:
    """The first fails a test of an iterator, the second an assertion."""
    original, made = outcomes(SOURCE, argument, tmp_path)
    assert (made.returncode, made.stdout) == (original.returncode, original.stdout)
    assert original.returncode == status
    assert original.stderr.rpartition(":")[2].strip() in made.stderr
    assert "the loop runs on the host" in made.stderr


@pytest.mark.parametrize(
    ("argument", "status"), [("0", -6), ("1", 4), ("2", -6), ("3", -6), ("4", 0), ("5", 5)]
)
def test_nothing_is_read_that_is_not_there(argument: str, status: int, tmp_path: Path) -> None:
    source = tmp_path / "pointers.c"
    source.write_text(POINTERS)
    original, made = outcomes(source, argument, tmp_path)
    assert (made.returncode, made.stdout) == (original.returncode, original.stdout)
    assert original.returncode == status
