"""The certificate of every benchmark kernel, for devices whose kernels differ."""

from __future__ import annotations

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import PROPERTIES

DEVICES = [("emulator", "8800gtx"), ("emulator", "gtx285"), ("cuda", "h100"), ("cuda", "generic")]
FEW = ["mm", "mv", "tmv", "transpose", "jacobi-2d", "lu", "symm", "doitgen", "trisolv"]
# Tiles of steps are proved for smaller nests (test_time_tiles.py, test_step_tiles.py): here they take long.
STEPS = {"jacobi-2d": "steps(t: 0)", "fdtd-2d": "steps(t: 0)", "lu": "batch(j: 1)"}


def assert_certified(kernel: str, target: str, device: str) -> None:
    path = str(programs.KERNELS / f"{kernel}.c")
    single = (STEPS[kernel],) if kernel in STEPS and device == "h100" else ()
    compiled = pipeline.compile_file(path, Options(target=target, device=device, decisions=single))
    assert compiled.regions
    for r in compiled.regions:
        certificate = certify(r)
        assert [str(f) for f in certificate.failures] == []
        assert certificate.unproved == ()
        kernels = {k.name for k in r.region.kernels}
        assert {(p.property, p.kernel) for p in certificate.proofs} == {
            (kind, k) for kind in PROPERTIES for k in kernels
        }


@pytest.mark.parametrize(("target", "device"), [DEVICES[0], DEVICES[2]])
@pytest.mark.parametrize("kernel", FEW)
def test_few_kernels(kernel: str, target: str, device: str) -> None:
    assert_certified(kernel, target, device)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "device"), DEVICES)
@pytest.mark.parametrize("kernel", programs.kernel_names())
def test_all_kernels(kernel: str, target: str, device: str) -> None:
    assert_certified(kernel, target, device)
