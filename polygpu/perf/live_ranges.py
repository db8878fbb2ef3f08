"""How many registers the live values of a kernel's thread fill at once, as a compiler would allocate them.

Values live from their definition to their last use; what a loop reads lives through all of it. Arguments,
block indices and what is computed from them alone take none. A loop keeps one address for each stream of
accesses that move together (up to constants) instead of the names their subscripts are made of; other
addresses live for their statement. Loops that are unrolled are constants in their bodies' subscripts, but
where a minimum or a quotient bends an address, each of their iterations has its own; where they go over
private elements, the operands of these live together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import field
from math import prod
from typing import TypeAlias

from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, If, Kernel, Statement, While
from polygpu.model.kernel_walk import operands, statements, written
from polygpu.model.linear import linear
from polygpu.model.rewrite import children, names_in, reads_memory, references, scalars_in
from polygpu.perf.elements import element
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent, Same

_WORD = 4  # bytes of a register

_RECENT: Recent[int] = Recent(64)  # of bodies: no padding changes anything

Live: TypeAlias = frozenset["str | Stream"]


@dataclass(frozen=True, slots=True)
class Stream:
    """Accesses to one array whose addresses differ by constants; `names` are what they are made of."""

    array: str
    key: tuple[frozenset[tuple[Expr, int]], ...]
    names: frozenset[str] = field(compare=False)
    copies: int = field(default=1, compare=False)


def peak_registers(kernel: Kernel, device: Device) -> int:
    """32-bit registers of the values of a thread that live at once, at most.

    What is on its way from memory is kept to what leaves room for all threads that can be resident. Beside
    fragments, whose operands are loaded one after the other, those of the rests of tiles are loaded again
    where there are too many.
    """
    names = *(a.name for a in kernel.arrays), *(s.name for s in kernel.shared)
    return _RECENT.get((Same(kernel.body), names, Same(device)), lambda: _peak(kernel, device))


def _peak(kernel: Kernel, device: Device) -> int:
    found = _Liveness(kernel, device)
    found.block(kernel.body, frozenset(), looped=False)
    room = device.registers_per_multiprocessor // device.threads_per_multiprocessor
    least = found.least
    if any(isinstance(s, For) and s.fragments for s in statements(kernel.body)):
        least = max(found.bare, min(least, device.max_registers_per_thread - device.registers_reserved))
    return max(least, min(found.most, room - device.registers_reserved))


@dataclass(frozen=True, slots=True)
class _Use:
    """What a statement needs before it and while it runs: values that live, and words of its own.

    `loads` are words on their way from memory, `together` those that arrive before any of them is used.
    """

    live: Live
    loads: int
    addresses: int
    together: int


class _Liveness:
    """One backward pass over a body.

    `most` is the largest sum of live words so far, `least` that without what is on its way from memory,
    `bare` that without operands that live together, too.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.kernel, self.device = kernel, device
        self.pointer = device.pointer_bytes // _WORD
        self.outside = {a.name for a in kernel.arrays}
        self.arrays = self.outside | {s.name for s in kernel.shared}
        self.words: dict[str, int] = {f"thread_{axis}": 1 for axis in "xyz"}
        self.private: set[str] = set()
        self.unrolled: dict[str, int] = {}  # iterations
        self.values: dict[str, Expr] = {}  # of names that are given one only
        self.uses: dict[tuple[int, bool], _Use] = {}  # of the body's statements, by identity, in loops or not
        self.blocks: dict[tuple[int, Live, bool, int], Live] = {}  # what is live before each, by identity
        self.most = self.least = self.bare = 0
        self.ahead = 0  # words that are loaded for iterations to come
        self._declared(kernel.body)
        self.uniform = {n for n, value in self.values.items() if self.of_block(value)}

    def of_block(self, value: Expr) -> bool:
        """Whether it is made of arguments and block indices: computed again, or kept for a whole warp."""
        return not reads_memory(value) and all(
            n in self.values or n not in self.words for n in self.made_of(value)
        )

    def _declared(self, body: Sequence[Statement]) -> None:
        for s in statements(body):
            match s:
                case Declare(name, ctype, value, mutable):
                    self.words[name] = _words(ctype)
                    if value is not None and not mutable:
                        self.values[name] = value
                case DeclareArray(name, ctype, extents):
                    self.words[name] = prod(extents) * _words(ctype)
                    self.private.add(name)
                case For(index=index):
                    self.words[index] = 1
                    if s.unroll:
                        self.unrolled[index] = _iterations(s)

    def block(self, body: Sequence[Statement], live: Live, looped: bool) -> Live:
        """What is live before `body` when `live` is after it; loops ask again with what they found."""
        key = id(body), live, looped, self.ahead
        if key not in self.blocks:
            self.blocks[key] = self.before(body, live, looped)
        return self.blocks[key]

    def before(self, body: Sequence[Statement], live: Live, looped: bool) -> Live:
        for s in reversed(body):
            match s:
                case For():
                    live = self.loop(s, live, looped)
                case If():
                    sides = self.block(s.then, live, looped) | self.block(s.otherwise, live, looped)
                    live = self.used(sides | live, s, looped)
                case While():
                    live = self.repeat(s, live)
                case _:
                    live = self.simple(s, live, looped)
        return live

    def simple(self, s: Statement, live: Live, looped: bool) -> Live:
        match s:
            case Declare(name=name):
                live = live - {name}
            case Assign(Name(name)):
                live = live | {name}
        return self.used(live, s, looped)

    def spread(self, s: Statement) -> set[str]:
        """Unrolled loops over the private elements that a statement writes: their operands live together."""
        match s:
            case Assign(Reference(array=array, subscripts=subscripts)) if array in self.private:
                return {n for e in subscripts for n in self.made_of(e) if n in self.unrolled}
        return set()

    def loop(self, s: For, live: Live, looped: bool) -> Live:
        """An innermost loop has the loads of several iterations in flight."""
        ahead = self.ahead
        if not any(isinstance(inner, For) for inner in statements(s.body)):
            self.ahead += (self.device.loads_ahead - 1) * self.loads(s.body)
        before = self.around(s, live, looped)
        self.ahead = ahead
        return before

    def loads(self, body: Sequence[Statement]) -> int:
        """Words of the elements in memory that `body` reads before it writes others of their array."""
        read = {element(r) for s in statements(body) for e in sources(s) for r in references(e)}
        read = {r for r in read if r.array in self.arrays}
        targets = (s.target for s in statements(body) if isinstance(s, Assign))
        stored = {element(target) for target in targets if isinstance(target, Reference)}
        if any(w.array == r.array and w != r for w in stored for r in read):
            return 0
        return sum(map(self.loaded, read))

    def loaded(self, r: Reference) -> int:
        """Registers of an element on its way to an operation."""
        return _words(r.type) if r.array in self.outside or not self.device.shared_operands else 0

    def around(self, s: For, live: Live, looped: bool) -> Live:
        if s.unroll:
            inner = self.block(s.body, live, looped)
            return self.used(self.block(s.body, live | inner, looped), s, looped) - {s.index}
        control = frozenset(n for n in names_in(s.upper) if n in self.words) | {s.index}
        inner = self.block(s.body, live | control, looped=True)
        inner = self.block(s.body, live | control | inner, looped=True)
        streams = {item for item in inner if isinstance(item, Stream)}
        made_of = {n for item in streams for n in item.names if n in self.words}
        entered = (inner - streams - {s.index}) | frozenset(made_of - {s.index})
        return self.used(entered, s, looped)

    def repeat(self, s: While, live: Live) -> Live:
        """The test is before the body and behind it."""
        inner = live
        for _ in range(2):
            inner = self.used(self.block(s.body, inner, looped=True) | inner, s, looped=True)
        streams = {item for item in inner if isinstance(item, Stream)} - live
        made_of = {n for item in streams for n in item.names if n in self.words}
        return (inner - streams) | made_of

    def used(self, live: Live, s: Statement, looped: bool) -> Live:
        """What is live before a statement, its bodies apart; notes what it needs while it runs."""
        key = id(s), looped
        if key not in self.uses:
            self.uses[key] = self.use(s, looped)
        use = self.uses[key]
        found = live.union(use.live)
        words = sum(map(self.size, found))
        self.bare = max(self.bare, words)
        self.least = max(self.least, words + use.together)
        self.most = max(self.most, words + use.loads + use.addresses + self.ahead)
        return found

    def use(self, s: Statement, looped: bool) -> _Use:
        loads = addresses = together = 0
        live: list[str | Stream] = []
        spread = self.spread(s)
        for r in (r for expr in operands(s) for r in references(expr)):
            if r.array in self.arrays:
                stream = self.stream(r)
                copies = self.together(r, spread)
                loads += self.loaded(r) * copies
                together += self.loaded(r) * copies if copies > 1 else 0
                if looped:
                    live.append(stream)
                else:
                    addresses += self.size(stream)
        live.extend(n for expr in operands(s) for n in self.names(expr, looped) if n in self.words)
        return _Use(frozenset(live), loads, addresses, together)

    def together(self, r: Reference, spread: Set[str]) -> int:
        """How many elements `r` stands for over `spread`; one if each is needed for one private element only.

        Where another unrolled loop goes over them, those of its next iteration are loaded meanwhile.
        """
        unrolled = {n for e in r.subscripts for n in self.made_of(e) if n in self.unrolled}
        used = unrolled & spread
        return 1 if used == spread else prod(self.unrolled[n] for n in used) * (2 if unrolled - spread else 1)

    def names(self, expr: Expr, looped: bool) -> Iterator[str]:
        """Names whose values `expr` needs; in a loop, a stream stands for those of subscripts."""
        if not reads_memory(expr):
            yield from scalars_in(expr)
            return
        match expr:
            case Reference() if expr.array in self.arrays and looped:
                return
            case Reference() if expr.array in self.private:
                yield expr.array
        for part in children(expr):
            yield from self.names(part, looped)

    def stream(self, r: Reference) -> Stream:
        terms = [linear(s).terms for s in r.subscripts]
        key = tuple(frozenset((a, c) for a, c in t if not names_in(a) <= self.unrolled.keys()) for t in terms)
        names = names_in(*r.subscripts) - self.unrolled.keys()
        bent = {n for t in terms for a, _ in t if not isinstance(a, Name) for n in self.made_of(a)}
        return Stream(r.array, key, names, prod(self.unrolled[n] for n in bent if n in self.unrolled))

    def made_of(self, expr: Expr) -> set[str]:
        """Names that `expr` depends on, through the values of others too."""
        found: set[str] = set()
        left = list(names_in(expr))
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left.extend(names_in(self.values[name]) if name in self.values else ())
        return found

    def size(self, item: str | Stream) -> int:
        if isinstance(item, Stream):
            if item.array in self.outside:
                return self.pointer if item.copies == 1 else item.copies
            return 1 - self.device.shared_operands
        return 0 if item in self.unrolled or item in self.uniform else self.words.get(item, 0)


def _iterations(s: For) -> int:
    """Of a loop with constant bounds, else 1."""
    match s.lower, s.upper:
        case Int(lower), Int(upper):
            return max(1, -(-(upper - lower) // s.step))
    return 1


def sources(s: Statement) -> tuple[Expr, ...]:
    """What a statement reads, the subscripts of its target apart."""
    return tuple(e for e in operands(s) if e is not written(s))


def _words(ctype: str) -> int:
    return max(1, SIZES.get(ctype, 4) // _WORD)
