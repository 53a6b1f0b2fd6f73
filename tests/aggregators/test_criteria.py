"""Verdicts to scores: gradings averaged, gaps filled, and nothing made of nothing."""

from typing import Any

from calipers.aggregators.criteria import CriteriaScores
from calipers.rubric import Grading, as_rubric
from calipers.types import Scores, Verdict

RUBRIC = as_rubric([{"id": "a", "text": "a", "points": 3}, {"id": "b", "text": "b", "points": 1}])


def scores(*said: tuple[bool | None, str, int], grading: Grading | None = None) -> tuple[float | None, float | None]:
    verdicts = [Verdict(met, "", 0, criterion, presentation) for met, criterion, presentation in said]
    found = CriteriaScores(grading or Grading(), (RUBRIC,))(verdicts, 1)
    return found.values[0], found.stderrs[0]


def test_a_second_question_fills_a_gap_and_never_makes_one() -> None:
    assert scores((None, "a", 0), (True, "b", 0), (True, "a", 0)) == (1.0, None)
    assert scores((True, "a", 0), (True, "b", 0), (None, "a", 0)) == (1.0, None)


def test_an_incomplete_grading_counts_only_as_its_policy_says() -> None:
    assert scores((True, "a", 0), (None, "b", 0), (True, "a", 1), (False, "b", 1)) == (0.75, None)
    assert scores((True, "a", 0), (None, "b", 0)) == (None, None)
    partial = Grading(on_missing="partial", coverage=0.7)
    assert scores((True, "a", 0), (None, "b", 0), grading=partial) == (1.0, None)
    assert scores((None, "a", 0), (True, "b", 0), grading=partial) == (None, None)
    assert scores() == (None, None)


def test_equal_sums_are_bit_equal() -> None:
    rubric = as_rubric([{"id": name, "text": name, "points": points} for name, points in
                        {"a": 0.1, "b": 0.2, "c": 0.3, "d": 1.0}.items()])  # fmt: skip
    verdicts = [Verdict(name in met, "", item, name) for item, met in enumerate(("ab", "c")) for name in "abcd"]
    found = CriteriaScores(Grading(), (rubric, rubric))(verdicts, 2)
    assert found.values[0] == found.values[1]


TENTHS = as_rubric([{"id": str(number), "text": "x"} for number in range(10)])


def panel_scores(said: dict[int, dict[int, float]], n: int, **settings: Any) -> Scores:
    """Scores of ``n`` candidates from the share of ten criteria that each judge (slot) found met by some of them."""
    verdicts = [
        Verdict(number < round(10 * share), "", item, str(number), slot, slot)
        for slot, row in said.items()
        for item, share in row.items()
        for number in range(10)
    ]
    return CriteriaScores(Grading(), (TENTHS,) * n, judges=len(said), **settings)(verdicts, n)


def test_nobody_gains_by_having_met_the_lenient_judge_alone() -> None:
    """The second judge gives 0.4 more to everyone, and did not grade the first candidate, as good as the others."""
    assert panel_scores({0: {0: 0.3, 1: 0.3, 2: 0.3}, 1: {1: 0.7, 2: 0.7}}, 3).values == (0.3, 0.3, 0.3)


def test_a_quorum_counts_the_judges_that_graded_and_a_fallback_speaks_for_the_whole_group() -> None:
    assert panel_scores({0: {0: 0.3, 1: 0.3}, 1: {1: 0.7}}, 2, quorum=2).values == (None, 0.5)
    assert panel_scores({0: {0: 0.3}, 1: {0: 0.7, 1: 0.7}}, 2, panel="fallback").values == (0.7, 0.7)


def test_in_a_cycle_one_judge_may_finish_what_another_began() -> None:
    verdicts = [Verdict(True, "", 0, "a", 0, 0), Verdict(False, "", 0, "b", 1, 1)]
    found = CriteriaScores(Grading(), (RUBRIC,), judges=2, panel="cycle")(verdicts, 1)
    assert found == Scores((0.75,), (None,))
