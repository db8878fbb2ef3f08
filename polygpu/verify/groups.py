"""Counting the groups of asynchronous copies that a thread closes."""

from __future__ import annotations

from polygpu.model.expr import Expr
from polygpu.model.kernel import CommitCopies, Declare, For, If, Move, Statement, WaitCopies
from polygpu.verify.affine import NotAffineError, Scope


def settled(body: tuple[Statement, ...]) -> bool:
    """Whether no copy is in flight behind `body` that was not before it."""
    for s in reversed(body):
        match s:
            case WaitCopies(0):
                return True
            case For() if not settled(s.body):
                return False
            case If() if not (settled(s.then) and settled(s.otherwise)):
                return False
            case CommitCopies() | Move(asynchronous=True):
                return False
    return True


def closed(body: tuple[Statement, ...], scope: Scope | None = None) -> int | None:
    """How many groups of copies `body` closes each time; None when it depends on more than `scope` says."""
    total = 0
    for s in body:
        match s:
            case CommitCopies():
                total += 1
            case Declare() if scope is not None:
                scope = scope.bind(s.name, None)
            case For():
                if closed(s.body) != 0:
                    return None
            case If():
                first, second = closed(s.then, scope), closed(s.otherwise, scope)
                if first != second and not _always(s.test, scope):
                    return None
                if first is None:
                    return None
                total += first
    return total


def _always(test: Expr, scope: Scope | None) -> bool:
    if scope is None:
        return False
    try:
        return bool(scope.domain.is_subset(scope.condition(test)))
    except NotAffineError:
        return False
