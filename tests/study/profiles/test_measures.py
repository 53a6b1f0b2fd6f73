"""Scale use, variation, position bias, preferences, agreement and failures, on answers computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.study.profiles.agreement import agreement, failures, somers_d
from calipers.study.profiles.answers import Answers, tabulate
from calipers.study.profiles.features import measure_features
from calipers.study.profiles.fitting import fit_profile, measure_profile
from calipers.study.profiles.positions import position_curve, weights_of
from calipers.study.profiles.preferences import preferences
from calipers.study.profiles.repeats import repeatability
from calipers.study.profiles.scale_use import scale_use
from calipers.types import Trajectory, TrajectoryGroup
from drawn_answers import Drawn

KEY = Key("gpt-4o", "pointwise", None, None, None)


def table_of(judge: Drawn, seed: int = 0) -> Answers:
    return tabulate(*judge.records(seed))


def verdicts(*rows: tuple[str, float, float]) -> tuple[list[Record], Frame]:
    """One group a row: the members' verdicts as 0, 1 or - (failed), then their gold as text of 0 and 1."""
    groups, records = [], []
    for number, (said, *golds) in enumerate(rows):
        members = tuple(Trajectory(f"{place}", (), gold=gold) for place, gold in enumerate(golds))
        groups.append(TrajectoryGroup(f"g{number}", members))
        scores = {f"{place}": float(one) for place, one in enumerate(said) if one != "-"}
        order = tuple(one.id for one in members)
        records.append(Record(f"g{number}", KEY, order, 0, scores=scores or None, scale=(0.0, 1.0)))
    return records, Frame.of(groups)


# --- agreement -------------------------------------------------------------------------------------------------------


def test_j_is_the_difference_of_the_rates_and_somers_d_equals_it_within_a_group() -> None:
    table = tabulate(*verdicts(("1100", 1, 1, 1, 0), ("10", 0, 1), ("11", 1, 0)))  # type: ignore[arg-type]
    found = agreement(table, table.scores)
    assert found.true_positives.value == pytest.approx(3 / 5)
    assert found.false_positives.value == pytest.approx(2 / 3)
    assert found.j.value == pytest.approx(3 / 5 - 2 / 3)
    per_group = somers_d(table.scores, table.quality)
    assert per_group == pytest.approx([2 / 3, -1, 0])  # TPR - FPR of each group
    assert found.somers_d.value == pytest.approx(np.mean(per_group))


@pytest.mark.parametrize("seed", range(5))
def test_somers_d_of_verdicts_is_j_in_every_list_and_2_auc_less_1_of_scores(seed: int) -> None:
    draw = np.random.default_rng(seed)
    quality = (draw.random((20, 7)) < 0.5).astype(float)
    said = (draw.random((20, 7)) < 0.4).astype(float)
    for place, d in enumerate(somers_d(said, quality)):
        good, bad = said[place][quality[place] == 1], said[place][quality[place] == 0]
        assert d == pytest.approx(good.mean() - bad.mean()) if len(good) and len(bad) else math.isnan(d)
    scores = draw.random((20, 7))
    for place, d in enumerate(somers_d(scores, quality)):
        good, bad = scores[place][quality[place] == 1], scores[place][quality[place] == 0]
        if len(good) and len(bad):
            auc = np.mean(good[:, None] > bad[None, :])
            assert d == pytest.approx(2 * auc - 1)


def test_scores_have_no_j_and_graded_gold_has_none_either() -> None:
    scores = agreement(table_of(Drawn(binary=True)), table_of(Drawn(binary=True)).scores)
    assert scores.j.reason == "the judge gives scores, not verdicts of yes and no"
    graded = table_of(Drawn(verdict=lambda score: (score > 0.5).astype(float)))
    assert agreement(graded, graded.scores).j.reason == "gold has more than two values"
    assert scores.somers_d.known


