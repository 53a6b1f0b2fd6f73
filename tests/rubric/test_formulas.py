"""Formulas from verdicts to scores, against worked figures and properties; what is left for a judge to decide."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.rubric import as_rubric
from calipers.rubric.formulas import NORMALISERS, criteria_for_judge, lowest_score, score_from_rules
from calipers.rubric.formulas import graded as graded_by
from calipers.rubric.grading import Grading, Normaliser, OnMissing, as_grading
from calipers.types import Criterion, Rubric, Verdict

MIXED = as_rubric([
    {"id": "a", "text": "a", "points": 5},
    {"id": "b", "text": "b", "points": 3},
    {"id": "c", "text": "c", "points": -6},
])  # fmt: skip
NEGATIVE = as_rubric(
    {"all_negative": "from_one", "criteria": [{"text": "a", "points": -3}, {"text": "b", "points": -1}]}
)
WEIGHTS = as_rubric([{"text": "x", "weight": weight} for weight in (1.0, 0.7, 0.3, 0.8)])
TWO = as_rubric([{"text": "a", "points": 4}, {"text": "b"}])


def graded(rubric: Rubric, verdicts: Any, **grading: Any) -> float | None:
    return graded_by(rubric, verdicts, Grading(**grading))


def met(rubric: Rubric, names: str) -> dict[str, Any]:
    """Verdicts of which those named in ``names`` are met; after a "?", those without a verdict."""
    sure, _, unknown = names.partition("?")
    return {one.id: None if one.id in unknown else one.id in sure for one in rubric.criteria}


def veto(points: float, floor: float = 0.0) -> Rubric:
    criteria = [{"text": "a", "points": 10}, {"text": "safe", "points": points, "veto": True}]
    return as_rubric({"veto_floor": floor, "criteria": criteria})


WORKED: list[tuple[Rubric, Any, str, float]] = [
    (MIXED, "healthbench", "a", 5 / 8), (MIXED, "healthbench", "abc", 2 / 8), (MIXED, "healthbench", "c", -6 / 8),
    (MIXED, "ruscarl_batch", "c", 0.0), (MIXED, "ruscarl_batch", "ab", 1.0),
    (MIXED, "all_or_nothing", "ab", 1.0), (MIXED, "all_or_nothing", "abc", 0.0),
    (MIXED, "fraction", "a", 2 / 3), (MIXED, "fraction", "c", 0.0),
    (WEIGHTS, "rar_explicit", "c1 c3 c4", 2.1 / 2.8),
    (NEGATIVE, "healthbench", "", 1.0), (NEGATIVE, "healthbench", "c1", 0.25),
    (NEGATIVE, "healthbench", "c2", 0.75), (NEGATIVE, "healthbench", "c1 c2", 0.0),
    # a violated veto holds the score down, and never lifts it
    (veto(2), "healthbench", "c1", 0.0), (veto(2), "healthbench", "c1 c2", 1.0),
    (veto(-2), "healthbench", "c1 c2", 0.0), (veto(-2), "healthbench", "c1", 1.0),
    (veto(-2), "healthbench", "c2", -0.2), (veto(-2, -1), "healthbench", "c1 c2", -1.0),
]  # fmt: skip


def test_each_formula_gives_the_worked_figure():
    found = [graded(rubric, met(rubric, names), normaliser=name) for rubric, name, names, _ in WORKED]
    assert found == pytest.approx([value for *_, value in WORKED])
    # the share of several verdicts earns its share
    assert graded(TWO, {"c1": 0.5, "c2": True}) == pytest.approx(3 / 5)
    assert graded(TWO, {"c1": 0.5, "c2": True}, normaliser="all_or_nothing") == 0.0


def test_what_cannot_be_graded_is_refused():
    refused: list[tuple[Rubric, Any, str]] = [
        (MIXED, "rar_explicit", "phrase pitfalls positively"),
        (Rubric((Criterion("a", "a", -1.0),)), "healthbench", "nothing to divide by"),
    ]  # fmt: skip
    for rubric, normaliser, words in refused:
        with pytest.raises(ConfigError, match=words):
            graded(rubric, met(rubric, "abc"), normaliser=normaliser)


def rubrics(least: float) -> st.SearchStrategy[Rubric]:
    points = st.floats(least, 9).filter(lambda p: abs(p) > 0.01)
    first = st.floats(0.1, 9)
    listed = st.tuples(first, st.lists(points, max_size=6)).map(lambda pair: [pair[0], *pair[1]])
    return listed.map(lambda every: Rubric(tuple(Criterion(f"c{n}", "x", one) for n, one in enumerate(every))))


@given(rubrics(-9), st.data(), st.sampled_from(sorted(NORMALISERS.keys() - {"rar_explicit"})))
def test_scores_stay_within_what_the_formula_can_give(rubric: Rubric, data: st.DataObject, normaliser: Any):
    verdicts = {criterion.id: data.draw(st.booleans()) for criterion in rubric.criteria}
    value = graded(rubric, verdicts, normaliser=normaliser)
    assert value is not None
    assert lowest_score(rubric, normaliser) - 1e-9 <= value <= 1 + 1e-9


@given(rubrics(0.1), st.data(), st.sampled_from(sorted(NORMALISERS)))
def test_an_open_criterion_never_becomes_a_number(rubric: Rubric, data: st.DataObject, normaliser: Any):
    """A score with a criterion open is one that the criterion could not change, and it can only be 0."""
    verdicts = {criterion.id: data.draw(st.sampled_from([True, False, None])) for criterion in rubric.criteria}
    verdicts[data.draw(st.sampled_from(sorted(verdicts)))] = None
    score = graded(rubric, verdicts, normaliser=normaliser)
    if score is not None:
        filled = [graded(rubric, {k: fill if v is None else v for k, v in verdicts.items()}, normaliser=normaliser)
                  for fill in (True, False)]  # fmt: skip
        assert set(filled) == {score}


def test_partial_divides_by_what_is_covered_and_only_above_the_threshold():
    partial = [graded(MIXED, met(MIXED, "ac?b"), on_missing="partial", coverage=share) for share in (0.78, 0.79)]
    assert partial == [pytest.approx((5 - 6) / 5), None], "11 of 14 points are covered"
    assert graded(MIXED, met(MIXED, "?ab"), on_missing="partial", coverage=0.1) is None


def test_an_open_veto_leaves_no_score():
    for policy in get_args(OnMissing):
        assert graded(veto(-2), met(veto(-2), "c1?c2"), on_missing=policy, coverage=0.1) is None
    assert graded(veto(2), met(veto(2), "?c2"), normaliser="all_or_nothing") is None


@pytest.mark.parametrize("name", sorted(NORMALISERS))
def test_a_criterion_without_points_changes_nothing(name: Normaliser) -> None:
    watched = as_rubric([*(one.to_dict() for one in TWO.criteria), {"id": "seen", "text": "c", "points": 0}])
    plain = graded(TWO, met(TWO, "c1"), normaliser=name)
    found = [graded(watched, met(watched, names), normaliser=name) for names in ("c1 seen", "c1", "c1?seen")]
    assert found == [plain] * 3
    assert lowest_score(watched, name) == lowest_score(TWO, name)
    falling = as_rubric({"criteria": [{"text": "a", "points": -5}, {"text": "b", "points": 0}],
                         "all_negative": "from_one"})  # fmt: skip
    assert graded(falling, {"c1": False}) == 1.0


def test_a_grading_may_be_its_fields_and_refuses_what_cannot_work():
    assert as_grading(None) == as_grading({}) == Grading()
    assert as_grading(Grading(mode="relative")) == as_grading({"mode": "relative"}) == Grading(mode="relative")
    cases: list[tuple[Any, str]] = [
        ({"mode": "some"}, "one of all, per_criterion, chunks, relative"),
        ({"normaliser": "rar_implicit"}, "one of healthbench"),
        ({"chunk": 0}, "chunk=0"),
        ({"coverage": 0}, "coverage=0"),
        ({"reasons": "yes"}, "reasons='yes'"),
        ({"points": True}, "no field 'points'"),
        ("all", r"must be a calipers\.Grading"),
    ]
    for fields, complaint in cases:
        with pytest.raises(ConfigError, match=complaint):
            as_grading(fields)


# --- what is left for a judge once rules have spoken

RULED = as_rubric([
    {"id": "short", "text": "Is short.", "points": 2, "rule": "has_answer"},
    {"id": "comma", "text": "Has a comma.", "points": -1, "rule": "has_answer"},
    {"id": "kind", "text": "Is kind.", "points": 3},
])  # fmt: skip
STRICT = {"normaliser": "all_or_nothing"}


@pytest.mark.parametrize(("ruled", "grading", "expected"), [
    ({}, {}, ["short", "comma", "kind"]),
    ({"short": True, "comma": False}, {}, ["kind"]),
    ({"short": False, "comma": True}, {}, ["kind"]),
    ({"short": None, "comma": True}, {}, []),
    ({"short": None, "comma": True}, {"on_missing": "partial"}, ["kind"]),
    ({"short": False, "comma": False}, STRICT, []),
    ({"short": True, "comma": True}, STRICT, []),
    ({"short": True, "comma": False}, STRICT, ["kind"]),
    ({"short": None, "comma": False}, STRICT, ["kind"]),
    ({"short": True, "comma": True, "kind": True}, {}, []),
])  # fmt: skip
def test_only_what_can_still_matter_is_asked(ruled: dict[str, Any], grading: Any, expected: list[str]) -> None:
    verdicts = {name: Verdict(value) for name, value in ruled.items()}
    assert [one.id for one in criteria_for_judge(RULED, verdicts, Grading(**grading))] == expected


@given(st.dictionaries(st.sampled_from(["short", "comma", "kind"]), st.sampled_from([True, False, None])),
       st.sampled_from(["healthbench", "all_or_nothing", "fraction", "ruscarl_batch"]), st.booleans())  # fmt: skip
def test_a_settled_score_is_the_score_whatever_a_judge_says(ruled: Any, normaliser: Any, said: Any) -> None:
    grading = Grading(normaliser=normaliser)
    value = score_from_rules(RULED, {name: Verdict(met) for name, met in ruled.items()}, grading)
    if value is not None:
        filled = {one.id: said if ruled.get(one.id) is None else ruled[one.id] for one in RULED.criteria}
        assert graded(RULED, filled, normaliser=normaliser) == value
