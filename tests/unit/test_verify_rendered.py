"""How a counterexample reads. Which one isl picks is its own affair; that it is one follows from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from polygpu.lower.realise import CompiledRegion
from polygpu.report.verify import certificate_lines
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import Certificate
from tests.mutant_runs import Bench
from tests.unit import expression_mutants, kernel_mutants, pass_mutants

RUNNING = """\
void running(int n, int a[restrict n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1];
#pragma endscop
}
"""
FILL = """\
void fill(int n, int a[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 7;
#pragma endscop
}
"""
PRODUCT = """\
void product(int n, int m, const float A[restrict n][m], const float y[restrict m], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += A[i][j] * y[j];
#pragma endscop
}
"""


def compiled(directory: Path, name: str, text: str) -> CompiledRegion:
    file = directory / f"{name}.c"
    file.write_text(text)
    return Bench(file, "8800gtx", directory).region


def numbers(certificate: Certificate, pattern: str) -> tuple[str, tuple[int, ...]]:
    """The text of the certificate's failures, and the numbers in the first place that fits."""
    text = "\n".join(certificate_lines(certificate))
    found = re.search(pattern, text)
    assert found, text
    return text, tuple(map(int, found.groups()))


def wrong(lines: str) -> Iterator[str]:
    """`lines` as the report indents the details of a failure."""
    title, *details = lines.strip("\n").splitlines()
    yield title
    yield from (f"          {line}" for line in details)


def test_a_dependence_that_is_not_kept(tmp_path: Path) -> None:
    region = compiled(tmp_path, "running", RUNNING)
    (mistake,) = pass_mutants.forgotten_dependences(region.dependences)
    with mistake:
        made = Bench(tmp_path / "running.c", "8800gtx", tmp_path).region
    text, (i, n) = numbers(certify(made), r"source   S0\[i=(\d+)\][^$]*?where    n=(\d+)")
    assert 1 <= i < i + 1 < n  # two iterations of the loop, the second reads what the first stored
    expected = f"""
WRONG   dependences: running_0_k0: a dependence of the source is not kept
source   S0[i={i}] at running.c:5: a[i] = a[i - 1];
target   S0[i={i + 1}] at running.c:5: a[i] = a[i - 1];
element  a[{i}]
where    n={n}
"""
    assert "\n".join(wrong(expected)) in text


def test_a_race(tmp_path: Path) -> None:
    """Threads copy 64 rows of 16 elements, 16 threads a row, and then a thread sums each row."""
    region = compiled(tmp_path, "product", PRODUCT)
    first = next(kernel_mutants.kernel_variants(region.region, kernel_mutants.without_barrier))
    certificate = certify(Bench(tmp_path / "product.c", "8800gtx", tmp_path).with_region(first))
    pattern = r"thread \((\d+), 0, 0\) writes[^$]*?S0\[i=(\d+), j=(\d+)\][^$]*?where    n=(\d+), m=(\d+)"
    text, (writer, i, j, n, m) = numbers(certificate, pattern)
    row, column = i % 64, j % 16
    assert (i < n, j < m) == (True, True)
    assert writer % 16 == column
    assert (row - writer // 16) % 4 == 0  # 64 threads fill four rows at a time
    assert writer != row
    expected = f"""
WRONG   values: product_0_k0: two threads touch a shared element with no barrier in between
source   thread ({writer}, 0, 0) writes in the copy of 'A' to 'A_s'
target   thread ({row}, 0, 0) reads in S0[i={i}, j={j}] at product.c:6: x[i] += A[i][j] * y[j];
element  A_s[{row}][{column}]
where    n={n}, m={m}
"""
    assert "\n".join(wrong(expected)) in text


def test_another_element(tmp_path: Path) -> None:
    """A copy of the row below: what an instance gets as A[i][j] is A[i + 1][j]."""
    region = compiled(tmp_path, "product", PRODUCT)
    below = next(expression_mutants.other_copied_elements(region.region))
    certificate = certify(Bench(tmp_path / "product.c", "8800gtx", tmp_path).with_region(below))
    pattern = r"reads another[^$]*?S0\[i=(\d+), j=(\d+)\][^$]*?where    n=(\d+), m=(\d+)"
    text, (i, j, n, m) = numbers(certificate, pattern)
    assert (i < n, j < m) == (True, True)
    expected = f"""
WRONG   values: product_0_k0: reads another element than the source
target   S0[i={i}, j={j}] at product.c:6: x[i] += A[i][j] * y[j];
element  A[{i + 1}][{j}], not A[{i}][{j}]
where    n={n}, m={m}
"""
    assert "\n".join(wrong(expected)) in text


def test_an_access_out_of_bounds(tmp_path: Path) -> None:
    """A guard `i <= n` lets the thread with i = n in."""
    region = compiled(tmp_path, "fill", FILL)
    (mutant,) = expression_mutants.other_guards(region.region)
    certificate = certify(Bench(tmp_path / "fill.c", "8800gtx", tmp_path).with_region(mutant))
    pattern = r"by       thread \((\d+), 0, 0\) of block \((\d+), 0, 0\)[^$]*?where    n=(\d+)"
    text, (thread, block, n) = numbers(certificate, pattern)
    assert n == block * region.region.kernels[0].block[0] + thread
    expected = f"""
WRONG   bounds: fill_0_k0: an access outside of global array 'a'
by       thread ({thread}, 0, 0) of block ({block}, 0, 0), S0[i={n}] at fill.c:5: a[i] = 7;
element  a[{n}]
where    n={n}
"""
    assert "\n".join(wrong(expected)) in text


def test_what_was_proved_is_counted(tmp_path: Path) -> None:
    """One store without reads is one access, and one pair with itself."""
    region = compiled(tmp_path, "fill", FILL)
    lines = list(certificate_lines(certify(region)))
    assert lines[:6] == [
        "proved  dependences: every dependence of the source is kept (1 pair of accesses)",
        "proved  barriers: all threads of a block meet at each (0 barriers)",
        "proved  values: each instance reads what the source reads, through all copies; "
        "no two threads race (0 reads)",
        "proved  bounds: all accesses lie inside of their global, shared and private arrays (1 access)",
        "proved  ranges: all integers computed of sizes and indices fit into their types (12 expressions)",
        "proved  instances: every instance of the source is executed, nothing else has an effect (1 action)",
    ]
    assert re.fullmatch(r"proved after \d+\.?\d* (s|ms|us)", lines[6])


def test_failures_of_one_kind_are_shown_once(tmp_path: Path) -> None:
    """Failures that differ in their counterexample alone are shown once, and counted."""
    region = compiled(tmp_path, "product", PRODUCT)
    first = next(kernel_mutants.kernel_variants(region.region, kernel_mutants.without_barrier))
    certificate = certify(Bench(tmp_path / "product.c", "8800gtx", tmp_path).with_region(first))
    shown = [line for line in certificate_lines(certificate) if line.startswith("WRONG")]
    assert len(shown) == len(set(shown)) < len(certificate.failures)
    assert sum(count for _, count in certificate.distinct) == len(certificate.failures)
