"""What the device-file templates fill in for a region: its buffers, transfers and host body in print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygpu.mapping.spaces import WIDEST, Constant
from polygpu.model.device import Device
from polygpu.model.expr import Int
from polygpu.model.kernel import Buffer, HostFor, Joined, Kernel, Launch, Region
from polygpu.model.rewrite import names_in
from polygpu.printing import uses
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import HOST_C
from polygpu.printing.folding import folded
from polygpu.printing.joined import JoinedText, joined_loops, joined_text
from polygpu.printing.kernel_text import AXES, KernelText, array_arguments, constant_name, kernel_text
from polygpu.printing.printer import braced, indented, print_expr, print_host
from polygpu.printing.transfers import Transfer, elements, is_kept, sizes, transfers
from polygpu.support.dataclass import dataclass
from polygpu.support.position import basename


@dataclass(frozen=True, slots=True)
class TransferText:
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
    """A device array; `sizes` are declarations of its rows and pitch, `elements` counts them.

    `rows` say where the host's is that may stay on the device: its first element, and the bytes of a row
    there and on the device. Empty where it may not.
    """

    name: str
    type: str
    sizes: tuple[tuple[str, str], ...]
    elements: str
    copy_in: bool
    copy_out: bool
    transfers: tuple[TransferText, ...]
    rows: tuple[str, ...]

    @property
    def allocator(self) -> str:
        return "hold" if self.rows else "allocate"


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
    """One device function. `unused` are parameters that nothing of it names, `functions` what it calls.

    `scalar_names` and `scalar_values` are those of the integers among the parameters, as C text.
    """

    name: str
    place: str
    parameters: tuple[str, ...]
    scalar_names: tuple[str, ...]
    scalar_values: tuple[str, ...]
    kernels: tuple[KernelText, ...]
    loops: tuple[JoinedText, ...]  # that are one launch
    buffers: tuple[BufferText, ...]
    constants: tuple[ConstantText, ...]
    unused: tuple[str, ...]
    sized: tuple[tuple[str, str], ...]  # parameters that must be in the range of sizes: names, C text
    wide: str  # the test that 32-bit offsets do not reach; "" where no kernel asks
    functions: frozenset[str]
    body: str


def region_text(region: Region, device: Device, dialect: Dialect, kept: bool) -> RegionText:
    """Prints the parts of `region` for a file in `dialect`; its arrays may be `kept` on the device."""
    loops = joined_loops(region, dialect)
    one = [loop.joined for loop in loops]
    kernels = tuple(
        kernel_text(i, k, region, device, dialect, _changing(k, one), _is_whole(k, one))
        for i, k in enumerate(region.kernels)
    )
    by_name = {kernel.name: text for kernel, text in zip(region.kernels, kernels, strict=True)}
    wide = frozenset(kernel.name for kernel in kernels if kernel.wide)
    joined = {loop.joined.loop: joined_text(loop, wide, dialect) for loop in loops}

    def around(loop: HostFor, lines: list[str]) -> list[str]:
        return _unless_joined(joined[loop], dialect, lines) if loop in joined else lines

    def launched(launch: Launch) -> list[str]:
        return [_launch(launch, by_name[launch.kernel], region, dialect)]

    body = print_host(region.body, launched, around=around)
    touched = {array.name for kernel in region.kernels for array in kernel.arrays}
    used = tuple(buffer for buffer in region.buffers if buffer.name in touched)
    buffers = tuple(_buffer_text(buffer, dialect, kept) for buffer in used)
    integers = region.integers
    return RegionText(
        name=region.name,
        place=place_of(region),
        parameters=region_parameters(region, dialect.host_language) or ("void",),
        scalar_names=tuple(f'"{s.name}"' for s in integers),
        scalar_values=tuple(f"(long long){HOST_C.spell(s.name)}" for s in integers),
        kernels=kernels,
        loops=tuple(joined.values()),
        buffers=buffers,
        constants=tuple(_constants(region, kernels, dialect)),
        unused=_unused(region, used),
        sized=tuple((name, HOST_C.spell(name)) for name in region.sized),
        wide=_wide_test(used) if any(kernel.wide for kernel in kernels) else "",
        functions=_functions(region, used, kernels),
        body="\n".join(folded(indented(body))),
    )


def _changing(kernel: Kernel, loops: Iterable[Joined]) -> frozenset[str] | None:
    """What changes in loops that are one launch while they run the kernel; None where none does."""
    mine = [loop.changes for loop in loops if kernel.name in loop.kernels]
    return frozenset().union(*mine) if mine else None


def _is_whole(kernel: Kernel, loops: Iterable[Joined]) -> bool:
    """Whether the blocks of all loops that run the kernel have just its threads."""
    return all(loop.part(kernel.name).is_whole for loop in loops if kernel.name in loop.kernels)


def _unless_joined(loop: JoinedText, dialect: Dialect, lines: list[str]) -> list[str]:
    """A loop of launches, where they are not one."""
    first = (dialect.host_region_argument, *(["wide"] if loop.wide else []))
    arguments = (*first, *loop.values)
    return braced(f"if (!launch_{loop.name}({', '.join(arguments)}))", lines)


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


def _unused(region: Region, used: Iterable[Buffer]) -> tuple[str, ...]:
    integers = {s.name for s in region.integers}  # a profile has their values
    copied = {b.name for b in used if b.host and (b.copy_in or b.copy_out)}
    named = names_in(*uses.host_expressions(region.body)) | integers | copied
    parameters = [*(s.name for s in region.scalars), *(b.name for b in region.buffers if b.host)]
    return tuple(HOST_C.spell(name) for name in parameters if name not in named)


def _functions(region: Region, used: Iterable[Buffer], kernels: Iterable[KernelText]) -> frozenset[str]:
    """The functions that the host code calls and C lacks."""
    computed = [
        *uses.host_expressions(region.body),
        *(e for b in used for e in (*sizes(b).values(), elements(b))),
        *(e for b in used for t in _copies(b) for e in t.expressions()),
    ]
    cut = {"min"} if any(kernel.chunks for kernel in kernels) else set()
    return frozenset(HOST_C.calls.get(name, name) for name in uses.functions(computed) | cut)


def _wide_test(used: Iterable[Buffer]) -> str:
    pitched = [buffer for buffer in used if len(buffer.extents) > 1]
    return " ||\n        ".join(f"{print_expr(elements(buffer))} > INT_MAX" for buffer in pitched)


def _launch(launch: Launch, kernel: KernelText, region: Region, dialect: Dialect) -> str:
    arrays = next(array_arguments(k, dialect) for k in region.kernels if k.name == launch.kernel)
    arguments = [
        dialect.host_region_argument,
        *(["wide"] if kernel.wide else []),
        *(print_expr(e) for axis, e in zip(AXES, launch.grid, strict=True) if axis in kernel.axes),
        *(print_expr(scalar) for scalar in launch.scalars),
        *(f"device_{array.name}" for array in arrays),
    ]
    return f"launch_{kernel.name}({', '.join(arguments)});"


def _buffer_text(buffer: Buffer, dialect: Dialect, kept: bool) -> BufferText:
    host = dialect.host_language
    return BufferText(
        name=buffer.name,
        type=host.stored_type(buffer.type),
        sizes=tuple((name, print_expr(size)) for name, size in sizes(buffer).items()),
        elements=print_expr(elements(buffer)),
        copy_in=buffer.host and buffer.copy_in,
        copy_out=buffer.host and buffer.copy_out,
        transfers=(texts := tuple(_transfer_text(transfer, buffer, host) for transfer in _copies(buffer))),
        rows=_rows(buffer, texts[0], host) if kept and is_kept(buffer) else (),
    )


def _rows(buffer: Buffer, first: TransferText, host: Dialect) -> tuple[str, ...]:
    """The host's address, and the bytes from row to row there and on the device, 0 for what has no rows."""
    if len(buffer.extents) < 2:
        return first.host, first.host_pitch, first.device_pitch
    size = f" * sizeof({host.stored_type(buffer.type)})"
    row = first.host_pitch if first.host_pitch.isalnum() else f"({first.host_pitch})"
    return first.host, row + size, first.device_pitch + size


