"""The model of an H100 puts variants of kernels in nearly the order of their measured times."""

from __future__ import annotations

import json

import pytest

from benchmarks.gpu.variants import KEPT, paired, tau


@pytest.mark.parametrize(
    ("kernel", "least"),
    [("mv", 0.7), pytest.param("conv2d", 0.75, marks=pytest.mark.slow)]
    + [pytest.param(k, 0.8, marks=pytest.mark.slow) for k in ("heat-3d", "mvt", "gesummv")],
)
def test_the_order_of_the_variants(kernel: str, least: float) -> None:
    variants = [v for v in json.loads(KEPT.read_text()) if v["kernel"] == kernel]
    (pairs,) = paired(variants, "h100").values()
    assert len(pairs) > 12
    assert tau(pairs) > least
