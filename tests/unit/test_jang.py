"""What Jang, Choi and Kim (2014) name and choose: their tables for the GTX 285, from C programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import pytest

from benchmarks import programs
from polygpu import devices
from polygpu.analysis.jang_patterns import JangReference
from polygpu.compilation import Options
from polygpu.mapping.jang import ThreadMapping, ranked, references, spaces, thread_mappings
from polygpu.mapping.program import Grid
from polygpu.pipeline import compile_file
from tests.unit.middle import mapped

GTX285 = devices.load("gtx285")
Shape: TypeAlias = tuple[int, ...]  # of a group: ..., ty, tx, as the paper writes it


def grid(kernel: str) -> Grid:
    """The first kernel of a benchmark, through the front end."""
    return compile_file(str(programs.source_of(kernel)), Options(target="emulator")).regions[0].grids[0]


def chosen(m: Grid, lane: str, registers: int = 0) -> dict[Shape, ThreadMapping]:
    """Algorithm 2's mappings with the loop `lane` on tx, by shape."""
    names = [a.name for a in m.axes]
    found = thread_mappings(references(m), len(names), GTX285, registers)
    return {mine.shape[::-1]: mine for mine in found if names[mine.loops[0]] == lane}


def ranks(found: Mapping[Shape, ThreadMapping]) -> dict[Shape, int]:
    shapes = {id(mine): shape for shape, mine in found.items()}
    return {shapes[id(mine)]: rank for rank, mine in ranked(list(found.values()))}


def placed(m: Grid, lane: str) -> dict[str, str]:
    names = [a.name for a in m.axes]
    return dict(spaces(references(m), names.index(lane), GTX285))


# shape ty x tx: resident groups, elements staged of A and of B, rank
PRODUCT = {
    (2, 256): (2, 4, 9), (4, 128): (2, 16, 6), (8, 64): (2, 64, 3), (16, 32): (2, 256, 1),
    (32, 16): (2, 256, 1), (2, 128): (4, 4, 10), (4, 64): (4, 16, 7), (8, 32): (4, 64, 4),
    (16, 16): (4, 256, 2), (2, 64): (8, 4, 11), (4, 32): (8, 16, 8), (8, 16): (8, 64, 5),
}  # fmt: skip


def test_the_table_of_the_product() -> None:
    m = grid("mm")
    assert placed(m, "j") == {"C": "global", "A": "shared", "B": "shared"}
    every = chosen(m, "j")
    listed: dict[Shape, ThreadMapping] = {shape: every[shape] for shape in PRODUCT}
    rank = ranks(listed)
    for shape, (resident, each, expected) in PRODUCT.items():
        mine = listed[shape]
        assert (mine.resident.blocks, dict(mine.gain), mine.cost) == (resident, {"A": each, "B": each}, 0)
        assert rank[shape] == expected


def test_the_other_mapping_of_the_product() -> None:
    """i on tx: 32 accesses to A and 8 x 32 to C are uncoalesced, none to B; 8 x 8 elements are gained."""
    mine = chosen(grid("mm"), "i")[8, 32]
    assert mine.cost == 32 + 0 + 8 * 32
    assert dict(mine.gain) == {"A": 8 * 8, "B": 8 * 8}


def test_the_table_of_vector_addition() -> None:
    m = grid("vecadd")
    assert set(placed(m, "i").values()) == {"global"}
    found = chosen(m, "i", registers=3)
    resident = {shape: (mine.resident.blocks, mine.resident.share) for shape, mine in found.items()}
    assert resident == {
        (512,): (2, 1), (256,): (4, 1), (128,): (8, 1), (64,): (8, 0.5), (32,): (8, 0.25), (16,): (8, 0.25),
    }  # fmt: skip
    assert ranks(found) == {(512,): 3, (256,): 2, (128,): 1, (64,): 4, (32,): 5, (16,): 5}
    assert all((mine.cost, mine.gained) == (0, 0) for mine in found.values())


def test_the_table_of_the_matrix_vector_product() -> None:
    """Groups of 64 would stage more than there is. The paper prints 4 resident groups for both; its own
    equations, and the shared memory that its gains take, give 3 and 8, as ours.
    """
    m = grid("mv")
    assert placed(m, "i") == {"x": "global", "A": "shared", "y": "shared"}
    found = chosen(m, "i", registers=17)
    gains = {shape: (mine.cost, dict(mine.gain)) for shape, mine in found.items()}
    assert gains == {(32,): (32, {"A": 32 * 32, "y": 32}), (16,): (16, {"A": 16 * 16, "y": 16})}
    assert ranks(found) == {(32,): 1, (16,): 2}
    printed, equations = {32: 4, 16: 4}, {32: 3, 16: 8}
    ours = {mine.threads: mine.resident.blocks for mine in found.values()}
    assert printed != ours == equations


# A nest with the patterns that the paper names of each program: threads a group: resident, occupancy, rank
RADIOLOGICAL = {256: (2, 0.5, 3), 128: (4, 0.5, 2), 64: (8, 0.5, 1), 32: (8, 0.25, 4)}
SUPPRESSION = {512: (2, 1, 3), 256: (4, 1, 2), 128: (8, 1, 1), 64: (8, 0.5, 4), 32: (8, 0.25, 5)}


