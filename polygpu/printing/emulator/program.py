"""The emulator target: a whole unit as one standalone C99 file.

Every region becomes `void polygpu_<function>_<n>(scalars..., host pointers...)`, which runs its kernels
block by block and warp by warp in lockstep, and counts what a chip would have to do for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr
from polygpu.model.kernel import (
    Buffer,
    HostFor,
    HostIf,
    HostStatement,
    Kernel,
    Launch,
    Region,
    Site,
    Unit,
    packs,
)
from polygpu.model.offsets import last_row
from polygpu.model.scop import LARGEST_SIZE
from polygpu.model.text import INTEGERS, PLAIN, c_string
from polygpu.perf.charges import lockstep
from polygpu.perf.coalescing import Coalescing, Memory
from polygpu.perf.cost import CLASSES
from polygpu.perf.lockstep import Access, Row
from polygpu.perf.oblivious import is_oblivious
from polygpu.perf.resources import wave
from polygpu.perf.site_entries import site_entry
from polygpu.printing.emulator.body import print_body
from polygpu.printing.emulator.statements import poison
from polygpu.printing.emulator.symbols import spell
from polygpu.printing.emulator.writer import KernelWriter
from polygpu.printing.layout import place_of
from polygpu.printing.printer import HOST_NAMES, braced, loop_head, print_expr, print_host
from polygpu.printing.transfers import is_kept, transfers
from polygpu.support.position import basename
from polygpu.support.templates import environment


def print_files(unit: Unit, device: Device) -> dict[str, str]:
    """The emulator's one file by its suffix."""
    return {"_emulator.c": print_emulator(unit, device)}


def print_emulator(unit: Unit, device: Device) -> str:
    """The text of the emulator file of `unit` on `device`. Compiles as C99, with OpenMP or without."""
    buffers = [buffer for region in unit.regions for buffer in region.buffers]
    structures = {b.structure.name: b.structure.definition for b in buffers if b.structure}
    functions = dict.fromkeys(text for region in unit.regions for text in region.functions)
    regions = [_region(region, i, device, region.name in unit.kept) for i, region in enumerate(unit.regions)]
    return (
        environment()
        .get_template("emulator/emulator.c.j2")
        .render(
            source=_comment(basename(unit.source)),
            title=_comment(device.title),
            device=device,
            device_json=c_string(json.dumps(device.name)),
            device_text=c_string(device.title),
            packs=packs(unit),
            weak="POLYGPU_WEAK",
            weak_end="",
            period=Coalescing.of(device).period,
            memory=Memory.of(device),
            integers=INTEGERS,
            classes=CLASSES,
            oblivious=all(kernel["oblivious"] for region in regions for kernel in region["kernels"]),
            structures=list(structures.values()),
            functions=[f"static inline {text}" for text in functions],
            regions=regions,
            most_buffers=1,
            kept=True,
            maps=True,
            uploads=True,
            downloads=True,
            poisons='!polygpu_sampled() && (POLYGPU_CHECK || getenv("POLYGPU_POISON") != NULL)',
            sized=any(region.sized for region in unit.regions),
            device_memory=f"(polygpu_sampled() ? LLONG_MAX : {device.device_memory}LL)",
            largest=LARGEST_SIZE,
        )
    )


def _region(region: Region, number: int, device: Device, kept: bool) -> dict[str, Any]:
    kernels = {kernel.name: index for index, kernel in enumerate(region.kernels)}

    def launch(statement: Launch) -> Iterator[str]:
        return _launch(region, kernels[statement.kernel], statement)

    return {
        "name": region.name,
        "number": number,
        "place": place_of(region),
        "sized": [(name, HOST_NAMES.spell(name)) for name in region.sized],
        "parameters": [
            *(f"{s.type} {HOST_NAMES.spell(s.name)}" for s in region.scalars),
            *(f"{b.type} *{spell(b.name)}" for b in region.buffers if b.host),
        ],
        "buffers": [_buffer(b, kept) for b in region.buffers],
        "kernels": [_kernel(region, kernel, device) for kernel in region.kernels],
        "body": [line for s in region.body for line in _host(s, launch)],
    }


def _host(s: HostStatement, launch: Callable[[Launch], Iterator[str]]) -> list[str]:
    """As `print_host` has it; an outermost loop tells how far it is."""
    match s:
        case HostFor(index, lower, upper, body=body):
            first = print_expr(lower)
            done = f"(int64_t){HOST_NAMES.dialect.spell(index)} - ({first})"
            told = f"polygpu_round({done}, (int64_t)({print_expr(upper)}) - ({first}));"
            head = loop_head(s, HOST_NAMES)
            return [*braced(head, [told, *print_host(body, launch)]), "polygpu_progress_end();"]
        case HostIf(test, body):
            return braced(f"if ({print_expr(test)})", [line for b in body for line in _host(b, launch)])
        case Launch():
            return list(launch(s))


def _kernel_name(region: Region, kernel: Kernel) -> str:
    return f"{region.name}_{kernel.name}"


