"""What the lanes of a block access: kernel bodies evaluated for the threads of one interior block.

Predictions of coalescing and bank conflicts, and the choice of padding, all look at the same thing: for each
reference, the index vectors of the lanes of each request. They come from the code that will run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from polygpu.analysis.rewrite import walk
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.model.kernel import Assign, Declare, For, If, Kernel, Move, Statement

Lane = dict[str, int]
Index = tuple[int, ...]

SIZE = 4096  # the value of every size while predicting: large, and a multiple of all tiles


@dataclass(frozen=True)
class Requests:
    """One reference in the code: for each request of the sampled warps, a lane's index vector or None.

    `weight` is how often the reference runs in a thread (constant trip counts multiplied, `SIZE` for others);
    `wide` is how many elements a lane accesses.
    """

    reference: Reference
    write: bool
    lanes: tuple[tuple[Index | None, ...], ...]
    weight: float
    wide: int = 1


@dataclass
class _Walk:
    width: int
    sizes: Mapping[str, int]
    found: list[Requests] = field(default_factory=list)


def requests(kernel: Kernel, width: int, sizes: Mapping[str, int], sample: int = 4) -> list[Requests]:
    """The requests of `width` lanes of the sampled block with most of them.

    `sizes` gives the scalar arguments' values; the first `sample` requests' worth of threads is looked at.
    """
    best = _Walk(width, sizes)
    for block in _BLOCKS:
        state = _Walk(width, sizes)
        _statements(kernel.body, _lanes(kernel, sizes, width * sample, block), 1.0, state)
        if len(state.found) > len(best.found):
            best = state
    return best.found


_BLOCKS = ((1, 1), (1, 9), (9, 1))  # x and y: a nest may have points in a triangle of the grid only


def _lanes(
    kernel: Kernel, sizes: Mapping[str, int], limit: int, block: tuple[int, int]
) -> list[Lane | None]:
    x, y, z = kernel.block
    lanes: list[Lane | None] = []
    for t in range(min(x * y * z, limit)):
        lane = dict(sizes)
        lane |= {"thread_x": t % x, "thread_y": t // x % y, "thread_z": t // (x * y)}
        lane |= {"block_x": block[0], "block_y": block[1], "block_z": 0}
        lanes.append(lane)
    return lanes


def _statements(body: tuple[Statement, ...], lanes: list[Lane | None], weight: float, state: _Walk) -> None:
    for s in body:
        match s:
            case Declare(name, _, value, _):
                if value is not None:
                    _expr(value, lanes, weight, state)
                    _set(lanes, name, value)
            case Assign(target, value):
                _expr(value, lanes, weight, state)
                if isinstance(target, Reference):
                    _reference(target, lanes, weight, state, True, 1)
            case Move(target, source, width, _):
                _reference(source, lanes, weight, state, False, width)
                _reference(target, lanes, weight, state, True, width)
            case For():
                _loop(s, lanes, weight, state)
            case If(test, then, otherwise, _):
                _expr(test, lanes, weight, state)
                _statements(then, _where(lanes, test, True), weight, state)
                _statements(otherwise, _where(lanes, test, False), weight, state)


def _set(lanes: list[Lane | None], name: str, value: Expr) -> None:
    for lane in lanes:
        if lane is not None:
            result = evaluate(value, lane)
            if result is None:
                lane.pop(name, None)
            else:
                lane[name] = result


def _where(lanes: list[Lane | None], test: Expr, wanted: bool) -> list[Lane | None]:
    """The lanes that take the branch; both sides when the test depends on data."""
    kept: list[Lane | None] = []
    for lane in lanes:
        value = evaluate(test, lane) if lane is not None else None
        kept.append(dict(lane) if lane is not None and (value is None or bool(value) == wanted) else None)
    return kept


def _loop(s: For, lanes: list[Lane | None], weight: float, state: _Walk) -> None:
    """The body once, at the first iteration any lane runs, weighed by the trip count."""
    inside: list[Lane | None] = []
    trips = 0.0
    for lane in lanes:
        lower = evaluate(s.lower, lane) if lane is not None else None
        upper = evaluate(s.upper, lane) if lane is not None else None
        if lane is None or lower is None or upper is None or lower >= upper:
            inside.append(None)
            continue
        trips = max(trips, float(-(-(upper - lower) // s.step)))
        inside.append({**lane, s.index: lower})
    if trips:
        _statements(s.body, inside, weight * trips, state)


def _expr(expr: Expr, lanes: list[Lane | None], weight: float, state: _Walk) -> None:
    for e in walk(expr):
        if isinstance(e, Reference):
            _reference(e, lanes, weight, state, False, 1)


def _reference(
    r: Reference, lanes: list[Lane | None], weight: float, state: _Walk, write: bool, wide: int
) -> None:
    vectors = [_index(r, lane) for lane in lanes]
    groups = tuple(
        tuple(vectors[i : i + state.width]) for i in range(0, len(vectors), state.width)
    )
    live = tuple(g for g in groups if any(v is not None for v in g))
    if live:
        state.found.append(Requests(r, write, live, weight, wide))


def _index(r: Reference, lane: Lane | None) -> Index | None:
    if lane is None:
        return None
    values = [evaluate(s, lane) for s in r.subscripts]
    return tuple(v for v in values if v is not None) if all(v is not None for v in values) else None


def evaluate(expr: Expr, lane: Mapping[str, int]) -> int | None:
    """The integer value of `expr` for a lane; None when it depends on data."""
    match expr:
        case Int(value):
            return value
        case Name(name, _):
            return lane.get(name)
        case Literal(text, "int"):
            return int(text, 0) if text[0].isdigit() else None
        case Unary(op, operand):
            value = evaluate(operand, lane)
            return None if value is None else _UNARY[op](value)
        case Binary(op, left, right):
            return _binary(op, evaluate(left, lane), evaluate(right, lane))
        case Select(test, yes, no):
            chosen = evaluate(test, lane)
            return None if chosen is None else evaluate(yes if chosen else no, lane)
        case Cast(ctype, operand) if "int" in ctype or "long" in ctype:
            return evaluate(operand, lane)
        case Call(("min" | "max" | "floord") as function, arguments, _):
            return _call(function, [evaluate(a, lane) for a in arguments])
    return None


_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda v: -v,
    "+": lambda v: v,
    "~": lambda v: ~v,
    "!": lambda v: int(not v),
}


def _binary(op: str, left: int | None, right: int | None) -> int | None:
    if op == "&&":
        return 0 if 0 in (left, right) else (None if None in (left, right) else 1)
    if left is None or right is None:
        return None
    if op in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if op == "/" else left - right * quotient
    return int(_OPERATORS[op](left, right))


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "||": lambda a, b: int(bool(a or b)),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
}


def _call(function: str, values: list[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    if len(known) != len(values):
        return None
    if function == "floord":
        return known[0] // known[1]
    return min(known) if function == "min" else max(known)


def sizes_of(kernel: Kernel) -> dict[str, int]:
    """A value for each integer argument: firsts of tiles are 0, everything else is `SIZE`."""
    integers = [s.name for s in kernel.scalars if s.type not in ("float", "double")]
    return {n: 0 if n.endswith("_first") else SIZE for n in integers}


def on(found: list[Requests], array: str) -> Iterator[Requests]:
    return (r for r in found if r.reference.array == array)