def check_of_threads(m: Grid, registers: int, table: Mapping[int, tuple[int, float, int]]) -> None:
    found = chosen(m, "j", registers)
    rank = ranks(found)
    assert {mine.threads for mine in found.values()} == table.keys()
    for shape, mine in found.items():
        resident, share, expected = table[mine.threads]
        assert (mine.resident.blocks, mine.resident.share, rank[shape]) == (resident, share, expected)
        assert (mine.cost, mine.gained) == (0, 0)


def test_the_table_of_the_radiological_path() -> None:
    parameters = "int n, float V[restrict n], int P[restrict n][n], float Q[restrict n][n]"
    m = mapped(parameters, "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) Q[i][j] = V[P[i][j]];")
    assert placed(m, "j") == {"V": "texture", "P": "global", "Q": "global"}
    check_of_threads(m, 28, RADIOLOGICAL)


def test_the_table_of_non_maximum_suppression() -> None:
    images = ", ".join(f"float {name}[restrict n][n]" for name in "MXYR")
    body = "R[i][j] = M[i][j] * X[i][j + 1] + M[i][j - 1] * Y[i][j - 1];"
    m = mapped(f"int n, {images}", f"for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) {body}")
    assert placed(m, "j") == {"M": "texture", "X": "texture", "Y": "texture", "R": "global"}
    check_of_threads(m, 15, SUPPRESSION)


ARRAYS = "float A[restrict 4 * n][4 * n], float x[restrict 4 * n], float y[restrict n][n], int t[restrict n]"
PARAMETERS = f"int n, {ARRAYS}"
NEST = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < {}; k++) y[i][j] += {};"


def reference(text: str, trips: str = "n") -> JangReference:
    """The read `text` in a nest with i and j between threads and k within one."""
    m = mapped(PARAMETERS, NEST.format(trips, text))
    assert {a.name for a in m.axes} == {"i", "j"}
    found = next(r for r in references(m) if r.text == text)
    order = [[a.name for a in m.axes].index(name) for name in "ij"]
    return replace(found, inter=tuple(found.inter[d] for d in order))


NAMES = [
    ("A[i][j]", ("linear", "linear", "none")),
    ("A[k][j]", ("none", "linear", "linear")),
    ("A[i][n - 1 - k]", ("linear", "none", "reverse linear")),
    ("A[i][n - j]", ("linear", "reverse linear", "none")),
    ("A[i][j + 1]", ("linear", "shifted", "none")),
    ("A[i + 1][j]", ("shifted", "linear", "none")),
    ("x[i + j]", ("overlapping", "overlapping", "none")),
    ("x[j + k]", ("none", "linear", "linear")),
    ("A[i][2 * j]", ("linear", "non-unit stride", "none")),
    ("A[j][j]", ("none", "random", "none")),
    ("x[t[j]]", ("random", "random", "random")),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_names(text: str, names: tuple[str, ...]) -> None:
    found = reference(text)
    assert (found.between(0), found.between(1), found.within(0)) == names


@pytest.mark.parametrize(
    ("text", "true", "coalesced"),
    [
        ("A[i][j]", True, True),
        ("A[j][i]", False, False),
        ("A[i][n - j]", True, True),
        ("A[i][j + 1]", True, False),
        ("A[i][2 * j]", True, False),
        ("A[j][j]", False, False),
        ("A[i][k]", False, False),
    ],
)
def test_only_true_linear_references_coalesce(text: str, true: bool, coalesced: bool) -> None:
    found = reference(text)
    assert (found.true(1), found.coalesced(1)) == (true, coalesced)


def test_the_same_address_is_walked_through_in_a_known_number_of_steps() -> None:
    assert (reference("x[k]", "9").same_address, reference("x[k]", "9").walked) == (True, 9)
    assert not reference("x[k]").same_address
    assert not reference("x[0]", "9").same_address
    assert not reference("x[j + k]", "9").same_address


SPACES = [
    ("y[i][j] += x[k];", "9", {"x": "constant", "y": "global"}),
    ("y[i][j] += x[k];", "n", {"x": "shared", "y": "global"}),
    ("y[i][j] += x[k] * x[j];", "9", {"x": "global", "y": "global"}),  # global goes before constant
    ("y[i][j] += A[i][k] * A[i][2 * j];", "n", {"A": "texture", "y": "global"}),  # texture before shared
    ("y[i][j] += A[i][j + 1];", "n", {"A": "texture", "y": "global"}),
]


@pytest.mark.parametrize(("body", "trips", "expected"), SPACES)
def test_several_answers_for_an_array(body: str, trips: str, expected: dict[str, str]) -> None:
    m = mapped(PARAMETERS, NEST.format(trips, "0").replace("y[i][j] += 0;", body))
    assert placed(m, "j") == expected


@pytest.mark.parametrize(("lane", "written"), [("i", "texture"), ("j", "global")])
def test_what_is_only_written_is_a_texture_where_it_does_not_coalesce(lane: str, written: str) -> None:
    m = mapped(PARAMETERS, "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = y[j][i];")
    assert placed(m, lane)["A"] == written


def test_of_four_loops_three_have_threads() -> None:
    """Sums of histograms' copies have four that are parallel."""
    of_two = references(grid("mm"))
    of_four = [replace(r, inter=(*r.inter, None, None)) for r in of_two]
    found = thread_mappings(of_four, 4, GTX285, 0)
    assert {mapping.loops[0] for mapping in found} == {0, 1, 2, 3}
    for mapping in found:
        assert len({*mapping.loops}) == len(mapping.shape) == 3
        assert mapping.shape[0] % GTX285.request_lanes == 0