def _launch(region: Region, index: int, statement: Launch) -> Iterator[str]:
    kernel = region.kernels[index]
    grid = [print_expr(extent) for extent in statement.grid]
    scalars = [
        f"({scalar.type})({print_expr(value)})"
        for scalar, value in zip(kernel.scalars, statement.scalars, strict=True)
    ]
    arrays = [f"&pg_array_{spell(array.name)}" for array in kernel.arrays]
    arguments = ", ".join([f"&{region.name}_kernels[{index}]", "__LINE__", *grid, *scalars, *arrays])
    yield f"{_kernel_name(region, kernel)}_launch({arguments});"


def _buffer(buffer: Buffer, kept: bool) -> dict[str, Any]:
    """A device array with its host's extents; a scalar is a row of one element."""
    name = spell(buffer.name)
    dimensions = len(buffer.extents)
    last = dimensions - 1
    pitch = buffer.pitch if dimensions > 1 else None
    rows = [f"pg_extent_{name}[{d}]" for d in range(last)]
    host = [_host_extent(buffer.host_extents, d) for d in range(dimensions)]
    return {
        "name": name,
        "type": buffer.type,
        "dimensions": dimensions,
        "extents": [f"polygpu_extent({print_expr(e)})" for e in buffer.extents] or ["1"],
        "host_extents": host or ["1"],
        "origin": [print_expr(o) for o in buffer.host_origin] or ["0"] * max(dimensions, 1),
        "pitch": print_expr(pitch) if pitch is not None else f"pg_extent_{name}[{max(last, 0)}]",
        "rows": " * ".join(rows) or "1",
        "poison": poison(buffer.type),
        "last": [print_expr(e) for e in last_row(buffer)] if buffer.last else ["-1", "0"],
        "kept": _kept(buffer, name) if kept and is_kept(buffer) else (),
        "optional": buffer.optional,
        "copy_in": buffer.host and buffer.copy_in,
        "copy_out": buffer.host and buffer.copy_out,
    }


def _kept(buffer: Buffer, name: str) -> tuple[str, str]:
    """Where the first element is that is copied, and how many a row has; 0 where there are no rows."""
    offset = print_expr(next(transfers(buffer)).offset)
    row = f"pg_extent_{name}[{len(buffer.extents) - 1}]" if len(buffer.extents) > 1 else "0"
    return name if offset == "0" else f"{name} + ({offset})", row


def _host_extent(extents: tuple[Expr | None, ...], dimension: int) -> str:
    """The outermost host extent moves nothing, so it need not be known."""
    extent = extents[dimension] if dimension < len(extents) else None
    return "1" if extent is None else print_expr(extent)


def _kernel(region: Region, kernel: Kernel, device: Device) -> dict[str, Any]:
    tree = lockstep(kernel, device.doubles, device.shared_operands)
    out = KernelWriter(tree)
    print_body(out)
    shared = [out.symbol(array.name) for array in kernel.shared]
    arrays = [out.symbol(array.name) for array in kernel.arrays]
    spaces = Counter(access.space for access in tree.accesses)
    places = {row: place for place, row in enumerate(tree.rows)}
    sites = {site.number: site for site in region.sites}
    return {
        "name": _kernel_name(region, kernel),
        "plain_name": kernel.name,
        "comment": [_comment(line) for line in kernel.comment] or [kernel.name],
        "block": kernel.block,
        "warps": out.warps,
        "wave": wave(kernel, device),
        "stages": tree.stages,
        "oblivious": is_oblivious(tree),
        "state": [f"{s.type} {s.c}[{s.elements} + 64]" for s in shared] + out.state,
        "points": tree.points,
        "accesses": [_access(a, places, sites) for a in tree.accesses],
        "globals": spaces["global"],
        "constants": spaces["constant"],
        "textures": spaces["texture"],
        "shareds": spaces["shared"],
        "private_arrays": out.private_arrays,
        "sites": [c_string(json.dumps(site_entry(a, sites))[1:-1]) for a in tree.rows.values()],
        "shared": [{"name": s.c, "type": s.type, "poison": poison(s.type)} for s in shared],
        "arrays": [
            {"name": s.c, "type": s.type, "space": a.space}
            for s, a in zip(arrays, kernel.arrays, strict=True)
        ],
        "parameters": [
            *(f"{s.type} {spell(s.name)}" for s in kernel.scalars),
            *(f"polygpu_array *pg_array_{s.c}" for s in arrays),
        ],
        "parameter_names": [*(spell(s.name) for s in kernel.scalars), *(f"pg_array_{s.c}" for s in arrays)],
        "body": out.lines,
    }


def _access(a: Access, rows: Mapping[Row, int], sites: Mapping[int, Site]) -> dict[str, Any]:
    site, text = sites.get(a.element.site), PLAIN.text(a.element)
    named = f"'{site.text}' as {text}" if site and site.text != text else f"'{text}'"
    whole_words = not a.element.field and SIZES.get(a.element.type, 1) % 4 == 0
    return {
        "space": a.space,
        "write": a.write,
        "stage": a.stage,
        "number": a.place,
        "granule": 4 if whole_words else 1,
        "row": rows.get(a.row, 0),
        "text": c_string(named),
        "file": c_string(basename(site.position.file) if site else ""),
        "line": site.position.line if site else 0,
        "column": site.position.column if site else 0,
    }


def _comment(text: str) -> str:
    """`text` inside a C comment."""
    return text.replace("*/", "* /").replace("/*", "/ *")
