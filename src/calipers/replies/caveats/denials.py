"""Recognises words that cancel a preference: denials and other people's words before it, and retractions after it.

These checks can only lead to a rejection. ``references`` and ``claims`` read which candidate a sentence prefers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from calipers.replies.caveats.retractions import takes_score_back, why_taken_back


def _any(phrases: Sequence[str]) -> str:
    return f"(?:{'|'.join(phrases)})"


_NOT = (
    r"\bnot", "n't", r"\bnever", r"\bcannot", r"\bhardly", r"\bscarcely", r"\bbarely", r"\bnobody", r"\bno one",
    r"\bnone", r"\bneither", r"\bnor", "不比", "并不", "並不", "没有比", "不如", "谈不上",
    r"\bfail(?:s|ed)? to", r"\bunable to",
)  # fmt: skip
_OPINIONS = (
    "think", "thought", "believe", "say", "claim", "argue", "agree", "feel", "find", "consider", "see", "conclude",
    "suggest", "mean", "call", "judge", "convinced", "persuaded", "sure", "certain", "clear", "obvious", "evident",
    "true", "correct", "right", "case", "so",
)  # fmt: skip
"""Opinions such as *think*: several words may separate their denial from *that* and the preference."""
_DOUBTING = (
    "doubt(?:s|ed|ful)?", "unlikely", "improbable", "implausible", "untrue", "false", "incorrect", "wrong", "mistaken",
    "inaccurate", "misleading", "unconvinced", "unsure", "uncertain", "unclear", "unproven", "disagree", "deny",
    "denies", "dispute", "reject", "refute", "refuse", "hesitate", "far from", "a (?:mistake|stretch)",
    "(?:hard|difficult|impossible|premature|unfair|too early) to",
    "(?:no|little|nothing) to (?:suggest|show|prove|indicate)",
    "no (?:evidence|reason|sign|indication|proof|basis|way|grounds?)",
)  # fmt: skip
_LINKS = [
    "and",
    "but",
    "so",
    "while",
    "whereas",
    "because",
    "since",
    "therefore",
    "thus",
    "hence",
    "yet",
    "making",
    "although",
    "though",
]
_CLAUSE = rf"(?:(?!\b{_any(_LINKS)}\b)[^.,;:!?\ue000-\ue0ff])"
_DENIED = re.compile(
    rf"{_any(_NOT)}(?:\b|(?<=[\u4e00-\u9fff]))[^,;:，；]{{0,40}}$"
    rf"|{_any(_NOT)}\s+(?:\w+\s+){{0,3}}?{_any(_OPINIONS)}\b[^.;]{{0,160}}\bthat\s*$"
    rf"|\b{_any(_DOUBTING)}\b{_CLAUSE}{{0,60}}$",
    re.IGNORECASE,
)
_DOUBLE = re.compile(
    r"\b(?:no|without(?: a| any)?|not(?: a)?|beyond(?: a| any| all)?|little|never|cannot|don't|can't|hardly)\s+"
    r"(?:\w+ly\s+|reasonable\s+|real\s+)?(?:doubt|question|hesitat\w+|den(?:y|ies)|dispute|disagree|wrong|incorrect|false|"
    r"unclear|unlikely|mistaken|help but|hard to)\b|\bnot only\b|\bif not\b",
    re.IGNORECASE,
)
"""Double denials, and words that only look like a denial."""


def denies_preference(before: str) -> bool:
    """Whether words before an extracted preference deny it: *I don't think (that)*, *it is false that*."""
    return _DENIED.search(_DOUBLE.sub(" ", before[-240:])) is not None


_SAYS = r"says?|said|claim(?:s|ed)|writes?|wrote|print(?:s|ed)|state[sd]|insist(?:s|ed)|argue[sd]"
_WOULD_PREFER = (
    r"(?:would|might|could|may) (?:have )?"
    r"(?:pick|chose|choose|say|said|prefer|select|vote for|favou?r|answer|go with)\w{0,3}"
)
_TELLS = r"(?:tells?|asks?|told|asked) (?:me|us|you|the judge|the grader)(?: \w+){1,3}"
_REPORTED = re.compile(
    rf"(?:(?<!\bi )(?<!\bwe )\b(?:{_SAYS}|{_WOULD_PREFER}|wants? (?:me|us|the judge) to \w+|{_TELLS})"
    r"|\balmost \w+|\bgoing to (?:say|pick|choose|write|answer))[\s:,]{1,3}[\"'*(]{0,4}$",
    re.IGNORECASE,
)


def is_attributed_to_others(before: str) -> bool:
    """Whether words right before an extracted verdict call it somebody else's, or one that the judge nearly chose."""
    return _REPORTED.search(before[-80:]) is not None


