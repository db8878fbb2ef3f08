"""What rules choose for products of matrices: by how tiles come to shared memory, and how many there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.mapping.program import Grid

STRAIGHT, FIRST, BOTH = "A[k][i] * B[k][j]", "A[i][k] * B[k][j]", "A[i][k] * B[j][k]"
ROWS, SNAKE, COLUMNS = ("prefetch", "rows"), ("double", "snake"), ("ring", "columns")


def grid(
    term: str,
    n: int | str,
    ctype: str,
    directory: Path,
    *decisions: str,
    wide: int | str = 0,
    typical: tuple[str, ...] = (),
) -> Grid:
    path = directory / "f.c"
    arrays = ", ".join(f"{ctype} {name}[restrict {n}][{n}]" for name in "ABC")
    ends = {"i": n, "j": wide or n, "k": n}
    loops = "".join(f"for (int {x} = 0; {x} < {end}; {x}++) " for x, end in ends.items())
    path.write_text(
        f"void f(int n, {ctype} s, {arrays})\n{{\n#pragma scop\n{loops}C[i][j] += {term};\n"
        "#pragma endscop\n}"
    )
    options = Options(
        target="cuda", device="h100", decisions=decisions, certify="off", assume_typical=typical
    )
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


@pytest.mark.parametrize("ctype", ["float", "double"])
@pytest.mark.parametrize(
    ("n", "expected"), [(256, (32, 32)), (512, (32, 64)), (768, (32, 64)), (1000, (64, 128))]
)
def test_small_products_have_tiles_for_most_multiprocessors(
    n: int, expected: tuple[int, int], ctype: str, tmp_path: Path
) -> None:
    found = grid(FIRST, n, ctype, tmp_path)
    assert tuple(a.tile for a in found.axes) == expected
    assert found.axes[-1].group <= (2 if ctype == "double" else 4)  # what 16 bytes have


def test_a_size_that_is_only_typical_counts_where_it_is_stated(tmp_path: Path) -> None:
    assert tuple(a.tile for a in grid(FIRST, "n", "float", tmp_path).axes) == (64, 128)
    stated = grid(FIRST, "n", "float", tmp_path, typical=("n=256",))
    assert tuple(a.tile for a in stated.axes) == (32, 32)


def test_triangles_have_smaller_tiles_where_these_are_turned(tmp_path: Path) -> None:
    turned = grid(BOTH, "n", "float", tmp_path, wide="i + 1")
    assert tuple(a.tile for a in turned.axes) == (64, 64)
    straight = grid(STRAIGHT, "n", "float", tmp_path, wide="i + 1")
    assert tuple(a.tile for a in straight.axes) == (64, 128)


def test_half_of_the_blocks_of_a_triangle_count(tmp_path: Path) -> None:
    assert tuple(a.tile for a in grid(BOTH, 448, "float", tmp_path).axes) == (32, 64)
    assert tuple(a.tile for a in grid(BOTH, 448, "float", tmp_path, wide="i + 1").axes) == (32, 32)
