"""What threads that hold results in registers may run at points beyond the nest, too, without a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import islpy as isl

from polygpu.lower.context import KernelContext, local_index
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf
from polygpu.mapping.program import Box
from polygpu.model.expr import Expr, Name, Reference, is_floating, type_of
from polygpu.model.linear import linear, simplify
from polygpu.model.rewrite import actions, repeats, substitute
from polygpu.model.scop import Store
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D


@dataclass(frozen=True)
class Beyond:
    """Of a kernel, `inside` the loops over tiles of steps, whose indices have these values."""

    c: KernelContext
    inside: Mapping[str, range]

    def is_harmless(self, tree: Scan) -> bool:
        """Whether registers change and nothing else, and nothing is read that is not there."""
        return all(map(self._harmless, _leaves(tree)))

    def _harmless(self, leaf: ScanLeaf) -> bool:
        """Whether the instance may run at any point of the tile: it uses registers and shared tiles only."""
        s = self.c.m.p.statement(leaf.statement)
        stores = [a for a in actions(s.body) if isinstance(a, Store)]
        if len(stores) != len(s.body) or any(not is_floating(type_of(a.value)) for a in stores):
            return False
        if repeats(s.body):
            return False  # with garbage it might not end
        for a in s.accesses:
            held = self.c.held_for(s.name, a.reference)
            if held is not None and any(held is r.array for r in self.c.m.reductions):
                return False  # what a thread adds is in the end in its neighbours' elements
            if held is not None:
                continue
            found = None if a.write else self.c.box_of(s.name, a.reference)
            if found is None or not self._covers_tile(found[0], leaf, a.reference):
                return False
        return True

    def _covers_tile(self, box: Box, leaf: ScanLeaf, r: Reference) -> bool:
        """Whether the shared box holds what the reference would read at every point of the tile.

        An iterator may be the sum of others in code where it is one in the nest only: beyond, it is not.
        """
        values = dict(zip(self.c.m.p.statement(leaf.statement).iterators, leaf.arguments, strict=True))
        for subscript, side in zip(r.subscripts, box.sides, strict=True):
            index = simplify(substitute(subscript, values))
            low, high = _interval(local_index(self.c, index, side.offset), self._places)
            if low is None or high is None or low < 0 or high >= side.size:
                return False
        return True

    @cached_property
    def _places(self) -> dict[str, range]:
        """The values of what says where in the tile a thread's points and iterations are."""
        threads = (self.c.points.thread(k) for k in range(len(self.c.m.axes)))
        ranges = {
            n.name: range(a.threads)
            for a, n in zip(self.c.m.axes, threads, strict=True)
            if isinstance(n, Name)
        }
        for a in self.c.registers():
            names = self.c.points.register_names(a)
            counts = (a.per_thread,) if len(names) == 1 else (a.per_thread // a.group, a.group)
            ranges |= {n: range(c) for n, c in zip(names, counts, strict=True)}
        return {**ranges, **self.inside, **self._only_origins}

    @cached_property
    def _only_origins(self) -> dict[str, range]:
        """Where tiles begin along axes that have only one."""
        context, found = self.c.block_context(), dict[str, range]()
        for a in (a for a in self.c.registers() if not (a.loop or a.anchor)):
            k = context.find_dim_by_name(D.param, a.origin)
            line = isl.Set.from_params(context).move_dims(D.set, 0, D.param, k, 1) if k >= 0 else None
            ends = (line.dim_min_val(0), line.dim_max_val(0)) if line is not None else ()
            if ends and all(end.is_int() for end in ends):
                first, last = (end.to_python() for end in ends)
                tiles = range(-(-first // a.stride) * a.stride, last + 1, a.stride)
                found |= {a.origin: tiles} if len(tiles) == 1 else {}
        return found


def _leaves(tree: Scan) -> Iterator[ScanLeaf]:
    match tree:
        case ScanBlock(children):
            parts = children
        case ScanFor(body=body):
            parts = (body,)
        case ScanIf(then=then, otherwise=otherwise):
            parts = (then, otherwise) if otherwise is not None else (then,)
        case ScanLeaf():
            yield tree
            return
    for part in parts:
        yield from _leaves(part)


def _interval(expr: Expr, ranges: dict[str, range]) -> tuple[int | None, int | None]:
    """The least and greatest value of a sum of the names in `ranges`; None when others occur."""
    sum_ = linear(expr)
    low = high = sum_.constant
    for atom, c in sum_.terms:
        known = ranges.get(atom.name) if isinstance(atom, Name) else None
        if known is None:
            return None, None
        ends = (c * known[0], c * known[-1])
        low, high = low + min(ends), high + max(ends)
    return low, high