_VERDICT = r"(?:verdict|answer|choice|judge?ment|label|decision|pick|preference|conclusion|selection|result)"
_WRONG = (
    r"(?:\w+ly\s+|just\s+|only\s+|all\s+)?(?:wrong|incorrect|mistaken|false|untrue|random|arbitrary|reversed|swapped|inverted"
    r"|not (?:right|correct|final|mine|real|serious|true|so)"
    r"|(?:a|an|my) (?:mistake|error|typo|joke|guess|example|placeholder|draft|template|lie|test))\b"
)
_AT_ONCE = (
    r"(?:no|nope|nah)\b\s*(?=[,!;:)–—-]|\Z|\.(?!\s*\d))",
    r"no\s+(?:wait|actually|sorry|it|that's|make)\b",
    r"not(?:\s+(?:really|quite|at all|so|true))?\s*(?=[!.)]|\Z)",
    r"(?:or\s+)?(?:rather|maybe|perhaps)[\s,\"'*(\[]{1,6}(?:not|it|the|[A-Z0-9]\b)",
    r"(?:just\s+)?kidding\b",
    r"jk\b",
    rf"(?:is|was|were|would be|would have been|might be|may be|seems?|looks)\s+{_WRONG}",
    rf"(?<=[:=(])\s?{_WRONG}",
)
"""Retractions right after a verdict: ``A? No``, ``A (no, B)``, ``A... not!``, ``[[A]] is wrong``."""
_TO_CHANGE = (
    r"(?:reconsider|retract|withdraw|revise|correct|change|swap|switch|take (?:that|it|this) back|re-?think|re-?do|fix)"
    r"\b"
)
_I_WILL = r"(?:let me|i (?:need|have|should|must|want) to|i(?:'d| would|'ll| will)?(?: now| hereby| like to| want to)?)"
_THE_VERDICT = rf"(?:this|that|the|my)(?: (?:above|previous|first|last|final|earlier))? {_VERDICT}(?: above)?"
_IS = r"(?:is|was|were|has been|should (?:be|have been|read|say)|would be)"
_SENTENCES = (
    r"actually,?\s+(?:no\b|wait|i\b|it\b|the\b|that|this|[A-Z0-9]\b)",
    r"(?:wait|hold on|oops|never ?mind|(?:just )?kidding|i lied|corrected)\b",
    r"(?:scratch|strike|ignore|forget|disregard|discard|delete|scrap) (?:that|this|it|the|my|all|what|everything)\b",
    r"correction\s*[:.!–—-]",
    r"(?:edit|update|errat\w+|p\.?s\.?|amendment|revised \w+)\s*[:–—-]",
    r"(?:up)?on (?:second thoughts?|(?:further |closer )?(?:reflection|inspection|review|consideration)|re-?\w+)",
    r"(?:my\s+)?(?:bad|apologies|mistake|sorry)\s*[,.!:;–—-]",
    r"not!",
    r"(?:false|wrong|untrue|not true|not so)[.!]",
    rf"{_I_WILL} {_TO_CHANGE}",
    (
        r"i (?:meant|mis\w+|made (?:a|an) (?:mistake|error)|was (?:wrong|mistaken|joking)|changed my"
        r"|(?:have )?(?:confused|mixed|swapped|reversed)|take (?:that|it|this) back"
        r"|got (?:it|that|them) (?:wrong|backwards?))\b"
    ),
    rf"{_THE_VERDICT} {_IS}\s+(?:{_WRONG}|the other\b|not\b|changed\b|[A-Z0-9]\b)",
    rf"(?:this|that|it)(?:'s| is| was) {_WRONG}",
    r"(?:please )?(?:do not|don't) (?:use|count|take|trust|record|rely on) (?:this|that|it|my|the)\b",
    (
        r"i (?:just |simply |only )?(?:picked|chose|guessed|decided|selected)\b[^.\n]{0,30}"
        r"\b(?:at random|randomly|arbitrarily)\b"
    ),
    r"at least (?:that|this|it) (?:is|was) what",
    (
        r"the (?:two )?(?:labels?|letters?|names?|responses?|outputs?) (?:are|were|got|have been)"
        r" (?:swapped|reversed|mixed)"
    ),
)
"""Beginnings of a sentence that takes back the verdict before it."""
_FILLERS = [
    "oh",
    "oops",
    "hm+",
    "ah",
    "but",
    "no",
    "ok",
    "okay",
    "well",
    "and",
    "sorry",
    "please",
    "so",
    "however",
    "note",
    "then",
]
_RETRACTED = re.compile(
    rf"\A[\s\"'*_)\]}}.,;:=!?(\[–—-]{{0,10}}(?:(?:hm+|uh|um|well|oh|ah)[,.!\s…]{{1,4}}){{0,2}}{_any(_AT_ONCE)}"
    rf"|(?:\A|[.!?…\n)\]])[\s*_>#(\[–—-]{{0,8}}(?:{_any(_FILLERS)}[,:]?\s+){{0,2}}{_any(_SENTENCES)}",
    re.IGNORECASE,
)


def is_verdict_retracted(after: str) -> bool:
    """Whether the words after an extracted verdict retract it: *no, wait*, *scratch that*, *this verdict is wrong*."""
    return _RETRACTED.search(after[:4096]) is not None or takes_score_back(after[:4096])


_REMARK = 200
"""At most this many characters are a remark. A longer text explains a verdict and discusses the candidates' words."""


def is_choice_withdrawn(after: str, labels: Sequence[str] = ()) -> bool:
    """Whether the words after an extracted choice take it back. Outside English, only a short remark can."""
    return is_verdict_retracted(after) or (len(after) <= _REMARK and why_taken_back(after, labels) is not None)
