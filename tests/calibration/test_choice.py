"""Ways to ask judges at what price, panels among them, the way to take, and the groups they are compared on."""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import Calibration, calibrate
from calipers.calibration.choice import SHARE_OF_BEST, Choice, choose_way
from calipers.calibration.comparable import FOLDS, folds, prompts
from calipers.calibration.measures import Array
from calipers.calibration.records import Cost, Key, Measure
from calipers.calibration.series import Frame, fidelity_curve
from calipers.calibration.ways import PanelSpace, Way, measured_ways
from calipers.inputs import as_group
from judged import compared, gold_of, groups, rated, record, series_of

GROUPS = groups(60)


def way(level: float | Array, tokens: float | None, *, judges: tuple[str, ...] = ("j",), orders: int = 1) -> Way:
    fidelity = np.full(40, level) if isinstance(level, float) else level
    cost = Cost(orders, 4 * orders, tokens, 0 if tokens is not None else None)
    weights = None if len(judges) == 1 else (1 / len(judges),) * len(judges)
    return Way(tuple(Key(one, "listwise", None, None) for one in judges), orders, 1, cost, fidelity, weights)


def sure(choice: Choice | None) -> Choice:
    assert choice is not None
    return choice


def test_within_a_limit_the_best_is_taken_and_an_unknown_price_is_outside_of_it():
    ways = [way(0.7, 100), way(0.79, 200, orders=2), way(0.80, 400, orders=4)]
    for most, orders in ((100, 1), (399, 2), (400, 4)):
        found = sure(choose_way(ways, {"tokens": most}))
        assert found.way.orders == orders
    assert choose_way(ways, {"tokens": 50}) is None
    assert choose_way([way(0.7, None)], {"tokens": 50}) is None
    assert choose_way([]) is None


def test_a_panel_needs_no_lead_over_what_costs_no_more_and_a_cheaper_way_must_be_known_to_be_as_good():
    alone = np.random.default_rng(0).normal(0.6, 0.1, 40)
    panel = alone + 0.005 + np.tile([0.1, -0.1], 20)
    ways = [way(alone, 200, judges=("a",), orders=2), way(panel, 200, judges=("a", "b"))]
    assert sure(choose_way(ways, {"tokens": 200})).way.judges == ("a", "b")
    rounded = way(alone + 1e-12, 200, judges=("a", "b"))  # as good, but for rounding: the first way is taken
    assert sure(choose_way([way(alone, 200), rounded])).way.judges == ("j",)
    for unsure, tokens in ((0.0, 100), (0.3, 200)):
        cheap = way(alone - 0.003 - np.tile([unsure, -unsure], 20), 100)
        assert sure(choose_way([cheap, way(alone, 200)])).way.cost.of("tokens") == tokens


def test_a_way_that_costs_more_and_is_not_surely_better_is_not_on_the_frontier():
    alone = np.random.default_rng(0).normal(0.6, 0.1, 40)
    unsure = alone + 0.005 + np.tile([0.1, -0.1], 20)
    dear = (way(alone, 200, orders=2), way(unsure, 300, orders=3), way(alone + 0.1, 400, orders=4))
    found = sure(choose_way([way(alone, 100), *dear]))
    assert [one.orders for one in found.frontier] == [1, 4]
    constant = [record(one, "constant", {"scores": dict.fromkeys(gold_of(one), 5)}) for one in GROUPS]
    limits: list[dict[Measure, float] | None] = [None, {"calls": 8.0}]
    for limit in limits:
        beside = calibrate(GROUPS, [*rated(GROUPS, "good", 0.5), *constant], per_group=limit)
        assert [one.judges for one in sure(beside.choice).frontier] == [("good",)]
        assert "best way costs more" not in beside.recommendation


def test_a_judge_of_other_groups_costs_no_panel():
    """The panel of the others is measured where they are; the judge itself is compared as far as groups are shared."""
    others = groups(80)[60:]
    said = [*rated(GROUPS, "a", 1.0), *rated(GROUPS, "b", 1.0), *rated([*GROUPS[:10], *others], "c", 0.9)]
    found = sure(calibrate([*GROUPS, *others], said).choice)
    assert found.way.judges == ("a", "b")
    assert [one.judges for one in found.panels] == [("a", "b")]
    assert found.common_groups == 10


