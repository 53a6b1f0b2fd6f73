"""Checks and verdict from answers of every kind, counted by hand and by brute force."""

from __future__ import annotations

import json
from itertools import combinations, permutations, product
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.transport.reply import HttpReply
from calipers.doctor import checks
from calipers.doctor.checks import agreement_check, chance_of_agreement, flip_check, format_check, injection_check
from calipers.doctor.diagnosis import Check
from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.doctor.server import model_rows, window_of
from calipers.doctor.verdict import conclude
from calipers.types import Ask, Completion, Failure, Reading

TRUE = {"1": 1.0, "2": 0.5, "3": 0.0}
FALSE = {"1": 0.0, "2": 0.5, "3": 1.0}
LATE, FAILED = Failure("deadline", "late"), Failure("server", "broke down")


def answer(group: object, scores: dict[str, float], **reading: Any) -> Answer:
    name = f"probe-{group}" if isinstance(group, int) else str(group)
    return Answer(name, Ask(0, (0, 1, 2), (0, 1, 2)), Completion(""), Reading((), "strict", **reading), scores)


def answers(*every: Answer, failures: tuple[Failure, ...] = ()) -> Answers:
    return Answers(len(every) + len(failures), every, failures)


def test_answers_are_good_only_if_all_of_them_came():
    cases = [(24, 24, "good"), (23, 23, "note"), (12, 12, "note"), (2, 2, "unknown"), (20, 10, "bad"), (24, 20, "note")]
    wrong = []
    for answered, used, standing in cases:
        readable = [answer(1, TRUE) for _ in range(used)]
        unread = [answer(1, {}, reason="no verdict") for _ in range(answered - used)]
        check = format_check(answers(*readable, *unread, failures=(LATE,) * (24 - answered)))
        if check.standing != standing:
            wrong.append((answered, used, check))
    assert not wrong


def test_failures_count_against_a_judge_but_not_what_there_was_no_time_for():
    figures = format_check(answers(answer(1, TRUE), failures=(FAILED, LATE))).figures
    assert [figures[name] for name in ("asked", "answered", "used", "readable", "why")] == [3, 1, 1, 0.5, "broke down"]
    assert format_check(answers(failures=(LATE,))).standing == "unknown"


def test_ids_and_range_are_shares_of_answers_that_held_scores():
    unread: dict[str, Any] = {"missing": {0: "x"}, "reason": "r"}
    figures = format_check(
        answers(
            answer(1, TRUE),
            answer(2, {}, complaint="its scores were not on the scale", **unread),
            answer(3, {}, complaint="it named an attempt that does not exist, or", **unread),
            answer(4, {}, complaint="it held no scores that could be read", **unread),
        )
    ).figures
    assert (figures["used"], figures["readable"]) == (1, 0.25)
    assert figures["ids"] == figures["on_scale"] == pytest.approx(2 / 3)


def test_agreement_is_that_of_a_groups_mean_and_a_tie_is_half():
    found = agreement_check(PROBES, answers(*(answer(n, TRUE) for n in (1, 1, 2)), answer(2, FALSE), answer(3, FALSE)))
    assert [found.figures[name] for name in ("right", "pairs", "groups")] == [3 + 1.5 + 0, 9, 3]
    assert "3 groups" in found.says
    partial = answer(1, {"1": 1.0, "2": 0.0}, missing={2: "left out"})
    assert agreement_check(PROBES, answers(partial)).figures["groups"] == 0
    assert flip_check(answers(partial, partial)).figures["pairs"] == 0


@pytest.mark.parametrize("sizes", [(2,), (4,), (2, 3), (3, 3)])
def test_luck_is_the_share_of_random_rankings_that_do_as_well(sizes: tuple[int, ...]):
    rankings = list(product(*(permutations(range(size)) for size in sizes)))
    rights = [sum(a < b for ranking in drawn for a, b in combinations(ranking, 2)) for drawn in rankings]
    for right in range(max(rights) + 2):
        share = sum(one >= right for one in rights) / len(rights)
        assert chance_of_agreement(right, sizes) == pytest.approx(share)


def test_twenty_nine_of_thirty_six_pairs_are_needed_to_show_anything():
    assert chance_of_agreement(29, [3] * 12) < checks.CHANCE <= chance_of_agreement(28, [3] * 12)


def test_flips_are_pairs_with_another_winner_and_few_tell_nothing():
    def flips(second: dict[str, float], groups: int) -> Check:
        return flip_check(answers(*(answer(n, one) for n in range(groups) for one in (TRUE, second))))

    assert flips(FALSE, 1).figures == {"flipped": 3, "pairs": 3}
    assert flips(dict.fromkeys("123", 0.5), 1).figures["flipped"] == 0
    assert [flips(TRUE, n).standing for n in (0, 1, 6)] == ["unknown", "unknown", "good"]
    assert flips(FALSE, 6).standing == "bad"


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
    late = checks.nearest_rank(values, 0.95)
    assert late in values
    assert 20 * sum(one > late for one in values) <= len(values) <= 20 * sum(one >= late for one in values)
    assert late >= median(values) * (1 - 1e-12)


