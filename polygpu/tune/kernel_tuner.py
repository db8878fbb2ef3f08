"""Nests for the library Kernel Tuner: their choices as its parameters, and the source of each choice.

Kernel Tuner takes one source with parameters in it, or a function of parameters that makes one. A choice is
other code, so it is given the function, and its C backend calls what the host file calls: the region's device
function, launches and copies included, behind a wrapper that returns the milliseconds of one kernel.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import jinja2

from polygpu.compilation import Options
from polygpu.lower.scan import test_of
from polygpu.model.decisions import Decision
from polygpu.model.expr import SIZES, is_floating
from polygpu.model.kernel import Buffer
from polygpu.perf.lanes import uniform
from polygpu.printing.calls import call_of
from polygpu.runtime.errors import error
from polygpu.search.space import Choice, Space
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.templates import environment
from polygpu.tune.result import listed
from polygpu.tune.subjects import Subject, compiled, subjects

Parameters: TypeAlias = Mapping[str, Any]
"""Of Kernel Tuner: threads and points along x are those of the lanes."""

COMPILERS = {
    "cuda": ("nvcc", ("-O3", "-arch=native")),
    "opencl": ("g++", ("-O2", "-std=c++20", "-fpermissive", "-w", "-lOpenCL")),
}
_FILES = ("_cuda.cu", "_opencl.c")  # with what the host file calls
_AXES = "xyz"


def tune_params(space: Space) -> dict[str, list[Any]]:
    """The dimensions of a space as Kernel Tuner has them; `restrictions` say what goes together."""
    orders, threads, points, deals, widths, staged, buffers, wide, unrolled = space.dimensions
    axes = _AXES[: space.nest.depth]
    return {
        "lanes": [order[-1] for order in orders],
        **{f"block_size_{x}": _values(threads, k) for k, x in enumerate(axes)},
        **{f"points_{x}": _values(points, k) for k, x in enumerate(axes)},
        "deal": ["/".join(map(str, deal)) for deal in deals],
        "width": [*widths],
        "staged": [",".join(arrays) for arrays in staged],
        "buffer": [*buffers],
        "wide": [*wide],
        "unroll": [str(value) for value in unrolled],
    }


def _values(shapes: Any, axis: int) -> list[int]:
    return sorted({shape[-1 - axis] for shape in shapes})


def restrictions(space: Space) -> list[str]:
    """What `Space.why_not` and the products of a space leave out, as Kernel Tuner's expressions."""
    axes, device = _AXES[: space.nest.depth], space.device
    threads, points = (" * ".join(f"{name}_{x}" for x in axes) for name in ("block_size", "points"))
    most = max(map(prod, space.dimensions[2]))
    others = " * ".join(f"points_{x}" for x in axes[1:]) or "1"
    return [
        f"{threads} >= {device.warp}",
        f"{threads} <= {device.max_threads_per_block}",
        *(f"block_size_{x} <= {long}" for x, long in zip(axes, device.max_block, strict=False)),
        f"{points} <= {most}",
        f"deal == 'cyclic/cyclic' or {others} > 1 or (deal == 'grouped/grouped' and points_x > 1)",
        "staged != '' or (buffer == 'none' and wide == 0)",
        "buffer != 'ring' or wide > 0",
    ]


def choice_of(space: Space, p: Parameters) -> Choice:
    front = space.nest.depth - len(_AXES[: space.nest.depth])
    axes = _AXES[: space.nest.depth][::-1]
    threads, points = (
        (*(1,) * front, *(int(p[f"{name}_{x}"]) for x in axes)) for name in ("block_size", "points")
    )
    order = next(order for order in space.dimensions[0] if order[-1] == p["lanes"])
    deal = next(deal for deal in space.dimensions[3] if "/".join(map(str, deal)) == p["deal"])
    staged = tuple(filter(None, p["staged"].split(",")))
    unroll = int(p["unroll"]) if p["unroll"].isdigit() else p["unroll"]
    width, wide = int(p["width"]), int(p["wide"])
    return Choice(order, threads, points, deal, width, staged, p["buffer"], wide, unroll)


