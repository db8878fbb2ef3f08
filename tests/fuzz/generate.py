"""A random program from a seed: valid C, in bounds, without overflow of signed integers."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.fuzz.chosen import with_choices
from tests.fuzz.complexes import with_complex
from tests.fuzz.forms import (
    accumulation,
    by_value,
    kept_small,
    layers,
    over_members,
    shared,
    shared_arrays,
    stencil,
    stencil_arrays,
    straight,
    working,
)
from tests.fuzz.held import with_held, without_scalars
from tests.fuzz.openmp import PLACES, scatter, with_pragmas
from tests.fuzz.outside import with_outside
from tests.fuzz.pointing import with_pointers
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
)
from tests.fuzz.ranges import loop_range
from tests.fuzz.single import with_single
from tests.fuzz.sizes import chosen_sizes, constant_size, in_memory
from tests.fuzz.style import Style, random_style
from tests.fuzz.sums import sums
from tests.fuzz.turns import turning
from tests.fuzz.unsized import with_unsized
from tests.fuzz.values import ITERATORS, Scope, Values, constant, name
from tests.fuzz.widths import with_widths
from tests.fuzz.wrapping import within_bounds

WRAPPING = (
    ("unsigned int",) * 2 + ("unsigned long",) * 2 + ("char", "unsigned char", "short", "unsigned short")
)
LAYERED = 4  # loops around each other
SPELLED = 0.25  # of the programs have helper functions, `continue`, `goto` and `switch`
CARRIED = 0.25  # of the others pass subscripts and iterators on in scalars
GUARDED = 0.12  # of those without have loops within branches that depend on data
VECTORS = 0.05  # have loops over members that are arrays, and copies of structures
BRANCHES = 6  # within branches of a branchy program, at most


def program(seed: str, sums: bool = False) -> Program:
    """That of a seed; with `sums` one of sums whose terms may come in any order."""
    made = with_choices(_program(seed, sums), Random(f"{seed}:chosen"))
    made = with_outside(made, Random(f"{seed}:outside"))
    return with_widths(made, Random(f"{seed}:widths"))


def _program(seed: str, sums: bool) -> Program:
    branchy = Random(f"{seed}:branches").random() < 0.15
    style = random_style(Random(f"{seed}:style"))
    author = Author(Random(seed), Random(f"{seed}:unsigned"), style, branchy, sums)
    if Random(f"{seed}:spelling").random() < SPELLED:
        return replace(with_held(author.program(), Random(f"{seed}:held")), spelling=seed)
    openmp = Random(f"{seed}:openmp")
    author.scattering = openmp.random() < 0.06
    author.guarding = Random(f"{seed}:guarding").random() < GUARDED and not author.scattering
    author.vectors = Random(f"{seed}:vectors").random() < VECTORS and not author.scattering
    made = with_held(author.program(), Random(f"{seed}:held"))
    if author.scattering or openmp.random() < 0.1:
        return with_pragmas(openmp, without_scalars(made))
    made = with_single(made, Random(f"{seed}:single"))
    complex_made = with_complex(made, Random(f"{seed}:complex"))
    if complex_made is not made:
        return complex_made
    carried = Random(f"{seed}:carried").random() < CARRIED and not made.held and not author.vectors
    made = replace(made, carried=seed) if carried else made
    return with_unsized(with_pointers(made, Random(f"{seed}:pointing")), Random(f"{seed}:unsized"))


class Author(Values):
    """Writes one program; `left` is how many statements it may still have.

    `types` chooses unsigned and narrow types. A `branchy` program has most of its statements in branches
    that depend on data, many of them with branches within.
    """

    def __init__(
        self, random: Random, types: Random, style: Style, branchy: bool = False, sums: bool = False
    ) -> None:
        super().__init__(random, style)
        self.sums = sums
        self.types = types
        self.branchy = branchy
        self.branches = 0
        self.left = random.choice((1, 2, 2, 3, 3, 4, 5))
        self.depth = random.choice((1, 2, 2, 2, 3, 3, 3, 4))
        self.deepest = 1
        self.names = 0
        self.limits: tuple[int, ...] = ()
        self.longs = random.random() < 0.1
        self.unsigned = types.random() < 0.15
        self.scattering = self.guarding = self.vectors = False

    def program(self) -> Program:
        self.arrays = tuple(self._array(f"A{k}") for k in range(self.random.choice((1, 2, 2, 3, 4))))
        if self.vectors:
            first, *others = self.arrays
            self.arrays = (replace(first, type=RECORD), *others)
        scalars = tuple((f"s{k}", self.type()) for k in range(self.random.choice((0, 0, 1, 2))))
        regions = self._regions(Scope(scalars=scalars))
        constants = self.style.constants
        sizes = chosen_sizes(self.random, self.deepest, self._level(self.deepest), {c for c, _ in constants})
        parameter = self.random.choice(("int",) * 9 + ("long",))
        old = self.chance(0.1)
        done = in_memory(Program(self.arrays, scalars, regions, sizes, parameter, old, constants))
        if not self.unsigned:
            return done
        unsigned = self.types.choice(("unsigned int", "unsigned int", "unsigned long", parameter))
        return within_bounds(replace(done, parameter=unsigned))

    def _regions(self, scope: Scope) -> tuple[tuple[Node, ...], ...]:
        if self.sums:
            count = self.random.choice((1, 1, 2, 3))
            return tuple(sums(self, self._header, scope) for _ in range(count))
        regions: list[list[Node]] = [[]]
        if self.style.layered and not self.style.stencil:
            self.depth = LAYERED  # numbers are small, too
        rank = min(max(self.depth - 1, 1), 3)
        if self.style.stencil:
            self.arrays = stencil_arrays(self.arrays, rank)
        if self.style.limited:
            level = self._level(self.depth)
            self.limits = tuple(constant_size(self.random, level) for _ in range(self.random.choice((1, 2))))
        if self.style.stencil:
            bounds = [self._uppers(Scope())[0] for _ in range(rank)]
            regions[-1].append(stencil(self, bounds))
            self.deepest = rank + 1
            self.left -= 2
        if self.style.layered and not self.style.stencil:
            self.arrays = stencil_arrays(self.arrays, LAYERED)
            regions[-1].append(layers(self, [self._uppers(Scope())[0] for _ in range(LAYERED)]))
            self.deepest = LAYERED
            self.left -= 2
        if self.style.shared:
            self.arrays = shared_arrays(self.arrays)
            regions[-1].append(shared(self, self._uppers(Scope())[0], self._uppers(Scope())[0]))
            self.deepest = max(self.deepest, 2)
            self.left -= 2
        if self.style.working:
            self.arrays = shared_arrays(self.arrays)
            regions[-1].append(working(self, self._uppers(Scope())[0], self._uppers(Scope())[0]))
            self.deepest = max(self.deepest, 2)
            self.left -= 2
        while self.left > 0:
            if regions[-1] and self.chance(0.2):
                regions.append([])
            regions[-1].append(self._loop(scope))
        if self.scattering and (nodes := scatter(self)):
            self.arrays = (*self.arrays, PLACES)
            self.deepest = max(self.deepest, 2)
            regions[-1] += nodes
        return tuple(tuple(region) for region in regions)

    def _level(self, depth: int) -> int:
        return max(depth, *(a.rank for a in self.arrays))

    def _array(self, text: str) -> Array:
        known = len(self.style.constants) == 2
        kinds = ("restrict",) * 5 + ("plain", "plain", "flat", "flat", "global") + ("global",) * 5 * known
        storage = self.random.choice(kinds)
        ctype = RECORD if self.chance(0.08) else self.type()
        rank = self.random.choice((1,) * 6 + (2,) * 12 + (3,) * 3 + (4,))
        numbers = self.style.rows and self.chance(0.6)
        padding = self.random.choice((0, 0, 0, 1, 3, 16)) if numbers else 0
        return Array(text, ctype, rank, storage, numbers, padding)

    # -- control ---------------------------------------------------------------------------------

    def _loop(self, scope: Scope) -> Loop:
        bare, inside = self._header(scope)
        return replace(bare, body=self._block(inside))

    def _header(self, scope: Scope) -> tuple[Loop, Scope]:
        """A loop without a body, and what its body may name."""
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
            self.chance(0.5),
        )
        inside = replace(
            scope, iterators={**scope.iterators, bare.iterator: loop_range(bare, scope.iterators)}
        )
        return bare, inside

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
        if self.style.triangular:
            choices += [name(i) for i in outer] * 4 + [name(i) + constant(1) for i in outer] * 4
        first = self.random.choice(choices)
        return (first, self.random.choice(choices)) if self.chance(0.05) else (first,)

    def _uppers(self, scope: Scope) -> tuple[Affine, ...]:
        outer = list(scope.iterators)
        choices = [name("n")] * 4 + [name("m")] * 3
        choices += [name("n") + constant(-1), name("m") + constant(2), constant(self.random.randrange(2, 12))]
        choices += [name(i) + constant(self.random.randrange(3)) for i in outer]
        choices += [name("n") + name(i, -1) for i in outer[:2]]
        choices += [name(i) + constant(4) for i in outer[-1:]]
        choices += [constant(limit) for limit in self.limits * 5]
        if self.style.triangular:
            choices += [name(i) + constant(shift) for i in outer for shift in (0, 1, 1)]
        first = self.random.choice(choices)
        two = self.chance(0.25 if self.limits else 0.08)
        return (first, self.random.choice(choices)) if two else (first,)

    def _block(self, scope: Scope) -> tuple[Node, ...]:
        """Ends with a store or holds a loop, so that it is never empty."""
        nodes: list[Node] = []
        depth = len(scope.iterators)
        if self.style.accumulating and depth < self.depth and self.chance(0.6):
            self.left -= 2
            loop, inside = self._header(scope)
            return accumulation(self, loop, scope, inside)
        if depth < self.depth and self.chance(0.85):
            if self.chance(0.3) and self.left > 1:
                nodes += self._statements(scope, 1)
            scope = self._declared(nodes, scope)
            nodes.append(self._under_a_test(scope, self._loop(scope)))
            if self.chance(0.25) and self.left > 0:
                nodes += self._statements(scope, 1)
            if self.chance(0.12) and self.left > 0:
                nodes.append(self._loop(scope))
            return tuple(nodes)
        scope = self._declared(nodes, scope)
        if self.style.straight and self.left > 0:
            self.left -= 3
            return (*nodes, *straight(self, scope, [self._name() for _ in range(self.random.randrange(4))]))
        if self.style.turning and self.left > 0:
            self.left -= 2
            names = [self._name() for _ in range(self.random.choice((2, 2, 3)))]
            return (*nodes, *turning(self, scope, names))
        return (*nodes, *self._statements(scope, self.random.choice((1, 1, 1, 2, 3))))

    def _under_a_test(self, scope: Scope, loop: Loop) -> Node:
        """if (A0[i] > 2) { s0 = 1; for (j) A1[i][j] = s0; }"""
        if not self.guarding or not scope.iterators or self.chance(0.3):
            return loop
        before = [self._store(scope) for _ in range(self.random.choice((0, 0, 1)))]
        test = self._affine_test(scope) if self.chance(0.2) else self._data_test(scope)
        return If(test, (*before, loop), self._otherwise(scope))

    def _name(self) -> str:
        self.names += 1
        return f"t{self.names - 1}"

    def _declared(self, nodes: list[Node], scope: Scope) -> Scope:
        """Sometimes declares a local, or a small array with a loop that fills it."""
        if self.chance(0.85):
            return scope
        text, ctype = self._name(), self.type()
        if self.chance(0.7) or len(scope.iterators) >= len(ITERATORS):
            nodes.append(Declare(text, ctype, self.value(scope, ctype)))
            return replace(scope, scalars=(*scope.scalars, (text, ctype)))
        size = self.random.randrange(2, 6)
        iterator = ITERATORS[len(scope.iterators)]
        inside = replace(scope, iterators={**scope.iterators, iterator: (constant(0), constant(size - 1))})
        fill = Assign(Read(text, (name(iterator),)), "{0} = {1};", self.value(inside, ctype))
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
            elif kind > 0.94:
                nodes += kept_small(self, scope, self._name())
            nodes.append(node)
            if self.vectors and self.chance(0.6) and (loop := over_members(self, scope)):
                nodes.append(loop)
            if self.vectors and self.chance(0.4) and (own := by_value(self, scope, self._name())):
                nodes.append(If(self._data_test(scope), own))
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
            text, ctype = self._name(), self.type()
            nodes.append(Declare(text, ctype, self.value(scope, ctype)))
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
        ctype = self.type()
        template = self.random.choice(("{0} > {1}", "{0} <= {1}", "{0} < {1} && {1} != 3", "!({0} < {1})"))
        return Operation(template, (self.leaf(scope, ctype), self.leaf(scope, ctype)))

    # -- statements ------------------------------------------------------------------------------

    def _store(self, scope: Scope) -> Assign:
        if scope.scalars and self.chance(0.25):
            text, ctype = self.random.choice(scope.scalars)
            target: Read | Scalar = Scalar(text)
        elif scope.locals and self.chance(0.2):
            text, ctype, _ = local = self.random.choice(scope.locals)
            target = self.local_element(local, scope)
        else:
            array = self.random.choice(self.arrays)
            target, ctype = self.element(array, scope)
        template = self.template(ctype)
        return Assign(target, template, self.value(scope, ctype))
