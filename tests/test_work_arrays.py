"""Work arrays of the file that each iteration fills before it reads them: one for each iteration, whose last
one is what the file has afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli

PROGRAM = """
#include <stdio.h>

enum { N = 40 };
double w[N], v[N], t;

/* Ends and inside of `w` are written apart; `t` has two values in each line; n = 0 is not defined. */
void lines(int n, int m, double x[N][N], double y[N][N])
{
    for (int k = 0; k < m; k++) {
        t = x[k][0];
        w[0] = 2 * t;
        for (int i = 1; i < n; i++)
            w[i] = 0.5 * w[i - 1] + x[k][i];
        w[n] = w[n - 1] + x[k][n];
        for (int i = 0; i <= n; i++)
            v[i] = w[i] * w[n - i];
        t = w[n] + w[0];
        for (int i = n - 1; i >= 0; i--)
            y[k][i] = w[i + 1] * t - v[i];
    }
}

int main(void)
{
    static double x[N][N], y[N][N];
    for (int n = 1; n < N; n += 6) {
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                x[k][i] = (k * 5 + i * 3) % 17 * 0.25;
        lines(n, N - n, x, y);
        double sum = 0;
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                sum += y[k][i] * (1 + (k + 2 * i) % 7);
        printf("%.17g %.17g %.17g %.17g %.17g\\n", sum, w[0], w[n], v[n / 2], t);
    }
    return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lines.c"
    path.write_text(PROGRAM)
    return str(path)


def test_lines_run_side_by_side(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["compile", "-t", "cuda", "--device", "h100", "--offload", "always", "--certify", "full"]
    assert cli.invoke([*command, program]) == 0
    said = capfd.readouterr().err
    assert "one thread" not in said
    assert "wrong" not in said
    text = Path("lines_cuda.cu").read_text()
    assert all(f"{name}_all" in text for name in ("w", "v", "t"))


def test_the_last_ones_are_kept(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--target", "emulator", "--offload", "always", "--check", program]
    assert cli.invoke(command) == 0, capfd.readouterr().err
