"""Dataflow through shared and private arrays: where the value of each read was computed or loaded."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache, reduce

import islpy as isl

from polygpu.model.rewrite import exclusive
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, in_order
from polygpu.support.recent import Same
from polygpu.verify.affine import UNIVERSE
from polygpu.verify.events import THREADS, Do, Path, Place, anywhere, executions, relation, tuples
from polygpu.verify.last import is_doubtful, last_writes, subtracted
from polygpu.verify.order import BLOCK, THREAD, Frame, equal
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace

_RECENT = 256  # times


@dataclass(frozen=True, eq=False)
class Origin:
    """A value that executions of some action read was made by action `by`: `pairs` says by which execution.

    `by` carries out a source action or combines values, or else loads `loaded` from global memory.
    """

    by: Do
    pairs: isl.Map
    loaded: Place | None


@dataclass(frozen=True, eq=False)
class Origins:
    found: tuple[Origin, ...]
    unknown: isl.Set  # executions that read what nobody wrote, or a constant


@dataclass
class Locals:
    """The dataflow of one launch. Executions are tuples of threads and loops, in frame BLOCK."""

    trace: Trace
    cache: dict[tuple[int, int, bool], Origins] = field(default_factory=dict)
    direct: list[tuple[Do, Do, isl.Map]] = field(default_factory=list)  # reader, writer, pairs of executions
    alike: dict[Hashable, list[tuple[Do, isl.Map]]] = field(default_factory=dict)
    by_array: dict[str, list[Do]] = field(default_factory=dict)
    asked: set[tuple[int, int, bool]] = field(default_factory=set)  # for origins that are not found yet

    def origins(self, action: Do, place: Place, implied: bool = False) -> Origins:
        """Where the values come from that `action` reads from `place`, or leaves there if it is `implied`.

        Raises UnanalysableError for copies that pass values on to themselves, from iteration to iteration.
        """
        key = (action.number, id(place), implied)
        if key in self.asked:
            raise UnanalysableError(f"copies of {place.array} pass values on from iteration to iteration")
        if key not in self.cache:
            self.asked.add(key)
            try:
                self.cache[key] = self._origins(action, place, implied)
            finally:
                self.asked.remove(key)
        return self.cache[key]

    def _origins(self, action: Do, place: Place, implied: bool) -> Origins:
        dims = BLOCK.dims(action.point)
        everywhere = executions(action.point, dims)
        if place.space == "global":
            nowhere = isl.Set.empty(everywhere.get_space())
            return Origins((Origin(action, everywhere.identity(), place),), nowhere)
        found: list[Origin] = []
        unknown = everywhere
        for writer, pairs in self.writers(action, place, implied):
            unknown = subtracted(unknown, pairs.domain())
            self.direct.append((action, writer, pairs))
            if writer.matched is not None or writer.combines:
                found.append(Origin(writer, pairs, None))
            elif not writer.reads:
                unknown = unknown.union(pairs.domain())
            else:
                earlier = self.origins(writer, writer.reads[0])
                unknown = unknown.union(pairs.intersect_range(earlier.unknown).domain())
                for o in earlier.found:
                    through = pairs.apply_range(o.pairs)
                    if not through.is_empty():
                        found.append(Origin(o.by, through, o.loaded))
        return Origins(tuple(found), coalesced(unknown))

    def of_use(self, action: Do, executions: isl.Set) -> isl.Set:
        """Without those that leave what they compute in a local array where nothing reads it.

        Threads compute such values for points of a tile that are no instances, where its loop has one value.
        """
        if action.target is None or action.target.space == "global":
            return executions
        read = isl.Set.empty(executions.get_space())
        for reader, place, implied in self._reads(action.target.array):
            if reader.fragment or place.index is None:
                return executions
            found = (pairs for w, pairs in self.writers(reader, place, implied) if w is action)
            read = reduce(isl.Set.union, (pairs.range() for pairs in found), read)
        return executions.intersect(read)

    def _reads(self, array: str) -> Iterator[tuple[Do, Place, bool]]:
        """The actions that read the array, where, and whether that is what they may leave there."""
        for a in self.trace.actions:
            leaves = a.matched.leaves if a.matched is not None else ()
            named = {id(x.place) for x in leaves}
            yield from ((a, r, False) for r in a.reads if r.array == array and id(r) not in named)
            yield from ((a, x.place, x.implied) for x in leaves if x.place.array == array)

    def writers(self, action: Do, place: Place, implied: bool = False) -> list[tuple[Do, isl.Map]]:
        """The last writer of what each execution reads, in frame BLOCK.

        Reads of one element in one piece of straight-line code, with no write of its array between them, have
        the same.
        """
        straight = action.matched is None or len(action.matched.number) == 1
        key = self._situation(action, place, implied) if straight and place.index is not None else None
        if key is None or key not in self.alike:
            found = list(self._writers(action, place, implied))
            if key is None:
                return found
            self.alike[key] = found
        return self.alike[key]

    def _situation(self, action: Do, place: Place, implied: bool) -> Hashable:
        """What decides, with the order of writes elsewhere, who wrote what the action reads."""
        point = action.point
        around, (here, _) = point.path[:-1], point.path[-1]
        depth = len(around)
        before = (
            w.number
            for w in self._writes(place.array)
            if len(w.point.path) > depth and w.point.path[:depth] == around and w.point.path[depth][0] < here
        )
        index = tuple(map(str, place.index or ()))
        return place.array, index, around, point.loops, Same(point.domain), tuple(before), implied

    def _writes(self, array: str) -> list[Do]:
        if not self.by_array:
            for a in self.trace.actions:
                if a.target is not None:
                    self.by_array.setdefault(a.target.array, []).append(a)
        return self.by_array.get(array, [])

    def _writers(self, action: Do, place: Place, implied: bool) -> Iterator[tuple[Do, isl.Map]]:
        frame = THREAD if place.space == "private" else BLOCK
        writes = self._writes(place.array)
        if place.index is None or any(w.target is None or w.target.index is None for w in writes):
            raise UnanalysableError(f"'{place.text}' has a subscript that depends on data")
        length = max(len(a.point.path) for a in (action, *writes))
        sink = relation(action.point, place.index, frame.dims(action.point))
        now = _time(action, frame, length, 0)
        earlier: dict[Do, isl.Map] = {}
        times = {w: _time(w, frame, length, 1) for w in writes}
        for w in writes:
            assert w.target is not None
            meet = sink.apply_range(_written(w, w.target, frame).reverse())
            meet = meet.intersect(in_order(times[w], now).reverse())
            if not implied and (other := _in_other_branch(w, action)) is not None:
                meet = meet.subtract(tuples(other, frame.dims(action.point)).identity())
            if not meet.is_empty():
                earlier[w] = meet
        for w, pairs in last_writes(_in_nearest_turn(earlier, action, frame), times).items():
            yield w, lifted(pairs, THREADS) if frame is THREAD else pairs


def _in_nearest_turn(earlier: dict[Do, isl.Map], action: Do, frame: Frame) -> dict[Do, isl.Map]:
    """Those of the writes `earlier` than reads of `action` that are in the same turn of the loops around all
    of them, as many of these as leave each read a write: the last one is among them, since all of a turn are
    later than those of the turns before. Of copies that a loop makes again in each turn few are left so.
    One write by itself is looked at so where the last of its executions would take long.
    """
    if len(earlier) < 2 and not any(map(is_doubtful, earlier.values())):
        return earlier
    read = reduce(isl.Set.union, (pairs.domain() for pairs in earlier.values()))
    around = _common([action.point.path, *(w.point.path for w in earlier)])
    for count in range(len(around), 0, -1):
        near: dict[Do, isl.Map] = {}
        for w, pairs in earlier.items():
            same = equal(pairs, around[:count], frame.dims(action.point), frame.dims(w.point))
            near |= {w: same} if not same.is_empty() else {}
        covered = reduce(isl.Set.union, (p.domain() for p in near.values()), isl.Set.empty(read.get_space()))
        if read.is_subset(covered):
            return near
    return earlier


def _common(paths: Sequence[Path]) -> tuple[str, ...]:
    """The loops around everything that is at one of the paths, outermost first."""
    found: list[str] = []
    for steps in zip(*paths, strict=False):
        if len({*steps}) > 1 or not steps[0][1]:
            break
        found.append(steps[0][1])
    return tuple(found)


def _in_other_branch(one: Do, other: Do) -> isl.Set | None:
    """Where two actions are of one instance of the source, which executes one or the other."""
    a, b = one.matched, other.matched
    if a is None or b is None or a.statement != b.statement or one.point.loops != other.point.loops:
        return None
    if not exclusive(a.number, b.number):
        return None
    same = (x.eq_set(y) for x, y in zip(a.arguments, b.arguments, strict=True))
    return reduce(isl.Set.intersect, same, isl.Set(UNIVERSE))


def _written(w: Do, target: Place, frame: Frame) -> isl.Map:
    dims = frame.dims(w.point)
    return relation(w.point, target.index, dims) if target.index else anywhere(w.point, dims, 0)


def _time(a: Do, frame: Frame, length: int, last: int) -> isl.Map:
    """2d+1 time of an action's read (0) or write (1); the threads do not matter: they do not race."""
    dims = frame.dims(a.point)
    entries: list[str] = []
    for position, loop in a.point.path + ((0, ""),) * (length - len(a.point.path)):
        entries += [str(position), loop or "0"]
    return _read(f"{{ [{', '.join(dims)}] -> [{', '.join((*entries, str(last)))}] }}")


@lru_cache(_RECENT)
def _read(text: str) -> isl.Map:
    return isl.Map(text)


def lifted(pairs: isl.Map, names: tuple[str, ...]) -> isl.Map:
    """`pairs` with the parameters `names` as leading dimensions, equal on both sides."""
    there = f"[{', '.join(names)}]"
    found = isl.Map(f"{there} -> {{ {there} -> {there} }}").flat_product(pairs)
    for name in names:
        found = found.project_out(D.param, found.find_dim_by_name(D.param, name), 1)
    return found
