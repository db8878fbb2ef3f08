"""Hong and Kim's analytical model (ISCA'09), kept for comparison with `polygpu.analysis.timing`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chip:
    """Cycles of the shader clock (`clock` in Hz); `bandwidth` in B/s at the pins."""

    multiprocessors: int
    clock: float
    bandwidth: float
    latency: float
    departure_coalesced: float
    departure_uncoalesced: float
    transactions_per_warp: float  # of an uncoalesced access
    issue: float = 4.0


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
    bytes_per_warp: float = 128.0


def cycles(chip: Chip, kernel: Kernel) -> float:
    """Equations 1 to 23 of the paper. `kernel` has at least one memory access."""
    accesses = kernel.coalesced + kernel.uncoalesced
    share = kernel.uncoalesced / accesses
    slow = chip.latency + (chip.transactions_per_warp - 1) * chip.departure_uncoalesced
    latency = slow * share + chip.latency * (1 - share)
    departure = chip.departure_uncoalesced * chip.transactions_per_warp * share + chip.departure_coalesced * (
        1 - share
    )
    warps = kernel.resident * -(-kernel.threads // 32)
    active = min(chip.multiprocessors, -(-kernel.blocks // kernel.resident))
    per_warp = chip.clock * kernel.bytes_per_warp / latency
    memory_parallel = min(latency / departure, chip.bandwidth / (per_warp * active), warps)
    compute = chip.issue * (kernel.computes + accesses)
    memory = slow * kernel.uncoalesced + chip.latency * kernel.coalesced
    compute_parallel = min((memory + compute) / compute, warps)
    waves = kernel.blocks / (kernel.resident * active)
    overlap = compute / accesses * (memory_parallel - 1)
    if memory_parallel == warps == compute_parallel:
        time = memory + compute + overlap
    elif compute_parallel >= memory_parallel or compute > memory:
        time = memory * warps / memory_parallel + overlap
    else:
        time = latency + compute * warps
    barriers = departure * (memory_parallel - 1) * kernel.barriers * kernel.resident
    return (time + barriers) * waves
