"""What a generated region does, as events: one for each memory access of each action of a kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygpu.model.expr import Expr, Reference
from polygpu.model.scop import Number
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, identifier, parameters
from polygpu.verify.affine import UNIVERSE, variable

Path: TypeAlias = tuple[tuple[int, str], ...]
"""From the root to a statement: its position in each sequence, and the loop's variable ("" for no loop)."""

_RECENT = 256  # spaces

# indices of the device: no parameter of the program gets such a name from `isl_name`
BLOCKS = ("b0__", "b1__", "b2__")
THREADS = ("t0__", "t1__", "t2__")


@dataclass(frozen=True)
class Launched:
    """One launch statement of the host program; `loops` are the variables of the host loops around it.

    `scalars` are variables that hold arguments of the launch whose values have several cases.
    """

    number: int
    kernel: str
    path: Path
    loops: tuple[str, ...]
    scalars: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.loops, *self.scalars)


@dataclass(frozen=True)
class Point:
    """A place in a kernel: executed for each value of `dims` in `domain`."""

    launch: Launched
    path: Path
    loops: tuple[str, ...]
    domain: isl.Set

    @property
    def dims(self) -> tuple[str, ...]:
        return (*self.launch.names, *BLOCKS, *THREADS, *self.loops)


@dataclass(frozen=True, eq=False)
class Place:
    """An array element: `index` is None where it depends on data, then any element is meant that has the
    subscripts which are known `partly`.

    `space` is "global", "shared" or "private"; locals are private arrays without dimensions.
    `type` is the one it was declared with.
    """

    array: str
    space: str
    index: tuple[isl.PwAff, ...] | None
    text: str = ""
    type: str = ""
    partly: tuple[isl.PwAff | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Leaf:
    """A read of an instance: where the kernel reads, and what the source reads there.

    `source` is the source's reference, or the name of a local of the instance; `element` the subscripts
    of the reference, None where they depend on data.
    """

    place: Place
    source: Reference | str
    element: tuple[isl.PwAff, ...] | None
    implied: bool = False


@dataclass(frozen=True, eq=False)
class Matched:
    """The source action that an action of the kernel carries out, as proved from its expressions.

    `inside` is where the instance is one of the statement's domain, `claimed` where the kernel says it
    carries out anything. `element` belongs to `target`.
    """

    statement: str
    number: Number
    arguments: tuple[isl.PwAff, ...]
    leaves: tuple[Leaf, ...]
    inside: isl.Set
    claimed: isl.Set
    element: tuple[isl.PwAff, ...] | None


@dataclass(frozen=True, eq=False)
class Do:
    """An action of the kernel at `point`: it reads `reads`, then writes `target`.

    Without `matched` it is a copy of its only read, with no reads it stores a `constant` or else garbage, and
    with two it `combines` them by an operator. `commits` is the number of groups of asynchronous copies the
    thread has closed before it, when that can be counted. A move of `width` elements at once has the number
    of an element as its last loop. What a `fragment` of a policy reads other threads load.
    """

    number: int
    point: Point
    target: Place | None
    reads: tuple[Place, ...]
    matched: Matched | None = None
    asynchronous: bool = False
    commits: isl.PwAff | None = None
    width: int = 1
    combines: str = ""
    constant: Expr | None = None
    fragment: str = ""

    def leaf(self, place: Place) -> Leaf | None:
        """The read of an instance that `place`, one of `reads`, is; None where it is none of the source's."""
        if self.matched is None:
            return None
        return next((x for x in self.matched.leaves if x.place is place), None)


@dataclass(frozen=True, eq=False)
class Sync:
    """A barrier, or with `pending` >= 0 a wait for asynchronous copies."""

    point: Point
    pending: int = -1
    commits: isl.PwAff | None = None


def relation(point: Point, values: tuple[isl.PwAff, ...], dims: tuple[str, ...], name: str = "") -> isl.Map:
    """Executions of `point`, as a tuple of `dims`, to `values`."""
    found = isl.Map("{ [] -> [] }")
    for value in values:
        found = found.flat_range_product(isl.Map.from_pw_aff(value))
    found = found.intersect_domain(point.domain)
    found = _moved(found, dims)
    return found.set_tuple_name(D.out, name) if name else found


def executions(point: Point, dims: tuple[str, ...], condition: isl.Set | None = None) -> isl.Set:
    """Where `point` is executed, as tuples of `dims`."""
    domain = point.domain if condition is None else point.domain.intersect(condition)
    return _moved(isl.Map.from_domain(domain), dims).domain()


def tuples(condition: isl.Set, dims: tuple[str, ...]) -> isl.Set:
    """Where a condition on variables holds, as tuples of `dims`."""
    return _moved(isl.Map.from_domain(condition), dims).domain()


def anywhere(point: Point, dims: tuple[str, ...], rank: int) -> isl.Map:
    """Executions of `point` to every element of an array with `rank` dimensions."""
    everything = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, rank))
    return isl.Map.from_domain_and_range(executions(point, dims), everything)


def somewhere(point: Point, dims: tuple[str, ...], index: tuple[isl.PwAff | None, ...]) -> isl.Map:
    """Executions of `point` to the elements with an `index` that is not known as a whole."""
    found = relation(point, tuple(i for i in index if i is not None), dims)
    for k, i in enumerate(index):
        found = found.insert_dims(D.out, k, 1) if i is None else found
    return found


def _moved(found: isl.Map, dims: tuple[str, ...]) -> isl.Map:
    """With those parameters as dimensions, which are behind the others for that."""
    others = tuple([name for name in parameters(found) if name not in dims])
    found = found.align_params(_ordered((*others, *dims)))
    return found.move_dims(D.in_, 0, D.param, len(others), len(dims))


@lru_cache(_RECENT)
def _ordered(names: tuple[str, ...]) -> isl.Space:
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(names))
    for k, name in enumerate(names):
        space = space.set_dim_id(D.param, k, identifier(name))
    return space


def box(sizes: tuple[int, int, int]) -> isl.Set:
    """Thread indices of a block."""
    found = isl.Set(UNIVERSE)
    for name, size in zip(THREADS, sizes, strict=True):
        found = found.intersect(_below(name, size))
    return found


def _below(name: str, size: int) -> isl.Set:
    value = variable(name)
    zero = isl.PwAff("{ [] -> [(0)] }")
    return zero.le_set(value).intersect(value.lt_set(isl.PwAff(f"{{ [] -> [({size})] }}")))
