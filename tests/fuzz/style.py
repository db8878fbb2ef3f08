"""What the parts of one program have in common: features that occur in all of it or not at all.

Features that a program has everywhere meet each other more often than if each part were drawn alone (swarm
testing: Groce, Zhang, Eide, Chen, Regehr, ISSTA 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz.program import PARAMETERS, SPELLINGS


@dataclass(frozen=True)
class Style:
    """`constants`: as of Program. `limited`: loops end at one of a few numbers. `rows`: arrays have rows of
    constant extents. `coupled`: subscripts are sums and multiples of iterators. `triangular`: loops start or
    end at an outer iterator. `accumulating`: elements are set before a loop that adds to them. `stencil`:
    a loop over time around two nests that read each other's arrays. `straight`: innermost bodies are long, of
    stores to a few elements and of scalars that pass values on. `shared`: several loops in one pass values on
    in its iterations. `turning`: innermost bodies have loops that data bound. `working`: iterations have an
    array for what they compute on the way. `layered`: four loops around each other, all parallel, some short.
    """

    constants: tuple[tuple[str, str], ...]
    limited: bool
    rows: bool
    coupled: bool
    triangular: bool
    accumulating: bool
    stencil: bool
    straight: bool
    shared: bool
    turning: bool
    working: bool
    layered: bool


def random_style(random: Random) -> Style:
    def chance(probability: float) -> bool:
        return random.random() < probability

    kind = random.random()
    known = PARAMETERS if kind < 0.5 else (random.choice(PARAMETERS),) if kind < 0.65 else ()
    alike = random.choice((*SPELLINGS, ""))
    constants = tuple((name, alike or random.choice(SPELLINGS)) for name in known)
    chances = (0.35, 0.35, 0.3, 0.3, 0.25, 0.1, 0.12, 0.12, 0.12, 0.08, 0.08)
    return Style(constants, *map(chance, chances))
