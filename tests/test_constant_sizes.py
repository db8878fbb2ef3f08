"""The benchmark kernels with sizes that the compiler knows: certificates, and what their programs print.

A known size makes other code: bounds that meet tiles exactly have no tests, a loop may be known to be empty.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks import programs
from benchmarks.constant import constant_form
from polygpu import pipeline
from polygpu.analysis import polyhedra
from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import For, If
from polygpu.model.kernel_walk import has_barrier, statements
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import PROPERTIES
from tests.support_kernels import build_checked, some_by_default

DEVICES = [("emulator", "8800gtx"), ("emulator", "gtx285"), ("cuda", "h100"), ("cuda", "generic")]
DIVIDED = 256  # by every tile of these devices
EXTENTS = [1, 2, DIVIDED - 1, DIVIDED, DIVIDED + 1]
STEPS = 3
FORMS = {"parameters": False, "globals": True}
SANITIZED = ("-fsanitize=signed-integer-overflow,bounds", "-fno-sanitize-recover")


def sizes_of(kernel: str, extent: int) -> programs.Sizes:
    return tuple(STEPS if name == "steps" else extent for name in programs.parameters_of(kernel))


def write_form(kernel: str, sizes: programs.Sizes, form: str, directory: Path) -> Path:
    source = directory / f"{kernel}.c"
    source.write_text(constant_form(kernel, sizes, global_arrays=FORMS[form]))
    return source


def assert_certified(r: CompiledRegion) -> None:
    certificate = certify(r)
    assert [str(f) for f in certificate.failures] == []
    assert certificate.unproved == ()
    kernels = {k.name for k in r.region.kernels}
    assert {(p.property, p.kernel) for p in certificate.proofs} == {
        (kind, k) for kind in PROPERTIES for k in kernels
    }


def has_work(r: CompiledRegion) -> bool:
    """Whether any instance of the source is executed: a stencil has no inner points at extent 2."""
    return not all(s.domain.is_empty() for s in polyhedra.build(r.scop).statements)


def assert_offloaded(compiled: Compilation, extent: int) -> None:
    """The kernel function has regions; but found loops of one iteration may stay on the host, with a note."""
    ids = {d.id for d in compiled.diagnostics}
    if extent > 2 or "PG309" not in ids:
        assert any(r.scop.function.startswith("kernel_") for r in compiled.regions)
    else:
        assert "PG180" in ids


@pytest.mark.parametrize(
    ("kernel", "target", "device", "extent", "form"),
    some_by_default(
        [
            (kernel, *device, extent, form)
            for kernel, device, extent, form in itertools.product(
                programs.kernel_names(), DEVICES, EXTENTS, FORMS
            )
        ],
        one_in=83,
    ),
)
def test_certified(kernel: str, target: str, device: str, extent: int, form: str, tmp_path: Path) -> None:
    source = write_form(kernel, sizes_of(kernel, extent), form, tmp_path)
    compiled = pipeline.compile_file(str(source), Options(target=target, device=device))
    assert_offloaded(compiled, extent)
    for r in compiled.regions:
        assert_certified(r)
        assert bool(r.region.kernels) == has_work(r)


@pytest.mark.parametrize(
    ("kernel", "device", "extent", "form"),
    some_by_default(
        [
            (kernel, *variant)
            for kernel in programs.kernel_names()
            for variant in [("8800gtx", 33, "parameters"), ("h100", 128, "globals")]
        ],
        one_in=37,
    ),
)
def test_prints_the_same(kernel: str, device: str, extent: int, form: str, tmp_path: Path) -> None:
    """With the emulator's checks on, and those of the C compiler."""
    sizes = sizes_of(kernel, extent)
    source = write_form(kernel, sizes, form, tmp_path)
    programs.translate_file(source, "emulator", device, tmp_path)
    expected = programs.run(programs.build_original(kernel, tmp_path), sizes)
    program = build_checked(kernel, tmp_path, *SANITIZED)
    assert programs.compare(expected, programs.run(program, sizes)).identical


@pytest.mark.parametrize(("rows", "columns"), [(128, 255), (100, 256), (127, 200), (4095, 250)])
def test_the_only_tile_along_an_axis_computes_without_tests(rows: int, columns: int, tmp_path: Path) -> None:
    """Threads that have several points compute at those beyond the last, too; what is stored is tested."""
    source = tmp_path / "v.c"
    source.write_text(
        f"void f(float A[restrict {rows}][999], float B[restrict 999][{columns}],"
        f" float C[restrict {rows}][{columns}])\n"
        f"{{\n#pragma scop\nfor (int i = 0; i < {rows}; i++) for (int j = 0; j < {columns}; j++)"
        " for (int k = 0; k < 999; k++) C[i][j] += A[i][k] * B[k][j];\n#pragma endscop\n}\n"
    )
    decisions = ("tile(i: 128, j: 256)", "threads(i: 16, j: 16)")
    options = Options(target="cuda", device="h100", decisions=decisions, certify="off")
    (made,) = pipeline.compile_file(str(source), options).regions
    (kernel,) = made.region.kernels
    (steps,) = (s for s in kernel.body if isinstance(s, For) and any(map(has_barrier, s.body)))
    tests = [s for s in statements(steps.body) if isinstance(s, If) and not s.uniform]
    assert not tests
    assert any(isinstance(s, If) and not s.uniform for s in statements(kernel.body))
    assert_certified(made)
