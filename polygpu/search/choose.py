"""The model's choice for each nest: rules propose a few, the cheapest is taken.

Nests that persons decide on are left as they are. Of a region, those with the most loops around their
statements are looked at first: they take the time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from math import inf, log2
from random import Random
from typing import TypeAlias

from polygpu.lower.points import extent_of
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.program import Grid
from polygpu.mapping.rules import is_rectangular, is_sure
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.effort import Patience
from polygpu.perf.launches import fewest
from polygpu.search.courses import courses
from polygpu.search.found import Effort, Found, Looked, faster
from polygpu.search.fusions import fusions
from polygpu.search.price import Price, alone, price
from polygpu.search.proposals import Changes, launches_differ, overlapping, shaped, staged
from polygpu.search.space import Nest, Space, is_taken, nests_of
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.isl_idioms import D
from polygpu.support.recent import parts

BRIEF = Patience(2**10, 2**4, 2 * 10**5, 4, 2**23)  # tens of milliseconds
LEFT = 930_000  # microseconds of effort that a region may take
_CHOSEN = frozenset({"order", "tile", "threads", "deal", "stage", "buffer", "wide", "unroll"})
_POINTS = 16  # of a thread: nests whose blocks or launches differ, which take longer, are priced at sizes
# at which so many keep a chip busy
_LONGER = 2  # times those, where the first blocks count less than all that follow
_WHILE = 4  # times as many, which differ from more in nothing but how many they are
_ROUGH, _FAR = 4, 1.5  # iterations of loops that are looked at first, and how far off they are at most
_SMALLER, _SMALL, _LOSS, _SURE = 4, 256, 1.03, 0.6
_SPARE = 0.4  # of that effort, for nests less deep
_NESTS, _FEW = 3, 2  # of a region, none of them alike; where launches differ only few
MANY = 1000  # choices of a nest


def choose(
    r: CompiledRegion,
    realiser: Realiser,
    decisions: tuple[Decision, ...],
    stated: Mapping[str, int],
    thorough: bool = False,
    seen: dict[Hashable, Found] | None = None,
) -> tuple[Decision, ...]:
    """What the model prefers for a region at typical sizes, some of them `stated`: among a few choices, or
    among a thousand for each nest. Nothing on a device whose model is not calibrated.

    Of nests like one that was `seen` in another region, only what was best for that is looked at.
    """
    if not realiser.device.calibrated or not any(_free(r, realiser.device)):
        return ()
    sizes = typical(Ledger(r, realiser.device), stated)
    drawn, left = (MANY, inf) if thorough else (0, LEFT)
    seen = {} if thorough or seen is None else seen
    quick = Chooser(realiser, sizes, decisions, drawn, Effort(left), tested=False, seen=seen)
    found = quick.chosen(r)
    return (
        found
        if quick.fits(()) and quick.fits(found)
        else replace(quick, effort=Effort(left), tested=True, seen={}).chosen(r)
    )


def _free(r: CompiledRegion, device: Device) -> Iterator[Nest]:
    """The nests with parallel loops for which persons have decided nothing that is chosen here, and of which
    rules are not sure; of those with one such loop only where a thread has loops, or threads share what is
    staged or could, since there is little to choose of others.
    """
    known = {s.name for s in r.polyhedra.scop.statements}
    for nest in nests_of(r):
        names = r.grids[nest.kernel].statements
        if r.prepared.tiled and not known & {r.polyhedra.statement(s).whole or s for s in names}:
            continue  # it only copies what tiles of time left
        sure = not nest.policy and is_sure(r.grids[nest.kernel], device)
        open_ = not (_decided_by_persons(r, nest) or sure)
        shared = nest.taken["stage"].names or (device.rule != "sector" and overlapping(r, nest) != ())
        if (nest.depth > 1 or nest.loops or shared) and open_:
            yield nest


_NOTHING = Found()
Chosen: TypeAlias = tuple[Nest, Found]


@dataclass(frozen=True)
class Chooser:
    """Chooses for the nests of a region at the `sizes` of a typical call, beside its other `decisions`.

    After the few choices that rules propose, `drawn` ones are looked at, as long as there is `effort` left.
    Unless `tested`, int is taken to hold what their kernels compute: finding out takes longer than pricing.
    Nests of other regions were `seen` before, by their shapes.
    """

    realiser: Realiser
    sizes: Mapping[str, int]
    decisions: tuple[Decision, ...]
    drawn: int = 0
    effort: Effort = field(default_factory=Effort)
    tested: bool = True
    seen: dict[Hashable, Found] = field(default_factory=dict)

    @property
    def device(self) -> Device:
        return self.realiser.device

    @property
    def _busy(self) -> int:
        """The power of two whose square is as many points as the device can hold, `_POINTS` a thread."""
        threads = self.device.multiprocessors * self.device.threads_per_multiprocessor
        return 1 << int(log2(threads * _POINTS) / 2)

    def stand_in(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes are looked at in the place of larger ones."""
        return any(size < self.sizes.get(name, 0) for name, size in sizes.items())

    def chosen(self, r: CompiledRegion) -> tuple[Decision, ...]:
        """Which kernels there are, where that gains, and what is decided for the nests of each."""
        self.effort.known.update(parts(k, "name") for k in r.region.kernels)
        kernels, nests = replace(self, drawn=0)._kernels(r)
        if self.drawn:
            other = self._beside(kernels)
            made = other._made(())
            nests = _taken(other._of_nests(made)) if made is not None else nests
        return (*kernels, *nests)

    def fits(self, found: tuple[Decision, ...]) -> bool:
        """Whether the region has the order of its schedule with what was `found`, tested or not."""
        try:
            made = [
                self.realiser.realise((*found, *self.decisions), tested=tested) for tested in (True, False)
            ]
        except Diagnosed:
            return False
        return made[0].prepared is made[1].prepared

    def _kernels(self, r: CompiledRegion) -> tuple[tuple[Decision, ...], tuple[Decision, ...]]:
        """Decisions about kernels, and those for their nests."""
        best: tuple[Decision, ...] = ()
        share, now = 1 - self.device.margin, None
        taken = known = self._of_nests(r)
        for decision, grids in fusions(r, self.device.rule):
            other = self._beside((decision,))
            made = other._made(()) if self._may_gain(r, grids, known) else None
            if made is None or not self._gains(r, made, share):
                continue
            found = other._of_nests(made, known)
            now, then = now or self._made(_taken(known)), other._made(_taken(found))
            if now is not None and then is not None and self._is_less(then, now, share if not best else 1):
                best, taken, now = (decision,), found, then
        chosen = self._beside(best)
        made = chosen._made(())
        others = chosen._of_others(made, taken) if made is not None else ()
        return best, _taken((*taken, *others))

    def _is_less(self, a: CompiledRegion, b: CompiledRegion, share: float) -> bool:
        """Whether the kernels that only `a` has take less than a `share` of those that only `b` has."""
        before = self._sum(b, _unlike(b, a))
        return before < inf and self._sum(a, _unlike(a, b), share * before) < share * before

    def _beside(self, more: tuple[Decision, ...]) -> Chooser:
        """That for the region with more decisions."""
        return replace(self, decisions=(*more, *self.decisions))

    def _may_gain(self, r: CompiledRegion, grids: Sequence[Grid], known: Sequence[Chosen]) -> bool:
        """Whether it would be enough if the kernels of these grids took no time: all together take as long as
        the nests do whose choices are `known`, at least. And whether enough effort is left to look at others;
        blocks that differ, looked at at sizes that just keep the device busy, are too much at larger ones.
        """
        all_take = sum(found.seconds for _, found in known if found.seconds < inf)
        mine = [k for k, g in enumerate(r.grids) if any(g is one for one in grids)]
        differing = [(n, f) for n, f in known if n.kernel in mine and not launches_differ(r, n)]
        if any(self._just_busy(found.sizes or {}) for _, found in differing):
            return False
        left = self.effort.left
        seconds = self._sum(r, mine)
        return self.effort.left >= left / 2 and self.device.margin * all_take < seconds < inf

    def _just_busy(self, sizes: Mapping[str, int]) -> bool:
        most = _LONGER * self._busy
        return any(size <= most < self.sizes.get(name, 0) for name, size in sizes.items())

    def _gains(self, r: CompiledRegion, made: CompiledRegion, share: float) -> bool:
        """Whether the kernels that only `made` has take a `share` at most of those that only `r` has."""
        before = self._sum(r, _others(r, made))
        return before < inf and self._sum(made, _others(made, r), share * before) <= share * before

    def _sum(self, r: CompiledRegion, kernels: list[int], limit: float = inf) -> float:
        """What kernels take together; those behind the limit are not looked at."""
        total = 0.0 if kernels and self.effort.left > 0 else inf
        for kernel in kernels:
            total = (
                total + self._seconds(r, kernel, self.sizes, limit - total)
                if total < inf and total <= limit
                else inf
            )
        return total

    def _of_nests(self, r: CompiledRegion, known: Sequence[Chosen] = ()) -> list[Chosen]:
        """For the deepest nests, which take the time; for others where those are too much to look at."""
        if self.drawn:
            return self._one_by_one(r, list(_free(r, self.device)), known)
        found: list[Chosen] = []
        for nests in _by_depth(r, _free(r, self.device)):
            found += self._one_by_one(r, nests, known)
            if any(one.won for _, one in found):
                break
        return found

    def _of_others(self, r: CompiledRegion, known: Sequence[Chosen]) -> Iterator[Chosen]:
        """For nests that nothing is known of, with some of the effort left. Not where launches differ:
        sizes that just keep a device busy say too little of larger ones, beside what is gained.
        """
        spare = replace(self.effort, left=min(self.effort.left, _SPARE * LEFT))
        places = {nest.place for nest, _ in known}
        free = [n for n in _free(r, self.device) if n.place not in places and not launches_differ(r, n)]
        for nests in _by_depth(r, free):
            yield from replace(self, effort=spare)._one_by_one(r, nests, known)

    def _one_by_one(self, r: CompiledRegion, nests: list[Nest], known: Sequence[Chosen]) -> list[Chosen]:
        """Those that are like none before are as many as are looked at in reasonable time."""
        most = _FEW if any(launches_differ(r, n) for n in nests) else _NESTS
        found: list[Chosen] = []
        for nest in nests:
            shape = _unnamed(nest), courses(r, nest, self.sizes)
            like = next((f for other, f in (*known, *found) if _alike(nest, other)), self.seen.get(shape))
            most -= like is None
            if not self.drawn and most < 0:
                continue
            found.append((nest, self._of_nest(r, nest, like)))
            if found[-1][1].won:
                self.seen.setdefault(shape, replace(found[-1][1], sizes=None))  # whose names are others'
        return found

    def _of_nest(self, r: CompiledRegion, nest: Nest, like: Found | None) -> Found:
        """The best of what is proposed; where it was found for a nest `like` this one, only that is tried."""
        if like is not None and not self.drawn and all(k < 0 for k in like.won):
            return Found(won=like.won)  # nothing would be tried
        at = self.looked_at(r, nest, like or _NOTHING)
        if (before := at.seconds) == inf:
            return Found()
        best = Found(seconds=(1 - self.device.margin) * before, most=at.most, sizes=at.sizes)
        for step, propose in enumerate((staged, shaped)):
            changes = list(propose(r, nest, best.changes, self.device))
            start, fastest = best, best
            for k in range(len(changes)) if like is None else like.won[step : step + 1]:
                found = self._tried(nest, start, changes, k, at, fastest.seconds)
                fastest = faster(fastest, found)
                at = replace(at, most=fewest(at.most, found.most))
            best = replace(fastest, won=(*fastest.won, -1)[: step + 1])
        for choice in self._drawn(nest):
            seconds = self._price(nest, choice, at, best.seconds).seconds
            best = min(best, replace(best, changes={}, decisions=choice, seconds=seconds), key=_time)
        sure = best.seconds < _SURE * before or self._is_robust(r, nest, best, at.sizes)
        return best if sure else Found(won=best.won, most=at.most, sizes=at.sizes)

    def _is_robust(self, r: CompiledRegion, nest: Nest, found: Found, sizes: Mapping[str, int]) -> bool:
        """Whether what is better at these sizes is hardly worse at a quarter of them, if that is no small
        problem: sizes are only typical.
        """
        made = self._made(found.decisions) if found.decisions else None
        small = {name: max(size // _SMALLER, 1) for name, size in sizes.items()}
        if made is None or max(small.values(), default=0) < _SMALL:
            return True
        limit = _LOSS * self._seconds(r, nest.kernel, small)
        return self._seconds(made, nest.kernel, small, limit) <= limit

    def _tried(
        self, nest: Nest, best: Found, changes: list[Changes], k: int, at: Looked, limit: float
    ) -> Found:
        """The k-th of the changes beside those that are best so far; seconds beyond the limit are not told
        exactly. What changes nothing takes as long as what rules choose.
        """
        if not 0 <= k < len(changes):
            return best
        both = {**best.changes, **changes[k]}
        decisions = _decisions(nest, both)
        if is_taken(nest, both):
            return Found(both, decisions, (*best.won, k), inf, at.most, at.sizes)
        made = self._price(nest, decisions, at, limit)
        return Found(both, decisions, (*best.won, k), made.seconds, made.most, at.sizes)

    def proposed(self, r: CompiledRegion, nest: Nest) -> Iterator[tuple[Decision, ...]]:
        """What rules propose for a nest, one by one."""
        for propose in (staged, shaped):
            for change in propose(r, nest, {}, self.device):
                yield _decisions(nest, change)

    def _drawn(self, nest: Nest) -> Iterator[tuple[Decision, ...]]:
        """Some of all choices there are, the same ones each time."""
        space = Space(nest, self.device)
        for number in islice(space.drawn(Random(0)), self.drawn):
            if not space.why_not(space[number]):
                yield space[number].decisions(nest)

    def looked_at(self, r: CompiledRegion, nest: Nest, like: Found = _NOTHING) -> Looked:
        """The sizes, or smaller ones at which a kernel is soon looked at, and its seconds; inf for none. No
        more is looked at than for one that is alike.

        Blocks of nests that are no boxes differ, and launches of loops: there are fewer of them at sizes that
        keep the device busy for a moment. Of one axis no more is needed than keeps it so for a while.
        """
        busy = self._busy
        sizes = {name: min(size, _WHILE * busy**2) for name, size in (like.sizes or self.sizes).items()}
        grid = r.grids[nest.kernel]
        if launches_differ(r, nest) or extent_of(grid).corner_test is not None or not is_rectangular(grid):
            sizes = {name: min(size, _LONGER * busy) for name, size in sizes.items()}
        while (found := self._priced(r, nest.kernel, sizes, like.most)).seconds == inf:
            if max(sizes.values(), default=0) <= busy or self.effort.left <= 0:
                break
            sizes = {name: min(size, max(busy, size // 2)) for name, size in sizes.items()}
        return Looked(sizes, found.seconds, found.most)

    def _price(self, nest: Nest, more: tuple[Decision, ...], at: Looked, limit: float) -> Price:
        """The seconds of what takes far more than the limit in few iterations are those of these."""
        made = self._made(more)
        if made is None or not _has(made, nest):
            return Price(inf, 0, 0, self.device)
        if at.most is not None and at.most > _ROUGH:
            found = self._priced(made, nest.kernel, at.sizes, _ROUGH, _FAR * limit)
            if found.seconds > _FAR * limit:
                return replace(found, most=at.most)
        return self._priced(made, nest.kernel, at.sizes, at.most, limit)

    def _made(self, more: tuple[Decision, ...]) -> CompiledRegion | None:
        """The region with more decisions; None without effort left, or where it cannot be."""
        if self.effort.left <= 0:
            return None
        try:
            made = self.realiser.realise((*more, *self.decisions), tested=self.tested)
        except Diagnosed:  # refused, or isl finds no code for it
            self.effort.refused()
            return None
        self.effort.made(made.region.kernels)
        return made

    def _seconds(
        self, made: CompiledRegion, kernel: int, sizes: Mapping[str, int], limit: float = inf
    ) -> float:
        return self._priced(made, kernel, sizes, None, limit).seconds

    def _priced(
        self,
        made: CompiledRegion,
        kernel: int,
        sizes: Mapping[str, int],
        most: int | None = None,
        limit: float = inf,
    ) -> Price:
        code, at = made.region.kernels[kernel], (most, *sizes.items())
        asked = replace(code, name=""), alone(made.region, code.name, "").body, at
        known = self.effort.prices.get(asked)
        if known is None or (known.more and known.seconds <= limit):
            known = price(
                made, kernel, self.device, sizes, replace(BRIEF, most=most), limit, self.stand_in(sizes)
            )
            self.effort.priced(asked[0], at, known.looked_at)
            self.effort.prices[asked] = known
        return known


def _has(made: CompiledRegion, nest: Nest) -> bool:
    """Whether the nest's kernel is its kernel there too: the order of a choice may give way to another."""
    taken = made.taken_of(nest.kernel) if nest.kernel < len(made.grids) else ()
    return any(t.decision.key == "order" and t.decision.place == nest.place for t in taken)


def _taken(chosen: Iterable[Chosen]) -> tuple[Decision, ...]:
    return tuple(d for _, found in chosen for d in found.decisions)


def _others(a: CompiledRegion, b: CompiledRegion) -> list[int]:
    """The kernels of `a` with statements that are not together in one of `b`."""
    together = {tuple(g.statements) for g in b.grids}
    return [k for k, g in enumerate(a.grids) if tuple(g.statements) not in together]


def _unlike(a: CompiledRegion, b: CompiledRegion) -> list[int]:
    """The kernels of `a` that `b` has not, or launches in another way."""
    its = {_launched(b, k) for k in range(len(b.grids))}
    return [k for k in range(len(a.grids)) if _launched(a, k) not in its]


def _launched(r: CompiledRegion, kernel: int) -> Hashable:
    """A kernel's code and launches, whatever its name is."""
    code = r.region.kernels[kernel]
    return parts(code, "name"), alone(r.region, code.name, "").body


def _decisions(nest: Nest, changes: Changes) -> tuple[Decision, ...]:
    return tuple(Decision(key, items, nest.place) for key, items in changes.items())


def _decided_by_persons(r: CompiledRegion, nest: Nest) -> bool:
    return any(t.by == "person" and t.decision.key in _CHOSEN for t in r.taken[nest.kernel])


def _time(found: Found) -> float:
    return found.seconds


def _alike(a: Nest, b: Nest) -> bool:
    """Whether what rules choose for nests differs in names only."""
    return _unnamed(a) == _unnamed(b)


def _unnamed(nest: Nest) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((key, tuple(str(v) for _, v in d.items)) for key, d in nest.taken.items() if key in _CHOSEN)


def _by_depth(r: CompiledRegion, nests: Iterable[Nest]) -> Iterator[list[Nest]]:
    """The deepest nests, and so on."""
    depths: dict[int, list[Nest]] = {}
    for nest in nests:
        depths.setdefault(_depth(r, nest), []).append(nest)
    for depth in sorted(depths, reverse=True):
        yield depths[depth]


def _depth(r: CompiledRegion, nest: Nest) -> int:
    """Loops around the nest's deepest statement."""
    grid = r.grids[nest.kernel]
    return max(grid.p.statement(s).domain.dim(D.set) for s in grid.statements)
