"""All decisions of a compilation, fed back: they make the same files, and one that changes changes alone.

Of these compilations, too, what must hold between passes is looked at after each of them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import programs
from polygpu.compilation import Compilation, Options
from polygpu.mapping.check import check_program
from polygpu.mapping.program import Program
from polygpu.model.decisions import Decision, Taken, Value
from polygpu.model.kernel import Region
from polygpu.model.kernel_walk import free_names, hidden_names
from polygpu.pipeline import File, compile_file, decisions_of
from polygpu.support.passes import Passes
from tests.support_kernels import some_by_default

KERNELS = sorted(path.stem for path in programs.KERNELS.glob("*.c"))
DEVICES = ("h100", "8800gtx", "gtx285", "generic")
ORDER = (
    "polyhedra", "conditions", "dependences", "dead", "schedule", "map", "lower", "pad", "spaces", "emit",
)  # fmt: skip


def options(device: str, decisions: tuple[Decision, ...] = ()) -> Options:
    """With time for the best schedule, whatever else the machine does."""
    return Options(device=device, time_budget=60, decisions=tuple(map(str, decisions)))


def taken(compilation: Compilation) -> tuple[Taken, ...]:
    return tuple(t for r in compilation.regions for kernel in r.taken for t in kernel)


def decisions(compilation: Compilation) -> tuple[Decision, ...]:
    return tuple(t.decision for t in taken(compilation))


def check(name: str, result: object) -> None:
    """Mapped programs are well-formed; kernels use no name that is neither declared nor an argument, and hide
    none.
    """
    match result:
        case Program():
            check_program(result)
        case Region():
            for kernel in result.kernels:
                known = {s.name for s in kernel.scalars}
                assert set(free_names(kernel.body)) <= known, f"{name}: {kernel.name}"
                assert not [*hidden_names(kernel.body, frozenset(known))], f"{name}: {kernel.name}"


def checked(path: str, asked: Options) -> Compilation:
    """Compiled, and the invariants hold after each pass; the passes are all there, in their order."""
    seen: list[str] = []

    def after(name: str, result: object) -> None:
        seen.append(name)
        check(name, result)

    made = File(path, asked, passes=Passes(after)).realise(decisions_of(asked), {})
    assert [name for name in dict.fromkeys(seen) if name in ORDER] == list(ORDER)
    return made


def replayed(kernel: str, device: str) -> None:
    path = str(programs.source_of(kernel))
    first = checked(path, options(device))
    second = checked(path, options(device, decisions(first)))
    assert {t.by for t in taken(first)} == {"rule"}
    assert {t.by for t in taken(second)} == {"person"}
    assert decisions(second) == decisions(first)
    assert second.files == first.files


@pytest.mark.parametrize(
    ("kernel", "device"),
    some_by_default([(kernel, DEVICES[k % len(DEVICES)]) for k, kernel in enumerate(KERNELS)], one_in=3),
)
def test_decisions_fed_back_make_the_same_files(kernel: str, device: str) -> None:
    replayed(kernel, device)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_decisions_fed_back_make_the_same_files_on_each_device(kernel: str, device: str) -> None:
    replayed(kernel, device)


def changed(d: Decision, name: str, value: Value) -> Decision:
    return replace(d, items=tuple((n, value if n == name else v) for n, v in d.items))


@pytest.mark.parametrize(
    ("kernel", "device", "key", "name", "value"),
    [
        ("mm", "h100", "tile", "i", 32),
        ("mm", "h100", "tile", "k", 16),
        ("mm", "h100", "deal", "j", 8),
        ("mm", "h100", "unroll", "", 4),
        ("mm", "h100", "wide", "", 0),
        ("mm", "h100", "pad", "B[k][j]", 4),
        ("mm", "8800gtx", "tile", "j", 32),
        ("mm", "8800gtx", "loads", "", 2),
        ("mm", "8800gtx", "registers", "", 12),
        ("mv", "gtx285", "tile", "j", 8),
        ("mv", "8800gtx", "pad", "A[i][j]", 0),
        ("jacobi-2d", "8800gtx", "tile", "i", 16),
        ("jacobi-2d", "h100", "threads", "j", 16),
        ("2mm", "gtx285", "tile", "k", 32),
        ("doitgen", "8800gtx", "tile", "s", 8),
        ("floyd-warshall", "8800gtx", "tile", "i", 16),
    ],
)
def test_one_value_changes_alone(kernel: str, device: str, key: str, name: str, value: int) -> None:
    """The first decision of that key that has the name is another one, and everything else stays."""
    path = str(programs.source_of(kernel))
    first = compile_file(path, options(device))
    before = decisions(first)
    place = next(k for k, d in enumerate(before) if d.key == key and name in dict(d.items))
    asked = (*before[:place], changed(before[place], name, value), *before[place + 1 :])
    assert asked != before
    second = compile_file(path, options(device, asked))
    assert decisions(second) == asked
    assert second.files != first.files
