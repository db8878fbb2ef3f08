"""Finding tools, building and running programs: with the C compiler that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.runtime import toolchain
from polygpu.runtime.build import Recipe, build_original, build_program
from polygpu.runtime.execute import run_program
from polygpu.support.diagnostics import Diagnosed


def script(path: Path, text: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def refusal(error: pytest.ExceptionInfo[Diagnosed]) -> tuple[str, str]:
    diagnostic = error.value.diagnostics[0]
    return diagnostic.id, diagnostic.message


def test_the_c_compiler_is_the_chosen_one_then_cc_then_the_first_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "gcc")
    script(tmp_path / "mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert toolchain.find_cc() == ("gcc",)
    monkeypatch.setenv("CC", "mine -m64")
    assert toolchain.find_cc() == ("mine", "-m64")
    assert toolchain.find_cc("gcc -g") == ("gcc", "-g")


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(Diagnosed) as error:
        toolchain.find_cc()
    assert refusal(error) == ("PG902", "no C compiler: cc, gcc, clang not found")
    with pytest.raises(Diagnosed) as error:
        toolchain.find_cc("nosuchcc")
    assert refusal(error) == ("PG902", "no C compiler: nosuchcc not found")


def test_nvcc_by_environment_then_path_then_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, path = script(tmp_path / "cuda/bin/nvcc"), script(tmp_path / "bin/nvcc")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    assert toolchain.find_nvcc() == (str(home),)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert toolchain.find_nvcc() == (str(path),)
    monkeypatch.setenv("NVCC", f"{home} -v")
    assert toolchain.find_nvcc() == (str(home), "-v")
    monkeypatch.setenv("NVCC", "nosuchnvcc")
    with pytest.raises(Diagnosed) as error:
        toolchain.find_nvcc()
    assert refusal(error) == ("PG902", "NVCC names nosuchnvcc, which is not found")


def test_no_opencl_is_no_error(tmp_path: Path) -> None:
    assert toolchain.opencl_devices((str(script(tmp_path / "cc", "exit 1")),)) is None


def test_host_and_device_file_become_one_program(tmp_path: Path) -> None:
    """The user's macros reach the host file only; the program's status and output come through."""
    host, device = tmp_path / "x_host.c", tmp_path / "x_emulator.c"
    host.write_text('#include <stdio.h>\nint f(int);\nint main(void) { printf("%d\\n", f(N)); return 7; }\n')
    device.write_text("int f(int n) { return n * n; }\n#ifdef N\n#error\n#endif\n")
    recipe = Recipe("emulator", toolchain.find_cc(), language=("-DN=12",))
    program = tmp_path / "x"
    build_program({"_host.c": host, "_emulator.c": device}, program, recipe)
    execution = run_program(program, capture=True)
    assert (execution.status, execution.stdout) == (7, b"144\n")


def test_a_failed_build_shows_the_compilers_words(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return undeclared; }\n")
    with pytest.raises(Diagnosed) as error:
        build_original(source, tmp_path / "x", Recipe("emulator", toolchain.find_cc()))
    identity, message = refusal(error)
    assert identity == "PG903"
    assert "exit status 1" in message
    assert "'undeclared' undeclared" in message


def test_input_arguments_environment_and_signals(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("read\n")
    echo = script(tmp_path / "echo", 'cat; echo "$1 $COLOUR"')
    execution = run_program(echo, ("a b",), capture=True, stdin=text, environment={"COLOUR": "red"})
    assert execution.stdout == b"read\na b red\n"
    assert run_program(script(tmp_path / "quiet", "cat"), capture=True).stdout == b""
    assert run_program(script(tmp_path / "killed", "kill -9 $$"), capture=True).status == 128 + 9


def test_programs_that_do_not_end_or_do_not_start(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as error:
        run_program(script(tmp_path / "slow", "exec sleep 30"), capture=True, timeout=0.2)
    assert refusal(error) == ("PG904", "slow did not end within 0.2 s")
    with pytest.raises(Diagnosed) as error:
        run_program(tmp_path / "missing", capture=True)
    assert refusal(error)[0] == "PG904"
