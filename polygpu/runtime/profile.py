"""The JSON document that a generated program writes when POLYGPU_PROFILE names a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed


@dataclass(frozen=True, slots=True)
class SiteProfile:
    """The counters of one source access; `number` is `model.kernel.Site.number`."""

    number: int
    array: str
    write: bool
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """All launches of one kernel. `milliseconds` is device time, None on the emulator, which counts."""

    name: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    milliseconds: float | None
    counters: Mapping[str, float]
    sites: tuple[SiteProfile, ...]


@dataclass(frozen=True, slots=True)
class RegionProfile:
    """All calls of one region. Bytes are copied to (`in`) and from (`out`) the device."""

    name: str
    calls: int
    bytes_in: int
    bytes_out: int
    kernels: tuple[KernelProfile, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    target: str
    device: str
    regions: tuple[RegionProfile, ...]


def read_profile(path: Path) -> Profile:
    """Reads the document at `path`. Raises Diagnosed (PG906)."""
    try:
        return parse_profile(json.loads(path.read_text(encoding="utf-8")))
    except OSError as problem:
        text = f"the program wrote no profile: {problem.strerror}"
        help_text = "it did not reach its exit handlers: it was killed or called _exit"
        raise Diagnosed(error("PG906", text, help_text)) from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Diagnosed(error("PG906", f"the profile is malformed: {problem!r}")) from problem


def parse_profile(document: dict[str, Any]) -> Profile:
    """Raises KeyError, TypeError or ValueError when `document` is no profile; unknown keys are ignored."""
    regions = tuple(_region(region) for region in document["regions"])
    return Profile(str(document["target"]), str(document.get("device", "")), regions)


def _region(record: dict[str, Any]) -> RegionProfile:
    kernels = tuple(_kernel(kernel) for kernel in record["kernels"])
    return RegionProfile(
        record["name"],
        int(record.get("calls", 1)),
        int(record["bytes_in"]),
        int(record["bytes_out"]),
        kernels,
    )


def _kernel(record: dict[str, Any]) -> KernelProfile:
    milliseconds = record.get("ms")
    return KernelProfile(
        record["name"],
        int(record["launches"]),
        _triple(record["grid"]),
        _triple(record["block"]),
        None if milliseconds is None else float(milliseconds),
        _numbers(record.get("counters", {})),
        tuple(_site(site) for site in record.get("sites", ())),
    )


def _site(record: dict[str, Any]) -> SiteProfile:
    identity = {"site", "array", "write"}
    counters = _numbers({name: value for name, value in record.items() if name not in identity})
    return SiteProfile(int(record["site"]), str(record.get("array", "")), bool(record.get("write")), counters)


def _numbers(record: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in record.items() if isinstance(value, (int, float))}


def _triple(values: list[int]) -> tuple[int, int, int]:
    x, y, z = (int(value) for value in values)
    return (x, y, z)
