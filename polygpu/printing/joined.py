"""Loops of the host whose launches are one: as many blocks as run at a time carry out one after another.

    for (k = 0; k < n; ++k) { f<<<grid, block>>>(k); g<<<other grid, other block>>>(k); }

becomes one launch of a kernel that runs the loop:

    for (k = 0; k < n; ++k) { blocks of f(k); all blocks meet; blocks of g(k); all blocks meet; }

Its blocks have parts, of as many threads as a block of the launch that they are at: part p of block b runs
block b + p * gridDim.x of the launch, and so on, by turns. The threads of a part meet by themselves, at a
barrier and in shared memory of their own; all blocks meet where a launch ends. What a kernel reads and
another one of the loop writes does not go through caches that see no stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from math import prod

from polygpu.model.device import Device
from polygpu.model.expr import Int
from polygpu.model.kernel import (
    ArrayArgument,
    Barrier,
    For,
    HostFor,
    HostStatement,
    Kernel,
    Launch,
    Region,
    While,
)
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import scalars_in
from polygpu.perf.resources import registers_of
from polygpu.printing import uses
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import HOST_C
from polygpu.printing.folding import folded
from polygpu.printing.kernel_text import array_parameter, part_barrier, part_bytes
from polygpu.printing.printer import Names, braced, indented, print_expr, print_host
from polygpu.support.dataclass import dataclass

_MEET = "polygpu_sync_grid();"
_BARRIERS = 15  # of parts of a block: what the hardware has, but for that of the whole block


@dataclass(frozen=True)
class Part:
    """How blocks that are one launch run those of a kernel: `number` at a time, each by so many `threads`.

    Each has so many `bytes` of shared memory; `meets` is whether its threads wait for each other, `is_whole`
    whether they are all of a block that is launched.
    """

    kernel: Kernel
    threads: int
    number: int
    bytes: int
    meets: bool
    is_whole: bool


@dataclass(frozen=True)
class Joined:
    """A loop of the host, and the kernel `name` that makes its launches, in blocks of so many `threads`."""

    name: str
    loop: HostFor
    region: Region
    parts: dict[str, Part]
    threads: int

    @cached_property
    def written(self) -> frozenset[str]:
        """The arrays that change while the kernel runs."""
        return frozenset(a.name for p in self.parts.values() for a in p.kernel.arrays if a.written)

    @property
    def bytes(self) -> int:
        """Of shared memory of a block."""
        return max(part.number * part.bytes for part in self.parts.values())

    @cached_property
    def scalars(self) -> tuple[tuple[str, str], ...]:
        """The region's scalars that the loop depends on, with their types."""
        named = scalars_in(*uses.host_expressions((self.loop,)))
        return tuple((s.name, s.type) for s in self.region.scalars if s.name in named)

    @cached_property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """Those of its kernels that are passed, by name."""
        found = {a.name: a for p in self.parts.values() for a in p.kernel.arrays if a.space != "constant"}
        return tuple(replace(found[name], written=name in self.written) for name in sorted(found))


@dataclass(frozen=True, slots=True)
class JoinedText:
    """A loop that is one launch, in print: the kernel, and the host's function that launches it.

    `count` are the statements that go through its launches, to see how large they are.
    """

    name: str
    launches: str
    wide: bool
    threads: int
    bytes: int
    parameters: tuple[str, ...]
    body: str
    head: tuple[str, ...]
    count: str
    arguments: tuple[str, ...]
    values: tuple[str, ...]  # that the region passes for them


def joined_loops(region: Region, device: Device, dialect: Dialect) -> tuple[Joined, ...]:
    """The loops of the host, from the outermost, all of whose kernels may be joined."""
    if not dialect.part_barrier:
        return ()
    kernels = {k.name: k for k in region.kernels if k.joined and may_join(k, device)}
    stem = region.name.removeprefix("polygpu_")
    loops = dict.fromkeys(_outermost(region.body, frozenset(kernels)))
    found = (_joined(f"{stem}_loop{k}", loop, region, kernels, device) for k, loop in enumerate(loops))
    return tuple(found)


