"""`polygpu run`: the whole program on the emulator, checked and reported on."""

from __future__ import annotations

import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli, pipeline
from polygpu.cli.run import show_output
from polygpu.compilation import Compilation

SUM = """\
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static float x[100], y[100];
    int n = argc > 1 ? atoi(argv[1]) : 100;
#pragma scop
    for (int i = 0; i < 100; i++)
        y[i] = x[i] + 0.5f * i;
#pragma endscop
    for (int i = 0; i < n; i++)
        printf("%.9g\\n", y[i]);
    return argc > 2 ? atoi(argv[2]) : 0;
}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("sum.c").write_text(SUM)
    return "sum.c"


def run(*arguments: str) -> int:
    return cli.invoke(["run", "--target", "emulator", "--cflags", "-O0", *arguments])


def test_output_and_status_are_the_programs(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(source, "--", "3", "42") == 42
    assert capfd.readouterr().out == "0\n0.5\n1\n"
    assert [path.name for path in Path.cwd().iterdir()] == ["sum.c"]


def test_the_report_names_each_kernel(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(source) == 0
    report = capfd.readouterr().err
    assert "emulator: emulated NVIDIA GeForce 8800 GTX" in report
    assert "polygpu_main_0  1 call, " in report
    assert "1 launch, grid " in report
    assert "100 % of " in report
    assert "modelled" in report


def test_quiet_runs_say_nothing(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-q", source) == 0
    assert capfd.readouterr().err == ""


def test_check_compares_with_the_original(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--check", source, "--", "5") == 0
    output = capfd.readouterr()
    assert output.out == "0\n0.5\n1\n1.5\n2\n"
    assert "check: prints what the original prints, to the bit" in output.err


def test_a_wrong_program_has_status_3(
    source: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the compiler had left out a store of the last element."""
    honest = pipeline.File.realise

    def wrong(file: pipeline.File, *words: Any) -> Compilation:
        compilation = honest(file, *words)
        host = compilation.files["_host.c"].replace(
            "for (int i = 0; i < n; i++)", "y[4] = 7;\n    for (int i = 0; i < n; i++)"
        )
        return replace(compilation, files=compilation.files | {"_host.c": host})

    monkeypatch.setattr(pipeline.File, "realise", wrong)
    assert run("--check", source, "--", "4") == 0
    assert run("--check", source, "--", "5") == 3
    error = capfd.readouterr().err
    assert "line 5 of the output differs from the original's\n  original: 2\n  compiled: 7 [PG905]" in error


@pytest.mark.parametrize(
    ("words", "arguments", "why"),
    [((), ("0", "7"), "7: it prints nothing"), (("--ignore", "^"), ("1",), "0: --ignore leaves nothing")],
)
def test_where_only_the_status_was_compared(
    source: str,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    arguments: tuple[str, ...],
    why: str,
) -> None:
    assert run("--check", *words, source, "--", *arguments) == int(why[0])
    assert f"check: only the exit status was compared, {why}" in capfd.readouterr().err


