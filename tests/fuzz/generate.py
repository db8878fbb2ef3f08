"""A random program from a seed: valid C, in bounds, without overflow of signed integers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from random import Random

from tests.fuzz.program import (
    FIELDS,
    INTEGERS,
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
    Value,
    is_floating,
)
from tests.fuzz.ranges import Range, at, extents, loop_range, lowest, missing
from tests.fuzz.wrapping import within_bounds

ITERATORS = "ijkl"
TYPES = ("float",) * 5 + ("double",) * 3 + ("int",) * 4 + INTEGERS
WRAPPING = (
    ("unsigned int",) * 2 + ("unsigned long",) * 2 + ("char", "unsigned char", "short", "unsigned short")
)
BRANCHES = 6  # within branches of a branchy program, at most
ELEMENTS = 2_000_000  # of an array, at most
SIZES = {
    1: ((0, 0), (1, 2), (7, 5), (37, 33)),
    2: ((0, 0), (1, 0), (2, 3), (7, 5)),
    3: ((0, 0), (1, 2), (7, 5)),
    4: ((0, 0), (1, 2), (5, 3)),
}
LARGEST = {  # at the bounds of tiles and around
    1: ((130, 257), (256, 255), (127, 129), (64, 300), (513, 31)),
    2: ((37, 33), (32, 32), (31, 33), (33, 16), (15, 65), (64, 17), (47, 48)),
    3: ((18, 21), (16, 16), (17, 15), (15, 33), (32, 9)),
    4: ((9, 7), (8, 8), (7, 9), (16, 3)),
}


def constant(value: int) -> Affine:
    return Affine((), value)


def name(text: str, factor: int = 1) -> Affine:
    return Affine(((text, factor),))


@dataclass(frozen=True)
class Scope:
    """What a statement may name: iterators with their ranges, scalars and local arrays with their types."""

    iterators: dict[str, Range] = field(default_factory=dict)
    scalars: tuple[tuple[str, str], ...] = ()
    locals: tuple[tuple[str, str, int], ...] = ()


def program(seed: str) -> Program:
    branchy = Random(f"{seed}:branches").random() < 0.15
    return Author(Random(seed), Random(f"{seed}:unsigned"), branchy).program()


def _in_memory(p: Program) -> Program:
    """Without sizes at which an array is large: the emulator has some 50 bytes of notes for each element."""
    needed = extents(p).values()
    fitting = (
        (n, m) for n, m in p.sizes if all(prod(at(e, n, m) for e in sizes) <= ELEMENTS for sizes in needed)
    )
    return replace(p, sizes=tuple(fitting))


class Author:
    """Writes one program; `left` is how many statements it may still have.

    `types` chooses unsigned and narrow types. A `branchy` program has most of its statements in branches
    that depend on data, many of them with branches within.
    """

    def __init__(self, random: Random, types: Random, branchy: bool = False) -> None:
        self.random = random
        self.types = types
        self.branchy = branchy
        self.branches = 0
        self.left = random.choice((1, 2, 2, 3, 3, 4, 5))
        self.depth = random.choice((1, 2, 2, 2, 3, 3, 3, 4))
        self.deepest = 1
        self.names = 0
        self.arrays: tuple[Array, ...] = ()
        self.indirect = random.random() < 0.1
        self.longs = random.random() < 0.1
        self.unsigned = types.random() < 0.15

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def program(self) -> Program:
        self.arrays = tuple(self._array(f"A{k}") for k in range(self.random.choice((1, 2, 2, 3, 4))))
        scalars = tuple((f"s{k}", self._type()) for k in range(self.random.choice((0, 0, 1, 2))))
        scope = Scope(scalars=scalars)
        regions: list[list[Node]] = [[]]
        while self.left > 0:
            if regions[-1] and self.chance(0.2):
                regions.append([])
            regions[-1].append(self._loop(scope))
        made = tuple(tuple(region) for region in regions)
        sizes = (*SIZES[self.deepest], self.random.choice(LARGEST[self.deepest]))
        parameter = self.random.choice(("int",) * 9 + ("long",))
        done = _in_memory(Program(self.arrays, scalars, made, sizes, parameter, self.chance(0.1)))
        if not self.unsigned:
            return done
        unsigned = self.types.choice(("unsigned int", "unsigned int", "unsigned long", parameter))
        return within_bounds(replace(done, parameter=unsigned))

    def _type(self) -> str:
        return self.random.choice(TYPES)

    def _array(self, text: str) -> Array:
        storage = self.random.choice(("restrict",) * 5 + ("plain", "plain", "flat", "flat", "global"))
        ctype = RECORD if self.chance(0.08) else self._type()
        return Array(text, ctype, self.random.choice((1, 1, 2, 2, 2, 2, 3)), storage)

    # -- control ---------------------------------------------------------------------------------

    def _loop(self, scope: Scope) -> Loop:
        depth = len(scope.iterators)
        self.deepest = max(self.deepest, depth + 1)
        bare = Loop(
            ITERATORS[depth],
            self._lowers(scope),
            self._uppers(scope),
            self.random.choice((1,) * 8 + (2, 3, -1, -1, -1, -2)),
            (),
            self.chance(0.2),
            self._iterator_type(),
        )
        inside = replace(
            scope, iterators={**scope.iterators, bare.iterator: loop_range(bare, scope.iterators)}
        )
        return replace(bare, body=self._block(inside))

    def _iterator_type(self) -> str:
        signed = "long" if self.longs and self.chance(0.5) else "int"
        if self.unsigned and self.types.random() < 0.3:
            return self.types.choice(WRAPPING)
        return signed

    def _lowers(self, scope: Scope) -> tuple[Affine, ...]:
        outer = list(scope.iterators)
        choices = [constant(0)] * 5 + [constant(1), constant(2)]
        choices += [name(i) for i in outer] + [name(i) + constant(1) for i in outer[-1:] * 2]
        choices += [name("n") + name(i, -1) for i in outer[:1]] + [constant(-1)]
        first = self.random.choice(choices)
        return (first, self.random.choice(choices)) if self.chance(0.05) else (first,)

    def _uppers(self, scope: Scope) -> tuple[Affine, ...]:
        outer = list(scope.iterators)
        choices = [name("n")] * 4 + [name("m")] * 3
        choices += [name("n") + constant(-1), name("m") + constant(2), constant(self.random.randrange(2, 12))]
        choices += [name(i) + constant(self.random.randrange(3)) for i in outer]
        choices += [name("n") + name(i, -1) for i in outer[:2]]
        choices += [name(i) + constant(4) for i in outer[-1:]]
        first = self.random.choice(choices)
        return (first, self.random.choice(choices)) if self.chance(0.08) else (first,)

    def _block(self, scope: Scope) -> tuple[Node, ...]:
        """Ends with a store or holds a loop, so that it is never empty."""
        nodes: list[Node] = []
        depth = len(scope.iterators)
        if depth < self.depth and self.chance(0.85):
            if self.chance(0.3) and self.left > 1:
                nodes += self._statements(scope, 1)
            scope = self._declared(nodes, scope)
            nodes.append(self._loop(scope))
            if self.chance(0.25) and self.left > 0:
                nodes += self._statements(scope, 1)
            if self.chance(0.12) and self.left > 0:
                nodes.append(self._loop(scope))
            return tuple(nodes)
        scope = self._declared(nodes, scope)
        return (*nodes, *self._statements(scope, self.random.choice((1, 1, 1, 2, 3))))

    def _declared(self, nodes: list[Node], scope: Scope) -> Scope:
        """Sometimes declares a local, or a small array with a loop that fills it."""
        if self.chance(0.85):
            return scope
        text, ctype = f"t{self.names}", self._type()
        self.names += 1
        if self.chance(0.7) or len(scope.iterators) >= len(ITERATORS):
            nodes.append(Declare(text, ctype, self._value(scope, ctype)))
            return replace(scope, scalars=(*scope.scalars, (text, ctype)))
        size = self.random.randrange(2, 6)
        iterator = ITERATORS[len(scope.iterators)]
        inside = replace(scope, iterators={**scope.iterators, iterator: (constant(0), constant(size - 1))})
        fill = Assign(Read(text, (name(iterator),)), "{0} = {1};", self._value(inside, ctype))
        self.deepest = max(self.deepest, len(scope.iterators) + 1)
        nodes += [
            Declare(text, ctype, None, 1),
            Loop(iterator, (constant(0),), (constant(size),), 1, (fill,)),
        ]
        return replace(scope, locals=(*scope.locals, (text, ctype, size)))

    def _statements(self, scope: Scope, count: int) -> list[Node]:
        nodes: list[Node] = []
        for _ in range(count):
            self.left -= 1
            node: Node = self._store(scope)
            kind = self.random.random()
            if kind < 0.12:
                node = If(self._affine_test(scope), (node,), self._otherwise(scope))
            elif kind < (0.7 if self.branchy else 0.2):
                then = self._within(scope) if self.branchy else (self._guarded(scope, node),)
                node = If(self._data_test(scope), then, self._otherwise(scope))
            nodes.append(node)
        return nodes

    def _guarded(self, scope: Scope, node: Node) -> Node:
        """Sometimes a branch within a branch."""
        if self.chance(0.5 if self.branchy else 0.7) or (self.branchy and self.branches == BRANCHES):
            return node
        self.branches += 1
        if self.branchy:
            node = self._guarded(scope, node)
        test = self._affine_test(scope) if self.chance(0.5) else self._data_test(scope)
        return If(test, (node,), self._otherwise(scope))

    def _otherwise(self, scope: Scope) -> tuple[Node, ...]:
        if not self.chance(0.3):
            return ()
        return self._within(scope) if self.branchy else (self._store(scope),)

    def _within(self, scope: Scope) -> tuple[Node, ...]:
        """What a branch of a branchy program does, sometimes with a local of its own."""
        nodes: list[Node] = []
        if self.chance(0.3):
            text, ctype = f"t{self.names}", self._type()
            self.names += 1
            nodes.append(Declare(text, ctype, self._value(scope, ctype)))
            scope = replace(scope, scalars=(*scope.scalars, (text, ctype)))
        for _ in range(self.random.choice((1, 1, 2, 3))):
            nodes.append(self._guarded(scope, self._store(scope)))
        return tuple(nodes)

    def _affine_test(self, scope: Scope) -> Operation:
        left = self.random.choice(list(scope.iterators))
        others = [name(i) for i in scope.iterators] + [constant(1), constant(3), name("n") + constant(-2)]
        right = self.random.choice(others)
        templates = [f"{{0}} {op} {{1}}" for op in ("<", "<=", ">", ">=", "==", "!=")]
        templates += ["({0} + {1}) % 2 == 0", "{0} % 3 == 1", "{0} < {1} || {0} > 3", "{0} > {1} && {0} != 4"]
        return Operation(self.random.choice(templates), (name(left), right))

    def _data_test(self, scope: Scope) -> Operation:
        ctype = self._type()
        template = self.random.choice(("{0} > {1}", "{0} <= {1}", "{0} < {1} && {1} != 3", "!({0} < {1})"))
        return Operation(template, (self._leaf(scope, ctype), self._leaf(scope, ctype)))

    # -- statements ------------------------------------------------------------------------------

    def _store(self, scope: Scope) -> Assign:
        if scope.scalars and self.chance(0.25):
            text, ctype = self.random.choice(scope.scalars)
            target: Read | Scalar = Scalar(text)
        elif scope.locals and self.chance(0.2):
            text, ctype, _ = local = self.random.choice(scope.locals)
            target = self._local_element(local, scope)
        else:
            array = self.random.choice(self.arrays)
            target, ctype = self._element(array, scope)
        template = self._template(ctype)
        return Assign(target, template, self._value(scope, ctype))

    def _template(self, ctype: str) -> str:
        if is_floating(ctype):
            f = "f" if ctype == "float" else ""
            choices = ["{0} = {1};"] * 3 + [
                f"{{0}} = 0.5{f} * {{0}} + {{1}};",
                f"{{0}} += 0.0625{f} * ({{1}});",
            ] * 2
            choices += ["{0} += {1};", f"{{0}} -= 0.125{f} * ({{1}});", f"{{0}} *= 0.5{f};"]
            return self.random.choice(choices)
        choices = (
            ["{0} = {1};"] * 4 + ["{0} = ({0} & 4095) + {1};"] * 2 + ["{0} += ({1}) & 15;", "{0} ^= {1};"]
        )
        if ctype.startswith("unsigned") or ctype in ("char", "short"):
            choices += ["{0} += {1};", "{0} -= {1};"]
        if ctype.startswith("unsigned"):
            choices += ["{0} = {0} * 3u + {1};", "{0} |= {1};"]
        return self.random.choice(choices)

    def _element(self, array: Array, scope: Scope) -> tuple[Read, str]:
        subscripts = tuple(self._subscript(scope) for _ in range(array.rank))
        if array.type == RECORD:
            member, ctype = self.random.choice(FIELDS)
            return Read(array.name, subscripts, member), ctype
        return Read(array.name, subscripts), array.type

    def _local_element(self, local: tuple[str, str, int], scope: Scope) -> Read:
        text, _, size = local
        fitting = [
            name(i)
            for i, (low, high) in scope.iterators.items()
            if not low.terms and not high.terms and low.constant >= 0 and high.constant < size
        ]
        return Read(text, (self.random.choice([*fitting * 2, constant(self.random.randrange(size))]),))

    def _subscript(self, scope: Scope) -> Affine:
        """A form that is never negative; mostly one iterator and a small constant."""
        i = self.random.choice(list(scope.iterators))
        j = self.random.choice(list(scope.iterators))
        forms = (
            [name(i)] * 10
            + [name(i) + name(j)] * 2
            + [name(i, -1), name(i, 2), constant(self.random.randrange(3))]
        )
        forms += [name(i) + name(j, -1)]
        form = self.random.choice(forms)
        least = lowest(form, scope.iterators)
        form = form + missing(least)
        spare = lowest(form, scope.iterators).constant
        shift = self.random.choice((0, 0, 0, 1, 1, 2, -1, -1, -2))
        return form + constant(max(shift, -spare))

    # -- values ----------------------------------------------------------------------------------

    def _value(self, scope: Scope, ctype: str) -> Value:
        return self._float(scope, ctype) if is_floating(ctype) else self._integer(scope)

    def _leaf(self, scope: Scope, ctype: str) -> Value:
        return self._float_leaf(scope) if is_floating(ctype) else self._integer_leaf(scope, 1023)

    def _operand(self, scope: Scope, floating: bool) -> tuple[Value, str]:
        """Something to read, with its type; integer targets read integers only."""
        scalars = [(t, c) for t, c in scope.scalars if floating or not is_floating(c)]
        arrays = [a for a in self.arrays if floating or not is_floating(a.type)]
        arrays = [a for a in arrays if a.type != RECORD or floating]
        locals_ = [v for v in scope.locals if floating or not is_floating(v[1])]
        kinds = ["array"] * 6 * bool(arrays) + ["scalar"] * 2 * bool(scalars) + ["local"] * 3 * bool(locals_)
        match self.random.choice([*kinds, "iterator", "number"]):
            case "array":
                read, ctype = self._element(self.random.choice(arrays), scope)
                return self._redirected(read, scope), ctype
            case "scalar":
                text, ctype = self.random.choice(scalars)
                return Scalar(text), ctype
            case "local":
                local = self.random.choice(locals_)
                return self._local_element(local, scope), local[1]
            case "iterator":
                return name(self.random.choice(list(scope.iterators))) + constant(2), "iterator"
        return constant(self.random.randrange(1, 9)), "iterator"

    def _redirected(self, read: Read, scope: Scope) -> Read:
        """Sometimes with a data-dependent subscript, where the array's size is declared."""
        array = next(a for a in self.arrays if a.name == read.array)
        sources = [a for a in self.arrays if a.type in ("int", "unsigned int", "unsigned char")]
        if not self.indirect or array.storage == "flat" or not sources or self.chance(0.5):
            return read
        index, _ = self._element(self.random.choice(sources), scope)
        return replace(read, subscripts=(*read.subscripts[:-1], Operation("({0} & 7)", (index,))))

    def _integer_leaf(self, scope: Scope, mask: int) -> Value:
        operand, ctype = self._operand(scope, floating=False)
        if ctype == "iterator":
            return Operation("({0})", (operand,))
        return Operation(f"({{0}} & {mask})", (operand,))

    def _integer(self, scope: Scope) -> Value:
        first, second = (self._integer_leaf(scope, self.random.choice((63, 255, 511))) for _ in range(2))
        template = self.random.choice(
            ["{0}"] * 4
            + ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / 3", "{0} % 5", "({0} - 20) / 3", "({0} - 9) % 7"]
            + [
                "({0} & 63) << 2",
                "{0} >> 1",
                "{0} ^ {1}",
                "~{0}",
                "mix({0}, {1})",
                "-{0}",
                "(long){0} * 1000",
            ]
            + [
                "{0} < {1} ? {0} : {1}",
                "{0} > 30 ? {1} : 5",
                "{0} == {1}",
                "toint({2})",
                "(unsigned char){0}",
            ]
        )
        third = self._float_leaf(scope) if "{2}" in template else None
        operands = [first, *([second] if "{1}" in template or third else []), *([third] if third else [])]
        return Operation(template, tuple(operands))

    def _float_leaf(self, scope: Scope) -> Value:
        operand, _ = self._operand(scope, floating=True)
        if isinstance(operand, Affine) and operand.terms:
            return Operation("({0})", (operand,), floating=True)
        return operand

    def _float(self, scope: Scope, ctype: str) -> Value:
        f = "f" if ctype == "float" and self.chance(0.9) else ""
        first, second, third = (self._float_leaf(scope) for _ in range(3))
        template = self.random.choice(
            ["{0}", f"0.5{f} * {{0}}"] * 2
            + [f"0.5{f} * {{0}} + 0.25{f} * {{1}}"] * 5
            + [f"0.5{f} * {{0}} + 0.25{f} * {{1}} + 0.125{f} * {{2}}"] * 3
            + ["{0} - {1}", f"0.25{f} * {{0}} * {{1}}", f"{{0}} / (fabs{f}({{1}}) + 1.5{f})", "-{0}"]
            + [f"sqrt{f}(fabs{f}({{0}}))", f"fmax{f}({{0}}, 0.5{f})", f"fmin{f}({{0}}, 0.75{f})"]
            + [
                f"{{0}} < {{1}} ? {{0}} : 0.5{f} * {{1}}",
                "blend({0}, {1})",
                f"{{0}} > 0.5{f} ? {{1}} : {{2}}",
            ]
        )
        count = 3 if "{2}" in template else 2 if "{1}" in template else 1
        return Operation(template, (first, second, third)[:count], floating=True)
