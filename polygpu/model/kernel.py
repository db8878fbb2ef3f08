"""Kernel IR: what every dialect prints. One grammar, three printers' tables.

    unit      ::= region*                              one device file
    region    ::= buffers, kernels, host statement*    becomes void polygpu_<function>_<n>(...)
    host      ::= HostFor | HostIf | Launch
    kernel    ::= arguments, block shape, shared arrays, statement*
    statement ::= Declare | DeclareArray | Assign | Move | For | If | While | Barrier
                | CommitCopies | WaitCopies | Comment

A statement runs for every thread of a block. `uniform` marks control whose bounds or test are equal in
all threads of a block; barriers stand only under uniform control. Names are plain: locals, scalar
arguments, iterators, and the built-ins `thread_x|y|z` and `block_x|y|z` (int).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from polygpu.model.expr import Expr, Name, Position, Reference
from polygpu.model.scop import Structure
from polygpu.support.dataclass import dataclass

ArraySpace: TypeAlias = Literal["global", "constant", "texture"]

BUILT_IN = frozenset(f"{kind}_{axis}" for kind in ("thread", "block") for axis in "xyz")


@dataclass(frozen=True, slots=True)
class Origin:
    """A claim, checked by `verify`: this is action number `action` of an instance of a source statement.

    Actions of a body are numbered from 0, those of branches not counted. `arguments` are the instance's
    iterators in terms of names that hold here, which need not occur in the code. Where `inside` does not
    hold, nothing is claimed, and what is computed is garbage. Nothing is printed.
    """

    statement: str
    action: int
    arguments: tuple[Expr, ...]
    inside: Expr | None = None


@dataclass(frozen=True, slots=True)
class Declare:
    """`const type name = value;` or, when `mutable`, a local that Assign changes."""

    name: str
    type: str
    value: Expr | None
    mutable: bool = False
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class DeclareArray:
    """A private array of each thread: registers once loops over it are unrolled. Extents are constants."""

    name: str
    type: str
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`: a store (Reference) or the change of a mutable local (Name)."""

    target: Reference | Name
    value: Expr
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Copies `width` elements, consecutive in the last dimension on both sides.

    The source is aligned to `width` elements when it is not private, likewise the target. An
    `asynchronous` move (global to shared) completes at a WaitCopies; the others at once.
    """

    target: Reference
    source: Reference
    width: int
    asynchronous: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """`for (int index = lower; index < upper; index += step)`, step > 0; `unroll` fully when True.

    With `fragments`, a policy of tensor cores, a warp runs it together: see `model.fragments`. What is its
    `opposite` counts down in the source.
    """

    index: str
    lower: Expr
    upper: Expr
    step: int
    body: tuple[Statement, ...]
    uniform: bool
    unroll: bool = False
    fragments: str = ""
    opposite: str = ""


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    uniform: bool
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class While:
    """`while (test) body` of one thread, as long as its data say: no barrier stands in it."""

    test: Expr
    body: tuple[Statement, ...]
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block, all its memory spaces."""


@dataclass(frozen=True, slots=True)
class CommitCopies:
    """Closes a group of asynchronous moves."""


@dataclass(frozen=True, slots=True)
class WaitCopies:
    """Waits until at most `pending` groups of the thread's asynchronous moves are unfinished."""

    pending: int


@dataclass(frozen=True, slots=True)
class Comment:
    text: str


Statement: TypeAlias = (
    Declare | DeclareArray | Assign | Move | For | If | While | Barrier | CommitCopies | WaitCopies | Comment
)


@dataclass(frozen=True, slots=True)
class SharedArray:
    """`type name[e0]...[en + padding]` in shared memory, aligned to `alignment` bytes."""

    name: str
    type: str
    extents: tuple[int, ...]
    padding: int = 0
    alignment: int = 4


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """A global array of the kernel. Layout: row major, rows of the last dimension pitched.

    `extents` are expressions over the kernel's scalar arguments (None: the outermost, not needed for
    addresses). With two or more dimensions the row pitch is the scalar argument `pitch` (elements), or a
    constant. `origin` is subtracted from each subscript before addressing. `space` is how the kernel gets
    at it: device memory itself, or, where it only reads, the constant or the texture cache. Constant arrays
    have constant sizes and are written nowhere in the region.
    """

    name: str
    type: str
    extents: tuple[Expr | None, ...]
    pitch: Expr | None
    read: bool
    written: bool
    structure: Structure | None = None
    origin: tuple[Expr, ...] = ()
    space: ArraySpace = "global"


@dataclass(frozen=True, slots=True)
class Site:
    """A source access as the counters and reports name it."""

    number: int
    array: str
    text: str
    write: bool
    position: Position


@dataclass(frozen=True, slots=True)
class Kernel:
    """`block` is (x, y, z) threads. `comment` holds source lines and mapping, one string a line.

    A loop of the host may be one launch, where the device can, if all kernels launched in it are `joined`:
    see `Region.joined`.
    """

    name: str
    comment: tuple[str, ...]
    scalars: tuple[ScalarArgument, ...]
    arrays: tuple[ArrayArgument, ...]
    block: tuple[int, int, int]
    shared: tuple[SharedArray, ...]
    body: tuple[Statement, ...]
    registers: int = 0  # a thread's, as a decision says; 0: estimated
    joined: bool = False


