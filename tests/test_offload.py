"""What --offload leaves on the host: by prices, by tests at run time, on request."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import polygpu
from benchmarks import programs
from polygpu import cli

POWERS = """\
#include <stdio.h>
#include <stdlib.h>

static void powers(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] * x[i] * x[i] * x[i] * x[i] / (1 + x[i] * x[i] * x[i] * x[i] * x[i] * x[i] * x[i])
            / (2 + x[i] * x[i]) / (3 + x[i] * x[i]) / (4 + x[i] * x[i]) / (5 + x[i] * x[i]) / (6 + x[i]);
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]), calls = atoi(argv[2]);
    float *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = 0.5f + i % 7;
    void (*volatile run)(int, float *restrict) = powers; // stays a call
    for (int c = 0; c < calls; c++)
        run(n, x);
    printf("%.17g %.17g\\n", x[0], x[n - 1]);
    return argc < 3;
}
"""
SAXPY = "void f(int n, float a, const float x[restrict n], float y[restrict n])\n{\n%s}\n"
LOOP = "    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n"
MARKED = f"#pragma scop\n{LOOP}#pragma endscop\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compile_c(text: str, *arguments: str) -> int:
    Path("k.c").write_text(text)
    return cli.invoke(["compile", "--device", "8800gtx", *arguments, "k.c"])


def host() -> str:
    return Path("k_host.c").read_text()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The powers, for the emulator, where prices decide."""
    return built(tmp_path_factory.mktemp("powers"), "auto")


def built(directory: Path, offload: str) -> Path:
    source, program = directory / "powers.c", directory / "powers"
    source.write_text(POWERS)
    files = polygpu.compile(source, target="emulator", offload=offload).files
    for suffix, text in files.items():
        (directory / f"powers{suffix}").write_text(text)
    paths = (directory / f"powers{suffix}" for suffix in files)
    programs.call(("gcc", "-O0", "-w", "-ffp-contract=off", *paths, "-o", program, "-lm"))
    return program


def offloaded(program: Path, *arguments: str) -> int:
    """How often the device ran the powers."""
    document = program.with_suffix(".json")
    document.unlink(missing_ok=True)
    programs.call((program, *arguments), POLYGPU_PROFILE=str(document))
    if not document.exists():
        return 0
    regions = json.loads(document.read_text())["regions"]
    return sum(int(r["calls"]) for r in regions if r["name"] == "polygpu_powers_0")


def test_short_loops_run_on_the_host_and_long_ones_on_the_device(program: Path) -> None:
    text = program.with_name("powers_host.c").read_text()
    least = int(text.partition("if (!(n > ")[2].partition(")")[0])
    assert offloaded(program, str(least), "1") == 0
    assert offloaded(program, str(least + 1), "3") == 3


def test_a_loop_of_five_iterations_stays_on_the_host_however_often_it_runs(program: Path) -> None:
    assert offloaded(program, "5", "2000") == 0


def test_both_sides_compute_the_same(program: Path, tmp_path: Path) -> None:
    original = built(tmp_path, "never")
    assert original.with_name("powers_host.c").read_text() == POWERS
    for n in ("5", "5000"):
        assert programs.run(program, (int(n), 2)) == programs.run(original, (int(n), 2))