def test_without_gold_nothing_is_said_about_agreement() -> None:
    records, frame = Drawn(groups=5).records(0)
    bare = [replace(one, trajectories=tuple(replace(t, gold=None) for t in one.trajectories)) for one in frame.groups]
    table = tabulate(records, Frame.of(bare))
    found = agreement(table, table.scores)
    assert {getattr(found, name).reason for name in found.__slots__} == {"the groups have no gold"}


def test_a_quarter_of_the_spread_lets_the_noise_weigh_four_times_as_much() -> None:
    judge = Drawn(groups=3000, noise=0.1, candidate=0.0, gain=0.5, repeats=2)
    table = table_of(judge)
    found, varies = agreement(table, table.scores), repeatability(table, table.scores)
    spread, noise = (varies.spread.value or 0) ** 2, (varies.noise.value or 0) ** 2
    assert noise == pytest.approx(0.01, rel=0.05)
    expected = (found.pearson.value or 0) * math.sqrt((spread + noise) / (spread + 4 * noise))
    assert found.pearson_at_quarter_spread.value == pytest.approx(expected, rel=1e-6)
    smaller = table_of(replace(judge, gain=0.25))
    measured = agreement(smaller, smaller.scores).pearson.value
    assert found.pearson_at_quarter_spread.value == pytest.approx(measured, abs=0.02)


# --- variation -------------------------------------------------------------------------------------------------------


def test_noise_is_told_only_where_a_question_was_repeated() -> None:
    once = table_of(Drawn(repeats=1))
    found = repeatability(once, once.scores)
    assert found.noise.reason == "no question was asked twice"
    assert found.spread.reason == found.reliability.reason == "no question was asked twice"
    assert found.one_call.known
    assert found.order_noise.reason == "no group was shown in two orders"


def test_a_judge_whose_scores_are_all_equal_is_said_to_be_so_and_not_to_have_been_asked_once() -> None:
    records, frame = Drawn(groups=30, repeats=2, listwise=True, orders=2, binary=True).records(0)
    flat = [replace(one, scores=dict.fromkeys(one.scores or (), 0.5)) for one in records]
    table = tabulate(flat, frame)
    found, agreed = repeatability(table, table.scores), agreement(table, table.scores)
    assert (found.noise.value, found.order_noise.value, found.spread.value) == (0, 0, 0)
    words = "all scores of a group are equal: there is neither spread nor noise"
    assert found.reliability.reason == agreed.pearson_at_quarter_spread.reason == words


def test_a_question_that_was_asked_twice_without_scores_was_asked_twice() -> None:
    records, frame = Drawn(groups=30, repeats=2, listwise=True, orders=1).records(0)
    unusable = [replace(one, scores=None) if number % 2 else one for number, one in enumerate(records)]
    table = tabulate(unusable, frame)
    found = repeatability(table, table.scores)
    words = "no two answers about the same candidates have scores that could be compared"
    assert found.noise.reason == found.spread.reason == found.reliability.reason == words
    assert found.order_noise.reason == "no group was shown in two orders"
    assert agreement(table, table.scores).pearson_at_quarter_spread.reason == f"{words}: the noise is unknown"


def test_a_missing_verdict_is_missed_where_it_is_missing() -> None:
    records, frame = verdicts(*[("1-", 1.0, 0.0)] * 5)
    found = agreement(tabulate(records, frame), tabulate(records, frame).scores)
    assert (found.true_positives.value, found.false_positives.reason) == (1, "no answer about bad ones")
    assert found.j.reason == "no answer about bad ones"


def test_where_every_answer_with_gold_failed_gold_is_not_said_to_be_alike() -> None:
    records, frame = verdicts(*[("--", 1.0, 0.0)] * 20, ("11", None, None))  # type: ignore[arg-type]
    table = tabulate(records, frame)
    found = failures(table, {"length": np.arange(42.0).reshape(21, 2)})
    assert found.with_gold.reason == "every answer failed"