@dataclass(frozen=True)
class Nest:
    """What Kernel Tuner calls for a nest: `function`, in what `source` makes of parameters.

    OpenCL's files are C, and lie in `directory`: Kernel Tuner takes for CUDA what says __global.
    """

    subject: Subject
    directory: Path

    @property
    def function(self) -> str:
        return f"tune_{self.subject.kernel}"

    def decisions(self, p: Parameters) -> tuple[Decision, ...]:
        """Those of a choice; none, without parameters, are what rules choose."""
        return self.subject.of_choice(choice_of(self.subject.space, p)) if p else ()

    def source(self, p: Parameters) -> str:
        """The device file of a choice, with the function. Of one that is refused an error with the words for
        which Kernel Tuner skips what does not compile.
        """
        s = self.subject
        try:
            made = compiled(s.file, {s.region: self.decisions(p)})
        except Diagnosed as problem:
            return f"#error uses too much shared data, or: {problem.diagnostics[0].message}\n"
        (region,) = (r for r in made.regions if r.scop.name == s.region)
        parameters = call_of(region).parameters
        text = "".join(made.files.get(suffix, "") for suffix in _FILES) + _template("function.c").render(
            function=self.function,
            region=s.region,
            parameters=", ".join(parameters),
            names=", ".join(each.rpartition(" ")[2].lstrip("*") for each in parameters),
            kernel=s.nest.kernel,
        )
        if "_cuda.cu" in made.files:
            return text
        path = self.directory / f"{self.function}.c"
        path.write_text(text)
        return f'extern "C" {{\n#include "{path}"\n}}\n'


def nests(path: str, options: Options) -> dict[str, Nest]:
    """Those of a file, by their kernels."""
    place = Path(tempfile.mkdtemp(prefix="polygpu-"))
    # Only with this do device files know the times of kernels; they write it when the process has ended.
    os.environ["POLYGPU_PROFILE"] = str(place / "profile.json")
    return {s.kernel: Nest(s, place) for s in subjects(path, options)[1]}


def decisions(found: Mapping[str, Nest], best: Mapping[str, Parameters]) -> str:
    """The decisions of a file, with those of the best parameters for its kernels."""
    together: dict[str, tuple[Decision, ...]] = defaultdict(tuple)
    for kernel, p in best.items():
        together[found[kernel].subject.region] += found[kernel].decisions(p)
    return listed(next(iter(found.values())).subject.file, together)


def script(path: str, options: Options, found: Sequence[Subject], output: Path) -> str:
    """A program that has Kernel Tuner search the choices of each nest. Raises Diagnosed (PG917)."""
    compiler, flags = COMPILERS[options.target]
    return _template("kernel_tuner.py").render(
        path=path,
        options=replace(options, level=1),
        name=output.name,
        decisions=output.with_suffix(".decisions").name,
        compiler=compiler,
        flags=flags,
        nests=[(s, tune_params(s.space), restrictions(s.space), list(_arguments(s))) for s in found],
    )


def _arguments(s: Subject) -> Iterator[tuple[str, str]]:
    """What the function is called with, as Python, and its name. Raises Diagnosed (PG917)."""
    r, sizes = s.by_rules, s.chooser.sizes
    for condition in r.conditions:
        test = test_of(condition.holds, r.polyhedra.context)
        if test is not None and not uniform(test, sizes):
            raise _unknown(s, f"at its sizes {condition.reason}")
    for scalar in r.region.scalars:
        yield f"numpy.{_numpy(s, scalar.type, scalar.name)}({sizes.get(scalar.name, 1)})", scalar.name
    for buffer in (b for b in r.region.buffers if b.host):
        values = "random" if is_floating(buffer.type) else "zeros"
        kind = _numpy(s, "" if buffer.structure else buffer.type, buffer.name)
        yield f"{values}({_elements(s, buffer, sizes)}, numpy.{kind})", buffer.name


def _numpy(s: Subject, ctype: str, name: str) -> str:
    if ctype not in SIZES or ctype == "_Bool":
        raise _unknown(s, f"numpy has no type for '{name}'")
    kind = "float" if is_floating(ctype) else "uint" if ctype.startswith("unsigned") else "int"
    return f"{kind}{8 * SIZES[ctype]}"


def _elements(s: Subject, buffer: Buffer, sizes: Mapping[str, int]) -> int:
    """Those of the host's array, from the one that the pointer points to."""
    first = uniform(buffer.origin[0], sizes) if buffer.origin else 0
    host = buffer.host_extents
    counts = [uniform(buffer.extents[k] if e is None else e, sizes) for k, e in enumerate(host)]
    known = [c for c in counts if c is not None]
    if first is None or first < 0 or len(known) < len(counts):
        raise _unknown(s, f"it is not known where '{buffer.name}' begins and ends")
    return prod(known) + (first * prod(known[1:]) if host and host[0] is None else 0)


def _unknown(s: Subject, why: str) -> Diagnosed:
    advice = "choose other sizes with --size, or search it with polygpu's own strategies"
    return Diagnosed(error("PG917", f"the nest {s.place} cannot be exported: {why}", advice))


def _template(name: str) -> jinja2.Template:
    return environment().get_template(f"tune/{name}.j2")
