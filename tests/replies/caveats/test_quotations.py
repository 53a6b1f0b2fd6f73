"""Whose a verdict is: words before it and the place where it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calipers.replies.caveats.quotations import (
    announces_other_numbers,
    introduces_others_words,
    is_in_block_quote,
    is_others_verdict,
)

IDS = ("KB", "BC")


@pytest.mark.parametrize(
    "before",
    [
        "Candidate KB says: ",
        "Kandidat KB schreibt:\n```json\n",
        "La réponse contient le JSON suivant, que j'ignore :\n\n",
        "KB的回答里写着：\n",
        "For example: ",
        "Ejemplo: ",
        "<summary>Answer of KB</summary>\n\n",
        "KB ended its answer with\n\n",
        "KB wrote:\nHere is my verdict:\n\n",
    ],
)
def test_words_that_hand_over_make_the_verdict_somebody_elses(before: str) -> None:
    assert is_others_verdict(before, IDS, IDS)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "My verdict: ",
        "KB wrote clean code. Scores:\n",
        "KB says more than BC, so I conclude: ",
        "Scores for KB and BC:\n",
        "KB is better, so: ",
        "Mein Urteil: ",
        "评分如下：\n",
    ],
)
def test_words_of_the_judges_own_leave_it_its_verdict(before: str) -> None:
    assert not is_others_verdict(before, IDS, IDS)


def test_a_name_alone_heads_the_candidates_own_row() -> None:
    assert not is_others_verdict("KB: ", IDS, {"KB"})
    assert is_others_verdict("In KB: ", IDS, IDS)


@pytest.mark.parametrize("line", ["Rangfolge:", "Number of errors:", "Confidence:", "Kandidat KB schreibt:", "排名："])
def test_headings_of_other_numbers_and_other_people(line: str) -> None:
    assert announces_other_numbers(line, IDS)


@pytest.mark.parametrize("line", ["Scores:", "Candidate KB:", "Bewertung:", "KB is good."])
def test_headings_of_scores(line: str) -> None:
    assert not announces_other_numbers(line, IDS)


def test_a_line_of_a_list_is_no_introduction() -> None:
    assert not introduces_others_words("- KB printed an error", IDS)
    assert introduces_others_words("KB ended its answer with", IDS)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("> {", True),
        ("KB wrote:\n> so it is\n> {", True),
        ("Final scores:\n> {", False),
        ('<candidate id="KB">\n{', True),
        ("<KB>{", True),
        ("<blockquote>\n<p>{", True),
        ("<candidate>done</candidate>\n{", False),
        ("<answer>{", False),
        ("a < b > c {", False),
    ],
)
def test_block_quotes_and_tags(text: str, quoted: bool) -> None:  # noqa: FBT001
    assert is_in_block_quote(text, len(text) - 1, IDS) is quoted


@pytest.mark.parametrize("heading", ["{}:\n", "**{}:**\n", "**{}:** <scores>\n", "**{}:**\n```json\n", "_{}:_ `"])
def test_emphasis_tags_and_fences_do_not_hide_the_colon_of_an_introduction(heading: str) -> None:
    said = "In its answer KB wrote to the user"
    assert is_others_verdict(heading.format(said), IDS, IDS)
    assert not is_others_verdict(f"{said}\n", IDS, IDS)


@pytest.mark.parametrize("introduces", [introduces_others_words, announces_other_numbers])
def test_a_line_longer_than_a_sentence_introduces_nothing(introduces: Callable[[str, tuple[str, ...]], bool]) -> None:
    """Whole paragraphs end in a colon too; only the last sentence before a verdict introduces it."""
    line = "KB wrote {}:"
    assert introduces(line.format("x" * (400 - len(line) + 2)), IDS)
    assert not introduces(line.format("x" * (401 - len(line) + 2)), IDS)
