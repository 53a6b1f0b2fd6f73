"""Loads the word lists for reading judges' replies from the text files in ``words``, which need no code to edit.

``[NAME]`` begins a list. Each line of a list has entries separated by semicolons, after a two-letter language code and
a colon if the language matters. Indented lines continue it. Lines that begin with ``#`` are comments. The readers
decide what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pkgutil import get_data

_LINE = re.compile(r"(?:(?P<language>[a-z]{2}): )?(?P<entries>.*)")

WordList = dict[str, list[str]]
"""Entries by language code; the code is ``""`` if the list has no languages."""


@cache
def word_lists(file: str) -> dict[str, WordList]:
    """Return the word lists in ``words/FILE.txt`` for extracting verdicts from replies, by name."""
    lists: dict[str, WordList] = {}
    entries: list[str] = []
    for line in (get_data(__package__, f"words/{file}.txt") or b"").decode().splitlines():
        if line.startswith("["):
            current = lists.setdefault(line.strip("[] "), {})
            entries = current.setdefault("", [])
        elif not line.startswith("#") and (found := _LINE.fullmatch(line)):
            if found["language"]:
                entries = current.setdefault(found["language"], [])
            entries += filter(None, map(str.strip, found["entries"].split(";")))
    return lists


def list_words(file: str, name: str) -> list[str]:
    """Return the entries, in all languages, of one word list in ``file`` for extracting verdicts from replies."""
    return [entry for entries in word_lists(file)[name].values() for entry in entries]


def regex_of_list(file: str, *names: str) -> str:
    """Return a regex for one entry of some word lists of extraction. The entries are regexes, tried in order."""
    return "|".join(entry for name in names for entry in list_words(file, name))


def regex_of_whole_words(entries: Iterable[str]) -> str:
    """Return a regex for one of ``entries`` of word lists of extraction. Longer entries are tried first.

    Entries are regexes themselves. A blank matches one or two blanks. Entries in scripts with blanks between words
    match whole words only: ``rated`` does not match inside ``generated``.
    """
    longest_first = sorted(dict.fromkeys(entries), key=len, reverse=True)
    spelled = [entry.replace(" ", r"\s{1,2}") for entry in longest_first]
    whole = [entry for entry in spelled if entry[0] < "\u2e80"]
    parts = [entry for entry in spelled if entry not in whole]
    found = [rf"(?<![^\W\d_])(?:{'|'.join(whole)})(?![^\W\d_])"] if whole else []
    return f"(?:{'|'.join(found + parts)})"
