"""Programs of sums and the like, whose terms threads may share in any order: also of where an extreme value
is, or what passes a test last, and of histograms.

All of them are exact: floating-point terms are small integers, or what is the least or largest of some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.program import (
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Read,
    Scalar,
    Value,
    is_floating,
)
from tests.fuzz.values import Scope, Values, constant, name

Header = Callable[[Scope], tuple[Loop, Scope]]
Target = tuple[Read | Scalar, str]

_BINS = 8  # of a histogram
EXTREMES = ("if ({1} > {0}) {0} = {1};", "{0} = {1} < {0} ? {1} : {0};", "{0} = {0} >= {1} ? {0} : {1};")
OF_INTEGERS = (
    "{0} += ({1}) & 15;",
    "{0} -= ({1}) & 7;",
    "{0} ^= {1};",
    "{0} |= ({1}) & 255;",
    "{0} &= {1};",
    "{0} = {0} && ({1}) & 3;",
    "{0} = {0} || ({1}) > 99;",
    "{0} += ({1}) > 60;",
    "if (({1}) % 3 == 1) {0}++;",
    "if (({1}) > 40) {0} += ({1}) & 31;",
    *EXTREMES,
)
OF_FLOATS = (
    "{0} += {1};",
    "{0} = {0} - {1};",
    "{0} *= {1} > 3 ? -1 : 1;",
    "if ({1} > 2) {0} += {1};",
    "{0} += {1} > 4;",
    "if ({1} > {0}) {0} = {1};",
    "{0} = {1} <= {0} ? {1} : {0};",
    "{0} = fmaxf({0}, {1});",
)


def sums(v: Values, header: Header, scope: Scope) -> tuple[Node, ...]:
    """for (i) { s = 0; for (j) for (k) { s += ...; if (... > t) t = ...; A1[j][k] = ...; } A2[i] = s; }

    Of i there may be none, as of j, of what is set before, stored beside or read behind.
    """
    arrays, outer, row = v.arrays, scope, None
    storages = {a.name: a.storage for a in arrays}
    if v.chance(0.3):
        row, outer = header(scope)
    loops: list[Loop] = []
    inside = outer
    for _ in range(v.random.choice((1, 1, 2))):
        loop, inside = header(inside)
        loops.append(loop)
    targets = _targets(v, outer)
    index = _index(v, outer, targets) if v.chance(0.4) else None
    used = {t.array for t in (*(t for t, _ in targets), index) if isinstance(t, Read)}
    v.arrays = tuple(a for a in arrays if a.name not in used)
    beside = replace(inside, scalars=())
    made = [_node(v, target, index, beside, storages) for target in targets]
    again = (_again(v, node, target, beside) for node, target in zip(made, targets, strict=True))
    updates = [*zip(made, targets, strict=True), *zip(again, targets, strict=True)]
    body: tuple[Node, ...] = ()
    for k, (node, (_, ctype)) in enumerate(updates):
        local = f"{'y' if is_floating(ctype) else 'z'}{k}"  # of one type in all of a program
        body += () if node is None else _by_a_local(v, node, local, ctype, beside)
    if body and v.chance(0.25):
        taken = {t.name for t in (*(t for t, _ in targets), index) if isinstance(t, Scalar)}
        free = [(text, ctype) for text, ctype in outer.scalars if text not in taken]
        body = _under_a_test(v, body, beside, free)
    if v.arrays and v.chance(0.15):
        body = (*_largest(v, beside, targets[0]), *body)
    if v.arrays and v.chance(0.2):
        body = (*body, _store(v, beside, None))
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    v.arrays = arrays
    places = [_places(node, target) for node, (target, _) in zip(made, targets, strict=True)]
    kinds = [ctype for _, ctype in targets]
    set_ = [p for p, ctype in zip(places, kinds, strict=True) if is_floating(ctype) or v.chance(0.4)]
    before = [Assign(t, "{0} = {1};", constant(v.random.choice((0, 1, 5)))) for p in set_ for t in p]
    behind = [_store(v, outer, targets[0])] if row is not None and v.chance(0.5) else []
    nodes = (*before, *body, *behind)
    return nodes if row is None else (replace(row, body=nodes),)


def _targets(v: Values, outer: Scope) -> list[Target]:
    """Different scalars, or elements of different arrays, that loops inside stay at."""
    found: list[Target] = [(Scalar(name), ctype) for name, ctype in outer.scalars]
    found += [_element(v, a, outer) for a in v.arrays]
    return v.random.sample(found, min(len(found), v.random.choice((1, 1, 1, 2, 3))))


def _element(v: Values, array: Array, outer: Scope) -> Target:
    if outer.iterators:
        return v.element(array, outer)
    read, ctype = v.element(array, replace(outer, iterators={"i": (constant(0), constant(0))}))
    return replace(read, subscripts=tuple(constant(v.random.randrange(3)) for _ in read.subscripts)), ctype


def _index(v: Values, outer: Scope, targets: list[Target]) -> Read | Scalar | None:
    """Another place, of an integer: where an extreme value is."""
    taken = {place for place, _ in targets}
    used = {place.array for place in taken if isinstance(place, Read)}
    found: list[Read | Scalar] = [
        Scalar(n) for n, c in outer.scalars if c == "int" and Scalar(n) not in taken
    ]
    integers = (a for a in v.arrays if a.type in ("int", "long") and a.name not in used)
    found += [_element(v, a, outer)[0] for a in integers]
    return v.random.choice(found) if found else None


def _node(
    v: Values, target: Target, index: Read | Scalar | None, scope: Scope, storages: dict[str, str]
) -> Node:
    """A sum, or a fold if there is a place for where it is."""
    place, _ = target
    if index is not None and v.chance(0.6):
        return _fold(v, target, index, scope)
    sized = isinstance(place, Read) and not place.member and storages[place.array] != "flat"
    if sized and v.chance(0.25):
        return _guarded(v, target, scope) if v.chance(0.3) else _histogram(v, target, scope)
    return _update(v, target, scope)


def _fold(v: Values, target: Target, index: Read | Scalar, scope: Scope) -> Node:
    """if (a > t) { t = a; index = i; }      if (a > 3) { t = a; index = i; }"""
    place, ctype = target
    value = Operation(f"(({ctype})({{0}}))", (v.leaf(scope, ctype),), floating=is_floating(ctype))
    compared = v.random.choice(("{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}", "!({0} <= {1})"))
    test: Operation = Operation(compared, (value, place))
    if v.chance(0.3):
        test = Operation("{0} > 3", (v.leaf(scope, ctype),))
    elif v.chance(0.2):
        test = Operation("{0} < 9 && {1}", (v.leaf(scope, "int"), test))
    where = name(v.random.choice(list(scope.iterators))) + constant(v.random.randrange(2))
    return If(test, (Assign(place, "{0} = {1};", value), Assign(index, "{0} = {1};", where)))


def _largest(v: Values, scope: Scope, target: Target) -> tuple[Node, ...]:
    """a[i] = ...; if (a[i] > t) t = a[i];"""
    place, ctype = target
    stored, kind = v.element(v.random.choice(v.arrays), scope)
    convert = "toint({0})" if is_floating(kind) and not is_floating(ctype) else f"(({ctype})({{0}}))"
    value = Operation(convert, (stored,), floating=is_floating(ctype))
    extreme = v.random.choice((*EXTREMES, "{0} = fmaxf({0}, {1});") if ctype == "float" else EXTREMES)
    return Assign(stored, "{0} = {1};", v.value(scope, kind)), Assign(place, extreme, value)


def _histogram(v: Values, target: Target, scope: Scope) -> Assign:
    """a[b[i] & 7] += ...;"""
    place, ctype = target
    assert isinstance(place, Read)
    chosen = Operation(f"({{0}} & {_BINS - 1})", (v.leaf(scope, "int"),))
    return _update(v, (replace(place, subscripts=(*place.subscripts[:-1], chosen)), ctype), scope)


def _guarded(v: Values, target: Target, scope: Scope) -> If:
    """if (c[i] % 7 != 3) { int b = ...; if (b >= 0 && b < 8) a[b] += ...; }   else it is not there"""
    place, ctype = target
    assert isinstance(place, Read)
    chosen = Scalar("b")
    update = _update(v, (replace(place, subscripts=(*place.subscripts[:-1], chosen)), ctype), scope)
    inside = If(Operation(f"{{0}} >= 0 && {{0}} < {_BINS}", (chosen,)), (update,))
    test = Operation("({0}) % 7 != 3", (v.leaf(scope, "int"),))
    return If(test, (Declare("b", "int", v.leaf(scope, "int")), inside))


def _again(v: Values, node: Node, target: Target, scope: Scope) -> Assign | None:
    """Another update of elements of a histogram: a[b[i] & 7] += ...; a[c[i] & 7] -= ...;"""
    if not isinstance(node, Assign) or node.target == target[0] or not v.chance(0.4):
        return None
    other = _histogram(v, target, scope)
    return replace(other, template=node.template) if v.chance(0.6) else other


def _by_a_local(v: Values, node: Node, local: str, ctype: str, scope: Scope) -> tuple[Node, ...]:
    """int z = ...; if (z > 3) z = 3; if (a[i] % 3) z = 3 - z; s += z;      or just what is updated."""
    if not isinstance(node, Assign) or not v.chance(0.15):
        return (node,)
    z, floating = Scalar(local), is_floating(ctype)
    other = "{0} = {1} - {0};" if floating else "{0} = {1} - {0} % 64;"
    changes: list[Node] = []
    for _ in range(v.random.choice((1, 1, 2))):
        test = Operation("({0}) % 3 == 1", (v.leaf(scope, "int"),))
        if v.chance(0.4):
            test = Operation(v.random.choice(("{0} > 3", "{0} < 1")), (z,))
        changes.append(If(test, (Assign(z, v.random.choice((other, "{0} = {1};")), constant(3)),)))
    return Declare(local, "float" if floating else "int", node.value), *changes, replace(node, value=z)


def _under_a_test(
    v: Values, body: tuple[Node, ...], scope: Scope, free: list[tuple[str, str]]
) -> tuple[Node, ...]:
    """if (a[i] % 3) { int z = ...; s += z; t += ...; }      or some of it on the other side

    It may set one of the `free` scalars, too, that nothing else sets.
    """
    leaf = v.leaf(scope, "int")
    test = Operation(v.random.choice(("({0}) % 3", "({0}) > 3", "({0}) & 1")), (leaf,))
    declares = any(isinstance(node, Declare) for node in body)
    k = len(body) if declares or v.chance(0.4) else v.random.randrange(1, len(body) + 1)
    inner = body[:k]
    if v.chance(0.3):
        other = Operation("({0}) % 5 != 2", (v.leaf(scope, "int"),))
        inner = (*inner[:-1], If(other, inner[-1:])) if not declares else (If(other, inner),)
    if free and v.chance(0.4):
        inner = _by_a_scalar(v, inner, v.random.choice(free), scope)
    return (If(test, inner, body[k:]),)


def _by_a_scalar(
    v: Values, body: tuple[Node, ...], scalar: tuple[str, str], scope: Scope
) -> tuple[Node, ...]:
    """u = a[i] & 31; s += u; ...      where u keeps its last value"""
    text, ctype = scalar
    floating = is_floating(ctype)
    value = _small(v, scope) if floating else Operation("({0}) & 31", (v.value(scope, "int"),))
    known = OF_FLOATS if floating else (*OF_FLOATS, *OF_INTEGERS)
    made = (
        replace(node, value=Scalar(text))
        if isinstance(node, Assign) and node.template in known and v.chance(0.6)
        else node
        for node in body
    )
    return Assign(Scalar(text), "{0} = {1};", value), *made


def _places(node: Node, target: Read | Scalar) -> list[Read | Scalar]:
    """The elements that a node made for a target may update."""
    match node:
        case If(then=(Declare(), If(then=(Assign() as update,)))):
            node = update
    if not isinstance(node, Assign) or node.target == target or not isinstance(target, Read):
        return [target]
    return [replace(target, subscripts=(*target.subscripts[:-1], constant(k))) for k in range(_BINS)]


def _update(v: Values, target: Target, scope: Scope) -> Assign:
    place, ctype = target
    if is_floating(ctype):
        return Assign(place, v.random.choice(OF_FLOATS), _small(v, scope))
    choices = (*OF_INTEGERS, "{0} *= ({1}) | 1;") if ctype.startswith("unsigned") else OF_INTEGERS
    return Assign(place, v.random.choice(choices), v.value(scope, ctype))


def _small(v: Values, scope: Scope) -> Value:
    """A whole number below a thousand."""
    return Operation("toint(8 * {0})", (v.leaf(scope, "float"),), floating=False)


def _store(v: Values, scope: Scope, target: Target | None) -> Assign:
    """What a sum has become, or else something of an element that other iterations do not write."""
    place, ctype = v.element(v.random.choice(v.arrays), scope)
    value: Value = target[0] if target is not None else constant(3)
    if target is not None and is_floating(target[1]) and not is_floating(ctype):
        value = Operation("toint({0})", (value,))
    return Assign(place, "{0} = {1};", value)
