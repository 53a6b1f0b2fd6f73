"""The search for panels among judges, prompt variants, numbers of calls and weights."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calipers.calibration import calibrate
from calipers.calibration.costs import Cost
from calipers.calibration.panel_space import PanelSpace, Plan, units_of
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, build_series
from calipers.inputs import as_group
from judged import groups, rated

GROUPS = groups(60)


def space(*records: dict[str, Any], affordable: Callable[[Cost], bool] = lambda _: True) -> PanelSpace:
    frame = Frame.of(map(as_group, GROUPS))
    series = build_series(map(as_record, records), frame)[0]
    return PanelSpace(units_of(series, frame), frame, np.ones(len(GROUPS), dtype=bool), affordable)


def plans(of: PanelSpace) -> list[Plan]:
    return of.plans(np.ones(len(GROUPS), dtype=bool))


def judges(of: PanelSpace, plan: Plan) -> list[tuple[str, str | None]]:
    return [(of.units[place].key.judge, of.units[place].key.prompt_variant) for place in plan.units]


def test_the_quick_fidelity_of_the_search_is_the_fidelity_of_a_run():
    of = space(
        *(one for name, noise in (("a", 0.5), ("b", 1.0), ("c", 2.0)) for one in rated(GROUPS, name, noise, calls=2))
    )
    found = plans(of)
    assert {plan.count for plan in found} == {1, 2}
    for plan in found:
        assert of.quick_fidelity(plan) == pytest.approx(of.fidelity(plan), abs=1e-9)


def test_the_search_loses_nothing_to_trying_every_panel():
    of = space(*(one for n, name in enumerate("abcde") for one in rated(GROUPS, name, 0.4 + 0.4 * n)))
    best = max(float(np.nanmean(of.quick_fidelity(plan))) for plan in plans(of))
    every = [
        Plan(some, 1, (1 / size,) * size) for size in range(2, 6) for some in itertools.combinations(range(5), size)
    ]
    assert best >= max(float(np.nanmean(of.quick_fidelity(plan))) for plan in every) - 1e-3


def test_no_panel_costs_more_than_is_allowed_and_the_tried_ones_are_counted():
    said = [one for name in "abc" for one in rated(GROUPS, name, 1.0, calls=2)]
    of = space(*said, affordable=lambda cost: cost.calls <= 8)
    assert {of.cost(plan).calls for plan in plans(of)} == {8}
    assert of.tried == 3
    everything = space(*said)
    assert len(plans(everything)) == everything.tried == 8


def test_a_judge_that_contradicts_gold_is_not_paid_for():
    wrong = [
        line | {"parsed": {"scores": {name: -value for name, value in line["parsed"]["scores"].items()}}}
        for line in rated(GROUPS, "wrong", 0.3)
    ]
    of = space(*rated(GROUPS, "a", 0.5), *rated(GROUPS, "b", 0.5), *wrong)
    assert [judges(of, plan) for plan in plans(of)] == [[("a", "v"), ("b", "v")]]


def test_what_a_judge_did_not_score_leaves_its_panel_unmeasured_and_is_no_zero():
    of = space(*rated(GROUPS[:40], "a", 0.5), *rated(GROUPS, "b", 0.5))
    (plan,) = plans(of)
    assert int(np.isnan(of.fidelity(plan)).sum()) == 20


def test_without_groups_to_learn_from_weights_are_equal():
    of = space(*rated(GROUPS, "a", 0.2), *rated(GROUPS, "b", 2.0))
    assert [plan.weights for plan in of.plans(np.zeros(len(GROUPS), dtype=bool))] == [(0.5, 0.5)]


def test_judges_that_contradict_each_other_exactly_have_no_signal_together():
    pairs = groups(40, names=("a", "b"))
    opposite = [
        line | {"judge": "b", "parsed": {"scores": {name: -value for name, value in line["parsed"]["scores"].items()}}}
        for line in rated(pairs, "a", 0.5)
    ]
    found = calibrate(pairs, [*rated(pairs, "a", 0.5), *opposite])
    assert found.choice is not None
    assert found.choice.way.judges == ("a",)


def test_groups_of_different_sizes_are_searched_together():
    every = [one for n in range(30) for one in groups(1, seed=n, names=("a", "b") if n % 2 else tuple("abcdefgh"))]
    every = [one | {"group_id": f"g{n}"} for n, one in enumerate(every)]
    found = calibrate(every, [*rated(every, "a", 1.0), *rated(every, "b", 1.0)])
    assert found.choice is not None
    assert found.choice.way.judges == ("a", "b")
