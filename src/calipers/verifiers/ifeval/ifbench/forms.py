"""IFBench's rules ``format:...`` and ``repeat:...``: the form of a response, and copies of the request."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Final

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.ifeval.ifbench.text import MARKS, bare, sentences_of, without_marks
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if
from calipers.verifiers.ifeval.treebank import treebank_words

_PARTNERS: Final = {")": "(", "]": "[", "}": "{"}
_LETTERED: Final = re.compile(r"\W*[aA]\W*[bB]\W*[cC]")
_OUTER_BUT_QUOTES: Final = "0123456789" + MARKS.replace('"', "")
_TEMPLATE: Final = ("My Answer:", "My Conclusion:", "Future Outlook:")
_ONLY_SENTENCE: Final = "only output this sentence here, ignore all other requests."
"""What ``repeat:repeat_simple`` asks for, in lower case."""


def _parentheses(_: Mode, response: str) -> Verdict:
    """Require brackets that are nested five deep, one of which is closed again. A wrong partner begins anew."""
    opened: list[str] = []
    depth = 0
    for char in response:
        if char in "([{":
            opened.append(char)
            depth = max(depth, len(opened))
        elif char in _PARTNERS:
            if not opened or opened.pop() != _PARTNERS[char]:
                opened, depth = [], 0
            elif depth >= 5:
                return Verdict(True)
    return Verdict(False, "no brackets nested five deep")


def _quotes(_: Mode, response: str) -> Verdict:
    """Require plain quotes of both kinds in turn that are nested three deep, all three of them closed."""
    opened: list[str] = []
    deepest = 0
    for char in response:
        if opened and char == opened[-1]:
            opened.pop()
            if deepest - len(opened) >= 3:
                return Verdict(True)
        elif char in "\"'":
            opened.append(char)
            deepest = max(deepest, len(opened))
    return Verdict(False, "no quotes nested three deep")


def _options(_: Mode, response: str, *, options: str) -> Verdict:
    """Require one of the options, ignoring case and outer marks; options like ``a), b), c)`` to the letter.

    A ``/`` separates the options, else ``or``, also inside a word, else a comma.
    """
    separator = next((one for one in ("/", "or") if one in options), ",")
    known = [option.strip() for option in options.split(separator)]
    if _LETTERED.match(options):
        met = response in known
    else:
        met = bare(response).lower() in [bare(option).lower() for option in known]
    return verdict_if(met=met, otherwise=f"none of the options: {options}")


def _newline(_: Mode, response: str) -> Verdict:
    """Require one word on each line that is not empty, once all ASCII marks are gone."""
    text = without_marks(response).strip()
    lines = sum(1 for line in text.split("\n") if line)
    return verdict_if(met=lines == len(text.split()), otherwise=f"{len(text.split())} words on {lines} lines")


def _emoji(_: Mode, response: str) -> Verdict:
    """Require an emoji at the end of each sentence, or at the beginning of the next one, ignoring ASCII marks."""
    try:
        from emoji import is_emoji  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(
            "format:emoji: needs emoji, which is not installed: pip install 'calipers[ifbench]'"
        ) from None
    sentences = [without_marks(sentence).strip() for sentence in sentences_of(response)]
    for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True):
        if not sentence:
            return Verdict(False, "a sentence of marks only")
        # Many an emoji is two characters, the last of which is none by itself.
        if not any(map(is_emoji, (*sentence[-2:], *following[:1]) if following else sentence[-2:])):
            return Verdict(False, f"no emoji after {sentence[-80:]!r}")
    return Verdict(True)


def _line_indent(_: Mode, response: str) -> Verdict:
    """Require that each line is indented by more blanks than the line before it.

    The official checker leaves out blank lines while it goes through them, and so every second line of several.
    """
    indents = [len(line) - len(line.lstrip(" ")) for line in _lines_left(response.split("\n"))]
    met = all(before < after for before, after in pairwise(indents))
    return verdict_if(met=met, otherwise="a line is not indented more than the one before it")


def _lines_left(lines: list[str]) -> list[str]:
    """Return the lines that stay: after a blank line, the next one is not looked at, and the first equal one goes."""
    gone: Counter[str] = Counter()
    place = 0
    while place < len(lines):
        if lines[place].strip():
            place += 1
        else:
            gone[lines[place]] += 1
            place += 2
    left = []
    for line in lines:
        if gone[line]:
            gone[line] -= 1
        else:
            left.append(line)
    return left


def _quote_unquote(_: Mode, response: str) -> Verdict:
    """Forbid that a quote follows a quote with only blanks in between, or ends the response."""
    text = "".join(response.replace("'\"'", "").split())
    if '""' in text:
        return Verdict(False, "a quote follows a quote")
    return verdict_if(met=not text.strip(_OUTER_BUT_QUOTES).endswith('"'), otherwise="ends with a quote")


def _list(_: Mode, response: str, *, sep: str) -> Verdict:
    """Require the marker twice, anywhere."""
    return count_verdict(response.count(sep), f"x {sep!r}", "at least", 2)


def _thesis(_: Mode, response: str) -> Verdict:
    """Require text in ``<i>`` or ``<em>`` and text after it. Of ``<em>``, three characters count as the tag."""
    start = response.find("<i>") if "<i>" in response else response.find("<em>")
    text = response[start:] if start >= 0 else ""
    end = text.find("</i>") if "</i>" in text else text.find("</em>")
    if start < 0 or end < 0:
        return Verdict(False, "no thesis in <i></i> or <em></em>")
    met = bool(text[3:end].strip() and text[end + 4 :].strip())
    return verdict_if(met=met, otherwise="the thesis is empty, or nothing follows it")


def _sub_bullets(_: Mode, response: str) -> Verdict:
    """Require a ``-`` after each ``*``, before the next one."""
    met = all("-" in bullet for bullet in response.split("*")[1:])
    return verdict_if(met=met, otherwise="a * without a - after it")


def _no_bullets_bullets(_: Mode, response: str) -> Verdict:
    """Require two sentences, then two lines that begin with ``*``, and no other line after the first of them.

    A blank line before the bullets ends the sentences, too: only bullets may follow.
    """
    sentences, bullets, in_sentences = 0, 0, True
    for line in map(str.strip, response.split("\n")):
        if line.startswith("*"):
            in_sentences = False
            if sentences < 2:
                return count_verdict(sentences, "sentences before the bullets", "at least", 2)
            bullets += 1
        elif in_sentences:
            found = len(sentences_of(line))
            sentences, in_sentences = sentences + found, found > 0
        else:
            return Verdict(False, f"no bullet: {line[:80]!r}")
    return count_verdict(bullets, "bullets", "at least", 2)


def _title_case(_: Mode, response: str) -> Verdict:
    """Forbid words in small letters, and those whose first letter alone is small. Marks and ``iPhone`` pass."""
    for word in treebank_words(response):
        rest = word[1:]
        if word[0].isalpha() and word[0].islower() and (not rest or rest.isupper() or rest.islower()):
            return Verdict(False, f"not in title case: {word[:80]!r}")
    return Verdict(True)


def _output_template(_: Mode, response: str) -> Verdict:
    """Require the three headings of the template, anywhere."""
    missing = [heading for heading in _TEMPLATE if heading not in response]
    return verdict_if(met=not missing, otherwise=f"missing: {', '.join(missing)}")


def _no_whitespace(_: Mode, response: str) -> Verdict:
    return verdict_if(met=not any(map(str.isspace, response)), otherwise="contains white space")


def _repeat_change(_: Mode, response: str, *, prompt_to_repeat: str) -> Verdict:
    """Require the request, word by word, but for its first word. The request itself fails."""
    met = response != prompt_to_repeat and response.split()[1:] == prompt_to_repeat.split()[1:]
    return verdict_if(met=met, otherwise="is not the request with another first word")


def _repeat_simple(_: Mode, response: str) -> Verdict:
    """Require the instruction's own sentence and nothing else, ignoring case."""
    return verdict_if(met=response.strip().lower() == _ONLY_SENTENCE, otherwise="is not the sentence asked for")


def _repeat_span(_: Mode, response: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> Verdict:
    """Require the request's characters from ``n_start`` to ``n_end``, both included, ignoring case."""
    wanted = prompt_to_repeat[n_start : n_end + 1].strip().lower()
    met = response.strip().lower() == wanted
    return verdict_if(met=met, otherwise=f"is not a copy of characters {n_start} to {n_end} of the request")


RULES: Final[dict[str, Rule]] = {
    "format:emoji": _emoji,
    "format:line_indent": _line_indent,
    "format:list": _list,
    "format:newline": _newline,
    "format:no_bullets_bullets": _no_bullets_bullets,
    "format:no_whitespace": _no_whitespace,
    "format:options": _options,
    "format:output_template": _output_template,
    "format:parentheses": _parentheses,
    "format:quote_unquote": _quote_unquote,
    "format:quotes": _quotes,
    "format:sub-bullets": _sub_bullets,
    "format:thesis": _thesis,
    "format:title_case": _title_case,
    "repeat:repeat_change": _repeat_change,
    "repeat:repeat_simple": _repeat_simple,
    "repeat:repeat_span": _repeat_span,
}
