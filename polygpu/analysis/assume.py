"""Parameters whose value the user states: a region compiled for it, and tested for it where it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from polygpu.model.expr import Cast, Expr, Int, Name, is_floating, limits
from polygpu.model.rewrite import map_scop, rewrite, substitute
from polygpu.model.scop import LARGEST_SIZE, Scalar, Scop
from polygpu.support.diagnostics import Diagnosed, Diagnostic

_ASSUMPTION = re.compile(r"([A-Za-z_]\w*)=(-?\d+)")


def parse_assumptions(texts: tuple[str, ...]) -> dict[str, int]:
    """Values by parameter from `n=4096`. Raises Diagnosed (PG312) for another form."""
    found: dict[str, int] = {}
    for text in texts:
        match = _ASSUMPTION.fullmatch(text)
        if match is None:
            raise _diagnosed(f"'{text}' is no assumption; write NAME=NUMBER")
        found[match[1]] = int(match[2])
    return found


def check_known(values: Mapping[str, int], scops: tuple[Scop, ...]) -> None:
    """Raises Diagnosed (PG312) for a name that no region has as an integer it only reads, or for a value that
    this cannot have or kernels do not count to.
    """
    known = {(s.name, s.type) for scop in scops for s in scop.scalars if not is_floating(s.type)}
    for name, value in values.items():
        types = sorted(ctype for other, ctype in known if other == name)
        if not types:
            raise _diagnosed(f"no region reads an integer '{name}' that it could be assumed to be")
        for ctype in types:
            low, high = limits(ctype)
            if not max(low, -LARGEST_SIZE) <= value <= min(high, LARGEST_SIZE):
                raise _diagnosed(f"{value} is no value of '{name}', of type {ctype}, that kernels count to")


def assume(scop: Scop, values: Mapping[str, int]) -> tuple[Scop, dict[Scalar, int]]:
    """i < n  ->  i < 4096: the scop without the scalars that `values` fixes, and the values of these."""
    fixed = {s: values[s.name] for s in scop.scalars if s.name in values and not is_floating(s.type)}
    if not fixed:
        return scop, {}
    plain: dict[str, Expr] = {s.name: Int(v) for s, v in fixed.items()}

    def typed(e: Expr) -> Expr | None:
        """The value of a name, of the type that the name has there: arithmetic may ask for it."""
        if not isinstance(e, Name) or e.name not in plain:
            return None
        return plain[e.name] if e.type == "int" else Cast(e.type, plain[e.name])

    scop = replace(scop, scalars=tuple(s for s in scop.scalars if s not in fixed))
    return map_scop(scop, lambda e: rewrite(e, typed), lambda e: substitute(e, plain)), fixed


def _diagnosed(message: str) -> Diagnosed:
    return Diagnosed(Diagnostic("PG312", "error", message, None, "see `polygpu explain PG312`"))
