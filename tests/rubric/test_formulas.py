"""Formulas from verdicts to scores, against worked figures and properties."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.rubric import as_rubric
from calipers.rubric.formulas import NORMALISERS, graded, lowest_score
from calipers.rubric.grading import Grading, Normaliser, OnMissing, as_grading
from calipers.types import Criterion, Rubric

MIXED = as_rubric([
    {"id": "a", "text": "a", "points": 5},
    {"id": "b", "text": "b", "points": 3},
    {"id": "c", "text": "c", "points": -6},
])  # fmt: skip
NEGATIVE = as_rubric(
    {"all_negative": "from_one", "criteria": [{"text": "a", "points": -3}, {"text": "b", "points": -1}]}
)


WORKED: dict[tuple[Any, str], float] = {
    ("healthbench", "a"): 5 / 8,
    ("healthbench", "abc"): 2 / 8,
    ("healthbench", "c"): -6 / 8,
    ("ruscarl_batch", "c"): 0.0,
    ("ruscarl_batch", "ab"): 1.0,
    ("all_or_nothing", "ab"): 1.0,
    ("all_or_nothing", "abc"): 0.0,
    ("fraction", "a"): 2 / 3,
    ("fraction", "c"): 0.0,
}


def test_each_formula_gives_the_worked_figure():
    found = {(name, met): graded(MIXED, {one: one in met for one in "abc"}, normaliser=name).value
             for name, met in WORKED}  # fmt: skip
    assert found == pytest.approx(WORKED)
    for met, expected in {"": 1.0, "c1": 0.25, "c2": 0.75, "c1c2": 0.0}.items():
        assert graded(NEGATIVE, {name: name in met for name in ("c1", "c2")}).value == pytest.approx(expected)


def test_rar_explicit_is_the_share_of_weights_and_refuses_negative_ones():
    weights = as_rubric([{"text": "x", "weight": weight} for weight in (1.0, 0.7, 0.3, 0.8)])
    met = {"c1": True, "c2": False, "c3": True, "c4": True}
    assert graded(weights, met, normaliser="rar_explicit").value == pytest.approx(2.1 / 2.8)
    with pytest.raises(ConfigError, match="phrase pitfalls positively"):
        graded(MIXED, dict.fromkeys("abc", True), normaliser="rar_explicit")


def test_without_positive_points_there_is_nothing_to_divide_by():
    unchecked = Rubric((Criterion("a", "a", -1.0),))
    with pytest.raises(ConfigError, match="nothing to divide by"):
        graded(unchecked, {"a": True})


def rubrics(least: float) -> st.SearchStrategy[Rubric]:
    points = st.floats(least, 9).filter(lambda p: abs(p) > 0.01)
    first = st.floats(0.1, 9)
    listed = st.tuples(first, st.lists(points, max_size=6)).map(lambda pair: [pair[0], *pair[1]])
    return listed.map(lambda every: Rubric(tuple(Criterion(f"c{n}", "x", one) for n, one in enumerate(every))))


@given(rubrics(-9), st.data(), st.sampled_from(sorted(NORMALISERS.keys() - {"rar_explicit"})))
def test_scores_stay_within_what_the_formula_can_give(rubric: Rubric, data: st.DataObject, normaliser: Any):
    verdicts = {criterion.id: data.draw(st.booleans()) for criterion in rubric.criteria}
    value = graded(rubric, verdicts, normaliser=normaliser).value
    assert value is not None
    assert lowest_score(rubric, normaliser) - 1e-9 <= value <= 1 + 1e-9


@given(rubrics(0.1), st.data(), st.sampled_from(sorted(NORMALISERS)))
def test_an_open_criterion_never_becomes_a_number(rubric: Rubric, data: st.DataObject, normaliser: Any):
    """A score with a criterion open is one that the criterion could not change, and it can only be 0."""
    verdicts = {criterion.id: data.draw(st.sampled_from([True, False, None])) for criterion in rubric.criteria}
    verdicts[data.draw(st.sampled_from(sorted(verdicts)))] = None
    score = graded(rubric, verdicts, normaliser=normaliser)
    if score.value is not None:
        filled = [graded(rubric, {k: fill if v is None else v for k, v in verdicts.items()}, normaliser=normaliser)
                  for fill in (True, False)]  # fmt: skip
        assert {one.value for one in filled} == {score.value}
    else:
        assert score.reason
        assert set(score.open) == {name for name, met in verdicts.items() if met is None}


def test_partial_divides_by_what_is_covered_and_only_above_the_threshold():
    verdicts = {"a": True, "b": None, "c": True}
    partial = graded(MIXED, verdicts, on_missing="partial", coverage=0.7)
    assert partial.value == pytest.approx((5 - 6) / 5)
    assert partial.coverage == pytest.approx(11 / 14)
    assert (partial.open, partial.filled) == (("b",), True)
    below = graded(MIXED, verdicts, on_missing="partial", coverage=0.9)
    assert below.value is None
    assert "79% of the weight" in str(below.reason)
    only_penalty = {"a": None, "b": None, "c": False}
    assert graded(MIXED, only_penalty, on_missing="partial", coverage=0.1).value is None


def veto(points: float, floor: float = 0.0) -> Rubric:
    criteria = [{"text": "a", "points": 10}, {"text": "safe", "points": points, "veto": True}]
    return as_rubric({"veto_floor": floor, "criteria": criteria})


def test_a_violated_veto_holds_the_score_down_and_never_lifts_it():
    cases = [(2, 0, "c1", 0.0), (2, 0, "c1c2", 1.0), (-2, 0, "c1c2", 0.0), (-2, 0, "c1", 1.0), (-2, 0, "c2", -0.2),
             (-2, -1, "c1c2", -1.0)]  # fmt: skip
    found = [graded(veto(points, floor), {name: name in met for name in ("c1", "c2")}).value
             for points, floor, met, _ in cases]  # fmt: skip
    assert found == pytest.approx([expected for *_, expected in cases])


def test_an_open_veto_leaves_no_score():
    for policy in get_args(OnMissing):
        assert graded(veto(-2), {"c1": True, "c2": None}, on_missing=policy, coverage=0.1).value is None
    assert graded(veto(2), {"c1": False, "c2": None}, normaliser="all_or_nothing").value is None


def test_the_share_of_several_verdicts_earns_its_share():
    rubric = as_rubric([{"text": "a", "points": 4}, {"text": "b"}])
    assert graded(rubric, {"c1": 0.5, "c2": True}).value == pytest.approx(3 / 5)
    assert graded(rubric, {"c1": 0.5, "c2": True}, normaliser="all_or_nothing").value == 0.0


def test_an_unknown_formula_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="fraction"):
        graded(MIXED, {}, normaliser="median")  # type: ignore[arg-type]  # what is tested


def test_grading_refuses_what_cannot_work():
    cases: list[tuple[Any, str]] = [
        ({"mode": "some"}, "one of all, per_criterion, chunks, relative"),
        ({"normaliser": "rar_implicit"}, "one of healthbench"),
        ({"chunk": 0}, "chunk=0"),
        ({"coverage": 0}, "coverage=0"),
        ({"floor": 0.5}, "no field 'floor'"),
        ({"reasons": "yes"}, "reasons='yes'"),
        ({"points": True}, "no field 'points'"),
    ]
    for fields, complaint in cases:
        with pytest.raises(ConfigError, match=complaint):
            as_grading(fields)


def test_a_grading_may_be_its_fields():
    assert as_grading(None) == as_grading({}) == Grading()
    assert as_grading(Grading(mode="relative")) == as_grading({"mode": "relative"}) == Grading(mode="relative")
    with pytest.raises(ConfigError, match=r"must be a calipers\.Grading"):
        as_grading("all")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("name", sorted(NORMALISERS))
def test_a_criterion_without_points_changes_nothing(name: Normaliser) -> None:
    plain = as_rubric([{"text": "a", "points": 5}, {"text": "b", "points": 2}])
    watched = as_rubric([*(one.to_dict() for one in plain.criteria), {"id": "seen", "text": "c", "points": 0}])
    said = {"c1": True, "c2": False}
    for met in (True, False, None):
        found = graded(watched, {**said, "seen": met}, normaliser=name)
        assert found == graded(plain, said, normaliser=name)
        assert found.coverage == 1.0
    assert lowest_score(watched, name) == lowest_score(plain, name)
    falling = as_rubric({"criteria": [{"text": "a", "points": -5}, {"text": "b", "points": 0}],
                         "all_negative": "from_one"})  # fmt: skip
    assert graded(falling, {"c1": False}).value == 1.0
