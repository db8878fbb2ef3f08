"""What a compilation is asked for, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from polygpu.analysis.assume import check_known, parse_assumptions
from polygpu.analysis.measured import extent_of, is_unbounded
from polygpu.frontend import FrontendOptions, HostScope
from polygpu.lower.realise import CompiledRegion
from polygpu.model.device import Device
from polygpu.model.kernel import Unit
from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic

if TYPE_CHECKING:
    from polygpu.verify.verdict import Certificate

Certification: TypeAlias = Literal["full", "quick", "off"]
Offload: TypeAlias = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class Options:
    """What a compilation is asked for.

    `decisions` override what the passes would choose, and those of `replayed`, the text of a file of them;
    `assume` states parameters' values: "n=4096", `assume_typical` those at which regions are priced.
    `offload`: "auto" leaves what nobody marked on the host unless the device is faster.
    `certify` is how much `polygpu.compiler` proves of it, and `care` the level of care (an index of
    `decisions.CARE`) of regions by name: it raises this for what is refuted.
    `reassociate` lets floating-point sums, products, least and largest values come in another order.
    A `part` of a program has other files beside it, also where its text does not show that; functions that
    `others` define may be written into its regions.
    `level` is that of -O: 0 the source's order and nothing staged, 1 what rules choose; `polygpu.compiler`
    has the model choose among few (2) or many (3).
    """

    target: str = "cuda"
    device: str = ""
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    include_files: tuple[str, ...] = ()
    std: str = ""
    assume_no_alias: bool = False
    decisions: tuple[str, ...] = ()
    replayed: str = ""
    assume: tuple[str, ...] = ()
    assume_typical: tuple[str, ...] = ()
    offload: Offload = "always"
    time_budget: float = 10.0
    cc: str | None = None
    certify: Certification = "quick"
    care: tuple[tuple[str, int], ...] = ()
    level: int = 2
    reassociate: bool = False
    part: bool = False
    others: tuple[str, ...] = ()

    def values(self) -> dict[str, int]:
        """The stated values of parameters. Raises Diagnosed for what is none."""
        return parse_assumptions(self.assume)

    def typical(self) -> dict[str, int]:
        """The stated typical ones. Raises Diagnosed for what is none."""
        return parse_assumptions(self.assume_typical)

    def check_known(self, scops: tuple[Scop, ...]) -> None:
        """Raises Diagnosed for a stated value of what no region reads, or that it cannot have; extents that
        the host measures have typical ones.
        """
        measured_too = {extent_of(a) for scop in scops for a in scop.arrays if is_unbounded(scop, a)}
        typical = {name: value for name, value in self.typical().items() if name not in measured_too}
        check_known({**self.values(), **typical}, scops)

    def frontend(self) -> FrontendOptions:
        return FrontendOptions(
            self.includes,
            self.defines,
            self.undefines,
            self.include_files,
            self.std,
            self.assume_no_alias,
            self.cc,
            self.part,
            self.others,
        )


@dataclass(frozen=True)
class Compilation:
    """The result: `files` maps a suffix of the stem to its text. `certificates` are the regions', if any.

    In `scopes` of the host, arrays stay on the device between calls of regions.
    """

    files: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    sources: dict[str, str]
    unit: Unit
    device: Device
    options: Options
    regions: tuple[CompiledRegion, ...]
    timings: tuple[tuple[str, float], ...]
    certificates: tuple[Certificate, ...] = ()
    scopes: tuple[HostScope, ...] = ()

    @property
    def offloaded(self) -> int:
        return len(self.regions)
