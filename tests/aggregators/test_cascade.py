"""When a judge is sure of a group, and what checks do to its threshold."""

from collections import Counter

import pytest

from calipers.aggregators.cascade import Rule, Watch, confidence, disagreement
from calipers.types import Scores


def scores(*values: float | None) -> Scores:
    return Scores(values, (None,) * len(values))


def test_confidence_is_the_lead_or_the_spread_of_complete_scores():
    assert confidence(scores(0.9, 0.2, 0.6), "lead") == pytest.approx(0.3)
    assert confidence(scores(0.1, 0.1, 0.7, 0.7), "spread") == pytest.approx(0.3)
    assert confidence(scores(0.5, 0.5, 0.1), "lead") == 0
    assert confidence(scores(0.9, None, 0.2), "lead") is None
    assert confidence(scores(0.9), "spread") is None


def test_disagreement_runs_from_agreement_to_contradiction_and_chance_is_the_middle():
    assert disagreement(scores(1, 2, 3), scores(0.1, 0.2, 0.3)) == 0
    assert disagreement(scores(1, 2, 3), scores(3, 2, 1)) == 1
    assert disagreement(scores(1, 2, 3), scores(5, 5, 5)) == 0.5
    assert disagreement(scores(1, None, 3), scores(1, 2, None)) is None


def test_the_rule_says_why_another_judge_is_asked():
    rule = Rule((0.2,), share=0.0)
    assert rule.next_step(scores(0.9, 0.1), 0, 0.2, "d") == "sure"
    assert rule.next_step(scores(0.9, 0.1), 0, 0.9, "d") == "unsure"
    assert rule.next_step(scores(0.2, 0.1), 0, 0.2, "d") == "unsure"
    assert rule.next_step(scores(0.2, None), 0, 0.0, "d") == "unusable"
    assert Rule((0.2,), share=1.0).next_step(scores(0.9, 0.1), 0, 0.95, "d") == "check"


def test_checks_are_drawn_alike_for_equal_texts_and_at_their_share():
    rule = Rule((0.0,), share=0.25)
    steps = [rule.next_step(scores(0.9, 0.1), 0, 0.0, str(draw)) for draw in range(2000)]
    assert steps == [rule.next_step(scores(0.9, 0.1), 0, 0.0, str(draw)) for draw in range(2000)]
    assert 0.22 < Counter(steps)["check"] / 2000 < 0.28


def test_the_threshold_rises_with_errors_and_falls_back_to_where_it_began_but_not_below():
    watch = Watch.begin(0.2, 0.1)
    for _ in range(5):
        watch = watch.after(0.4, trusted=True)
    raised = watch.threshold
    assert raised == pytest.approx(0.2 + 5 * 0.2 * 0.2 * 0.3)
    for _ in range(200):
        watch = watch.after(0.0, trusted=True)
    assert watch.threshold == 0.2
    assert raised > watch.after(0.9, trusted=False).threshold == 0.2  # its scores did not count


def test_a_judge_within_its_limit_is_not_breached_and_one_beyond_it_stays_breached():
    good = bad = Watch.begin(0.2, 0.25)
    for number in range(600):
        good = good.after(0.1 if number % 2 else 0.3, trusted=True)
        bad = bad.after(0.3 if number % 2 else 0.6, trusted=False)
    assert not good.breached
    assert bad.breached
    for _ in range(300):
        bad = bad.after(0.0, trusted=True)
    assert bad.breached
