"""Forms of several loops and statements together that real programs have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.fuzz.program import (
    FIELDS,
    RECORD,
    VECTOR,
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Read,
    Scalar,
    is_floating,
)
from tests.fuzz.values import ITERATORS, Scope, Values, constant, name


def accumulation(v: Values, loop: Loop, outer: Scope, inside: Scope) -> tuple[Node, ...]:
    """A[i][j] = 1; for (k = ...) A[i][j] += ...;"""
    target, ctype = v.element(v.random.choice(v.arrays), outer)
    factor = {"float": "0.0625f * ", "double": "0.125 * "}.get(ctype, "15 & ")
    value = v.value(inside, ctype)
    if isinstance(target, Read) and v.chance(0.5):
        value = _of_its_array(v, target, inside, ctype)
    add = Assign(target, f"{{0}} += {factor}({{1}});", value)
    return (Assign(target, "{0} = {1};", constant(v.random.choice((0, 1)))), replace(loop, body=(add,)))


def _of_its_array(v: Values, target: Read, inside: Scope, ctype: str) -> Operation:
    """A[k - 1][i] + ... for A[i][j]: what other iterations add to."""
    array = next(a for a in v.arrays if a.name == target.array)
    reads = tuple(replace(v.element(array, inside)[0], member=target.member) for _ in range(2))
    return _weighted(reads[: v.random.choice((1, 2))], ctype)


def stencil_arrays(arrays: tuple[Array, ...], rank: int) -> tuple[Array, ...]:
    """The first two of one type and `rank`, for `stencil`."""
    first, *rest = arrays
    ctype = "float" if first.type == RECORD else first.type
    second = rest[0] if rest else replace(first, name="A1")
    return (*(replace(a, type=ctype, rank=rank) for a in (first, second)), *rest[1:])


def stencil(v: Values, uppers: Sequence[Affine]) -> Loop:
    """for (i < T) { A1[j][k] = ... A0[j - 1][k + 1] ...; A0[j][k] = ... A1[j][k - 1] ...; } in two nests."""
    first, second = v.arrays[:2]
    body = (_sweep(v, second, first, uppers), _sweep(v, first, second, uppers))
    return Loop(ITERATORS[0], (constant(0),), (constant(v.random.randrange(2, 5)),), 1, body)


def _sweep(v: Values, target: Array, source: Array, uppers: Sequence[Affine]) -> Loop:
    iterators = ITERATORS[1 : len(uppers) + 1]

    def shifted(array: Array) -> Read:
        shifts = [v.random.choice((-1, 0, 0, 1)) for _ in iterators]
        return Read(array.name, tuple(name(i) + constant(s) for i, s in zip(iterators, shifts, strict=True)))

    written = Read(target.name, tuple(map(name, iterators))) if v.chance(0.7) else shifted(target)
    reads = tuple(shifted(source) for _ in range(v.random.choice((2, 3, 3, 4))))
    nest: Node = Assign(written, "{0} = {1};", _weighted(reads, target.type))
    for i, upper in reversed(list(zip(iterators, uppers, strict=True))):
        high = upper + constant(v.random.choice((0, 0, -1)))
        nest = Loop(i, (constant(1),), (high,), v.random.choice((1, 1, 1, -1)), (nest,), v.chance(0.2))
    assert isinstance(nest, Loop)
    return nest


def layers(v: Values, uppers: Sequence[Affine]) -> Loop:
    """for (i) for (j) for (k) for (l) { A0[i][j][k][l] = ...; for (d) A0[i][j][k][l] += A1[i][j][k + d][l]; }

    No iteration of the four reads what another one writes, mostly, and some of them are short.
    """
    first, second = v.arrays[:2]
    places = tuple(map(name, ITERATORS[: len(uppers)]))
    order = v.random.sample(range(len(places)), len(places)) if v.chance(0.25) else range(len(places))
    written = Read(first.name, tuple(places[k] for k in order))

    def reads(*shifts: Affine) -> tuple[Read, ...]:
        found = []
        for _ in range(v.random.choice((1, 2, 2))):
            moved = [p + constant(v.random.choice((-1, 0, 0, 0, 1))) for p in places]
            for shift in shifts:
                k = v.random.randrange(len(places))
                moved[k] = moved[k] + shift
            found.append(Read(second.name, tuple(moved)))
        return tuple(found) if v.chance(0.9) else (*found, written)

    body: list[Node] = [Assign(written, "{0} = {1};", _weighted(reads(), first.type))]
    if v.chance(0.5):
        add = Assign(written, v.template(first.type), _weighted(reads(name("d")), first.type))
        body.append(Loop("d", (constant(0),), (constant(v.random.choice((2, 3, 3))),), 1, (add,)))
        if v.chance(0.5):
            body.append(Assign(written, "{0} = {1};", _weighted((written,), first.type)))
    nest = tuple(body)
    for i, upper in reversed(list(zip(ITERATORS, uppers, strict=False))):
        short = constant(v.random.choice((2, 3, 4, 4, 6)))
        high = short if v.chance(0.35) else upper
        nest = (Loop(i, (constant(1),), (high,), v.random.choice((1,) * 8 + (-1,)), nest, v.chance(0.1)),)
    (loop,) = nest
    assert isinstance(loop, Loop)
    return loop


def shared_arrays(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """All of the first one's type, for `shared`."""
    ctype = "float" if arrays[0].type == RECORD else arrays[0].type
    return tuple(replace(a, type=ctype) for a in arrays)


