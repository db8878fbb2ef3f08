"""What must hold between passes, looked at after each of them."""

from __future__ import annotations

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.mapping.check import check_program
from polygpu.mapping.program import Program
from polygpu.model.kernel import Region
from polygpu.model.kernel_walk import free_names
from polygpu.pipeline import File
from polygpu.support.passes import Passes

KERNELS = sorted(path.stem for path in programs.KERNELS.glob("*.c"))
DEVICES = ("h100", "8800gtx", "gtx285", "generic")


def check(name: str, result: object) -> None:
    """Mapped programs are well-formed; kernels use no name that is neither declared nor an argument."""
    match result:
        case Program():
            check_program(result)
        case Region():
            for kernel in result.kernels:
                known = {s.name for s in kernel.scalars}
                assert set(free_names(kernel.body)) <= known, f"{name}: {kernel.name}"


@pytest.mark.parametrize(
    ("kernel", "device"), [(kernel, DEVICES[k % len(DEVICES)]) for k, kernel in enumerate(KERNELS)]
)
def test_invariants_hold_after_each_pass(kernel: str, device: str) -> None:
    seen: list[str] = []

    def after(name: str, result: object) -> None:
        seen.append(name)
        check(name, result)

    path = str(programs.source_of(kernel))
    File(path, Options(device=device, time_budget=60), passes=Passes(after)).realise((), {})
    order = [
        "polyhedra",
        "conditions",
        "dependences",
        "dead",
        "schedule",
        "map",
        "lower",
        "pad",
        "spaces",
        "emit",
    ]
    assert [name for name in dict.fromkeys(seen) if name in order] == order
