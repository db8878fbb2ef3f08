"""Functions whose parameters are declared as in K&R's C, outermost loops that step by a parameter, and small
numbers that a branch before the regions chooses, of which the compiler knows that they are one of two.

float p(int n, float A0[n]) { A0[i + 1] ... }
->    float p(n, A0)
          int n; float A0[n];
      { int chosen1; if (n < 5000) chosen1 = 1; else chosen1 = 3; A0[i + chosen1] ... }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tests.fuzz.program import Program

CHOSEN = 0.1  # of the programs
OLD_STYLE = STEPPING = 0.06
_STEP = "by"
_HEADER = re.compile(r"^(    for \(.*; \w+) ?(?:(\+)\+|(-)-)\)")
_NUMBERS = ("1", "2")
_LARGE = 5000  # more than any size is
_ADDED = r"(?<=[\w\])] [+-] ){0}\b(?![\w.])"
_NAME = re.compile(r"(\w+)\s*(?:\[.*)?$")


def with_choices(p: Program, random: Random) -> Program:
    """The program with numbers that are chosen, and with old declarations; the same one mostly."""
    if p.unknown and random.random() < CHOSEN:
        numbers = random.choice((_NUMBERS[:1], _NUMBERS[1:], _NUMBERS))
        p = replace(p, chosen=tuple((k, random.choice("12345")) for k in numbers))
    step = random.choice((1, 1, 1, 2)) if random.random() < STEPPING else 0
    return replace(p, old_style=random.random() < OLD_STYLE and bool(p.unknown), step=step)


def parameters(p: Program) -> list[str]:
    return [f"int {_STEP}"] if p.step else []


def arguments(p: Program) -> list[str]:
    return [str(p.step)] if p.step else []


def declarations(p: Program) -> list[str]:
    """What chooses: always the number itself."""
    found: list[str] = []
    for number, other in p.chosen:
        test, name = f"{p.unknown[0]} < {_LARGE}", f"chosen{number}"
        found += [f"    int {name};", f"    if ({test}) {{ {name} = {number}; }} else {name} = {other};"]
    return found


def spelled(p: Program, line: str) -> str:
    """A line of the program's regions with what is chosen in the place of numbers that are added, and a
    parameter in that of the step of an outermost loop.
    """
    if p.step:
        line = _HEADER.sub(rf"\1 \2\3= {_STEP})", line)
    for number, _ in p.chosen:
        line = re.sub(_ADDED.format(number), f"chosen{number}", line)
    return line


def head(p: Program, result: str, parameters: Sequence[str]) -> str:
    """The function's head up to its body."""
    if not p.old_style:
        return f"{result}({', '.join(parameters) or 'void'})"
    names = (_NAME.search(text) for text in parameters)
    listed = ", ".join(found[1] for found in names if found is not None)
    return f"{result}({listed})\n    {' '.join(f'{text};' for text in parameters)}"


def passed(p: Program, size: str) -> str:
    """The argument for a size, of its type: nothing else converts it."""
    return f"({p.parameter})({size})" if p.old_style else size
