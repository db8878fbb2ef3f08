"""The profile document of generated programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polygpu.support.diagnostics import Diagnosed
from tests.profiles import parse_profile, read_profile

KERNEL: dict[str, Any] = {"name": "k", "launches": 3, "grid": [4, 2, 1], "block": [16, 16, 1]}
REGION: dict[str, Any] = {"name": "r", "calls": 2, "bytes_in": 10, "bytes_out": 20, "kernels": [KERNEL]}


def test_device_times() -> None:
    document = {"target": "cuda", "device": "h100", "regions": [REGION | {"kernels": [KERNEL | {"ms": 1.5}]}]}
    profile = parse_profile(document)
    region = profile.regions[0]
    assert (region.name, region.calls, region.bytes_in, region.bytes_out) == ("r", 2, 10, 20)
    kernel = region.kernels[0]
    assert (kernel.launches, kernel.grid, kernel.block, kernel.milliseconds) == (
        3,
        (4, 2, 1),
        (16, 16, 1),
        1.5,
    )
    assert not kernel.counters


def test_counters_of_the_emulator() -> None:
    counters = {"requests": 8, "coalesced": 6, "instructions": {"mad": 5}}
    place = {"file": "x.c", "line": 4, "column": 7}
    access = {"site": 2, "array": "A", "write": True, "space": "global", "text": "A[i]"}
    site = access | place | {"counters": {"requests": 8}}
    kernels = [KERNEL | {"counters": counters, "sites": [site]}]
    document = {"target": "emulator", "regions": [REGION | {"kernels": kernels}]}
    kernel = parse_profile(document).regions[0].kernels[0]
    assert kernel.milliseconds is None
    assert (kernel.counters["requests"], kernel.counters["unheard of"]) == (8, 0)
    assert kernel.counters.instructions == {"mad": 5}
    found = kernel.sites[0]
    assert (found.number, found.place, found.write, found.counters["requests"]) == (2, "x.c:4:7", True, 8)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"target": "cuda", "regions": [{}]}', '{"target": "cuda", "regions": 3}']
)
def test_malformed_documents_are_diagnosed(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(Diagnosed) as error:
        read_profile(tmp_path / "p.json")
    assert error.value.diagnostics[0].id == "PG906"


def test_a_missing_document_is_diagnosed(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as error:
        read_profile(tmp_path / "p.json")
    assert error.value.diagnostics[0].message == "the program wrote no profile: No such file or directory"


def test_a_document_survives_the_file(tmp_path: Path) -> None:
    document = {"target": "opencl", "device": "generic", "regions": [REGION]}
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert read_profile(tmp_path / "p.json") == parse_profile(document)