def test_orders_add_noise_beyond_position_bias() -> None:
    """Three orders with two repeats each: what stays in repeats and changes between orders is told apart."""
    table = table_of(Drawn(groups=400, listwise=True, orders=3, repeats=2, slope=0.2))
    curve, placed = position_curve(table)
    found = repeatability(table, placed)
    assert found.noise.value == pytest.approx(0.05, rel=0.03)
    assert found.order_noise.value == pytest.approx(0.05, rel=0.05)  # nothing more, once position is taken out
    assert (repeatability(table, table.scores).order_noise.value or 0) > 0.08
    assert curve.slope.value == pytest.approx(0.2, abs=0.01)


def test_noise_by_temperature_has_a_slope() -> None:
    tables = []
    for temperature, noise in ((0.0, 0.02), (0.5, 0.05), (1.0, 0.08)):
        table = table_of(Drawn(groups=300, noise=noise), seed=3)
        tables.append(replace(table, key=replace(table.key, temperature=temperature)))
    found = repeatability(tables[1], tables[1].scores, [tables[0], tables[2]])
    assert [one.temperature for one in found.by_temperature] == [0.0, 0.5, 1.0]
    assert [one.noise.value for one in found.by_temperature] == pytest.approx([0.02, 0.05, 0.08], rel=0.05)
    assert found.per_temperature.value == pytest.approx(0.06, rel=0.05)
    alone = repeatability(tables[0], tables[0].scores)
    assert alone.per_temperature.reason == "answers at one temperature only were recorded"


def test_groups_that_are_scored_higher_throughout_show_between_groups() -> None:
    records, frame = Drawn(groups=400, gain=0.2, candidate=0.02, noise=0.02).records(1)
    draw = np.random.default_rng(5)
    lifted = {f"g{row}": draw.normal(0, 0.1) for row in range(400)}
    moved = [
        replace(
            one,
            scores={name: min(1, max(0, value + lifted[one.group_id])) for name, value in (one.scores or {}).items()},
        )
        for one in records
    ]
    table = tabulate(moved, frame)
    assert repeatability(table, table.scores).between_groups.value == pytest.approx(0.1, rel=0.1)


# --- scale use -------------------------------------------------------------------------------------------------------


def test_levels_and_ties_are_counted() -> None:
    table = tabulate(*verdicts(("1100", 1, 1, 1, 0), ("11", 0, 1), ("1-", 1, 0)))  # type: ignore[arg-type]
    found = scale_use(table)
    assert [(one.score, round(one.share, 4)) for one in found.levels] == [(0.0, 0.2857), (1.0, 0.7143)]
    assert found.ties.value == pytest.approx(3 / 7)  # two of six pairs, then one of one
    assert found.tied_groups.value == pytest.approx(1 / 2)
    assert found.tied_groups.n == 2


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_the_effective_number_of_levels_of_an_even_judge_is_their_number(steps: int) -> None:
    draw = np.random.default_rng(steps)
    records, frame = Drawn(groups=600, repeats=1).records(0)
    even = [
        replace(one, scores={name: float(draw.integers(0, steps + 1)) / steps for name in one.order}) for one in records
    ]
    found = scale_use(tabulate(even, frame)).used
    assert found.value == pytest.approx(steps + 1, rel=0.03)


def test_scores_off_their_scale_and_on_other_scales_are_counted() -> None:
    records, frame = Drawn(groups=20, repeats=1).records(0)
    first, second = records[0], records[1]
    name = first.order[0]
    off = replace(first, scores={**(first.scores or {}), name: 75.0})
    other = replace(second, scores=dict.fromkeys(second.order, 3.0), scale=(1.0, 5.0))
    origin = measure_profile([off, other, *records[2:]], frame, first.key).provenance
    assert (origin.off_scale, origin.scales, origin.scale) == (1, 2, None)
    plain = measure_profile(records, frame, first.key).provenance
    assert (plain.off_scale, plain.scales) == (0, 1)


@pytest.mark.parametrize(("groups", "steps"), [(2, 50), (3, 9), (30, 50)])
def test_effective_levels_are_in_their_interval_and_at_most_the_levels(groups: int, steps: int) -> None:
    records, frame = Drawn(groups=groups, size=3, repeats=1, steps=steps, noise=0.2).records(0)
    found = scale_use(tabulate(records, frame))
    assert found.used.covers(found.used.value or 0.0)
    assert (found.used.low or 0) >= 1
    assert (found.used.high or 99) <= len(found.levels)


