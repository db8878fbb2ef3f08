"""Functions whose parameters are declared as in K&R's C, outermost loops that step by a parameter, stores of
which a parameter chooses one, and small numbers that a branch before the regions chooses, of which the
compiler knows that they are one of two.

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

from tests.fuzz.program import RECORD, Loop, Node, Program
from tests.fuzz.wrapping import fits

CHOSEN = 0.1  # of the programs
OLD_STYLE = STEPPING = 0.06
KINDS = 0.1
_STEP, _KIND = "by", "kind"
_HEADER = re.compile(r"^(    for \(.*; \w+) ?(?:(\+)\+|(-)-)\)")
_LOOP = re.compile(r"^( +)for \((?:\w+ )*(\w+) = .*\{$")
_STORE = re.compile(r"^( +)(A\d\w*(?:\[[^=;]*\])+) = ([^;]*);$")
_NUMBERS = ("1", "2")
_LARGE = 5000  # more than any size is
_NEVER = "9"  # of kinds
_ADDED = r"(?<=[\w\])] [+-] ){0}\b(?![\w.])"
_NAME = re.compile(r"(\w+)\s*(?:\[.*)?$")


def with_choices(p: Program, random: Random) -> Program:
    """The program with numbers that are chosen, and with old declarations; the same one mostly."""
    if p.unknown and random.random() < CHOSEN:
        numbers = random.choice((_NUMBERS[:1], _NUMBERS[1:], _NUMBERS))
        p = replace(p, chosen=tuple((k, random.choice("12345")) for k in numbers))
    step = random.choice((1, 1, 1, 2)) if random.random() < STEPPING else 0
    if step > 1 and not all(fits(_stepping(p, step), *size) for size in p.sizes):
        step = 1
    old_style = random.random() < OLD_STYLE and bool(p.unknown)
    kinds = random.choices("1234", k=random.choice((2, 3, 4))) if random.random() < KINDS else ()
    number = random.randrange(1, 100) if kinds and random.random() < 0.6 else 0
    return replace(p, old_style=old_style, step=step, kinds=tuple(kinds), noted=number)


def _stepping(p: Program, step: int) -> Program:
    """As it runs where its outermost loops step so far instead of by one."""

    def outermost(node: Node) -> Node:
        if isinstance(node, Loop) and abs(node.step) == 1:
            return replace(node, step=node.step * step)
        return node

    return replace(p, regions=tuple(tuple(map(outermost, region)) for region in p.regions))


def parameters(p: Program) -> list[str]:
    return [*([f"int {_STEP}"] if p.step else []), *([f"int {_KIND}"] if p.kinds else [])]


def arguments(p: Program) -> list[str]:
    return [*([str(p.step)] if p.step else []), *p.kinds[:1]]


def declarations(p: Program) -> list[str]:
    """What chooses: always the number itself."""
    found: list[str] = []
    for number, other in p.chosen:
        test, name = f"{p.unknown[0]} < {_LARGE}", f"chosen{number}"
        found += [f"    int {name};", f"    if ({test}) {{ {name} = {number}; }} else {name} = {other};"]
    return found


def spelled(p: Program, line: str) -> str:
    """A line of the program's regions with what is chosen in the place of numbers that are added, a parameter
    in that of the step of an outermost loop, and a store as one of several.
    """
    if p.step:
        line = _HEADER.sub(rf"\1 \2\3= {_STEP})", line)
    numbers = {a.name for a in p.arrays if a.type != RECORD}
    if p.kinds and (store := _STORE.match(line)) and store[2].partition("[")[0] in numbers:
        line = _of_kinds(p, *store.groups())
    for number, _ in p.chosen:
        line = re.sub(_ADDED.format(number), f"chosen{number}", line)
    return line


def noted(p: Program, k: int, lines: list[str]) -> list[str]:
    """The lines of a region with a note that a loop prints, or does not, for what a parameter is, or with a
    test of its iterator that would end the program.

    for (int i = 0; i < n; i++) { A[i] = 0; }  ->  for (...) { if (kind == 9) note("p3", i); A[i] = 0; }
                                               ->  for (...) { assert(i <= 70000 + kind); A[i] = 0; }
    """
    inner = [at for at, line in enumerate(lines[:-1]) if _LOOP.match(line) and not _is_around(lines[at + 1])]
    if not (p.kinds and p.noted and inner):
        return lines
    at = inner[p.noted % len(inner)] + 1
    header = _LOOP.match(lines[at - 1])
    assert header is not None
    kind = _NEVER if p.noted % 4 else p.kinds[0]
    note = f'if ({_KIND} == {kind}) note("p{k}", {header[2]});'
    if p.noted % 5 > 2:
        most = f"{_LARGE} + {_KIND}"
        test = f"assert({header[2]} <= {most});", f'if ({header[2]} > {most}) {{ puts("far"); exit(3); }}'
        note = test[p.noted % 5 - 3]
    return [*lines[:at], f"{header[1]}    {note}", *lines[at:]]


def _is_around(line: str) -> bool:
    return line.lstrip().startswith(("for", "#pragma"))


def _of_kinds(p: Program, indent: str, target: str, value: str) -> str:
    """x = y;  ->  if (kind == 3) x = y; else if (kind == 1) x = 0; else x = 1;"""
    values = (value, *(str(k) for k in range(len(p.kinds))))
    tests = (f"if ({_KIND} == {kind}) {target} = {v};" for kind, v in zip(p.kinds[1:], values, strict=False))
    return f"{indent}{' else '.join(tests)} else {target} = {values[len(p.kinds) - 1]};"


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
