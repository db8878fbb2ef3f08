"""The search for what is better than the default, by shares and by calls."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf

from benchmarks.candidates import Share, look_at, subjects
from benchmarks.experts import points_of
from polygpu.search.space import Space

SHARE = Share("mv", "8800gtx", 0, 2, 24, 1)


def test_shares_look_at_different_candidates_of_one_sequence() -> None:
    (subject,) = subjects("mv", "8800gtx", "")
    found = [look_at(replace(SHARE, number=number), (), inf) for number in range(2)]
    known = points_of(subject.nest)
    assert found[0] and found[1] and found[0][0]["next"] < len(known)
    names = [{name for name, _ in share[0]["experts"]} for share in found if share]
    assert len(names[0]) >= 12 and not names[0] & names[1]
    assert min(nest["counts"]["looked"] for share in found if share for nest in share) == 12


def test_a_later_call_goes_on_where_one_had_no_time() -> None:
    whole = look_at(SHARE, (), inf)
    first = look_at(replace(SHARE, candidates=10), (), inf)
    assert first and whole and not any(nest["done"] is False for nest in first)
    after = look_at(SHARE, [{**nest, "done": False} for nest in first], inf)
    assert after
    for nest, other in zip(after, whole, strict=True):
        assert {**nest, "spent": 0} == {**other, "spent": 0}
    assert look_at(SHARE, (), time.monotonic() - 1) is None


def test_candidates_are_no_other_names_of_each_other() -> None:
    (subject,) = subjects("mm", "8800gtx", "")
    found = subject.candidates(1)
    first = [next(found) for _ in range(len(points_of(subject.nest)) + 200)]
    choices = [choice for _, choice in first]
    assert len({*choices}) == len(choices)
    assert sum(expert for expert, _ in first) == len(points_of(subject.nest)) > 300
    space = Space(subject.nest, subject.device)
    assert all(not space.why_not(choice) for expert, choice in first if not expert)
    assert {choice.staged for choice in choices} == {(), ("A",), ("B",), ("A", "B")}
    squares = {choice.threads for choice in choices if choice.threads[0] == choice.threads[1]}
    assert squares >= {(4, 4), (8, 8), (16, 16)}


def test_nothing_the_model_takes_is_slower_than_what_an_expert_tries() -> None:
    share = Share("mm", "8800gtx", 0, 20, 400, 1)
    found = look_at(share, (), inf)
    assert found and len(found) == 1
    nest = found[0]
    assert nest["rules"] > nest["default"] > 0
    assert min(seconds for _, seconds in nest["experts"]) >= 0.9 * nest["default"]
    assert nest["typically"][0] >= nest["typically"][1]
