"""Which nests become one kernel, and what loops its points run."""

from __future__ import annotations

import pytest

from tests.unit.middle import host_text

SQUARES = (
    "int n, int m, float A[restrict n][m], float B[restrict n][m], float C[restrict m][n],"
    " float x[restrict m], float s[restrict n], float t[restrict n]"
)


def kernels(body: str) -> list[str]:
    """The kernels' parallel loops and, in brackets, what runs there: statements, and loops around them."""
    found: list[str] = []
    for line in host_text(SQUARES, body):
        text = line.strip()
        if text.startswith("kernel"):
            found.append(text)
        elif text != "sequence":
            found[-1] += f" {text}"
    return found


def test_sums_of_one_nest_share_their_loop() -> None:
    """As gesummv: each sum is a component of its own."""
    body = (
        "for (int i = 0; i < n; i++) { s[i] = 0; t[i] = 0;"
        " for (int j = 0; j < m; j++) { s[i] += A[i][j] * x[j]; t[i] += B[i][j] * x[j]; } s[i] += t[i]; }"
    )
    assert kernels(body) == ["kernel [S0: i; S1: i; S2: i; S3: i; S4: i] S0 S1 loop [S2: j; S3: j] S2 S3 S4"]


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        # one loop for two of the source
        ("for (int j = 0; j < m; j++) s[i] += A[i][j]; for (int j = 0; j < m; j++) t[i] += B[i][j];",
         ["kernel [S0: i; S1: i] loop [S0: j; S1: j_2] S0 S1"]),
        # the second needs all of the first: it stays behind it, in the kernel, as values pass
        ("for (int j = 0; j < m; j++) s[i] += A[i][j]; for (int j = 0; j < m; j++) t[i] += B[i][j] * s[i];",
         ["kernel [S0: i; S1: i] loop [S0: j] S0 loop [S1: j_2] S1"]),
        # the loops are not the same
        ("for (int j = 0; j < m; j++) s[i] += A[i][j]; for (int j = 1; j < m; j++) t[i] += B[i][j];",
         ["kernel [S0: i] loop [S0: j] S0", "kernel [S1: i] loop [S1: j_2] S1"]),
        # where the second reads what an iteration of the first has written
        ("for (int j = 0; j < m; j++) { s[i] += x[j]; B[i][j] = B[i][j] * s[i]; }",
         ["kernel [S0: i; S1: i] loop [S0: j; S1: j] S0 S1"]),
        # lanes have other directions
        ("for (int j = 0; j < m; j++) { B[i][j] = A[i][j]; C[j][i] = 3; }",
         ["kernel [S0: i | S0: j] S0", "kernel [S1: j | S1: i] S1"]),
        # written by columns in one kernel, A could not be read by way of shared memory
        ("for (int j = 2; j < m; j++) { A[i][j] = 2 * A[i][j - 1]; B[i][j] = B[i][j - 1] + A[i][j - 2]; }",
         ["kernel [S0: i] loop [S0: j] S0", "kernel [S1: i] loop [S1: j] S1"]),
        # what the iteration before has left of it is in a register
        ("for (int j = 1; j < m; j++) { A[i][j] = 2 * A[i][j - 1]; B[i][j] = B[i][j - 1] + A[i][j - 1]; }",
         ["kernel [S0: i; S1: i] loop [S0: j; S1: j] S0 S1"]),
        # what is read of another thread
        ("for (int j = 0; j < m; j++) { B[i][j] = A[i][j]; if (i > 0) A[i - 1][j] = 3; }",
         ["kernel [S0: i | S0: j] S0", "kernel [S1: i | S1: j] S1"]),
    ],
)  # fmt: skip
def test_nests_in_one_loop_of_the_source(inner: str, found: list[str]) -> None:
    assert kernels(f"for (int i = 0; i < n; i++) {{ {inner} }}") == found


@pytest.mark.parametrize(("count", "found"), [(3, 1), (4, 2), (7, 3)])
def test_tiles_of_all_arrays_fit_into_shared_memory(count: int, found: int) -> None:
    arrays = ", ".join(f"float s{k}[restrict n], float A{k}[restrict n][n]" for k in range(count))
    sums = " ".join(f"s{k}[i] += A{k}[i][j];" for k in range(count))
    text = host_text(
        f"int n, {arrays}", f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{ {sums} }}"
    )
    assert sum("kernel" in line for line in text) == found


def test_products_stay_apart() -> None:
    """The results of a thread's points fill its registers."""
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { A[i][j] = 0; B[i][j] = 0;"
        " for (int k = 0; k < n; k++) { A[i][j] += C[k][i] * s[k]; B[i][j] += C[j][k] * s[k]; } }"
    )
    assert kernels(body) == [
        "kernel [S0: i; S2: i | S0: j; S2: j] S0 loop [S2: k] S2",
        "kernel [S1: i; S3: i | S1: j; S3: j] S1 loop [S3: k] S3",
    ]


def test_what_stands_between_moves() -> None:
    """As bicg: both sums begin in kernels of their own."""
    body = (
        "for (int j = 0; j < m; j++) x[j] = 0; for (int i = 0; i < n; i++) { s[i] = 0;"
        " for (int j = 0; j < m; j++) { x[j] += A[i][j] * t[i]; s[i] += A[i][j]; } }"
    )
    assert kernels(body) == [
        "kernel [S0: j; S2: j_2] S0 loop [S2: i] S2", "kernel [S1: i; S3: i] S1 loop [S3: j_2] S3",
    ]  # fmt: skip
