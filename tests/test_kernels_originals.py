"""The benchmark kernels themselves: clean C at every size, and right by arithmetic done another way."""

from __future__ import annotations

from math import fsum, inf, isclose
from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import initial_values, printed_arrays, rows

CARRIED = [
    "2mm", "3mm", "atax", "bicg", "cholesky", "conv2d", "covariance", "doitgen", "fdtd-2d", "floyd-warshall",
    "gemm", "gemver", "gesummv", "heat-3d", "jacobi-1d", "jacobi-2d", "lu", "mm", "mv", "mvt", "saxpy",
    "seidel-2d", "symm", "syr2k", "syrk", "tmv", "transpose", "trisolv", "trmm", "vecadd",
]  # fmt: skip
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover")


def test_all_kernels_are_there() -> None:
    assert list(programs.kernel_names()) == CARRIED


@pytest.mark.parametrize("kernel", programs.kernel_names())
def test_clean_c_at_every_size(kernel: str, tmp_path: Path) -> None:
    """No warning, no stray access, no undefined behaviour, no NaN."""
    program = tmp_path / kernel
    source = programs.source_of(kernel)
    programs.call(("gcc", "-Werror", *SANITIZED, *programs.CFLAGS, source, "-o", program, "-lm"))
    for sizes in programs.size_vectors(kernel):
        output = programs.run(program, sizes)
        assert "nan" not in output
        assert "inf" not in output


def outputs(kernel: str, sizes: programs.Sizes, directory: Path) -> dict[str, list[float]]:
    return printed_arrays(programs.run(programs.build_original(kernel, directory), sizes))


def assert_close(found: list[float], expected: list[float], tolerance: float = 3e-6) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert isclose(a, b, rel_tol=tolerance, abs_tol=tolerance), (a, b)


def product(left: list[list[float]], right: list[list[float]]) -> list[list[float]]:
    columns = list(zip(*right, strict=True))
    return [[fsum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def flat(matrix: list[list[float]]) -> list[float]:
    return [value for row in matrix for value in row]


def dominant(n: int) -> list[list[float]]:
    matrix = rows(initial_values(n * n, 1), n)
    return [[value + n * (i == j) for j, value in enumerate(row)] for i, row in enumerate(matrix)]


def test_mm(tmp_path: Path) -> None:
    n, m, p = 5, 7, 6
    added = product(rows(initial_values(n * p, 2), p), rows(initial_values(p * m, 3), m))
    expected = [a + b for a, b in zip(initial_values(n * m, 1), flat(added), strict=True)]
    assert_close(outputs("mm", (n, m, p), tmp_path)["C"], expected)


def test_matrix_vector_products(tmp_path: Path) -> None:
    n, m = 6, 9
    x, matrix, y = initial_values(n, 1), initial_values(n * m, 2), rows(initial_values(m, 3), 1)
    expected = [a + b for a, b in zip(x, flat(product(rows(matrix, m), y)), strict=True)]
    assert_close(outputs("mv", (n, m), tmp_path)["x"], expected)
    transposed = [list(column) for column in zip(*rows(matrix, n), strict=True)]
    expected = [a + b for a, b in zip(x, flat(product(transposed, y)), strict=True)]
    assert_close(outputs("tmv", (n, m), tmp_path)["x"], expected)


def test_lu_multiplies_back(tmp_path: Path) -> None:
    n = 23
    factors = rows(outputs("lu", (n,), tmp_path)["A"], n)
    lower = [[row[j] if j < i else float(i == j) for j in range(n)] for i, row in enumerate(factors)]
    upper = [[row[j] if j >= i else 0.0 for j in range(n)] for i, row in enumerate(factors)]
    assert_close(flat(product(lower, upper)), flat(dominant(n)))


def test_cholesky_multiplies_back(tmp_path: Path) -> None:
    n = 23
    printed = rows(outputs("cholesky", (n,), tmp_path)["A"], n)
    lower = [[row[j] if j <= i else 0.0 for j in range(n)] for i, row in enumerate(printed)]
    square = product(lower, [list(column) for column in zip(*lower, strict=True)])
    expected = dominant(n)
    for i in range(n):
        assert_close(square[i][: i + 1], expected[i][: i + 1])
        assert_close(printed[i][i + 1 :], expected[i][i + 1 :], 1e-8)


def test_trisolv_solves(tmp_path: Path) -> None:
    n = 23
    lower = [[v if j <= i else 0.0 for j, v in enumerate(row)] for i, row in enumerate(dominant(n))]
    x = rows(outputs("trisolv", (n,), tmp_path)["x"], 1)
    assert_close(flat(product(lower, x)), initial_values(n, 3))


def test_floyd_warshall_agrees_with_relaxation(tmp_path: Path) -> None:
    """Bellman and Ford's way: relax every edge until nothing changes, from each node."""
    n = 13
    length = rows(initial_values(n * n, 1), n)
    found = rows(outputs("floyd-warshall", (n,), tmp_path)["path"], n)
    for source in range(n):
        distance = [0.0 if node == source else inf for node in range(n)]
        for _ in range(n):
            distance = [min(distance[v], *(distance[u] + length[u][v] for u in range(n))) for v in range(n)]
        found[source][source] = 0.0  # the program counts the shortest cycle there
        assert_close(found[source], distance)


def test_symm_reads_the_lower_triangle_as_a_symmetric_matrix(tmp_path: Path) -> None:
    n, m = 7, 5
    stored, right = rows(initial_values(n * n, 2), n), rows(initial_values(n * m, 3), m)
    symmetric = [[stored[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    pairs = zip(initial_values(n * m, 1), flat(product(symmetric, right)), strict=True)
    assert_close(outputs("symm", (n, m), tmp_path)["C"], [1.2 * c + 1.5 * p for c, p in pairs])


def test_covariance_is_the_mean_product_of_deviations(tmp_path: Path) -> None:
    n, m = 11, 6
    columns = list(zip(*rows(initial_values(n * m, 1), m), strict=True))
    means = [fsum(column) / n for column in columns]
    centred = [[v - mean for v in column] for column, mean in zip(columns, means, strict=True)]
    expected = [fsum(a * b for a, b in zip(p, q, strict=True)) / (n - 1) for p in centred for q in centred]
    assert_close(outputs("covariance", (n, m), tmp_path)["cov"], expected)


def test_stencils_keep_a_constant_field(tmp_path: Path) -> None:
    """With all points equal the averaging stencils change nothing, up to the rounding of their factors."""
    for kernel, tolerance in (("jacobi-2d", 1e-6), ("heat-3d", 0), ("seidel-2d", 1e-6)):
        source = programs.source_of(kernel).read_text().replace("2654435761u + seed * 2246822519u", "0u")
        flat_field = tmp_path / f"{kernel}.c"
        flat_field.write_text(source.replace(">> 16)", "+ 98304u)"))
        program = tmp_path / kernel
        programs.call(("gcc", *programs.CFLAGS, flat_field, "-o", program, "-lm"))
        for values in printed_arrays(programs.run(program, (9, 5))).values():
            assert_close(values, [1.5] * len(values), tolerance)
