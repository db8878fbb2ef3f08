"""What is charged where, and which accesses there are: the tree that is printed and predicted from."""

import pytest

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import Assign, Barrier, Declare, DeclareArray, For, If, SharedArray, Statement
from polygpu.model.rewrite import references
from polygpu.perf.charges import lockstep
from polygpu.perf.lockstep import Access, Branch, Charge, Choice, Do, Lockstep, Loop, Stage
from tests.unit.emulator_harness import BX, X, argument, at, kernel, less, plus, times

N, ZERO, B = Name("n"), Int(0), at("b", X)


def tree(*body: Statement, folded: bool = False) -> Lockstep:
    arrays = [argument(name, N) for name in "abc"]
    shared = [SharedArray("s", "float", (32,))]
    return lockstep(kernel(body, arrays, (32, 1, 1), shared, scalars=("n",)), True, folded)


def store(value: Expr, target: Reference = B) -> Assign:
    return Assign(target, value)


def test_statements_between_which_control_flow_does_not_part_are_one_point() -> None:
    branch = If(less(X, N), (store(at("a", X)),), (), uniform=False)
    made = tree(store(at("a", X)), store(at("a", X)), branch, store(at("a", X)))
    (stage,) = made.parts
    assert isinstance(stage, Stage)
    assert [type(node) for node in stage.steps] == [Charge, Do, Do, Branch, Charge, Do]
    before, inside, after = made.points
    assert (before.cost["load_global"], before.cost["branch"], before.rounds) == (2, 1, 0)
    assert (inside.cost["load_global"], inside.rounds) == (1, 0)
    assert (after.cost["load_global"], after.rounds) == (1, 1)  # what was loaded is waited for at the end


def test_a_barrier_parts_stages_and_what_a_later_one_uses_is_kept() -> None:
    value = Declare("v", "float", at("a", X))
    made = tree(value, Barrier(), store(Name("v", "float")))
    first, charge, barrier, second = made.parts
    assert isinstance(first, Stage) and isinstance(second, Stage) and isinstance(charge, Charge)
    assert (first.number, second.number, made.stages) == (0, 1, 2)
    assert made.points[charge.point].cost == {"barrier": 1}
    assert barrier == Do(Barrier())
    assert [node.kept for node in first.steps if isinstance(node, Do)] == [True]


def test_values_of_the_block_stand_before_their_stage() -> None:
    made = tree(Declare("first", "int", times(BX, Int(32))), store(at("a", plus(Name("first"), X))))
    declared, stage = made.parts
    assert isinstance(declared, Do) and declared.uniform
    assert isinstance(stage, Stage) and "first" in stage.used


def test_lanes_agree_on_bounds_that_only_name_values_of_the_block() -> None:
    for upper, agreed in ((N, True), (X, False)):
        made = tree(For("i", ZERO, upper, 1, (store(at("a", Name("i"))),), uniform=False))
        (stage,) = made.parts
        assert isinstance(stage, Stage)
        (loop,) = [node for node in stage.steps if isinstance(node, Loop)]
        assert (loop.agreed, loop.body[0]) == (agreed, Charge(loop.point))
        assert made.points[loop.point].cost["branch"] == 1


def test_index_arithmetic_that_a_loop_does_not_change_is_charged_at_the_start() -> None:
    half = Binary("/", N, Int(3))
    made = tree(For("i", ZERO, N, 1, (store(at("a", half)), store(at("c", half))), uniform=True))
    assert made.start is not None
    assert made.points[made.start].cost == {"int_divide": 1}


def test_accesses_are_numbered_as_they_are_made() -> None:
    made = tree(store(at("a", at("c", X, ctype="int")), at("s", X)))
    assert [(a.element.array, a.space, a.write, a.number, a.place) for a in made.accesses] == [
        ("c", "global", False, 0, 0),
        ("a", "global", False, 1, 1),
        ("s", "shared", True, 2, 0),
    ]
    assert made.accesses[1].loads == made.accesses[:1]
    assert made.accesses[1].subscripts == (made.accesses[0].name,)
    assert list(made.rows) == [(-1, "c", False), (-1, "a", False), (-1, "s", True)]


def test_a_side_loads_nothing_that_its_test_has_loaded() -> None:
    chosen = Select(less(at("a", X), Int(1)), plus(at("a", X), at("c", X)), at("a", X))
    made = tree(store(chosen))
    (choice,) = made.choices
    assert isinstance(choice, Choice)
    assert [a.element.array for a in choice.test.loads if isinstance(a, Access)] == ["a"]
    assert [a.element.array for a in choice.then if isinstance(a, Access)] == ["c"]
    assert choice.otherwise == ()


S = at("s", X)


@pytest.mark.parametrize(
    ("value", "loads"),
    [
        (plus(B, S), 0),
        (plus(S, S), 1),
        (plus(B, times(S, S)), 1),
        (plus(S, times(B, B)), 0),
        (Binary("/", S, B), 1),
        (plus(B, Call("fmaxf", (S, B), type="float")), 1),
        (S, 1),
    ],
)
def test_one_operand_of_an_instruction_stays_in_shared_memory(value: Expr, loads: int) -> None:
    """Add, multiply and mad only; what is stored as it is, is loaded before."""
    for folded, expected in ((True, loads), (False, sum(r == S for r in references(value)))):
        (point,) = tree(store(value), folded=folded).points
        assert point.cost["load_shared"] == expected
        assert point.cost["store_global"] == 1


@pytest.mark.parametrize(
    ("place", "lengths", "apart"),
    [
        ((Name("i"), Name("j")), (8, 8), 4),
        ((Name("i"), ZERO), (2, 8), 2),
        ((plus(Name("i"), Name("j")), ZERO), (1, 3), 3),
        ((ZERO, ZERO), (8, 8), 1),
    ],
    ids=["four at most", "one of the loops", "three", "a sum"],
)
def test_results_of_unrolled_iterations_are_under_way_at_once(
    place: tuple[Expr, Expr], lengths: tuple[int, int], apart: int
) -> None:
    target = Reference("r", place, "float")
    add = Assign(target, plus(target, at("a", X)))
    inner = For("j", ZERO, Int(lengths[1]), 1, (add,), uniform=True, unroll=True)
    made = tree(
        DeclareArray("r", "float", (8, 8)),
        For("i", ZERO, Int(lengths[0]), 1, (inner,), uniform=True, unroll=True),
    )
    (point,) = [p for p in made.points if p.cost["add"]]
    assert point.overlapped == 12 * point.cost.total() * (1 - 1 / apart)


def test_iterations_of_a_rolled_loop_wait_for_each_other() -> None:
    target = Reference("r", (Name("i"),), "float")
    loop = For("i", ZERO, Int(8), 1, (Assign(target, plus(target, at("a", X))),), uniform=True)
    assert all(p.overlapped == 0 for p in tree(DeclareArray("r", "float", (8,)), loop).points)
