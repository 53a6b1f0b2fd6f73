"""Mathematical answers as public sets carry them, bare: the right one is met however it is written, the nearly right
one is not.
"""

import pytest

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import MathsEquivalence
from maths_golds import GOLDS, near_misses, right_forms


@pytest.mark.parametrize("kind", GOLDS)
def test_the_right_answer_is_met_however_it_is_written(kind: str) -> None:
    refused = [
        (gold, form, verdict)
        for gold in GOLDS[kind]
        for form in right_forms(kind, gold)
        if (verdict := MathsEquivalence(gold)(answered(form))).met is not True
    ]
    assert not refused


@pytest.mark.parametrize("kind", GOLDS)
def test_an_answer_that_is_wrong_by_one_thing_is_never_met(kind: str) -> None:
    accepted = [
        (gold, wrong)
        for gold in GOLDS[kind]
        for wrong in near_misses(kind, gold)
        if MathsEquivalence(gold)(answered(f"It is $\\boxed{{{wrong}}}$.")).met
    ]
    assert not accepted


def test_there_are_enough_of_both() -> None:
    golds = [(kind, gold) for kind, several in GOLDS.items() for gold in several]
    assert len({gold for _, gold in golds}) >= 300
    assert min(len(near_misses(kind, gold)) for kind, gold in golds) >= 19
    assert sum(len(near_misses(kind, gold)) >= 20 for kind, gold in golds) >= 0.99 * len(golds)


def test_no_answer_expected_is_taken_for_another() -> None:
    """Each against each of its kind: those that are met are written otherwise, and were looked at."""
    same = {
        frozenset(pair)
        for kind, several in GOLDS.items()
        if kind != "option"
        for pair in ((one, other) for one in several for other in several if one != other)
        if MathsEquivalence(pair[0])(answered(f"\\boxed{{{pair[1]}}}")).met
    }
    assert same <= {
        frozenset(pair)
        for pair in (("1,-2", "-2,1"), ("2^{1/3}", r"\sqrt[3]{2}"), (r"\text{east}", "east"),
                     (r"x \in [-2,7]", r"-2 \le x \le 7"))
    }  # fmt: skip


@pytest.mark.parametrize("expected", [" ", "", None, 5])
def test_an_expression_is_needed(expected: str) -> None:
    with pytest.raises(ConfigError, match="must be an expression"):
        MathsEquivalence(expected)


@pytest.mark.parametrize("answer", ["<think>\\boxed{3}", None])
def test_no_answer_is_no_verdict(answer: str | None) -> None:
    assert MathsEquivalence("3")(answered(answer)).met is None


def test_only_the_answer_counts_and_not_the_reasoning_before_it() -> None:
    assert MathsEquivalence("3")(answered("<think>It is \\boxed{3}.</think>\\boxed{4}")).met is False
