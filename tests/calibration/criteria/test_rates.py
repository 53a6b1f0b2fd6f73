"""How often criteria are met, corrected for a judge's errors, and several judges together."""

import random
from typing import Any

import pytest

from calipers.calibration.criteria import Labelled, meta_evaluate
from calipers.calibration.criteria.rates import rogan_gladen


def rows(count: int, share: float) -> list[Labelled]:
    generator = random.Random(0)
    prompt = ({"role": "user", "content": "?"},)
    return [
        Labelled(line, prompt, f"Answer {line}.", "Is short.", (generator.random() < share,), ("p",), None)
        for line in range(1, count + 1)
    ]


def said(labelled: list[Labelled], judge: str, sensitivity: float, specificity: float) -> list[dict[str, Any]]:
    generator = random.Random(judge)
    return [
        {"judge": judge, "line": row.line,
         "met": generator.random() < (sensitivity if row.labels[0] else 1 - specificity)}
        for row in labelled
    ]  # fmt: skip


def test_a_judge_that_says_met_too_often_is_corrected():
    found = rogan_gladen(0.46, 0.9, 0.8, verdicts=500, met=100, not_met=100)
    assert found is not None
    rate, (low, high) = found
    assert rate == pytest.approx((0.46 + 0.8 - 1) / 0.7)
    assert low < rate < high
    wider = rogan_gladen(0.46, 0.9, 0.8, verdicts=500, met=10, not_met=10)
    assert wider is not None
    assert wider[1][1] - wider[1][0] > high - low


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    generator = random.Random(4)
    held = 0
    for _ in range(300):
        hits, rights = (sum(generator.random() < rate for _ in range(60)) / 60 for rate in (0.85, 0.8))
        share = sum(generator.random() < (0.85 if generator.random() < 0.3 else 0.2) for _ in range(400)) / 400
        found = rogan_gladen(share, hits, rights, verdicts=400, met=60, not_met=60)
        assert found is not None
        held += found[1][0] <= 0.3 <= found[1][1]
    assert 0.9 <= held / 300 <= 0.99


def test_verdicts_that_say_nothing_are_not_corrected():
    assert rogan_gladen(0.5, 0.5, 0.5, verdicts=100, met=50, not_met=50) is None
    assert rogan_gladen(0.5, 0.9, 0.9, verdicts=100, met=0, not_met=50) is None


def test_the_report_has_each_judges_rates_and_the_panels():
    labelled = rows(400, 0.3)
    every = [one for name in ("a", "b", "c") for one in said(labelled, name, 0.85, 0.8)]
    found = meta_evaluate(labelled, every)
    rates = found.to_dict()["judges"][0]["rates"]
    assert rates["said"] > rates["labelled"] + 0.03
    assert rates["corrected"] == pytest.approx(rates["labelled"], abs=0.005)
    panel = found.to_dict()["panel"]
    assert (panel["judges"], panel["rows"]) == (("a", "b", "c"), 400)
    alone = found.to_dict()["judges"][0]["overall"]
    assert panel["dawid_skene"]["balanced_f1"] > alone["balanced_f1"] + 0.03
    assert panel["effective_votes"] == pytest.approx(3, abs=0.5)


def test_judges_with_the_same_mistakes_are_one_vote_and_one_judge_is_no_panel():
    labelled = rows(200, 0.5)
    once = said(labelled, "a", 0.8, 0.8)
    found = meta_evaluate(labelled, [*once, *({**one, "judge": "twin"} for one in once)])
    assert found.panel is not None
    assert found.panel.effective_votes == pytest.approx(1)
    assert meta_evaluate(labelled, once).to_dict()["panel"] is None


def test_labels_of_one_kind_correct_nothing():
    labelled = rows(30, 2.0)
    assert meta_evaluate(labelled, said(labelled, "a", 0.8, 0.8)).judges[0].rates is None
