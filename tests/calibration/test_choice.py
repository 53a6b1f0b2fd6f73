"""The way to take, of ways whose worth is known."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import judged
from calipers.calibration import calibrate
from calipers.calibration.arrays import Array
from calipers.calibration.choice import SHARE_OF_BEST, choose_way
from calipers.calibration.costs import Cost
from calipers.calibration.ways import Way


def way(level: float | Array, tokens: float | None, *, judges: tuple[str, ...] = ("j",), orders: int = 1) -> Way:
    fidelity = np.full(40, level) if isinstance(level, float) else level
    return Way(
        judges, "listwise", orders, 1, Cost(orders, 4 * orders, tokens, 0 if tokens is not None else None), fidelity
    )


def test_without_a_limit_the_cheapest_that_keeps_most_is_taken():
    ways = [way(0.7, 100), way(0.79, 200, orders=2), way(0.80, 400, orders=4)]
    found = choose_way(ways)
    assert found is not None
    assert (found.way.orders, found.measure) == (2, "tokens")
    assert [one.orders for one in found.frontier] == [1, 2, 4]


def test_within_a_limit_the_best_is_taken():
    ways = [way(0.7, 100), way(0.79, 200, orders=2), way(0.80, 400, orders=4)]
    for most, orders in ((100, 1), (399, 2), (400, 4)):
        found = choose_way(ways, {"tokens": most})
        assert found is not None
        assert found.way.orders == orders


def test_a_limit_that_nothing_meets_or_whose_price_is_unknown_leaves_nothing():
    assert choose_way([way(0.7, 100)], {"tokens": 50}) is None
    assert choose_way([way(0.7, None)], {"tokens": 50}) is None
    assert choose_way([]) is None


def test_a_panel_must_surely_beat_what_costs_no_more():
    generator = np.random.default_rng(0)
    alone = generator.normal(0.6, 0.1, 40)
    hardly, surely = alone + 0.005 + np.tile([0.1, -0.1], 20), alone + 0.1 + np.tile([0.05, -0.05], 20)
    for panel, judges in ((hardly, ("a",)), (surely, ("a", "b"))):
        found = choose_way([way(alone, 200, judges=("a",)), way(panel, 200, judges=("a", "b"))])
        assert found is not None
        assert found.way.judges == judges
        assert {one.judges for one in found.frontier} <= {("a",), judges}


def test_the_figure_reported_is_of_groups_that_had_no_part_in_choosing():
    """Of many ways that are all worth nothing the best looks good, and must not when it is measured anew."""
    generator = np.random.default_rng(1)
    found = choose_way([way(generator.normal(0.0, 0.5, 40), 100, orders=n) for n in range(1, 40)])
    assert found is not None
    assert found.fidelity is not None
    assert float(found.way.fidelity.mean()) > 0.1
    assert abs(found.fidelity) < 0.1


def test_below_ten_groups_there_is_no_such_figure():
    found = choose_way([way(np.full(9, 0.5), 100)])
    assert found is not None
    assert (found.fidelity, found.interval) == (None, None)


def test_ways_are_compared_on_the_groups_they_share_unless_those_are_few():
    """The dear one was only asked about easy groups."""
    all_groups = np.array([0.9] * 25 + [0.1] * 15)
    easy = np.array([0.85] * 25 + [np.nan] * 15)
    found = choose_way([way(all_groups, 100), way(easy, 200, orders=2)])
    assert found is not None
    assert (found.way.orders, found.shared) == (1, True)
    apart = choose_way([way(np.array([0.9] * 20 + [np.nan] * 20), 100), way(np.array([np.nan] * 20 + [0.8] * 20), 200)])
    assert apart is not None
    assert not apart.shared


def test_of_equal_price_the_better_is_taken_and_shown():
    found = choose_way([way(0.700, 100, orders=1), way(0.705, 100, orders=2), way(0.69, 300, orders=3)])
    assert found is not None
    assert found.way.orders == 2
    assert [one.orders for one in found.frontier] == [2]


@given(st.lists(st.tuples(st.floats(0.05, 1.0), st.integers(1, 1000)), min_size=1, max_size=8))
def test_no_cheaper_way_keeps_as_much(levels: list[tuple[float, int]]):
    found = choose_way([way(level, tokens) for level, tokens in levels])
    assert found is not None
    best = max(level for level, _ in levels)
    price = found.way.cost.of("tokens") or 0
    assert float(found.way.fidelity[0]) >= SHARE_OF_BEST * best - 1e-9
    assert all(level < SHARE_OF_BEST * best + 1e-9 for level, tokens in levels if tokens < price)
    assert found.fidelity == pytest.approx(float(found.way.fidelity[0]))


def noise_judges(count: int, groups: int = 60) -> list[dict[str, Any]]:
    """Judges whose scores have nothing to do with gold."""
    every = judged.groups(groups)
    return [
        line | {"parsed": {"scores": {one: generator.gauss(0, 1) for one in line["parsed"]["scores"]}}}
        for number in range(count)
        for generator in [random.Random(f"noise {number}")]
        for line in judged.rated(every, f"j{number}", 1.0)
    ]


def test_the_best_of_many_panels_of_judges_that_know_nothing_is_not_believed():
    """The search and its weights are repeated in every fold; else the best of 1,000 panels would look good."""
    found = calibrate(judged.groups(60), noise_judges(12)).choice
    assert found is not None
    assert found.tried > 150
    assert float(np.nanmean(found.way.fidelity)) > 0.1
    assert found.fidelity is not None
    assert found.fidelity < 0.05
    assert all(level is not None and level < 0.05 for level, _ in found.frontier_held_out)


def test_groups_of_one_prompt_have_no_held_out_figure_and_a_finding_says_so():
    question = [{"role": "user", "content": "Who?"}]
    every = [one | {"context": question} for one in judged.groups(40)]
    found = calibrate(every, list(judged.rated(every, "j", 0.5)))
    assert found.choice is not None
    assert (found.choice.fidelity, found.choice.interval) == (None, None)
    (told,) = [one.text for one in found.findings if one.kind == "one_prompt"]
    assert told.startswith("the groups have 1 prompt:")
    assert found.to_dict()["search"]["held_out_fidelity"] is None


def test_the_report_states_the_frontier_with_figures_of_other_prompts():
    every = judged.groups(60)
    said = [line for name in "ab" for line in judged.rated(every, name, 1.0, calls=2)]
    choice = calibrate(every, said, per_group={"calls": 16}).to_dict()["search"]
    assert choice["measure"] == "calls"
    assert choice["ways_tried"] == 6
    prices = [one["cost"]["calls"] for one in choice["frontier"]]
    assert prices == sorted(prices)
    assert all(
        one["held_out_fidelity"] is not None and len(one["held_out_interval"]) == 2 for one in choice["frontier"]
    )
    assert calibrate(every, said, per_group={"usd": 1.0}).to_dict()["search"] is None
