"""OpenMP and OpenACC as people write them: on loops with independent iterations, or, of OpenMP, in a team of
which one thread works.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.fuzz.program import (
    RECORD,
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Program,
    Read,
    Scalar,
    Turn,
    Value,
)
from tests.fuzz.ranges import INDIRECT, reads_of
from tests.fuzz.values import ITERATORS, Scope, Values, constant, name

PLACES = Array("P0", "int", 1)
SINGLE = ("omp parallel", "omp single")


def with_pragmas(random: Random, p: Program) -> Program:
    """The program with pragmas before most of its outermost loops."""
    regions = (tuple(_with_pragmas(random, node, p.old) for node in region) for region in p.regions)
    return replace(p, regions=tuple(regions))


def _with_pragmas(random: Random, node: Node, old: bool) -> Node:
    if not isinstance(node, Loop) or node.pragmas or node.wraps or random.random() < 0.2:
        return node
    if not independent(node):
        inner = tuple(_with_pragmas(random, part, old) for part in node.body)
        return replace(node, body=inner) if inner != node.body else replace(node, pragmas=SINGLE)
    clauses = [random.choice(("", "", " schedule(static)", " schedule(dynamic, 4)", " num_threads(3)"))]
    if random.random() < 0.6 and _collapses(node):
        clauses.append(" collapse(2)")
    inside = sorted({loop.iterator for loop in _loops(node.body)})
    if old and inside:
        clauses.append(f" private({', '.join(inside)})")
    text = "".join(clauses)
    if random.random() < 0.35 and "num_threads" not in text:
        return replace(node, pragmas=("omp parallel", f"omp for{text}"))
    words = random.choice(("parallel for", "parallel for simd", "target teams distribute parallel for"))
    if not clauses[0] and random.random() < 0.5:
        return replace(
            node, pragmas=(f"acc {random.choice(('parallel', 'kernels'))} loop independent{text}",)
        )
    return replace(node, pragmas=(f"omp {words}{text}",))


def independent(loop: Loop) -> bool:
    """Whether each iteration writes and reads elements of its own, of all arrays that the loop writes."""
    assigns = list(_assigns(loop.body))
    declared = _declared(loop.body)
    if any(isinstance(a.target, Scalar) and a.target.name not in declared for a in assigns):
        return False
    targets = [a.target for a in assigns if isinstance(a.target, Read) and a.target.array not in declared]
    written = {target.array for target in targets}
    values = [*(a.value for a in assigns), *targets, *_tests(loop.body), *_initial(loop.body)]
    values += _limits(loop.body)
    reads = [r for value in values for r in reads_of(value) if r.array in written]
    return all(
        any(_same(r.subscripts[d], loop.iterator) for d in range(len(r.subscripts)))
        and len({_place(other, loop.iterator) for other in reads if other.array == r.array}) == 1
        for r in reads
    )


def _place(read: Read, iterator: str) -> int:
    """The first dimension whose subscript is the iterator, -1 for none."""
    return next((d for d, s in enumerate(read.subscripts) if _same(s, iterator)), -1)


def _same(subscript: object, iterator: str) -> bool:
    return subscript == name(iterator)


def _collapses(loop: Loop) -> bool:
    if len(loop.body) != 1 or not isinstance(loop.body[0], Loop) or loop.body[0].wraps:
        return False
    inner = loop.body[0]
    bounds = (*inner.lowers, *inner.uppers)
    assert all(isinstance(bound, Affine) for bound in bounds)
    return not any(bound.factor(loop.iterator) for bound in bounds) and independent(inner)


def _loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node
            yield from _loops(node.body)


def _flat(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        match node:
            case Loop(body=body) | Turn(body=body):
                yield from _flat(body)
            case If(_, then, otherwise):
                yield from _flat((*then, *otherwise))


def _assigns(nodes: tuple[Node, ...]) -> Iterator[Assign]:
    return (node for node in _flat(nodes) if isinstance(node, Assign))


def _tests(nodes: tuple[Node, ...]) -> Iterator[Operation]:
    return (node.test for node in _flat(nodes) if isinstance(node, If))


def _limits(nodes: tuple[Node, ...]) -> Iterator[Value]:
    return (value for node in _flat(nodes) if isinstance(node, Turn) for value in (node.start, node.limit))


def _initial(nodes: tuple[Node, ...]) -> Iterator[Value]:
    return (n.value for n in _flat(nodes) if isinstance(n, Declare) and n.value is not None)


def _declared(nodes: tuple[Node, ...]) -> set[str]:
    return {node.name for node in _flat(nodes) if isinstance(node, Declare)}


def scatter(v: Values) -> tuple[Node, ...]:
    """for (i < 8) P0[i] = 5 * i + 3 & 7; for (i < 8) for (j) A0[P0[i] & 7][j] = ...; of other arrays."""
    candidates = [a for a in v.arrays if a.storage != "flat" and a.type != RECORD]
    if not candidates:
        return ()
    target = v.random.choice(candidates)
    arrays, v.arrays = v.arrays, tuple(a for a in v.arrays if a is not target)
    i, j = ITERATORS[0], ITERATORS[1]
    scope = Scope(iterators={i: (constant(0), constant(INDIRECT)), j: (constant(0), constant(4))})
    place = Operation("({0} & 7)", (Read(PLACES.name, (name(i),)),))
    subscripts = (place, name(j), constant(0), constant(0))[: target.rank]
    store = Assign(Read(target.name, subscripts), v.template(target.type), v.value(scope, target.type))
    v.arrays = arrays
    end = (constant(INDIRECT + 1),)
    made = Operation("({0} * 5 + 3) & 7", (name(i),))
    first = Loop(i, (constant(0),), end, 1, (Assign(Read(PLACES.name, (name(i),)), "{0} = {1};", made),))
    inner = Loop(j, (constant(0),), (constant(5),), 1, (store,))
    return (first, Loop(i, (constant(0),), end, 1, (inner,), pragmas=("omp parallel for",)))