def shared(v: Values, upper: Affine, inner: Affine) -> Loop:
    """for (i) { A0[i] = ...; for (j) A0[i] += A1[i][j - 1]; for (j) A1[i][j] = ... A0[i] ...; A2[i] = ...; }

    Mostly loops are alike, and what is read is of the same iteration of i.
    """
    parts: list[Node] = []
    for _ in range(v.random.choice((3, 4, 5))):
        if v.chance(0.4):
            parts.append(_row_store(v, False))
            continue
        stores = tuple(_row_store(v, True) for _ in range(v.random.choice((1, 1, 2))))
        high = inner + constant(v.random.choice((0, 0, 0, 0, -1)))
        step = v.random.choice((1,) * 8 + (-1,))
        parts.append(Loop(ITERATORS[1], (constant(1),), (high,), step, stores))
    return Loop(ITERATORS[0], (constant(1),), (upper,), 1, tuple(parts))


def working(v: Values, upper: Affine, inner: Affine) -> Loop:
    """for (i) { A0[0] = ...; for (j) A0[j] = ... A0[j - 1] ...; for (j) A1[i][j] += A0[j] ...; }

    Mostly an iteration writes what it reads of A0.
    """
    work, *others = v.arrays
    i, j = map(name, ITERATORS[:2])
    first, mine = _placed(work, constant(0)), _placed(work, j)

    def reads(column: Affine) -> tuple[Read, ...]:
        chosen = (v.random.choice(others or [work]) for _ in range(v.random.choice((1, 2))))
        return tuple(_placed(a, i, column) for a in chosen)

    def loop(target: Read, template: str, *found: Read) -> Loop:
        low, high = constant(v.random.choice((1, 1, 1, 2))), inner + constant(v.random.choice((0, 0, 0, -1)))
        step = v.random.choice((1,) * 6 + (-1,))
        body = Assign(target, template, _weighted((*reads(j), *found), work.type))
        return Loop(ITERATORS[1], (low,), (high,), step, (body,))

    before = _placed(work, j + constant(-1))
    parts: list[Node] = (
        [Assign(first, "{0} = {1};", _weighted(reads(constant(0)), work.type))] if v.chance(0.9) else []
    )
    parts.append(loop(mine, "{0} = {1};", *([before] if v.chance(0.4) else [])))
    if v.chance(0.4):
        parts.append(
            Assign(v.random.choice((first, _placed(work, constant(2)))), v.template(work.type), first)
        )
    for _ in range(v.random.choice((1, 1, 2))):
        target = _placed(v.random.choice(others), i, j) if others and v.chance(0.9) else mine
        parts.append(loop(target, v.template(work.type), mine, *([before] if v.chance(0.3) else [])))
    return Loop(ITERATORS[0], (constant(1),), (upper,), v.random.choice((1,) * 8 + (-1,)), tuple(parts))


def _placed(array: Array, *places: Affine) -> Read:
    """Its element there, and at 0 along other dimensions; of as many places as it has dimensions."""
    return Read(array.name, (*places, *(constant(0) for _ in range(array.rank)))[: array.rank])


def _row_store(v: Values, inside: bool) -> Assign:
    def element() -> Read:
        array = v.random.choice(v.arrays)
        row = name(ITERATORS[0]) + constant(v.random.choice((0,) * 15 + (-1,)))
        column = name(ITERATORS[1]) + constant(v.random.choice((-1, 0, 0, 1)))
        place = column if inside and v.chance(0.7) else constant(0)
        first = (row, place) if v.chance(0.8) else (place, row)
        subscripts = (*first, constant(0), constant(0))
        return Read(array.name, subscripts[: array.rank])

    ctype = v.arrays[0].type
    reads = tuple(element() for _ in range(v.random.choice((1, 2, 3))))
    return Assign(element(), v.template(ctype), _weighted(reads, ctype))


def over_members(v: Values, scope: Scope) -> Loop | None:
    """for (d = 0; d < 3; d++) A0[i].v[d] = ... A1[i + 1].v[d] ...; None without arrays of structures, or
    where loops are deep.
    """
    records = [a for a in v.arrays if a.type == RECORD]
    if not records or len(scope.iterators) == len(ITERATORS):
        return None
    d = "d"

    def element(place: str) -> Read:
        return replace(v.element(v.random.choice(records), scope)[0], member=f"{VECTOR}[{place}]")

    other = element(v.random.choice((d, d, f"2 - {d}", "1")))
    value = Operation("0.25f * {0} + 0.5f * {1}", (other, v.leaf(scope, "float")), True)
    store = Assign(element(d), v.template("float"), value)
    step = v.random.choice((1, 1, 1, -1, 2))
    return Loop(d, (constant(v.random.choice((0, 0, 1))),), (constant(3),), step, (store,), v.chance(0.2))


