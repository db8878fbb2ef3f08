"""What the front end lifts out of C: one static control part, in terms of the source.

    scop      ::= parameters, arrays, loops, statements, context, functions, source range
    statement ::= iterators, domain, schedule, body
    body      ::= action*
    action    ::= Store target = value | Let local = value | Branch test then else | Repeat test body

No isl here: domains and subscripts are expressions, which `analysis.polyhedra` turns into sets.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TypeAlias

from polygpu.model.expr import SIZES, Expr, Int, Position, Reference, limits
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic, respelled

# What kernels count, in int, is no larger than this: there is room for the rest of a tile. Sizes that are
# no larger than LARGEST_SIZE leave some for what is added to them.
COUNTED = 2**31 - 2**15
LARGEST_SIZE = 2**31 - 2**16
SHORT = 32  # of what is known: an extent that is less is a few of something, such as three colours
TYPICAL_EXTENTS = {1: 1 << 22, 2: 4096, 3: 256}  # of what is not known, by dimensions or loops


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar the region only reads (problem size or floating constant), passed by value.

    `host` is the C expression that yields it in the source where that is no variable of its name, and `value`
    what it is in terms of other scalars where it is made of these (`n * m`). Where branches have set it to
    one of several constants, it is `between` the least and the largest of these.
    """

    name: str
    type: str
    affine: bool  # used in a bound, a condition or a subscript: a polyhedral parameter
    host: str = ""
    value: Expr | None = None
    between: tuple[int, int] | None = None

    def nearest(self, value: int) -> int:
        """The possible value that is closest to this one."""
        return value if self.between is None else min(max(value, self.between[0]), self.between[1])

    @property
    def source(self) -> str:
        """The scalar in the source."""
        return self.host or self.name

    @property
    def passed(self) -> str:
        """The type it is passed with: indices of kernels are int, and so is what they are compared with.

        Unsigned arithmetic would make `n - 5 < i` true of n = 3. The host tests that the value fits.
        """
        return "int" if self.affine and not self.fits else self.type

    @property
    def fits(self) -> bool:
        """Whether any value is one of int's too."""
        others = ("long", "long long", "unsigned int", "unsigned long", "unsigned long long")
        return self.type not in others


@dataclass(frozen=True, slots=True)
class Given:
    """What the region calls `name` is at the lvalue `place` of the source's variable `root`.

    `kind` is "scalar", a `type`, or "pointer", of which the value is read, "array", "table" (of pointers to
    rows) or "place", which are used where they are, or "test", of a pointer for NULL; a "subscript" leads to
    others, and an "end" is at the pointer `type`, which is only compared. `declaration` is that of the root,
    an array as a pointer; `pointers` are those on the way, each with the subscript behind it.
    """

    name: str
    kind: str
    place: str
    root: str
    declaration: str
    pointers: tuple[tuple[str, str], ...]
    type: str = ""


