"""Decides whether numbers in a judge's reply are somebody else's verdict, a draft, or no scores at all.

These checks can only lead to a rejection. English introductions are patterns in this file, those of other languages are
lists in ``words``. Words after a verdict are read by ``retractions``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from calipers.replies.caveats.asides import Sentence
from calipers.replies.caveats.phrases import find_phrases, fold_words

_SAYING = (
    r"(?:says?|said|claim(?:s|ed)|wrote|writes|print(?:s|ed)|returned|emit(?:s|ted)|contain(?:s|ed)|holds?|ends?\swith"
    r"|include[sd]?|inject(?:s|ed)|states?|reads?|output(?:s|ted)|ask(?:s|ed)|tells?|told|wants?|tr(?:ies|ied)\sto\s\w{1,20})"
)
QUOTED = re.compile(
    r"\b(?:draft|(?:first|rough|initial|preliminary|tentative)\s{1,3}(?:pass|scores?|impressions?|guess|estimates?"
    r"|verdict|thoughts?|attempt|ratings?)|for\s(?:example|instance)|e\.g\.|example(?:\s(?:output|reply|answer|format"
    r"|response))?(?=\s{0,3}[:(])|example\Z|template|placeholder|schema|format\s(?:is|was|would|looks?|used|should)"
    r"|(?:would|should|might|could)\s(?:look|be|have\sbeen|read)|hypothetical\w{0,2}|instead\sof|not\sthis|wrong(?:ly)?"
    r"|(?:trajectory|candidate|agent|response|answer|model|user|it|which|tool|output|message|transcript|text|page)"
    rf"(?:\s#?\w{{1,8}})?\s(?:itself\s)?{_SAYING}"
    r"|(?<!\bI )(?<!\bwe )(?:print(?:s|ed)|returned|wrote|emit(?:s|ted)|claim(?:s|ed)|said|says|contain(?:s|ed)"
    r"|inject(?:s|ed))|inject(?:ed|ion)|quot(?:e|ed|ing)|草稿|示例|例如|模板)(?![^\W_])[^\n]{0,80}\Z",
    re.IGNORECASE,
)
"""The end of words before a verdict that call it a draft, an example, or somebody else's."""

_OTHER = (
    r"(?:confidences?|certaint(?:y|ies)|ranks?|rankings?|weights?|costs?|steps|tokens|turns|probabilit(?:y|ies)|uncertaint(?:y|ies)"
    r"|std|variances?|stderr|errors?|previous|old|initial|draft|before|durations?|lengths?|times?)"
)
ASIDE = re.compile(
    rf"\b{_OTHER}[\s_]{{0,3}}(?:scores?|values?|levels?|per|by)?[\w\s]{{0,20}}[\s:=(*]{{0,8}}\Z", re.IGNORECASE
)
"""The end of words before a verdict which say that its numbers are no scores."""

ASIDE_HEAD = re.compile(
    rf"[\s#>*_\-\d.]{{0,12}}(?:my\s|the\s|estimated\s|number\sof\s)?(?:{_OTHER}|first|preliminary|tentative|drafts?|examples?"
    r"|format)\b[^:\d]{0,40}[:：]?[\s*_#]{0,6}\Z",
    re.IGNORECASE,
)
"""The heading of a list of numbers that are no scores."""

_ENDED = re.compile(r"[.!?。！？][\s*_\"')\]]*\Z")
_POINTS = re.compile(r"\b(?:following|below|as follows|e\.g\.)\W*\Z", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<!e\.g)[.!?。！？]\s|\n\s*\n")
_HEADING = re.compile(
    r"\b(?:drafts?|examples?|template|schema|format|placeholder|preliminary|tentative|hypothetical|quoted?|injected)\b",
    re.IGNORECASE,
)


_FORM_HEAD = re.compile(
    r"[\s#>*_-]{0,6}(?:(?:output|expected|required|reply|answer)\s)?(?:format|schema|template|examples?|samples?|drafts?)"
    r"(?:\s(?:output|reply|answer|scores?|response))?[*_]{0,2}\s?[:：]?[\s*_]{0,3}\Z",
    re.IGNORECASE,
)
"""A word such as *Format* that is the only text before a verdict on its line: ``Format: {...}``."""


