"""Regions that a team of OpenMP's threads comes to: loops that it shares, in the block of a `parallel`.

    #pragma omp parallel                    #pragma omp parallel
    {                                       {
        step(...);                              step(...);
    #pragma omp for                  ->     #pragma omp barrier
        for (...) ...                       #pragma omp single
    }                                           polygpu_f_0(...);
                                            }

One thread runs such a region for all of them: what it reads has to be the same in each thread, and what it
leaves behind has to be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_taken, assigned_names, free_names, read_first
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, Pointer
from polygpu.frontend.read.directives import Directive, parsed
from polygpu.frontend.read.openmp import makes_threads, pragmas_before
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

_COPIED = ("private", "firstprivate", "lastprivate", "linear", "reduction", "copyin")
_JUMPS = c_ast.Break | c_ast.Continue | c_ast.Goto | c_ast.Return


@dataclass(frozen=True)
class Team:
    """The threads that run the block of a `parallel`. Each has variables of its own, which are `listed` or
    `declared` there (the identities of the nodes); those in `varying` may have another value in each.
    """

    listed: frozenset[str]
    declared: frozenset[int]
    varying: frozenset[str]

    def has_own(self, variable: Variable) -> bool:
        return variable.name in self.listed or id(variable.node) in self.declared


def team_of(pragma: Any, block: Any, root: Any) -> Team | None:
    """The team whose threads run the statement behind a pragma of OpenMP; None where it is none, or where
    variables are private that no list names. `root` is the file's.
    """
    d = parsed(pragma)
    if (d.model, d.words) != ("omp", ("parallel",)) or any("private" in t for t in d.clause("default")):
        return None
    lasting = frozenset(_threadprivate(root))
    listed = lasting | d.listed(*_COPIED)
    declared = [node for node in nodes(block) if isinstance(node, c_ast.Decl) and node.name]
    values = _Values(listed | {node.name for node in declared}, {*lasting, *d.listed("reduction")})
    return Team(listed, frozenset(map(id, declared)), values.found(block))


def shared_loop(items: Sequence[Any], index: int) -> bool:
    """Whether the item is a loop that a team which comes to it shares."""
    match [parsed(p) for p in pragmas_before(items, index) if makes_threads(p)]:
        case [Directive("omp", ("for", *_), clauses)]:
            return isinstance(items[index], c_ast.For) and all(name != "ordered" for name, _ in clauses)
    return False


def differing(
    team: Team, items: Sequence[Any], scope: Scope, lives: Callable[[Variable], bool]
) -> Iterator[str]:
    """The variables of which threads would find another value if one of them ran loops that all share: each
    has its own at their start, or reads behind them (`lives`) what one alone has set.
    """
    copied = frozenset(
        name for item in items if isinstance(item, c_ast.Pragma) for name in parsed(item).listed(*_COPIED)
    )
    for name, symbol in _outer(items, scope):
        if name in copied or not team.has_own(symbol):
            continue
        whole = isinstance(symbol.type, Basic | Pointer) and not any(address_taken(i, name) for i in items)
        read = name in team.varying and read_first(items, symbol.node, False)
        left = any(name in assigned_names(item) for item in items) and lives(symbol)
        if not whole or read or left:
            yield name


def _outer(items: Sequence[Any], scope: Scope) -> Iterator[tuple[str, Variable]]:
    """The variables of `scope` that the items name."""
    found = ((name, scope.find(name)) for name in sorted(set(free_names(items))))
    return ((name, symbol) for name, symbol in found if isinstance(symbol, Variable))


def _threadprivate(root: Any) -> Iterator[str]:
    for node in root.ext:
        if isinstance(node, c_ast.Pragma) and parsed(node).has("threadprivate"):
            yield from (name for name, _ in parsed(node).clauses)


@dataclass
class _Values:
    """Finds which of the variables that threads have of their `own` get another value in each of them."""

    own: frozenset[str]
    varying: set[str]

    def found(self, block: Any) -> frozenset[str]:
        before = -1
        while before < len(self.varying):
            before = len(self.varying)
            self._statement(block, True, True)
        return frozenset(self.varying)

    def _statements(self, items: Sequence[Any], all_run: bool, sure: bool, hidden: frozenset[str]) -> None:
        for index, item in enumerate(items):
            threads = any(map(makes_threads, pragmas_before(items, index)))
            if isinstance(item, c_ast.Decl) and not all_run:
                hidden |= {item.name}
            self._statement(item, all_run and not threads, sure and not threads, hidden)

    def _statement(self, node: Any, all_run: bool, sure: bool, hidden: frozenset[str] = frozenset()) -> None:
        """`all_run`: each thread by itself; `sure`: where one of them runs it, all do. What is `hidden` by
        declarations in loops that threads share is another variable.
        """
        match node:
            case c_ast.Compound():
                self._statements(node.block_items or (), all_run, sure, hidden)
            case c_ast.Case() | c_ast.Default():
                self._statements(node.stmts or (), all_run, sure, hidden)
            case c_ast.Label():
                self._statement(node.stmt, all_run, sure, hidden)
            case c_ast.If() | c_ast.Switch() | c_ast.For() | c_ast.While() | c_ast.DoWhile():
                self._controlled(node, all_run, sure, hidden)
            case _ if isinstance(node, _JUMPS) and all_run and not sure:
                self.varying |= self.own
            case _:
                self._values(node, sure, hidden)

    def _controlled(self, node: Any, all_run: bool, sure: bool, hidden: frozenset[str]) -> None:
        sure = sure and (node.cond is None or not self._varies(node.cond))
        if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList) and not all_run:
            hidden |= {declaration.name for declaration in node.init.decls}
        for part in (getattr(node, name, None) for name in ("init", "cond", "next")):
            self._values(part, sure, hidden)
        for part in (getattr(node, name, None) for name in ("stmt", "iftrue", "iffalse")):
            if part is not None:
                self._statement(part, all_run, sure, hidden)

    def _values(self, node: Any, sure: bool, hidden: frozenset[str]) -> None:
        if node is None:
            return
        declared = {n.name for n in nodes(node) if isinstance(n, c_ast.Decl) and n.init is not None}
        changed = (self.own - hidden) & (assigned_names(node) | declared)
        addressed = {name for name in changed if address_taken(node, name)}
        self.varying |= addressed if sure and not self._varies(node) else changed

    def _varies(self, node: Any) -> bool:
        """Whether an expression may have another value in each thread."""
        return any(
            isinstance(part, c_ast.FuncCall) or (isinstance(part, c_ast.ID) and part.name in self.varying)
            for part in nodes(node)
        )
