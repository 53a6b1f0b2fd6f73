"""Health: numbers where something is known, no key where nothing is, and never NaN; staleness of rollouts."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.guard.canary import CanaryAmong
from calipers.monitoring.answers import Answer, Shape, answer_for_metrics, candidate_shapes, markdown_marks
from calipers.monitoring.health import health
from calipers.monitoring.monitor import Monitor
from calipers.monitoring.staleness import NewestVersion
from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import (
    Ask,
    Attack,
    Canary,
    Completion,
    GroupResult,
    Rating,
    Reading,
    Reliability,
    TrajectoryResult,
    Usage,
)
from groups import group_of


def result(
    rewards: dict[str, float | None],
    group_id: str = "g",
    *,
    calls: int = 1,
    cost: float | None = None,
    **fields: object,
) -> GroupResult:
    members = tuple(
        TrajectoryResult(name, "abstained", reason="why")
        if reward is None
        else TrajectoryResult(name, "scored", reward, reward)
        for name, reward in rewards.items()
    )  # fmt: skip
    status = "scored" if None not in rewards.values() else "partial"
    return GroupResult(group_id, status, members, calls, Usage(100, 10, 5, cost), **fields)  # type: ignore[arg-type]


def answer(values: dict[int, float], group_id: str = "g", **fields: object) -> Answer:
    last = max(1, len(values) - 1)
    given = {
        "slot": 0, "presentation": 0, "cause": "first", "outcome": "strict", "truncated": False,
        "ratings": tuple((item, place / last, value) for place, (item, value) in enumerate(values.items())),
        "shapes": (), "canary": None, "usage": Usage(), "latency": 1.0, "attempts": 1,
    } | fields  # fmt: skip
    return Answer(group_id=group_id, **given)  # type: ignore[arg-type]


def test_nothing_known_is_no_key_and_not_zero():
    assert health([]) == {
        "judge/groups": 0.0, "judge/trajectories": 0.0,
        "judge/input_tokens": 0.0, "judge/output_tokens": 0.0, "judge/cached_tokens": 0.0,
    }  # fmt: skip
    assert "judge/parse_failure_rate" not in health([result({"a": 1.0})])
    assert "judge/cost_usd" not in health([result({"a": 1.0}), result({"a": 1.0}, cost=0.5)])


def measured(results: Iterable[GroupResult], answers: Iterable[Answer] = (), *names: str) -> list[float | None]:
    """Metrics of a batch, None where one has no key."""
    found = health(list(results), list(answers))
    return [found.get(f"judge/{name}") for name in names]


def test_unknown_reliability_is_neither_0_nor_1():
    pair: dict[str, float | None] = {"a": 1.0, "b": 0.0}
    names = ("reliability_known_rate", "reliability_mean", "all_noise_rate")
    assert measured([result(pair)], (), *names) == [0, None, None]
    known = [result(pair, reliability=Reliability(value, None, "repeats", 3)) for value in (0.0, 0.6)]
    found = measured([*known, result(pair), result({"a": 1.0})], (), *names)
    assert found == [pytest.approx(2 / 3), pytest.approx(0.3), 0.5]
    assumed = result(pair, reliability=Reliability(0.0, None, "assumed", None))
    assert health([*known, assumed])["judge/all_noise_rate"] == 0.5


def test_outcomes_costs_and_spread():
    results = [result({"a": 1.0, "b": 0.0}, cost=0.5), result({"a": 0.5, "b": 0.5, "c": None}, calls=3, cost=0.25)]
    expected = {
        "scored_rate": 0.8, "abstention_rate": 0.2, "tie_rate": 0.5, "flat_group_rate": 0.5, "reward_mean": 0.5,
        "reward_std": pytest.approx(math.sqrt(0.5) / 2), "calls_per_group": 2.0, "unusable_rate": None,
        "cost_usd": 0.75, "input_tokens": 200,
    }  # fmt: skip
    assert dict(zip(expected, measured(results, (), *expected), strict=True)) == expected
    assert measured([result({"a": 1.0}, cost=0.5), result({"a": 0.5}, calls=0)], (), "cost_usd") == [0.5]
    vain = [result({"a": 1.0}, attempts=4, unusable=1), result({"a": 1.0}, attempts=2)]
    assert measured(vain, (), "attempts_per_group", "unusable_rate") == [3.0, 1 / 6]
    assert health([], disagreements=[0.2, 0.4])["judge/audit_disagreement"] == pytest.approx(0.3)


def test_attacks_are_counted_by_trajectory_and_kind():
    attacks: dict[str, list[tuple[Any, Any]]] = {
        "a": [("instruction", "certain"), ("instruction", "certain"), ("layout", "likely")],
        "b": [("score_claim", "suspicious")], "c": [], "d": [],
    }  # fmt: skip
    members = tuple(
        TrajectoryResult(name, "scored", 1.0, attacks=tuple(Attack(kind, 0, "tool", "x", how) for kind, how in of))
        for name, of in attacks.items()
    )
    names = ("certain_attack_rate", "attack_rate", "attacks/instruction", "attacks/layout")
    assert measured([GroupResult("g", "scored", members)], (), *names) == [0.25, 0.5, 1, 1]


def test_replies_reasks_canaries_latency_and_cache():
    answers = [
        answer({0: 0.1, 1: 0.9}, latency=1.0, canary=Canary("empty", won=False)),
        answer({}, outcome="rejected", latency=2.0),
        answer({0: 0.2, 1: 0.8}, cause="doubt", latency=3.0, attempts=3),
        answer({}, outcome="rejected", latency=9.0, canary=Canary("empty", won=True), recorded=True),
    ]
    expected = {
        "parse_failure_rate": 0.25,  # the verdict that a canary won was read well
        "reask_rate": pytest.approx(1 / 3), "retry_rate": 0.5, "canary_win_rate": 0.5, "cache_hit_rate": 0.25,
        "latency_p50": 2.0, "latency_p99": 3.0,
    }  # fmt: skip
    assert dict(zip(expected, measured([], answers, *expected), strict=True)) == expected


def test_flips_and_noise_compare_presentations_of_one_group_to_one_judge():
    first, turned = answer({0: 0.1, 1: 0.5, 2: 0.9}), {0: 0.9, 1: 0.5, 2: 0.1}
    same = [first, answer({2: 0.9, 1: 0.5, 0: 0.1}, presentation=1)]
    assert measured([], same, "order_flip_rate", "noise_sd") == [0.0, 0.0]
    assert measured([], [first, answer(turned, presentation=1)], "order_flip_rate") == [1.0]
    apart = [first, answer(turned, presentation=1, slot=1), answer({0: 0.9}, "other")]
    assert measured([], apart, "order_flip_rate") == [None]


def test_noise_is_that_of_one_score_whatever_the_judges_hand():
    drawn = random.Random(3)
    answers = []
    for group in range(300):
        for presentation in range(3):
            hand = drawn.uniform(-0.2, 0.2)
            values = {item: item / 5 + hand + drawn.gauss(0, 0.1) for item in range(5)}
            answers.append(answer(values, f"g{group}", presentation=presentation))
    assert health([], answers)["judge/noise_sd"] == pytest.approx(0.1, rel=0.05)


def test_biases_are_within_groups():
    """Groups that differ in level and length, but not inside, show no length bias; rewards that follow length do."""
    flat, biased, answers = [], [], []
    for number in range(20):
        level = number / 20
        shapes = tuple(Shape((name,), 100 * (number + 1) * (place + 1), place) for place, name in enumerate("abc"))
        answers.append(answer({0: 0.9, 1: 0.5, 2: 0.1}, f"g{number}", shapes=shapes))
        wave = (0.1, -0.2, 0.1)
        flat.append(result({name: level + wave[place] for place, name in enumerate("abc")}, f"g{number}"))
        biased.append(result({name: level / 2 + 0.2 * place for place, name in enumerate("abc")}, f"g{number}"))
    assert abs(health(flat, answers)["judge/length_correlation"]) < 0.3
    assert health(biased, answers)["judge/length_correlation"] > 0.95
    assert health(biased, answers)["judge/position_correlation"] == pytest.approx(-1.0)


def test_what_is_lost_is_held_against_length_and_level():
    results, answers = [], []
    for number in range(10):
        shapes = (Shape(("a",), 10, 0), Shape(("b",), 10_000, 0))
        answers.append(answer({0: 0.9}, f"g{number}", shapes=shapes))
        results.append(result({"a": 0.1 * number, "b": None}, f"g{number}"))
    assert measured(results, answers, "abstention_length_correlation") == [pytest.approx(1.0)]


RATINGS = st.dictionaries(st.integers(0, 5), st.floats(0, 1), max_size=6)
REWARDS = st.dictionaries(st.sampled_from("abcdef"), st.none() | st.floats(-5, 5), min_size=1, max_size=6)


@given(st.lists(REWARDS, max_size=12), st.lists(RATINGS, max_size=12))
def test_every_value_is_finite_and_correlations_are_in_range(rewards: list, ratings: list):  # type: ignore[type-arg]
    results = [result(one, f"g{n}") for n, one in enumerate(rewards)]
    shapes = tuple(Shape((name,), 10 * place, place) for place, name in enumerate("abcdef"))
    answers = [answer(one, f"g{n // 2}", presentation=n, shapes=shapes) for n, one in enumerate(ratings)]
    found = health(results, answers)
    assert all(math.isfinite(value) for value in found.values())
    assert all(re.fullmatch(r"[\w/.-]+", name) for name in found), "trackers refuse other names"
    assert all(-1 <= value <= 1 for key, value in found.items() if key.endswith("_correlation"))
    per_answer = {"judge/reask_rate", "judge/retry_rate"}
    assert all(0 <= value <= 1 for key, value in found.items() if key.endswith("_rate") and key not in per_answer)


def test_rewards_of_any_size_have_the_metrics_of_rewards_around_one():
    shapes = tuple(Shape((name,), 10 * 4**place, place) for place, name in enumerate("abcd"))
    answers = [answer({0: 0.1, 1: 0.4, 2: 0.5, 3: 1.0}, f"g{number}", shapes=shapes) for number in range(8)]

    def found(scale: float) -> dict[str, float]:
        rewards: dict[str, float | None] = {"a": 0.0, "b": 0.25 * scale, "c": 0.5 * scale, "d": scale}
        return health([result(rewards, f"g{number}") for number in range(8)], answers)

    plain, of_rewards = found(1.0), {"judge/reward_mean", "judge/reward_std"}
    for size in (1e160, 1e-160, 1.7e308):
        other = found(size)
        scaled = {key: value * (size if key in of_rewards else 1) for key, value in plain.items()}
        assert all(map(math.isfinite, other.values()))
        assert other == pytest.approx(scaled)
    beyond = health([result({"a": 1.7e308, "b": -1.7e308})])
    assert ("judge/reward_std" in beyond, beyond["judge/reward_mean"]) == (False, 0)


def test_a_judge_that_is_served_by_another_model_from_some_answer_on_is_noticed():
    def rate(names: list[str], *, recorded: bool = False) -> float | None:
        answers = [answer({0: 0.5, 1: 0.7}, served=name, recorded=recorded) for name in names]
        return health([], answers).get("judge/served_change_rate")

    assert rate(["m v1"] * 16) == 0.0
    assert rate(["m v1"] * 13 + ["m v2"] * 3) == 0.75
    assert rate(["m v1", "m v2"] * 8) == 0.0  # two servers of a pool, or a provider that alternates
    assert rate(["m v1"] * 4 + ["m v2"] * 2) is None  # too few to tell
    assert rate([""] * 16) is None  # a server that names nothing
    assert rate(["m v1"] * 13 + ["m v2"] * 3, recorded=True) is None  # a ledger's answers are of their time


VIEW = render(group_of({"plain": "forty two", "marked": "# Answer\n\n- **forty** two\n- `42`", "twin": "forty two"}))
ASK = Ask(3, (0, 1), (1, 0), cause="first")


def test_shapes_count_own_characters_and_marks_of_markdown():
    marked, plain = candidate_shapes(VIEW)
    assert plain == Shape(("plain", "twin"), len("forty two"), 0)
    assert (marked.ids, marked.marks) == (("marked",), 5)


def test_an_answer_keeps_who_said_what_where():
    request = Listwise().frame(ASK, VIEW)
    reading = Reading((Rating(1, 0.9, 3, 0), Rating(0, 0.1, 3, 1)), "strict")
    completion = Completion("x", usage=Usage(7, 3), latency=2.5, attempts=2, recorded=True)
    kept = answer_for_metrics(request, completion, reading)
    assert kept.ratings == ((1, 0.0, 0.9), (0, 1.0, 0.1))
    assert (kept.group_id, kept.presentation, kept.latency, kept.attempts, kept.recorded) == ("g", 3, 2.5, 2, True)
    assert len(kept.shapes) == 2
    assert not kept.is_follow_up


def test_a_canary_has_no_shape():
    request = CanaryAmong(Listwise(), 1.0).frame(ASK, VIEW)
    assert len(request.view.candidates) == 3
    assert len(answer_for_metrics(request, Completion("x"), Reading((), "rejected")).shapes) == 2


@given(st.text(st.sampled_from(" #*`|>-+1.)a\n\r\u2028\u0663"), max_size=40))
def test_marks_of_markdown_are_counted_as_one_pattern_over_the_whole_text_counts_them(text: str):
    marks = re.compile(r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |>|```|\|)|\*\*[^*\n]+\*\*|`[^`\n]+`", re.MULTILINE)
    assert markdown_marks(text) == sum(1 for _ in marks.finditer(text))


def judged(*members: tuple[Any, float | None], **about: Any) -> GroupResult:
    """A group's result: for each trajectory the versions that it states, and its reward."""
    rows = []
    for number, (version, reward) in enumerate(members):
        extra = {} if version is None else {"metadata": {"policy_version": version}}
        rows.append(TrajectoryResult(str(number), "failed" if reward is None else "scored", reward, extra=extra))
    return GroupResult("g", "scored", tuple(rows), extra=about)


