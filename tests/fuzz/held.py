"""What programs keep in structures, in elements of arrays, behind pointers and in products: sizes, arrays,
and scalars that the regions assign.

for (i = 0; i < n; i++) A0[i] = G0_A1[i];    ->    for (i = 0; i < h->n; i++) h->A0[i] = G0_held.A1[i];
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from tests.fuzz.program import Program

SIZES = {
    "value": "v.{0}",
    "arrow": "h->{0}",
    "inner": "h->inner.{0}",
    "element": "dims[{1}]",
    "pointer": "(*at_{0})",
    "product": "(h->{0} * h->one)",
    "divided": "(h->two_{0} / h->two)",
}
HELD = "held"  # an array or a scalar


def with_held(p: Program, random: Random) -> Program:
    """The program with some of its sizes and arrays held elsewhere; the same one mostly."""
    if random.random() > 0.25:
        return p
    alike = random.choice((*SIZES, ""))
    sizes = [(name, alike or random.choice((*SIZES, ""))) for name in p.unknown]
    arrays = [(a.name, HELD) for a in p.arrays if a.storage in ("flat", "global") and random.random() < 0.8]
    scalars = [(name, HELD) for name, _ in p.scalars if random.random() < 0.5]
    return replace(p, held=tuple((name, where) for name, where in (*sizes, *arrays, *scalars) if where))


def without_scalars(p: Program) -> Program:
    """The program with its scalars as variables, which pragmas may name."""
    scalars = dict(p.scalars)
    return replace(p, held=tuple((name, where) for name, where in p.held if name not in scalars))


def scalars_of(p: Program) -> tuple[list[str], list[str]]:
    """How the function's scalars begin: declarations, and assignments to those that are members."""
    own = [f"    {ctype} {name} = 1;" for name, ctype in p.scalars if not is_held(p, name)]
    return own, [f"    h->{name} = 1;" for name, _ in p.scalars if is_held(p, name)]


def declarations(k: int, p: Program) -> list[str]:
    """The structures of program `k`."""
    if not p.held:
        return []
    t, members = p.parameter, "".join(f" {p.parameter} {name}, two_{name};" for name in p.unknown)
    pointers = "".join(f" {a.type} *{a.name};" for a in p.arrays if a.storage == "flat")
    members += "".join(f" {ctype} {name};" for name, ctype in p.scalars if is_held(p, name))
    return [
        f"struct inner{k} {{ float unused;{members} {t} last; }};",
        f"struct held{k} {{{members} {t} one, two; struct inner{k} inner;{pointers} }};",
    ]


def parameters(k: int, p: Program) -> list[str]:
    """What the function takes beside its sizes and arrays."""
    if not p.held:
        return []
    pointers = [f"const {p.parameter} *at_{name}" for name in p.unknown]
    return [f"struct held{k} *h", f"struct inner{k} v", f"const {p.parameter} *dims", *pointers]


def arguments(p: Program) -> list[str]:
    return ["&held", "held.inner", "dims", *(f"&held.{name}" for name in p.unknown)] if p.held else []


def setup(k: int, p: Program) -> list[str]:
    """Before the call, in a function where sizes and arrays have their names."""
    if not p.held:
        return []
    t = p.parameter
    sizes = [f"held.{n} = held.inner.{n} = {n}; held.two_{n} = 2 * ({t}){n};" for n in p.unknown]
    pointers = [f"held.{a.name} = {a.name};" for a in p.arrays if a.storage == "flat"]
    dims = ", ".join((*p.unknown, "1"))
    lines = (f"struct held{k} held = {{ .one = 1, .two = 2 }};", f"{t} dims[] = {{ {dims} }};")
    return [f"    {line}" for line in (*lines, *sizes, *pointers)]


def is_held(p: Program, name: str) -> bool:
    return (name, HELD) in p.held


def spelled(p: Program, line: str) -> str:
    """A line of the program's regions, with what is held in the place of names."""
    for name, where in p.held:
        if where in SIZES:
            number = p.unknown.index(name) if name in p.unknown else 0
            line = re.sub(rf"\b{name}\b", SIZES[where].format(name, number), line)
        elif any(a.name == name and a.storage == "flat" for a in p.arrays) or name in dict(p.scalars):
            line = re.sub(rf"\b{name}\b", f"h->{name}", line)
    return line
