"""A region's host program: loops, guards and launches around its kernels."""

from __future__ import annotations

from dataclasses import field, replace
from functools import reduce

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.buffers import Layout
from polygpu.lower.checked_scan import scan
from polygpu.lower.kernels import lower
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf, test_of
from polygpu.mapping.fixed import Fixed, restricted
from polygpu.mapping.hull import relaxed
from polygpu.mapping.program import Each, Grid, HostTree, InOrder, Program
from polygpu.model.expr import Expr, Name, Unary
from polygpu.model.kernel import (
    HostFor,
    HostIf,
    HostStatement,
    Kernel,
    Launch,
    Region,
    ScalarArgument,
    Site,
)
from polygpu.model.linear import simplify
from polygpu.model.rewrite import substitute
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded_hull, coalesced, identifier
from polygpu.support.recent import Recent, Same, parts

RECENT = 256  # kernels


@dataclass
class RegionLowering:
    """Lowers programs of one region that differ in their grids: what was lowered recently is not again."""

    p: Polyhedra
    layouts: dict[str, Layout]
    loops: Recent[tuple[isl.Set, Scan]] = field(default_factory=lambda: Recent(RECENT))
    kernels: Recent[tuple[Kernel, Launch]] = field(default_factory=lambda: Recent(RECENT))
    alike: Recent[tuple[Kernel, Launch]] = field(default_factory=lambda: Recent(RECENT))  # but for names

    def region(self, program: Program) -> Region:
        """Raises isl.Error where isl takes too long for its code, or for a part of it, and Diagnosed."""
        body = self._host(program.host, (), self.p.context)
        scop = self.p.scop
        scalars = tuple(ScalarArgument(s.name, s.passed) for s in scop.scalars)
        buffers = tuple(layout.buffer for layout in self.layouts.values())
        kernels = tuple(self._kernel(grid)[0] for grid in program.grids)
        return Region(
            scop.name, scalars, buffers, kernels, body, _sites(self.p), scop.functions, scop.position
        )

    def _host(self, host: HostTree, outer: tuple[Fixed, ...], context: isl.Set) -> tuple[HostStatement, ...]:
        match host:
            case Grid():
                return self._launch(host, context)
            case InOrder(children):
                return tuple(s for c in children for s in self._host(c, outer, context))
            case Each():
                values, tree = self._loop(host, outer, context)
                name = host.fixed.name
                within = context.intersect(_as_parameter(values, name))
                return _emit(tree, name, self._host(host.child, (*outer, host.fixed), within))

    def _loop(self, loop: Each, outer: tuple[Fixed, ...], context: isl.Set) -> tuple[isl.Set, Scan]:
        """The values of a host loop, and the code that visits them."""

        def made() -> tuple[isl.Set, Scan]:
            values = self._values(loop, outer)
            order = values.set_tuple_name("value").identity().reset_tuple_id(isl.dim_type.out)
            return values, scan(isl.UnionMap.from_map(order), context, (loop.fixed.name,))

        return self.loops.get(Same(loop.fixed.member), made)

    def _values(self, loop: Each, outer: tuple[Fixed, ...]) -> isl.Set:
        rows = loop.fixed.member.rows
        domains = ((restricted(self.p, s, outer), row) for s, row in sorted(rows.items()))
        parts = (domain.apply(isl.Map.from_pw_aff(row)) for domain, row in domains)
        return bounded_hull(reduce(isl.Set.union, parts))

    def _kernel(self, grid: Grid) -> tuple[Kernel, Launch]:
        def named() -> tuple[Kernel, Launch]:
            kernel, launch = self.alike.get(parts(grid, "name"), lambda: lower(grid, self.layouts))
            return replace(kernel, name=grid.name), replace(launch, kernel=grid.name)

        return self.kernels.get(Same(grid), named)

    def _launch(self, grid: Grid, context: isl.Set) -> tuple[HostStatement, ...]:
        _, launch = self._kernel(grid)
        exists = reduce(isl.Set.union, (relaxed(grid, grid.domain(s)).params() for s in grid.statements))
        test = test_of(coalesced(exists), context)
        return (HostIf(test, (launch,)),) if test is not None else (launch,)


def _as_parameter(values: isl.Set, name: str) -> isl.Set:
    """What holds of the parameters and of `name` when `name` is one of `values`."""
    moved = values.move_dims(D.param, values.dim(D.param), D.set, 0, 1)
    return moved.set_dim_id(D.param, moved.dim(D.param) - 1, identifier(name)).params()


def _emit(tree: Scan, name: str, inside: tuple[HostStatement, ...]) -> tuple[HostStatement, ...]:
    match tree:
        case ScanBlock(children):
            return tuple(s for c in children for s in _emit(c, name, inside))
        case ScanFor(index, lower, upper, step, body):
            return (HostFor(index, lower, upper, step, _emit(body, name, inside)),)
        case ScanIf(test, then, otherwise):
            yes = HostIf(test, _emit(then, name, inside))
            if otherwise is None:
                return (yes,)
            return yes, HostIf(Unary("!", test), _emit(otherwise, name, inside))
        case ScanLeaf(_, (value,)):
            return inside if value == Name(name) else tuple(_replace(s, name, value) for s in inside)
    raise AssertionError("a host loop scans one dimension")


def _replace(s: HostStatement, name: str, value: Expr) -> HostStatement:
    """`s` with the loop index `name`, which has a single value, replaced by it."""

    def put(e: Expr) -> Expr:
        return simplify(substitute(e, {name: value}))

    match s:
        case HostFor(index, lower, upper, step, body):
            return HostFor(index, put(lower), put(upper), step, tuple(_replace(b, name, value) for b in body))
        case HostIf(test, body):
            return HostIf(put(test), tuple(_replace(b, name, value) for b in body))
        case Launch(kernel, (x, y, z), scalars):
            return Launch(
                kernel, (put(x), put(y), put(z)), tuple(substitute(e, {name: value}) for e in scalars)
            )


def _sites(p: Polyhedra) -> tuple[Site, ...]:
    found: dict[int, Site] = {}
    for s in p.statements:
        for a in s.accesses:
            found[a.reference.site] = Site(a.reference.site, a.reference.array, a.text, a.write, a.position)
    return tuple(found[n] for n in sorted(found))
