"""A verdict that is only mentioned is none, in marks, prose, orders and answers; one that is given is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.caveats.mentions import is_introduced_as_mention, is_only_mentioned, is_reported_claim
from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.verdict import extract_verdict

LEADS = [
    "I could have written {}.",
    "I wish I could answer {}.",
    "The correct output format is {}.",
    "An example of a valid verdict is {}.",
    "Do not read this as {}.",
    "It is tempting to answer {}.",
    "The string {} occurs in the reply.",
    "Response B ends with {}.",
    "My first impression was {}.",
    "The reference verdict is {}.",
    "Another judge gave {}.",
    "Antwort B bittet mich, {} auszugeben.",
    "La respuesta B pide que escriba {}.",
    "输出格式是 {}。",
    "別の審査員の判定: {}",
]
TAILS = [
    "{} is my wrong answer, ignore it.",
    "{} was my first impulse.",
    "{} is out of the question.",
    "{} cannot be justified.",
    "{}, chosen at random.",
    "{} (placeholder)",
    "{} <- ignore",
    "{} is what the response told me to write.",
]
GIVEN = [
    "My final verdict is {}.",
    "I would say that the second is wrong. {}",
    "Response B contains an error, so {}",
    "Response B claims to be perfect, but my verdict is {}",
    "{} is my verdict.",
    "{}, because the other one is wrong and random.",
    "Fazit: {}",
    "最终判断：{}",
]


@pytest.mark.parametrize("frame", [*LEADS, *TAILS])
@pytest.mark.parametrize("mark", ["[[A]]", "[[B]]"])
def test_a_mark_that_is_only_mentioned_is_no_choice(frame: str, mark: str) -> None:
    assert extract_choice(frame.format(mark), ["A", "B"]).choice is None


@pytest.mark.parametrize("frame", [*LEADS, *TAILS])
def test_an_order_that_is_only_mentioned_is_no_ranking(frame: str) -> None:
    assert extract_ranking(frame.format("[1] > [3] > [2]"), [1, 2, 3]).ranking == ()


@pytest.mark.parametrize("frame", GIVEN)
@pytest.mark.parametrize("label", ["A", "B"])
def test_a_mark_that_is_given_is_read(frame: str, label: str) -> None:
    assert extract_choice(frame.format(f"[[{label}]]"), ["A", "B"]).choice == label


RESERVES = [
    "{}, or so it claims.",
    "{}, supposedly.",
    "{}, at least according to itself.",
    "{}, allegedly.",
    "{} - just kidding.",
    "{} (this is a joke).",
    "{}, angeblich.",
    "{}, supuestamente.",
    "{}, soi-disant.",
    "{}, якобы.",
]


@pytest.mark.parametrize("frame", RESERVES)
def test_what_is_stated_with_reserve_is_neither_a_choice_nor_a_verdict(frame: str) -> None:
    assert extract_choice(frame.format("A is better"), ["A", "B"]).choice is None
    assert extract_verdict(frame.format("Yes")).met is None
    assert extract_verdict(frame.format("The response is correct")).met is None


@pytest.mark.parametrize(
    "text",
    [
        "A says it is better than B.",
        "Response B asserts that it is better than A.",
        "The claim that A is better is unfounded.",
        "A is better than B is a claim I cannot support.",
        "A is hardly better.",
        "A is better than I expected.",
        "A并不比B更好。",
        "Worse response: [[A]]",
        "A is better formatted.",
        "A wins nothing.",
    ],
)
def test_a_sentence_about_a_preference_is_none(text: str) -> None:
    assert extract_choice(text, ["A", "B"]).choice is None


def test_a_reserve_before_but_is_taken_back_by_it() -> None:
    assert extract_choice("I am not sure about the tone, but A is better.", ["A", "B"]).choice == "A"


@pytest.mark.parametrize(
    "head", ["By length: ", "Word counts: ", "Candidates: ", "Order shown: ", "Number of errors: "]
)
def test_an_order_of_something_else_than_quality_is_no_ranking(head: str) -> None:
    assert extract_ranking(f"{head}A > B > C", ["A", "B", "C"]).ranking == ()


@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=300))
def test_any_words_are_looked_at_without_an_error(before: str, own: str, after: str) -> None:
    assert is_only_mentioned(before, own, after) in (True, False)
    assert is_reported_claim(before) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        'Response A: "[[A]]"',
        "Candidate A's last line: Winner: A",
        "<response_a>[[A]]</response_a>",
        "> [[A]]",
        "応答Aには「[[A]]」と書かれています。",
        "回答A中写着[[A]]。",
        "[[A]] (example)",
        "Anything but [[A]].",
        "Valid outputs are [[A]], [[B]] and [[C]].",
        "Draft verdict: [[A]]",
        "Winner: A (not final).",
    ],
)
def test_a_mark_inside_somebody_elses_words_is_no_choice(text: str) -> None:
    assert extract_choice(text, ["A", "B"], tie="C").choice is None


@pytest.mark.parametrize(
    "text", ["The response asserts that the answer is correct.", "The author believes the answer is correct."]
)
def test_what_somebody_asserts_is_no_verdict(text: str) -> None:
    assert extract_verdict(text).met is None


@pytest.mark.parametrize(
    ("lead", "mentioned"),
    [
        ("回答说：", True),
        ("The answer says", True),
        ("The answer says in this response", True),
        ("说回答", False),
        ("says in the answer", False),
    ],
)
def test_a_verb_of_saying_counts_after_the_name_of_whoever_says_it(lead: str, mentioned: bool) -> None:  # noqa: FBT001
    assert is_introduced_as_mention(lead, "[[A]]") == mentioned
