"""Records to numbers: calls, windows, gaps, pairs; an answer that is recorded twice is no repeat."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from calipers.calibration import calibrate
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, Series, build_series
from calipers.inputs import as_group
from judged import compared, gold_of, group, groups, rated, record, series_of

ONE = group(1, {"a": 3.0, "b": 2.0, "c": 1.0})
PAIR = group(2, {"a": 1.0, "b": 0.0})


def built(every: list[dict[str, Any]], *records: dict[str, Any]) -> list[Series]:
    return series_of(every, *records)[0]


def pair(first: str, second: str, winner: str | None, **fields: Any) -> dict[str, Any]:
    return record(PAIR, "j", {"winner": winner}, mode="pairwise", order=[first, second], **fields)


def test_samples_are_calls_and_windows_go_round():
    rows = [{"a": value, "b": 5.0, "c": 0.0} for value in (1.0, 3.0, 8.0)]
    (series,) = built([ONE], *(record(ONE, "j", {"scores": row}, sample_index=n) for n, row in enumerate(rows)))
    assert (series.most, series.depth, series.records) == (3, (3,), 3)
    assert [series.scores(start, 1)[0, 0] for start in range(3)] == [1.0, 3.0, 8.0]
    assert series.scores(2, 2)[0, 0] == pytest.approx(4.5)
    assert series.scores(0, 3)[0].tolist() == [4.0, 5.0, 0.0]


def test_a_missing_score_is_missing_and_never_a_number():
    (series,) = built(
        [ONE],
        record(ONE, "j", {"scores": {"a": 1.0, "b": None}}),
        record(ONE, "j", {"scores": {"a": 3.0}}, sample_index=1),
    )
    scores = series.scores(0, 2)[0]
    assert scores[0] == 2.0
    assert np.isnan(scores[1:]).all()
    assert (series.asked, series.answered) == (6, 2)


def test_both_orders_of_a_pair_are_two_calls_and_a_swap():
    (series,) = built([PAIR], pair("a", "b", "a"), pair("b", "a", "b"))
    assert series.most == 2
    assert series.scores(0, 2)[0].tolist() == [0.5, 0.5]
    assert series.swapped == (1, 1)
    assert series.verdicts == {"first": 2}


def test_a_ranking_is_places_and_those_left_out_are_missing():
    (series,) = built([ONE], record(ONE, "j", {"ranking": ["c", "a"]}, mode="listwise"))
    scores = series.scores(0, 1)[0]
    assert (scores[2], scores[0]) == (1.0, 0.5)
    assert math.isnan(scores[1])


def test_a_generous_list_does_not_lift_whom_it_holds():
    """The second list is 2 higher throughout; c, only in it, is worth 3 on the first one's level and not 5."""
    (series,) = built(
        [ONE],
        record(ONE, "j", {"scores": {"a": 1.0, "b": 2.0}}, mode="listwise"),
        record(ONE, "j", {"scores": {"a": 3.0, "b": 4.0, "c": 5.0}}, mode="listwise", sample_index=1),
    )
    a, b, c = series.scores(0, 2)[0]
    assert (b - a, c - a) == (pytest.approx(1.0), pytest.approx(2.0))


def test_comparisons_in_a_larger_group_are_fitted_and_the_unlinked_are_missing():
    four = group(3, {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0})
    met = [("a", "b", "a"), ("b", "c", "b")]
    (series,) = built([four], *(record(four, "j", {"winner": w}, mode="pairwise", order=[x, y]) for x, y, w in met))
    a, b, c, d = series.scores(0, series.most)[0]
    assert a > b > c
    assert math.isnan(d)


def test_one_order_of_all_pairs_favours_nobody():
    """A judge that always says "first" says nothing in one order, whoever comes first in the file."""
    four = group(3, dict.fromkeys("abcd", 0.0))
    (series,) = built([four], *compared([four], "j", bias=1.0, noise=0.0))
    firsts = [[one.first for one in call] for call in series.meetings[0]]
    assert [sorted(call.count(item) for item in range(4)) for call in firsts] == [[1, 1, 2, 2]] * 2


