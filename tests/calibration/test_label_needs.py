"""What 20, 50 and 200 groups with gold suffice for."""

import math
import re

import pytest

from calipers.calibration import calibrate, measures
from judged import groups, rated


def test_four_times_the_groups_halve_what_is_not_known():
    every = groups(100)
    found = calibrate(every, [*rated(every, "a", 0.6), *rated(every, "b", 1.2)])
    assert found.labels is not None
    assert [one.groups for one in found.labels.by_number] == [20, 50, 200]
    widths = [one.half_width for one in found.labels.by_number]
    assert widths[0] == pytest.approx(widths[2] * math.sqrt(10))
    assert found.choice is not None
    low, high = measures.bootstrap_interval(found.choice.way.fidelity) or (0.0, 0.0)
    assert widths[2] * math.sqrt(2) == pytest.approx((high - low) / 2, rel=0.15)  # of the 100 groups there are


def test_the_rival_is_of_other_judges_and_a_small_gap_needs_more_groups():
    every = groups(100)
    needs = []
    for noise in (0.9, 3.0):
        found = calibrate(every, [*rated(every, "a", 0.6), *rated(every, "b", noise)], per_group={"calls": 4}).labels
        assert found is not None
        assert found.rival == "b: pointwise, v, 1 order"
        assert found.gap is not None
        assert found.groups_for_gap is not None
        needs.append(found.groups_for_gap)
    assert needs[0] > 3 * needs[1]


def test_a_sentence_says_who_leads_by_how_much_and_whether_the_groups_are_enough():
    every = groups(100)
    told = []
    for noise in (0.65, 3.0):
        found = calibrate(every, [*rated(every, "a", 0.6), *rated(every, "b", noise)], per_group={"calls": 4}).labels
        assert found is not None
        assert found.other is not None
        told.append(found.as_text({"a": "A", "b": "B"}))
        assert f"{abs(found.gap or 0):.3f}" in told[-1]
        assert found.compared == 100
    lead = r"The chosen way leads [AB]: pointwise, v, 1 order by 0\.\d{3}; "
    many = r"it takes about [\d,]+ groups to see that \(4 times in 5\), and these are 100\."
    assert re.fullmatch(lead + many, told[0])
    assert re.fullmatch(lead + r"\d+ groups are enough to see that \(4 times in 5\)\.", told[1])


def test_one_judge_has_no_rival_and_nine_groups_say_nothing():
    every = groups(40)
    found = calibrate(every, list(rated(every, "a", 0.6)))
    assert found.labels is not None
    assert (found.labels.rival, found.labels.groups_for_gap) == (None, None)
    assert found.to_dict()["labels"]["by_number"][0]["smallest_difference"] is None
    assert calibrate(every[:9], list(rated(every[:9], "a", 0.6))).to_dict()["labels"] is None
