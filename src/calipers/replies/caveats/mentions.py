"""Decides whether a sentence gives a verdict or only mentions it, by the words right before and after the verdict.

These checks are for marks, orders and preferences in prose, and can only lead to a rejection. ``quotations`` makes the
same check for scores. Later sentences are read by ``retractions`` and ``denials``. The phrases are lists in ``words``.
"""

from __future__ import annotations

import re

from calipers.replies.caveats.phrases import Span, find_phrases, fold_words

_NEAR = 200
_LINKS = r"\b(?:so|thus|therefore|hence|but|and|because|since|yet|while|whereas|though|although|however)\b"
_BREAK = re.compile(rf"[.!?](?=\s)|[,;。！？；，、\n]|\s[-–—]+\s|{_LINKS}", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s|\Z)|[;。！？；\n]")
_SIGNS = " \t\"'*_`~#<>-–—:：([{（「『【]})）」』】.,!…"
_COPULA = re.compile(
    r"(?:was|were|has been|had been|would|could|might|may|should|cannot|can't|can|means?|occurs|appears|stands"
    r"|comes)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"(?:is|are|isn't|ist|est|es|è|é|jest)\b", re.IGNORECASE)
_VERDICT = r"(?:verdict|answer|choice|winner|pick|decision|result|conclusion|ranking|order)"
_OWNED = re.compile(
    rf"\b(?:my|our|the (?:final |correct |overall )?{_VERDICT}|"
    r"better|best|superior|preferred|preferable|stronger|winner|wins)\b",
    re.IGNORECASE,
)
_SPOKEN_OF = re.compile(
    r"[\s\"')*]{0,4}(?:than \S{1,20}\s)?"
    r"(?:is|was|would be|seems|cannot|can't|has been|remains|sounds|would|might be)\s(?!\s*\Z)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![A-Za-z0-9_'])(?:[A-Z]|\d{1,2})(?![A-Za-z0-9_])")
_QUOTING = re.compile(
    r"(?:\A|[\n.!?])[\s*#_-]{0,6}(?:[A-Za-z]{4,12}\s)?(?:[A-Z]|\d{1,2})\**\s?[:：]\s?[\"'“「`]\s?\Z"
    r"|(?:[A-Z]|\d{1,2})\s?['’]s\s(?:\w+\s){0,3}(?:lines?|text|sentence|ending|words|paragraph|part|note|claim|message|output|reply|"
    r"answer|response)\s?[:：]\s{0,3}\Z"
    r"|(?:[A-Z]|\d{1,2})\s{1,3}(?:last|final|closing|own|first)\s(?:lines?|sentence|words|paragraph|message)\s?[:：]\s{0,3}\Z"
    r"|<(?:response|answer|candidate|assistant|output|model)[_ -]\w{1,3}>[^<]{0,160}\Z"
    r"|(?<!\bI )(?<!\b[Ww]e )\b(?:asserts|asserted|believes|argues|states|says|said|insists|thinks|maintains|boasts)"
    r"(?:\sthat)?(?:\s(?:the|its|this|his|her|their))?\s\Z"
    r"|\b[Aa]ny(?:thing|one) but\s{1,3}\Z|\b[Ee]verything but\s{1,3}\Z"
)
"""Words that introduce a candidate's own words: ``Response A: "``, ``B's last line:``, ``<response_a>``."""
_ALONE = frozenset(["example", "an example", "sample", "template", "draft", "a draft", "test"])
_WORST = re.compile(
    r"(?<!\bto )\b(?:worse|worst|weaker|weakest|loser|losing|inferior|rejected|eliminated|poorer|poorest|least \w+)"
    r"(?:\s+(?:one|response|answer|output|assistant|model|candidate|option|choice|of the two))?"
    r"\s*(?:is|was|would be)?[\s:*_]*\Z",
    re.IGNORECASE,
)


_OF_THE_VERDICT = ("ONLY_EXAMPLE", "DRAFT", "HEARSAY", "INJECTED", "ANOTHER_JUDGE")


def is_only_mentioned(before: str, own: str, after: str) -> bool:
    """Whether the words ``before`` and ``after`` an extracted verdict, and its ``own`` words, only mention it.

    Only the last clause before the verdict and the first clause after it count, because a clause beyond a comma, a *so*
    or a *because* is reasoning.
    """
    return is_introduced_as_mention(before, own) or is_denied_by_next_clause(before, after)


def is_topic_of_sentence(after: str) -> bool:
    """Whether an extracted preference is its sentence's topic: ``(that A is better) is a claim I cannot support``."""
    return _SPOKEN_OF.match(after) is not None


def ranks_by_other_quantity(before: str, after: str) -> bool:
    """Whether the words around an extracted order say that it ranks by something other than quality: ``By length:``."""
    lead, rest = fold_words(_clause_before(before[-_NEAR:])), fold_words(after[:40])
    return any(start <= 5 for words in (lead, rest) for start, _ in find_phrases(words).get("OTHER_ORDER", ()))


def is_reported_claim(sentence: str) -> bool:
    """Whether a sentence presents the extracted verdict as somebody else's claim or as a mere thought."""
    return "HEARSAY" in find_phrases(fold_words(sentence[-2 * _NEAR :]))


def is_introduced_as_mention(before: str, own: str) -> bool:
    """Whether the words before an extracted verdict only mention it: as a draft, as somebody else's, or as not given.

    ``own`` are the verdict's own words, which are searched too.
    """
    if _QUOTING.search(before[-_NEAR:]):
        return True
    lead = _clause_before(before[-_NEAR:])
    if not lead and len(own) < 12:
        return False
    if _WORST.search(lead):
        return True
    words = fold_words(f"{lead} {own}"[-_NEAR:])
    found = find_phrases(words)
    given = max((start for start, _ in found.get("JUDGES_OWN", ()) if start < len(fold_words(lead))), default=0)
    cues = [
        start
        for kind in ("ANOTHER_JUDGE", "NOT_GIVEN", "ONLY_EXAMPLE", "INJECTED", "HEARSAY")
        for start, _ in found.get(kind, ())
    ]
    cues += [start for start, _ in found.get("CONDITION", ()) if start == 1]
    cues += [start for start, end in found.get("DRAFT", ()) if end - start > 1]
    return any(start > given for start in (*cues, *_said(lead, found)))


def _said(lead: str, found: dict[str, list[Span]]) -> list[int]:
    """Return the positions of verbs that attribute the verdict to a candidate: ``Response A ends with``."""
    named = found.get("CANDIDATES", ())
    says = [one for one in found.get("SAYS", ()) if not any(one[0] < end and start < one[1] for start, end in named)]
    return [start for start, _ in says if _NAME.search(lead) or any(end <= start for _, end in named)]


def _clause_before(before: str) -> str:
    """Return the last non-empty clause before a verdict, in its sentence or in a line above that ends in a colon."""
    line = (
        before.rstrip(_SIGNS.replace(".", "").replace("!", "") + "\n")
        if before.rstrip(" \t`\n").endswith(":")
        else before
    )
    said = _SENTENCE.split(line)[-1]
    breaks = list(_BREAK.finditer(said))
    end = len(said)
    for found in reversed(breaks):
        piece = said[found.end() : end].strip(_SIGNS)
        if piece or found[0][0].isalpha():  # a link such as *because* starts a new clause
            return piece
        end = found.start()
    return said[:end].strip(_SIGNS)


def is_denied_by_next_clause(before: str, after: str) -> bool:
    """Whether the clause right after an extracted verdict says that it is no verdict: ``(placeholder)``, ``is out of
    the question``.
    """
    rest = after[:_NEAR].split("\n", 1)[0].lstrip(_SIGNS.replace(".", "").replace("!", ""))
    clause = _BREAK.split(rest, maxsplit=1)[0]
    if not any(map(str.isalnum, clause)):
        return False
    if _COPULA.match(clause) or (_IS.match(clause) and not _OWNED.search(clause)):
        return True
    if fold_words(clause).strip() in _ALONE:
        return True
    found = find_phrases(fold_words(clause))
    others = _NAME.search(clause) is not None  # a remark about a candidate does not cancel the verdict
    kinds = _OF_THE_VERDICT if others else (*_OF_THE_VERDICT, "MEANINGLESS", "DISCARD")
    if not found.keys().isdisjoint(kinds):
        return True
    return (
        not clause.isascii()
        and ("SAYS" in found or "NOT_GIVEN" in found)
        and bool(_NAME.search(_clause_before(before[-_NEAR:])))
    )
