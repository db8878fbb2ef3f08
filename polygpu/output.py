"""The last passes of a file: price -> spaces -> join -> emit, and all that there is to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from polygpu import devices
from polygpu.compilation import Compilation, Options
from polygpu.frontend import Kept, Lifted
from polygpu.lower import remarks
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.spaces import put_in_spaces
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.model.kernel import Unit
from polygpu.model.scop import Scop
from polygpu.offload.joined import joined
from polygpu.offload.offers import offer, offers, settled, varies, without_parts
from polygpu.printing import dialects, uses
from polygpu.printing.calls import default_device, emit, emit_original
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.passes import Passes


def device_for(options: Options) -> Device:
    """What files are written for: the device that is asked for, or the target's own, as far as the target's
    programs reach it. Raises Diagnosed.
    """
    device = devices.load(options.device or default_device(options.target))
    return device if dialects.find(options.target).fragments else replace(device, tensor_cores="")


@dataclass(frozen=True)
class Output:
    """Writes a file whose regions are compiled; regions are priced at sizes of which some are `typical`."""

    path: str
    options: Options
    device: Device
    typical: Mapping[str, int]
    passes: Passes

    def written(
        self,
        lifted: Lifted,
        compiled: tuple[CompiledRegion, ...],
        decisions: tuple[Decision, ...],
        care: Mapping[str, int],
    ) -> Compilation:
        """Raises Diagnosed for decisions that nothing follows."""
        parallel = tuple(r for r in compiled if not lifted.detected or remarks.has_parallelism(r))
        if self.options.offload != "never":
            remarks.check_followed(self.path, decisions, parallel)
        kept, priced = self.passes.run("price", lambda: self._offloaded(parallel, lifted))
        asked = {k.name: a for r in kept for k, a in zip(r.region.kernels, r.asked, strict=True)}
        make = partial(put_in_spaces, (r.region for r in kept), self.device, asked)
        spaced = self.passes.run("spaces", make)
        placed = (r.with_kernels(region) for r, region in zip(kept, spaced.regions, strict=True))
        regions = self.passes.run("join", lambda: tuple(map(self.joined, placed)))
        stem = self.path.rsplit("/", 1)[-1].removesuffix(".c")
        stays = self.passes.run("keep", lambda: self._kept(lifted, regions))
        unit = Unit(self.path, stem, tuple(r.region for r in regions), bool(stays), stays.regions, stays.maps)
        printed = partial(emit, lifted.text, unit, regions, self.device, self.options.target, stays)
        files = self.passes.run("emit", printed) if regions or stays else {}
        if not files and (parallel or not lifted.scops or self.options.offload == "never"):
            files = emit_original(lifted.text, unit, self.options.target)
        simple = (r for r in regions if care.get(r.scop.name, 0) < 4 and self.options.level)
        diagnostics = (
            *lifted.diagnostics,
            *remarks.simple_schedules(simple),
            *remarks.left_on_host(r for r in compiled if lifted.detected and not remarks.has_parallelism(r)),
            *priced,
            *(d for r in regions for d in remarks.in_one_thread(r)),
            *spaced.diagnostics,
            *self._in_single_precision(regions),
        )
        return Compilation(
            files,
            diagnostics,
            lifted.dependencies,
            lifted.system_dependencies,
            lifted.sources,
            unit,
            self.device,
            self.options,
            regions,
            tuple(self.passes.seconds.items()),
            scopes=stays.scopes,
        )

    def joined(self, r: CompiledRegion) -> CompiledRegion:
        return joined(r, self.device, self.typical, rule=self.options.level > 0)

    def in_vain(self, r: CompiledRegion, lifted: Lifted) -> Diagnostic | None:
        """What a region that nobody marked left out where that gains nothing."""
        return remarks.in_vain(r) if lifted.detected else None

    def is_kept(self, r: CompiledRegion, lifted: Lifted) -> bool:
        """Whether it is known of a region by itself that it goes to the device."""
        if lifted.detected and not remarks.has_parallelism(r):
            return False
        if self.options.offload != "auto" or _is_marked(r.scop, lifted):
            return True
        return offer(r, self.device, self.typical).faster != "never"

    def _kept(self, lifted: Lifted, regions: tuple[CompiledRegion, ...]) -> Kept:
        return Kept() if self.options.offload == "never" else lifted.kept([r.scop for r in regions])

    def _in_single_precision(self, regions: tuple[CompiledRegion, ...]) -> list[Diagnostic]:
        """A warning about the first region whose doubles the device does not have."""
        first = next((r for r in regions if uses.doubles(r.region)), None)
        if self.device.doubles or first is None:
            return []
        message = f"{self.device.title} has no double precision: it would compute doubles in float"
        help_text = "`polygpu devices` has others; the emulator computes in double, whatever the device"
        return [Diagnostic("PG334", "warning", message, first.scop.position, help_text)]

    def _offloaded(
        self, regions: tuple[CompiledRegion, ...], lifted: Lifted
    ) -> tuple[tuple[CompiledRegion, ...], tuple[Diagnostic, ...]]:
        """Those to offload, with a test of sizes where no pragma marks them, and what is to say of it."""
        asked = {r.scop.name for r in regions if _is_marked(r.scop, lifted)}
        if self.options.offload != "auto" and all(
            r.scop.name in asked or not varies(r.scop) for r in regions
        ):
            return regions, ()
        scopes = lifted.kept([r.scop for r in regions]).scopes
        found = offers(regions, self.device, self.typical, scopes)
        return (settled if self.options.offload == "auto" else without_parts)(found, asked)


def _is_marked(scop: Scop, lifted: Lifted) -> bool:
    """Whether a pragma asks for the region, be it by decisions about one of its loops."""
    places = {pragma.loop for pragma in lifted.decided}
    return not lifted.detected or any(loop.position in places for loop in scop.loops)