def test_the_figure_reported_is_of_groups_that_had_no_part_in_choosing():
    """Of many ways that are all worth nothing the best looks good, and must not when it is measured anew."""
    generator = np.random.default_rng(1)
    found = sure(choose_way([way(generator.normal(0.0, 0.5, 40), 100, orders=n) for n in range(1, 40)]))
    assert found.fidelity is not None
    assert float(found.way.fidelity.mean()) > 0.1
    assert abs(found.fidelity) < 0.1


def test_ways_are_compared_on_the_groups_they_share_unless_those_are_few():
    """The dear one was only asked about easy groups."""
    easy = np.array([0.85] * 25 + [np.nan] * 15)
    found = sure(choose_way([way(np.array([0.9] * 25 + [0.1] * 15), 100), way(easy, 200, orders=2)]))
    assert (found.way.orders, found.common_groups) == (1, 25)
    first, last = np.array([0.9] * 20 + [np.nan] * 20), np.array([np.nan] * 20 + [0.8] * 20)
    assert not sure(choose_way([way(first, 100), way(last, 200)])).common_groups


@given(st.lists(st.tuples(st.floats(0.05, 1.0), st.integers(1, 1000)), min_size=1, max_size=8))
def test_no_cheaper_way_keeps_as_much(levels: list[tuple[float, int]]):
    found = sure(choose_way([way(level, tokens) for level, tokens in levels]))
    best = max(level for level, _ in levels)
    price = found.way.cost.of("tokens") or 0
    assert float(found.way.fidelity[0]) >= SHARE_OF_BEST * best - 1e-9
    assert all(level < SHARE_OF_BEST * best + 1e-9 for level, tokens in levels if tokens < price)
    assert found.fidelity == pytest.approx(float(found.way.fidelity[0]))


def test_the_best_of_many_panels_of_judges_that_know_nothing_is_not_believed():
    """The search and its weights are repeated in every fold; else the best of 1,000 panels would look good."""
    said = []
    for number in range(12):
        generator = random.Random(f"noise {number}")
        for line in rated(GROUPS, f"j{number}", 1.0):
            scores = {name: generator.gauss(0, 1) for name in line["parsed"]["scores"]}
            said.append(line | {"parsed": {"scores": scores}})
    found = sure(calibrate(GROUPS, said).choice)
    assert found.tried > 150
    assert float(np.nanmean(found.way.fidelity)) > 0.1
    assert found.fidelity is not None
    assert found.fidelity < 0.05
    assert all(level is not None and level < 0.05 for level, _ in found.frontier_held_out)


def test_groups_of_one_prompt_have_no_held_out_figure_and_a_finding_says_so():
    every = [one | {"context": [{"role": "user", "content": "Who?"}]} for one in groups(40)]
    found = calibrate(every, list(rated(every, "j", 0.5)))
    choice = sure(found.choice)
    assert (choice.fidelity, choice.interval) == (None, None)
    assert "the groups have 1 prompt:" in {one.kind: one.text for one in found.findings}["one_prompt"]


def test_the_report_states_the_frontier_with_figures_of_other_prompts():
    said = [line for name in "ab" for line in rated(GROUPS, name, 1.0, calls=2)]
    choice = calibrate(GROUPS, said, per_group={"calls": 16}).to_dict()["search"]
    assert (choice["measure"], choice["ways_tried"]) == ("calls", 6)
    prices = [one["cost"]["calls"] for one in choice["frontier"]]
    assert prices == sorted(prices)
    assert all(one["held_out_fidelity"] and one["held_out_interval"] for one in choice["frontier"])


USAGE = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.001}


def ways(*records: dict[str, Any]) -> list[Way]:
    series, frame = series_of(GROUPS, *records)
    return measured_ways(series, [fidelity_curve(one, frame.gold[list(one.rows)]) for one in series], frame)


def test_lists_are_asked_in_orders_single_ones_in_samples_and_pairs_in_one_order_or_both():
    pairs = list(compared(GROUPS, "j", bias=0.0, noise=0.5))
    for said, expected in (
        (rated(GROUPS, "j", 1.0, calls=3, mode="listwise"), [("listwise", n, 1) for n in (1, 2, 3)]),
        (rated(GROUPS, "j", 1.0, calls=3), [("pointwise", 1, n) for n in (1, 2, 3)]),
        (pairs, [("pairwise", 1, 1), ("pairwise", 2, 1)]),
    ):
        assert [(way.protocol, way.orders, way.samples) for way in ways(*said)] == expected
    assert [way.cost.shown for way in ways(*pairs)] == [12, 24]


