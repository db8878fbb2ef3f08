"""Loops of the host whose launches are one, in print: see `model.kernel.Joined`.

What a kernel reads and another one of the loop writes does not go through caches that see no stores.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from polygpu.model.device import Device
from polygpu.model.expr import Int
from polygpu.model.kernel import ArrayArgument, For, Joined, Kernel, Launch, Part, Region, While
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import scalars_in
from polygpu.printing import uses
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import HOST_C
from polygpu.printing.folding import folded
from polygpu.printing.kernel_text import array_parameter, part_barrier
from polygpu.printing.nvcc import read_beside_stores
from polygpu.printing.printer import Names, braced, indented, print_expr, print_host
from polygpu.support.dataclass import dataclass

_MEET = "polygpu_sync_grid();"


@dataclass(frozen=True)
class JoinedLoop:
    """A loop of a region."""

    joined: Joined
    region: Region

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        return {k.name: k for k in self.region.kernels if k.name in self.joined.kernels}

    @cached_property
    def scalars(self) -> tuple[tuple[str, str], ...]:
        """The region's scalars that the loop depends on, with their types."""
        named = scalars_in(*uses.host_expressions((self.joined.loop,)))
        return tuple((s.name, s.type) for s in self.region.scalars if s.name in named)

    @cached_property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """Those of its kernels that are passed, by name."""
        found = {a.name: a for k in self.kernels.values() for a in k.arrays if a.space != "constant"}
        return tuple(replace(found[name], written=name in self.joined.changes) for name in sorted(found))


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


def joined_loops(region: Region, dialect: Dialect) -> tuple[JoinedLoop, ...]:
    """The loops that are one launch where the dialect can say so."""
    return tuple(JoinedLoop(joined, region) for joined in region.joined if dialect.part_barrier)


def one_block_rounds(device: Device) -> int:
    """The turns of one block, each of which waits for memory, in the time of a barrier of many blocks."""
    return max(1, int(device.costs["grid_barrier"] * device.clock / max(device.costs["latency"], 1)))


def _loops(kernel: Kernel) -> bool:
    """Whether threads of the kernel run loops of any length."""
    loops = (s for s in statements(kernel.body) if isinstance(s, For | While))
    return any(
        not (isinstance(s, For) and isinstance(s.lower, Int) and isinstance(s.upper, Int)) for s in loops
    )


def joined_text(loop: JoinedLoop, wide: frozenset[str], dialect: Dialect) -> JoinedText:
    """Prints a loop; the kernels that are `wide` have two versions."""
    device = Names(replace(dialect, reserved=dialect.reserved | HOST_C.reserved))
    host, joined = dialect.host_language, loop.joined
    version, meet = bool(wide & {*joined.kernels}), iter(joined.meet)
    beside = frozenset(name for kernel in loop.kernels.values() for name in read_beside_stores(kernel))

    def run(launch: Launch) -> list[str]:
        turns = _turns(launch, loop, launch.kernel in wide, device)
        return [*turns, _MEET] if next(meet) else turns

    def count(launch: Launch) -> list[str]:
        grid = ", ".join(map(print_expr, launch.grid))
        loops = "true" if _loops(loop.kernels[launch.kernel]) else "false"
        return [f"polygpu_count(grid, {joined.part(launch.kernel).number}, {loops}, {grid});"]

    body = print_host((joined.loop,), run, device)
    arrays = [
        f"{'' if a.written else 'const '}{host.stored_type(a.type)} *{HOST_C.spell(a.name)}"
        for a in loop.arrays
    ]
    scalars = [(HOST_C.spell(name), ctype) for name, ctype in loop.scalars]
    return JoinedText(
        name=joined.name,
        launches=", ".join(joined.kernels),
        wide=version,
        threads=joined.threads,
        bytes=joined.bytes,
        parameters=(
            *(f"{dialect.stored_type(ctype)} {device.spell(name)}" for name, ctype in loop.scalars),
            *(array_parameter(a, device.dialect, a.written or a.name in beside) for a in loop.arrays),
        ),
        body="\n".join(folded(indented(body))),
        head=(
            dialect.host_region,
            *([f"{dialect.host_flag} wide"] if version else []),
            *(f"{host.type(ctype)} {name}" for name, ctype in scalars),
            *arrays,
        ),
        count="\n".join(folded(indented(print_host((joined.loop,), count)))),
        arguments=tuple(
            f"&{name}"
            for name in (*(name for name, _ in scalars), *(HOST_C.spell(a.name) for a in loop.arrays))
        ),
        values=(*(name for name, _ in scalars), *(f"device_{a.name}" for a in loop.arrays)),
    )


def _turns(launch: Launch, loop: JoinedLoop, wide: bool, names: Names) -> list[str]:
    """Runs the blocks of a launch by turns."""
    part, kernel = loop.joined.part(launch.kernel), loop.kernels[launch.kernel]
    axes = [axis for axis, e in zip("xyz", launch.grid, strict=True) if e != Int(1)]
    extents = {a: print_expr(e, names) for a, e in zip("xyz", launch.grid, strict=True) if a in axes}
    called = _called(launch, part, kernel, axes, wide, names)
    here = _here(part)
    if not axes:
        return braced(f"if (blockIdx.x == 0 && threadIdx.x < {part.threads})", [called])
    sizes = [f"grid_{axis} = max({extents[axis]}, 0)" for axis in axes if len(axes) > 1]
    end = " * ".join(f"grid_{axis}" for axis in axes) if sizes else extents[axes[0]]
    step = f"{part.number} * gridDim.x" if part.number > 1 else "gridDim.x"
    first = f"blockIdx.x + gridDim.x * ({here})" if part.number > 1 else "blockIdx.x"
    apart = [part_barrier(here, part.threads, part.is_whole, names.dialect)] if part.meets else []
    start = ", ".join((*sizes, f"block = {first}"))
    lines = braced(f"for (int {start}; block < {end}; block += {step})", [called, *apart])
    if loop.joined.threads > part.number * part.threads:
        lines = braced(f"if (threadIdx.x < {part.number * part.threads})", lines)
    return lines


def _called(launch: Launch, part: Part, kernel: Kernel, axes: list[str], wide: bool, names: Names) -> str:
    """A block's function, of the block `block`."""
    arguments = [
        _thread(part, kernel),
        _block(axes),
        _here(part),
        *(print_expr(e, names) for e in launch.scalars),
        *(names.spell(a.name) for a in kernel.arrays if a.space != "constant"),
    ]
    return f"block_of_{launch.kernel}{'<offset_t>' if wide else ''}({', '.join(arguments)});"


def _here(part: Part) -> str:
    """The number of a thread's part."""
    if part.number == 1:
        return "0"
    return f"threadIdx.x / {part.threads}" if part.threads > 1 else "threadIdx.x"


def _thread(part: Part, kernel: Kernel) -> str:
    """The index of a thread within its part."""
    x, y, _ = kernel.block
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
