"""A sentence claims a preference in the judge's own voice, or nothing."""

from __future__ import annotations

import pytest

from calipers.replies.compare.claims import EQUAL, NEITHER, TIE, find_claims
from calipers.replies.sentences import split_sentences


def said(text: str) -> list[tuple[int, str]]:
    return [(claim.who, claim.strength) for claim in find_claims(split_sentences(text), ("a", "b"))]


@pytest.mark.parametrize(
    "text",
    [
        "Output (b) is better.",
        "Output (b) is clearly the better choice.",
        "The better output is Output (b).",
        "I prefer Output (b).",
        "Output (b) outperforms Output (a).",
        "Output (b) is closer to the request and is better.",
        "Output (b) is shorter, which makes it better than Output (a).",
        "I would rate Output (b) higher.",
        "While Output (a) is longer, Output (b) is better.",
    ],
)
def test_a_plain_preference_is_strong(text: str) -> None:
    assert (1, "strong") in said(text)
    assert all(who == 1 for who, _ in said(text))


@pytest.mark.parametrize(
    "text",
    [
        "Output (b) better follows the request.",
        "Output (b) gives a more precise answer.",
        "Output (a) is worse.",
        "Output (a) is not as good as Output (b).",
    ],
)
def test_an_implied_preference_is_weak(text: str) -> None:
    assert said(text) == [(1, "weak")]


@pytest.mark.parametrize(
    "text",
    [
        "Output (b) is not better.",
        "Output (b) might be better.",
        "Output (b) is better if speed counts.",
        "If speed counts, Output (b) is better.",
        "Output (b) would have been better.",
        "Is Output (b) better?",
        "Assistant (b) argues that Output (b) is better.",
        "The user may find that Output (b) is better.",
        'It ends with "Output (b) is better than the rest".',
        "A better plan is needed.",
    ],
)
def test_denied_hedged_conditional_reported_and_quoted_words_claim_nothing(text: str) -> None:
    assert said(text) == []


def test_ties_are_told_from_equality_and_from_no_preference() -> None:
    assert said("It is a tie.") == [(TIE, "strong")]
    assert said("Both are equally good.") == [(EQUAL, "strong")]
    assert said("Neither output is better.") == [(NEITHER, "strong")]


def test_a_conclusion_and_a_correction_are_told() -> None:
    (claim,) = find_claims(split_sentences("Therefore, Output (a) is better."), ("a", "b"))
    assert claim.concluding
    assert not claim.correcting
    (claim,) = find_claims(split_sentences("Actually, Output (a) is better."), ("a", "b"))
    assert claim.correcting
