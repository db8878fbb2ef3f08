"""Products on tensor cores: a warp multiplies fragments of staged tiles.

before:  for k of the tile: C_r[i][j] += A_s[i][k] * B_s[k][j]    a point at a time, in each thread
after:   for k, k + 8, ...: the warp adds to 16 x 8 elements of C the products of 16 x 8 of A and 8 x 8 of B

The points of a thread are the elements that a lane has of such a fragment: threads of a warp lie four across,
with two columns each, and eight along. Operands are rounded as the policy says, and terms added up in the
device's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.mapping.products import Tiling
from polygpu.mapping.program import (
    Block,
    Box,
    Copied,
    Grid,
    Run,
    Tiles,
    children,
    reference_key,
    walk,
    with_children,
)
from polygpu.mapping.transformations import Refusal
from polygpu.mapping.wanted import Wanted
from polygpu.model.device import Device
from polygpu.model.expr import Binary, Expr, Reference
from polygpu.model.fragments import ACROSS, ALONG, EACH, POLICIES, is_same
from polygpu.model.rewrite import children as children_of
from polygpu.model.rewrite import references
from polygpu.model.scop import Store
from polygpu.support.dataclass import dataclass

_WIDE, _HIGH = 64, {"float": 256, "double": 128}  # a block's tile: 128 threads whose sums take 128 registers
_THREADS = 32  # along the rows


def fragment_tiling(policy: str, grid: Grid) -> Tiling:
    """Tiles of a nest, the last two parallel loops of which should be those of a product.

    A ring is faster for floats (4096 on an H100: 1.26 ms, two buffers 1.40), but holds elements only, nothing
    made of them with scalars.
    """
    element, count = POLICIES[policy].element, len(grid.axes)
    shapes = [(_THREADS, _HIGH[element] // _THREADS, 1), (ACROSS, _WIDE // ACROSS, EACH)]
    plain = element == "float" and all(map(_of_elements, (grid.p.statement(s) for s in grid.statements)))
    return Tiling([*[(1, 1, 1)] * (count - 2), *shapes[-count:]], 16, "ring" if plain else "double")


def _of_elements(s: PolyStatement) -> bool:
    """Whether a statement multiplies elements as they are, if it adds up products."""
    values = (a.value for a in s.body if isinstance(a, Store))
    products = [v.right for v in values if isinstance(v, Binary) and isinstance(v.right, Binary)]
    return all(isinstance(e, Reference) for product in products for e in children_of(product))


def tensor_policy(asked: Wanted) -> str:
    """The policy of tensor cores that is asked for, "" for none."""
    decision = asked.find("tensor")
    policy = str(decision.value) if decision is not None and asked.care < 3 else "none"
    return policy if policy != "none" else ""


@dataclass(frozen=True)
class Fragments:
    """The product of staged tiles is the tensor cores': see this module."""

    policy: str

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        if self.policy not in device.tensor_cores.split():
            why = f"{device.title} has no tensor cores for {self.policy} that programs of this target reach"
            return Refusal("PG304", why, "compile for CUDA and a device that has them, as --device h100")
        why = self._unfit_product(grid) or self._unfit_shape(grid)
        return Refusal("PG304", why, "leave the decision out") if why else None

    def apply(self, grid: Grid) -> Grid:
        """Operands are loaded by fragments: no registers hold them for points of a thread, which have no
        order. Lanes read rows as well as columns of them: boxes are as the arrays are, which are copied
        without a turn.
        """
        return replace(grid, fragments=self.policy, reuse=0, walk="rows", block=_unturned(grid.block))

    @staticmethod
    def space(grid: Grid, device: Device) -> Iterator[Fragments]:
        for policy in device.tensor_cores.split():
            if Fragments(policy).refuse(grid, device) is None:
                yield Fragments(policy)

    def _unfit_product(self, grid: Grid) -> str:
        """Why what the grid computes in tiles is no product for the policy; "" where it is one."""
        found = _product(grid)
        if found is None:
            return "no loop adds up products of two arrays, and no more, that shared memory has tiles of"
        element, types = POLICIES[self.policy].element, {r.type for r in found}
        if types != {element}:
            return f"{self.policy} is for products of {element}, not of {' and '.join(sorted(types))}"
        if not any(h.array == found[0].array for h in grid.held):
            return f"the elements of '{found[0].array}' are in no registers"
        return ""

    def _unfit_shape(self, grid: Grid) -> str:
        """Why the block's shape is not that of warps' fragments."""
        if len(grid.axes) < 2 or any(a.threads > 1 for a in grid.axes[:-2]):
            return "fragments lie along two parallel loops"
        rows, columns = grid.axes[-2:]
        terms = POLICIES[self.policy].terms
        if columns.threads != ACROSS or columns.group != EACH:
            return f"'{columns.name}' is not dealt to {ACROSS} threads, {EACH} points at once"
        if rows.threads % ALONG or rows.per_thread % EACH or rows.group != 1:
            return f"'{rows.name}' is not dealt in turn to a multiple of {ALONG} threads, an even number each"
        if any(a.loop or a.copies or any(a.overlap) for a in (rows, columns)):
            return "threads share points, or have others' too"
        widths = [t.width for t in grid.loops]
        if any(width % terms for width in widths) or len(widths) != 1:
            return f"the tile of the sum is no multiple of {terms}"
        return ""


def _product(grid: Grid) -> tuple[Reference, ...] | None:
    """What is updated in the only loop over tiles, and the operands, in boxes that are copied in each."""
    tiles = [b for b in walk(grid.block) if isinstance(b, Tiles)]
    runs = [b for t in tiles for b in walk(t.block) if isinstance(b, Run)]
    if len(tiles) != 1 or len(runs) != 1 or len(runs[0].node.statements) != 1:
        return None
    (name,) = runs[0].node.statements
    boxes = [box for box, within in grid.boxes if within is tiles[0]]
    match grid.p.statement(name).body:
        case (Store(target, Binary("+", old, Binary("*", left, right))),) if is_same(old, target):
            operands = (*references(left), *references(right))
            if len(operands) == 2 and all(_is_held(name, e, boxes) for e in (left, right)):
                return (target, *operands)
    return None


def _unturned(block: Block) -> Block:
    block = with_children(block, tuple(map(_unturned, children(block))))
    if not isinstance(block, Copied):
        return block
    return replace(block, boxes=tuple(replace(b, order=tuple(sorted(b.order))) for b in block.boxes))


def _is_held(statement: str, e: Expr, boxes: list[Box]) -> bool:
    """Whether an operand is what a box holds: an element, or what is made of it while it is copied."""
    read = references(e)
    keys = {reference_key(statement, r) for r in read}
    box = next((b for b in boxes if keys <= b.references), None)
    return bool(read) and box is not None and (e == read[0]) == (box.form is None)
