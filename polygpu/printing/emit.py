"""Device files: a Unit as CUDA, OpenCL or emulator text, laid out by the templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from polygpu.model.device import Device
from polygpu.model.kernel import Barrier, If, Statement, Unit
from polygpu.model.scop import LARGEST_SIZE
from polygpu.printing.dialects import CUDA, OPENCL, Dialect
from polygpu.printing.embed import device_functions, device_structure, floor_division, host_helpers
from polygpu.printing.layout import RegionText, region_text
from polygpu.support.position import basename
from polygpu.support.templates import environment

_PLAIN = Dialect("c")
TARGETS = ("cuda", "opencl", "emulator")
_DOUBLE = re.compile(r"\bdouble\d?\b|(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.])")


def emit_device(unit: Unit, device: Device, target: str) -> dict[str, str]:
    """The device files of `unit` by the suffix of their names (`{"_cuda.cu": text}`)."""
    match target:
        case "cuda":
            return {"_cuda.cu": _emit_cuda(unit, device)}
        case "opencl":
            return _emit_opencl(unit, device)
        case "emulator":
            from polygpu.printing.emulator.program import print_emulator  # noqa: PLC0415 - only this target pays for it

            return {"_emulator.c": print_emulator(unit, device)}
    raise ValueError(f"no target {target}")


def _emit_cuda(unit: Unit, device: Device) -> str:
    regions = [region_text(region, device, CUDA) for region in unit.regions]
    bodies = _render("cuda/region.cu.j2", regions)
    kernels = [kernel for region in regions for kernel in region.kernels]
    return _template(
        "cuda/file.cu.j2",
        **_common(unit, regions, CUDA, bodies),
        target="cuda",
        weak='extern "C" {\n__attribute__((weak))',
        weak_end="\n}",
        asynchronous=any("__pipeline_" in kernel.body for kernel in kernels),
        constants=[constant for region in regions for constant in region.constants],
    )


def _emit_opencl(unit: Unit, device: Device) -> dict[str, str]:
    regions = [region_text(region, device, OPENCL) for region in unit.regions]
    bodies = _render("opencl/region.c.j2", regions)
    values = _common(unit, regions, OPENCL, bodies)
    text = "".join(kernel.body for region in regions for kernel in region.kernels) + "".join(
        values["definitions"]
    )
    kernels = _template(
        "opencl/file.cl.j2",
        **values,
        doubles=_DOUBLE.search(text) is not None,
        wide=any(kernel.wide for region in regions for kernel in region.kernels),
    )
    host = _template(
        "opencl/file.c.j2",
        **values,
        target="opencl",
        weak="__attribute__((weak))",
        weak_end="",
        most_kernels=max(len(region.kernels) for region in regions),
        lines=[_literal(line) for line in kernels.splitlines()],
        conditional_barriers=any(_conditional_barrier(k.body) for r in unit.regions for k in r.kernels),
    )
    return {"_opencl.c": host, "_opencl.cl": kernels}


def _conditional_barrier(body: Sequence[Statement]) -> bool:
    """Whether a barrier stands under a test, outside of loops."""
    return any(isinstance(s, If) and _has_barrier((*s.then, *s.otherwise)) for s in body)


def _has_barrier(body: Sequence[Statement]) -> bool:
    return any(
        isinstance(s, Barrier) or (isinstance(s, If) and _has_barrier((*s.then, *s.otherwise))) for s in body
    )


def _common(unit: Unit, regions: Sequence[RegionText], dialect: Dialect, bodies: str) -> dict[str, Any]:
    buffers = [buffer for region in regions for buffer in region.buffers]
    return {
        "source": basename(unit.source),
        "definitions": _definitions(unit, regions, dialect),
        "kernels": [kernel for region in regions for kernel in region.kernels],
        "regions": bodies,
        "helpers": host_helpers(bodies),
        "structures": [device_structure(definition, _PLAIN) for definition in _structures(unit)],
        "most_buffers": max(len(region.buffers) for region in regions),
        "sized": any(region.sized for region in regions),
        "largest": LARGEST_SIZE,
        "uploads": any(buffer.copy_in for buffer in buffers),
        "downloads": any(buffer.copy_out for buffer in buffers),
    }


def _definitions(unit: Unit, regions: Iterable[RegionText], dialect: Dialect) -> list[str]:
    """What kernels need before them: structures, the user's functions, division rounded down."""
    functions = device_functions((text for region in unit.regions for text in region.functions), dialect)
    bodies = "".join(kernel.body for region in regions for kernel in region.kernels)
    structures = [device_structure(definition, dialect) for definition in _structures(unit)]
    return [*structures, *functions, *floor_division(bodies, dialect)]


def _structures(unit: Unit) -> list[str]:
    """The C definitions of the arrays' structures, each once."""
    buffers = (buffer for region in unit.regions for buffer in region.buffers)
    found = [buffer.structure for buffer in buffers if buffer.structure]
    return list(dict.fromkeys(structure.definition for structure in found))


def _render(template: str, regions: Iterable[RegionText]) -> str:
    return "\n".join(_template(template, region=region) for region in regions).rstrip("\n")


def _template(name: str, **values: Any) -> str:
    templates = environment()
    templates.filters["fill"] = fill
    return templates.get_template(name).render(values)


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


def _literal(line: str) -> str:
    """A C string literal of one source line; question marks could make trigraphs."""
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    encoded = "".join(c if " " <= c <= "~" else _octal(c) for c in escaped)
    return f'"{encoded}\\n"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
