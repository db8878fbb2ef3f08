"""Templates are compiled once, as modules are."""

import sys
from pathlib import Path

import pytest

from polygpu.support.templates import environment


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a template, whose compiled text goes below it too."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    (tmp_path / "file.j2").write_text("{{ 1 + 1 }} of {{ name }}\n")
    return tmp_path


def rendered(folder: Path) -> str:
    environment.cache_clear()
    try:
        return environment(folder).get_template("file.j2").render(name="two")
    finally:
        environment.cache_clear()


def compiled(folder: Path) -> list[Path]:
    return sorted((folder / "compiled").rglob("*.template"))


def test_a_second_process_finds_what_the_first_compiled(folder: Path) -> None:
    assert rendered(folder) == "2 of two\n"
    (kept,) = compiled(folder)
    written = kept.stat().st_mtime_ns
    assert rendered(folder) == "2 of two\n"
    assert [kept.stat().st_mtime_ns] == [written]


def test_a_changed_template_is_compiled_again(folder: Path) -> None:
    rendered(folder)
    (folder / "file.j2").write_text("{{ name }} of 2\n")
    assert rendered(folder) == "two of 2\n"


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(folder) == "2 of two\n"
    assert compiled(folder) == []


def test_a_folder_that_cannot_be_written_to_does_not_matter(folder: Path) -> None:
    (folder / "compiled").write_text("a file is in the way")
    assert rendered(folder) == "2 of two\n"
