"""A dialect is a table and a folder of templates: HIP, which polygpu does not know, compiles and runs.

It lies in tests/new_dialect as a package of its own would bring it along, with a header that plays HIP on
the processor.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import cli
from polygpu.compilation import Options
from polygpu.devices import load
from polygpu.pipeline import compile_file
from polygpu.printing import dialects
from polygpu.printing.dialect import Dialect
from polygpu.printing.emit import emit_device
from tests.new_dialect.polygpu_hip import HIP
from tests.support_kernels import unavailable
from tests.unit import kernel_programs

FOLDER = Path(__file__).parent / "new_dialect"
MM = programs.source_of("mm")
FLAGS = ("-O1", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unknown-pragmas")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is registered in a test is forgotten after it."""
    with monkeypatch.context() as patch:
        patch.setattr(dialects, "_registered", dict(dialects._registered))
        yield


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """PYTHONPATH with HIP as an installed package."""
    metadata = tmp_path / "polygpu_hip-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: polygpu-hip\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[polygpu.dialects]\nhip = polygpu_hip:HIP\n")
    return os.pathsep.join(map(str, (programs.ROOT, FOLDER, tmp_path)))


def kernels(text: str) -> list[str]:
    """The bodies of the kernels of a file of CUDA or HIP."""
    return re.findall(r"__global__[^{]*(\n\{\n.*?\n\}\n)", text, re.DOTALL)


def test_a_registered_dialect_is_a_target(registry: None) -> None:
    dialects.register(HIP)
    options = Options(target="hip", device="8800gtx")
    files = compile_file(str(MM), options).files
    assert list(files) == ["_host.c", "_hip.cpp"]
    assert "#include <hip/hip_runtime.h>" in files["_hip.cpp"]
    assert '"target\\": \\"hip\\"' in files["_hip.cpp"]
    assert "cuda" not in files["_hip.cpp"]
    cuda = compile_file(str(MM), replace(options, target="cuda")).files
    assert files["_host.c"] == cuda["_host.c"]
    assert kernels(files["_hip.cpp"]) == kernels(cuda["_cuda.cu"]) != []


def test_an_installed_dialect_compiles_programs_that_run(installed: str, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        unavailable("no g++")
    command = (sys.executable, "-m", "polygpu", "compile", MM, "--target", "hip", "-o", f"{tmp_path}/")
    programs.call(command, PYTHONPATH=installed)
    files = [tmp_path / f"mm_h{rest}" for rest in ("ost.c", "ip.cpp")]
    objects = [file.with_suffix(".o") for file in files]
    programs.call(("gcc", *FLAGS, "-c", files[0], "-o", objects[0]))
    shim = ("-std=c++20", "-pthread", "-fno-strict-aliasing", "-I", FOLDER / "shim")
    programs.call(("g++", *FLAGS, *shim, "-c", files[1], "-o", objects[1]))
    programs.call(("g++", "-pthread", *objects, "-o", tmp_path / "mm"))
    original = programs.build_original("mm", tmp_path)
    for sizes in ((0,), (1,), (70, 45, 37), (3, 130, 65)):
        assert programs.run(tmp_path / "mm", sizes) == programs.run(original, sizes)


def test_the_command_line_lists_installed_dialects(installed: str) -> None:
    for arguments in (("--help",), ("-t", "hipp", MM)):
        command = (sys.executable, "-m", "polygpu", "compile", *arguments)
        said = programs.call(("sh", "-c", '"$@" 2>&1 || :', "sh", *command), PYTHONPATH=installed).stdout
        assert re.search(r"cuda\W+opencl\W+emulator\W+hip\b", said)


def test_programs_of_other_dialects_are_built_elsewhere(
    registry: None, capfd: pytest.CaptureFixture[str]
) -> None:
    dialects.register(HIP)
    assert cli.invoke(["run", "--target", "hip", str(MM)]) == 1
    assert "how programs for hip are built is not known [PG902]" in capfd.readouterr().err


def test_a_template_of_the_dialect_stands_in_for_one_of_polygpu(registry: None, tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "profile.c.j2").write_text("// no profile\n")
    dialects.register(replace(dialects.CUDA, name="quiet", templates=tmp_path))
    unit = kernel_programs.saxpy()
    (quiet,) = emit_device(unit, load("generic"), "quiet").values()
    (cuda,) = emit_device(unit, load("generic"), "cuda").values()
    assert "// no profile\n" in quiet
    assert "write_profile" not in quiet.partition("\nnamespace {")[0]
    assert kernels(quiet) == kernels(cuda) != []


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (replace(HIP, name="cuda"), "two dialects cuda"),
        (Dialect("fortran"), "the dialect fortran has no files"),
    ],
)
def test_what_is_no_new_target_is_refused(registry: None, dialect: Dialect, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        dialects.register(dialect)
    with pytest.raises(ValueError, match="no target metal; there are cuda, opencl, emulator"):
        dialects.find("metal")
