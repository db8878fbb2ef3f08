"""Decisions in pragmas and in files: what they say is done, or is said to be wrong where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli
from polygpu.compilation import Compilation, Options
from polygpu.model.decisions import listing, parse, read
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed

PRODUCT = """
void f(int n, int m, float A[restrict n][m], float B[restrict m][n], float C[restrict n][n])
{
%s    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += A[i][k] * B[k][j];
}
"""


def product(directory: Path, pragma: str, *decisions: str, replayed: str = "") -> Compilation:
    path = directory / "product.c"
    path.write_text(PRODUCT % pragma)
    return compile_file(str(path), Options(device="h100", decisions=decisions, replayed=replayed))


def decided(compilation: Compilation, key: str) -> tuple[str, str]:
    (nest,) = (nest for r in compilation.regions for nest in r.taken)
    return next((str(t.decision).partition(": ")[2], t.by) for t in nest if t.decision.key == key)


def test_a_pragma_decides_for_the_loop_behind_it(tmp_path: Path) -> None:
    made = product(tmp_path, "#pragma polygpu tile(i: 32, k: 8) threads(i: 8)\n")
    assert decided(made, "tile") == ("tile(i: 32, j: 128, k: 8)", "person")
    assert decided(made, "deal")[1] == "rule"
    assert "pragma" not in made.files["_host.c"]


def test_the_command_line_goes_before_a_file_and_a_file_before_a_pragma(tmp_path: Path) -> None:
    pragma = "#pragma polygpu unroll(2) loads(1) buffer(none)\n"
    made = product(tmp_path, pragma, "unroll(8)", replayed="8:\n    unroll(4)\n    loads(2)  # rule\n")
    assert decided(made, "unroll") == ("unroll(8)", "person")
    assert decided(made, "loads") == ("loads(2)", "person")
    assert decided(made, "buffer") == ("buffer(none)", "person")


@pytest.mark.parametrize(
    ("pragma", "said", "line"),
    [
        ("#pragma polygpu tile(i)\n", "tile is", 4),
        ("#pragma polygpu tile(q: 4)\n", "there is no loop 'q'", None),
        ("    int q = 0;\n#pragma polygpu unroll(2)\n    q += 1;\n", "none stands behind it", 5),
    ],
)
def test_pragmas_that_mean_nothing(tmp_path: Path, pragma: str, said: str, line: int | None) -> None:
    with pytest.raises(Diagnosed, match=said) as caught:
        product(tmp_path, pragma)
    found = caught.value.diagnostics[0]
    assert found.id == "PG303"
    assert line is None or (found.position is not None and found.position.line == line)


def test_what_is_listed_is_read(tmp_path: Path) -> None:
    made = product(tmp_path, "")
    nests = [nest for r in made.regions for nest in r.taken]
    assert read(listing(nests)) == tuple(t.decision for nest in nests for t in nest)
    assert read("# nothing\n\ntile(i: 4)\n") == parse("tile(i: 4)")


@pytest.mark.parametrize("text", ['[{"decisions": 3}]', '{"nest": "x y", "decisions": {}}', "8:\n    tile"])
def test_files_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"decision|place"):
        read(text)


def test_inspect_lists_and_compile_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    product(tmp_path, "")
    source, out = str(tmp_path / "product.c"), tmp_path / "out"
    out.mkdir()
    for flags in ([], ["--json"]):
        assert cli.invoke(["inspect", "--decisions", *flags, source]) == 0
        (tmp_path / "decisions").write_text(capsys.readouterr().out)
        words = ["compile", "--decisions", str(tmp_path / "decisions"), "-o", f"{out}/", source]
        assert cli.invoke(words) == 0
        assert (out / "product_cuda.cu").read_text() == compile_file(source, Options()).files["_cuda.cu"]
