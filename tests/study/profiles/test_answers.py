"""Recorded answers as arrays: scores on one scale, places, quality, and which lists ask the same."""

import numpy as np
import pytest

from calipers.calibration.arrays import Array
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.errors import InputError
from calipers.study.profiles.answers import pairs_of_lists, tabulate
from calipers.types import Trajectory, TrajectoryGroup

NAN = float("nan")


def frame(*golds: float | None) -> Frame:
    members = tuple(Trajectory(name, (), gold=gold) for name, gold in zip("abc", golds or (1.0, 3.0, 5.0), strict=True))
    return Frame.of([TrajectoryGroup("g", members), TrajectoryGroup("h", members)])


def record(order: str, mode: str = "listwise", sample: int = 0, group: str = "g", **read: object) -> Record:
    return Record(group, Key("j", mode, None, None, None), tuple(order), sample, **read)  # type: ignore[arg-type]


def scored(order: str, *scores: float, **more: object) -> Record:
    return record(order, scores=dict(zip(order, scores, strict=False)), scale=(1.0, 5.0), **more)  # type: ignore[arg-type]


def same(found: Array, wanted: list[list[float]]) -> bool:
    return np.array_equal(found, np.array(wanted, dtype=float), equal_nan=True)


def test_lists_are_aligned_by_member_and_scores_are_from_0_to_1() -> None:
    table = tabulate([scored("cab", 5, 1, 3), scored("abc", 2, 4)], frame())
    assert table.kind == "scores"
    assert same(table.scores, [[0.25, 0.75, NAN], [0.0, 0.5, 1.0]])
    assert same(table.places, [[0, 1, 2], [1, 2, 0]])
    assert same(table.quality, [[0.0, 0.5, 1.0]] * 2)
    assert (table.scale, table.gold_range, table.records) == ((1.0, 5.0), (1.0, 5.0), 2)
    assert same(table.sizes, [[3, 3, 3]] * 2)


def test_scores_off_the_scale_are_at_its_ends() -> None:
    assert same(tabulate([scored("abc", 0, 9, 5)], frame()).scores, [[0.0, 1.0, 1.0]])


def test_repeats_of_a_question_and_other_orders_of_it_are_told_apart() -> None:
    records = [scored("abc", 1, 1, 1), scored("abc", 2, 2, 2, sample=1), scored("bac", 3, 3, 3), scored("ab", 4, 4)]
    table = tabulate(records, frame())
    one, other = pairs_of_lists(table)
    asked_alike = table.question[one] == table.question[other]
    assert len(one) == 3  # the list of two members is about another set
    assert asked_alike.sum() == 1
    assert (table.members_of[one] == table.members_of[other]).all()


def test_a_pointwise_call_is_the_answers_about_each_member_in_one_sample() -> None:
    records = [scored(name, 3, mode="pointwise", sample=sample) for name in "abc" for sample in range(2)]
    table = tabulate([*records, record("a", "pointwise", sample=2)], frame())
    assert same(table.scores, [[0.5] * 3, [0.5] * 3, [NAN] * 3])
    assert np.isnan(table.places).all()
    assert table.asked.sum() == 7
    assert len(set(table.question[:2])) == 1


def test_pairs_have_a_winner_and_rankings_have_steps() -> None:
    pairs = [record("ba", "pairwise", winner="a"), record("ab", "pairwise", winner="tie", margin=0.0)]
    table = tabulate(pairs, frame())
    assert table.kind == "pairs"
    assert same(table.scores, [[0.5, 0.5], [1.0, 0.0]])
    ranks = tabulate([record("abc", ranking=("c", "a"))], frame())
    assert ranks.kind == "ranks"
    assert same(ranks.scores, [[0.5, NAN, 1.0]])


def test_groups_and_members_that_are_not_known_are_left_out() -> None:
    table = tabulate([scored("xa", 1, 5), scored("abc", 1, 2, 3, group="elsewhere")], frame())
    assert same(table.scores, [[1.0]])
    assert table.groups == 1


def test_gold_without_spread_is_no_quality() -> None:
    table = tabulate([scored("abc", 1, 2, 3)], frame(2.0, 2.0, None))
    assert np.isnan(table.quality).all()
    assert table.gold_range is None


def test_what_cannot_be_tabulated_is_refused_with_a_remedy() -> None:
    bare = record("abc", scores={"a": 7.0})
    with pytest.raises(InputError, match=r"1 answer of 'j' has scores and no scale; add 'scale'"):
        tabulate([bare], frame())
    with pytest.raises(InputError, match="no answer of 'j' is about a member of the groups; name the groups file"):
        tabulate([scored("xyz", 1, 2, 3)], frame())
    with pytest.raises(InputError, match="no answer of 'j' could be used: all 1 about these groups failed"):
        tabulate([record("abc")], frame())
    with pytest.raises(InputError, match="some answers are rankings and some are scores"):
        tabulate([scored("abc", 1, 2, 3), record("abc", ranking=("a",))], frame())
