"""All normal forms of a region, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.breaks import without_break
from polygpu.frontend.normal.collapsed import apart
from polygpu.frontend.normal.complexes import has_complex, without_complex
from polygpu.frontend.normal.continues import without_continue
from polygpu.frontend.normal.gotos import jumps_to, without_goto
from polygpu.frontend.normal.guarded import Guards, has_guarded_loops
from polygpu.frontend.normal.inline import Inliner
from polygpu.frontend.normal.memory import as_loops
from polygpu.frontend.normal.once import without_once
from polygpu.frontend.normal.scratch import with_first_values
from polygpu.frontend.normal.searches import leaving_at_end
from polygpu.frontend.normal.sequences import in_sequence, is_chain
from polygpu.frontend.normal.structures import uses_structures, without_structures
from polygpu.frontend.normal.switches import without_switch
from polygpu.frontend.normal.trees import Names, block, blocks, declared_names, used_names
from polygpu.frontend.normal.unrolled import Unroller, over_members
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

_CONCERNED = (
    c_ast.FuncCall,
    c_ast.Switch,
    c_ast.DoWhile,
    c_ast.Goto,
    c_ast.Continue,
    c_ast.Break,
    c_ast.TernaryOp,
    c_ast.ExprList,
)


@dataclass
class Said:
    """Of normal forms: how the source has the names that they make, and what of the file called functions
    have `named`.
    """

    spelled: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)


def normal(
    context: FileContext,
    function: Any,
    scope: Scope,
    region: Sequence[Any],
    more: frozenset[str] = frozenset(),
    said: Said | None = None,
) -> tuple[Any, ...]:
    """The statements of a region, in normal form, with those of MORE that are wanted; adds to what is `said`.

    Raises Diagnosed for a call that is in the way.
    """
    items = leaving_at_end(region, function.body)
    pairs = has_complex(context.root)
    if (
        not more
        and not pairs
        and not any(map(_is_concerned, (node for item in items for node in nodes(item))))
    ):
        return tuple(items)
    file = (*context.scope.symbols, *context.scope.typedefs)
    said = said or Said()
    names = Names({*declared_names(function), *used_names(function), *file}, said.spelled)
    outside = jumps_to(function.body) - jumps_to(block(items, None))
    items = blocks(items, scope, in_sequence)
    items = Inliner(context, names, function, named=said.named).inlined(items, scope)
    items = blocks(items, scope, lambda found, inner: without_switch(found, inner, names))
    every = outside + jumps_to(block(items, None))
    items = blocks(items, scope, lambda found, _: without_goto(found, names, every))
    items = blocks(items, scope, without_break)
    items = blocks(items, scope, lambda found, _: without_continue(found, names))
    items = blocks(items, scope, lambda found, inner: without_once(found, inner, names))
    items = blocks(items, scope, lambda found, inner: as_loops(found, inner, names))
    if pairs:
        items = without_complex(items, context, scope, names)
    items = with_first_values(items, scope)
    whole = block(items, None)
    if "structures" in more:
        items = without_structures(items, scope, names)
    if "members" in more:
        items = blocks(items, scope, Unroller((function.body, whole)).written_out)
    if "guarded" in more:
        guards = Guards(assigned_names(whole), names, (function.body, whole))
        items = blocks(items, scope, guards.around)
    return tuple(blocks(items, scope, lambda found, inner: apart(found, inner, names, "tested" in more)))


def further(items: Sequence[Any], problems: Collection[str]) -> Iterator[frozenset[str]]:
    """What of MORE may help where the statements cannot be read without it, for the reasons given.

    What a problem asks for may be in a function that they call.
    """
    mending = frozenset(name for name in MORE if MENDED.get(name) in problems)
    wanted = mending | {name for name, changes in MORE.items() if changes(items)}
    if mending:
        yield mending
        if mending != wanted - {"tested"}:
            yield wanted - {"tested"}
    else:
        yield from (frozenset({name}) for name in ("tested", "guarded") if name in wanted)


def _may_collapse(items: Sequence[Any]) -> bool:
    """Whether a variable is divided, as in loops over several dimensions at once."""
    return any(_divides(node) for item in items for node in nodes(item))


def _divides(node: Any) -> bool:
    return isinstance(node, c_ast.BinaryOp) and node.op in ("/", "%") and isinstance(node.left, c_ast.ID)


def _is_concerned(node: Any) -> bool:
    return isinstance(node, _CONCERNED) or _divides(node) or is_chain(node)


# Forms that are worse than the statements as they are, where these can be read; each with whether it changes
# any: what holds where a run-time test does, loops around conditions, loops over members written out, and
# variables for the members of structures.
MORE = {
    "tested": _may_collapse,
    "guarded": has_guarded_loops,
    "members": over_members,
    "structures": uses_structures,
}

MENDED = {"members": "PG148", "structures": "PG171"}