def test_lines_of_no_account_are_ignored(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The two programs have different names."""
    text = SUM.replace("return argc", 'printf("by %s\\n%s: 3 runs\\n", argv[0], argv[0]); return argc')
    Path(source).write_text(text)
    assert (
        run("--check", "--ignore", "^by", "--ignore", r"(?P<name>\S+): \d (runs|times)", source, "--", "2")
        == 0
    )
    assert "to the bit (1 floating-point numbers)" in capfd.readouterr().err
    assert run("--check", "--ignore", "^by", source, "--", "2") == 3


def test_what_is_no_regular_expression(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--check", "--ignore", "(", source) == 2
    assert "'(': missing )" in capfd.readouterr().err


@pytest.mark.parametrize(("terminal", "count"), [(True, 12), (False, 30)])
def test_a_terminal_gets_the_first_lines(
    terminal: bool, count: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a program whose output is captured."""
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    show_output(b"".join(b"%d\n" % k for k in range(30)), stream)
    assert stream.buffer.getvalue().splitlines() == [b"%d" % k for k in range(count)]
    assert ("18 more lines" in capfd.readouterr().err) == terminal


def test_files_and_program_are_kept_on_request(source: str) -> None:
    assert run(source, "-o", "kept/build") == 0
    kept = {path.name for path in Path("kept/build").iterdir()}
    assert {"sum", "sum_host.c", "sum_emulator.c"} <= kept


def test_headers_beside_the_source_are_found(source: str, tmp_path: Path) -> None:
    """The host file is built elsewhere, and includes the header as the source does."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "count.h").write_text("#define COUNT 100\n")
    (project / "sum.c").write_text('#include "count.h"\n' + SUM.replace("i < 100", "i < COUNT"))
    assert run("--check", str(project / "sum.c")) == 0


def test_a_program_that_cannot_be_built(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.c").write_text(SUM + "int f(void) { return undeclared; }\n")
    assert run("bad.c") == 1
    error = capfd.readouterr().err
    assert "[PG903]" in error
    assert "undeclared" in error


def test_a_directory_that_cannot_be_made(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", "sum.c/build") == 1
    assert "cannot write sum.c/build: Not a directory [PG901]" in capfd.readouterr().err


def test_cuda_programs_need_a_device(
    source: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polygpu.runtime.toolchain.has_cuda_device", lambda: False)
    assert cli.invoke(["run", "--target", "cuda", source]) == 1
    error = capfd.readouterr().err
    assert error.startswith(
        "polygpu: error: no CUDA device to run on [PG902]\npolygpu: note: use --target emulator"
    )


def test_model_only_reports_and_prints_nothing(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(SUM.replace("100", "100000"))
    assert run("--model-only", source, "--", "3") == 0
    output = capfd.readouterr()
    assert output.out == ""
    assert "modelled" in output.err
    assert "counted in 9 of its 391 blocks" in output.err


def test_json_says_what_was_counted(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(SUM.replace("100", "100000"))
    found = []
    for words in ((), ("--model-only",)):
        assert run("--json", *words, source, "--", "0") == 0
        (region,) = json.loads(capfd.readouterr().err)["regions"]
        found += [(k["counters_are"], k["time_is_modelled"]) for k in region["kernels"]]
    assert found == [("counted", True), ("counted in part", True)]


@pytest.mark.parametrize("words", [("--check",), ("--target", "opencl")])
def test_model_only_is_the_emulators(source: str, words: tuple[str, ...]) -> None:
    assert run("--model-only", source, *words) == 2


def test_the_report_as_json_and_as_a_plot(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    """100 floats of each array: 7 half-warps of 64 bytes in and 7 out; a product and a sum each."""
    assert run("--json", "--roofline", "roof.svg", source) == 0
    (region,) = json.loads(capfd.readouterr().err)["regions"]
    (kernel,) = region["kernels"]
    assert (region["bytes_to_device"], region["bytes_from_device"]) == (400, 400)
    assert kernel["bytes_moved"] == 2 * 7 * 64
    assert kernel["time_s"] == kernel["time_per_launch_s"] > 0
    assert kernel["gb_per_s"] == pytest.approx(2 * 7 * 64 / kernel["time_s"] / 1e9)
    assert kernel["name"] in Path("roof.svg").read_text()


def test_the_report_as_json_goes_where_it_is_sent(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    """On standard output there is nothing else, so that it can be read by a program."""
    assert run("--json=report.json", source, "--", "2") == 0
    output = capfd.readouterr()
    assert (output.out, output.err) == ("0\n0.5\n", "")
    assert run("--json=-", source, "--", "2") == 0
    output = capfd.readouterr()
    assert output.err == "0\n0.5\n"
    assert json.loads(output.out) == json.loads(Path("report.json").read_text())


def test_doubles_are_warned_of_when_it_is_compiled(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(SUM.replace("float", "double"))
    for device, warned in (("8800gtx", True), ("gtx285", False)):
        assert run("-q", "--device", device, "-o", device, source, "--", "1") == 0
        assert (
            "sum.c:8:9: warning: NVIDIA GeForce 8800 GTX has no double" in capfd.readouterr().err
        ) == warned
    assert subprocess.run("8800gtx/sum", capture_output=True, check=True).stderr == b""


def test_a_plot_without_a_report(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-q", "--roofline", "roof.svg", source) == 0
    assert Path("roof.svg").read_text().startswith("<svg ")
    assert capfd.readouterr().err == ""


CLOCK = """\
#include <omp.h>
#include <stdio.h>
static float x[100], y[100];
int main(void)
{
    double start = omp_get_wtime();
#pragma omp parallel for
    for (int i = 0; i < 100; i++)
        y[i] = x[i] + 0.5f * i;
    printf("%d %g\\n", omp_get_wtime() >= start && omp_get_num_procs() > 0, y[99]);
    return 0;
}
"""


def test_programs_may_call_functions_of_openmp(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(CLOCK)
    assert run("--check", source) == 0
    assert "check: prints what the original prints, to the bit" in capfd.readouterr().err


def test_a_program_whose_other_files_have_all_the_loops(
    source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("first.c").write_text(
        "int last(int n);\n#include <stdio.h>\nint main(void)\n{\n"
        '    for (int i = 0; i < 3; i++)\n        printf("%d\\n", last(i));\n    return 0;\n}\n'
    )
    Path("last.c").write_text("int last(int n) { int k = 0; while (k * k < n) k++; return k; }\n")
    assert run("--check", "--offload", "always", "first.c", "--with", "last.c") == 0
    assert "no region ran on the device" in capfd.readouterr().err