def by_value(v: Values, scope: Scope, text: str) -> tuple[Node, ...]:
    """struct record t0 = A0[i]; t0.x = ...; t0.w += ...; A1[j] = t0; nothing without arrays of structures."""
    records = [a for a in v.arrays if a.type == RECORD]
    if not records:
        return ()

    def element() -> Read:
        return replace(v.element(v.random.choice(records), scope)[0], member="")

    nodes: list[Node] = [Declare(text, RECORD, element())]
    own = tuple((f"{text}.{member}", ctype) for member, ctype in FIELDS)
    own += tuple((f"{text}.{VECTOR}[{k}]", "float") for k in range(3))
    for _ in range(v.random.choice((1, 1, 2, 3))):
        member, ctype = v.random.choice(own)
        inside = replace(scope, scalars=(*scope.scalars, *own))
        nodes.append(Assign(Scalar(member), v.template(ctype), v.value(inside, ctype)))
    if v.chance(0.3):
        nodes.append(Assign(Scalar(text), "{0} = {1};", element()))
    return (*nodes, Assign(element(), "{0} = {1};", Scalar(text)))


def kept_small(v: Values, scope: Scope, text: str) -> tuple[Node, ...]:
    """int t = (A0[i] & 65535) - 999; t -= ...; if (t >= 0 && t < 1000) A1[i] = t * 2000000; of which int does
    not hold what other iterations would store.
    """
    sources = [a for a in v.arrays if a.type == "int"]
    if not sources or not (targets := [a for a in v.arrays if a.type not in (RECORD, "char", "short")]):
        return ()
    t = Scalar(text)
    first = Operation("({0} & 65535) - 999", (v.element(v.random.choice(sources), scope)[0],))
    change = Assign(t, v.random.choice(("{0} -= {1};", "{0} = {0} / 3 + ({1});")), v.value(scope, "int"))
    test = Operation(v.random.choice(("{0} >= 0 && {0} < 1000", "{0} == 7")), (t,))
    product = Operation(v.random.choice(("{0} * 2000000", "({0} << 20) / 3", "7 - {0} * 2100000")), (t,))
    target, _ = v.element(v.random.choice(targets), scope)
    return (
        Declare(text, "int", first),
        *(change for _ in range(v.random.randrange(2))),
        If(test, (Assign(target, "{0} = {1};", product),)),
    )


def straight(v: Values, scope: Scope, names: Sequence[str]) -> tuple[Node, ...]:
    """float t = ...; A[i][0] = ... t ...; A[i][1] = ...; t = ...; ... of new scalars and those of `scope`.

    Mostly nothing else is written than read, but for elements of the same iteration.
    """
    arrays, count = v.arrays, v.random.randrange(1, len(v.arrays) + 1)
    targets = [_own(v, a, scope) if v.chance(0.9) else v.element(a, scope) for a in arrays[:count]]
    v.arrays = arrays[count:] if v.chance(0.8) else arrays
    nodes: list[Node] = []
    for text in names:
        ctype = v.type()
        nodes.append(Declare(text, ctype, v.value(scope, ctype)))
        scope = replace(scope, scalars=(*scope.scalars, (text, ctype)))
    for text, ctype in scope.scalars:
        if text not in names and v.chance(0.7):
            nodes.append(Assign(Scalar(text), "{0} = {1};", v.value(scope, ctype)))
    for _ in range(v.random.choice((4, 6, 9, 14, 24))):
        if scope.scalars and v.chance(0.3):
            text, ctype = v.random.choice(scope.scalars)
            nodes.append(Assign(Scalar(text), "{0} = {1};", v.value(scope, ctype)))
            continue
        target, ctype = v.random.choice(targets)
        last = target.subscripts[-1]
        if isinstance(last, Affine) and not last.terms:
            target = replace(target, subscripts=(*target.subscripts[:-1], constant(v.random.randrange(4))))
        nodes.append(Assign(target, v.template(ctype), v.value(scope, ctype)))
    v.arrays = arrays
    return tuple(nodes)


def _own(v: Values, array: Array, scope: Scope) -> tuple[Read, str]:
    """A[i][j] or A[i][0]: an element of each iteration, where iterators start at 0."""
    read, ctype = v.element(array, scope)
    iterators = [i for i, (low, _) in scope.iterators.items() if not low.terms and low.constant >= 0]
    subscripts = [*map(name, iterators), *(constant(0) for _ in range(array.rank))][: array.rank]
    return replace(read, subscripts=tuple(subscripts)), ctype


def _weighted(reads: tuple[Read, ...], ctype: str) -> Operation:
    if is_floating(ctype):
        f = "f" if ctype == "float" else ""
        terms = [f"{0.5 / 2**k}{f} * {{{k}}}" for k in range(len(reads))]
    else:
        terms = [f"({{{k}}} & {63 >> k})" for k in range(len(reads))]
    return Operation(" + ".join(terms), reads, is_floating(ctype))
