"""The call that replaces a region in the host file, with all that must hold at run time for it."""

from __future__ import annotations

from collections.abc import Iterator

from polygpu.lower.realise import CompiledRegion
from polygpu.lower.scan import test_of
from polygpu.model.device import Device
from polygpu.model.expr import Cast, Expr, Name
from polygpu.model.kernel import Region, Unit
from polygpu.model.rewrite import substitute
from polygpu.model.scop import LARGEST_SIZE, Scop
from polygpu.printing.dialects import find
from polygpu.printing.emit import emit_device
from polygpu.printing.host import HostCall, emit_host, host_call, in_source_names, overlap_tests, print_user


def default_device(target: str) -> str:
    """The device that a target is compiled for where none is named."""
    return find(target).device


def emit(
    text: str, unit: Unit, regions: tuple[CompiledRegion, ...], device: Device, target: str
) -> dict[str, str]:
    """The host file of the source `text`, and the device files, by the suffixes of their names."""
    host = emit_host(text, tuple(r.scop for r in regions), tuple(call_of(r) for r in regions))
    return {"_host.c": host, **emit_device(unit, device, target)}


def in_source(r: CompiledRegion) -> Region:
    """The region as the host file sees it: scalars, arrays and sizes in the names of the source."""
    return in_source_names(r.region, r.prepared.renamed)


def overlaps(r: CompiledRegion) -> tuple[str, ...]:
    """Why the region may not be offloaded where arrays overlap."""
    return () if r.scop.no_alias else tuple(o.reason for o in overlap_tests(r.scop, in_source(r)))


def call_of(r: CompiledRegion) -> HostCall:
    """The call of the region's device function, as it stands in the host file."""
    tests = ((test_of(c.holds, r.polyhedra.context), c) for c in r.conditions)
    texts = [(_host_test(test, r, c.wide), c.reason) for test, c in tests if test is not None]
    assumed = [
        (f"{s.name} == {value}", f"'{s.name}' is not {value}") for s, value in r.prepared.assumed.items()
    ]
    return host_call(r.scop, in_source(r), [*assumed, *_fitting(r.scop), *texts])


def _host_test(test: Expr, r: CompiledRegion, wide: bool) -> str:
    """In the names of the source; unsigned sizes count as signed, and in 64 bits where int may not do."""
    source: dict[str, Expr] = {new: Name(old) for new, old in r.prepared.renamed.items()}
    sizes = (s.name for s in r.scop.scalars if s.affine and (wide or not s.fits))
    signed: dict[str, Expr] = {name: Cast("long long", Name(name)) for name in sizes}
    return print_user(substitute(substitute(test, source), signed))


def _fitting(scop: Scop) -> Iterator[tuple[str, str]]:
    """Tests that parameters of wider types are int's: kernels count in these."""
    for s in scop.scalars:
        if s.affine and not s.fits:
            least = "" if s.type.startswith("unsigned") else f" && {s.name} >= -{LARGEST_SIZE}"
            reason = f"'{s.name}' is beyond the range of int, in which kernels count"
            yield f"{s.name} <= {LARGEST_SIZE}{least}", reason
