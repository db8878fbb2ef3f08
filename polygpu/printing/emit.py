"""Device files: a Unit as the text of a target, laid out by the templates of its dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from pkgutil import resolve_name
from typing import Any

from polygpu.model.device import Device
from polygpu.model.expr import Int
from polygpu.model.kernel import Buffer, Kernel, Unit, packs
from polygpu.model.scop import LARGEST_SIZE
from polygpu.model.structures import size_of
from polygpu.printing import uses
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import find
from polygpu.printing.embed import device_functions, device_structure, floor_division, host_helpers
from polygpu.printing.joined import JoinedLoop, joined_loops, one_block_rounds
from polygpu.printing.kernel_text import KernelText
from polygpu.printing.layout import region_text
from polygpu.support.position import basename
from polygpu.support.templates import environment

_LARGE = 1 << 20
_SCALED = "polygpu_scaled("
_DOUBLE = re.compile(r"\bdouble\d?\b|(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.])")


def emit_device(unit: Unit, device: Device, target: str) -> dict[str, str]:
    """The device files of `unit` by the suffix of their names (`{"_cuda.cu": text}`)."""
    dialect = find(target)
    if dialect.printer:
        made: dict[str, str] = resolve_name(dialect.printer)(unit, device)
        return made
    return print_files(unit, device, dialect)


def print_files(unit: Unit, device: Device, dialect: Dialect) -> dict[str, str]:
    """The files of `unit` by the templates of `dialect`."""
    templates = environment(dialect.templates)
    templates.filters |= {"fill": fill, "literal": literal}
    values = template_values(unit, device, dialect)
    return {suffix: templates.get_template(name).render(values) for suffix, name in dialect.files.items()}


def template_values(unit: Unit, device: Device, dialect: Dialect) -> dict[str, Any]:
    """What templates are given beside the filters `fill` and `literal`.

    `definitions` are what kernels need before them: structures, the user's functions, quotients rounded
    down; `structures` and `helpers` what host code needs. `regions` and their kernels are RegionText and
    KernelText. Without `scopes` nothing stays on the device between calls; `maps` is said of host files with
    pragmas about data, `large` of arrays whose copies may have 1 MiB or more.
    """
    regions = [region_text(region, device, dialect, region.name in unit.kept) for region in unit.regions]
    buffers = [buffer for region in regions for buffer in region.buffers]
    loops = [loop for region in unit.regions for loop in joined_loops(region, dialect)]
    structures = _structures(unit)
    functions = device_functions((text for region in unit.regions for text in region.functions), dialect)
    weak, weak_end = dialect.weak
    return {
        "source": basename(unit.source),
        "target": dialect.name,
        "definitions": [
            *(device_structure(text, dialect) for text in structures),
            *functions,
            *floor_division(_functions(unit, loops), dialect),
        ],
        "structures": [device_structure(text, dialect.host_language) for text in structures],
        "helpers": host_helpers({name for region in regions for name in region.functions}),
        "regions": regions,
        "kernels": [kernel for region in regions for kernel in region.kernels],
        "constants": [constant for region in regions for constant in region.constants],
        "most_buffers": max((len(region.buffers) for region in regions), default=0),
        "most_kernels": max((len(region.kernels) for region in regions), default=0),
        "uploads": any(buffer.copy_in for buffer in buffers),
        "downloads": any(buffer.copy_out for buffer in buffers),
        "large": any(_may_be_large(b) for region in unit.regions for b in region.buffers),
        "scopes": unit.scopes,
        "maps": unit.maps,
        "packs": packs(unit),
        "kept": any(buffer.rows for buffer in buffers),
        "poisons": 'getenv("POLYGPU_POISON") != NULL',
        "sized": any(region.sized for region in regions),
        "device_memory": "LLONG_MAX",
        "largest": LARGEST_SIZE,
        "wide": any(kernel.wide for region in regions for kernel in region.kernels),
        "weak": weak,
        "weak_end": weak_end,
        "loops": [loop for region in regions for loop in region.loops],
        "parts_meet": any(p.meets and not p.is_whole for loop in loops for p in loop.joined.parts),
        "rounds": one_block_rounds(device),
        "static_shared": dialect.static_shared,
        "asynchronous": bool(dialect.copy) and any(map(uses.asynchronous, _kernels(unit))),
        "scales": any(_SCALED in text for region in regions for k in region.kernels for text in _bodies(k)),
        "policies": sorted({policy for k in _kernels(unit) for policy in uses.policies(k)}),
        "conditional_barriers": any(uses.conditional_barrier(k.body) for k in _kernels(unit)),
        "doubles": _doubles(unit, [*structures, *functions]),
    }


def _bodies(kernel: KernelText) -> tuple[str, ...]:
    return (kernel.body, kernel.function.body) if kernel.function else (kernel.body,)


def _may_be_large(buffer: Buffer) -> bool:
    """Whether copies of an array may have 1 MiB or more."""
    extents = [e.value if isinstance(e, Int) else _LARGE for e in buffer.extents]
    return buffer.host and prod(extents) * (size_of(buffer.type, buffer.structure) or _LARGE) >= _LARGE


def _kernels(unit: Unit) -> list[Kernel]:
    return [kernel for region in unit.regions for kernel in region.kernels]


def _functions(unit: Unit, loops: Iterable[JoinedLoop]) -> frozenset[str]:
    """What kernels call."""
    called = uses.functions(e for kernel in _kernels(unit) for e in uses.kernel_expressions(kernel))
    return called | uses.functions(e for loop in loops for e in uses.host_expressions((loop.joined.loop,)))


def _doubles(unit: Unit, texts: Iterable[str]) -> bool:
    """Whether kernels compute with doubles, or the user's own `texts`."""
    return any("double" in uses.types(kernel) for kernel in _kernels(unit)) or any(map(_DOUBLE.search, texts))


def _structures(unit: Unit) -> list[str]:
    """The C definitions of the arrays' structures, each once."""
    buffers = (buffer for region in unit.regions for buffer in region.buffers)
    return list(dict.fromkeys(buffer.structure.definition for buffer in buffers if buffer.structure))


def fill(head: str, items: Iterable[str], tail: str, width: int = 110) -> str:
    """`head` item, item, ... `tail`, continued on further lines from column `width` on."""
    lines, indent = [head], " " * (len(head) - len(head.lstrip()) + 4)
    parts = list(items)
    for i, item in enumerate(parts):
        text = item + (tail if i == len(parts) - 1 else ",")
        space = "" if lines[-1].endswith("(") or lines[-1].isspace() else " "
        if len(lines[-1]) + len(space) + len(text) > width:
            lines.append(indent + text)
        else:
            lines[-1] += space + text
    if not parts:
        lines[-1] += tail
    return "\n".join(line.rstrip() for line in lines)


def literal(line: str) -> str:
    """A C string literal of one source line; question marks could make trigraphs."""
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    encoded = "".join(c if " " <= c <= "~" else _octal(c) for c in escaped)
    return f'"{encoded}\\n"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