# --- positions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["slope", "first", "last"])
@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_part_of_the_curve_is_0_on_average_over_a_list(part: str, size: int) -> None:
    places = np.arange(size, dtype=float)[None, :]
    assert weights_of(part, places, np.full((1, size), float(size))).sum() == pytest.approx(0)


def test_extras_at_both_ends_are_told_from_a_slope() -> None:
    records, frame = Drawn(groups=300, listwise=True, orders=4, repeats=1).records(2)
    extras = {0: 0.1, 5: -0.05}
    ends = [
        replace(
            one,
            scores={
                name: min(1.0, max(0.0, (one.scores or {})[name] + extras.get(place, 0.0)))
                for place, name in enumerate(one.order)
            },
        )
        for one in records
    ]
    curve, _ = position_curve(tabulate(ends, frame))
    assert curve.slope.covers(0.0, slack=0.005)
    assert curve.first.value == pytest.approx(0.1, abs=0.01)
    assert curve.last.value == pytest.approx(-0.05, abs=0.01)
    assert len(curve.curve) == 6
    assert sum(one.value or 0 for one in curve.curve) == pytest.approx(0, abs=1e-6)


def test_position_bias_cannot_be_told_from_one_order_or_from_single_answers() -> None:
    one_order = table_of(Drawn(listwise=True, orders=1))
    assert position_curve(one_order)[0].slope.reason == "no group was shown in two orders"
    alone = table_of(Drawn())
    assert position_curve(alone)[0].slope.reason == "each answer is about one candidate"


def test_pairs_do_not_distinguish_extras_from_a_slope() -> None:
    table = table_of(Drawn(groups=60, size=2, listwise=True, orders=4, slope=0.1))
    curve, _ = position_curve(table)
    assert curve.slope.value == pytest.approx(0.1, abs=0.03)
    assert curve.first.reason == curve.last.reason == "lists of 2 do not distinguish it from a slope"


# --- preferences -----------------------------------------------------------------------------------------------------


def answers_with(feature: float, *, gold: bool = True, seed: int = 0, groups: int = 200) -> tuple[list[Record], Frame]:
    """A judge that adds ``feature`` for each doubling of length to a verdict of quality, on answers of x's."""
    draw = np.random.default_rng(seed)
    made, records = [], []
    for row in range(groups):
        quality = (draw.random(5) < 0.5).astype(float)
        doublings = draw.integers(3, 9, 5)
        authors = ("gpt-4", "claude-3", "gpt-4o", "claude-2", "llama")
        members = tuple(
            Trajectory(
                f"{place}",
                ({"role": "assistant", "content": "x" * (2 ** int(doublings[place]) - 1)},),
                gold=float(quality[place]) if gold else None,
                metadata={"model": authors[place]},
            )
            for place in range(5)
        )
        made.append(TrajectoryGroup(f"g{row}", members))
        score = 0.3 + 0.2 * quality + feature * (doublings - 6) + draw.normal(0, 0.02, 5)
        score = score + 0.05 * np.array([1, 0, 1, 0, 0])
        scores = {f"{place}": float(min(1, max(0, score[place]))) for place in range(5)}
        records.append(Record(f"g{row}", KEY, tuple("01234"), 0, scores=scores, scale=(0.0, 1.0)))
    return records, Frame.of(made)


def test_a_preference_is_the_effect_at_equal_gold_and_its_covariance_the_direction() -> None:
    table = tabulate(*answers_with(0.03))
    found, injected = preferences(table, table.scores, measure_features(table.frame, "gpt-4o"))
    length = found["length"]
    assert length.per_unit.covers(0.03, slack=0.001)
    variance = np.var(np.arange(3, 9))
    assert length.covariance.value == pytest.approx(0.03 * variance, rel=0.1)
    assert length.without_spread.reason.endswith("fewer than 20, among groups with the same gold throughout")
    assert found["own_family"].per_unit.covers(0.05, slack=0.005)
    assert found["markdown"].per_unit.reason == "the answers of each group are alike in this"
    assert injected.reason == "no candidate addresses the judge"


