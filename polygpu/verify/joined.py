"""Loops of the host that are one launch: its blocks run each block of each launch just once, and what they
leave in memory is what launches that follow each other leave.

What blocks of each launch do is looked at as that of a launch by itself. Here it is about how they are dealt
to parts of the blocks that run, where these meet, and what they may have in shared memory and in caches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias

from polygpu.model.expr import SIZES
from polygpu.model.kernel import (
    PART_BARRIERS,
    Barrier,
    HostFor,
    HostStatement,
    Joined,
    Kernel,
    Launch,
    Part,
    Region,
)
from polygpu.model.kernel_walk import statements
from polygpu.printing.uses import launches
from polygpu.verify.session import Session
from polygpu.verify.verdict import BARRIERS, DEPENDENCES, INSTANCES, VALUES, Failure

Problem: TypeAlias = tuple[str, str, str]  # of a property, of a kernel: a message
_LANES = 32  # that wait together at a barrier of some of a block's threads (PTX ISA, bar.sync)


def check_joined(session: Session) -> None:
    session.failures += joined_failures(session.region)


def joined_failures(region: Region) -> Iterator[Failure]:
    """What one launch would do otherwise than the launches of its loop."""
    kernels = {k.name: k for k in region.kernels}
    loops = [*_loops(region.body)]
    for j in region.joined:
        made = [*launches(j.loop.body)]
        problems = [*_dealt(j, made), *_ordered(j, made, kernels), *_cached(j, kernels)]
        problems += [problem for part in j.parts for problem in _part(j, part, kernels)]
        if j.loop not in loops:
            problems.append((INSTANCES, "", f"{j.name} runs a loop that the host does not have"))
        yield from (Failure(*problem) for problem in problems)


def _loops(body: Sequence[HostStatement]) -> Iterator[HostFor]:
    for s in body:
        if isinstance(s, HostFor):
            yield s
        if not isinstance(s, Launch):
            yield from _loops(s.body)


def _dealt(j: Joined, made: Sequence[Launch]) -> Iterator[Problem]:
    """Each launch has its blocks run by parts of one kind."""
    for name in dict.fromkeys(launch.kernel for launch in made):
        count = j.kernels.count(name)
        if count != 1:
            yield INSTANCES, name, f"{j.name} has {count} kinds of parts for its blocks"


def _part(j: Joined, part: Part, kernels: Mapping[str, Kernel]) -> Iterator[Problem]:
    """A part has the threads and the memory of a block, and waits where the next one would go on too soon."""
    name, kernel = part.kernel, kernels.get(part.kernel)
    if kernel is None or part.threads != prod(kernel.block):
        yield INSTANCES, name, f"its blocks have other threads than parts of {j.name}"
        return
    if part.number < 1 or part.number * part.threads > j.threads:
        yield INSTANCES, name, f"blocks of {j.name} have no room for {part.number} parts of {part.threads}"
    if part.bytes < _bytes(kernel):
        yield VALUES, name, f"parts of {j.name} share what is the memory of each"
    if not part.meets and (kernel.shared or any(isinstance(s, Barrier) for s in statements(kernel.body))):
        yield VALUES, name, f"parts of {j.name} begin a block before all threads have ended the last one"
    if part.is_whole != (part.threads == j.threads):
        yield BARRIERS, name, f"parts of {j.name} wait for threads that are none of theirs"
    if part.meets and not part.is_whole and (part.threads % _LANES or part.number > PART_BARRIERS):
        yield BARRIERS, name, f"{part.number} parts of {part.threads} threads cannot meet apart"


def _bytes(kernel: Kernel) -> int:
    """The shared memory of a block, each array aligned as it asks."""
    end = 0
    for a in kernel.shared:
        size, (*outer, last) = SIZES.get(a.type, 4), a.extents or (1,)
        end += -end % max(a.alignment, size) + prod(outer) * (last + a.padding) * size
    return end


def _ordered(j: Joined, made: Sequence[Launch], kernels: Mapping[str, Kernel]) -> Iterator[Problem]:
    """Behind a launch blocks wait for all others, or share nothing that changes with what they run then."""
    if len(j.meet) != len(made):
        yield DEPENDENCES, "", f"{j.name} meets {len(j.meet)} times behind {len(made)} launches"
        return
    for launch, meets in zip(made, j.meet, strict=True):
        others = () if meets else dict.fromkeys(other.kernel for other in made)
        for array, other in ((a, o) for o in others for a in _shared(kernels[launch.kernel], kernels[o])):
            what = f"{other} may begin before all its blocks in {j.name} have ended, and both use '{array}'"
            yield DEPENDENCES, launch.kernel, what


def _shared(one: Kernel, other: Kernel) -> Iterator[str]:
    """Arrays that one of two kernels writes and the other touches."""
    written = {a.name: a.written for a in one.arrays}
    return (a.name for a in other.arrays if a.name in written and (a.written or written[a.name]))


def _cached(j: Joined, kernels: Mapping[str, Kernel]) -> Iterator[Problem]:
    """What changes while the launch runs is not taken to stay as it is."""
    for name in j.kernels:
        for a in kernels[name].arrays if name in kernels else ():
            if a.written and a.name not in j.changes:
                yield VALUES, name, f"it writes '{a.name}', which {j.name} takes to stay as it is"