def test_a_price_is_that_of_a_group():
    one, two = ways(*rated(GROUPS, "j", 1.0, calls=2, mode="listwise", usage=USAGE))
    assert (one.cost.calls, one.cost.shown, one.cost.of("tokens")) == (1, 4, 110)
    assert two.cost.cost_usd == pytest.approx(0.002)
    (single, _) = ways(*rated(GROUPS, "j", 1.0, calls=2))
    assert (single.cost.calls, single.cost.of("tokens"), single.cost.cost_usd) == (4, None, None)


def space(*records: dict[str, Any], affordable: Callable[[Cost], bool] = lambda _: True) -> PanelSpace:
    series, frame = series_of(GROUPS, *records)
    return PanelSpace(series, frame, affordable)


def found_in(of: PanelSpace) -> list[Way]:
    return of.panels(np.ones(len(GROUPS), dtype=bool))


def test_the_search_loses_nothing_to_trying_every_panel():
    of = space(*(one for n, name in enumerate("abcde") for one in rated(GROUPS, name, 0.4 + 0.4 * n)))
    best = max(float(np.nanmean(way.fidelity)) for way in found_in(of))
    keys = [Key(name, "pointwise", "v", None) for name in "abcde"]
    every = [
        of.fidelity(some, 1, (1 / size,) * size) for size in range(2, 5) for some in itertools.combinations(keys, size)
    ]
    assert best >= max(float(np.nanmean(one)) for one in every) - 1e-3


def test_every_panel_of_a_few_judges_that_is_affordable_is_tried_at_its_members_price():
    said = [one for name in "abc" for one in rated(GROUPS, name, 1.0, calls=2)]
    of = space(*said, affordable=lambda cost: cost.calls <= 8)
    found = found_in(of)
    assert sorted((way.judges, way.cost.calls) for way in found) == [
        (("a", "b"), 8), (("a", "c"), 8), (("b", "c"), 8),
    ]  # fmt: skip
    assert of.tried == 3
    everything = space(*said)
    found = found_in(everything)
    assert len(found) == everything.tried == 8
    assert {(len(way.judges), way.cost.shown) for way in found} == {(2, 8), (2, 16), (3, 12), (3, 24)}
    assert all(sum(way.weights or ()) == pytest.approx(1) for way in found)


def opposite(line: dict[str, Any], judge: str) -> dict[str, Any]:
    return line | {"judge": judge, "parsed": {"scores": {n: -value for n, value in line["parsed"]["scores"].items()}}}


def test_a_judge_that_contradicts_gold_is_not_paid_for():
    wrong = [opposite(line, "wrong") for line in rated(GROUPS, "wrong", 0.3)]
    of = space(*rated(GROUPS, "a", 0.5), *rated(GROUPS, "b", 0.5), *wrong)
    assert [way.judges for way in found_in(of)] == [("a", "b")]


def test_judges_that_contradict_each_other_exactly_have_no_signal_together():
    pairs = groups(40, names=("a", "b"))
    said = list(rated(pairs, "a", 0.5))
    found = calibrate(pairs, [*said, *(opposite(line, "b") for line in said)])
    assert sure(found.choice).way.judges == ("a",)


# --- compared on the groups that all judges scored --------------------------------------------------------------------

FORTY = groups(40)
NONE = {"abstained": 0, "failed": 0, "unrecorded": 0}
HARD = {one["group_id"] for one in FORTY[:8]}


def honest(name: str = "honest") -> list[dict[str, Any]]:
    """Right about easy groups, and the wrong way round about the hard ones."""
    signs = [-1 if one["group_id"] in HARD else 1 for one in FORTY]
    return [
        record(one, name, {"scores": {who: sign * gold for who, gold in gold_of(one).items()}})
        for one, sign in zip(FORTY, signs, strict=True)
    ]


def silent(name: str = "silent", **fields: Any) -> list[dict[str, Any]]:
    """As right about easy groups, and nothing about the hard ones."""
    said = [one for one in honest(name) if one["group_id"] not in HARD]
    return said + [one | {"parsed": None} | fields for one in honest(name) if one["group_id"] in HARD and fields]


