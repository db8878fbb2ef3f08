"""The seconds that a call of a region takes on the device, copies included, and as the original loops.

A rough price in closed form, by few numbers of the device file: how often statements run, what is copied and
what is launched is counted, but nothing of how kernels access memory. `perf` predicts times of kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.lower.realise import CompiledRegion
from polygpu.lower.work import Work, work_of
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.fragments import multiply_add
from polygpu.model.kernel import Buffer
from polygpu.model.structures import size_of
from polygpu.offload.instances import Count, Sizes, counter, operations
from polygpu.offload.measuring import Measuring
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import host_values, launches
from polygpu.printing.transfers import transfers
from polygpu.support.dataclass import dataclass

_MEASURED = 2  # calls at which the host measures what does not change
_LAUNCHES = 2  # iterations of a loop of the host that are looked at


@dataclass(frozen=True, slots=True)
class Price:
    """Seconds of a call. `bytes` are those of the arrays of the device, which the first call allocates. The
    host takes so long for `measuring` how large they have to be.
    """

    host: float
    kernels: float
    launches: float
    copies: float
    allocations: float
    bytes: float
    measuring: float = 0.0

    @property
    def device(self) -> float:
        return self.kernels + self.launches + self.copies + self.allocations + self.measuring

    @property
    def gains(self) -> bool:
        """Whether the device is faster."""
        return self.device < self.host


@dataclass
class _Launched:
    """So many launches of a kernel, and the threads of all of them."""

    times: float = 0.0
    threads: float = 0.0


@dataclass(frozen=True)
class Ledger:
    """What prices of a region are made of, at any sizes: values of its polyhedral parameters.

    Arrays stay on the device for so many `calls`. Where others that are `beside` it have them there, the host
    has to get them, and to give them back. Where what it measures others by is `settled` for all of these
    calls, it does so at the first, and at the second, when all that is on the device.
    """

    region: CompiledRegion
    device: Device
    calls: int = 1
    beside: bool = False
    settled: bool = False

    @cached_property
    def work(self) -> tuple[Work, ...]:
        return work_of(self.region.polyhedra)

    @cached_property
    def counts(self) -> dict[str, Count]:
        """Of the instances of each statement."""
        return {w.statement.name: counter(w.instances)[0] for w in self.work}

    @cached_property
    def operations(self) -> dict[str, int]:
        """Of an instance of each statement."""
        return {w.statement.name: operations(w.statement) for w in self.work}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Bytes of an element of each array."""
        return {b.name: _element(b) for b in self.region.region.buffers}

    def instances(self, sizes: Sizes) -> dict[str, float]:
        return {name: count(sizes) for name, count in self.counts.items()}

    def at(self, sizes: Sizes) -> Price:
        """The price of a call."""
        costs, r = self.device.costs, self.region.region
        values = host_values(r, sizes)
        runs = self.instances(sizes)
        held = {b.name: _bytes(b, values) for b in r.buffers}
        copied = [b for b in r.buffers if b.host]
        launched = self._launched(values)
        copies = sum(self._copies(b, values) for b in copied)
        computed = sum(n * self.operations[name] for name, n in runs.items()) / costs["host_rate"]
        moved = sum(held[b.name] for b in copied) / costs["host_bandwidth"]
        return Price(
            max(computed, moved) + (copies if self.beside else 0.0),
            sum(self._kernel(run, policy, runs, held, launched[k]) for k, run, policy in self._kernels),
            sum(found.times for found in launched.values()) * costs["launch"],
            copies / self.calls,
            costs["allocation"] / self.calls,
            sum(held.values()),
            sum(m.at(sizes, held, self.device) for m in self._measuring) * self._times,
        )

    @property
    def _times(self) -> float:
        """How often the host measures arrays, for a call."""
        return min(1.0, _MEASURED / self.calls) if self.settled else 1.0

    @cached_property
    def _measuring(self) -> tuple[Measuring, ...]:
        p = self.region.polyhedra
        return tuple(Measuring.of(p, m) for m in p.scop.measures)

    @cached_property
    def _kernels(self) -> tuple[tuple[str, tuple[PolyStatement, ...], str], ...]:
        """The name of each, the statements that it runs, and the policy of the tensor cores that multiply."""
        known = {w.statement.name: w.statement for w in self.work}
        pairs = zip(self.region.region.kernels, self.region.grids, strict=True)
        return tuple((k.name, tuple(known[s] for s in g.statements), g.fragments) for k, g in pairs)

    def _launched(self, values: Sizes) -> dict[str, _Launched]:
        """What is launched of each kernel."""
        kernels = self.region.region.kernels
        found, threads = {k.name: _Launched() for k in kernels}, {k.name: prod(k.block) for k in kernels}
        for launch, at, times in launches(self.region.region.body, values, _LAUNCHES):
            blocks = prod(max(0, uniform(extent, at) or 0) for extent in launch.grid)
            if blocks:
                found[launch.kernel].times += times
                found[launch.kernel].threads += times * blocks * threads[launch.kernel]
        return found

    def _kernel(
        self,
        statements: Iterable[PolyStatement],
        policy: str,
        runs: Mapping[str, float],
        held: Mapping[str, float],
        launched: _Launched,
    ) -> float:
        """The seconds of all launches of a kernel: what it computes, or moves where this takes longer.

        A thread computes one operation after the other, or its share of a multiply-add of tensor cores.
        """
        if not launched.times:
            return 0.0
        computed, accessed, doubles = 0.0, defaultdict[str, float](float), False
        for s in statements:
            computed += runs[s.name] * self.operations[s.name]
            for a in s.accesses:
                accessed[a.reference.array] += runs[s.name] * self.sizes.get(a.reference.array, 0)
                doubles = doubles or a.reference.type == "double"
        d = self.device
        together = multiply_add(policy) / d.warp if policy else 1
        peak = _tensor_peak(d, policy) if policy else _peak(d, doubles)
        rate = min(peak, launched.threads / launched.times * together * d.clock / d.costs["raw"])
        moved = sum(min(size, held[name] * launched.times) for name, size in accessed.items())
        return max(computed / rate, moved / (d.bandwidth * d.costs["efficiency"]))

    def _copies(self, b: Buffer, values: Sizes) -> float:
        """The seconds of the copies of a buffer, one after the other where its box has holes."""
        costs = self.device.costs
        calls = sum(prod(_extents(b, values)[: len(t.loops)]) for t in transfers(b))
        ways = [costs[way] for way, used in (("to_device", b.copy_in), ("from_device", b.copy_out)) if used]
        return sum(calls * costs["copy"] + _bytes(b, values) / bandwidth for bandwidth in ways)


def _peak(device: Device, doubles: bool) -> float:
    """Operations a second of the whole device; a chip without doubles computes with floats instead."""
    costs = device.costs
    rate = (costs["double_flops_per_cycle"] if doubles else 0) or costs["flops_per_cycle"]
    return rate * device.multiprocessors * device.clock


def _tensor_peak(device: Device, policy: str) -> float:
    """The same of tensor cores."""
    cycles = device.costs["issue"] + device.costs[f"tensor_{policy}"]
    return multiply_add(policy) / cycles * device.multiprocessors * device.clock


def _bytes(b: Buffer, values: Sizes) -> int:
    return prod(_extents(b, values)) * _element(b)


def _extents(b: Buffer, values: Sizes) -> tuple[int, ...]:
    return tuple(max(0, uniform(extent, values) or 0) for extent in b.extents)


def _element(b: Buffer) -> int:
    """Bytes of an element, without what may be between members that are structures."""
    members = b.structure.fields if b.structure else ()
    return size_of(b.type, b.structure) or sum(SIZES[ctype] for _, ctype in members)
