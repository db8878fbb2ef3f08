"""`polygpu compile` as a build system sees it: files, exit status, dependencies, diagnostics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli, pipeline

SCALE = """\
#include <stdio.h>
#include "factor.h"

void scale(int n, float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] = FACTOR * x[i];
#pragma endscop
}
"""
BROKEN = SCALE.replace("x[i];", "x[i]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a source and the header it includes."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/factor.h").write_text("#define FACTOR 2\n")
    (tmp_path / "scale.c").write_text(SCALE)
    (tmp_path / "broken.c").write_text(BROKEN)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compile_c(*arguments: str) -> int:
    """`polygpu compile`, without a word about the prices of a loop as short as SCALE's."""
    return cli.invoke(["compile", "-Iinclude", "--offload", "always", *arguments])


def written(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("cuda", ["scale_cuda.cu", "scale_host.c"]),
        ("opencl", ["scale_host.c", "scale_opencl.c", "scale_opencl.cl"]),
        ("emulator", ["scale_emulator.c", "scale_host.c"]),
    ],
)
def test_each_target_writes_its_files(project: Path, target: str, files: list[str]) -> None:
    assert compile_c("--target", target, "scale.c", "-o", "out/") == 0
    assert written(project / "out") == files
    call = (project / "out/scale_host.c").read_text()
    assert "polygpu_scale_0(" in call
    assert '#include "factor.h"' in call


def test_a_second_run_touches_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c("scale.c", "-o", "out/") == 0
    for path in (project / "out").iterdir():
        os.utime(path, (1, 1))
    assert compile_c("-v", "scale.c", "-o", "out/") == 0
    assert {path.stat().st_mtime for path in (project / "out").iterdir()} == {1}
    assert capsys.readouterr().err.count("(unchanged)") == 2


@pytest.mark.parametrize(
    "spelling",
    [
        ["-D", "FACTOR2=3", "-U", "NDEBUG", "-I", "include", "-include", "factor.h", "-std=c99"],
        ["-DFACTOR2=3", "-UNDEBUG", "-Iinclude", "-includefactor.h", "-std=c99"],
    ],
)
def test_options_in_both_spellings_of_gcc(project: Path, spelling: list[str]) -> None:
    text = SCALE.replace('#include "factor.h"\n', "").replace("FACTOR *", "FACTOR * FACTOR2 *")
    (project / "plain.c").write_text(text)
    assert cli.invoke(["compile", *spelling, "plain.c", "-o", "out/"]) == 0


