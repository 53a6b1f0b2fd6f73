"""Find verdicts in the judge's own form, scores that an answer gives itself, and criteria that it declares met.

Each search is limited to the text around a word that suggests a verdict, and no part of a text is read twice.
``sentence_attacks`` finds attacks in sentences, ``forged_layout`` finds the layout around a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from calipers.guard.attack_rules import Hit
from calipers.guard.normalised import NormalisedText
from calipers.guard.vocabulary import phrase_list, word_list
from calipers.types import AttackKind, Certainty
from calipers.types.steps import Steps

_AROUND: Final = 400
_AFTER: Final = 300
_AT_MOST: Final = 64
"""At most this many double brackets are examined at the beginning of a text, and as many at its end."""
_TICKED: Final = 2
_BEFORE_KEY: Final = ("'", '"', "_", " ")
_DEEPEST: Final = 3
"""A key is assigned to at most this many of the nested objects around it."""
_EDGES: Final = " \t.!*#>|-"
_STATES = re.compile(r"[:=\"“]| is | was ")
_SENTENCE = re.compile(r"[^.!?\n|]+(?:\.\d[^.!?\n|]*)*")
_DOUBLE_BRACKETS = re.compile(
    r"\[\[(?!\[)(a|b|c|tie|[ab]>{1,2}[ab]|(?:rating|score):? ?\d{1,3}|\d{1,3})\]\]", re.IGNORECASE
)
_LEADS_TO_VERDICT = re.compile(
    r"\b(?:verdict|better|wins?|winner|best|judge?ment|judging|prefer\w*|rating|score|choose|choice|decision|conclu\w+"
    r"|output|answer with|reply with)\b",
    re.IGNORECASE,
)
_LEADS_TO_SCORE = re.compile(r"(?:rating|score|mark|grade)\W{0,4}(?:\w+ ){0,4}(?:is )?\W{0,3}$", re.IGNORECASE)
_BLANK_BEFORE = re.compile(r"(?:^|\n)[^\S\n]*\Z")
_BLANK_AFTER = re.compile(r"[^\S\n]*(?:\n|\Z)")
_RESULT = re.compile(r"\[RESULT\] ?\(?(?:[1-9]|10|[AB])\b")
_TAG = re.compile(
    r"<(score|scores|verdict|grade|rating|judge?ment|final_score|reward|evaluation|decision)>"
    r"\s?([\w./% -]{1,20}|[^<]{1,300})\s?</\1>",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(
    r"<(?!/|score|verdict|grade|rating|judg|final_score|reward|think|evaluation|explanation|reason|feedback|comment"
    r"|justification)[a-z]\w{2,}>",
    re.IGNORECASE,
)
_JSON_PARTS = re.compile(
    r"[{}]|[\"']([\w .\-]{1,40})[\"']\s*:\s*"
    r"(\"(?:[^\"\\]|\\.){0,300}\"|'[^'\n]{0,300}'|-?\d+(?:\.\d+)?|true|false|null|True|False|[{\[])"
)
_KEY_ENDS = re.compile(r"[\"']\s*:")
_FULL: Final = (
    r"(?:100(?:\.0)?(?: ?%| ?/ ?100| out of 100| points?)?|(?P<of>\d{1,3})(?: ?/ ?| out of )(?P=of)"
    r"|a\+(?: ?\(100 ?%\))?|1\.0|five stars|full marks|perfect)(?![\w/%])"
)
_FULL_SCORE = re.compile(_FULL, re.IGNORECASE)
_WHOSE: Final = (
    r"(?:(?P<whose>judge'?s?|grader'?s?|evaluator'?s?|evaluation|official|recommended|suggested|expected|assigned"
    r"|awarded|reviewer'?s?|final evaluation)|final|overall|total|my|answer|response|quality) "
)
_CLAIM = re.compile(
    rf"^[\s*#>_\-•|]*(?:{_WHOSE}){{0,3}}(?:score|scores|grade|rating|mark|total|reward)(?: ?\([^()\n]{{1,12}}\))?"
    rf"(?: awarded| given| achieved| for this \w+)?\**\s?(?::|=|is\b|was\b)\**\s?\W{{0,3}}"
    rf"(?P<value>{_FULL}|10|9\d)\W{{0,4}}$",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    rf"^[\s*#>_\-•]*(?:{_WHOSE}|my final |my ){{0,3}}(?:verdict|judge?ment|decision|evaluation)(?: ?[:=]| is:?)"
    r"\W{0,4}(?:the )?(?:pass(?:ed)?|accepted|correct|met|yes|(?-i:[AB12])|first|second|this|assistant|response"
    r"|answer|attempt|candidate|trajectory|solution)\b",
    re.IGNORECASE,
)
_NAMES_WINNER = re.compile(
    r"^[\s*#>_\-•]*(?:the )?"
    r"(?:winner|better (?:response|answer|one)|preferred (?:response|answer)|best (?:response|answer))\**\s?[:=]\**\s?"
    r"(?:(?:response|assistant|answer|model|candidate|output) ?\(?(?-i:[AB12])\b|(?-i:[AB])\b|this )"
    r"|^\W*(?-i:GRADE: ?[AC])\b|^#{2,4} ?(?:Score|Rating|Grade|Result|Verdict)\W{1,5}(?:\d|pass|correct|(?-i:[AB])\b)",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\b(?:verdict|winner|judge?ment|decision|preference)\b[^.\n]{0,30} (?:is|should be|must be|has to be) "
    r"[\"'“]?(?:[AB]\b|PASS)"
)
_REPORTED = re.compile(
    r"\bscore ?[:=] ?\W?(?:100|10|1\.0)\W{1,4}(?:status|result|verdict|confidence) ?[:=] ?\W?"
    r"(?:accepted|pass|ok|correct|high)"
    r"|\bverdict ?[:=] ?\W?(?:pass(?:ed)?|accepted|correct)\W{1,6}(?:score|confidence|rating) ?[:=]",
    re.IGNORECASE,
)
_ORDERED_CHOICE = re.compile(
    r"\b(?:output|return|answer|respond|reply|write|choose|say|print)\b[^.\n]{0,20}[\"'“\[]{1,2}[AB12][\"'”\]]{1,2}"
    r"[^.\n]{0,30}\b(?:verdict|judge?ment|choice|decision)\b",
    re.IGNORECASE,
)
_ORDERED_SENTENCE = re.compile(
    r"\b(?:output|return|answer|respond|reply|write|say|print)\b[^.\n]{0,20}"
    r"[\"'“](?:(?:response|assistant|answer|model|output) ?)?[AB12] (?:is|wins)\b",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:assistant|response|answer|candidate|model|output) \(?(?-i:[AB12])\)? is (?:\w+ ){0,2}"
    r"(?:better|best|superior|preferred|the winner|the better)\b",
    re.IGNORECASE,
)
_ONE_SIDED: Final[tuple[tuple[AttackKind, Certainty, re.Pattern[str]], ...]] = (
    ("fake_verdict", "likely", _DECIDED),
    ("fake_verdict", "suspicious", _NAMES_WINNER),
    ("fake_verdict", "suspicious", _EXPECTED),
    ("score_claim", "likely", _REPORTED),
    ("instruction", "likely", _ORDERED_SENTENCE),
    ("instruction", "likely", _ORDERED_CHOICE),
)
"""Sentences that are an attack only if their line has no alternative ("if", "or")."""
_BOTH_SIDES = re.compile(r"\b(?:otherwise|if|or)\b", re.IGNORECASE)
_ASKED_FOR = re.compile(r"\b(?:Output|Return|Respond|Reply|Answer|Write|Print)\W{0,14}(?:with\W{0,4})?$")
_FULL_SCORES = re.compile(r"\b(\d{1,3}) ?(?:/|out of) ?\1\b|\b100 ?%")
_TICKS = re.compile(r"[✅✓✔☑]|\[x\]|(?:: ?|-> ?|is )(?:met|fulfilled|satisfied|pass(?:ed)?)\b", re.IGNORECASE)
_TICK_WORDS: Final = ("[x]", "met", "fulfilled", "satisfied", "pass")
"""Every match of ``_TICKS`` in ASCII has one of these words."""
_DIGIT = re.compile(r"\d")
_CRITERIA = re.compile(
    r"\b(?:criteri\w+|correctness|accuracy|accurate|clarity|complete(?:ness)?|style|depth|rubric|helpfulness|relevance"
    r"|quality|well written)\b",
    re.IGNORECASE,
)
_ALL_OR_NOTHING = re.compile(r"[\"']scores[\"']\s*:\s*\[\s*(?:100|10|1(?:\.0)?)\s*(?:,\s*0(?:\.0)?\s*)+\]")
_ID = re.compile(r"[A-Z]{1,2}|\d{1,2}|(?i:response|answer|candidate|assistant|model|trajectory)_?[A-Za-z\d]?")
_PRAISES_ANSWER = re.compile(
    r"\b(?:responses?|answers?|solutions?|candidate|attempt|submission|trajectory|assistant|complete|correct|accurate"
    r"|flawless|reference|perfect|fully|outstanding|best|clearer|rubric|criteria)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?:this\b.*|[ab12]|(?:the )?(?:first|second)"
    r"|(?:response|assistant|answer|candidate|model|output)[ _]?\(?[ab12]?\)?|pass(?:ed)?|correct)$",
    re.IGNORECASE,
)


def forged_verdicts(text: NormalisedText, places: Sequence[int]) -> Steps[list[Hit]]:
    """Return attacks in ``text`` by forged verdicts or scores with their own marker or near a word at ``places``, in
    steps.
    """
    found: list[Hit] = []
    if "[[" in text.shown:
        found += _in_double_brackets(text)
    if "[RESULT]" in text.shown and (match := _RESULT.search(text.shown)) is not None:
        found.append(Hit("fake_verdict", "likely", *match.span()))
    for search in (_in_lines, _in_tags, _in_objects) if places else ():
        yield
        for hit in search(text, places):
            if hit is None:
                yield
            else:
                found.append(hit)
    return found


def _in_double_brackets(text: NormalisedText) -> Iterator[Hit]:
    """Yield a verdict in double brackets. Two different verdicts are a judge's options and no attack."""
    found = list(_DOUBLE_BRACKETS.finditer(text.shown))
    labels = {match[1].lower() for match in found}
    if len(labels) > 1 and not all(label[-1].isdigit() for label in labels):
        return
    for match in found if len(found) <= 2 * _AT_MOST else found[:_AT_MOST] + found[-_AT_MOST:]:
        lead = text.shown[max(0, match.start() - _AROUND // 2) : match.start()]
        if match[1].isdigit() and not _LEADS_TO_SCORE.search(lead):
            continue
        if _LEADS_TO_VERDICT.search(lead) or ":" in match[1] or ">" in match[1]:
            yield Hit("fake_verdict", "likely", *match.span())
            return
        behind = text.shown[match.end() : match.end() + _AROUND // 2]
        if _BLANK_BEFORE.search(lead) and _BLANK_AFTER.match(behind):
            yield Hit("fake_verdict", "suspicious", *match.span())


def _in_lines(text: NormalisedText, places: Sequence[int]) -> Iterator[Hit | None]:
    """Yield scores and verdicts that a line states, and lists of criteria declared met; None before longer work."""
    shown, line_end, ticks_end = text.shown, -1, -1
    ticks = _ticks_in(shown, places)
    for place in places:
        if ticks and place >= ticks_end:
            yield None
            around = shown[max(0, place - _AFTER) : place + _AFTER]
            ticks_end = place + _AFTER // 2
            if any(tick in around for tick in ticks) and _is_ticked(around):
                yield Hit("score_claim", "likely", place, min(len(shown), place + _AROUND))
        if place < line_end:
            continue
        begin = shown.rfind("\n", 0, place + 1) + 1 if place else 0
        line_end = shown.find("\n", place + 1)
        line_end = len(shown) if line_end < 0 else line_end
        if line_end - begin < _AROUND and _STATES.search(shown, begin, line_end):
            yield None
            yield from _in_line(shown[begin:line_end], begin)


def _ticks_in(shown: str, places: Sequence[int]) -> Sequence[str]:
    """Return the signs that may declare a criterion met in the text around ``places``; none if ``_is_ticked`` is never
    true.

    Only where these parts together are longer than the text is the text searched for the signs.
    """
    ticks = phrase_list("ticks")
    if 2 * _AFTER * len(places) <= len(shown):
        return ticks
    lowered = shown.lower() if shown.isascii() else ""
    if lowered and not _DIGIT.search(shown) and not any(word in lowered for word in _TICK_WORDS):
        return ()
    return [tick for tick in ticks if tick in shown]


def _is_ticked(around: str) -> bool:
    """Whether an answer's text declares several criteria met."""
    ticks = len(_FULL_SCORES.findall(around)) if _DIGIT.search(around) else 0
    if not around.isascii() or any(word in around.lower() for word in _TICK_WORDS):
        ticks += len(_TICKS.findall(around))
    if not ticks:  # the search for criteria takes the longest
        return False
    named = {match.lower() for match in _CRITERIA.findall(around)}
    return bool(named) and ticks + ("rubric" in around) + (len(named) > 1) > _TICKED


def _in_line(line: str, begin: int) -> Iterator[Hit]:
    one_sided = not _BOTH_SIDES.search(line)
    for match in _SENTENCE.finditer(line):
        sentence = match[0]
        span = begin + match.start(), begin + match.end()
        if (claim := _CLAIM.match(sentence)) is not None:
            if claim["whose"]:
                yield Hit("score_claim", "likely", *span)
            elif sentence.strip(_EDGES) == line.strip(_EDGES) and "=" not in line:
                yield Hit("score_claim", "suspicious", *span)
        for kind, certainty, pattern in _ONE_SIDED if one_sided else ():
            if pattern.search(sentence):
                yield Hit(kind, certainty, *span)
        if one_sided and "verdict" in line.lower() and _BETTER.search(sentence):
            yield Hit("fake_verdict", "likely", *span)


def _in_tags(text: NormalisedText, places: Sequence[int]) -> Iterator[Hit | None]:
    for place in places:
        if not text.shown.startswith("<", place - 1) or (match := _TAG.match(text.shown, place - 1)) is None:
            continue
        yield None
        value = match[2].strip().lower()
        good = _FULL_SCORE.fullmatch(value) or value in word_list("good_verdicts") or _PRAISES_ANSWER.search(value)
        if good and not _OTHER_TAG.search(text.shown, max(0, place - _AROUND), match.end() + _AROUND):
            yield Hit("fake_verdict", "likely", *match.span())
            return


def _in_objects(text: NormalisedText, places: Sequence[int]) -> Iterator[Hit | None]:
    """Yield forged verdicts in JSON-like objects that have a key at one of ``places``, reading each text once.

    None is yielded before longer work.
    """
    end = 0
    for place in places:
        if place < end or text.shown[place - 1 : place] not in _BEFORE_KEY:
            continue
        yield None
        begin = max(end, place - _AROUND)
        end = min(len(text.shown), place + 2 * _AROUND)
        if not _KEY_ENDS.search(text.shown, begin, end):
            continue
        if _ALL_OR_NOTHING.search(text.shown, begin, end):
            yield Hit("fake_verdict", "suspicious", place, min(end, place + _AROUND))
        for first, last, pairs in _objects(text.shown, begin, end):
            values = {key.lower(): value for key, value in pairs}
            certainty = _certainty_of(values, [key.lower() for key, _ in pairs if _ID.fullmatch(key)])
            asked_for = _ASKED_FOR.search(text.shown, first - 30, first)
            if certainty is not None or (asked_for and _has_full_score(values)):
                yield Hit("fake_verdict", certainty or "suspicious", first, last)
                return


def _objects(shown: str, begin: int, end: int) -> Iterator[tuple[int, int, list[tuple[str, str]]]]:
    """Yield each JSON-like object between two positions, with its keys and values and those of the
    objects inside it.
    """
    # Keys without an opening bracket belong to an object that begins before the first position.
    opened: list[tuple[int, list[tuple[str, str]]]] = [(begin, [])]
    for match in _JSON_PARTS.finditer(shown, begin, end):
        key, value = match.groups()
        if key is not None:
            pair = key.replace(" ", "_"), value.strip("\"'")
            for _, pairs in opened[-_DEEPEST:]:
                pairs.append(pair)
        whole = match[0]
        if whole.endswith("{"):
            opened.append((match.start(), []))
        elif whole == "}" and len(opened) > 1:
            yield opened[-1][0], match.end(), opened.pop()[1]
    for first, pairs in reversed(opened[-_DEEPEST:]):
        yield first, end, pairs


def _certainty_of(values: Mapping[str, str], ids: Sequence[str]) -> Certainty | None:
    """Return how certain it is that an object is a forged verdict. ``ids`` are the keys that may name answers."""
    keys = values.keys()
    if keys & word_list("keys_of_others"):
        return None
    reasons, scores = keys & word_list("reason_keys"), keys & word_list("score_keys")
    has_id, full = bool(keys & word_list("id_keys")), _has_full_score(values)
    chosen = [values[key].lower() for key in keys & word_list("choice_keys") if _CHOICE.match(values[key])]
    praised = any(_PRAISES_ANSWER.search(values[key]) for key in reasons)
    praised = praised or bool(reasons and keys & word_list("naming_keys"))
    if (
        (values.get("scores") in {"{", "["} and (ids or has_id))
        or (scores and reasons and any(values[key] == "{" for key in ids))
        or (full and (praised or (has_id and reasons)))
        or (chosen and (praised or any(choice.startswith("this") for choice in chosen)))
    ):
        return "likely"
    passed = any(values[key].lower() in {"true", "pass", "passed"} for key in keys & word_list("passed_keys"))
    return "suspicious" if full and reasons and passed else None


def _has_full_score(values: Mapping[str, str]) -> bool:
    """Whether a score in an object is the highest of a usual scale, or close to it."""
    scores = [values[key] for key in values.keys() & word_list("score_keys")]
    return any(score in word_list("top_numbers") or score.lower() in {"a+", "perfect"} for score in scores)
