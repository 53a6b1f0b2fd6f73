"""The other families: lists, headings, marks, JSON, punctuation, how a response begins and ends, and what it repeats.

The patterns are the official ones, in a form whose time grows linearly with the length of the response: a policy under
training writes the response. ``fixed`` differs where a rule's docstring says so.
"""

from __future__ import annotations

import json
import re
from typing import Final

from calipers.types import Verdict
from calipers.verifiers.ifeval.rule import Mode, Rule, counted, expression, yes_or_no
from calipers.verifiers.ifeval.whole_words import folded

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
# A star bullet takes the character after its star, be it a line break; then the next line is not looked at.
_STARS = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASHES = re.compile(r"^[^\S\n]*-", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_BRACKETED = re.compile(r"\[[^\]]*\]")
_FENCES = ("```json", "```Json", "```JSON", "```")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_DIVIDER = "******"
_COMMAS: Final = ",،、，︐︑﹐﹑､՝߸፣၊᠂᠈꓾꘍꛵⸲⸴⸸⹁⹌\U00016e97\U0001da87"
"""Commas by their names in Unicode, of all scripts, the ideographic ones included; and Burmese's."""
_QUOTES: Final = ('""', "“”", "„“", "„”", "””", "«»", "»«", "「」", "『』", "〝〞", "〝〟", "＂＂", "｢｣")
"""Double quotation marks as languages pair them, and the corner brackets that Chinese and Japanese use."""


def _number_bullet_lists(_: Mode, response: str, *, num_bullets: int) -> Verdict:
    """Lines that begin with ``-`` or with one ``*``: a rule of dashes and a line in italics count as well."""
    found = len(_STARS.findall(response)) + len(_DASHES.findall(response))
    return counted(found, "bullets", "exactly", num_bullets)


def _constrained_response(_: Mode, response: str) -> Verdict:
    """One of three sentences, anywhere in the response and with their capitals."""
    return yes_or_no(met=any(answer in response for answer in _ANSWERS), otherwise="none of the three answers")


def _number_highlighted_sections(_: Mode, response: str, *, num_highlights: int) -> Verdict:
    """``*...*`` and ``**...**`` on one line, counted separately: ``***x***`` counts twice."""
    single = sum(1 for found in _HIGHLIGHT.findall(response) if found.strip("*").strip())
    double = sum(1 for found in _DOUBLE_HIGHLIGHT.findall(response) if found[2:-2].strip())
    return counted(single + double, "highlights", "at least", num_highlights)


def _multiple_sections(mode: Mode, response: str, *, section_spliter: str, num_sections: int) -> Verdict:
    """The marker followed by digits, anywhere; in ``official`` it is a regular expression, in ``fixed`` literal."""
    marker = section_spliter.strip()
    pattern = expression("section_spliter", rf"\s?{marker if mode != 'fixed' else re.escape(marker)}\s?\d+\s?")
    return counted(len(pattern.split(response)) - 1, "sections", "at least", num_sections)


def _json_format(_: Mode, response: str) -> Verdict:
    """All of it JSON as Python reads it, so ``NaN`` passes; one code fence around it is allowed."""
    text = response.strip()
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except ValueError as error:
        return Verdict(False, f"not JSON: {error}")
    except RecursionError:
        return Verdict(None, "nested too deeply to be read; the official checker stops here")
    return Verdict(True)


def _title(_: Mode, response: str) -> Verdict:
    """Something between ``<<`` and ``>>`` on one line."""
    return yes_or_no(met=any(map(_titled, response.split("\n"))), otherwise="no title in << >>")


def _titled(line: str) -> bool:
    start, stop = line.find("<<"), line.rfind(">>")
    # At least one character stands between the two pairs, and one that is no bracket and no blank.
    return 0 <= start < stop - 2 and bool(line[start : stop + 2].lstrip("<").rstrip(">").strip())


def _number_placeholders(_: Mode, response: str, *, num_placeholders: int) -> Verdict:
    """``[...]`` on one line; links and ``[]`` count as well."""
    lines = (line[: line.rfind("]") + 1] for line in response.split("\n"))
    found = sum(len(_BRACKETED.findall(line)) for line in lines)
    return counted(found, "placeholders", "at least", num_placeholders)


def _postscript(mode: Mode, response: str, *, postscript_marker: str) -> Verdict:
    """The marker anywhere, without regard to case; ``P.S.`` and ``P.P.S`` with blanks inside.

    Any other marker is a regular expression in ``official`` and literal in ``fixed``.
    """
    marker = postscript_marker.strip()
    other = marker.lower() if mode != "fixed" else re.escape(marker.lower())
    pattern = expression("postscript_marker", _POSTSCRIPTS.get(marker, other), re.MULTILINE)
    return yes_or_no(met=bool(pattern.search(response.lower())), otherwise=f"no {marker!r}")


def _no_comma(mode: Mode, response: str) -> Verdict:
    """In ``official`` the ASCII comma only, so ``、`` and ``，`` pass; in ``fixed`` those of all scripts."""
    found = sum(map(response.count, _COMMAS if mode == "fixed" else ","))
    return yes_or_no(met=not found, otherwise=f"{found} commas")


def _end_checker(mode: Mode, response: str, *, end_phrase: str) -> Verdict:
    """Without regard to case, blanks and closing ``"``, in ``fixed`` also of other marks and forms of a letter."""
    form, marks = (folded, "".join(_QUOTES)) if mode == "fixed" else (str, '"')
    wanted, text = form(end_phrase).strip().lower(), form(response).strip()
    met = text.strip(marks).lower().endswith(wanted) or (mode == "fixed" and text.lower().endswith(wanted))
    return yes_or_no(met=met, otherwise=f"does not end with {end_phrase!r}")


def _quotation(mode: Mode, response: str) -> Verdict:
    """ASCII double quotes around all of it, in ``fixed`` also others; there may be more between them."""
    text = response.strip()
    met = len(text) > 1 and text[0] + text[-1] in (_QUOTES if mode == "fixed" else ('""',))
    return yes_or_no(met=met, otherwise="not wrapped in double quotes")


def _two_responses(_: Mode, response: str) -> Verdict:
    """Two different texts separated by six stars; a blank one is allowed before the first and after the second."""
    pieces = [piece.strip() for piece in response.split(_DIVIDER)]
    if not all(pieces[1:-1]):
        return Verdict(False, "an empty response between two dividers")
    given = [piece for piece in pieces if piece]
    if len(given) != 2:
        return counted(len(given), "responses", "exactly", 2)
    return yes_or_no(met=given[0] != given[1], otherwise="the two responses are the same")


def _repeat_prompt(_: Mode, response: str, *, prompt_to_repeat: str) -> Verdict:
    """Without regard to case; what follows the repetition is ignored."""
    met = response.strip().lower().startswith(prompt_to_repeat.strip().lower())
    return yes_or_no(met=met, otherwise="does not begin with the request")


RULES: Final[dict[str, Rule]] = {
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:constrained_response": _constrained_response,
    "detectable_format:number_highlighted_sections": _number_highlighted_sections,
    "detectable_format:multiple_sections": _multiple_sections,
    "detectable_format:json_format": _json_format,
    "detectable_format:title": _title,
    "punctuation:no_comma": _no_comma,
    "startend:end_checker": _end_checker,
    "startend:quotation": _quotation,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeat_prompt,
}