def test_a_margin_counts_for_as_much_as_it_is():
    parsed = {"winner": "a", "margin": 0.5}
    (series,) = built([ONE], record(ONE, "j", parsed, mode="pairwise", order=["b", "a"]))
    assert series.meetings[0][0][0].margin == -0.5
    (two,) = built([PAIR], record(PAIR, "j", parsed, mode="pairwise", order=["a", "b"]))
    assert two.calls[0, 0].tolist() == [0.75, 0.25]


def test_what_a_place_is_worth_is_learned_from_lists_in_several_orders():
    every, said = groups(30), []
    for sample, order in enumerate(("abcd", "dcba", "bdac")):
        for one in every:
            scores = {name: gold_of(one)[name] + 0.3 * (name == order[0]) for name in order}
            said.append(record(one, "j", {"scores": scores}, mode="listwise", order=[*order], sample_index=sample))
    (series,) = built(every, *said)
    assert series.places is not None
    assert series.places.turned == 30
    assert series.places.curve == pytest.approx([0.225, -0.075, -0.075, -0.075], abs=0.01)
    (one_order,) = built(every, *said[:30])
    assert one_order.places is not None
    assert (one_order.places.curve, one_order.places.turned) == (None, 0)


def test_mixed_scales_are_brought_to_one_and_what_states_none_is_left_out():
    (series,) = built(
        [ONE],
        record(ONE, "j", {"scores": {"a": 10, "b": 1, "c": 1}}, scale=[1, 10]),
        record(ONE, "j", {"scores": {"a": 5, "b": 1, "c": 1}}, scale=[1, 5], sample_index=1),
        record(ONE, "j", {"scores": {"a": 0, "b": 77, "c": 0}}, sample_index=2),
    )
    assert series.scores(0, 3)[0].tolist() == [1.0, 0.0, 0.0]


def test_judgments_of_other_groups_and_unknown_members_are_counted_and_not_used():
    foreign = record(PAIR, "j", {"scores": {"a": 1.0}})
    records = [record(ONE, "j", {"scores": {"a": 1.0, "x": 2.0}}, order=["a", "x"]), foreign, foreign]
    series, tally = build_series(map(as_record, records), Frame.of([as_group(ONE)]))
    assert (tally.foreign_records, tally.foreign_groups, tally.unknown_members) == (2, 1, 1)
    assert series[0].rows == (0,)


GROUPS = groups(40)
NOISE = list(rated(GROUPS, "j", 20.0, calls=2, mode="listwise"))
"""Lists by a judge whose scores are almost all noise."""


def used(lines: Sequence[dict[str, Any]]) -> int:
    frame = Frame.of(as_group(one) for one in (*GROUPS, PAIR))
    return build_series([as_record(one) for one in lines], frame)[1].used


def test_a_price_makes_no_other_answer_and_tokens_do():
    (line,) = rated(GROUPS[:1], "j", 1.0)
    priced = [line | {"usage": {"input_tokens": 9, "output_tokens": 3, "cost_usd": cost}} for cost in (None, 0.1)]
    assert used(priced) == 1
    assert used([*priced, line | {"usage": {"input_tokens": 9, "output_tokens": 4}}]) == 2


def test_without_numbers_answers_are_repeats_where_some_differ():
    """Agreeing verdicts must not vanish: a judge would look as if it never repeated itself."""
    bare = [{key: value for key, value in one.items() if key != "sample_index"} for one in NOISE]
    assert calibrate(GROUPS, bare).judges[0].calls_per_group == 2
    for winners, count in (("aab", 3), ("aa", 1)):
        said = [pair("a", "b", winner) for winner in winners]
        assert used([{key: value for key, value in one.items() if key != "sample_index"} for one in said]) == count
