"""Where `-o` puts files, and how they are written."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from polygpu.cli.outputs import place, place_all
from polygpu.support.files import check_writable, write_files


def names(source: str, output: str | None, target: str) -> list[str]:
    return [str(path) for path in place(source, output, target).values()]


def test_without_o_files_go_to_the_current_directory() -> None:
    assert names("src/loop.c", None, "cuda") == ["loop_host.c", "loop_cuda.cu"]
    assert names("src/loop.c", None, "opencl") == ["loop_host.c", "loop_opencl.c", "loop_opencl.cl"]
    assert names("src/loop.c", None, "emulator") == ["loop_host.c", "loop_emulator.c"]


@pytest.mark.parametrize(
    ("output", "host", "device"),
    [
        ("out/", "out/loop_host.c", "out/loop_cuda.cu"),
        ("out/stem", "out/stem_host.c", "out/stem_cuda.cu"),
        ("out/a_cuda.cu", "out/a_host.c", "out/a_cuda.cu"),
        ("out/a_host.c", "out/a_host.c", "out/a_cuda.cu"),
        ("out/gpu.cu", "out/gpu_host.c", "out/gpu.cu"),
        ("v1.2", "v1.2_host.c", "v1.2_cuda.cu"),
    ],
)
def test_o_names_a_directory_a_stem_or_a_file(output: str, host: str, device: str) -> None:
    assert names("src/loop.c", output, "cuda") == [host, device]


def test_o_names_an_existing_directory(tmp_path: Path) -> None:
    assert place("loop.c", str(tmp_path), "cuda")["_host.c"] == tmp_path / "loop_host.c"


def test_opencl_source_goes_beside_a_named_device_file() -> None:
    assert names("loop.c", "gpu.c", "opencl") == ["gpu_host.c", "gpu.c", "gpu.cl"]


def test_no_output_overwrites_a_source_or_another_output() -> None:
    with pytest.raises(click.UsageError, match=r"loop\.c would overwrite"):
        place_all(("loop.c",), "loop.c", "emulator")
    with pytest.raises(click.UsageError, match="would overwrite"):
        place_all(("a/loop.c", "b/loop.c"), "out/", "cuda")


def test_unchanged_files_keep_their_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_files({first: "one", second: "two"})
    os.utime(first, (1, 1))
    os.utime(second, (1, 1))
    assert write_files({first: "one", second: "changed"}) == (second,)
    assert first.stat().st_mtime == 1
    assert second.stat().st_mtime > 1
    assert second.read_text() == "changed"


def test_all_files_or_none(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "missing" / "bad"
    good.write_text("old")
    with pytest.raises(FileNotFoundError) as caught:
        write_files({good: "new", bad: "new"})
    assert caught.value.filename == str(bad)
    assert good.read_text() == "old"
    assert list(tmp_path.iterdir()) == [good]


def test_nothing_is_left_behind_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second file fails after some of its bytes were written."""
    original = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        if "second" in self.name:
            original(self, content[:2])
            raise OSError(28, "No space left on device")
        return original(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_files({tmp_path / "first": "text", tmp_path / "second": "text"})
    assert caught.value.filename == str(tmp_path / "second")
    assert not list(tmp_path.iterdir())


def test_text_that_is_no_utf8_comes_back_as_it_was(tmp_path: Path) -> None:
    latin = b"/* \xe9t\xe9 */\r\n"
    write_files({tmp_path / "x": latin.decode("utf-8", "surrogateescape")})
    assert (tmp_path / "x").read_bytes() == latin


def test_permissions_follow_the_umask_and_links_are_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    mask = os.umask(0o027)
    try:
        write_files({link: "text"})
    finally:
        os.umask(mask)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640


def test_check_writable_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    with pytest.raises(NotADirectoryError):
        (tmp_path / "file").touch()
        check_writable(tmp_path / "file" / "x")
