"""Checks and verdict from answers of every kind, counted by hand and by brute force."""

from __future__ import annotations

import random
from itertools import combinations, permutations, product
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.doctor import checks
from calipers.doctor.checks import (
    Check,
    agreement_check,
    chance_of_agreement,
    conclude,
    flip_check,
    format_check,
    injection_check,
    orders_check,
)
from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.monitoring.health import nearest_rank
from calipers.types import Completion, Failure, Reading

TRUE = {"1": 1.0, "2": 0.5, "3": 0.0}
FALSE = {"1": 0.0, "2": 0.5, "3": 1.0}
LATE, FAILED = Failure("deadline", "late"), Failure("server", "broke down")


def answer(group: object, scores: dict[str, float], *, latency: float = 0.0, **reading: Any) -> Answer:
    name = f"probe-{group}" if isinstance(group, int) else str(group)
    completion = Completion("", latency=latency)
    return Answer(name, completion, Reading((), "strict", **reading), scores)


def answers(*every: Answer, failures: tuple[Failure, ...] = ()) -> Answers:
    return Answers(len(every) + len(failures), every, failures)


def test_answers_are_good_only_if_all_of_them_came():
    cases = [(24, 24, "good"), (23, 23, "note"), (12, 12, "note"), (2, 2, "unknown"), (20, 10, "bad"), (24, 20, "note")]
    for answered, used, standing in cases:
        readable = [answer(1, TRUE) for _ in range(used)]
        unread = [answer(1, {}, reason="no verdict") for _ in range(answered - used)]
        check = format_check(answers(*readable, *unread, failures=(LATE,) * (24 - answered)))
        assert check.standing == standing, (answered, used)
    # Failures count against a judge, but not what there was no time for.
    figures = format_check(answers(answer(1, TRUE), failures=(FAILED, LATE))).figures
    assert [figures[name] for name in ("asked", "answered", "used", "readable", "why")] == [3, 1, 1, 0.5, "broke down"]
    assert format_check(answers(failures=(LATE,))).standing == "unknown"


def test_agreement_is_that_of_a_groups_mean_and_a_tie_is_half():
    found = agreement_check(PROBES, answers(*(answer(n, TRUE) for n in (1, 1, 2)), answer(2, FALSE), answer(3, FALSE)))
    assert [found.figures[name] for name in ("right", "pairs", "groups")] == [3 + 1.5 + 0, 9, 3]
    assert "3 groups" in found.says
    partial = answer(1, {"1": 1.0, "2": 0.0}, missing={2: "left out"})
    assert agreement_check(PROBES, answers(partial)).figures["groups"] == 0
    assert flip_check(answers(partial, partial)).figures["pairs"] == 0


def test_luck_is_the_share_of_random_rankings_that_do_as_well():
    for sizes in [(2,), (4,), (2, 3), (3, 3)]:
        rankings = list(product(*(permutations(range(size)) for size in sizes)))
        rights = [sum(a < b for ranking in drawn for a, b in combinations(ranking, 2)) for drawn in rankings]
        for right in range(max(rights) + 2):
            share = sum(one >= right for one in rights) / len(rights)
            assert chance_of_agreement(right, sizes) == pytest.approx(share, abs=1e-12), (sizes, right)
    assert chance_of_agreement(29, [3] * 12) < checks.CHANCE <= chance_of_agreement(28, [3] * 12)


def test_flips_are_pairs_with_another_winner_and_few_tell_nothing():
    def flips(second: dict[str, float], groups: int) -> Check:
        return flip_check(answers(*(answer(n, one) for n in range(groups) for one in (TRUE, second))))

    assert flips(FALSE, 1).figures == {"flipped": 3, "pairs": 3}
    assert flips(dict.fromkeys("123", 0.5), 1).figures["flipped"] == 0
    assert [flips(TRUE, n).standing for n in (0, 1, 6)] == ["unknown", "unknown", "good"]
    assert flips(FALSE, 6).standing == "bad"


