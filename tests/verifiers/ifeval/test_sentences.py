"""Sentences end where Punkt ends them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.ifeval.sentences import LOWER_OPENING, UPPER_INSIDE, Parameters, split_sentences
from effort import in_proportion

SEEN_LOWER = 32
SMALL = Parameters(
    name="small",
    abbreviations=frozenset({"dr", "u.s", "c", "vs"}),
    collocations=frozenset({("##number##", "street")}),
    starters=frozenset({"in"}),
    written={"the": SEEN_LOWER, "in": SEEN_LOWER | UPPER_INSIDE, "e-mail": LOWER_OPENING, "smith": UPPER_INSIDE},
)
PIECES = (
    *".?!;:,'\"()[]*-` \n\t\u00a0aAé1",
    *("...", "--", ". . .", "Dr.", "U.S.", "C.", "1.", "The", "In", "word", "'t", '."', ".) ", "?!"),
)


def split(text: str) -> list[str]:
    return split_sentences(text, SMALL)


@pytest.mark.parametrize(("text", "expected"), [
    ("One. Two? Three!", ["One.", "Two?", "Three!"]),
    ("  One.\n\nTwo.  ", ["  One.", "Two."]),
    ("no mark at all", ["no mark at all"]),
    ("Really?! Yes.", ["Really?!", "Yes."]),
    ("Dr. Smith came. The end.", ["Dr. Smith came.", "The end."]),
    ("In the U.S. The law holds.", ["In the U.S.", "The law holds."]),
    ("In the U.S. Congress met.", ["In the U.S. Congress met."]),
    ("She left the U.S. In May.", ["She left the U.S.", "In May."]),
    ("Wait... The door. Wait... Smith?", ["Wait...", "The door.", "Wait... Smith?"]),
    ("J. Smith wrote it. A. The first.", ["J. Smith wrote it.", "A.", "The first."]),
    ("He wrote to C. The rest is lost.", ["He wrote to C. The rest is lost."]),
    ("1. First\n2. Second", ["1.", "First\n2.", "Second"]),
    ("It was 1999. then more", ["It was 1999. then more"]),
    ("Number 5. Street", ["Number 5. Street"]),
    ("We use e.g. words", ["We use e.g.", "words"]),
    ("yes.no", ["yes.no"]),
])  # fmt: skip
def test_sentences_end_at_marks_and_abbreviations_do_not_end_them(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ('He said "go." She went.', ['He said "go."', "She went."]),
    ("(It is so.) Then more.", ["(It is so.)", "Then more."]),
    ("('What?') Then.", ["('What?')", "Then."]),
    ("“It is so.” Then more.", ["“It is so.” Then more."]),
])  # fmt: skip
def test_closing_marks_stay_with_their_sentence_but_curly_quotes_hide_its_end(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert split(text) == []


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_only_blanks_are_lost_between_sentences(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("unit", [".", "!", ". ", ".\u00a0", "A.) ", '."', "a-", "--. ", " ", "1,"])
def test_hostile_text_takes_time_in_proportion_to_its_length(unit: str) -> None:
    def taken_apart(size: int) -> Callable[[], object]:
        text = "x." + unit * size + "y"
        return lambda: split(text)

    in_proportion(taken_apart, 50_000)
