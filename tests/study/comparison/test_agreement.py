"""Agreement of judges, against published and hand-computed values."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.calibration.records import Key
from calipers.study.comparison.agreement import criteria_agreement, krippendorff_alpha, most_moved, pair_agreement
from calipers.study.comparison.answers import CellAnswers

NAN = float("nan")


def test_alpha_is_that_of_krippendorffs_own_example() -> None:
    """Four observers, twelve units: 0.849 by interval differences (Krippendorff 2011, Computing Alpha-Reliability)."""
    values = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ]
    )
    assert krippendorff_alpha(values) == pytest.approx(0.849, abs=5e-4)


def test_alpha_is_unknown_without_pairs_or_without_differences() -> None:
    assert krippendorff_alpha(np.array([[1.0, NAN], [NAN, 2.0]])) is None
    assert krippendorff_alpha(np.ones((3, 4))) is None


def test_judges_with_the_same_order_agree_and_with_the_opposite_one_disagree() -> None:
    one = np.array([[[0.1, 0.2, 0.9], [0.3, 0.2, 0.1]]])
    (same,) = pair_agreement(["a", "b"], np.concatenate([one, one**2]))
    (other,) = pair_agreement(["a", "b"], np.concatenate([one, 1 - one]))
    assert (same.tau_b.value, other.tau_b.value) == (1.0, -1.0)
    assert other.pearson.value == pytest.approx(-1)
    assert same.answers == 6
    assert same.equal == 0


def test_a_judge_that_ties_a_group_agrees_with_none_whichever_comes_first() -> None:
    scores = np.array([[[0.1, 0.2, 0.9]], [[0.5, 0.5, 0.5]]])
    for pair in (scores, scores[::-1]):
        (found,) = pair_agreement(["a", "b"], pair)
        assert found.tau_b.value == 0
    (both,) = pair_agreement(["a", "b"], np.full((2, 1, 3), 0.5))
    assert both.tau_b.value is None
    assert both.equal == 1


def test_judges_without_an_answer_in_common_are_not_compared() -> None:
    (found,) = pair_agreement(["a", "b"], np.array([[[0.1, NAN]], [[NAN, 0.4]]]))
    assert (found.answers, found.equal, found.apart, found.tau_b.value) == (0, None, None, None)


def _cell(name: str, verdicts: dict[tuple[str, str, str], float]) -> CellAnswers:
    return CellAnswers(name, Key(name, "pointwise", None, None, None), verdicts=verdicts)


def test_the_most_disputed_criterion_comes_first() -> None:
    place = [("polite", "g", str(number)) for number in range(4)] + [("short", "g", str(number)) for number in range(4)]
    cells = [
        _cell("a", dict(zip(place, [1, 1, 1, 1, 1, 0, 1, 0], strict=True))),
        _cell("b", dict(zip(place, [1, 1, 1, 0, 0, 1, 1, 0], strict=True))),
        _cell("c", {("alone", "g", "0"): 1.0}),
    ]
    first, second = criteria_agreement(cells)
    assert (first.criterion, first.disagreement, first.answers) == ("short", 0.5, 4)
    assert (second.criterion, second.disagreement) == ("polite", 0.25)
    assert second.means == {"a": 1.0, "b": 0.75}


def test_answers_that_moved_are_listed_by_their_spread() -> None:
    scores = np.array([[[0.1, 0.2, NAN]], [[0.4, 0.2, 0.3]]])
    places = {(0, column): ("g", f"m{column}") for column in range(3)}
    (only,) = most_moved(["a", "b"], scores, places, most=5)
    assert (only.id, only.scores) == ("m0", {"a": 0.1, "b": 0.4})
    assert only.spread == pytest.approx(0.3)