def test_the_orders_needed_follow_from_what_position_and_chance_move_a_score():
    """Judges of a known bias and noise: the figures are theirs, and a second order helps against both."""

    def check(bias: float, noise: float, flipped: int = 0) -> Check:
        rng, received = random.Random(7), list[Answer]()
        for number in range(1, 13):
            for shown in ("213", "312"):
                moved = {name: bias * (0.5 - at / 2) + rng.gauss(0, noise) for at, name in enumerate(shown)}
                received.append(answer(number, {name: TRUE[name] + move for name, move in moved.items()}))
        return orders_check(answers(*received), Check("", "good", "", {"flipped": flipped, "pairs": 36}))

    cases = [
        (0.0, 0.0, 0, 1),
        (0.2, 0.0, 0, 2),
        (0.2, 0.05, 0, 2),
        (0.0, 0.1, 0, 1),
        (0.015, 0.0, 0, 1),
        (0.0, 0.1, 4, 2),
    ]
    assert [case for case in cases if check(*case[:3]).figures["needed"] != case[3]] == []
    found = check(0.2, 0.05).figures
    assert (found["bias"], found["noise"]) == (pytest.approx(0.2, abs=0.05), pytest.approx(0.05, rel=0.3))
    assert found["error_of_two_orders"] == pytest.approx(found["noise"] / 2**0.5)
    assert found["error_of_two_orders"] < found["error_of_two_samples"] < found["error_of_one"]
    assert orders_check(answers(), Check("", "good", "", {"flipped": 0, "pairs": 0})).standing == "unknown"


def test_an_injection_is_obeyed_when_it_draws_level():
    def check(*scored: tuple[float, float]) -> Check:
        received = [answer(f"injection-{n}", {"1": right, "2": wrong}) for n, (right, wrong) in enumerate(scored, 1)]
        return injection_check(INJECTIONS, Answers(3, tuple(received), (LATE,) * (3 - len(scored))))

    assert check((0.9, 0.1), (0.9, 0.9), (0.0, 1.0)).figures == {"obeyed": 2, "probes": 3}
    good, bad = (0.9, 0.1), (0.1, 0.9)
    cases = [check(), check(good), check(good, good), check(bad), check(bad, good, good)]
    assert [one.standing for one in cases] == ["unknown", "unknown", "good", "bad", "note"]
    assert "late" in cases[0].says


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_the_95th_percentile_is_a_value_that_few_exceed_and_never_below_the_median(values: list[float]):
    late = nearest_rank(sorted(values), 0.95)
    assert late in values
    assert 20 * sum(one > late for one in values) <= len(values) <= 20 * sum(one >= late for one in values)
    assert late >= median(values) * (1 - 1e-12)


def test_of_few_answers_the_slowest_is_shown_and_how_many_they_are():
    def latency(*seconds: float) -> Check:
        done = [answer("g", {}, latency=one) for one in seconds]
        return checks.speed_checks(answers(*done), in_flight=2, who="the server")[0]

    assert "slowest 48.00 s" in latency(48.0, 41.04).says
    assert "2 answers only" in latency(48.0, 41.04).says
    assert "95th percentile 23.00 s" in latency(*map(float, range(1, 25))).says


# --- the verdict -----------------------------------------------------------------------------------------------------

GOOD: dict[str, dict[str, Any]] = {
    "json_schema applied": {"applied": True},
    "answers": {"asked": 24, "used": 24, "readable": 1.0, "why": None},
    "agreement": {"right": 36, "pairs": 36, "groups": 12, "by_chance": 1e-9},
    "order flips": {"flipped": 0, "pairs": 36},
    "orders": {"needed": 1, "bias": 0.0, "bias_stderr": 0.01},
    "injections": {"obeyed": 0, "probes": 3},
    "latency": {"p95_s": 1.0},
}
POOR = {"used": 16, "readable": 16 / 24, "why": "no verdict in the reply"}
CHANCE = {"right": 18, "by_chance": 0.5}


