"""What is tuned: each nest of a file that has parallel loops, at sizes at which it is soon looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import Decision
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import loops_in, typical
from polygpu.perf.lanes import uniform
from polygpu.pipeline import File, decisions_of
from polygpu.search.choose import Chooser
from polygpu.search.space import Choice, Nest, Space, nests_of
from polygpu.support.dataclass import dataclass
from polygpu.tune.moved import Moved


@dataclass(frozen=True)
class Subject:
    """A nest of a region of a prepared `file`, and the seconds that its `kernel` takes as rules choose it: at
    the chooser's sizes, or in a run of the program.

    `kept` are the keys that persons decided for it. `extents` are the iterations of its loops, where they are
    as many whenever the loop is reached.
    """

    file: File
    by_rules: CompiledRegion
    kernel: str
    space: Space
    chooser: Chooser
    rules: float
    kept: frozenset[str]
    extents: Mapping[str, int]
    moved: Moved

    @property
    def region(self) -> str:
        return self.by_rules.scop.name

    @property
    def nest(self) -> Nest:
        return self.space.nest

    @property
    def place(self) -> str:
        return str(self.nest.place)

    def decisions(self, number: int) -> tuple[Decision, ...]:
        """Those of a choice, but for what persons decided."""
        return self.of_choice(self.space[number])

    def of_choice(self, choice: Choice) -> tuple[Decision, ...]:
        return self._free(choice.decisions(self.nest))

    @property
    def of_rules(self) -> tuple[Decision, ...]:
        """What rules choose of that which choices are about."""
        keys = [d.key for d in self.space[0].decisions(self.nest)]
        return self._free(tuple(self.nest.taken[key] for key in keys if key in self.nest.taken))

    def _free(self, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
        return tuple(d for d in decisions if d.key not in self.kept)

    def uneven(self, choice: Choice) -> bool:
        """Whether a tile does not divide its loop."""
        return any(self.extents.get(name, 0) % tile for name, tile in self._tiles(choice).items())

    def traffic(self, choice: Choice) -> float:
        """What its tiles load and store, over the least of all tiles; 1 where that is unknown, or decided."""
        tiles = self._tiles(choice)
        elements = self.moved.elements(tiles) if tiles else None
        return elements / self.moved.least if elements else 1.0

    def _tiles(self, choice: Choice) -> dict[str, int]:
        tiles = [item for d in self.of_choice(choice) if d.key == "tile" for item in d.items]
        return {name: int(tile or 1) for name, tile in tiles}


def subjects(path: str, options: Options) -> tuple[Compilation, tuple[Subject, ...]]:
    """A file as rules choose, and its nests that can be priced, at the sizes of `options` or typical ones.

    Raises Diagnosed for errors in the file or in the options.
    """
    found: list[Subject] = []
    file = File(path, replace(options, level=1))

    def look(
        r: CompiledRegion, realiser: Realiser, decisions: tuple[Decision, ...], stated: Mapping[str, int]
    ) -> tuple[Decision, ...]:
        sizes = typical(Ledger(r, realiser.device), stated)
        found.extend(_of_region(file, r, Chooser(realiser, sizes, decisions)))
        return ()

    file.choose = look
    return file.realise(decisions_of(options), {}), tuple(found)


def compiled(file: File, choices: Mapping[str, tuple[Decision, ...]]) -> Compilation:
    """The file with these decisions for its regions, by their names. Raises Diagnosed."""
    chosen = replace(file, choose=lambda r, *_: choices.get(r.scop.name, ()), chosen={})
    return chosen.realise(decisions_of(file.options), {})


def _of_region(file: File, r: CompiledRegion, chooser: Chooser) -> Iterator[Subject]:
    for nest in nests_of(r):
        looked = chooser.looked_at(r, nest)
        sizes, rules = looked.sizes, looked.seconds
        if rules < inf:
            kept = frozenset(t.decision.key for t in r.taken[nest.kernel] if t.by == "person")
            space, at = Space(nest, chooser.device), replace(chooser, sizes=sizes)
            moved = Moved(r.grids[nest.kernel], space, sizes)
            name = r.region.kernels[nest.kernel].name
            yield Subject(file, r, name, space, at, rules, kept, _extents(r, nest, at), moved)


def _extents(r: CompiledRegion, nest: Nest, chooser: Chooser) -> dict[str, int]:
    found: dict[str, int] = {}
    for w in Ledger(r, chooser.device).work:
        if w.statement.name in r.grids[nest.kernel].statements:
            names = dict(zip(w.indices, w.statement.iterators, strict=True))
            for loop in loops_in(w.instances):
                low, high = (uniform(e, chooser.sizes) for e in (loop.lower, loop.upper))
                if low is not None and high is not None:
                    found[names[loop.index]] = len(range(low, high, loop.step))
    return found
