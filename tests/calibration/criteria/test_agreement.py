"""Balanced F1, held against its definition entry by entry."""

import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.criteria import agreement


def by_definition(pairs: list[tuple[str, bool, bool]]) -> dict[str, float | None]:
    """Lists of hits keyed by verdict (precision) and by label (recall), as the formula is stated."""
    hits: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for _, said, label in pairs:
        hits["precision", said].append(said == label)
        hits["recall", label].append(said == label)
    mean = {key: sum(found) / len(found) for key, found in hits.items()}
    f1: dict[bool, float | None] = {}
    for kind in (True, False):
        precision, recall = mean.get(("precision", kind)), mean.get(("recall", kind))
        if precision is None or recall is None:
            f1[kind] = None
        else:
            f1[kind] = 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)
    met, unmet = f1[True], f1[False]
    return {
        "precision_met": mean.get(("precision", True)),
        "recall_met": mean.get(("recall", True)),
        "f1_met": met,
        "precision_not_met": mean.get(("precision", False)),
        "recall_not_met": mean.get(("recall", False)),
        "f1_not_met": unmet,
        "balanced_f1": None if met is None or unmet is None else (met + unmet) / 2,
    }


pairs = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=30)


@given(pairs)
def test_every_figure_is_its_definition_and_none_where_a_class_is_empty(found: Any) -> None:
    told = agreement(found).to_dict()
    for name, value in by_definition(found).items():
        assert told[name] == (None if value is None else pytest.approx(value)), name
    assert told["labels"] == len(found)


def test_a_worked_example() -> None:
    """Three verdicts met (two rightly), two not met (one rightly)."""
    found = agreement(
        [("a", True, True), ("b", True, True), ("c", True, False), ("d", False, False), ("e", False, True)]
    )
    assert found.precision_met == found.recall_met == pytest.approx(2 / 3)
    assert (found.precision_not_met, found.recall_not_met) == (0.5, 0.5)
    assert found.balanced_f1 == pytest.approx((2 / 3 + 0.5) / 2)


def test_wrong_throughout_is_zero_and_saying_one_thing_only_is_none() -> None:
    assert agreement([("a", True, False), ("b", False, True)]).balanced_f1 == 0.0
    always = agreement([("a", True, True), ("b", True, False)])
    assert (always.recall_not_met, always.precision_not_met, always.balanced_f1, always.interval) == (
        0.0,
        None,
        None,
        None,
    )


def test_the_interval_holds_the_figure_repeats_and_resamples_completions() -> None:
    generator = random.Random(3)
    told = [(str(number), met, met if generator.random() < 0.8 else not met)
            for number in range(300) for met in (True, False)]  # fmt: skip
    found = agreement(told)
    assert found.interval is not None
    assert found.balanced_f1 is not None
    low, high = found.interval
    assert low < found.balanced_f1 < high
    assert agreement(told).interval == found.interval
    # The same comparisons ten times over are not ten times the evidence, and are told apart by their completion.
    assert agreement(told * 10).interval == pytest.approx(found.interval)
    apart = agreement([(f"{copy}:{unit}", said, label) for copy in range(10) for unit, said, label in told])
    assert apart.interval is not None
    assert apart.interval[1] - apart.interval[0] < (high - low) / 2


def test_one_completion_has_no_interval() -> None:
    assert agreement([("a", True, True), ("a", False, False)]).interval is None