def test_groups_without_gold_spread_show_the_same_direction() -> None:
    records, frame = answers_with(-0.03, groups=800)
    table = tabulate(records, frame)
    found, _ = preferences(table, table.scores, measure_features(frame, "gpt-4o"))
    assert found["length"].without_spread.known
    assert (found["length"].without_spread.high or 0) < 0
    assert found["length"].without_spread.groups < 100


def test_without_gold_a_preference_cannot_be_told_from_quality() -> None:
    table = tabulate(*answers_with(0.03, gold=False))
    found, _ = preferences(table, table.scores, measure_features(table.frame, "gpt-4o"))
    assert found["length"].per_unit.reason == "no gold: a preference cannot be told from a preference for quality"
    assert found["length"].covariance.reason == found["length"].per_unit.reason


def test_where_all_have_the_same_gold_preferences_are_told_and_agreement_is_not() -> None:
    records, frame = answers_with(0.03)
    alike = [replace(one, trajectories=tuple(replace(t, gold=1.0) for t in one.trajectories)) for one in frame.groups]
    table = tabulate(records, Frame.of(alike))
    found, _ = preferences(table, table.scores, measure_features(table.frame, "gpt-4o"))
    length = found["length"]
    assert length.per_unit.covers(0.03, slack=0.003)
    assert length.without_spread.value == pytest.approx(0.03 * np.var(np.arange(3, 9)), rel=0.1)
    assert length.without_spread == length.covariance
    assert agreement(table, table.scores).pearson.reason == "all answers have the same gold"


def test_a_judge_of_no_known_family_has_no_own_family() -> None:
    table = tabulate(*answers_with(0.0))
    found, _ = preferences(table, table.scores, measure_features(table.frame, "somebody"))
    assert found["own_family"].per_unit.reason.startswith("no group names authors of the judge's model family")


# --- failures --------------------------------------------------------------------------------------------------------


def test_failures_are_counted_and_correlated() -> None:
    records, frame = answers_with(0.0, groups=400)
    draw = np.random.default_rng(1)
    partly = []
    for one in records:
        texts = {t.id: t.messages[0]["content"] for t in frame.groups[frame.row[one.group_id]].trajectories}
        kept = {
            name: value for name, value in (one.scores or {}).items() if draw.random() > 0.04 * len(texts[name]) / 64
        }
        partly.append(replace(one, scores=kept or None))
    table = tabulate(partly, frame)
    found = failures(table, measure_features(frame, "gpt-4o"))
    assert found.rate.value == pytest.approx(1 - sum(len(one.scores or {}) for one in partly) / 2000)
    assert (found.with_length.low or 0) > 0.1
    assert found.with_gold.covers(0.0, slack=0.02)
    assert found.with_size.reason == "all lists have the same size"


def test_few_failures_show_no_correlation() -> None:
    table = tabulate(*verdicts(("1-0", 1, 1, 0), ("111", 1, 0, 0)))  # type: ignore[arg-type]
    found = failures(table, measure_features(table.frame, "j"))
    assert found.rate.value == pytest.approx(1 / 6)
    assert found.with_gold.reason == "1 answer failed, fewer than 20"
    assert found.with_length.reason == "the groups have no texts"


# --- the whole -------------------------------------------------------------------------------------------------------


def test_a_profile_names_its_subject_and_what_it_rests_on() -> None:
    records, frame = Drawn(groups=30, repeats=2).records(0)
    found = fit_profile(records, frame, records[0].key, name="mine", note="made", today="2026-01-02")
    assert (found.name, found.subject.judge, found.subject.mode) == ("mine", "drawn", "pointwise")
    origin = found.provenance
    assert (origin.groups, origin.answers, origin.scale, origin.note) == (30, 60, (0.0, 1.0), "made")
    assert origin.fitted == "2026-01-02"
    assert found == fit_profile(records, frame, records[0].key, name="mine", note="made", today="2026-01-02")
