"""Rules of IFEval and IFEvalG on lists, headings, marks, JSON, punctuation, beginnings, endings and repetitions.

The patterns accept the same text as the official patterns, but their time grows only linearly with the length of the
response, because a policy in training writes the response. ``fixed`` differs where a rule's docstring says so.
"""

from __future__ import annotations

import json
import re
from typing import Final

from calipers.types import Verdict
from calipers.verifiers.ifeval.period_sentences import split_at_periods
from calipers.verifiers.ifeval.rule import Mode, Rule, compile_field, count_verdict, verdict_if
from calipers.verifiers.ifeval.whole_words import normalise_words

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
# The character after a bullet's star may be a line break. The line after it is then no bullet, as in the official
# pattern.
_STARS = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASHES = re.compile(r"^[^\S\n]*-", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_BRACKETED = re.compile(r"\[[^\]]*\]")
_FENCES = ("```json", "```Json", "```JSON", "```")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_DIVIDER = "******"
_COMMAS: Final = ",،、，︐︑﹐﹑､՝߸፣၊᠂᠈꓾꘍꛵⸲⸴⸸⹁⹌\U00016e97\U0001da87"
"""All characters that Unicode names a comma, in any script, and the Burmese comma."""
_QUOTES: Final = ('""', "“”", "„“", "„”", "””", "«»", "»«", "「」", "『』", "〝〞", "〝〟", "＂＂", "｢｣")
"""Pairs of double quotation marks in various languages, and the corner brackets of Chinese and Japanese."""


def _number_bullet_lists(_: Mode, response: str, *, num_bullets: int) -> Verdict:
    """Count lines that begin with ``-`` or a single ``*``, including rules of dashes and lines in italics."""
    found = len(_STARS.findall(response)) + len(_DASHES.findall(response))
    return count_verdict(found, "bullets", "exactly", num_bullets)


def _constrained_response(_: Mode, response: str) -> Verdict:
    """Require one of three fixed sentences, anywhere in the response and with the same capitals."""
    return verdict_if(met=any(answer in response for answer in _ANSWERS), otherwise="none of the three answers")


def _number_highlighted_sections(_: Mode, response: str, *, num_highlights: int) -> Verdict:
    """Count ``*...*`` and ``**...**`` on a line separately, so that ``***x***`` counts twice."""
    single = sum(1 for found in _HIGHLIGHT.findall(response) if found.strip("*").strip())
    double = sum(1 for found in _DOUBLE_HIGHLIGHT.findall(response) if found[2:-2].strip())
    return count_verdict(single + double, "highlights", "at least", num_highlights)


def _multiple_sections(mode: Mode, response: str, *, section_spliter: str, num_sections: int) -> Verdict:
    """Count a marker followed by digits. In ``official`` the marker is a regular expression, in
    ``fixed`` it is literal.
    """
    marker = section_spliter.strip()
    pattern = compile_field("section_spliter", rf"\s?{marker if mode != 'fixed' else re.escape(marker)}\s?\d+\s?")
    return count_verdict(len(pattern.split(response)) - 1, "sections", "at least", num_sections)


def _json_format(_: Mode, response: str) -> Verdict:
    """Require JSON as Python reads it (``NaN`` passes) and no other text, except a code fence around it."""
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
    """Require a text between ``<<`` and ``>>`` on a line."""
    return verdict_if(met=any(map(_titled, response.split("\n"))), otherwise="no title in << >>")


def _titled(line: str) -> bool:
    start, stop = line.find("<<"), line.rfind(">>")
    # The brackets enclose at least one character, and at least one that is neither a bracket nor a space.
    return 0 <= start < stop - 2 and bool(line[start : stop + 2].lstrip("<").rstrip(">").strip())


def _number_placeholders(_: Mode, response: str, *, num_placeholders: int) -> Verdict:
    """Count ``[...]`` on a line. Links and ``[]`` count as placeholders, too."""
    lines = (line[: line.rfind("]") + 1] for line in response.split("\n"))
    found = sum(len(_BRACKETED.findall(line)) for line in lines)
    return count_verdict(found, "placeholders", "at least", num_placeholders)


def _postscript(mode: Mode, response: str, *, postscript_marker: str) -> Verdict:
    """Require the postscript marker anywhere, ignoring case. ``P.S.`` and ``P.P.S`` may contain spaces.

    Any other marker is a regular expression in ``official`` and literal in ``fixed``.
    """
    marker = postscript_marker.strip()
    other = marker.lower() if mode != "fixed" else re.escape(marker.lower())
    pattern = compile_field("postscript_marker", _POSTSCRIPTS.get(marker, other), re.MULTILINE)
    return verdict_if(met=bool(pattern.search(response.lower())), otherwise=f"no {marker!r}")


def _no_comma(mode: Mode, response: str) -> Verdict:
    """Forbid commas: in ``official`` only ASCII commas, so that ``、`` and ``，`` pass, in ``fixed``
    those of all scripts.
    """
    found = sum(map(response.count, _COMMAS if mode == "fixed" else ","))
    return verdict_if(met=not found, otherwise=f"{found} commas")


def _end_checker(mode: Mode, response: str, *, end_phrase: str) -> Verdict:
    """Require the response to end with a phrase, ignoring case, spaces and a closing ``"``.

    ``fixed`` also ignores other quotation marks and different encodings of the same letter.
    """
    form, marks = (normalise_words, "".join(_QUOTES)) if mode == "fixed" else (str, '"')
    wanted, text = form(end_phrase).strip().lower(), form(response).strip()
    met = text.strip(marks).lower().endswith(wanted) or (mode == "fixed" and text.lower().endswith(wanted))
    return verdict_if(met=met, otherwise=f"does not end with {end_phrase!r}")


def _quotation(mode: Mode, response: str) -> Verdict:
    """Require ASCII double quotes around the response, or in ``fixed`` any quotation marks. More
    quotes may be inside.
    """
    text = response.strip()
    met = len(text) > 1 and text[0] + text[-1] in (_QUOTES if mode == "fixed" else ('""',))
    return verdict_if(met=met, otherwise="not wrapped in double quotes")


def _two_responses(_: Mode, response: str) -> Verdict:
    """Require two different texts separated by six stars. A blank text may precede or follow them."""
    pieces = [piece.strip() for piece in response.split(_DIVIDER)]
    if not all(pieces[1:-1]):
        return Verdict(False, "an empty response between two dividers")
    given = [piece for piece in pieces if piece]
    if len(given) != 2:
        return count_verdict(len(given), "responses", "exactly", 2)
    return verdict_if(met=given[0] != given[1], otherwise="the two responses are the same")


def _repeat_prompt(_: Mode, response: str, *, prompt_to_repeat: str) -> Verdict:
    """Require the response to begin with the prompt, ignoring case. Any text may follow."""
    met = response.strip().lower().startswith(prompt_to_repeat.strip().lower())
    return verdict_if(met=met, otherwise="does not begin with the request")


def _sentence_hyphens(_: Mode, response: str) -> Verdict:
    """Require that the text between hyphens is a sentence each, without blanks around it.

    Only as many pieces are compared as there are sentences when each hyphen is read as a blank.
    """
    sentences = split_at_periods(response.replace("-", " "))
    for piece, sentence in zip(response.split("-"), sentences, strict=False):
        if piece != sentence:
            return Verdict(False, f"{piece[:80]!r} between hyphens is no sentence")
    return Verdict(True)


def _square_brackets(_: Mode, response: str) -> Verdict:
    """Require ``[`` and ``]`` around each word, together with the marks at it."""
    bare = next((word for word in response.split() if not (word[0] == "[" and word[-1] == "]")), None)
    return verdict_if(met=bare is None, otherwise=f"not in brackets: {str(bare)[:80]!r}")


def _bigram_wrapping(_: Mode, response: str) -> Verdict:
    """Require ``<<`` and ``>>`` around each two words. A last word without a partner may be anything."""
    words = response.split()
    for first, second in zip(words[::2], words[1::2], strict=False):
        if not (first.startswith("<<") and second.endswith(">>")):
            return Verdict(False, f"not in << >>: {first[:80]!r} {second[:80]!r}")
    return Verdict(True)


def _no_dot(_: Mode, response: str) -> Verdict:
    return verdict_if(met="." not in response, otherwise=f"{response.count('.')} dots")


def _no_exclamation_mark(_: Mode, response: str) -> Verdict:
    return verdict_if(met="!" not in response, otherwise=f"{response.count('!')} exclamation marks")


RULES: Final[dict[str, Rule]] = {
    "detectable_format:bigram_wrapping": _bigram_wrapping,
    "detectable_format:sentence_hyphens": _sentence_hyphens,
    "detectable_format:square_brackets": _square_brackets,
    "punctuation:punctuation_dot": _no_dot,
    "punctuation:punctuation_exclamation": _no_exclamation_mark,
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