def judge_of(found: Calibration, name: str) -> Any:
    return next(one for one in found.judges if one.judge == name)


def test_silence_about_hard_groups_buys_nothing_on_common_groups():
    found = calibrate(FORTY, [*honest(), *silent()])
    one, other = judge_of(found, "honest"), judge_of(found, "silent")
    assert one.advantage_fidelity == pytest.approx(0.6)
    assert other.advantage_fidelity == pytest.approx(1.0)
    (pair,) = found.differences
    assert pair.difference == pytest.approx(0.0)
    assert pair.groups == 32
    assert (one.missing, other.missing) == (NONE, NONE | {"unrecorded": 8})


def test_what_is_missing_is_counted_by_why_and_found():
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "unrecorded"), ({"status": "failed", "reason": "limited"}, "failed"), ({"raw_text": "No."}, "abstained"),
    )  # fmt: skip
    for fields, why in cases:
        found = calibrate(FORTY, [*honest(), *silent(**fields)])
        assert judge_of(found, "silent").missing == NONE | {why: 8}
        (finding,) = [one for one in found.findings if one.kind == "missing_groups"]
        assert finding.judge == "silent"
        assert f"no score in 8 of 40 groups with gold (8 {why})" in finding.text


def test_the_recommended_judge_is_chosen_on_common_groups_and_its_silence_is_told():
    better = [one | {"judge": "better"} for one in rated(FORTY, "better", 0.3) if one["group_id"] not in HARD]
    worse = list(rated(FORTY, "worse", 2.0))
    words = calibrate(FORTY, [*better, *worse]).recommendation
    assert tomllib.loads(words)["judge"] == ["better"]
    assert "better gave no score in 8 of 40 groups: 8 unrecorded." in words


def mute(judge: str, every: list[dict[str, Any]], share: float, *, calls: int = 3) -> list[dict[str, Any]]:
    """Right about every member that it scores; ``share`` of the scores are missing."""
    generator, said = random.Random(judge), []
    for line in rated(every, judge, 0.0, calls=calls):
        scores = {name: None if generator.random() < share else it for name, it in line["parsed"]["scores"].items()}
        said.append(line | {"parsed": {"scores": scores}})
    return said


def test_a_way_counts_its_own_failures_and_loses_to_one_that_answers():
    every = groups(80)
    said = mute("mute", every, 0.6)
    for most, calls in ((4, 1), (12, 3)):  # members, as each is asked for itself
        found = calibrate(every, said, per_group={"calls": most})
        choice = sure(found.choice)
        kept: dict[str, list[dict[str, Any]]] = {}
        for line in said:
            kept.setdefault(line["group_id"], []).append(line["parsed"]["scores"])
        windows = [
            {name for at in range(calls) for name, value in lines[(start + at) % 3].items() if value is not None}
            for lines in kept.values()
            for start in range(3)
        ]
        silent = sum(len(scored) < 2 for scored in windows) / 3
        search = found.to_dict()["search"]
        assert (search["silent_groups"], search["way"]["groups"]) == (pytest.approx(silent), 80)
        assert f"# {silent:.0f} of 80 groups get no score in this way. They count as 0 above." in found.recommendation
        assert float(np.nanmean(choice.way.fidelity)) <= 1 - silent / 80
    limits: list[dict[Measure, float] | None] = [None, {"calls": 4.0}]
    for limit in limits:
        beside = calibrate(every, [*said, *rated(every, "fair", 0.7, calls=3)], per_group=limit)
        assert sure(beside.choice).way.judges == ("fair",)
    worse = calibrate(every, [*mute("seldom", every, 0.1), *rated(every, "poor", 3.0, calls=3)])
    assert sure(worse.choice).way.judges == ("seldom",)


def test_scores_that_are_missing_in_a_large_group_cost_as_much():
    """A group of eight has two scores nearly always, and six members of it are not trained on."""
    every = groups(60, names=tuple("abcdefgh"))
    found = calibrate(every, [*mute("mute", every, 0.7, calls=1), *rated(every, "fair", 0.7)], per_group={"calls": 8})
    assert sure(found.choice).way.judges == ("fair",)
    assert judge_of(found, "mute").advantage_fidelity == pytest.approx(1.0)


