"""Word lists are text files that anybody can edit: a slip in one is found here, not in a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import calipers.replies
from calipers.replies.wordlists import list_words, regex_of_whole_words, word_lists

FILES = sorted(path.stem for path in (Path(calipers.replies.__file__).parent / "words").glob("*.txt"))


@pytest.mark.parametrize("file", FILES)
def test_every_list_holds_entries_and_none_twice_in_a_language(file: str) -> None:
    for name, lists in word_lists(file).items():
        assert any(lists.values()), name
        for language, entries in lists.items():
            assert len(set(entries)) == len(entries), (name, language)


def test_lines_go_on_comments_are_passed_over_and_languages_are_kept_apart() -> None:
    corrections = word_lists("retractions")["CORRECTION"]
    assert "korrektur" in corrections["de"]
    assert "not for use" in corrections["en"]  # on the last of several lines
    assert not any(entry.startswith("#") for entries in corrections.values() for entry in entries)
    assert "korrektur" in list_words("retractions", "CORRECTION")


def test_words_are_whole_ones_in_scripts_with_blanks_and_anywhere_in_others() -> None:
    pattern = re.compile(regex_of_whole_words(["rated", "full marks", "点"]))
    assert pattern.search("it is rated 3")
    assert pattern.search("full  marks")
    assert pattern.search("80点です")
    assert pattern.search("generated") is None


def test_the_longest_entry_is_tried_first() -> None:
    found = re.match(regex_of_whole_words(["max", "max points"]), "max points")
    assert found is not None
    assert found[0] == "max points"


def test_an_entry_in_two_scripts_goes_by_its_first_sign() -> None:
    pattern = re.compile(regex_of_whole_words(["ai回答", "点score"]))
    assert pattern.fullmatch("ai回答")
    assert pattern.search("chai回答") is None
    assert pattern.search("80点scores")
    assert re.search(regex_of_whole_words(["\u2e80"]), "a\u2e80b")  # the first sign of the Han radicals
