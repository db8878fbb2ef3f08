"""What a certificate consists of."""

from __future__ import annotations

from dataclasses import dataclass

from polygpu.model.expr import Position

DEPENDENCES = "dependences"
BARRIERS = "barriers"
VALUES = "values"
BOUNDS = "bounds"
INSTANCES = "instances"
PROPERTIES = (DEPENDENCES, BARRIERS, VALUES, BOUNDS, INSTANCES)


@dataclass(frozen=True)
class Proof:
    """`property` holds for `kernel` ("" for the whole region); `text` says of what and how far."""

    property: str
    kernel: str
    text: str


@dataclass(frozen=True)
class Failure:
    """A counterexample: two statement instances, the array element and the parameters."""

    property: str
    kernel: str
    message: str
    source: str = ""
    target: str = ""
    element: str = ""
    parameters: str = ""
    positions: tuple[Position, ...] = ()

    def __str__(self) -> str:
        where = f"{self.kernel}: " if self.kernel else ""
        parts = [f"{where}{self.message}"]
        parts += [
            f"{label} {text}"
            for label, text in (
                ("source", self.source),
                ("target", self.target),
                ("element", self.element),
                ("where", self.parameters),
            )
            if text
        ]
        return "; ".join(parts)


@dataclass(frozen=True)
class Unproved:
    """`property` could not be decided for `kernel`."""

    property: str
    kernel: str
    reason: str


@dataclass(frozen=True)
class Certificate:
    proofs: tuple[Proof, ...]
    failures: tuple[Failure, ...]
    unproved: tuple[Unproved, ...]

    @property
    def holds(self) -> bool:
        """Whether everything was proved."""
        return not self.failures and not self.unproved
