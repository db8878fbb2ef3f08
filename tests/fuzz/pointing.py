"""Rows behind pointers, loops over pointers, and `while` and `do` in place of `for`.

float A0[n][m], for (j = 0; j < m; j++) S;    ->    float **A0, { int j = 0; while (j < m) { S; j++; } }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.fuzz.program import PARAMETERS, Affine, Array, Loop, Program
from tests.fuzz.sizes import has_unsigned

POINTED = 0.2  # of the programs
ROWS = "rows"  # a storage
TABLE = """\
static char *pointers[1 << 21]; /* to rows, of one run */
static long used;

static void *table(char *block, long size, int rank, const long *extents)
{
    char **made = pointers + used;
    long k = 0, row = size;
    used += extents[0];
    for (k = 1; k < rank; k++)
        row *= extents[k];
    for (k = 0; k < extents[0]; k++)
        made[k] = rank > 2 ? table(block + k * row, size, rank - 1, extents + 1) : block + k * row;
    return made;
}
"""


def with_pointers(p: Program, random: Random) -> Program:
    """The program with pointers in it; the same one mostly."""
    if random.random() > POINTED or p.old or p.spelling or p.carried:
        return p
    held = {name for name, _ in p.held}
    chosen = [a.rank > 1 and a.storage in ("restrict", "plain") and a.name not in held for a in p.arrays]
    arrays = (
        replace(a, storage=ROWS) if may and random.random() < 0.7 else a
        for a, may in zip(p.arrays, chosen, strict=True)
    )
    return replace(p, arrays=tuple(arrays), pointing=str(random.random()))


def declared(a: Array) -> str:
    """The parameter of rows behind pointers."""
    return f"{a.type} {'*' * a.rank}{a.name}"


def passed(a: Array, extents: Sequence[Affine]) -> str:
    """The argument for it."""
    sizes = ", ".join(f"(long)({e})" for e in extents)
    return f"table((char *){a.name}, sizeof *{a.name}, {a.rank}, (long[]){{{sizes}}})"


@dataclass
class Pointing:
    """Spells loops. `bases` are arrays that pointers may go over; grows the number of these pointers. An
    iterator or a parameter may be `unsigned`.
    """

    random: Random
    bases: Sequence[Array]
    unsigned: bool
    made: Iterator[int] = field(default_factory=lambda: iter(range(10**6)))

    def loop(self, loop: Loop, header: str, body: Sequence[str], indent: str) -> list[str] | None:
        """The loop with its `header` as another one; None for the usual one."""
        first, test, step = header.removeprefix("for (").removesuffix(")").split("; ")
        inner = f"{indent}    "
        kind = self.random.random()
        if loop.pragmas or kind < 0.4:
            return None
        if kind < 0.6:
            return self._over_pointers(loop, test, body, indent)
        leave = "if ({}) do {{" if kind < 0.8 else "while ({}) {{"
        end = f"}} while ({test});" if kind < 0.8 else "}"
        lines = [f"{first};", leave.format(test), *body, f"    {step};", end]
        return [f"{indent}{{", *(f"{inner}{line}" for line in lines), f"{indent}}}"]

    def _over_pointers(self, loop: Loop, test: str, body: Sequence[str], indent: str) -> list[str] | None:
        simple = len(loop.lowers) == len(loop.uppers) == 1 and not loop.inclusive and loop.step > 0
        if not self.bases or not simple or (self.unsigned and not _starts_positive(loop)):
            return None
        base, number = self.random.choice(self.bases), next(self.made)
        q, a = f"q{number}", base.name
        step = f"{q}++" if loop.step == 1 else f"{q} += {loop.step}"
        first, end = f"{a} + ({loop.lowers[0]})", f"{a} + ({loop.uppers[0]})"
        head = f"for ({base.type} *{q} = {first}; {q} < {end}; {step}) {{"
        count = f"    {loop.type} {loop.iterator} = {q} - {a};"
        return [f"{indent}{head}", f"{indent}{count}", *body, f"{indent}}}"]


def _starts_positive(loop: Loop) -> bool:
    """Whether sizes alone say that the loop does not begin below 0. Where it does and something is unsigned,
    it may be over at once, which a loop over pointers would not be.
    """
    first = loop.lowers[0]
    return first.constant >= 0 and all(name in PARAMETERS and factor > 0 for name, factor in first.terms)


def pointing(p: Program) -> Pointing | None:
    """What spells the loops of a program that has pointers."""
    held = {name for name, _ in p.held}
    bases = [a for a in p.arrays if (a.storage == "flat" or a.rank == 1) and a.storage != "global"]
    if not p.pointing:
        return None
    return Pointing(Random(p.pointing), [a for a in bases if a.name not in held], has_unsigned(p))
