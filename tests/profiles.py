"""Profiles, which generated programs write, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygpu.runtime import profile


@dataclass(frozen=True, slots=True)
class Counters:
    """The emulator's counts by name; `instructions` are warp instructions by class."""

    values: Mapping[str, int] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.values.get(name, 0)

    def __bool__(self) -> bool:
        return bool(self.values)


@dataclass(frozen=True, slots=True)
class SiteProfile:
    """The accesses of one place in the source to one memory space; `number` is -1 for the compiler's own."""

    number: int
    array: str
    write: bool
    space: str
    text: str
    place: str
    counters: Counters


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """All launches of one kernel; `grid` is the last one's.

    `milliseconds` is device time, None on the emulator, which counts instead.
    """

    name: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    milliseconds: float | None
    counters: Counters
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
    """`document` is the whole document, with the counters by stage and warp that reports read."""

    target: str
    device: str
    regions: tuple[RegionProfile, ...]
    document: Mapping[str, Any]


def read_profile(path: Path) -> Profile:
    """Of the document at `path`. Raises Diagnosed (PG906)."""
    return parse_profile(profile.read_profile(path))


def parse_profile(document: Mapping[str, Any]) -> Profile:
    """Raises KeyError, TypeError or ValueError when `document` is no profile; unknown keys are ignored."""
    regions = tuple(_region(region) for region in document["regions"])
    return Profile(str(document["target"]), str(document.get("device", "")), regions, document)


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
        name=record["name"],
        launches=int(record["launches"]),
        grid=_triple(record["grid"]),
        block=_triple(record["block"]),
        milliseconds=None if milliseconds is None else float(milliseconds),
        counters=_counters(record.get("counters", {})),
        sites=tuple(_site(site) for site in record.get("sites", ())),
    )


def _site(record: dict[str, Any]) -> SiteProfile:
    place = ":".join(str(record[key]) for key in ("file", "line", "column") if record.get(key))
    return SiteProfile(
        number=int(record["site"]),
        array=str(record.get("array") or ""),
        write=bool(record.get("write")),
        space=str(record.get("space") or ""),
        text=str(record.get("text") or ""),
        place=place,
        counters=_counters(record.get("counters", {})),
    )


def _counters(record: dict[str, Any]) -> Counters:
    values = {name: int(value) for name, value in record.items() if isinstance(value, int)}
    instructions = {name: int(value) for name, value in record.get("instructions", {}).items()}
    return Counters(values, instructions)


def _triple(values: list[int]) -> tuple[int, int, int]:
    x, y, z = (int(value) for value in values)
    return (x, y, z)