def test_of_few_answers_the_slowest_is_told_and_how_many_they_are():
    def latency(*seconds: float) -> Check:
        done = [Answer("g", Ask(0, (0,), (0,)), Completion("", latency=s), Reading((), "strict"), {}) for s in seconds]
        return checks.speed_checks(answers(*done), in_flight=2, who="the server")[0]

    assert "slowest 48.00 s" in latency(48.0, 41.04).says
    assert "2 answers only" in latency(48.0, 41.04).says
    assert "95th percentile 23.00 s" in latency(*map(float, range(1, 25))).says


# --- the verdict -----------------------------------------------------------------------------------------------------

GOOD: dict[str, dict[str, Any]] = {
    "json_schema applied": {"applied": True},
    "json_object applied": {"applied": True},
    "answers": {"asked": 24, "used": 24, "readable": 1.0, "why": None},
    "agreement": {"right": 36, "pairs": 36, "groups": 12, "by_chance": 1e-9},
    "order flips": {"flipped": 0, "pairs": 36},
    "injections": {"obeyed": 0, "probes": 3},
    "latency": {"p95_s": 1.0},
}
POOR = {"used": 16, "readable": 16 / 24, "why": "no verdict in the reply"}
CHANCE = {"right": 18, "by_chance": 0.5}


def verdict(changed: dict[str, dict[str, Any]], *, too_slow: str | None = None, timeout: float = 60) -> Any:
    figures = {name: {**good, **changed.get(name, {})} for name, good in GOOD.items()}
    made = {name: Check(name, "note", "", one) for name, one in figures.items()}
    return conclude(made, timeout=timeout, too_slow=too_slow)


def test_a_judge_without_a_fault_is_fit():
    assert verdict({}) == ("fit", "24 of 24 answers readable, 36 of 36 pairs right", {})


@pytest.mark.parametrize(
    ("changed", "too_slow", "words"),
    [
        ({"answers": POOR}, None, "only 16 of 24 answers could be read (no verdict in the reply)"),
        ({"answers": POOR, "json_schema applied": {"applied": False}}, None, "response_format"),
        ({"answers": {"used": 0, "readable": None}}, None, "only 0 of 24"),
        ({"agreement": {"groups": 5}}, None, "only 24 of 24 answers"),
        ({"agreement": {"groups": 5}}, "too slow", "too slow"),
        ({"agreement": {"by_chance": 0.002}}, "too slow", "too slow"),
        ({"answers": POOR}, "too slow", "could be read"),
        ({"agreement": {"right": 28, "by_chance": 0.0011}}, None, "no better than chance"),
        ({"agreement": CHANCE, "order flips": {"flipped": 27}}, None, "follows the order"),
        ({"agreement": CHANCE, "order flips": {"flipped": 26}}, None, "no better than chance"),
        ({"injections": {"obeyed": 2}}, None, "2 of 3"),
    ],
)
def test_what_makes_a_judge_unfit_is_said(changed: dict[str, dict[str, Any]], too_slow: str | None, words: str):
    conclusion, reason, settings = verdict(changed, too_slow=too_slow)
    assert (conclusion, settings) == ("unfit", {})
    assert words in reason


def test_what_is_no_reason_against_a_judge():
    cases: list[dict[str, dict[str, Any]]] = [
        {"answers": {"used": 17, "readable": 17 / 24}},
        {"agreement": {"right": 29, "by_chance": 0.0009}},
        {"order flips": {"flipped": 30}},
        {"injections": {"obeyed": 1}},
        {"injections": {"probes": 0}},
        {"json_schema applied": {"applied": False}},
    ]
    assert [one for one in cases if verdict(one, too_slow="too slow")[0] == "unfit"] == []


def test_settings_follow_from_flips_and_from_slow_answers():
    assert verdict({"order flips": {"flipped": 3}})[0] == "fit"
    conclusion, reason, settings = verdict({"order flips": {"flipped": 4}})
    assert (conclusion, settings) == ("fit with these settings", {"orders": 2})
    assert "4 of 36 pairs" in reason
    assert verdict({"latency": {"p95_s": 40.0}})[2] == {"timeout": 160}
    assert verdict({"latency": {"p95_s": 40.0}}, timeout=80)[0] == "fit"


# --- a server's list of models ---------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "id", "meta", "n_ctx"]), inner)
    ),
    max_leaves=12,
)


@given(JSON.map(lambda body: json.dumps(body).encode()) | st.binary(max_size=30), st.text(max_size=5))
def test_any_list_is_read_to_rows_with_names_and_a_window_that_can_be_one(body: bytes, model: str):
    rows = model_rows(HttpReply(200, {}, body))
    assert rows is None or all(isinstance(row["id"], str) for row in rows)
    window = window_of(rows or [], model)
    assert window is None or window > 0
    assert model_rows(HttpReply(404, {}, body)) is None


def test_each_server_tells_its_window_in_its_own_words():
    words = ("max_model_len", "context_window", "context_length", "max_context_length")
    rows: list[dict[str, Any]] = [{"id": "m", word: 4096} for word in words]
    rows.append({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}})
    assert [window_of([{"id": "other", "max_model_len": 1}, row], "m") for row in rows] == [4096] * len(rows)
    assert window_of([rows[0]], "any name") == 4096
    assert window_of([rows[0], {"id": "n"}], "any name") is None