@dataclass(frozen=True, slots=True)
class HostFor:
    """`for (int index = lower; index < upper; index += step)` on the host, step > 0."""

    index: str
    lower: Expr
    upper: Expr
    step: int
    body: tuple[HostStatement, ...]


@dataclass(frozen=True, slots=True)
class HostIf:
    test: Expr
    body: tuple[HostStatement, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """Runs `kernel` on grid (x, y, z) blocks; nothing when one of them is <= 0.

    `scalars` has one host expression for each of the kernel's scalar arguments. Where a grid is larger
    than the device allows, the launcher loops over chunks and passes the chunk's origin, which the
    dialect adds to block_x|y|z.
    """

    kernel: str
    grid: tuple[Expr, Expr, Expr]
    scalars: tuple[Expr, ...]


HostStatement: TypeAlias = HostFor | HostIf | Launch


PART_BARRIERS = 15  # of parts of a block: what the hardware has, but for that of the whole block


@dataclass(frozen=True, slots=True)
class Part:
    """How blocks that are one launch run those of a kernel: `number` at a time, each by so many `threads`.

    Each has so many `bytes` of shared memory; `meets` is whether its threads wait for each other, `is_whole`
    whether they are all of a block that is launched.
    """

    kernel: str
    threads: int
    number: int
    bytes: int
    meets: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """A `loop` of the host whose launches are one, of the kernel `name` in blocks of so many `threads`.

        before:  for (k = 0; k < n; ++k) { f<<<grid, block>>>(k); g<<<other grid, other block>>>(k); }
        after:   for (k = 0; k < n; ++k) { blocks of f(k); all blocks meet; blocks of g(k); all blocks meet; }

    Its blocks have parts, of as many threads as a block of the launch that they are at: part p of block b
    runs block b + p * gridDim.x of the launch, and so on, by turns. The threads of a part meet by
    themselves, at a barrier and in shared memory of their own; all blocks meet where a launch ends.

    `meet` says of each launch in the loop's text whether all blocks wait for its end. What `changes` are the
    arrays that are not read through caches that see no stores.
    """

    name: str
    loop: HostFor
    parts: tuple[Part, ...]
    threads: int
    meet: tuple[bool, ...]
    changes: frozenset[str]

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(part.kernel for part in self.parts)

    @property
    def bytes(self) -> int:
        """Of shared memory of a block."""
        return max(part.number * part.bytes for part in self.parts)

    def part(self, kernel: str) -> Part:
        return next(part for part in self.parts if part.kernel == kernel)


@dataclass(frozen=True, slots=True)
class Span:
    """Columns `first` up to but not including `end` of the rows for which `test` holds, None for all."""

    first: Expr
    end: Expr
    test: Expr | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the host that pointers lead to. `counters` are the subscripts that find one, in `touched` and
    `written`, which say what the region may touch of it, and write; nothing is written where that is None.
    """

    counters: tuple[str, ...]
    touched: Span
    written: Span | None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A device array of the region.

    `extents` are host expressions (long long); the device copy has `pitch` elements a row when it has two
    or more dimensions. `host` is False for the compiler's own temporaries. The element with all
    subscripts equal to `origin` is the first of the device copy. Host rows are `host_extents` long. Copies
    between host and device end with the element `last`, if it is given: the caller's memory may end there.

    Where the host has `rows` behind pointers, it packs what lies within `extents` of them, and passes that.
    It may pass NULL for an `optional` one, of which then nothing is touched, whatever bounds say.
    """

    name: str
    type: str
    extents: tuple[Expr, ...]
    host_extents: tuple[Expr | None, ...]
    origin: tuple[Expr, ...]
    pitch: Expr | None
    host: bool
    copy_in: bool
    copy_out: bool
    structure: Structure | None = None
    last: tuple[Expr, ...] = ()
    rows: Rows | None = None
    optional: bool = False

    @property
    def host_origin(self) -> tuple[Expr, ...]:
        """The subscripts of the element in what the host passes with which the device copy begins."""
        return () if self.rows else self.origin


@dataclass(frozen=True, slots=True)
class Region:
    """One device function: `void name(scalars..., buffers...)`, scalars first, host buffers in order.

    Loops of `body` that are `joined` are one launch where the device's language can say so.
    `sized` are scalars of type int for which values beyond LARGEST_SIZE are not ruled out by tests of the
    host file: the function ends the program there.
    """

    name: str
    scalars: tuple[ScalarArgument, ...]
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    body: tuple[HostStatement, ...]
    sites: tuple[Site, ...]
    functions: tuple[str, ...] = ()
    position: Position | None = None
    sized: tuple[str, ...] = ()
    joined: tuple[Joined, ...] = ()

    @property
    def integers(self) -> tuple[ScalarArgument, ...]:
        """The scalars that bounds, subscripts and grids can depend on."""
        return tuple(s for s in self.scalars if s.type not in ("float", "double"))


@dataclass(frozen=True, slots=True)
class Unit:
    """All regions of one source file, for one device.

    `scopes`: whether its host file says what happens to arrays that stay on the device between calls of
    regions. Those that are `kept` find them there. It `maps` some as pragmas say.
    """

    source: str
    stem: str
    regions: tuple[Region, ...]
    scopes: bool = False
    kept: frozenset[str] = frozenset()
    maps: bool = False


def packs(unit: Unit) -> bool:
    """Whether its host file packs rows behind pointers."""
    return any(buffer.rows for region in unit.regions for buffer in region.buffers)
