"""Parameters whose value the user states: a region compiled for it, and tested for it where it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from polygpu.model.expr import Binary, Cast, Expr, Int, Name, is_floating, limits
from polygpu.model.rewrite import map_scop, rewrite, substitute
from polygpu.model.scop import LARGEST_SIZE, Scalar, Scop
from polygpu.support.diagnostics import Diagnosed, Diagnostic

_ASSUMPTION = re.compile(r"([A-Za-z_]\w*)=(-?\d+)")


def parse_assumptions(texts: tuple[str, ...]) -> dict[str, int]:
    """Values by parameter from `n=4096` or `n=4096,m=100`. Raises Diagnosed (PG312) for another form."""
    found: dict[str, int] = {}
    for text in (part for each in texts for part in each.split(",")):
        match = _ASSUMPTION.fullmatch(text.strip())
        if match is None:
            raise _diagnosed(f"'{text}' is no assumption; write NAME=NUMBER")
        found[match[1]] = int(match[2])
    return found


def check_known(values: Mapping[str, int], scops: tuple[Scop, ...]) -> None:
    """Raises Diagnosed (PG312) for a name that no region has as an integer it only reads, or for a value that
    this cannot have or kernels do not count to.
    """
    read = (s for scop in scops for s in (*scop.scalars, *scop.whole))
    known = {(s.name, s.type) for s in read if not is_floating(s.type)}
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
    own = (*scop.scalars, *scop.whole)
    fixed = {s: values[s.name] for s in own if s.name in values and not is_floating(s.type)}
    if not fixed:
        return scop, {}
    plain: dict[str, Expr] = {s.name: Int(v) for s, v in fixed.items()}
    left = [_made(s, plain) for s in own if s not in fixed]
    made = {s.name: s.value for s in left if isinstance(s.value, Int)}
    plain |= made

    def typed(e: Expr) -> Expr | None:
        """The value of a name, of the type that the name has there: arithmetic may ask for it."""
        if not isinstance(e, Name) or e.name not in plain:
            return None
        return plain[e.name] if e.type == "int" else Cast(e.type, plain[e.name])

    names = {s.name for s in scop.whole}
    scop = replace(
        scop,
        scalars=tuple(s for s in left if s.name not in names | made.keys()),
        whole=tuple(s for s in left if s.name in names),
    )
    return map_scop(scop, lambda e: rewrite(e, typed), lambda e: substitute(e, plain)), fixed


def _made(scalar: Scalar, values: dict[str, Expr]) -> Scalar:
    """The scalar, of what it is made of some known."""
    if scalar.value is None:
        return scalar
    value = substitute(scalar.value, values)
    known = _folded(value)
    low, high = limits(scalar.type)
    inside = known is not None and max(low, -LARGEST_SIZE) <= known <= min(high, LARGEST_SIZE)
    return replace(scalar, value=Int(known) if known is not None and inside else value)


def _folded(value: Expr) -> int | None:
    """The product of numbers; None for anything else."""
    match value:
        case Int(number):
            return number
        case Binary("*", left, right):
            a, b = _folded(left), _folded(right)
            return None if a is None or b is None else a * b
    return None


def _diagnosed(message: str) -> Diagnosed:
    return Diagnosed(Diagnostic("PG312", "error", message, None, "see `polygpu explain PG312`"))
