"""What recorded answers allow to be asked, at what price."""

from typing import Any

import numpy as np
import pytest

from calipers.calibration.choice import Contest, Judged
from calipers.calibration.curves import fidelity_curve
from calipers.calibration.folds import prompts
from calipers.calibration.panel_space import units_of
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, build_series
from calipers.calibration.ways import Way, measured_ways
from calipers.inputs import as_group
from judged import compared, groups, rated

GROUPS = groups(40)
USAGE = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.001}


def ways(*records: dict[str, Any]) -> list[Way]:
    frame = Frame.of(map(as_group, GROUPS))
    series = build_series(map(as_record, records), frame)[0]
    return measured_ways(series, [fidelity_curve(one, frame.gold[list(one.rows)]) for one in series], frame)


def panels(*records: dict[str, Any]) -> list[Way]:
    """Panels that the search finds, by rising price."""
    frame = Frame.of(map(as_group, GROUPS))
    series = build_series(map(as_record, records), frame)[0]
    contest = Contest(ways(*records), None, Judged(units_of(series, frame), frame, prompts(frame)))
    return sorted(contest.panels(contest.common.groups), key=lambda way: way.cost.shown)


def asked(found: list[Way]) -> list[tuple[str, int, int]]:
    return [(way.protocol, way.orders, way.samples) for way in found]


def test_lists_are_asked_in_orders_and_single_ones_in_samples():
    assert asked(ways(*rated(GROUPS, "j", 1.0, calls=3, mode="listwise"))) == [("listwise", n, 1) for n in (1, 2, 3)]
    assert asked(ways(*rated(GROUPS, "j", 1.0, calls=3))) == [("pointwise", 1, n) for n in (1, 2, 3)]


def test_pairs_have_one_order_or_both():
    found = ways(*compared(GROUPS, "j", bias=0.0, noise=0.5))
    assert asked(found) == [("pairwise", 1, 1), ("pairwise", 2, 1)]
    assert [way.cost.shown for way in found] == [12, 24]


def test_a_price_is_a_groups():
    one, two = ways(*rated(GROUPS, "j", 1.0, calls=2, mode="listwise", usage=USAGE))
    assert (one.cost.calls, one.cost.shown, one.cost.of("tokens")) == (1, 4, 110)
    assert two.cost.cost_usd == pytest.approx(0.002)
    (single, _) = ways(*rated(GROUPS, "j", 1.0, calls=2))
    assert (single.cost.calls, single.cost.of("tokens"), single.cost.cost_usd) == (4, None, None)


def test_every_panel_of_a_few_judges_is_a_way_with_its_members_price():
    found = panels(*(line for name in "abc" for line in rated(GROUPS, name, 1.0)))
    assert sorted(way.judges for way in found) == [("a", "b"), ("a", "b", "c"), ("a", "c"), ("b", "c")]
    assert {len(way.judges): way.cost.shown for way in found} == {2: 8, 3: 12}
    assert all(sum(way.weights or ()) == pytest.approx(1) for way in found)


def test_judges_asked_in_different_protocols_make_no_panel():
    said = (*rated(GROUPS, "a", 1.0), *rated(GROUPS, "b", 1.0, mode="listwise"))
    assert all(len(way.judges) == 1 for way in ways(*said))
    assert panels(*said) == []


def test_asking_while_unsettled_is_a_way_where_it_surely_pays():
    (way,) = [way for way in ways(*rated(GROUPS, "j", 1.5, calls=8)) if way.resolve is not None]
    assert (way.resolve, way.most, way.orders, way.samples) == (0.015, 8, 1, 1)
    assert 1 <= way.cost.calls / 4 <= 8
    assert not [way for way in ways(*rated(GROUPS, "j", 0.0, calls=8)) if way.resolve is not None]


def test_a_group_without_a_figure_is_nan_and_no_zero():
    found = ways(*rated(GROUPS[:30], "j", 1.0))
    (way,) = found
    assert int(np.isnan(way.fidelity).sum()) == 10
    assert way.to_dict()["groups"] == 30
