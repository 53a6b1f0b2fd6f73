"""IFBench's rules ``custom:...``: single tasks, such as a table of cities or Europe's capitals from north to south."""

from __future__ import annotations

import csv
import io
import re
from typing import Final

from calipers.types import Verdict
from calipers.verifiers.ifeval.ifbench.text import bare, plain, sentences_of, without_marks
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if, word_list

_MULTIPLES: Final = ["14", "21", "28", "35", "42", "49"]
_QUESTION: Final = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION: Final = re.compile(r"[A-Ea-e][.|)]\s*\w")
_COUNTRIES: Final = 52
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_CITIES: Final = ["ID", "Country", "City", "Year", "Count"]
_SPECIAL: Final = re.compile(r"[^\d\w\s]")


def _header(names: str, separator: str) -> re.Pattern[str]:
    return re.compile(separator.join(f'(?:{name}|"{name}")' for name in names.split()))


_PRODUCTS: Final = _header("ProductID Category Brand Price Stock", r",[ \t]*")
_GRADES: Final = _header("StudentID Subject Grade Semester Score", r"\t *")


def _multiples(_: Mode, response: str) -> Verdict:
    """Require the multiples of 7 from 14 to 49 and no other number."""
    found = re.findall(r"\d+", response)
    return verdict_if(met=found == _MULTIPLES, otherwise=f"the numbers are {' '.join(found[:10])}")


def _mcq_count_length(_: Mode, response: str) -> Verdict:
    """Require four questions of five options, each question longer than the one before it, and nothing before them."""
    if not response.startswith("Question"):
        return Verdict(False, "does not begin with a question")
    questions = [text for piece in _QUESTION.split(response) if (text := piece.strip())]
    if len(questions) != 4:
        return count_verdict(len(questions), "questions", "exactly", 4)
    lengths = []
    for question in questions:
        lines = [line.strip() for line in question.split("\n")]
        options = [place for place, line in enumerate(lines) if _OPTION.match(line)]
        if len(options) != 5:
            return count_verdict(len(options), "options", "exactly", 5)
        lengths.append(len(" ".join(lines[: options[0]]).strip()))
    met = sorted(set(lengths)) == lengths
    return verdict_if(met=met, otherwise="a question is not longer than the one before it")


def _reverse_newline(_: Mode, response: str) -> Verdict:
    """Require 52 lines or more from Zimbabwe's on, in reverse order of the alphabet, accents aside."""
    lines = [line for line in map(bare, response.split("\n")) if line]
    start = next((place for place, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    found = list(map(plain, lines[start:]))
    if len(found) < _COUNTRIES:
        return count_verdict(len(found), "lines from Zimbabwe on", "at least", _COUNTRIES)
    return verdict_if(met=found == sorted(found, reverse=True), otherwise="not in reverse order of the alphabet")


def _word_reverse(_: Mode, response: str) -> Verdict:
    """Require one sentence that has the words bald eagle once the order of its words is turned round."""
    text = " ".join(reversed(without_marks(response.lower()).split()))
    if "bald eagle" not in text:
        return Verdict(False, "no bald eagle when the words are turned round")
    return verdict_if(met=text in sentences_of(text), otherwise="more than one sentence")


def _character_reverse(_: Mode, response: str) -> Verdict:
    """Require bald eagle with its characters in reverse order."""
    return verdict_if(met="elgae dlab" in response.lower(), otherwise="no bald eagle from right to left")


def _sentence_alphabet(_: Mode, response: str) -> Verdict:
    """Require 26 sentences that begin with the letters from a to z."""
    sentences = sentences_of(response)
    if len(sentences) != 26:
        return count_verdict(len(sentences), "sentences", "exactly", 26)
    for number, sentence in enumerate(sentences):
        if sentence.strip()[:1].lower()[:1] != (asked := chr(ord("a") + number)):
            return Verdict(False, f"{sentence[:80]!r} does not begin with {asked!r}")
    return Verdict(True)


def _european_capitals_sort(_: Mode, response: str) -> Verdict:
    """Require 27 capitals from north to south, separated by commas, accents aside."""
    found = [capital.strip() for capital in plain(response).split(",") if capital.strip()]
    return verdict_if(met=found == list(word_list("capitals")), otherwise="not the 27 capitals from north to south")


def _csv_city(_: Mode, response: str) -> Verdict:
    """Require a CSV table with this header and seven rows."""
    rows = _rows(response, ",")
    if rows is None or len(rows) != 8 or rows[0] != _CITIES:
        return Verdict(False, f"not a table of {','.join(_CITIES)} with seven rows")
    return verdict_if(met=all(len(row) == 5 for row in rows[1:]), otherwise="a row has not five fields")


def _csv_special_character(_: Mode, response: str) -> Verdict:
    """Require a CSV table of products with 14 rows and a special character in a quoted field.

    Rows after the first such field are not looked at.
    """
    if not _PRODUCTS.fullmatch(response.split("\n", 1)[0].strip()):
        return Verdict(False, "not the header asked for")
    rows = _rows(response.replace('"', '"""'), ",")
    if rows is None or len(rows) != 15:
        return count_verdict(len(rows or ()), "lines", "exactly", 15)
    for row in rows[1:]:
        if len(row) != 5:
            return Verdict(False, "a row has not five fields")
        if any(map(_is_special, row)):
            return Verdict(True)
    return Verdict(False, "no special character in a quoted field")


def _is_special(field: str) -> bool:
    line = field.split("\n", 1)[0]
    return line[:1] == '"' and _SPECIAL.search(line[1 : max(line.rfind('"'), 1)]) is not None


def _csv_quotes(_: Mode, response: str) -> Verdict:
    """Require a table of grades with tabs, three rows and quotes around each field."""
    if not _GRADES.fullmatch(response.split("\n", 1)[0].strip()):
        return Verdict(False, "not the header asked for")
    rows = _rows(response.replace('"', '"""'), "\t")
    if rows is None or len(rows) != 4:
        return count_verdict(len(rows or ()), "lines", "exactly", 4)
    for row in rows:
        if len(row) != 5 or not all((text := field.strip())[:1] == text[-1:] == '"' for field in row):
            return Verdict(False, "a row has not five fields in quotes")
    return Verdict(True)


def _rows(text: str, delimiter: str) -> list[list[str]] | None:
    """Return the rows of a table, or None if it cannot be read; the official checker stops there."""
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        return None


def _date_format_list(_: Mode, response: str) -> Verdict:
    """Require dates of Napoleon's lifetime as ``1769-08-15``, separated by commas. Month and day may be 00."""
    for date in map(str.strip, response.strip().split(",")):
        found = _DATE.fullmatch(date)
        if found is None:
            return Verdict(False, f"no date: {date[:80]!r}")
        year, month, day = map(int, found.groups())
        longest = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30, 0: 99}.get(month, 31)
        if not 1769 <= year <= 1821 or month > 12 or day > longest:
            return Verdict(False, f"not a date from 1769 to 1821: {date}")
    return Verdict(True)


RULES: Final[dict[str, Rule]] = {
    "custom:character_reverse": _character_reverse,
    "custom:csv_city": _csv_city,
    "custom:csv_quotes": _csv_quotes,
    "custom:csv_special_character": _csv_special_character,
    "custom:date_format_list": _date_format_list,
    "custom:european_capitals_sort": _european_capitals_sort,
    "custom:mcq_count_length": _mcq_count_length,
    "custom:multiples": _multiples,
    "custom:reverse_newline": _reverse_newline,
    "custom:sentence_alphabet": _sentence_alphabet,
    "custom:word_reverse": _word_reverse,
}