def is_others_verdict(
    before: str, ids: Sequence[str] = (), claimed: Collection[str] = (), *, of_scores: bool = True
) -> bool:
    """Whether words right before an extracted verdict call it a draft, an example, somebody else's, or without scores.

    Only words that introduce the verdict count: on its line, before a colon, or as a heading. A sentence that has ended
    is about something else, like the reasoning before a verdict. ``claimed`` are those of the ``ids`` that the verdict
    scores. Without ``of_scores`` the verdict may be a ranking, so a heading such as *Ranks:* does not disqualify it.
    """
    bare = _LANGUAGE.sub("", before.rstrip()).rstrip(_WRAPPING)
    headed = _TAGS.search(bare)
    bare = _TAGS.sub("", bare).rstrip(f"{_WRAPPING}*_")
    if not bare or (_ENDED.search(bare) and not _POINTS.search(bare)):
        return False
    colon = bare.endswith((":", "：", "="))
    above = bare.rpartition("\n")[0].rstrip(f"{_WRAPPING}*_")
    heading = above.rpartition("\n")[2]
    if colon and (
        introduces_others_words(heading, ids, claimed)
        or (heading.endswith((":", "：")) and announces_other_numbers(heading, ids))
    ):
        return True  # a heading between the introduction and the verdict is quoted as well
    said = _SENTENCE.split(bare)[-1]
    line = said.rsplit("\n", 1)[-1]
    same_line = "\n" not in before[len(bare) :]
    if same_line or colon or _POINTS.search(bare):
        form = same_line and _FORM_HEAD.match(line) is not None
        known = form or _is_known(said) or (of_scores and ASIDE.search(said) is not None)
        colon = colon or same_line
    else:
        # Only a short line is a heading.
        known = len(line) <= 60 and (_HEADING.search(line) is not None or ASIDE_HEAD.match(line) is not None)
        colon = headed is not None
    return known or _introduces(Sentence(line[-_LEAD:], ids), claimed, colon=colon)


def _introduces(lead: Sentence, claimed: Collection[str], *, colon: bool) -> bool:
    """Whether the last sentence before a verdict introduces somebody else's words, in any of the known languages."""
    cues = [
        start
        for kind in ("INJECTED", "DRAFT", "ANOTHER_JUDGE", "NOT_GIVEN")
        for start, end in lead.hits.get(kind, ())
        if _counts(lead, start, end)
    ]
    who = lead.hits.get("CANDIDATES", ())
    words = lead.folded
    said = [
        start
        for start, end in lead.hits.get("SAYS", ())
        if (lead.named_ids or any(not (a < end and start < b) for a, b in who))
        and (colon or _POINTERS.issuperset(words[end:].split()))
    ]
    cues += [start for start, _ in lead.hits.get("CONDITION", ()) if start == 1]
    weighed = any(start == 1 for start, _ in lead.hits.get("CONSIDERING", ()))
    if cues or (said and not weighed):
        return not _comes_back(lead.text)
    if not colon or weighed or len(claimed) < 2 or len(lead.named_ids) != 1:  # only if there are several candidates
        return False
    last = Sentence(re.split(r"[,，;；]\s?", lead.text)[-1], lead.ids)
    return bool(last.named_ids) and (not last.has_phrase("JUDGES_OWN") or last.has_phrase("SELF"))


def _is_known(said: str) -> bool:
    """Whether English words introduce a draft, an example or somebody else's verdict."""
    return QUOTED.search(said) is not None and not _comes_back(said)


def _comes_back(said: str) -> bool:
    """Whether the last clause before a verdict returns to the judge's own opinion: ``KB wrote more, so I conclude``."""
    before, mark, last = said.rpartition(",") if "," in said else said.rpartition("，")
    return (
        bool(mark)
        and not re.search(r"[:：\"“„«「]", before)
        and "JUDGES_OWN" in find_phrases(fold_words(last[-_LEAD:]))
    )


def _counts(lead: Sentence, start: int, end: int) -> bool:
    """Whether a phrase counts as a word: a single character (例) does only if it is a whole clause."""
    return end - start > 1 or lead.folded[start:end] in {clause for clause, _ in lead.clauses}


def announces_other_numbers(line: str, ids: Sequence[str] = ()) -> bool:
    """Whether a line announces numbers that are no scores to extract, such as confidences or a draft."""
    if ASIDE_HEAD.match(line):
        return True
    line = line.rstrip(" *_#")
    if not line.endswith((":", "：")) or len(line) > _LEAD:
        return False
    line = _SENTENCE.split(line)[-1].rsplit(";", 1)[-1]
    if _is_known(line[-200:].rstrip(":： ")):
        return True
    lead = Sentence(line, ids)
    return _introduces(lead, (), colon=True) or _heads_no_scores(lead)


def introduces_others_words(line: str, ids: Sequence[str] = (), claimed: Collection[str] = ()) -> bool:
    """Whether the line above an extracted verdict introduces somebody else's words: ``KB ended its answer with``."""
    bare = line.rstrip(_WRAPPING).rstrip("*_")
    colon = bare.endswith((":", "："))
    if not bare or not (bare[-1].isalpha() or colon) or len(bare) > _LEAD:
        return False
    return _introduces(Sentence(_SENTENCE.split(bare)[-1], ids), claimed, colon=colon)


