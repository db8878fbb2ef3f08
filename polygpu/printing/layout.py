"""What the device-file templates fill in for a region: its buffers, transfers and host body in print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace

from polygpu.mapping.spaces import WIDEST, Constant
from polygpu.model.device import Device
from polygpu.model.expr import Binary, Expr, Int, Name, Select
from polygpu.model.kernel import Buffer, Launch, Region
from polygpu.model.offsets import extent_of, last_row, linear_offset, product, sum_of
from polygpu.printing.dialects import CUDA, HOST_C, Dialect
from polygpu.printing.folding import folded
from polygpu.printing.kernel_text import (
    AXES,
    KernelText,
    array_arguments,
    constant_name,
    host_dialect,
    kernel_text,
    row_pitch,
)
from polygpu.printing.printer import (
    HOST_NAMES,
    indented,
    print_expr,
    print_host,
)
from polygpu.support.position import basename


@dataclass(frozen=True, slots=True)
class Transfer:
    """One copy of a box between host and device, in elements, inside `loops` over outer dimensions."""

    loops: tuple[str, ...]
    device_row: str
    device_pitch: str
    device_offset: str  # as pointer arithmetic: " + row * pitch", or ""
    host: str
    host_pitch: str
    width: str
    rows: str


@dataclass(frozen=True, slots=True)
class BufferText:
    """A device array; `sizes` are declarations of its rows and pitch, `elements` counts them."""

    name: str
    type: str
    host_type: str
    sizes: tuple[tuple[str, str], ...]
    elements: str
    copy_in: bool
    copy_out: bool
    transfers: tuple[Transfer, ...]


@dataclass(frozen=True, slots=True)
class ConstantText:
    """A variable in constant memory with `room` elements, for the `elements` of `array`'s device copy."""

    name: str
    type: str
    array: str
    elements: int
    room: int
    alignment: int


@dataclass(frozen=True, slots=True)
class RegionText:
    """One device function. `unused` are parameters that nothing of it names.

    `scalar_names` and `scalar_values` are those of the integers among the parameters, as C text.
    """

    name: str
    place: str
    parameters: tuple[str, ...]
    scalar_names: tuple[str, ...]
    scalar_values: tuple[str, ...]
    kernels: tuple[KernelText, ...]
    buffers: tuple[BufferText, ...]
    constants: tuple[ConstantText, ...]
    unused: tuple[str, ...]
    sized: tuple[tuple[str, str], ...]  # parameters that must be in the range of sizes: names, C text
    wide: str  # the test that 32-bit offsets do not reach; "" where no kernel asks
    body: str


def region_text(region: Region, device: Device, dialect: Dialect) -> RegionText:
    """Prints the parts of `region` for a file in `dialect`."""
    kernels = tuple(kernel_text(i, k, region, device, dialect) for i, k in enumerate(region.kernels))
    by_name = {kernel.name: text for kernel, text in zip(region.kernels, kernels, strict=True)}
    body = print_host(region.body, lambda launch: [_launch(launch, by_name[launch.kernel], region, dialect)])
    touched = {array.name for kernel in region.kernels for array in kernel.arrays}
    used = tuple(buffer for buffer in region.buffers if buffer.name in touched)
    buffers = tuple(_buffer_text(buffer, dialect) for buffer in used)
    integers = region.integers
    return RegionText(
        name=region.name,
        place=place_of(region),
        parameters=region_parameters(region, host_dialect(dialect)) or ("void",),
        scalar_names=tuple(f'"{s.name}"' for s in integers),
        scalar_values=tuple(f"(long long){HOST_C.spell(s.name)}" for s in integers),
        kernels=kernels,
        buffers=buffers,
        constants=tuple(_constants(region, kernels, dialect)),
        unused=_unused(region, buffers, body),
        sized=tuple((name, HOST_C.spell(name)) for name in region.sized),
        wide=_wide_test(used, buffers) if any(kernel.wide for kernel in kernels) else "",
        body="\n".join(folded(indented(body))),
    )


def _constants(region: Region, kernels: Iterable[KernelText], dialect: Dialect) -> Iterator[ConstantText]:
    read = {array for kernel in kernels for array in kernel.constants}
    for buffer in region.buffers:
        if buffer.name in read:
            made = Constant.of(buffer)
            assert made is not None, "arrays of unknown size are not in constant memory"
            name, ctype = constant_name(region, buffer.name), dialect.stored_type(buffer.type)
            yield ConstantText(name, ctype, buffer.name, made.elements, made.room, WIDEST)


def place_of(region: Region) -> str:
    """Where it is in the source: `mm.c:14`."""
    if region.position is None:
        return "unknown"
    return f"{basename(region.position.file)}:{region.position.line}"


def region_parameters(region: Region, dialect: Dialect) -> tuple[str, ...]:
    """The parameters of the region's function: scalars, then host arrays."""
    scalars = [f"{dialect.type(s.type)} {HOST_C.spell(s.name)}" for s in region.scalars]
    arrays = [
        f"{pointer_type(buffer, dialect)}{HOST_C.spell(buffer.name)}"
        for buffer in region.buffers
        if buffer.host
    ]
    return (*scalars, *arrays)


def pointer_type(buffer: Buffer, dialect: Dialect) -> str:
    """`const float *`; arrays of structures pass as `void *`, their type being the user's."""
    const = "" if buffer.copy_out else "const "
    return f"{const}{'void' if buffer.structure else dialect.type(buffer.type)} *"


