"""What the device-file templates fill in for one kernel: its signature, body and launch as printed parts."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from math import prod

from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr, Int
from polygpu.model.kernel import (
    ArrayArgument,
    Buffer,
    DeclareArray,
    Kernel,
    Region,
    SharedArray,
)
from polygpu.model.kernel_walk import statements
from polygpu.perf.elements import SharedPlace, shared_places
from polygpu.perf.resources import shared_bytes
from polygpu.printing import uses
from polygpu.printing.countdown import counted_down
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import HOST_C
from polygpu.printing.folding import folded
from polygpu.printing.nvcc import read_beside_stores, values_of
from polygpu.printing.printer import AnyArray, Names, indented
from polygpu.printing.statements import print_body
from polygpu.printing.transfers import row_pitch
from polygpu.support.dataclass import dataclass

SHORT_GRID = 65535  # the limit of grid dimensions that real programs exceed
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class BlockText:
    """What a block of a kernel does, as a function that a part of another kernel's block calls too."""

    parameters: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel's parts. `offset` is "" or the type of its offsets; `wide` marks the two versions.

    Where it has a `function`, the body calls that.
    """

    index: int
    name: str
    comment: tuple[str, ...]
    bounds: str
    registers: int  # what a thread may have; 0: as many as it needs
    block: tuple[int, int, int]
    wide: bool
    parameters: tuple[str, ...]
    body: str
    dynamic_bytes: int
    axes: str  # grid dimensions that are not always 1
    grid: tuple[str, str, str]  # of one launch
    empty: str  # the test for no blocks at all
    chunks: dict[str, int]  # axis -> the most blocks of one launch
    launch_head: tuple[str, ...]
    launch_parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    chunk_arguments: tuple[str, ...]
    constants: tuple[str, ...]  # arrays that it reads from variables of the file
    function: BlockText | None


def kernel_text(
    index: int,
    kernel: Kernel,
    region: Region,
    device: Device,
    dialect: Dialect,
    changing: Set[str] | None = None,
    whole: bool = False,
) -> KernelText:
    """Prints the parts of one kernel of `region`; one of loops that are one launch has a function of its own,
    while which the arrays that are `changing` may change, for `whole` blocks of those or for parts of them.
    """
    offset = _offset_type(kernel, region)
    axes, chunks = _grid(kernel, region, device, dialect)
    constants = {a.name: constant_name(region, a.name) for a in constant_arrays(kernel, dialect)}
    code = counted_down(kernel.body)
    builtins = _chunk_builtins(chunks, dialect)
    names = Names(dialect, _arrays(kernel), offset, builtins, constants, values_of(code))
    shared = shared_bytes(kernel)
    dynamic = shared if 0 < dialect.static_shared < shared or changing is not None else 0
    function = None
    if changing is not None:
        function = _function(kernel, replace(names, builtins={}), changing, whole)
    body = (
        _call(kernel, chunks, offset, dialect)
        if function
        else [*_shared_lines(kernel, dialect, dynamic), *print_body(code, names)]
    )
    threads, blocks = prod(kernel.block), _resident(kernel, device)
    alone = 1 if not axes and device.warp < threads else 0  # else a compiler saves registers for others
    host = dialect.host_language
    scalars = [f"{host.type(s.type)} {HOST_C.spell(s.name)}" for s in kernel.scalars]
    arguments = [*(s.name for s in kernel.scalars), *(a.name for a in array_arguments(kernel, dialect))]
    return KernelText(
        index=index,
        name=kernel.name,
        comment=kernel.comment,
        bounds=f"{threads}, {blocks or alone}" if blocks or alone else str(threads),
        registers=0 if blocks else kernel.registers,
        block=kernel.block,
        wide=offset == "offset_t",
        parameters=(*_parameters(kernel, dialect), *(f"int block_from_{axis}" for axis in chunks)),
        body="\n".join(folded(indented(body))),
        dynamic_bytes=dynamic,
        axes=axes,
        grid=(
            _grid_extent("x", axes, chunks),
            _grid_extent("y", axes, chunks),
            _grid_extent("z", axes, chunks),
        ),
        empty=" || ".join(f"grid_{axis} <= 0" for axis in axes),
        chunks=chunks,
        launch_head=_launch_head(offset == "offset_t", axes, dialect),
        launch_parameters=(*scalars, *_launch_arrays(kernel, dialect)),
        arguments=tuple(map(HOST_C.spell, arguments)),
        chunk_arguments=tuple(f"(int)from_{axis}" for axis in chunks),
        constants=tuple(constants),
        function=function,
    )


def _function(kernel: Kernel, names: Names, changing: Set[str], whole: bool) -> BlockText:
    """Its built-in indices are parameters of the same names."""
    part = "part"
    barrier = part_barrier(part, prod(kernel.block), whole, names.dialect)
    dialect = replace(names.dialect, barrier=barrier, reserved=names.dialect.reserved | {part})
    arrays = tuple(a if a.name not in changing else replace(a, space="global") for a in kernel.arrays)
    kernel = replace(kernel, arrays=arrays)
    names = replace(names, dialect=dialect, arrays=_arrays(kernel))
    body = [
        *_shared_lines(kernel, dialect, part_bytes(kernel), part),
        *print_body(counted_down(kernel.body), names),
    ]
    indices = ("const uint3 threadIdx", "const uint3 blockIdx", f"int {part}")
    parameters = (*indices, *_parameters(kernel, dialect, changing))
    return BlockText(parameters, "\n".join(folded(indented(body))))


def _call(kernel: Kernel, chunks: dict[str, int], offset: str, dialect: Dialect) -> list[str]:
    """The function of a block as the body of a kernel."""
    version = "<offset_t>" if offset == "offset_t" else ""
    indices = (
        f"blockIdx.{axis} + block_from_{axis}" if axis in chunks else f"blockIdx.{axis}" for axis in AXES
    )
    block = f"make_uint3({', '.join(indices)})" if chunks else "blockIdx"
    names = [*(s.name for s in kernel.scalars), *(a.name for a in array_arguments(kernel, dialect))]
    arguments = ", ".join(("threadIdx", block, "0", *map(dialect.spell, names)))
    return [f"block_of_{kernel.name}{version}({arguments});"]


def part_barrier(part: str, threads: int, whole: bool, dialect: Dialect) -> str:
    """Where all `threads` of a part of a block wait for each other; `whole` parts have no others beside."""
    return dialect.barrier if whole else dialect.part_barrier.format(part=part, threads=threads)


def part_bytes(kernel: Kernel) -> int:
    """The shared memory of a block of the kernel where several of them lie one behind the other."""
    size = shared_bytes(kernel)
    return size + -size % max(16, *(array.alignment for array in kernel.shared), 16)


def constant_arrays(kernel: Kernel, dialect: Dialect) -> tuple[ArrayArgument, ...]:
    """The arrays that the kernel finds as variables of the file."""
    return tuple(a for a in kernel.arrays if dialect.constants_apart and a.space == "constant")


def array_arguments(kernel: Kernel, dialect: Dialect) -> tuple[ArrayArgument, ...]:
    """The arrays that are passed to the kernel."""
    return tuple(a for a in kernel.arrays if a not in constant_arrays(kernel, dialect))


def constant_name(region: Region, array: str) -> str:
    """The variable of the file that holds an array of `region` in constant memory."""
    return f"{array}_of_{region.name}"


def _resident(kernel: Kernel, device: Device) -> int:
    """So many blocks have just the registers of a multiprocessor, by a decision, which compilers keep to
    better where they are told of blocks; 0 where they have not.
    """
    threads = prod(kernel.block)
    blocks, left = divmod(device.registers_per_multiprocessor, max(kernel.registers * threads, 1))
    fit = kernel.registers and not left and blocks * threads <= device.threads_per_multiprocessor
    return blocks if fit else 0


def _offset_type(kernel: Kernel, region: Region) -> str:
    """Both widths where sizes vary; the one that fits where all pitched arrays have constant sizes."""
    buffers = {buffer.name: buffer for buffer in region.buffers}
    pitched = [buffers[array.name] for array in kernel.arrays if len(array.extents) > 1]
    counts = [_constant_count(buffer) for buffer in pitched]
    if None in counts:
        return "offset_t"
    return "long long" if any(count >= 2**31 for count in counts if count) else ""


def _constant_count(buffer: Buffer) -> int | None:
    sizes = [*buffer.extents[:-1], row_pitch(buffer)]
    values = [size.value for size in sizes if isinstance(size, Int)]
    return prod(values) if len(values) == len(sizes) else None


def _arrays(kernel: Kernel) -> dict[str, AnyArray]:
    private = [s for s in statements(kernel.body) if isinstance(s, DeclareArray)]
    arrays: tuple[AnyArray, ...] = (*kernel.arrays, *kernel.shared, *private)
    return {array.name: array for array in arrays}


def _grid(kernel: Kernel, region: Region, device: Device, dialect: Dialect) -> tuple[str, dict[str, int]]:
    """The axes a launch gives, and those of them that one launch may not cover."""
    launches = [launch for launch in uses.launches(region.body) if launch.kernel == kernel.name]
    extents = {axis: [launch.grid[k] for launch in launches] for k, axis in enumerate(AXES)}
    axes = [axis for axis in AXES if any(extent != Int(1) for extent in extents[axis])]
    limits = {axis: limit for axis, limit in zip(AXES, device.max_grid, strict=True) if limit <= SHORT_GRID}
    chunks = {
        axis: limits[axis]
        for axis in axes
        if dialect.chunked_grids
        and axis in limits
        and any(_may_exceed(e, limits[axis]) for e in extents[axis])
    }
    return "".join(axes), chunks


def _may_exceed(extent: Expr, limit: int) -> bool:
    return not (isinstance(extent, Int) and extent.value <= limit)


def _grid_extent(axis: str, axes: str, chunks: dict[str, int]) -> str:
    """Blocks of one launch along an axis."""
    if axis not in axes:
        return "1"
    if axis in chunks:
        return f"(unsigned)polygpu_min(grid_{axis} - from_{axis}, {chunks[axis]})"
    return f"(unsigned)grid_{axis}"


def _launch_head(wide: bool, axes: str, dialect: Dialect) -> tuple[str, ...]:
    flag = [f"{dialect.host_flag} wide"] if wide else []
    return (dialect.host_region, *flag, *(f"long long grid_{axis}" for axis in axes))


def _chunk_builtins(chunks: dict[str, int], dialect: Dialect) -> dict[str, str]:
    return {f"block_{axis}": f"{dialect.builtins[f'block_{axis}']} + block_from_{axis}" for axis in chunks}


def _parameters(kernel: Kernel, dialect: Dialect, changing: Set[str] = frozenset()) -> list[str]:
    scalars = [f"{dialect.stored_type(s.type)} {dialect.spell(s.name)}" for s in kernel.scalars]
    changing = changing | read_beside_stores(kernel)
    arrays = (
        array_parameter(a, dialect, a.name in changing and not a.written)
        for a in array_arguments(kernel, dialect)
    )
    return [*scalars, *arrays]


def array_parameter(array: ArrayArgument, dialect: Dialect, changing: bool = False) -> str:
    """What is `changing` by others is not to be read through caches that see no stores."""
    const = "" if array.written else "const "
    space = dialect.constant_space if array.space == "constant" else dialect.global_space
    element = f"{space}{const}{dialect.stored_type(array.type)}"
    restrict = "" if changing else f"{dialect.restrict} "
    return f"{element} *{restrict}{dialect.spell(array.name)}"


def _launch_arrays(kernel: Kernel, dialect: Dialect) -> Iterator[str]:
    for array in array_arguments(kernel, dialect):
        const, ctype = "" if array.written else "const ", dialect.host_language.stored_type(array.type)
        yield dialect.host_array.format(const=const, type=ctype, name=HOST_C.spell(array.name))


def _shared_lines(kernel: Kernel, dialect: Dialect, dynamic: int, part: str = "") -> list[str]:
    """The shared arrays; `dynamic` bytes come with the launch, for each `part` of a block if it has any."""
    places = shared_places(kernel.shared)
    if not kernel.shared:
        return []
    if not dynamic:
        return [_static_shared(array, places[array.name], dialect) for array in kernel.shared]
    alignment = max(16, *(array.alignment for array in kernel.shared))
    aligned = dialect.alignment.format(bytes=alignment)
    head = f"extern {dialect.shared_space}{aligned}unsigned char shared_memory[];"
    base = f"shared_memory + {dynamic} * {part}" if part else "shared_memory"
    return [head, *(_carved(array, places[array.name], base, dialect) for array in kernel.shared)]


def _static_shared(array: SharedArray, place: SharedPlace, dialect: Dialect) -> str:
    natural = SIZES.get(array.type, 0)
    align = dialect.alignment.format(bytes=array.alignment) if array.alignment > natural else ""
    dimensions = "".join(f"[{extent}]" for extent in place.extents)
    declarator = f"{dialect.stored_type(array.type)} {dialect.spell(array.name)}{dimensions}"
    return f"{dialect.shared_space}{align}{declarator};"


def _carved(array: SharedArray, place: SharedPlace, base: str, dialect: Dialect) -> str:
    ctype, name = dialect.stored_type(array.type), dialect.spell(array.name)
    inner = "".join(f"[{extent}]" for extent in place.extents[1:])
    start = f"{base} + {place.first}" if place.first else base
    if not array.extents:
        return f"{ctype} &{name} = *reinterpret_cast<{ctype} *>({start});"
    if not inner:
        return f"{ctype} *const {name} = reinterpret_cast<{ctype} *>({start});"
    return f"{ctype} (*const {name}){inner} = reinterpret_cast<{ctype} (*){inner}>({start});"