def may_join(kernel: Kernel, device: Device) -> bool:
    """Whether blocks of the kernel can be parts of others: where they have barriers, of whole warps."""
    return not _meets(kernel) or prod(kernel.block) % device.warp == 0


def one_block_rounds(device: Device) -> int:
    """The turns of one block, each of which waits for memory, in the time of a barrier of many blocks."""
    return max(1, int(device.costs["grid_barrier"] * device.clock / max(device.costs["latency"], 1)))


def _meets(kernel: Kernel) -> bool:
    return bool(kernel.shared) or any(isinstance(s, Barrier) for s in statements(kernel.body))


def _loops(kernel: Kernel) -> bool:
    """Whether threads of the kernel run loops of any length."""
    loops = (s for s in statements(kernel.body) if isinstance(s, For | While))
    return any(
        not (isinstance(s, For) and isinstance(s.lower, Int) and isinstance(s.upper, Int)) for s in loops
    )


def _outermost(body: Iterable[HostStatement], kernels: frozenset[str]) -> Iterator[HostFor]:
    for s in body:
        if isinstance(s, HostFor) and {launch.kernel for launch in uses.launches(s.body)} <= kernels:
            yield s
        elif not isinstance(s, Launch):
            yield from _outermost(s.body, kernels)


def _joined(name: str, loop: HostFor, region: Region, kernels: dict[str, Kernel], device: Device) -> Joined:
    mine = {launch.kernel: kernels[launch.kernel] for launch in uses.launches(loop.body)}
    threads = _threads(mine.values(), device)
    return Joined(name, loop, region, {n: _part(k, threads, device) for n, k in mine.items()}, threads)


