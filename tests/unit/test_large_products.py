"""What rules choose for products of matrices of known sizes, by how their tiles come to shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.mapping.program import Grid

STRAIGHT, FIRST, BOTH = "A[k][i] * B[k][j]", "A[i][k] * B[k][j]", "A[i][k] * B[j][k]"
ROWS, SNAKE, COLUMNS = ("prefetch", "rows"), ("double", "snake"), ("ring", "columns")


def grid(term: str, n: int, ctype: str, directory: Path, *decisions: str) -> Grid:
    path = directory / "f.c"
    arrays = ", ".join(f"{ctype} {name}[restrict {n}][{n}]" for name in "ABC")
    loops = "".join(f"for (int {x} = 0; {x} < {n}; {x}++) " for x in "ijk")
    path.write_text(
        f"void f({ctype} s, {arrays})\n{{\n#pragma scop\n{loops}C[i][j] += {term};\n#pragma endscop\n}}"
    )
    options = Options(target="cuda", device="h100", decisions=decisions, certify="off")
    ((found,),) = (r.grids for r in pipeline.compile_file(str(path), options).regions)
    return found


@pytest.mark.parametrize(
    ("term", "n", "ctype", "expected"),
    [
        (STRAIGHT, 4096, "float", COLUMNS),
        (FIRST, 4096, "float", COLUMNS),
        (BOTH, 4096, "float", SNAKE),
        (f"s * {FIRST}", 4096, "float", ("double", "rows")),  # what is copied is multiplied, in registers
        (FIRST, 1000, "float", ROWS),  # too few blocks of the large tiles
        (FIRST, 4096, "double", COLUMNS),
        (BOTH, 4096, "double", ("double", "rows")),
        (FIRST, 1000, "double", ("double", "rows")),
    ],
)
def test_tiles_on_their_way_go_with_columns(
    term: str, n: int, ctype: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    found = grid(term, n, ctype, tmp_path)
    assert (found.buffering, found.walk) == expected


def test_other_tiles_and_buffers_than_those_of_the_rule_go_in_rows(tmp_path: Path) -> None:
    assert grid(FIRST, 4096, "float", tmp_path, "buffer(double)").walk == "rows"
    assert grid(FIRST, 4096, "float", tmp_path, "threads(i: 8)").walk == "rows"
    assert grid(FIRST, 4096, "float", tmp_path, "threads(i: 8) walk(snake)").walk == "snake"


def test_fragments_have_no_order_of_points(tmp_path: Path) -> None:
    found = grid(FIRST, 4096, "float", tmp_path, "tensor(tf32) walk(snake)")
    assert (found.fragments, found.walk) == ("tf32", "rows")
