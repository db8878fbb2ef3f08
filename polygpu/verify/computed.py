"""What generated code computes, as a walk comes by: expressions, and what names stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import islpy as isl

from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.rewrite import references
from polygpu.support.dataclass import dataclass
from polygpu.verify.affine import Scope


@dataclass(frozen=True, eq=False)
class Bound:
    """`value` is what a name stands for after `position` expressions.

    `ends` in `scope`: it is this one, or lies between the first and below the second.
    """

    position: int
    value: isl.PwAff
    scope: Scope
    ends: tuple[Expr, ...]


@dataclass
class Computed:
    """Of a kernel, or with no `kernel` of the host program."""

    kernel: str = ""
    origins: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    steps: list[tuple[Scope, Expr]] = field(default_factory=list)
    bound: list[Bound] = field(default_factory=list)

    def compute(self, scope: Scope, exprs: Iterable[Expr]) -> None:
        """Notes the expressions; addresses are computed from where device arrays begin."""
        for expr in exprs:
            self.steps.append((scope, expr))
            for r in references(expr):
                for at, first in zip(r.subscripts, self.origins.get(r.array, ()), strict=False):
                    self.steps.append((scope, Binary("-", at, first)))

    def bind(self, value: isl.PwAff | None, scope: Scope, *ends: Expr) -> None:
        if value is not None:
            self.bound.append(Bound(len(self.steps), value, scope, ends))

    def loop(self, before: Scope, inside: Scope, index: str, ends: tuple[Expr, Expr], step: int) -> None:
        """A loop, which also counts one step beyond its last iteration."""
        self.compute(before, ends)
        self.bind(inside.values[index], before, *ends)
        self.compute(inside, (Binary("+", Name(index), Int(step)),))