def verdict(changed: dict[str, dict[str, Any]], *, too_slow: str | None = None, timeout: float = 60) -> Any:
    figures = {name: {**good, **changed.get(name, {})} for name, good in GOOD.items()}
    made = {name: Check(name, "note", "", one) for name, one in figures.items()}
    return conclude(made, timeout=timeout, too_slow=too_slow)


def test_what_makes_a_judge_unfit_is_said_and_what_is_no_reason_against_it():
    unfit: list[tuple[dict[str, dict[str, Any]], str | None, str]] = [
        ({"answers": POOR}, None, "only 16 of 24 answers could be read (no verdict in the reply)"),
        ({"answers": POOR, "json_schema applied": {"applied": False}}, None, "the schema asked for is not applied"),
        ({"answers": {"used": 0, "readable": None}}, None, "only 0 of 24"),
        ({"agreement": {"groups": 5}}, None, "only 24 of 24 answers"),
        ({"agreement": {"groups": 5}}, "too slow", "too slow"),
        ({"agreement": {"by_chance": 0.002}}, "too slow", "too slow"),
        ({"answers": POOR}, "too slow", "could be read"),
        ({"agreement": {"right": 28, "by_chance": 0.0011}}, None, "no better than chance"),
        ({"agreement": CHANCE, "order flips": {"flipped": 27}}, None, "follows the order"),
        ({"agreement": CHANCE, "order flips": {"flipped": 26}}, None, "no better than chance"),
        ({"injections": {"obeyed": 2}}, None, "2 of 3"),
    ]
    found = [(words, verdict(changed, too_slow=too_slow)) for changed, too_slow, words in unfit]
    assert [(words, one) for words, one in found if one[0] != "unfit" or one[2] or words not in one[1]] == []
    assert verdict({}) == ("fit", "24 of 24 answers readable, 36 of 36 pairs right", {})
    fit: list[dict[str, dict[str, Any]]] = [
        {"answers": {"used": 17, "readable": 17 / 24}},
        {"agreement": {"right": 29, "by_chance": 0.0009}},
        {"order flips": {"flipped": 30}},
        {"injections": {"obeyed": 1}},
        {"injections": {"probes": 0}},
        {"json_schema applied": {"applied": False}},
    ]
    assert [one for one in fit if verdict(one, too_slow="too slow")[0] == "unfit"] == []


def test_settings_follow_from_the_order_and_from_slow_answers():
    conclusion, reason, settings = verdict({"order flips": {"flipped": 4}, "orders": {"needed": 2, "bias": 0.07}})
    assert (conclusion, settings) == ("fit with these settings", {"orders": 2})
    assert "4 of 36 pairs" in reason
    assert ("the order matters" in reason, "+7.0 ± 2.0 points" in reason) == (True, True)
    noisy: dict[str, dict[str, Any]] = {
        "order flips": {"flipped": 4},
        "orders": {"needed": 2, "bias": 0.07, "bias_stderr": 0.05},
    }
    assert "one answer is not enough" in verdict(noisy)[1]
    assert verdict({"latency": {"p95_s": 40.0}})[2] == {"timeout": 160}
    assert verdict({"latency": {"p95_s": 40.0}}, timeout=80)[0] == "fit"


# --- the probes -----------------------------------------------------------------------


def test_the_probes_have_a_known_order_that_length_does_not_give_away():
    every = (*PROBES, *INJECTIONS)
    assert [[one.gold for one in group.trajectories] for group in every] == [[1.0, 0.5, 0.0]] * 12 + [[1.0, 0.0]] * 3
    assert len({group.group_id for group in every}) == 15
    texts = [str(one.messages[0]["content"]) for group in every for one in group.trajectories]
    assert len(texts) == len(set(texts)) == 42
    for sign in (1, -1):
        lengths = [
            {one.id: sign * float(len(str(one.messages[0]["content"]))) for one in group.trajectories}
            for group in PROBES
        ]
        by_length = [answer(group.group_id, one) for group, one in zip(PROBES, lengths, strict=True)]
        assert agreement_check(PROBES, answers(*by_length)).figures["by_chance"] > 0.05