def test_a_panel_is_measured_also_where_a_member_failed_and_its_calls_keep_their_places():
    failed = [line | {"parsed": None} if place % 2 else line for place, line in enumerate(rated(FORTY, "a", 0.5))]
    found = calibrate(FORTY, [*failed, *rated(FORTY, "b", 0.5)])
    beside = calibrate(GROUPS, [*rated(GROUPS[:40], "a", 0.5), *rated(GROUPS, "b", 0.5)])  # of 20 it was not asked
    for one in (found, beside):
        assert [way.to_dict()["groups"] for way in one.ways if len(way.judges) > 1] == [40]
    never = [line | {"parsed": None} for line in rated(FORTY, "a", 0.5)]
    assert calibrate(FORTY, never).choice is None
    lines = list(rated(GROUPS, "a", 0.5, calls=2))
    second = [line | ({"parsed": None} if line["sample_index"] == 0 else {}) for line in lines]
    of = space(*second, *rated(GROUPS, "b", 0.5, calls=2))
    keys = [Key(name, "pointwise", "v", None) for name in "ab"]
    once = of.fidelity(keys, 1, (1.0, 0.0))
    twice = of.fidelity(keys, 2, (1.0, 0.0))
    assert once == pytest.approx(twice / 2)  # one of the two calls says nothing


def test_ways_of_equally_many_groups_are_compared_with_the_best_of_them():
    """Beside another way, the groups that a third way lacks would count against the best."""
    first, best, part = np.full(40, 0.2), np.full(40, 0.6), np.full(40, np.nan)
    first[20:], best[20:], part[:20] = 0.4, 0.7, 0.59
    first[:20] = 0.1
    ways = [way(first, 100), way(best, 100, orders=2), way(part, 100, orders=3)]
    assert sure(choose_way(ways)).way.orders == 2


def test_a_judge_of_few_groups_is_set_aside_and_judges_without_common_groups_are_taken_as_they_are():
    few = [one | {"judge": "few"} for one in honest()[:4]]
    found = calibrate(FORTY, [*rated(FORTY, "a", 0.3), *rated(FORTY, "b", 1.0), *few])
    assert found.to_dict()["search"]["common_groups"] == 40
    assert "# Not compared, because they were asked about too few groups: few." in found.recommendation
    halves = [one | {"judge": "first" if place < 20 else "second"} for place, one in enumerate(rated(FORTY, "x", 0.5))]
    assert "or each on its own" in calibrate(FORTY, halves).recommendation


def test_a_judge_that_is_not_for_training_is_never_recommended():
    for name in ("embedded", "scripted:replies.jsonl", "local:judge"):
        alone = calibrate(FORTY, rated(FORTY, name, 0.1)).recommendation
        assert tomllib.loads(alone) == {}
        assert f"{name} is not for training alone" in alone
        beside = calibrate(FORTY, [*rated(FORTY, name, 0.1), *rated(FORTY, "model", 1.0)])
        assert tomllib.loads(beside.recommendation)["judge"] == ["model"]


# --- prompts and folds ----------------------------------------------------------------------------------------------


def numbers(*groups: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> list[int]:
    """The number of the prompt of each group, from its context and what its members begin with."""
    every = []
    for n, (context, begin) in enumerate(groups):
        members = [{"id": name, "messages": [*begin, {"role": "assistant", "content": name}]} for name in "ab"]
        every.append(as_group({"group_id": f"g{n}", "context": context, "trajectories": members}))
    return [int(one) for one in prompts(Frame.of(every))]


def test_a_question_is_a_prompt_wherever_it_stands_and_shared_instructions_are_none():
    shared, asked = [{"role": "system", "content": "An airline's agent."}], [{"role": "user", "content": "Who?"}]
    assert numbers((shared, []), (shared, []), ([], []), ([], [])) == [0, 1, 2, 3]
    assert numbers(([], asked), ([], asked), (asked, [])) == [0, 0, 0]


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200))
def test_no_prompt_is_in_two_folds_and_none_is_empty(sources: list[int]):
    found = folds(sources)
    if len(set(sources)) < FOLDS:
        assert found is None
        return
    assert found is not None
    assert set(found) == set(range(FOLDS))
    assert len({(source, int(fold)) for source, fold in zip(sources, found, strict=True)}) == len(set(sources))