def _unused(region: Region, buffers: tuple[BufferText, ...], body: Iterable[str]) -> tuple[str, ...]:
    integers = {s.name for s in region.integers}  # a profile has their values
    scalars = [s.name for s in region.scalars if s.name not in integers]
    parameters = [*scalars, *(b.name for b in region.buffers if b.host)]
    copied = [t for buffer in buffers if buffer.copy_in or buffer.copy_out for t in buffer.transfers]
    sizes = [(buffer.sizes, buffer.elements) for buffer in buffers]
    words = set(re.findall(r"\w+", f"{sizes} {[astuple(t) for t in copied]} {' '.join(body)}"))
    return tuple(name for name in map(HOST_C.spell, parameters) if name not in words)


def _wide_test(used: tuple[Buffer, ...], buffers: tuple[BufferText, ...]) -> str:
    pitched = [text for buffer, text in zip(used, buffers, strict=True) if len(buffer.extents) > 1]
    return " ||\n        ".join(f"{text.elements} > INT_MAX" for text in pitched)


def _launch(launch: Launch, kernel: KernelText, region: Region, dialect: Dialect) -> str:
    arrays = next(array_arguments(k, dialect) for k in region.kernels if k.name == launch.kernel)
    arguments = [
        "region" if dialect is CUDA else "&region",
        *(["wide"] if kernel.wide else []),
        *(
            print_expr(e, HOST_NAMES)
            for axis, e in zip(AXES, launch.grid, strict=True)
            if axis in kernel.axes
        ),
        *(print_expr(scalar, HOST_NAMES) for scalar in launch.scalars),
        *(f"device_{array.name}" for array in arrays),
    ]
    return f"launch_{kernel.name}({', '.join(arguments)});"


def _buffer_text(buffer: Buffer, dialect: Dialect) -> BufferText:
    host = host_dialect(dialect)
    pitched = len(buffer.extents) > 1
    sizes = (
        {"rows": product(map(extent_of, buffer.extents[:-1])), "pitch": row_pitch(buffer)} if pitched else {}
    )
    rows, pitch = f"rows_of_{buffer.name}", f"pitch_of_{buffer.name}"
    count = f"{rows} * {pitch}" if pitched else print_expr(product(map(extent_of, buffer.extents)))
    return BufferText(
        name=buffer.name,
        type=_element(buffer, dialect),
        host_type=pointer_type(buffer, host),
        sizes=tuple((f"{key}_of_{buffer.name}", print_expr(size)) for key, size in sizes.items()),
        elements=count,
        copy_in=buffer.host and buffer.copy_in,
        copy_out=buffer.host and buffer.copy_out,
        transfers=tuple(_transfers(buffer, dialect)),
    )


def _transfers(buffer: Buffer, dialect: Dialect) -> Iterator[Transfer]:
    """The box of a buffer, or its rows up to that of the last element and then this one."""
    box = _transfer(buffer, dialect)
    if not buffer.last:
        yield box
        return
    row, width = last_row(buffer)
    some = Binary(">", buffer.extents[0], Int(0))
    yield replace(box, rows=print_expr(Select(some, row, Int(0))))
    start = linear_offset([*buffer.last[:-1], Int(0)], buffer.host_extents[1:], "long long")
    yield replace(
        box,
        device_row=print_expr(row),
        device_offset=f" + ({print_expr(row)}) * pitch_of_{buffer.name}",
        host=_host_pointer(buffer, print_expr(start), dialect),
        width=print_expr(width),
        rows=print_expr(Select(some, Int(1), Int(0))),
    )


def _transfer(buffer: Buffer, dialect: Dialect) -> Transfer:
    """A box of `extents` at `origin` of the host array; dimensions the box spans fully are merged."""
    extents, host = buffer.extents or (Int(1),), buffer.host_extents or (Int(1),)
    origin = buffer.origin or (Int(0),) * len(extents)
    rank = len(extents)
    outer = max(rank - 2, 0)
    while outer and extents[outer] == host[outer] and origin[outer] == Int(0):
        outer -= 1
    counters: list[Expr] = [Name(f"at_{d}", "long long") for d in range(outer)]
    starts = [sum_of(o, c) for o, c in zip(origin, [*counters, *[Int(0)] * (rank - outer)], strict=True)]
    offset = print_expr(linear_offset(starts, host[1:], "long long"))
    row = print_expr(_device_row(counters, extents))
    return Transfer(
        loops=tuple(
            f"for (long long at_{d} = 0; at_{d} < {print_expr(extent_of(extents[d]))}; ++at_{d})"
            for d in range(outer)
        ),
        device_row=row,
        device_offset=f" + ({row}) * pitch_of_{buffer.name}" if counters else "",
        device_pitch=f"pitch_of_{buffer.name}" if rank > 1 else "0",
        host=_host_pointer(buffer, offset, dialect),
        host_pitch=print_expr(host[-1] or Int(0)) if rank > 1 else "0",
        width=print_expr(extents[-1]),
        rows=print_expr(product(map(extent_of, extents[outer:-1])))
        if outer or rank < 2
        else f"rows_of_{buffer.name}",
    )


def _device_row(counters: list[Expr], extents: tuple[Expr, ...]) -> Expr:
    """The row where the part of the box at `counters` starts."""
    if not counters:
        return Int(0)
    return linear_offset(
        [*counters, *[Int(0)] * (len(extents) - 1 - len(counters))], map(extent_of, extents[1:-1])
    )


def _host_pointer(buffer: Buffer, offset: str, dialect: Dialect) -> str:
    name = HOST_C.spell(buffer.name)
    if offset == "0":
        return name
    if buffer.structure:
        const = "" if buffer.copy_out else "const "
        name = f"({const}{_element(buffer, dialect)} *){name}"
    return f"{name} + {offset}"


def _element(buffer: Buffer, dialect: Dialect) -> str:
    """The element type as the device file's host code names it."""
    return CUDA.stored_type(buffer.type) if dialect is CUDA else buffer.type