def _copies(buffer: Buffer) -> tuple[Transfer, ...]:
    return tuple(transfers(buffer)) if buffer.host and (buffer.copy_in or buffer.copy_out) else ()


def _transfer_text(transfer: Transfer, buffer: Buffer, host: Dialect) -> TransferText:
    pitch = f"pitch_of_{buffer.name}" if len(buffer.extents) > 1 else "0"
    row = print_expr(transfer.row or Int(0))
    loops = (
        f"for (long long {counter} = 0; {counter} < {print_expr(count)}; ++{counter})"
        for counter, count in transfer.loops
    )
    return TransferText(
        loops=(*((f"if ({HOST_C.spell(buffer.name)})",) if buffer.optional else ()), *loops),
        device_row=row,
        device_pitch=pitch,
        device_offset=f" + ({row}) * {pitch}" if transfer.row else "",
        host=_host_pointer(buffer, print_expr(transfer.offset), host),
        host_pitch=print_expr(transfer.host_pitch),
        width=print_expr(transfer.width),
        rows=print_expr(transfer.rows),
    )


def _host_pointer(buffer: Buffer, offset: str, host: Dialect) -> str:
    name = HOST_C.spell(buffer.name)
    if offset == "0":
        return name
    if buffer.structure:
        const = "" if buffer.copy_out else "const "
        name = f"({const}{host.stored_type(buffer.type)} *){name}"
    return f"{name} + {offset}"
