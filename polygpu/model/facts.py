"""What a compilation decided and why, for the reports.

facts  ::= region*
region ::= loop verdict*, kernel*, access*, decision*, note*, price
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from polygpu.model.expr import Position
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """Whether the iterations of a source loop can run at the same time, and if not, what forbids it.

    `why` is one clause; `source` and `target` are the two ends of the dependence it names.
    """

    iterator: str
    position: Position
    text: str
    parallel: bool
    why: str = ""
    source: Position | None = None
    target: Position | None = None


@dataclass(frozen=True, slots=True)
class AccessFact:
    """One source access in one kernel.

    `space` is where its instances read or write: "global", "constant", "texture", "shared", "register", or
    "shared, staged" for one served by copy code. `transactions` is the mean per full request of
    `request_lanes` lanes of its global part, `coalesced` whether all those requests coalesce; both are
    None without a global part or where no prediction was made. Bank degrees: 1 is free of conflicts, 0
    means no shared part; `bank_steps` is the mean number of steps of its requests to shared memory.
    """

    site: int
    kernel: str
    array: str
    text: str
    position: Position
    write: bool
    space: str
    coalesced: bool | None = None
    transactions: float | None = None
    request_lanes: int = 16
    shared_array: str = ""
    padding: int = 0
    degree_before: int = 0
    degree_after: int = 0
    note: str = ""
    bank_steps: float = 0.0


@dataclass(frozen=True, slots=True)
class KernelFact:
    """One kernel. `grid`, `tile` and `distribution` are text for people (`ceil(n/16) x ceil(m/16)`).

    `shared_bytes` are those of arrays in a block, `shared_bytes_allocated` with arguments and what the device
    keeps, rounded up as it allocates. `registers` are those of a thread, 0 when unknown, estimated unless
    `registers_decided`; `blocks_per_multiprocessor` and `warps_per_multiprocessor` are the resident ones,
    `occupancy_limit` the resource that runs out first.
    """

    name: str
    region: str
    position: Position
    block: tuple[int, int, int]
    grid: str
    tile: str = ""
    distribution: str = ""
    shared_bytes: int = 0
    registers: int = 0
    blocks_per_multiprocessor: int = 0
    warps_per_multiprocessor: int = 0
    occupancy_limit: str = ""
    shared_bytes_allocated: int = 0
    registers_decided: bool = False


@dataclass(frozen=True, slots=True)
class ProofFact:
    """What the certificate says of a property: "proved" of so many things, "open" or "refuted", and why."""

    property: str
    verdict: Literal["proved", "open", "refuted"]
    count: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class PriceFact:
    """Seconds of a call on the device and on the host, by a rough model, where sizes that are known at run
    time only are those of `sizes`. With `faster` "from", `test` tells at run time where the device is faster.
    Arrays are copied once in so many `calls`.
    """

    sizes: dict[str, int]
    host_s: float
    kernels_s: float
    launches_s: float
    copies_s: float
    allocations_s: float
    measuring_s: float
    faster: Literal["always", "never", "from"]
    test: str = ""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class RegionFacts:
    name: str
    function: str
    position: Position
    loops: tuple[LoopVerdict, ...] = ()
    kernels: tuple[KernelFact, ...] = ()
    accesses: tuple[AccessFact, ...] = ()
    decisions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    proofs: tuple[ProofFact, ...] = ()
    price: PriceFact | None = None


@dataclass(frozen=True, slots=True)
class CompilationFacts:
    """`device` is its name, `title` its name in words; `warps` the most a multiprocessor holds."""

    device: str
    target: str
    regions: tuple[RegionFacts, ...]
    title: str = ""
    warps_per_multiprocessor: int = 0
    source: str = field(default="")
