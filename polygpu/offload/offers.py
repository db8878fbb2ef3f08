"""Whether a region goes to the device, and from which sizes on that pays."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import replace
from functools import cached_property
from math import prod, sqrt
from typing import Literal

from polygpu.analysis.measured import read_by
from polygpu.frontend import HostScope
from polygpu.lower.realise import CompiledRegion
from polygpu.lower.work import box
from polygpu.model.device import Device
from polygpu.model.expr import Binary, Cast, Expr, Int, Name
from polygpu.model.offsets import product
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import LARGEST_SIZE, Scop
from polygpu.offload.seconds import Ledger, Price
from polygpu.offload.typical import STEPS, scaled, typical
from polygpu.perf.lanes import uniform
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.recent import Recent, Same

_HALVINGS = 6  # of the ratio 2 between two scales of sizes: 1 %
_OFFERS: Recent[Offer] = Recent(64)


@dataclass(frozen=True)
class Offer:
    """A region that may go to `device`. Of the sizes that are known at run time only, some are `stated`.

    The names of sizes are those of the region's kernels; `calls`, `beside` and `settled` those of Ledger.
    """

    region: CompiledRegion
    device: Device
    stated: Mapping[str, int]
    calls: int = 1
    beside: bool = False
    settled: bool = False

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.region, self.device, self.calls, self.beside, self.settled)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The typical ones."""
        return typical(self.ledger, self.stated)

    @cached_property
    def price(self) -> Price:
        """At typical sizes."""
        return self.ledger.at(self.sizes)

    @cached_property
    def scale(self) -> float | None:
        """How many times typical sizes have to be, all alike, for the device to be faster.

        0 where it always is, also at sizes of 1; None where it never is.
        """
        most = max(self.sizes.values(), default=0)
        if not most:
            return 0.0 if self.price.gains else None
        scale = 1 / most
        if self._gains(scale):
            return 0.0
        while scale < LARGEST_SIZE / most:
            scale *= 2
            price = self.ledger.at(scaled(self.ledger, self.sizes, scale))
            if price.bytes > self.device.device_memory:
                return None
            if price.gains:
                return self._between(scale / 2, scale)
        return None

    def _gains(self, scale: float) -> bool:
        return self.ledger.at(scaled(self.ledger, self.sizes, scale)).gains

    def _between(self, low: float, high: float) -> float:
        for _ in range(_HALVINGS):
            middle = sqrt(low * high)
            low, high = (low, middle) if self._gains(middle) else (middle, high)
        return high

    @cached_property
    def work(self) -> tuple[Expr, ...]:
        """The lengths, as far as they are not constant, of the loops of the statement that computes most."""
        runs, each = self.ledger.instances(self.sizes), self.ledger.operations
        s = max((w.statement for w in self.ledger.work), key=lambda s: runs[s.name] * each[s.name])
        lengths = map(_without_ends, box(s, self.region.polyhedra.context))
        return tuple(length for length in lengths if not isinstance(length, Int))

    @cached_property
    def least(self) -> int:
        """Their product from which on the device is faster, with two digits that count."""
        sizes = scaled(self.ledger, self.sizes, self.scale or 0.0)
        return int(float(f"{prod(max(0, uniform(length, sizes) or 0) for length in self.work):.2g}"))

    @property
    def faster(self) -> Literal["always", "never", "from"]:
        """Where the device is: "from" a product of sizes on. Typical sizes decide where there is none."""
        if self.scale and self.work:
            return "from"
        gains = self.scale == 0 or (self.scale is not None and self.price.gains)
        return "always" if gains else "never"

    @property
    def test(self) -> Expr | None:
        """What tells at run time that the device is faster, if anything does."""
        if self.faster != "from":
            return None
        first, *others = self.work
        return Binary(">", product([Cast("double", first), *others] if others else [first]), Int(self.least))


def _without_ends(length: Expr) -> Expr:
    """n - 2 -> n: what a few iterations more or less do not matter for."""
    match length:
        case Binary("+" | "-", Name() as name, Int()):
            return name
    return length


def offer(r: CompiledRegion, device: Device, stated: Mapping[str, int]) -> Offer:
    """Of a region by itself."""
    key = Same(r), Same(device), *sorted(stated.items())
    return _OFFERS.get(key, lambda: Offer(r, device, _renamed(r, stated)))


