"""Arrays of complex numbers in place of arrays of floating-point numbers.

A1[i] = 0.5 * A0[i + 1];   ->   double _Complex *A1: A1[i] = conj(A1[i]) - (0.5 * cimag(A0[i + 1])) * I;
"""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

from tests.fuzz.program import Assign, Operation, Program, Read, is_floating

COMPLEX = {"float": "float _Complex", "double": "double _Complex"}
SHARE = 0.06  # of the programs have some
_READS = ("creal({0})",) * 3 + ("cimag({0})",) * 3 + ("cabs({0})", "creal(conj({0}) * {0})")
_STORES = (
    "{0} = {1} + {0} * CMPLX(0.25, 0.5);",
    "{0} *= {1} - 0.5 * I;",
    "{0} *= {1};",
    "{0} /= 1.0f * ({1}) * ({1}) + 1.5f;",  # an int may not hold the square of one
    "{0} = conj({0}) - ({1}) * I;",
    "{0} += CMPLX({1}, 0.125) * {0};",
    "{0} -= ({1}) * 1.0if;",
    "{0} = {0} * {0} * 0.25f + ({1}) * {0};",
    "{0} = {0} == {1} ? {1} : -{0};",
    "{{ double _Complex z = {1} + 0.5 * I; z = z * {0} - z; {0} = 0.25 * z; }}",
)


def with_complex(p: Program, random: Random) -> Program:
    """The program with some of its arrays of floating-point numbers of complex ones; the same one mostly."""
    floating = [a for a in p.arrays if is_floating(a.type)]
    if random.random() >= SHARE or not floating:
        return p
    chosen = {a.name for a in floating if random.random() < 0.7} or {floating[0].name}
    arrays = tuple(replace(a, type=COMPLEX[a.type]) if a.name in chosen else a for a in p.arrays)
    return replace(p, arrays=arrays, regions=_written(p.regions, chosen, random))


def has_complex(p: Program) -> bool:
    return any(a.type in COMPLEX.values() for a in p.arrays)


def _written(part: Any, chosen: set[str], random: Random) -> Any:
    match part:
        case tuple():
            return tuple(_written(item, chosen, random) for item in part)
        case Assign(Read(array, subscripts), template, value) if array in chosen:
            target = replace(part.target, subscripts=_written(subscripts, chosen, random))
            # complex numbers have no order, neither here nor as a term in front of the comparison of a value
            mine = () if set("<>") & set(template) else (template.replace("{1}", "({1})"),)
            made = random.choice((*mine, *_STORES))
            return Assign(target, made, _written(value, chosen, random))
        case Read(array, subscripts) if array in chosen:
            read = replace(part, subscripts=_written(subscripts, chosen, random))
            return Operation(random.choice(_READS), (read,), floating=True)
        case _ if hasattr(part, "__dataclass_fields__"):
            changed = {f.name: _written(getattr(part, f.name), chosen, random) for f in fields(part)}
            return replace(part, **changed)
    return part
