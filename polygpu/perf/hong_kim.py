"""Hong and Kim's analytical model (ISCA'09), kept for comparison with `polygpu.perf.timing`."""

from __future__ import annotations

from dataclasses import dataclass

from polygpu.model.device import WARP


@dataclass(frozen=True, slots=True)
class Chip:
    """Cycles of the shader clock (`clock` in Hz); `bandwidth` in B/s at the pins; `issue` of a warp."""

    multiprocessors: int
    clock: float
    bandwidth: float
    issue: float
    latency: float
    departure_coalesced: float
    departure_uncoalesced: float
    transactions_per_warp: float  # of an uncoalesced access


@dataclass(frozen=True, slots=True)
class Kernel:
    """Dynamic instruction counts of one warp; `bytes_per_warp` of one memory instruction."""

    blocks: int
    threads: int
    resident: int
    computes: float
    coalesced: float
    uncoalesced: float
    barriers: float
    bytes_per_warp: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """In cycles: `execution` and `barriers` of all blocks. `memory_parallel` is the paper's MWP, the warps
    that access memory at a time; `compute_parallel` its CWP, those that compute while one does.
    """

    memory_parallel: float
    compute_parallel: float
    execution: float
    barriers: float

    @property
    def cycles(self) -> float:
        return self.execution + self.barriers


def estimate(chip: Chip, kernel: Kernel) -> Estimate:
    """Equations 1 to 23 of the paper. `kernel` has at least one memory access."""
    accesses = kernel.coalesced + kernel.uncoalesced
    share = kernel.uncoalesced / accesses
    slow = chip.latency + (chip.transactions_per_warp - 1) * chip.departure_uncoalesced
    latency = slow * share + chip.latency * (1 - share)
    scattered = chip.departure_uncoalesced * chip.transactions_per_warp
    departure = scattered * share + chip.departure_coalesced * (1 - share)
    warps = kernel.resident * -(-kernel.threads // WARP)
    active = min(chip.multiprocessors, -(-kernel.blocks // kernel.resident))
    per_warp = chip.clock * kernel.bytes_per_warp / latency
    memory_parallel = min(latency / departure, chip.bandwidth / (per_warp * active), warps)
    compute = chip.issue * (kernel.computes + accesses)
    memory = slow * kernel.uncoalesced + chip.latency * kernel.coalesced
    compute_parallel = min((memory + compute) / compute, warps)
    overlap = compute / accesses * (memory_parallel - 1)
    if memory_parallel == warps == compute_parallel:
        time = memory + compute + overlap
    elif compute_parallel >= memory_parallel or compute > memory:
        time = memory * warps / memory_parallel + overlap
    else:
        time = latency + compute * warps
    repeats = kernel.blocks / (kernel.resident * active)
    barriers = departure * (memory_parallel - 1) * kernel.barriers * kernel.resident
    return Estimate(memory_parallel, compute_parallel, time * repeats, barriers * repeats)