def test_a_loop_of_five_iterations_known_at_compile_time_stays(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compile_c((SAXPY % LOOP).replace("i < n", "i < 5").replace("[restrict n]", "[restrict 5]")) == 0
    said = capsys.readouterr().err
    assert "k.c:3:5: note: these loops stay on the host, which is faster: " in said
    assert "i < 5" in host() and "polygpu" not in host()
    assert "nothing of it runs on the device" in Path("k_cuda.cu").read_text()


def test_what_copies_outweigh_stays_at_any_size(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c(SAXPY % LOOP) == 0
    said = capsys.readouterr().err
    assert re.search(r"faster at any size: .* of it copies, .* on the host \(n = 4194304, modelled\)", said)


def test_prices_at_stated_sizes(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c(SAXPY % LOOP, "--assume-typical", "n=77") == 0
    assert "(n = 77, modelled)" in capsys.readouterr().err
    assert compile_c(SAXPY % LOOP, "--assume-typical", "m=77") == 1
    assert "no region reads an integer 'm'" in capsys.readouterr().err


def test_always_offloads_without_a_test(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c(SAXPY % LOOP, "--offload", "always") == 0
    assert "if (!polygpu_f_0(n, a, " in host()
    assert "PG33" not in capsys.readouterr().err


def test_the_emulator_is_there_to_see_loops_run(directory: Path) -> None:
    assert compile_c(SAXPY % LOOP, "--target", "emulator") == 0
    assert "if (!polygpu_f_0(" in host()


def test_never_leaves_the_source_as_it_is(directory: Path) -> None:
    assert compile_c(SAXPY % MARKED, "--offload", "never", "--target", "opencl") == 0
    assert host() == SAXPY % MARKED
    assert all("polygpu_f_0" not in Path(f"k_opencl.{end}").read_text() for end in ("c", "cl"))


def test_a_marked_region_goes_with_a_warning(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c(SAXPY % MARKED) == 0
    assert "if (!polygpu_f_0(" in host()
    (warning,) = (line for line in capsys.readouterr().err.splitlines() if "[PG333]" in line)
    assert re.search(
        r"slower on the device: 17 ms on the device, 17 ms of it copies, 8.7 ms on the host", warning
    )


def test_decisions_about_a_loop_ask_for_it(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c(SAXPY % f"#pragma polygpu tile(i: 64)\n{LOOP}") == 0
    assert "if (!polygpu_f_0(" in host()
    assert "[PG333]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "total"),
    [
        ("for (int i = 1; i < n; i++) y[i] = y[i - 1] + x[i];", "y"),
        ("for (int i = n - 2; i >= 0; i--) y[i] = x[i] * y[i + 1];", "y"),
        ("float s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; }", "s"),
        ("float m = x[0]; for (int i = 0; i < n; i++) { m = x[i] > m ? x[i] : m; y[i] = x[i] - m; }", "m"),
        ("for (int i = 1; i < n; i++) y[i] = a * y[i - 1] + x[i];", ""),
        ("for (int i = 2; i < n; i++) y[i] = y[i - 1] + y[i - 2];", ""),
        ("for (int i = 1; i < n; i++) y[i] = x[i] - y[i - 1];", ""),
    ],
)
def test_running_totals_are_called_that(
    body: str, total: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = f"    {body}\n    print(y);\n    for (int i = 0; i < n; i++) y[i] = 1 / (1 / (1 / (1 / x[i])));\n"
    assert compile_c(f"void print(float *);\n{SAXPY % apart}") == 0
    said = re.findall(r"(\w+) is a running total over i", capsys.readouterr().err)
    assert said == ([total] if total else [])


def test_a_chain_stays_beside_loops_that_gain(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A nest that one thread would run, and one of the same function that is worth its copies."""
    chain = "    for (int i = 1; i < n; i++)\n        y[i] += y[i - 1];\n    print(y);\n"
    powers = (
        "    for (int i = 0; i < n; i++)\n        y[i] = 1 / (1 / (1 / (1 / (x[i] + 1) + 2) + 3) + 4) / a;\n"
    )
    assert compile_c(f"void print(float *);\n{SAXPY % (chain + powers)}") == 0
    said = capsys.readouterr().err
    assert re.search(r"k.c:4:.* none of them is parallel \[PG309\]", said)
    assert "y is a running total over i (a prefix sum or the like)" in said
    assert "y[i] += y[i - 1];" in host()
    assert re.search(r"if \(!\(n > \d+\) \|\| !polygpu_f_1\(", host())


def test_a_test_of_sizes_comes_before_the_others_and_is_silent(directory: Path) -> None:
    """Rows of a flattened matrix are guessed, which is tested too."""
    rows = "void f(int n, int m, int k, float *restrict x)\n{\n%s}\n"
    powers = "x[i * m + j] = 1 / (1 / (1 / (1 / (x[i * m + j] + 1) + 2) + 3) + 4);\n"
    loops = f"    for (int i = 0; i < n; i++)\n        for (int j = 0; j < k; j++)\n            {powers}"
    assert compile_c(rows % loops) == 0
    first, *others = re.findall(r'!\((.*)\) \?\n +"(.*)"', host())
    assert re.fullmatch(r"\(double\)n \* k > \d+", first[0])
    assert not first[1]
    assert others
    assert all("the loop runs on the host" in reason for _, reason in others)
    assert "if (polygpu_reason && *polygpu_reason && !polygpu_said)" in host()


def test_running_where_the_host_is_faster_is_said(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("powers.c").write_text(POWERS)
    words = [
        "run",
        "--target",
        "emulator",
        "--offload",
        "auto",
        "--cflags",
        "-O0",
        "powers.c",
        "--",
        "5",
        "1",
    ]
    assert cli.invoke(words) == 0
    assert "no region ran on the device" in capfd.readouterr().err


STEPS = """\
void step(int n, const float *restrict a, float *restrict b) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1]);
}
void run(int n, float *a, float *b) {
    for (int t = 0; t < 50; t++) {
        step(n, a, b);
        OTHER
        float *s = a;
        a = b;
        b = s;
    }
}
"""


@pytest.mark.parametrize(
    ("other", "stays"), [("", 1), ("if (t == 7) b[0] = 1;", 1), ("b[0] = 1;", 0), ("exit(0);", 0)]
)
def test_arrays_that_stay_are_charged_their_copies_once(directory: Path, other: str, stays: int) -> None:
    """Those that cross the bus at each call cost more than the loop gains."""
    assert compile_c(STEPS.replace("OTHER", other)) == 0
    assert host().count("if (!((double)n * n > ") == stays


def test_inspect_says_in_how_many_calls(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.c").write_text(STEPS.replace("OTHER", ""))
    assert cli.invoke(["inspect", "--device", "8800gtx", "k.c"]) == 0
    assert re.search(r"copies \S+ \S+ \(once in 50 calls\), allocations", capsys.readouterr().out)


def test_what_loses_alone_goes_where_its_arrays_are(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sum of 64 elements: each is a launch, and without it the whole array would cross the bus."""
    few = "void few(float *restrict b) {\n    for (int i = 0; i < 64; i++) b[i] += 1;\n}\n"
    assert compile_c(few) == 0
    assert "[PG332]" in capsys.readouterr().err
    assert compile_c(few + STEPS.replace("OTHER", "few(b);")) == 0
    assert "[PG332]" not in capsys.readouterr().err
    assert "if (!polygpu_few_0(" in host()


SLICES = """\
#include <stdio.h>
void f(int m, const int row[restrict m + 1], float *restrict a) {
    for (int j = 0; j < m; j++) {
        PRAGMA
        for (int k = ROW; k < END; k++)
            a[k] = 2 * a[k];
        OTHER
    }
}
"""


@pytest.mark.parametrize(
    ("first", "end", "other", "pragma", "stays"),
    [
        ("row[j]", "row[j + 1]", 'printf("%g", a[j]);', "", True),
        ("j", "m", 'printf("%g", a[j]);', "", True),
        ("row[j]", "row[j + 1]", 'printf("%g", a[j]);', "#pragma polygpu tile(k: 64)", False),
        ("row[0]", "row[m]", 'printf("%g", a[j]);', "", False),
        ("row[j]", "row[j + 1]", 'printf("%d", j);', "", False),
    ],
)
def test_a_few_iterations_of_a_host_loop_are_no_region(
    directory: Path,
    capsys: pytest.CaptureFixture[str],
    first: str,
    end: str,
    other: str,
    pragma: str,
    stays: bool,
) -> None:
    """Unless a pragma marks them, they are all iterations, or their arrays stay on the device."""
    text = SLICES.replace("ROW", first).replace("END", end).replace("OTHER", other).replace("PRAGMA", pragma)
    assert compile_c(text, "--target", "emulator", "--offload", "always") == 0
    assert ("[PG335]" in capsys.readouterr().err) == stays
    assert ("if (!polygpu_f_0(" in host() or "|| !polygpu_f_0(" in host()) != stays