def _threads(kernels: Iterable[Kernel], device: Device) -> int:
    """The largest power of two that the registers of a multiprocessor suffice for, or the largest block."""
    registers = max(registers_of(kernel, device) for kernel in kernels)
    most = min(device.max_threads_per_block, device.registers_per_multiprocessor // registers)
    widest = max(prod(kernel.block) for kernel in kernels)
    return max(1 << most.bit_length() - 1, widest + -widest % device.warp)


def _part(kernel: Kernel, block: int, device: Device) -> Part:
    threads, meets, size = prod(kernel.block), _meets(kernel), part_bytes(kernel)
    limits = [
        block // threads,
        *([_BARRIERS] if meets else []),
        *([device.shared_per_block // size] if size else []),
    ]
    return Part(kernel, threads, max(1, min(limits)), size, meets, threads == block)


def joined_text(loop: Joined, wide: frozenset[str], dialect: Dialect) -> JoinedText:
    """Prints a loop; the kernels that are `wide` have two versions."""
    device = Names(replace(dialect, reserved=dialect.reserved | HOST_C.reserved))
    host, version = dialect.host_language, bool(wide & {*loop.parts})

    def run(launch: Launch) -> list[str]:
        return _turns(launch, loop, launch.kernel in wide, device)

    def count(launch: Launch) -> list[str]:
        grid = ", ".join(map(print_expr, launch.grid))
        part = loop.parts[launch.kernel]
        loops = "true" if _loops(part.kernel) else "false"
        return [f"polygpu_count(grid, {part.number}, {loops}, {grid});"]

    body = print_host((loop.loop,), run, device)
    arrays = [
        f"{'' if a.written else 'const '}{host.stored_type(a.type)} *{HOST_C.spell(a.name)}"
        for a in loop.arrays
    ]
    scalars = [(HOST_C.spell(name), ctype) for name, ctype in loop.scalars]
    return JoinedText(
        name=loop.name,
        launches=", ".join(loop.parts),
        wide=version,
        threads=loop.threads,
        bytes=loop.bytes,
        parameters=(
            *(f"{dialect.stored_type(ctype)} {device.spell(name)}" for name, ctype in loop.scalars),
            *(array_parameter(a, device.dialect, a.written) for a in loop.arrays),
        ),
        body="\n".join(folded(indented(body))),
        head=(
            dialect.host_region,
            *([f"{dialect.host_flag} wide"] if version else []),
            *(f"{host.type(ctype)} {name}" for name, ctype in scalars),
            *arrays,
        ),
        count="\n".join(folded(indented(print_host((loop.loop,), count)))),
        arguments=tuple(
            f"&{name}"
            for name in (*(name for name, _ in scalars), *(HOST_C.spell(a.name) for a in loop.arrays))
        ),
        values=(*(name for name, _ in scalars), *(f"device_{a.name}" for a in loop.arrays)),
    )


def _turns(launch: Launch, loop: Joined, wide: bool, names: Names) -> list[str]:
    """Runs the blocks of a launch by turns, and has all wait for its end."""
    part = loop.parts[launch.kernel]
    axes = [axis for axis, e in zip("xyz", launch.grid, strict=True) if e != Int(1)]
    extents = {a: print_expr(e, names) for a, e in zip("xyz", launch.grid, strict=True) if a in axes}
    called = _called(launch, part, axes, wide, names)
    here = _here(part)
    if not axes:
        return [*braced(f"if (blockIdx.x == 0 && threadIdx.x < {part.threads})", [called]), _MEET]
    sizes = [f"grid_{axis} = max({extents[axis]}, 0)" for axis in axes if len(axes) > 1]
    end = " * ".join(f"grid_{axis}" for axis in axes) if sizes else extents[axes[0]]
    step = f"{part.number} * gridDim.x" if part.number > 1 else "gridDim.x"
    first = f"blockIdx.x + gridDim.x * ({here})" if part.number > 1 else "blockIdx.x"
    apart = [part_barrier(here, part.threads, part.is_whole, names.dialect)] if part.meets else []
    start = ", ".join((*sizes, f"block = {first}"))
    lines = braced(f"for (int {start}; block < {end}; block += {step})", [called, *apart])
    if loop.threads > part.number * part.threads:
        lines = braced(f"if (threadIdx.x < {part.number * part.threads})", lines)
    return [*lines, _MEET]


def _called(launch: Launch, part: Part, axes: list[str], wide: bool, names: Names) -> str:
    """A block's function, of the block `block`."""
    arguments = [
        _thread(part),
        _block(axes),
        _here(part),
        *(print_expr(e, names) for e in launch.scalars),
        *(names.spell(a.name) for a in part.kernel.arrays if a.space != "constant"),
    ]
    return f"block_of_{launch.kernel}{'<offset_t>' if wide else ''}({', '.join(arguments)});"


def _here(part: Part) -> str:
    """The number of a thread's part."""
    if part.number == 1:
        return "0"
    return f"threadIdx.x / {part.threads}" if part.threads > 1 else "threadIdx.x"


def _thread(part: Part) -> str:
    """The index of a thread within its part."""
    x, y, _ = part.kernel.block
    if part.threads == 1:
        return "make_uint3(0, 0, 0)"
    thread = f"threadIdx.x % {part.threads}" if part.number > 1 else "threadIdx.x"
    if part.threads == x:
        return f"make_uint3({thread}, 0, 0)"
    if part.threads == x * y:
        return f"make_uint3(threadIdx.x % {x}, {thread} / {x}, 0)"
    return f"make_uint3(threadIdx.x % {x}, {thread} / {x} % {y}, {thread} / {x * y})"


def _block(axes: list[str]) -> str:
    """The index of block number `block` of a grid with those axes."""
    found = dict.fromkeys("xyz", "0")
    before: list[str] = []
    for axis in axes:
        size = " * ".join(before)
        number = f"block / {size}" if len(before) == 1 else f"block / ({size})" if before else "block"
        found[axis] = number if axis == axes[-1] else f"{number} % grid_{axis}"
        before.append(f"grid_{axis}")
    return f"make_uint3({found['x']}, {found['y']}, {found['z']})"
