"""The benchmark kernels themselves: clean C at every size, and right by arithmetic done another way."""

from __future__ import annotations

from functools import cache
from math import exp, fsum, inf, isclose, sqrt
from pathlib import Path

import pytest

from benchmarks import programs
from tests.support_kernels import initial_values, printed_arrays, rows, some_by_default

CARRIED = [
    "2mm", "3mm", "adi", "atax", "bicg", "cholesky", "conv2d", "correlation", "covariance", "deriche",
    "doitgen", "durbin", "fdtd-2d", "floyd-warshall", "gemm", "gemver", "gesummv", "gramschmidt", "heat-3d",
    "increment", "jacobi-1d", "jacobi-2d", "lu", "ludcmp", "mm", "mv", "mvt", "nussinov", "saxpy",
    "seidel-2d", "symm", "syr2k", "syrk", "tmv", "transpose", "trisolv", "trmm", "vecadd",
]  # fmt: skip
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover")


def test_all_kernels_are_there() -> None:
    assert list(programs.kernel_names()) == CARRIED


@pytest.mark.parametrize("kernel", some_by_default([(k,) for k in programs.kernel_names()], one_in=4))
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


def test_ludcmp_solves(tmp_path: Path) -> None:
    n = 23
    found = outputs("ludcmp", (n,), tmp_path)
    assert_close(flat(product(dominant(n), rows(found["x"], 1))), initial_values(n, 2), 1e-5)
    lower = [
        [v if j < i else float(i == j) for j, v in enumerate(row)]
        for i, row in enumerate(rows(found["A"], n))
    ]
    assert_close(flat(product(lower, rows(found["y"], 1))), initial_values(n, 2))


def test_durbin_solves_the_toeplitz_system(tmp_path: Path) -> None:
    n = 23
    r = [value / (2 * n) for value in initial_values(n, 1)]
    toeplitz = [[r[abs(i - j) - 1] if i != j else 1.0 for j in range(n)] for i in range(n)]
    y = rows(outputs("durbin", (n,), tmp_path)["y"], 1)
    assert_close(flat(product(toeplitz, y)), [-value for value in r], 1e-7)


def test_gramschmidt_multiplies_back(tmp_path: Path) -> None:
    m, more = 7, 5
    n = m + more
    given = rows(initial_values(n * m, 1), m)
    given = [[value + m * (i == j) for j, value in enumerate(row)] for i, row in enumerate(given)]
    found = outputs("gramschmidt", (m, more), tmp_path)
    q, printed = rows(found["Q"], m), rows(found["R"], m)
    upper = [[v if j >= i else 0.0 for j, v in enumerate(row)] for i, row in enumerate(printed)]
    assert_close(flat(product(q, upper)), flat(given))
    columns = [list(column) for column in zip(*q, strict=True)]
    assert_close(flat(product(columns, q)), [float(i == j) for i in range(m) for j in range(m)])
    untouched = rows(initial_values(m * m, 3), m)
    for i in range(m):
        assert_close(printed[i][:i], untouched[i][:i], 1e-8)


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


def test_correlation_is_the_cosine_between_deviations(tmp_path: Path) -> None:
    n, m = 11, 6
    columns = list(zip(*rows(initial_values(n * m, 1), m), strict=True))
    centred = [[v - fsum(column) / n for v in column] for column in columns]
    lengths = [sqrt(fsum(v * v for v in column)) for column in centred]
    expected = [
        fsum(a * b for a, b in zip(p, q, strict=True)) / (lengths[i] * lengths[j])
        for i, p in enumerate(centred)
        for j, q in enumerate(centred)
    ]
    assert_close(outputs("correlation", (n, m), tmp_path)["corr"], expected)


def test_correlation_of_a_single_sample_is_that_of_constants(tmp_path: Path) -> None:
    found = outputs("correlation", (1, 3), tmp_path)
    assert found["corr"] == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert found["deviation"] == [1, 1, 1]


def smoothed(line: list[float], alpha: float) -> list[float]:
    """The convolution that the recursive filter stands for, with zeros beyond the ends."""
    fall = exp(-alpha)
    k = (1 - fall) ** 2 / (1 + 2 * alpha * fall - fall * fall)
    weight = [k * (1 + alpha * x) * exp(-alpha * x) for x in range(len(line))]
    return [fsum(weight[abs(i - j)] * v for j, v in enumerate(line)) for i in range(len(line))]


def test_deriche_is_a_convolution_in_both_directions(tmp_path: Path) -> None:
    n, m, alpha = 9, 14, 0.5
    across = [smoothed(row, alpha) for row in rows(initial_values(n * m, 1), m)]
    down = [smoothed(list(column), alpha) for column in zip(*across, strict=True)]
    expected = flat([list(row) for row in zip(*down, strict=True)])
    assert_close(outputs("deriche", (n, m), tmp_path)["smooth"], expected)


def test_nussinov_agrees_with_the_choice_of_one_partner(tmp_path: Path) -> None:
    """Another recurrence: the first base stays alone, or pairs and splits the rest in two."""
    n = 26
    base = [((t * 2654435761 + 2246822519) % 2**32) >> 30 for t in range(n)]

    @cache
    def most(i: int, j: int) -> int:
        if j <= i:
            return 0
        partners = (k for k in range(i + 2, j + 1) if base[i] + base[k] == 3)
        return max(most(i + 1, j), *(1 + most(i + 1, k - 1) + most(k + 1, j) for k in partners), 0)

    found = outputs("nussinov", (n,), tmp_path)["pairs"]
    assert most(0, n - 1) >= n // 4
    assert found == [most(i, j) for i in range(n) for j in range(n)]


def test_adi_solves_both_half_steps(tmp_path: Path) -> None:
    """(1 - r/2 dyy) v = (1 + r/2 dxx) u and (1 - r/2 dxx) u' = (1 + r/2 dyy) v inside, u' = u on the edge."""
    n, ratio = 12, 0.75
    before = rows(initial_values(n * n, 1), n)
    found = outputs("adi", (n, 1), tmp_path)
    after, half = rows(found["u"], n), rows(found["v"], n)
    for j in range(n):
        half[0][j], half[-1][j] = before[0][j], before[-1][j]
    inside = [(i, j) for i in range(1, n - 1) for j in range(1, n - 1)]

    def along(u: list[list[float]], i: int, j: int) -> float:
        return ratio / 2 * (u[i][j - 1] - 2 * u[i][j] + u[i][j + 1])

    def down(u: list[list[float]], i: int, j: int) -> float:
        return ratio / 2 * (u[i - 1][j] - 2 * u[i][j] + u[i + 1][j])

    left = [half[i][j] - down(half, i, j) for i, j in inside]
    assert_close(left, [before[i][j] + along(before, i, j) for i, j in inside])
    left = [after[i][j] - along(after, i, j) for i, j in inside]
    assert_close(left, [half[i][j] + down(half, i, j) for i, j in inside])
    edge = [(i, j) for i in range(n) for j in range(n) if (i, j) not in inside]
    assert all(abs(after[i][j] - before[i][j]) < 1e-8 for i, j in edge)


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
