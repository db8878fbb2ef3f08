"""Forms of programs: what `--only` asks for, and by what results are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.fuzz.complexes import has_complex
from tests.fuzz.openmp import PLACES
from tests.fuzz.pointing import ROWS
from tests.fuzz.program import (
    PARAMETERS,
    RECORD,
    Declare,
    If,
    Loop,
    Node,
    Program,
    Turn,
    Value,
    all_nodes,
)
from tests.fuzz.ranges import goes_round, read_in
from tests.fuzz.single import is_single
from tests.fuzz.text import TOOLS, source
from tests.fuzz.unsized import has_unsized

SUMS, STAYING = "sums", "staying"  # that a batch has or has not
_JUMP = re.compile(r"\b(continue|goto|switch|do)\b")
_COLLAPSED = re.compile(r"for \(int (\w+) = 0; \1 < .*\) \* .*; \1\+\+\)")
_LITERAL = re.compile(r"\(\(struct record\)\{ \.w = ")
_HELPER = re.compile(r"^static .*\bh0_\d+\(", re.MULTILINE)


@dataclass(frozen=True)
class Form:
    """`has` tells of a program by itself whether it is of this form, None of those that are drawn apart."""

    text: str
    has: Callable[[Program], bool] | None


def forms_of(p: Program) -> tuple[str, ...]:
    """The names of those that a program has."""
    return tuple(name for name, form in FORMS.items() if form.has and form.has(p))


def described() -> str:
    width = max(map(len, FORMS))
    return "".join(f"{name:{width}}  {form.text}\n" for name, form in FORMS.items())


def _within(nodes: tuple[Node, ...], wanted: Callable[[Node], bool]) -> bool:
    return any(map(wanted, all_nodes(nodes)))


def _somewhere(p: Program, wanted: Callable[[Node], bool]) -> bool:
    return any(_within(region, wanted) for region in p.regions)


def _subscripts(p: Program) -> Iterator[Value]:
    return (s for region in p.regions for read in read_in(region) for s in read.subscripts)


def _has_pragma(node: Node) -> bool:
    return isinstance(node, Loop) and bool(node.pragmas)


def _has_acc(node: Node) -> bool:
    return isinstance(node, Loop) and any(text.startswith("acc") for text in node.pragmas)


def _is_turn(node: Node) -> bool:
    return isinstance(node, Turn)


def _is_guarded(node: Node) -> bool:
    return isinstance(node, If) and _within((*node.then, *node.otherwise), lambda n: isinstance(n, Loop))


def _is_shared(node: Node) -> bool:
    """A branch with several statements."""
    return isinstance(node, If) and max(len(node.then), len(node.otherwise)) > 1


def _is_over_members(node: Node) -> bool:
    return isinstance(node, Loop) and node.iterator == "d"


def _is_structure(node: Node) -> bool:
    return isinstance(node, Declare) and node.type == RECORD


def _spelled(p: Program, wanted: re.Pattern[str]) -> bool:
    return bool(p.spelling) and bool(wanted.search(source([p]).partition(TOOLS)[0]))


FORMS = {
    "constant": Form("all sizes are constant", lambda p: len(p.constants) == len(PARAMETERS)),
    "held": Form("sizes and arrays in structures, elements, products", lambda p: bool(p.held)),
    "carried": Form("scalars and pointers pass subscripts and iterators on", lambda p: bool(p.carried)),
    "helpers": Form("functions of the file do parts of the work", lambda p: _spelled(p, _HELPER)),
    "collapsed": Form("loops over two dimensions at once", lambda p: _spelled(p, _COLLAPSED)),
    "jumps": Form("continue, goto forward, switch", lambda p: _spelled(p, _JUMP)),
    "turns": Form("loops within an iteration that data bound", lambda p: _somewhere(p, _is_turn)),
    "guarded": Form("loops within an if", lambda p: _somewhere(p, _is_guarded)),
    "branches": Form("several statements within an if", lambda p: _somewhere(p, _is_shared)),
    "single": Form("statements that run in one iteration each", lambda p: _somewhere(p, is_single)),
    "outside": Form("variables of loops that the function declares", lambda p: bool(p.outside)),
    "vectors": Form("loops over members that are arrays", lambda p: _somewhere(p, _is_over_members)),
    "by-value": Form("copies of structures within an if", lambda p: _somewhere(p, _is_structure)),
    "openmp": Form("pragmas of OpenMP", lambda p: _somewhere(p, _has_pragma)),
    "scatter": Form("stores to elements that data choose, by promise", lambda p: PLACES in p.arrays),
    "around": Form("subscripts with a remainder", lambda p: any(map(goes_round, _subscripts(p)))),
    "records": Form("arrays of structures", lambda p: any(a.type == RECORD for a in p.arrays)),
    "complex": Form("arrays of complex numbers", has_complex),
    "literals": Form("members of compound literals", lambda p: _spelled(p, _LITERAL)),
    "unsigned": Form("unsigned parameters", lambda p: "unsigned" in p.parameter),
    "chosen": Form("numbers that branches before the regions choose", lambda p: bool(p.chosen)),
    "old-style": Form("parameters declared as in K&R's C", lambda p: p.old_style),
    "stepping": Form("outermost loops that step by a parameter", lambda p: bool(p.step)),
    "kinds": Form("stores that depend on what a parameter is", lambda p: bool(p.kinds)),
    "noted": Form("loops that print for what a parameter is", lambda p: bool(p.noted)),
    "widths": Form("rows of a length that is computed", lambda p: bool(p.widths)),
    "rows": Form("rows behind pointers", lambda p: any(a.storage == ROWS for a in p.arrays)),
    "unsized": Form("arrays of unknown size that data choose elements of", has_unsized),
    "pointers": Form("loops over pointers, while and do", lambda p: bool(p.pointing)),
    "openacc": Form("pragmas of OpenACC", lambda p: _somewhere(p, _has_acc)),
    SUMS: Form("sums and the like whose terms may come in another order", None),
    STAYING: Form("host code between regions in a time loop, with poisoned copies", None),
}