def staleness(*results: GroupResult) -> dict[str, float | None]:
    names = ("policy_version", "version_known_rate", "staleness_mean", "staleness_max", "stale_rate")
    return dict(zip(names, measured(results, (), *names), strict=True))


def test_no_version_is_no_metric_and_not_0():
    found = staleness(judged((None, 1.0), (None, 0.0)), judged(("default", 1.0), (-1, 0.0)))
    assert set(found.values()) == {None}


def test_staleness_is_behind_the_stated_current_version_and_an_unknown_one_counts_nowhere():
    found = staleness(judged((10, 1.0), ([6, 9], 0.5), (None, 0.0), current_version=12))
    assert found == {
        "policy_version": 10, "version_known_rate": pytest.approx(2 / 3), "staleness_mean": 4, "staleness_max": 6,
        "stale_rate": 0.5,
    }  # fmt: skip


def test_without_a_stated_current_version_it_is_the_newest_that_any_rollout_showed_so_far():
    found = staleness(judged((3, 1.0), (3, 0.0)), judged((7, 1.0), (7, 0.0)), judged((5, 1.0), (5, 0.0)))
    assert found["staleness_mean"] == pytest.approx(2 / 3)
    assert found["staleness_max"] == 2
    # A policy that was updated while the group waited is not behind itself.
    assert staleness(judged((8, 1.0), (9, 0.0), current_version=8))["staleness_max"] == 0
    found = staleness(judged((None, 1.0), (4, 0.0), policy_version=2, current_version=5))
    assert (found["version_known_rate"], found["staleness_mean"]) == (1, 2)


def test_a_group_that_states_its_current_version_keeps_it_and_one_without_versions_stays_as_it_is():
    newest = NewestVersion()
    plain = judged((None, 1.0))
    assert newest.dated(plain) is plain
    stated = judged((3, 1.0), current_version=6)
    assert newest.dated(stated) is stated
    assert newest.dated(judged((4, 1.0))).extra["current_version"] == 6


async def test_a_monitor_remembers_the_newest_version_from_batch_to_batch():
    monitor = Monitor()
    judge = calipers.Judge("embedded", records={"watchers": [monitor]})
    batches = []
    for number, version in ((1, 8), (2, 5)):
        said = [[{"role": "assistant", "content": f"{text} {number}"}] for text in "ab"]
        members = [{"messages": messages, "policy_version": version} for messages in said]
        result = await judge.score_group({"group_id": f"g{number}", "trajectories": members})
        batches.append(monitor.batch())
    assert [one["judge/staleness_max"] for one in batches] == [0, 3]
    assert batches[1]["judge/stale_rate"] == 0
    assert monitor.metrics()["judge/staleness_mean"] == 1.5
    assert "current_version" not in result.to_dict()  # results do not depend on what was judged before