@dataclass(frozen=True, slots=True)
class Exposed:
    """An object of which the region keeps a copy, and which stores through pointers may change.

    `address` and `size` are C; `type` is "pointer" of one. One that is `pointed` to may be anywhere, one that
    is `derived` also behind pointers of the same function. `root` is the variable from which one gets there.
    """

    name: str
    address: str
    size: str
    type: str
    pointed: bool = False
    derived: bool = False
    root: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure type an array has as element; `definition` is C text that defines `name`.

    `renamed` is what the source calls it where that is something else: another block may declare another
    structure of that name. Complex numbers have fields `re` and `im`; `complex` are the paths of these in the
    source, "" where the whole is one. Its `pointers` are fields that hold numbers.
    """

    name: str
    definition: str
    fields: tuple[tuple[str, str], ...]  # (member path, scalar type)
    renamed: str = ""
    complex: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()

    def selected(self, element: str, path: str) -> str:
        """A field of an element of the source."""
        if path in self.pointers:
            return f"*({dict(self.fields)[path]} *)&{element}.{path}"
        whole, _, part = path.rpartition(".")
        if whole not in self.complex or part not in ("re", "im"):
            return f"{element}.{path}"
        return f"__{'real' if part == 're' else 'imag'}__ {element}{whole and f'.{whole}'}"

    @property
    def in_source(self) -> str:
        return self.renamed or self.name


@dataclass(frozen=True, slots=True)
class Array:
    """An array, or with no extents a scalar that the region writes.

    `extents` has one expression a dimension in terms of constants and parameters, None for an
    unknown outermost one (pointer parameters). `storage` is "parameter" (the caller's memory),
    "global", "local" (of the enclosing function, declared outside the region) or "region"
    (declared inside the region: dead outside). `host` is the C expression that yields its address
    as a pointer to its first element (`&A[0][0]`, `p`, `&sum`). A local one `escapes` where pointers may
    point into it; a pointer is `derived` where the function may have made it from another pointer.
    `source` is what the source has in its place where that is no variable of its name. An `optional` one is
    passed as NULL where the region touches none of its elements. The first `pointers`
    subscripts are of arrays of pointers, which lead to rows anywhere in memory. One that is declared `within`
    loops, by their numbers, is another one in each of their iterations.
    """

    name: str
    element: str  # a canonical type, or a Structure's name
    extents: tuple[Expr | None, ...]
    storage: str
    position: Position
    host: str = ""
    restrict: bool = False
    constant: bool = False
    live_out: bool = True
    structure: Structure | None = None

    @property
    def element_in_source(self) -> str:
        return self.structure.in_source if self.structure else self.element

    @property
    def shown(self) -> str:
        """The array in the source."""
        return self.source or self.name

    @property
    def long_dimensions(self) -> int:
        """How many there are but for short ones."""
        return sum(not (isinstance(e, Int) and e.value < SHORT) for e in self.extents)

    escapes: bool = False
    derived: bool = False
    source: str = ""
    pointers: int = 0
    optional: bool = False
    within: tuple[int, ...] = ()

    def of_region(self, name: str, extents: tuple[Expr | None, ...] | None = None) -> Array:
        """An array of such elements that the region alone has, in one piece of memory."""
        shape = self.extents if extents is None else extents
        return replace(
            self, name=name, extents=shape, storage="region", live_out=False, pointers=0, optional=False
        )


@dataclass(frozen=True, slots=True)
class Loop:
    """A source loop. `text` is its header as written; `step` is never 0; `label` stands before it, if any.

    A pragma may promise that its iterations are `independent`: that no two access the same element, where
    subscripts that depend on data would hide it. It may also name variables of the source, reductions that
    the loop `reassociates`: they may be computed in another order. Of what is `copied`, such variables and
    others, each thread has a copy of its own: nothing is promised of those. Of arrays, reductions are of
    `sections`: the first so many elements.
    """

    iterator: str
    position: Position
    text: str
    step: int
    label: str = ""
    independent: bool = False
    reassociates: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()
    sections: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Store:
    """`target = value` (compound assignments are already spelled out)."""

    target: Reference
    value: Expr


@dataclass(frozen=True, slots=True)
class Let:
    """A local of one statement instance: `type name = value`; `assign` changes an earlier one."""

    name: str
    type: str
    value: Expr
    assign: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """A data-dependent `if` kept inside a statement."""

    test: Expr
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat:
    """A data-dependent `while` kept inside a statement. What `body` declares is new each time."""

    test: Expr
    body: tuple[Action, ...]


Action: TypeAlias = Store | Let | Branch | Repeat
Number: TypeAlias = tuple[int, ...]
# place of an action in a body: (n,), in branches (n, 0 or 1, k), in loops (n, 2, k)


@dataclass(frozen=True, slots=True)
class Course:
    """The elements that `subscripts` are wherever `iterators` meet the conditions of `domain`."""

    iterators: tuple[str, ...]
    domain: tuple[Expr, ...]
    subscripts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """One reference of a statement. A `must` write happens in every instance, be it by this access or by one
    of the other branch; a read that is not `exposed` finds what the same instance has written before it.

    When `affine` is False subscripts depend on data: any element may be touched each of whose subscripts is
    one of those in `forms`, where that has any for it, or any on a `course`. `guards` are affine conditions
    within the body, all of which hold wherever the access happens.
    """

    reference: Reference
    write: bool
    must: bool
    affine: bool
    position: Position
    text: str
    guards: tuple[Expr, ...] = ()
    exposed: bool = True
    forms: tuple[tuple[Expr, ...], ...] = ()
    course: Course | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One of several statements of the source that are one here (`analysis.straight`)."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """`domain` is a conjunction of boolean expressions over iterators and parameters.

    `iterators` are unique in the scop (a second loop over `i` has iterator `i_2`), outermost first;
    `loops` are their indices in `Scop.loops`. `schedule` is the 2d+1 form: positions (int) and
    iterators in turn, "-i" for one that counts down. Where it `ends` its innermost loop, it is carried out
    once at most, in the first iteration that passes its test.
    """

    name: str
    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    domain: tuple[Expr, ...]
    schedule: tuple[int | str, ...]
    body: tuple[Action, ...]
    accesses: tuple[Access, ...]
    position: Position
    text: str
    parts: tuple[Part, ...] = ()
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Assumption:
    """What lifting guessed, tested at run time: `0 <= value < bound` wherever `statement` runs; where it is
    "", at each call of the region, or wherever `domain` holds for the `iterators`, if there are any.
    """

    statement: str
    value: Expr
    bound: Expr
    reason: str
    position: Position
    iterators: tuple[str, ...] = ()
    domain: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Untaken:
    """A branch that a region leaves out, since it calls what runs on the host alone: it runs on the device
    where the `test` of the branch, which nothing in the region changes, does not hold; 0 stands for a test in
    iterations, of which an assumption tells.

    `loops` are the numbers of those around it, `problem` says what it has.
    """

    loops: tuple[int, ...]
    test: Expr
    problem: Diagnostic


@dataclass(frozen=True, slots=True)
class Measure:
    """The host finds out before the region how much of arrays there is to read: their `extents`, as pairs of
    an array and the scalar that is its outermost one.

    `statements` are those of the region without all that does not matter for it: they store each subscript
    in the scalar, which is one more than the largest of these. What they read is of known extent, or measured
    by an earlier one; of what else they store to, scalars that the region may have as locals, the host has
    `copies`.
    """

    extents: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    copies: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A value that becomes a `type`, in C or as what a kernel counts (int).

    Polyhedra are right if it is within the `range` of that all over `domain`, a conjunction over `iterators`
    and parameters. `text` is the expression of the source.
    """

    iterators: tuple[str, ...]
    domain: tuple[Expr, ...]
    value: Expr
    type: str
    text: str
    position: Position

    @property
    def range(self) -> tuple[int, int | None]:
        """The least and the largest value at which polyhedra are right; of unsigned types of the size of int
        or more only the least matters, since what they compute is counted in int too.
        """
        if self.type == "int":
            return -COUNTED, COUNTED
        return (0, None) if SIZES[self.type] >= SIZES["int"] else limits(self.type)


@dataclass(frozen=True, slots=True)
class Scop:
    """A region of `function`; `start` and `end` are character offsets in the text of `file`.

    `exposed` are copies of scalars, with any whose value is assumed, and of pointers that stores may change.
    `given` are parts of variables, and `whole` what scalars are made of that the region does not read
    themselves. An array that is `reassociated` in a loop, by its number, may have its updates in another
    order there. To the region of a `team` all threads of OpenMP's come, and one runs it. `numbers` are the
    function's own variables, parameters included, that the region names and that hold one, each with its
    `value` at the region's start where that is a constant. Loops of the host around the region change the
    scalars that are `varying`. Pointers of the source are `moved`: each by its name, and by how many elements
    once the region is done. A pragma for the region that stands apart from it has its place in `pragmas`: it
    cannot be in front of a call. Functions that it calls have `named` variables of the file. `measures` are
    made one after the other. Names that were made of others, as of variables of functions that it calls, are
    `spelled` so there.
    """

    name: str  # polygpu_<function>_<n>, with the file's name in it for static functions
    function: str
    file: str
    start: int
    end: int
    position: Position
    scalars: tuple[Scalar, ...]
    arrays: tuple[Array, ...]
    loops: tuple[Loop, ...]
    statements: tuple[Statement, ...]
    context: tuple[Expr, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    untaken: tuple[Untaken, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    functions: tuple[str, ...] = field(default=())  # C text of user functions the body calls
    no_alias: bool = False  # --assume-no-alias
    exposed: tuple[Exposed, ...] = ()
    given: tuple[Given, ...] = ()
    whole: tuple[Scalar, ...] = ()
    reassociated: frozenset[tuple[int, str]] = frozenset()
    team: bool = False
    numbers: tuple[Scalar, ...] = ()
    varying: frozenset[str] = frozenset()
    moved: tuple[tuple[str, Expr], ...] = ()
    pragmas: tuple[tuple[int, int], ...] = ()
    named: frozenset[str] = frozenset()
    measures: tuple[Measure, ...] = ()
    spelled: tuple[tuple[str, str], ...] = ()

    def in_source(self, text: str) -> str:
        """A message with names as the source has them."""
        return respelled(text, dict(self.spelled))

    @property
    def measured(self) -> frozenset[str]:
        """The scalars that the host measures."""
        return frozenset(scalar for m in self.measures for _, scalar in m.extents)


def promised(scop: Scop) -> tuple[Access, ...]:
    """The accesses of which only a pragma says that iterations of a loop keep them apart."""
    written = {
        (k, a.reference.array) for s in scop.statements for a in s.accesses if a.write for k in s.loops
    }
    return tuple(
        a
        for s in scop.statements
        for a in s.accesses
        if not a.affine
        and any(
            (k, a.reference.array) in written and keeps_apart(scop, k, a.reference.array) for k in s.loops
        )
    )


def keeps_apart(scop: Scop, loop: int, array: str) -> bool:
    """Whether by promise no two iterations of a loop access the same element of an array.

    What the region declares has a copy in each iteration, or in each thread: nothing is promised of it.
    """
    found = scop.loops[loop]
    shared = any(a.name == array and a.storage != "region" for a in scop.arrays)
    return shared and found.independent and array not in found.copied