def test_an_error_in_one_of_several_files_leaves_all_unwritten(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compile_c("scale.c", "broken.c", "-o", "out/") == 1
    assert written(project / "out") == []
    error = capsys.readouterr().err
    assert error.startswith("broken.c:9:2: error: ")
    assert error.count("error: ") == 1


def test_usage_errors_have_status_2(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        [],
        ["--target", "vulkan", "scale.c"],
        ["-MF", "x.d", "scale.c"],
        ["--nonsense", "scale.c"],
    ):
        assert compile_c(*arguments) == 2
        assert capsys.readouterr().err.startswith("Usage: polygpu compile")
    assert cli.invoke(["nonsense"]) == 2
    assert written(project / "out") == []


@pytest.mark.parametrize(
    ("output", "message", "help_text"),
    [
        (
            "missing/scale",
            "cannot write missing/scale_host.c: No such file or directory [PG901]",
            "mkdir -p missing",
        ),
        (
            "scale.c/x",
            "cannot write scale.c/x_host.c: Not a directory [PG901]",
            "choose another place with -o",
        ),
        ("taken", "cannot write taken_host.c: Is a directory [PG901]", "write `-o taken_host.c/`"),
        ("/proc/", "cannot write /proc/scale_host.c: No such file or directory [PG901]", "choose a place"),
    ],
)
def test_an_output_that_cannot_be_written_is_said_before_any_work(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    output: str, message: str, help_text: str,
) -> None:  # fmt: skip
    def too_late(*_: Any) -> None:
        raise AssertionError("compiled before looking at the output")

    monkeypatch.setattr(pipeline, "compile_file", too_late)
    (project / "taken_host.c").mkdir()
    assert compile_c("scale.c", "-o", output) == 1
    error = capsys.readouterr().err.splitlines()
    assert error[0] == f"polygpu: error: {message}"
    assert error[1].startswith("polygpu: note: ")
    assert help_text in error[1]
    assert len(error) == 2


def test_a_directory_is_made(project: Path) -> None:
    assert compile_c("scale.c", "-o", "new/build/") == 0
    assert (project / "new/build/scale_host.c").is_file()


def test_a_bug_of_ours_is_one_message_and_status_4(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(pipeline.File, "realise", broken)
    assert compile_c("scale.c") == 4
    error = capsys.readouterr().err
    assert error.startswith("polygpu: internal error: ZeroDivisionError: oops (at test_cli_compile.py:")
    assert "[PG900]" in error
    assert "Traceback" not in error
    monkeypatch.setenv("POLYGPU_DEBUG", "1")
    assert compile_c("scale.c") == 4
    assert "Traceback" in capsys.readouterr().err


def test_a_file_without_regions_has_status_1_and_no_output(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = pipeline.File.realise
    monkeypatch.setattr(
        pipeline.File, "realise", lambda *words: replace(honest(*words), regions=(), files={})
    )
    assert compile_c("scale.c", "-o", "out/") == 1
    assert "no region of scale.c can run on the device [PG907]" in capsys.readouterr().err
    assert written(project / "out") == []


def gcc_dependencies(*flags: str) -> str:
    command = ("gcc", "-E", *flags, "-MF", "gcc.d", "-Iinclude", "scale.c", "-o", os.devnull)
    subprocess.run(command, check=True)
    return Path("gcc.d").read_text()


@pytest.mark.parametrize("flags", [["-MMD"], ["-MMD", "-MP"], ["-MD"], ["-MD", "-MMD"]])
def test_dependencies_are_gccs(project: Path, flags: list[str]) -> None:
    """The same prerequisites and phony rules; only the order of system headers is free."""
    assert compile_c("scale.c", "-o", "out/", *flags, "-MF", "x.d", "-MT", "out/x") == 0
    found = (project / "x.d").read_text()
    expected = gcc_dependencies(*flags, "-MT", "out/x")
    if "-MMD" in flags:
        assert found == expected
    assert sorted(found.replace("\\\n", "").split()) == sorted(expected.replace("\\\n", "").split())


def test_the_dependency_file_goes_beside_the_outputs_and_names_them(project: Path) -> None:
    assert compile_c("scale.c", "-o", "out/stem", "-MMD") == 0
    rule = (project / "out/stem.d").read_text()
    assert rule == "out/stem_host.c out/stem_cuda.cu: scale.c include/factor.h\n"


def test_the_dependency_file_is_always_fresh(project: Path) -> None:
    """Outputs keep their time when they do not change, so a build needs one file that tells of the run."""
    assert compile_c("scale.c", "-o", "out/", "-MMD") == 0
    os.utime("out/scale.d", (1, 1))
    assert compile_c("scale.c", "-o", "out/", "-MMD") == 0
    assert (project / "out/scale.d").stat().st_mtime > 1


def test_diagnostics_as_json_and_sarif(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c("broken.c", "--diagnostics", "json") == 1
    found = json.loads(capsys.readouterr().err)
    assert (found[0]["severity"], found[0]["file"], found[0]["line"]) == ("error", "broken.c", 9)
    assert compile_c("broken.c", "--diagnostics", "sarif") == 1
    log = json.loads(capsys.readouterr().err)
    assert log["runs"][0]["results"][0]["ruleId"] == found[0]["id"]
    assert compile_c("scale.c", "-o", "out/", "--diagnostics", "json") == 0
    assert json.loads(capsys.readouterr().err) == []


def test_emit_prints_and_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = written(project)
    for kind, words in (("host", "polygpu_scale_0("), ("device", "__global__"), ("schedule", "scale")):
        assert compile_c("--emit", kind, "scale.c") == 0
        assert words in capsys.readouterr().out
    assert written(project) == before


def test_time_of_each_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_c("--time-passes", "scale.c", "-o", "out/") == 0
    rows = [line.split() for line in capsys.readouterr().err.splitlines() if " ms " in line]
    assert rows[-1][2] == "total"
    assert float(rows[-1][0]) == pytest.approx(sum(float(row[0]) for row in rows[:-1]), abs=0.1 * len(rows))


def in_process_of_its_own(code: str, directory: Path, **environment: str) -> str:
    process = subprocess.run(
        (sys.executable, "-c", code), cwd=directory, env=os.environ | environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return process.stdout


HEAVY = "{'sympy', 'numpy', 'rich', 'pyopencl'}"
COMMAND = "import sys; from polygpu import cli; status = cli.invoke({}); "


def test_compile_does_not_import_what_only_reports_need(project: Path) -> None:
    command = COMMAND.format(["compile", "-Iinclude", "scale.c", "-o", "out/"])
    code = command + f"print(status, {HEAVY} & set(sys.modules))"
    assert in_process_of_its_own(code, project) == "0 set()\n"


def test_the_program_does_not_import_what_is_about_packages(project: Path) -> None:
    """Which islpy does, to say its own version."""
    shown = "print(status, {'email', 'importlib.metadata'} & set(sys.modules))"
    at_the_end = f"leave, me = os._exit, os.getpid(); os._exit = lambda status: {shown}"
    at_the_end += " if os.getpid() == me else leave(status)"  # copies of the process make certificates
    arguments = ["compile", "-Iinclude", "scale.c", "-o", "out/"]
    code = f"import os, sys; from polygpu import cli; sys.argv[1:] = {arguments}; {at_the_end}; cli.main()"
    assert in_process_of_its_own(code, project) == "0 set()\n"


def test_help_does_not_import_the_compiler(project: Path) -> None:
    code = COMMAND.format(["--help"]) + "print('islpy' in sys.modules, 'polygpu.pipeline' in sys.modules)"
    assert in_process_of_its_own(code, project).endswith("False False\n")


@pytest.mark.parametrize("target", ["cuda", "opencl", "emulator"])
def test_output_depends_on_neither_hash_seed_nor_directory(project: Path, target: str) -> None:
    """The same bytes from another directory, and whatever the order of sets and dictionaries of strings."""
    texts = set()
    places = (
        ("0", project, "scale.c"),
        ("1", project.parent, f"{project.name}/scale.c"),
        ("random", Path("/"), ""),
    )
    for number, (seed, directory, source) in enumerate(places):
        output = project / f"out/{number}"
        output.mkdir()
        path = source or str(project / "scale.c")
        arguments = ["compile", "--target", target, "-I", str(project / "include"), path, "-o", f"{output}/"]
        in_process_of_its_own(COMMAND.format(arguments) + "sys.exit(status)", directory, PYTHONHASHSEED=seed)
        texts.add(tuple((path.name, path.read_bytes()) for path in sorted(output.iterdir())))
    assert len(texts) == 1
