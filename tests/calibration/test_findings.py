"""A finding for everything a figure alone would hide."""

from collections.abc import Callable
from typing import Any

from calipers.calibration import Calibration, calibrate
from judged import compared, gold_of, group, groups, rated, record

GROUPS = groups(60)


def kinds(*records: dict[str, Any], of: list[dict[str, Any]] = GROUPS) -> dict[str, str]:
    found: Calibration = calibrate(of, records)
    return {str(one.kind): one.text for one in found.findings}


def scored(score: Callable[[float], float], of: list[dict[str, Any]] = GROUPS) -> list[dict[str, Any]]:
    """A judge that makes a score of a member's gold."""
    return [record(one, "j", {"scores": {name: score(gold) for name, gold in gold_of(one).items()}}) for one in of]


def test_a_sound_calibration_has_no_findings():
    assert kinds(*rated(GROUPS, "j", 0.5, calls=4)) == {}


def test_fewer_than_thirty_groups_say_what_they_cannot_show():
    for count, calls, words in (
        (20, 4, ("20 groups", "known to ±")),
        (1, 1, ("1 group with gold: its fidelity is known to no interval",)),
    ):
        few = GROUPS[:count]
        text = kinds(*rated(few, "j", 0.5, calls=calls), of=few)["few_groups"]
        assert [one for one in words if one not in text] == []


def test_judgments_and_gold_that_are_not_used_are_counted():
    found = kinds(*rated(GROUPS, "j", 0.5), of=GROUPS[:50])
    assert found["foreign_groups"].startswith("10 judgments are about 10 groups")
    odd = [*GROUPS, group(900, {"a": 1.0, "b": 1.0}), group(901, {"a": 1.0, "b": None, "c": 0.0})]
    assert kinds(*rated(GROUPS, "j", 0.5), of=odd)["missing_gold"].startswith("in 1 group ")
    assert "no_gold" in kinds(of=[group(1, {"a": None, "b": None})])
    assert "nothing to measure" in kinds(*rated(groups(70)[60:], "j", 0.5))["no_judgments"]
    found = kinds({"judge": "j"}, record(GROUPS[0], "j", {"scores": {"zz": 1}}, order=["a", "zz"]))
    assert found["unknown_members"].startswith("1 id in judgments is not in the group")


def test_a_constant_judge_and_one_that_runs_against_gold_are_called_so():
    assert "constant_judge" in kinds(*scored(lambda _: 1))
    mostly = [*scored(float, GROUPS[:5]), *scored(lambda _: 1, GROUPS[5:])]
    assert kinds(*mostly)["constant_judge"].startswith("in 55 of 60 groups")
    assert "better members get lower scores" in kinds(*scored(lambda gold: -gold))["against_gold"]


def test_lists_scored_by_place_or_shown_in_one_order_are_called_so():
    by_place = [
        record(one, "j", {"scores": {name: -place for place, name in enumerate(order)}}, mode="listwise",
               order=[*order], sample_index=sample)
        for one in GROUPS for sample, order in enumerate(("abcd", "dcba"))
    ]  # fmt: skip
    found = kinds(*by_place)
    assert "explains 100%" in found["one_position"]
    assert "one_order" not in found
    once = kinds(*(line for line in by_place if line["sample_index"] == 0))
    assert "no group was listed in a second order" in once["one_order"]
    pairs = list(compared(GROUPS[:5], "j", bias=100.0, noise=0.1))
    assert "one_position" in kinds(*pairs, of=GROUPS[:5])
    forwards = [line for line in pairs if line["order"] == sorted(line["order"])]
    assert "one_order" in kinds(*forwards, of=GROUPS[:5])


def test_failures_and_groups_with_too_few_scores_are_counted():
    found = kinds(*(record(one, "j", {"scores": {"a": 1.0}}) for one in GROUPS))
    assert found["failures"].startswith("75.0%")
    assert found["missing_groups"].startswith("no score in 60 of 60 groups")


def test_errors_that_are_not_honest_are_named():
    """Calls that copy one another claim an accuracy they do not have, once another half differs."""
    said = []
    for n, one in enumerate(GROUPS):
        for sample in range(4):
            shift = (1 if sample < 2 else -1) * (1 if n % 2 else -1)
            scores = {name: value + shift * (name == "a") + 0.05 * (sample % 2) * (name == "b")
                      for name, value in gold_of(one).items()}  # fmt: skip
            said.append(record(one, "j", {"scores": scores}, sample_index=sample, temperature=1.0))
    assert "standard errors are too small" in kinds(*said)["dishonest_errors"]
