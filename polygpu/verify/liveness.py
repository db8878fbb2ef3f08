"""Which assignments to the locals of an instance matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from polygpu.model.expr import Expr, Name
from polygpu.model.rewrite import walk
from polygpu.model.scop import Action, Branch, Let, Store

Number: TypeAlias = tuple[int, ...]
# place of an action in a body: (n,), in branches (n, 0 or 1, k)


@dataclass
class Liveness:
    """Numbers of assignments: `live` are those that a store or a live assignment may depend on.

    The local of `lasting` ones may be read behind the branch in which they are made, or are not.
    """

    live: set[Number] = field(default_factory=set)
    lasting: set[Number] = field(default_factory=set)

    def walk(
        self, body: tuple[Action, ...], prefix: Number = (), behind: frozenset[str] = frozenset()
    ) -> frozenset[str]:
        """The locals that are read from `body` on, if those `behind` it are."""
        needed = behind
        for k, action in reversed(list(enumerate(body))):
            number = (*prefix, k)
            match action:
                case Let(name, _, value, assign):
                    if name in needed:
                        self.live.add(number)
                        # what is assigned in a branch leaves alive what came before, as it may not happen
                        needed = (needed if assign and prefix else needed - {name}) | _names(value)
                    if name in behind:
                        self.lasting.add(number)
                case Store(target, value):
                    needed |= _names(target) | _names(value)
                case Branch(test, then, otherwise):
                    sides = [
                        self.walk(side, (*number, n), needed) for n, side in enumerate((then, otherwise))
                    ]
                    if self._kept(then, (*number, 0)) or self._kept(otherwise, (*number, 1)):
                        needed = sides[0] | sides[1] | _names(test)
        return needed

    def _kept(self, body: tuple[Action, ...], prefix: Number) -> bool:
        """Whether anything in `body` stores or is live."""
        return any(
            isinstance(action, Store)
            or (*prefix, k) in self.live
            or (
                isinstance(action, Branch)
                and (
                    self._kept(action.then, (*prefix, k, 0)) or self._kept(action.otherwise, (*prefix, k, 1))
                )
            )
            for k, action in enumerate(body)
        )


def _names(expr: Expr) -> frozenset[str]:
    return frozenset(e.name for e in walk(expr) if isinstance(e, Name))
