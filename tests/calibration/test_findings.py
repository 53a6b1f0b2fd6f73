"""A finding for everything a figure alone would hide."""

from typing import Any

from calipers.calibration import Calibration, calibrate
from judged import compared, gold_of, group, groups, rated, record

GROUPS = groups(60)


def kinds(*records: dict[str, Any], of: list[dict[str, Any]] = GROUPS) -> dict[str, str]:
    found: Calibration = calibrate(of, records)
    return {str(one.kind): one.text for one in found.findings}


def test_a_sound_calibration_has_no_findings():
    assert kinds(*rated(GROUPS, "j", 0.5, calls=4)) == {}


def test_fewer_than_thirty_groups_say_what_they_cannot_show():
    found = kinds(*rated(GROUPS[:20], "j", 0.5, calls=4), of=GROUPS[:20])
    assert "20 groups" in found["few_groups"]
    assert "known to ±" in found["few_groups"]
    assert (
        "1 group with gold: its fidelity is known to no interval"
        in kinds(*rated(GROUPS[:1], "j", 0.5), of=GROUPS[:1])["few_groups"]
    )


def test_judgments_and_gold_that_are_not_used_are_counted():
    found = kinds(*rated(GROUPS, "j", 0.5), of=GROUPS[:50])
    assert found["foreign_groups"].startswith("10 judgments are about 10 groups")
    odd = [*GROUPS, group(900, {"a": 1.0, "b": 1.0}), group(901, {"a": 1.0, "b": None, "c": 0.0})]
    assert kinds(*rated(GROUPS, "j", 0.5), of=odd)["missing_gold"].startswith("in 1 group ")
    assert "no_gold" in kinds(of=[group(1, {"a": None, "b": None})])
    assert "nothing to measure" in kinds(*rated(groups(70)[60:], "j", 0.5))["no_judgments"]
    found = kinds({"judge": "j"}, record(GROUPS[0], "j", {"scores": {"zz": 1}}, order=["a", "zz"]))
    assert found["unknown_members"].startswith("1 id in judgments is not in the group")


def test_a_constant_judge_and_one_that_sees_only_places_are_called_so():
    flat = [record(one, "j", {"scores": dict.fromkeys(gold_of(one), 1)}) for one in GROUPS]
    assert "constant_judge" in kinds(*flat)
    assert "one_position" in kinds(*compared(GROUPS[:5], "j", bias=100.0, noise=0.1), of=GROUPS[:5])


def test_lists_scored_by_place_or_shown_in_one_order_are_called_so():
    orders = (["a", "b", "c", "d"], ["d", "c", "b", "a"])
    by_place = [
        record(one, "j", {"scores": {name: -k for k, name in enumerate(order)}}, mode="listwise", order=order,
               sample_index=sample)
        for one in GROUPS for sample, order in enumerate(orders)
    ]  # fmt: skip
    found = kinds(*by_place)
    assert "explains 100%" in found["one_position"]
    assert "one_order" not in found
    once = kinds(*(line for line in by_place if line["sample_index"] == 0))
    assert "no group was listed in a second order" in once["one_order"]


def test_a_judge_that_is_level_in_most_groups_or_runs_against_gold_is_called_so():
    mostly = [
        record(one, "j", {"scores": gold_of(one) if number < 5 else dict.fromkeys(gold_of(one), 1)})
        for number, one in enumerate(GROUPS)
    ]
    assert kinds(*mostly)["constant_judge"].startswith("in 55 of 60 groups")
    turned = [record(one, "j", {"scores": {name: -gold for name, gold in gold_of(one).items()}}) for one in GROUPS]
    assert "better members get lower scores" in kinds(*turned)["against_gold"]


def test_one_order_only_leaves_the_bias_unknown():
    said = [
        record(one, "j", {"winner": "a"}, mode="pairwise", order=["a", "b"]) for one in groups(40, names=("a", "b"))
    ]
    assert "one_order" in kinds(*said, of=groups(40, names=("a", "b")))


def test_failures_and_groups_with_too_few_scores_are_counted():
    said = [record(one, "j", {"scores": {"a": 1.0}}) for one in GROUPS]
    found = kinds(*said)
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
