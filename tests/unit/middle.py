"""Short C bodies, taken as far through the compiler as a test needs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import islpy as isl

from polygpu import devices
from polygpu.analysis import polyhedra
from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.expand import expand
from polygpu.analysis.index_sets import split
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.buffers import layouts
from polygpu.lower.kernels import lower
from polygpu.mapping.map import map_nest
from polygpu.mapping.program import Grid
from polygpu.mapping.wanted import wanted
from polygpu.model.decisions import parse
from polygpu.model.kernel import Kernel
from polygpu.schedule.driver import Scheduled, schedule
from polygpu.schedule.nests import nests
from polygpu.schedule.tree import describe
from polygpu.support.isl_idioms import set_options
from tests.unit.frontend_text import region

MATRICES = "int n, int m, float A[restrict n][m], float B[restrict n][m], float C[restrict m][n]"
VECTORS = "int n, float x[restrict n], float y[restrict n], float z[restrict n]"


def analysed(parameters: str, body: str, head: str = "") -> Polyhedra:
    """The polyhedral form of a marked region with `body`."""
    set_options()
    with tempfile.TemporaryDirectory() as directory:
        return polyhedra.build(region(Path(directory), parameters, body, head))


def dependent(parameters: str, body: str) -> tuple[Polyhedra, Dependences]:
    p = analysed(parameters, body)
    return p, compute(p)


def expanded(parameters: str, body: str) -> tuple[Polyhedra, Dependences, dict[str, int]]:
    """The program after expansion, and by how many loops each array was expanded."""
    p, d = dependent(parameters, body)
    p, found = expand(p, d)
    return p, compute(p), {e.renamed: e.depth for e in found}


def scheduled(parameters: str, body: str) -> tuple[Polyhedra, Scheduled]:
    p, d, _ = expanded(parameters, body)
    p, d, _ = split(p, d)
    return p, schedule(p, d)


def host_text(parameters: str, body: str) -> list[str]:
    """The host program, a line a node, as `describe` has it."""
    return describe(scheduled(parameters, body)[1].host)


def mapped(
    parameters: str,
    body: str,
    device: str = "8800gtx",
    decisions: str = "",
    typical: Mapping[str, int] = MappingProxyType({}),
) -> Grid:
    """The first kernel, which must not be inside a host loop, made as `decisions` say, at `typical` sizes."""
    p, found = scheduled(parameters, body)
    nest = nests(found.host)[0]
    asked = wanted(p, nest, parse(decisions) if decisions else (), care=0)
    return map_nest(p, nest, (), devices.load(device), asked, typical=typical)


def lowered(parameters: str, body: str, device: str = "8800gtx") -> Kernel:
    """The first kernel."""
    p, d, _ = expanded(parameters, body)
    nest = nests(schedule(p, d).host)[0]
    grid = map_nest(p, nest, (), devices.load(device), wanted(p, nest, (), care=0))
    return lower(grid, layouts(p, d))[0]


def same_map(found: isl.UnionMap | isl.Map, text: str) -> bool:
    """Whether a relation is the one that isl reads from `text`."""
    return bool(isl.UnionMap(str(found)).is_equal(isl.UnionMap(text)))


def same_set(found: isl.Set | isl.UnionSet, text: str) -> bool:
    return bool(isl.UnionSet(str(found)).is_equal(isl.UnionSet(text)))
