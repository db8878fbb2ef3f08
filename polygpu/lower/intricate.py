"""Whether nobody would want to read a kernel: its loops have more cases than what it stores explains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from polygpu.model.expr import COMPARISONS, Binary, Call
from polygpu.model.kernel import Assign, Kernel, Region
from polygpu.model.kernel_walk import operands, statements
from polygpu.model.rewrite import walk
from polygpu.support.recent import Recent, Same

# Comparisons: of a kernel, and of each value that it stores. Of PolyBench and NAS, none has more than 260 for
# 56 values, or 57 for 3.
_KERNEL, _STORE = 100, 40
_TESTS = COMPARISONS - {"&&", "||"}


_FOUND: Recent[bool] = Recent(512)  # candidates of a search share most of their kernels


def is_intricate(region: Region) -> bool:
    """Whether a kernel compares far more often than what it stores explains."""
    return any(_FOUND.get(Same(k.body), partial(_is_intricate, k)) for k in region.kernels)


def _is_intricate(kernel: Kernel) -> bool:
    return sum(_compared(kernel)) > _KERNEL + _STORE * _stores(kernel)


def _compared(kernel: Kernel) -> Iterator[int]:
    for expr in (e for s in statements(kernel.body) for whole in operands(s) for e in walk(whole)):
        match expr:
            case Binary(op) if op in _TESTS:
                yield 1
            case Call("min" | "max", arguments):
                yield len(arguments) - 1


def _stores(kernel: Kernel) -> int:
    return sum(isinstance(s, Assign) for s in statements(kernel.body))
