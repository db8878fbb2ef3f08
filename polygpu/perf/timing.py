"""Modelled kernel time from counters, occupancy and a device's costs.

Four pipes and a latency chain. Local to a multiprocessor: instruction issue, and the load/store pipe (a pass
for each lane of a request that does not coalesce). Of the whole chip: device memory, and the dispatch of
blocks. A block alone on its multiprocessor takes the sum over its barrier-delimited stages of the slowest of
these in each (Zhang and Owens, HPCA'11); resident blocks overlap until a pipe is full. Cycles are the
shader clock's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from polygpu.model.device import Device
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Warps:
    """`warps` warps that do the same in a stage; the other counts are those of one warp.

    `slots`: instructions issued; `overlapped`: those of them that wait for no other's result.
    `extra_cycles`: what their classes cost beyond an issue slot;
    `tensor_cycles`: those of multiply-adds of tensor cores, none of which waits for another's sum.
    `conflict_steps`: sum over shared requests of steps - 1; `constant_steps`: the same of requests to the
    constant cache, which serves one address a step and is taken to hold what is asked for. `rounds`: waits
    for global and texture loads, those waited for together counting once. `lanes`: passes of uncoalesced
    requests; `half_warps`: coalesced requests. `wide_bytes`: bytes of 64 and 128 B transactions, and of what
    the texture cache fetches; `stored_lines`: what stores write to the cache of the memory; `near`, `far`:
    32 B fetches of distinct addresses, in an open row of the memory and in another one; `spread`: bytes
    between the rows of a request's far fetches; `hops`: bytes between the coalesced requests of an access, at
    most a row of the memory each.
    """

    warps: float
    slots: float
    extra_cycles: float = 0.0
    tensor_cycles: float = 0.0
    conflict_steps: float = 0.0
    constant_steps: float = 0.0
    rounds: float = 0.0
    lanes: float = 0.0
    half_warps: float = 0.0
    wide_bytes: float = 0.0
    shared_requests: float = 0.0
    stored_lines: float = 0.0
    near: float = 0.0
    far: float = 0.0
    spread: float = 0.0
    hops: float = 0.0
    overlapped: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What a block does from one barrier to the next, `repeats` times."""

    repeats: float
    groups: tuple[Warps, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Blocks:
    """`count` blocks of a grid that run the same stages."""

    count: float
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class StageTime:
    """`share` of the time of a block that has its multiprocessor to itself."""

    name: str
    share: float
    limited_by: str


@dataclass(frozen=True, slots=True)
class KernelTime:
    """`terms` are the seconds each resource would need by itself, the largest of which is `seconds`, but
    for what blocks wait to be started.

    The launch itself is not included. `limited_by` is one of "issue", "tensor cores", "bank conflicts",
    "constant addresses", "load/store passes", "latency", "memory bandwidth", "partition camping",
    "uncoalesced memory", "memory rows", "stored lines", "block dispatch", with "stages: " before it when it
    is barriers that keep the resources from overlapping.
    """

    seconds: float
    limited_by: str
    terms: tuple[tuple[str, float], ...]
    stages: tuple[StageTime, ...]


@dataclass(frozen=True, slots=True)
class _Cost:
    """One repetition of a stage by one block, in cycles of a multiprocessor.

    `tensor` is what tensor cores take beside `issue`. `conflicts` and `constants` are the parts that bank
    conflicts and distinct addresses in constant memory have in `issue` or `passes`; `camping` what streaming
    takes beyond `wide`, and fetches beyond `near` and `far`, because of full partitions; `near` what all
    fetches move, `far` what rows and translations add; `stores` what they take the memory's cache; `path` the
    longest warp's time; `ilp` how many of its instructions are under way at once.
    """

    name: str
    repeats: float
    warps: float
    ilp: float
    issue: float
    tensor: float
    passes: float
    conflicts: float
    constants: float
    wide: float
    camping: float
    near: float
    far: float
    stores: float
    path: float

    def issued(self, device: Device, blocks: int = 1) -> float:
        """The cycles in which so many blocks' instructions are issued and tensor cores are busy."""
        return self.issue * _stall(device, self.ilp * self.warps * blocks) + self.tensor

    @property
    def memory(self) -> float:
        return self.wide + self.camping + self.near + self.far + self.stores


@dataclass(frozen=True, slots=True)
class _Class:
    """`count` blocks, each of which has these costs."""

    count: float
    costs: list[_Cost]


def kernel_time(device: Device, grid: Sequence[Blocks], resident: int, imbalance: float = 1.0) -> KernelTime:
    """The time of one launch with at most `resident` (>= 1) blocks on a multiprocessor.

    Classes of unequal blocks are averaged, except that the last wave waits for the longest block, and that
    the longest ones take as long as without the others, at least: where they are few, some multiprocessors
    have one more of them. A grid without blocks takes no time. `imbalance` is that of the bytes moved from
    the memory's partitions: in the fullest one over the mean.
    """
    camping = camping_factor(device, imbalance)
    classes = [
        _Class(b.count, [_stage_cost(device, s, camping) for s in b.stages]) for b in grid if b.count > 0
    ]
    if not classes:
        return KernelTime(0.0, "", (), ())
    classes.sort(key=lambda c: _alone(device, c.costs, device.multiprocessors), reverse=True)
    longest = (_local(device, classes[: k + 1], resident) for k in range(len(classes)))
    local, pipes = max(longest, key=lambda found: found[0])
    blocks, mean = sum(c.count for c in classes), _mean(classes)
    memory = (
        blocks * sum(c.repeats * c.memory for c in mean) / device.multiprocessors + device.costs["latency"]
    )
    terms = {name: value / device.clock for name, value in (pipes | {"memory": memory}).items()}
    terms["dispatch"] = blocks * device.costs["dispatch"]
    seconds = _started(device, max(local / device.clock, terms["memory"]), terms["dispatch"])
    stages = tuple(_stage_times(device, mean, min(blocks, device.multiprocessors)))
    return KernelTime(seconds, _limit(device, terms, mean, stages), tuple(terms.items()), stages)


def _local(device: Device, classes: Sequence[_Class], resident: int) -> tuple[float, dict[str, float]]:
    """Cycles until these blocks are done, and those in which each pipe of a multiprocessor is busy."""
    mean, local = _mean(classes), 0.0
    pipes = {"issue": 0.0, "load/store": 0.0, "stages": 0.0}
    for waves, q, active in _waves(device, sum(c.count for c in classes), resident):
        times = [_alone(device, c.costs, active) for c in classes]
        last = q < resident or active < device.multiprocessors
        wave = {
            "issue": q * sum(c.repeats * c.issued(device, q) for c in mean),
            "load/store": q * sum(c.repeats * c.passes for c in mean),
            "stages": max(times) if last else _average(classes, times),
        }
        pipes = {name: pipes[name] + waves * cycles for name, cycles in wave.items()}
        local += waves * max(wave.values())
    return local, pipes


def _mean(classes: Sequence[_Class]) -> list[_Cost]:
    """What a block does in the mean: each stage once, in the order of the classes."""
    if len(classes) == 1:
        return classes[0].costs
    repeats: dict[_Cost, float] = {}
    for c in classes:
        for cost in c.costs:
            once = replace(cost, repeats=1.0)
            repeats[once] = repeats.get(once, 0.0) + c.count * cost.repeats
    blocks = sum(c.count for c in classes)
    return [replace(once, repeats=times / blocks) for once, times in repeats.items()]


def _average(classes: Sequence[_Class], of_each: Sequence[float]) -> float:
    found = sum(c.count * value for c, value in zip(classes, of_each, strict=True))
    return found / sum(c.count for c in classes)


def _started(device: Device, busy: float, dispatch: float) -> float:
    """Both of two times: the nearer dispatch comes to what blocks take, the more places stand empty."""
    longest = max(busy, dispatch)
    exponent = device.costs["dispatch_overlap"]
    return float(longest * (1 + (min(busy, dispatch) / longest) ** exponent) ** (1 / exponent))


def _waves(device: Device, blocks: float, resident: int) -> Iterator[tuple[float, int, float]]:
    """(how many, resident blocks, active multiprocessors) of the full waves and of the last one."""
    full, rest = divmod(blocks, device.multiprocessors * resident)
    if full:
        yield full, resident, device.multiprocessors
    if rest:
        yield 1, ceil(rest / device.multiprocessors), min(device.multiprocessors, rest)


def camping_factor(device: Device, imbalance: float) -> float:
    """How much longer streaming takes when the fullest partition has `imbalance` (>= 1) times the mean.

    The fullest one is what is waited for; and a partition that serves all by itself does so less efficiently,
    as Ruetsch and Micikevicius measured (Optimizing Matrix Transpose, partition camping).
    """
    partitions = device.costs["partitions"]
    if partitions <= 1:
        return 1.0
    best, worst = device.costs["efficiency"], device.costs["camped"]
    efficiency = best + (worst - best) * (imbalance - 1) / (partitions - 1)
    return imbalance * best / efficiency


def _stage_cost(device: Device, stage: Stage, camping: float) -> _Cost:
    costs = device.costs
    bytes_per_cycle = device.bandwidth * costs["efficiency"] / device.clock / device.multiprocessors
    issue = tensor = passes = conflicts = constants = path = 0.0
    for g in stage.groups:
        steps = costs["replay"] * (g.conflict_steps + g.constant_steps) + costs["shared"] * g.shared_requests
        cycles = costs["issue"] * g.slots + g.extra_cycles
        fetches = costs["departure"] * (g.near + g.far)
        pipe = max(costs["replay"] * g.lanes, fetches) + costs["coalesced"] * g.half_warps
        if costs["conflict_in_issue"]:
            cycles += steps
        else:
            pipe += steps
        issue += g.warps * cycles
        tensor += g.warps * g.tensor_cycles
        passes += g.warps * pipe
        conflicts += g.warps * costs["replay"] * g.conflict_steps
        constants += g.warps * costs["replay"] * g.constant_steps
        waits = g.rounds * costs["latency"] + (pipe if g.lanes else 0.0)
        path = max(path, cycles + g.tensor_cycles + (waits if g.rounds else 0.0))
    streamed = sum(g.warps * g.wide_bytes for g in stage.groups) / bytes_per_cycle
    near = sum(g.warps * (g.near + g.far) for g in stage.groups) * costs["near32"]
    far = sum(g.warps * far_cycles(device, g.far, g.spread, g.hops) for g in stage.groups)
    return _Cost(
        stage.name,
        stage.repeats,
        sum(g.warps for g in stage.groups),
        _ilp(device, stage.groups),
        issue,
        tensor,
        passes,
        conflicts,
        constants,
        streamed,
        max(0.0, (streamed + near) * (camping - 1) - far),
        near,
        far,
        sum(g.warps * g.stored_lines for g in stage.groups) * costs["store_line"],
        path,
    )


def far_cycles(device: Device, far: float, spread: float, hops: float) -> float:
    """What requests in other rows occupy the memory for beyond what they move, in cycles x multiprocessor:
    rows are opened, by requests that coalesce the more likely the farther they hop, and addresses `spread`
    bytes apart are translated, a page at a time. A partition that is full has the time for that.
    """
    pages = spread / device.costs["page"] if spread else 0.0
    rows = far + (hops / device.costs["row_stripe"] if hops else 0.0)
    return rows * device.costs["far32"] + pages * device.costs["translation"]


def _ilp(device: Device, groups: Sequence[Warps]) -> float:
    """How many instructions of a warp are under way at once: in unrolled loops as many as are independent."""
    usual, most = device.costs["ilp"], device.costs["ilp_unrolled"]
    slots = sum(g.warps * g.slots for g in groups)
    chained = sum(g.warps * (g.slots - g.overlapped) for g in groups)
    return max(usual, min(most, slots / chained)) if chained else usual


def _stall(device: Device, instructions: float) -> float:
    """How much longer issue takes when too few instructions of all warps are under way at once to hide the
    wait from a register's write to its read.
    """
    costs = device.costs
    return max(1.0, costs["raw"] / (costs["issue"] * instructions)) if instructions else 1.0


def _alone(device: Device, costs: Sequence[_Cost], active: float) -> float:
    """Cycles of a block alone on its multiprocessor while `active` multiprocessors share the memory."""
    return sum(cost.repeats * max(_pipes(device, cost, active).values()) for cost in costs)


def _pipes(device: Device, cost: _Cost, active: float) -> dict[str, float]:
    return {
        "issue": cost.issued(device),
        "load/store": cost.passes,
        "memory": cost.memory * active / device.multiprocessors,
        "latency": cost.path,
    }


def _stage_times(device: Device, costs: Sequence[_Cost], active: float) -> Iterator[StageTime]:
    total = _alone(device, costs, active)
    for cost in costs:
        pipes = _pipes(device, cost, active)
        pipe = max(pipes, key=lambda name: pipes[name])
        share = cost.repeats * pipes[pipe] / total if total else 0.0
        yield StageTime(cost.name, share, _in_words(device, pipe, [cost]))


def _limit(
    device: Device, terms: dict[str, float], mean: Sequence[_Cost], stages: Sequence[StageTime]
) -> str:
    largest = max(terms, key=lambda name: terms[name])
    if largest != "stages":
        return _in_words(device, largest, mean)
    longest = max(stages, key=lambda stage: stage.share)
    return f"stages: {longest.limited_by}" if len(stages) > 1 else longest.limited_by


def _in_words(device: Device, pipe: str, costs: Sequence[_Cost]) -> str:
    """The name of a pipe, or of what fills more than half of it."""
    conflicts = "issue" if device.costs["conflict_in_issue"] else "load/store"
    match pipe:
        case "issue" | "load/store":
            filled = sum(c.repeats * (c.issue + c.tensor if pipe == "issue" else c.passes) for c in costs)
            banks = sum(c.repeats * c.conflicts for c in costs)
            constants = sum(c.repeats * c.constants for c in costs)
            if pipe == conflicts and 2 * (banks + constants) > filled:
                return "bank conflicts" if banks >= constants else "constant addresses"
            if pipe == "issue" and 2 * sum(c.repeats * c.tensor for c in costs) > filled:
                return "tensor cores"
            return "issue" if pipe == "issue" else "load/store passes"
        case "memory":
            parts = {
                "memory bandwidth": sum(c.repeats * c.wide for c in costs),
                "partition camping": sum(c.repeats * c.camping for c in costs),
                "uncoalesced memory": sum(c.repeats * c.near for c in costs),
                "memory rows": sum(c.repeats * c.far for c in costs),
                "stored lines": sum(c.repeats * c.stores for c in costs),
            }
            return max(parts, key=lambda name: parts[name])
        case "dispatch":
            return "block dispatch"
        case _:
            return pipe