def _heads_no_scores(lead: Sentence) -> bool:
    """Whether a heading announces numbers that are no scores: ``Ranks:``, ``Anzahl der Fehler:``."""
    spans = lead.hits.get("OTHER_NUMBERS", ())
    if not any(start == 1 for start, _ in spans):
        return False
    return all(any(a <= start and end <= b for a, b in spans) for start, end in lead.hits.get("SCORES", ()))


# --- quotation marks, block quotes and tags --- -----------------------------------------------------------------------


def is_in_block_quote(text: str, start: int, ids: Sequence[str] = ()) -> bool:
    """Whether the verdict extracted at ``text[start:]`` is in a block quote, or in tags around a candidate's words.

    A block quote under a heading about scores is the judge's own emphasis and does not count.
    """
    lines = text[max(0, start - _SCAN) : start].split("\n")
    if lines[-1].lstrip().startswith(">"):
        above = next((line for line in reversed(lines) if line.strip() and not line.lstrip().startswith(">")), "")
        lead = Sentence(above[-_LEAD:], ids)
        return not (
            above.rstrip(" *_").endswith((":", "："))
            and lead.has_phrase("JUDGES_OWN", "SCORES")
            and not announces_other_numbers(above, ids)
        )
    return _is_tagged("\n".join(lines), ids) if "<" in text else False


def is_in_quotation_marks(text: str, start: int) -> bool:
    """Whether the verdict extracted at ``text[start:]`` is quoted, as somebody else's: ``It says "Verdict: yes"``."""
    line = text[text.rfind("\n", 0, start) + 1 : start][-_LEAD:]
    opened = line.count('"') % 2 == 1
    return opened and is_others_verdict(line[: line.rfind('"')])


def words_before_fence(text: str, start: int, floor: int) -> str:
    """Extract the words before the code fence around the verdict at ``text[start:]``, unless the verdict begins it."""
    if text.count("```", 0, start) % 2 == 0:
        return ""
    fence = text.rfind("```", 0, start)
    inside = text[fence:start].split("\n", 1)
    if len(inside) < 2 or not inside[1].strip():  # the fence begins with the verdict itself
        return ""
    return text[max(floor, fence - 200) : fence]


def _is_tagged(text: str, ids: Sequence[str]) -> bool:
    opened: list[tuple[str, bool]] = []
    for tag in _TAG.finditer(text):
        name = tag["name"].casefold()
        if tag["slash"]:
            while opened and opened.pop()[0] != name:
                pass
        elif not tag["rest"].endswith("/"):
            words = set(re.findall(r"[^\W_]+", f"{tag['name']} {tag['rest']}"))
            opened.append((name, name in _FOREIGN_TAGS or not words.isdisjoint(ids)))
    return any(foreign for _, foreign in opened)


_WRAPPING = "`~ \r\n\t\"'“「"
_LEAD = 400
"""At most this many characters are the sentence that introduces a verdict."""
_POINTERS = frozenset(
    [
        "with",
        "this",
        "that",
        "the",
        "following",
        "as",
        "follows",
        "here",
        "json",
        "by",
        "in",
        "it",
        "its",
        "answer",
        "verdict",
        "scores",
        "mit",
        "dies",
        "folgendes",
        "das",
        "so",
        "con",
        "esto",
        "lo",
        "siguiente",
        "que",
        "avec",
        "ceci",
        "cela",
        "suivant",
        "com",
        "isto",
        "seguinte",
        "questo",
        "quanto",
        "segue",
        "так",
        "это",
        "следующее",
        "met",
        "dit",
        "het",
        "volgende",
    ]
)
"""Words that may follow the last verb of an introduction without a colon: ``ended its answer with``."""
_SCAN = 4_000
"""The number of characters before a verdict that are searched for the start of its quotation."""
_LANGUAGE = re.compile(
    r"(?:(?<=`)|(?<=~)|(?<=\n)|\A)(?:json|jsonc|json5|text|txt|yaml|plaintext|javascript|python)\Z", re.IGNORECASE
)
_TAGS = re.compile(r"(?:\s{0,20}</?[A-Za-z][^<>]{0,80}>){1,6}\s{0,20}\Z")
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z_][\w.:-]{0,40})(?P<rest>[^<>]{0,120})>")
_FOREIGN_TAGS = frozenset(
    [
        "candidate",
        "trajectory",
        "blockquote",
        "quote",
        "q",
        "cite",
        "transcript",
        "conversation",
        "tool_output",
        "tool_result",
        "tool",
        "user",
        "message",
        "document",
        "rollout",
        "attempt",
        "submission",
        "context",
        "prompt",
        "input",
        "example",
        "injected",
        "injection",
    ]
)
