"""Directions of references: F d = e_last inside the domain."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.schedule.directions import demand, directions

BOX = "[N] -> { T[i,j,k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }"


def of(domain: str, *accesses: str) -> tuple[tuple[int, ...], ...]:
    demands = [demand(isl.Map(f"[N] -> {{ {a} }}"), isl.Set(domain)) for a in accesses]
    return directions([d for d in demands if d is not None], isl.Set(domain))


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ("T[i,j,k] -> a[i,k,j]", (0, 1, 0)),
        ("T[i,j,k] -> a[k,j,N-1-i]", (-1, 0, 0)),
        ("T[i,j,k] -> a[i,j+k,k]", (0, -1, 1)),
        ("T[i,j,k] -> x[j]", (0, 1, 0)),  # i and k are not used: they stand still
        ("T[i,j,k] -> x[2i+3j]", (-1, 1, 0)),
    ],
)
def test_the_simplest_direction(access: str, expected: tuple[int, ...]) -> None:
    assert of(BOX, access)[0] == expected


def test_unused_iterators_leave_no_choice() -> None:
    assert of(BOX, "T[i,j,k] -> x[j]") == ((0, 1, 0),)


def test_several_references_share_a_direction_or_have_none() -> None:
    assert of(BOX, "T[i,j,k] -> a[i,j,k]", "T[i,j,k] -> b[j,k+1]") == ((0, 0, 1),)
    assert of(BOX, "T[i,j,k] -> a[i,j]", "T[i,j,k] -> a[j,i]") == ()


def test_a_flattened_subscript_has_several_directions() -> None:
    found = of("[N] -> { T[i,j] : 0 <= i < N and 0 <= j < 4 }", "T[i,j] -> x[4i+j]")
    assert found[0] == (0, 1)
    assert (1, -3) in found


def test_steps_keep_to_the_lattice_of_a_strided_loop() -> None:
    even = "[N] -> { T[i,j] : i mod 2 = 0 and 0 <= i < N and 0 <= j < N }"
    assert of(even, "T[i,j] -> a[j,i]") == ()
    assert of(even, "T[i,j] -> a[i,j]") == ((0, 1),)
    halved = isl.Map("[N] -> { T[i,j] -> a[j,o] : 2o = i }")
    asked = demand(halved, isl.Set(even))
    assert asked is not None
    assert directions([asked], isl.Set(even)) == ((2, 0),)


@pytest.mark.parametrize("access", ["T[i,j,k] -> s[]", "T[i,j,k] -> x[floor(i/2)]", "T[i,j,k] -> x[o]"])
def test_references_without_affine_subscripts_ask_nothing(access: str) -> None:
    assert demand(isl.Map(f"{{ {access} }}"), isl.Set(BOX)) is None


def test_an_empty_domain_asks_nothing() -> None:
    assert demand(isl.Map("{ T[i] -> x[i] }"), isl.Set("{ T[i] : 1 = 0 }")) is None
