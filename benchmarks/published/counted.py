"""What the compiler's own kernels count: a binding compiled, built and run on the emulator, sampled."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import programs
from benchmarks.published.figures import Binding
from polygpu.compilation import Options
from polygpu.model.device import Device
from polygpu.model.facts import KernelFact
from polygpu.perf.profile_time import from_profile
from polygpu.perf.timing import KernelTime
from polygpu.pipeline import compile_file
from polygpu.report.explain import explain
from polygpu.runtime.build import Recipe, build_program
from polygpu.runtime.execute import run_program
from polygpu.runtime.profile import read_profile
from polygpu.runtime.toolchain import find_cc

_COMPILER = threading.Lock()  # isl's objects belong to one thread at a time


@dataclass(frozen=True, slots=True)
class Counted:
    """The kernels that ran: the record of each in the profile, and its resident blocks."""

    kernels: tuple[tuple[Mapping[str, Any], int], ...]

    def times(self, device: Device) -> tuple[KernelTime, ...]:
        """Modelled times of all launches' kernels, one launch each."""
        return tuple(from_profile(record, device, resident) for record, resident in self.kernels)

    def seconds(self, device: Device) -> float:
        """Modelled time of all launches, without what a launch itself takes."""
        times = zip(self.times(device), self.kernels, strict=True)
        return sum(time.seconds * float(record["launches"]) for time, (record, _) in times)


def count_all(wanted: Iterable[tuple[Binding, str]]) -> list[Counted]:
    """Counts every binding on its device; bindings that differ in arguments only share a program."""
    with TemporaryDirectory(prefix="polygpu-published-") as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        workshop = _Workshop(Path(name))
        return list(pool.map(lambda one: workshop.count(*one), wanted))


class _Workshop:
    """Programs in a directory, by what they are compiled from."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made: dict[object, tuple[dict[str, KernelFact], Path]] = {}
        self.locks: dict[object, threading.Lock] = {}
        self.serial = 0

    def count(self, binding: Binding, device: str) -> Counted:
        facts, program = self._program(binding, device)
        with TemporaryDirectory(dir=self.directory) as name:
            document = Path(name, "profile.json")
            order = programs.parameters_of(binding.kernel)
            arguments = tuple(binding.arguments[parameter] for parameter in order)
            environment = {"POLYGPU_SAMPLE": "1", "POLYGPU_PROFILE": str(document)}
            run_program(program, arguments, capture=True, environment=environment)
            profile = read_profile(document)
        records = [
            kernel for region in profile["regions"] for kernel in region["kernels"] if kernel["launches"]
        ]
        return Counted(
            tuple((_run_by(r, binding.blocks), facts[r["name"]].blocks_per_multiprocessor) for r in records)
        )

    def _program(self, binding: Binding, device: str) -> tuple[dict[str, KernelFact], Path]:
        """What is known of the program's kernels, by their names, and where it is."""
        known = binding.arguments if binding.assume is None else binding.assume
        assume = tuple(f"{name}={binding.arguments[name]}" for name in known)
        key = (binding.kernel, device, binding.decisions, assume)
        with self.locks.setdefault(key, threading.Lock()):
            if key not in self.made:
                self.made[key] = self._build(binding.kernel, device, binding.decisions, assume)
            return self.made[key]

    def _build(
        self, kernel: str, device: str, decisions: str, assume: tuple[str, ...]
    ) -> tuple[dict[str, KernelFact], Path]:
        asked = (decisions,) if decisions else ()
        options = Options(target="emulator", device=device, decisions=asked, assume=assume)
        with _COMPILER:
            compilation = compile_file(str(programs.source_of(kernel)), options)
            facts = {k.name: k for region in explain(compilation).regions for k in region.kernels}
            self.serial += 1
            directory = self.directory / f"{kernel}-{self.serial}"
        directory.mkdir()
        files = {suffix: directory / f"{kernel}{suffix}" for suffix in compilation.files}
        for suffix, path in files.items():
            path.write_text(compilation.files[suffix], encoding="utf-8")
        build_program(files, directory / kernel, Recipe("emulator", find_cc(None), extra=("-w",)))
        return facts, directory / kernel


def _run_by(record: Mapping[str, Any], blocks: int) -> Mapping[str, Any]:
    """The record of the same work done by `blocks` blocks a launch, if any are given: each runs the stages of
    several of the compiler's blocks, one after the other.
    """
    if not blocks:
        return record
    total = blocks * record["launches"]
    stages = [{**stage, "blocks": min(stage["blocks"], total)} for stage in record["stages"]]
    return {**record, "blocks_total": total, "stages": stages}
