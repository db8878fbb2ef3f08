"""What a certificate consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from polygpu.model.expr import Position
from polygpu.model.facts import ProofFact
from polygpu.support.dataclass import dataclass

DEPENDENCES = "dependences"
BARRIERS = "barriers"
VALUES = "values"
BOUNDS = "bounds"
RANGES = "ranges"
INSTANCES = "instances"
PROPERTIES = (DEPENDENCES, BARRIERS, VALUES, BOUNDS, RANGES, INSTANCES)
# what is counted for a property
COUNTED = {
    DEPENDENCES: "pair of accesses",
    BARRIERS: "barrier",
    VALUES: "read",
    BOUNDS: "access",
    RANGES: "expression",
    INSTANCES: "action",
}


@dataclass(frozen=True)
class Proof:
    """`property` holds for `kernel` ("" for the whole region); `text` says of what and how far."""

    property: str
    kernel: str
    text: str


@dataclass(frozen=True)
class Failure:
    """A counterexample: two statement instances, the array element and the parameters.

    `source` and `target` are the two instances, the one that the source has first first; `by` is the thread
    that does what no instance does. Texts are "" for what does not apply.
    """

    property: str
    kernel: str
    message: str
    source: str = ""
    target: str = ""
    element: str = ""
    parameters: str = ""
    positions: tuple[Position, ...] = ()
    by: str = ""

    def title(self) -> str:
        return f"{self.kernel}: {self.message}" if self.kernel else self.message

    def details(self) -> tuple[tuple[str, str], ...]:
        """What is known, with its label."""
        labelled = (
            ("by", self.by),
            ("source", self.source),
            ("target", self.target),
            ("element", self.element),
            ("where", self.parameters),
        )
        return tuple((label, text) for label, text in labelled if text)

    def __str__(self) -> str:
        return "; ".join([self.title(), *(f"{label} {text.rstrip(';')}" for label, text in self.details())])


@dataclass(frozen=True)
class Unproved:
    """`property` could not be decided for `kernel`."""

    property: str
    kernel: str
    reason: str


@dataclass(frozen=True)
class Certificate:
    """`counts` says of how many things each property was decided (`COUNTED`), in `seconds`.

    Elements of arrays that are `reassociated` get the source's terms by the array's operator, each just once,
    in another order. Those that are `rounded` are sums of tensor cores, with operands as a policy says.
    """

    proofs: tuple[Proof, ...]
    failures: tuple[Failure, ...]
    unproved: tuple[Unproved, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    reassociated: Mapping[str, str] = field(default_factory=dict)
    rounded: Mapping[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether everything was proved."""
        return not self.failures and not self.unproved

    @property
    def facts(self) -> tuple[ProofFact, ...]:
        """A line for each property, the most important thing there is to say of it."""
        return tuple(self._fact(kind) for kind in PROPERTIES)

    def _fact(self, kind: str) -> ProofFact:
        failures = [f for f in self.failures if f.property == kind]
        gaps = [u for u in self.unproved if u.property == kind]
        count = self.counts.get(kind, 0)
        if failures:
            return ProofFact(kind, "refuted", count, str(failures[0]))
        if gaps:
            reasons = dict.fromkeys(g.reason for g in gaps)
            return ProofFact(kind, "open", count, "; ".join(reasons))
        if not any(p.property == kind for p in self.proofs):
            return ProofFact(kind, "open", count, "there is nothing of it, or it depends on what is open")
        return ProofFact(kind, "proved", count, self.permuted if kind == VALUES else "")

    @property
    def permuted(self) -> str:
        return ", ".join(
            f"'{array}' by a permutation of the source's {op}{self._how(array)}"
            for array, op in self.reassociated.items()
        )

    def _how(self, array: str) -> str:
        return f" in tensor cores ({self.rounded[array]})" if array in self.rounded else ""

    @property
    def distinct(self) -> tuple[tuple[Failure, int], ...]:
        """One failure of each property, kernel and message, and how many there are."""
        found: dict[tuple[str, str], list[Failure]] = {}
        for failure in self.failures:
            found.setdefault((failure.property, failure.title()), []).append(failure)
        return tuple((alike[0], len(alike)) for alike in found.values())