def offers(
    regions: Iterable[CompiledRegion],
    device: Device,
    stated: Mapping[str, int],
    scopes: Iterable[HostScope] = (),
) -> tuple[Offer, ...]:
    """One a region; `stated` are typical sizes by their names in the source.

    Arrays stay on the device between the regions of a scope if all of these run there.
    """
    found = {r.scop.name: offer(r, device, stated) for r in regions}
    for scope in scopes:
        together = [found[name] for name in sorted(scope.regions & found.keys())]
        stored = {b.type for o in together for b in o.region.region.buffers if b.copy_out}
        staying = [_staying(offer, scope, stored) for offer in together]
        if any(offer.faster != "never" for offer in staying):
            staying = [o if o.faster != "never" else replace(o, beside=True) for o in staying]
            if all(offer.faster != "never" for offer in staying):
                found |= {offer.region.scop.name: offer for offer in staying}
    return tuple(found.values())


def _staying(offer: Offer, scope: HostScope, stored: Set[str]) -> Offer:
    """The offer in a scope whose regions store to arrays of these types."""
    scop = offer.region.scop
    names = {name for m in scop.measures for name in read_by(m)}
    settled = stored.isdisjoint(a.element for a in scop.arrays if a.name in names)
    return replace(offer, calls=max(offer.calls, scope.times * STEPS**scope.unknown), settled=settled)


def _renamed(r: CompiledRegion, stated: Mapping[str, int]) -> dict[str, int]:
    named = source_names(r)
    return {new: stated[old] for new, old in named.items() if old in stated}


def source_names(r: CompiledRegion) -> dict[str, str]:
    """What the source calls the sizes of a region."""
    return {name: r.prepared.renamed.get(name, name) for name in r.polyhedra.parameters}


def settled(
    found: Iterable[Offer], asked: Container[str]
) -> tuple[tuple[CompiledRegion, ...], tuple[Diagnostic, ...]]:
    """The regions that go to the device, and what there is to say of them and of the others.

    Those of which the source has `asked` for it go in any case, others where they gain, with a test of sizes.
    """
    kept: list[CompiledRegion] = []
    said: list[Diagnostic] = []
    for offer in found:
        r = offer.region
        if r.scop.name in asked:
            kept.append(r)
            said += [] if offer.price.gains else [_loses(offer)]
        elif offer.faster == "never":
            said.append(_left(offer))
        else:
            kept.append(replace(r, gain=offer.test))
    return tuple(kept), tuple(said)


def varies(scop: Scop) -> bool:
    """Whether loops of the host around the region change how long its own loops are."""
    return any(
        not names.isdisjoint(scop.varying) and not names.isdisjoint(s.iterators)
        for s in scop.statements
        for names in map(scalars_in, s.domain)
    )


def without_parts(
    found: Iterable[Offer], asked: Container[str]
) -> tuple[tuple[CompiledRegion, ...], tuple[Diagnostic, ...]]:
    """The regions but for those without gain whose arrays would cross the bus for a part of them again and
    again, and what there is to say of these.
    """
    offers = list(found)
    parts = [o for o in offers if o.region.scop.name not in asked and _is_part(o)]
    return tuple(o.region for o in offers if o not in parts), tuple(map(_called_again, parts))


def _is_part(offer: Offer) -> bool:
    return offer.calls == 1 and varies(offer.region.scop) and offer.faster == "never"


def _called_again(offer: Offer) -> Diagnostic:
    message = "these loops stay on the host: each call would copy arrays for a few iterations"
    help_text = "'#pragma scop' offloads them all the same; see `polygpu explain PG335`"
    return Diagnostic("PG335", "warning", message, offer.region.scop.position, help_text)


def _left(offer: Offer) -> Diagnostic:
    where = " at any size" if offer.sizes else ""
    message = f"these loops stay on the host, which is faster{where}: {_seconds(offer)}"
    help_text = "'#pragma scop' or --offload always offloads them all the same; see `polygpu explain PG332`"
    return Diagnostic("PG332", "note", message, offer.region.scop.position, help_text)


def _loses(offer: Offer) -> Diagnostic:
    message = f"this region is slower on the device: {_seconds(offer)}"
    help_text = "--assume-typical NAME=NUMBER prices other sizes; see `polygpu explain PG333`"
    return Diagnostic("PG333", "warning", message, offer.region.scop.position, help_text)


def _seconds(offer: Offer) -> str:
    """`12 ms there, 11 ms of it for copies, and 8.2 ms on the host (n = 4096, modelled)`."""
    price, names = offer.price, source_names(offer.region)
    sizes = "".join(f"{names[name]} = {value}, " for name, value in offer.sizes.items())
    device, copies, host = map(_time, (price.device, price.copies, price.host))
    return f"{device} on the device, {copies} of it copies, {host} on the host ({sizes}modelled)"


def _time(seconds: float) -> str:
    """`8.2 ms`"""
    units = (("s", 1.0), ("ms", 1e-3))
    unit, scale = next(((unit, scale) for unit, scale in units if seconds >= scale), ("us", 1e-6))
    return f"{float(f'{seconds / scale:.2g}'):g} {unit}"
