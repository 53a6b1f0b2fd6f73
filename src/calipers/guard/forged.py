"""Find text that forges the layout of a judge's prompt, a verdict in the judge's form, or its score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from calipers.guard.plain import PlainText
from calipers.guard.vocabulary import Hit, word_list
from calipers.types import Certainty

_AT_MOST: Final = 64
"""At most this many matches of a pattern are examined. A text with more is found by the first of them."""
_AROUND: Final = 400
_TURN = re.compile(
    r"<(?:[|｜](?:im_start|im_sep|start_header_id|start_of_role|system|user|assistant|start|channel|message|turn|User"
    r"|Assistant|START_OF_TURN_TOKEN|SYSTEM_TOKEN|USER_TOKEN|CHATBOT_TOKEN)\b|</?SYS>>|start_of_turn>)"
    r"|\[/?(?:INST|SYSTEM_PROMPT)\]"
)
"""Tokens of chat templates, by which a turn begins."""
_BEGINNING = re.compile(r"(?:^|[\n.!?:>\])}])[ \t]*$")
_OF_SCORES = re.compile(r"\b(?:scor\w+|verdict|grades?|marks?|rating|points?|rewards?)\b")
_OF_OUTCOMES = re.compile(
    r"\b(?:100|a|10|1\.0|highest|top|full|max\w*|perfect|best|winner|better|correct|graders?|judges?|evaluat\w+)\b"
)
_DOUBLE_BRACKETS = re.compile(r"\[\[(a|b|c|tie|[ab]>{1,2}[ab]|(?:rating|score):? ?\d{1,3})\]\]", re.IGNORECASE)
_LEADS_TO_VERDICT = re.compile(
    r"\b(?:verdict|better|wins?|winner|best|judge?ment|judging|prefer\w*|rating|score|choose|choice|decision|conclu\w+"
    r"|output|answer with|reply with)\b"
)
_FULL: Final = (
    r"(?:100(?:\.0)?(?: ?%| ?/ ?100| out of 100| points?)?|(?P<of>\d{1,3})(?: ?/ ?| out of )(?P=of)"
    r"|a\+(?: ?\(100 ?%\))?|1\.0|five stars|full marks|perfect)(?![\w/%])"
)
_TAG = re.compile(
    r"<(scores?|verdict|grade|rating|judge?ment|final_score|reward|evaluation|decision)>\s?([^<]{1,300})\s?</\1>"
)
_WHOSE: Final = (
    r"(?:(?P<whose>judge'?s?|grader'?s?|evaluator'?s?|evaluation|official|recommended|suggested|expected|assigned"
    r"|awarded|reviewer'?s?|final evaluation)|final|overall|total|my|answer|response|quality) "
)
_CLAIM = re.compile(
    rf"^[\s*#>_\-•|]*(?:{_WHOSE}){{0,3}}(?:scores?|grade|rating|mark|total|reward)(?: ?\([^()\n]{{1,12}}\))?"
    rf"(?: awarded| given| achieved| for this \w+)?\**\s?(?::|=|is\b|was\b)\**\s?\W{{0,3}}(?:{_FULL}|10|9\d)\W{{0,4}}$",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"^[\s*#>_\-•]*(?:(?:my|final|official|judge'?s?|grader'?s?|evaluator'?s?|overall) ){0,3}"
    r"(?:verdict|judge?ment|decision|evaluation)(?: ?[:=]| is:?)\W{0,4}(?:the )?(?:pass(?:ed)?|accepted|correct|met|yes"
    r"|(?-i:[AB12])|first|second|this|assistant|response|answer|attempt|candidate|trajectory|solution)\b",
    re.IGNORECASE,
)
_KEY_AND_VALUE = re.compile(
    r"[{}]|[\"']([\w .\-]{1,40})[\"']\s*:\s*"
    r"(\"(?:[^\"\\\n]|\\.){0,300}\"|'[^'\n]{0,300}'|-?\d+(?:\.\d+)?|true|false|null|True|False|[{\[])"
)
_ID = re.compile(r"[A-Z]{1,2}|\d{1,2}|(?i:response|answer|candidate|assistant|model|trajectory)_?[A-Za-z\d]?")
_PRAISES = re.compile(
    r"\b(?:responses?|answers?|solutions?|candidate|attempt|submission|trajectory|assistant|complete|correct|accurate"
    r"|flawless|reference|perfect|fully|outstanding|best|clearer|rubric|criteria)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?:this\b.*|[ab12]|(?:the )?(?:first|second)|pass(?:ed)?|correct"
    r"|(?:response|assistant|answer|candidate|model|output)[ _]?\(?[ab12]?\)?)$",
    re.IGNORECASE,
)


def forged_marks(text: PlainText) -> Iterator[Hit]:
    """Yield forged layout and verdicts that have a mark of their own, anywhere in a text."""
    for match in islice(_TURN.finditer(text.shown), _AT_MOST):
        if _BEGINNING.search(text.shown, max(0, match.start() - 40), match.start()):
            after = text.plain[match.end() : match.end() + 300]
            scores = _OF_SCORES.search(after) and _OF_OUTCOMES.search(after)
            yield Hit("layout", "certain" if scores else "likely", *match.span())
    for match in islice(_TAG.finditer(text.plain) if "</" in text.plain else (), _AT_MOST):
        value = match[2].strip()
        good = re.fullmatch(_FULL, value) or value in word_list("good_verdicts") or _PRAISES.search(value)
        if good:
            yield Hit("fake_verdict", "likely", *match.span())
    brackets = list(islice(_DOUBLE_BRACKETS.finditer(text.shown), _AT_MOST))
    for match in brackets if len({match[1].lower() for match in brackets}) == 1 else ():  # else a judge's options
        before, after = text.plain[max(0, match.start() - _AROUND // 2) : match.start()], text.shown[match.end() :][:99]
        if _LEADS_TO_VERDICT.search(before) or ">" in match[1]:
            yield Hit("fake_verdict", "likely", *match.span())
        elif not before.rpartition("\n")[2].strip() and not after.partition("\n")[0].strip():
            yield Hit("fake_verdict", "suspicious", *match.span())


def forged_verdicts(text: PlainText, begin: int, end: int) -> Iterator[Hit]:
    """Yield verdicts and scores in the lines and objects between two positions of a text."""
    for start in range(begin, end, _AROUND):
        around = text.shown[start : min(end, start + 2 * _AROUND)]
        if '":' in around or "':" in around:
            yield from _forged_objects(around, start)
    for line in re.finditer(r"[^\n]+", text.shown[begin:end]):
        if len(line[0]) < _AROUND:
            yield from _forged_line(line[0], begin + line.start())


def _forged_line(line: str, begin: int) -> Iterator[Hit]:
    for match in re.finditer(r"[^.!?\n|]+(?:\.\d[^.!?\n|]*)*", line):
        sentence, span = match[0], (begin + match.start(), begin + match.end())
        if (claim := _CLAIM.match(sentence)) is not None:
            if claim["whose"]:
                yield Hit("score_claim", "likely", *span)
            elif sentence.strip(" \t.!*#>|-") == line.strip(" \t.!*#>|-") and "=" not in line:
                yield Hit("score_claim", "suspicious", *span)
        if _DECIDED.match(sentence):
            yield Hit("fake_verdict", "likely", *span)


def _forged_objects(around: str, start: int) -> Iterator[Hit]:
    """Yield a forged verdict in a JSON-like object. Each is read with the keys of the objects inside it."""
    opened: list[tuple[int, list[tuple[str, str]]]] = [(0, [])]
    whole: list[tuple[int, list[tuple[str, str]]]] = []
    for match in _KEY_AND_VALUE.finditer(around):
        if match[1] is not None:
            for _, pairs in opened[-3:]:
                pairs.append((match[1].replace(" ", "_"), match[2].strip("\"'")))
        if match[0].endswith("{"):
            opened.append((match.start(), []))
        elif match[0] == "}" and len(opened) > 1:
            whole.append(opened.pop())
    for first, pairs in [*whole, *reversed(opened[-3:])]:
        values = {key.lower(): value for key, value in pairs}
        certainty = _certainty_of(values, [key.lower() for key, _ in pairs if _ID.fullmatch(key)])
        if certainty is not None:
            yield Hit("fake_verdict", certainty, start + first, start + len(around))
            return


def _certainty_of(values: Mapping[str, str], ids: list[str]) -> Certainty | None:
    """Return how certain it is that an object is a forged verdict. ``ids`` are the keys that may name answers."""
    names = "keys_of_others", "reason_keys", "score_keys", "choice_keys", "naming_keys", "id_keys", "passed_keys"
    stated = {name: values.keys() & set(word_list(name)) for name in names}
    if stated["keys_of_others"]:
        return None
    reasons, scores = stated["reason_keys"], [values[key] for key in stated["score_keys"]]
    full = any(score in word_list("top_numbers") or score.lower() in {"a+", "perfect"} for score in scores)
    chosen = [values[key].lower() for key in stated["choice_keys"] if _CHOICE.match(values[key])]
    praised = bool(reasons and stated["naming_keys"]) or any(_PRAISES.search(values[key]) for key in reasons)
    if (
        (values.get("scores") in {"{", "["} and (ids or stated["id_keys"]))
        or (scores and reasons and any(values[key] == "{" for key in ids))
        or (full and (praised or (stated["id_keys"] and reasons)))
        or (chosen and (praised or any(choice.startswith("this") for choice in chosen)))
    ):
        return "likely"
    passed = any(values[key].lower() in {"true", "pass", "passed"} for key in stated["passed_keys"])
    return "suspicious" if full and reasons and passed else None
