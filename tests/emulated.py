"""What the emulator counted for a benchmark kernel, beside the compilation that it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import programs
from polygpu.compilation import Compilation, Options
from polygpu.model.facts import AccessFact
from polygpu.pipeline import compile_file
from tests.profiles import KernelProfile, SiteProfile, read_profile

FLAGS = ("-march=native", "-ffp-contract=off", "-w")


@dataclass(frozen=True)
class Counted:
    """Sums over the requests of one access: to global memory, and to shared memory, copies included."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def transactions(self) -> float | None:
        """Mean of a request to global memory; None without any."""
        counts = self.counts
        total = sum(counts[f"transactions_{size}"] for size in (32, 64, 128))
        return total / counts["requests"] if counts["requests"] else None

    @property
    def coalesced(self) -> bool | None:
        return self.counts["coalesced"] == self.counts["requests"] if self.counts["requests"] else None

    @property
    def bank_steps(self) -> float:
        """Mean of a request to shared memory; 0 without any."""
        requests = self.counts["shared_requests"]
        return 1 + self.counts["conflict_steps"] / requests if requests else 0.0


@cache
def compiled(
    kernel: str,
    device: str,
    decisions: tuple[str, ...] = (),
    defines: tuple[str, ...] = (),
    assume: tuple[str, ...] = (),
) -> Compilation:
    options = Options(target="emulator", device=device, decisions=decisions, defines=defines, assume=assume)
    return compile_file(str(programs.source_of(kernel)), options)


@cache
def program(
    kernel: str,
    device: str,
    decisions: tuple[str, ...] = (),
    defines: tuple[str, ...] = (),
    assume: tuple[str, ...] = (),
    level: str = "-O0",
) -> Path:
    """The kernel's program for the emulator, in a directory that lives as long as the tests do.

    To optimise it (`level`) takes longer than it saves where blocks by the thousand are not run.
    """
    directory = Path(_directory().name, "_".join([device, *decisions, *defines, *assume, level]))
    directory.mkdir(exist_ok=True)
    files = {suffix: directory / f"{kernel}{suffix}" for suffix in ("_host.c", "_emulator.c")}
    for suffix, path in files.items():
        path.write_text(compiled(kernel, device, decisions, defines, assume).files[suffix])
    made = directory / kernel
    flags = (level, *FLAGS, *(f"-D{d}" for d in defines))
    programs.call(("gcc", *flags, *files.values(), "-o", made, "-lm"))
    return made


@cache
def _directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="polygpu-tests-")


@cache
def profiles(kernel: str, device: str, sizes: programs.Sizes) -> dict[str, KernelProfile]:
    """The kernels of the marked region by name, counted at `sizes`."""
    made = program(kernel, device)
    document = made.with_suffix(".json")
    programs.run(made, sizes, POLYGPU_PROFILE=str(document))
    regions = read_profile(document).regions
    return {k.name: k for r in regions if r.name.startswith("polygpu_kernel_") for k in r.kernels}


def counted(profile: KernelProfile, fact: AccessFact) -> Counted:
    """What was counted for the access of `fact`; copies to shared memory belong to the read."""
    counts: Counter[str] = Counter()
    for site in _sites(profile, fact):
        counts.update(dict(site.counters.values))
    return Counted(counts)


def _sites(profile: KernelProfile, fact: AccessFact) -> Iterator[SiteProfile]:
    for site in profile.sites:
        write = site.write and site.space == "global"
        line = int(site.place.split(":")[1])
        if (site.text, line, write) == (fact.text, fact.position.line, fact.write):
            yield site
