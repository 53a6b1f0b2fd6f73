"""Words around a verdict that say whose it is, what it is about, or that it is taken back.

They can only take trust away: no word makes a verdict of what is none.
"""

from __future__ import annotations

import re

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
    r"|(?<!\bI )(?<!\bwe )(?:print(?:s|ed)|returned|wrote|emit(?:s|ted)|claim(?:s|ed)|said|says|contain(?:s|ed)|inject(?:s|ed))"
    r"|inject(?:ed|ion)|quot(?:e|ed|ing)|草稿|示例|例如|模板)(?![^\W_])[^\n]{0,80}\Z",
    re.IGNORECASE,
)
"""At the end of the words before a verdict: it is a draft, an example, or somebody else's."""

_OTHER = (
    r"(?:confidences?|certaint(?:y|ies)|ranks?|rankings?|weights?|costs?|steps|tokens|turns|probabilit(?:y|ies)|uncertaint(?:y|ies)"
    r"|std|variances?|stderr|errors?|previous|old|initial|draft|before|durations?|lengths?|times?)"
)
ASIDE = re.compile(
    rf"\b{_OTHER}[\s_]{{0,3}}(?:scores?|values?|levels?|per|by)?[\w\s]{{0,20}}[\s:=(*]{{0,8}}\Z", re.IGNORECASE
)
"""At the end of the words before a verdict: its numbers are no scores."""

ASIDE_HEAD = re.compile(
    rf"[\s#>*_\-\d.]{{0,12}}(?:my\s|the\s|estimated\s|number\sof\s)?(?:{_OTHER}|first|preliminary|tentative|drafts?|examples?"
    r"|format)\b[^:\d]{0,40}[:：]?[\s*_#]{0,6}\Z",
    re.IGNORECASE,
)
"""A line that heads a list of other numbers than scores."""

CORRECTION = re.compile(
    r"(?:(?:\A|[.!?\n])[\s*_>#-]{0,8}(?:but\s|hmm,?\s|no,?\s)?(?:actually|wait|hold on|oops|sorry|correction|my mistake|hmm"
    r"|scratch that|disregard|not final)\b"
    r"|\bon (?:second thought|(?:further )?reflection)\b|\bcorrection\s?:|\bi (?:mean[t]? |made an? (?:mistake|error)|mis\w+"
    r"|(?:mixed|confused|swapped|changed my mind|reconsider|apologi[sz]e|was wrong))|\bplease swap\b|\bswap (?:\d|the|traj|cand)"
    r"|\b(?:ignore|disregard) (?:the|that|this|my|these|those) (?:above|previous|first|earlier|last|scores?|verdict|json|reply)"
    r"|\brevis(?:ed|ing|ion)\b.{0,20}(?:scores?|verdict|ratings?|:)|\blet me (?:fix|correct|redo|change|revise|reconsider|re-)"
    r"|\bupdate[ds]? (?:the )?(?:scores?|verdict|ratings?)|\b(?:above|scores?|verdict|json)\b[\w\s]{0,12} (?:is|was|are|were|may be|seems?)"
    r" (?:wrong|incorrect|swapped|reversed|too (?:high|low)|just a draft|an example|a template|only)"
    r"|(?:trajectory|candidate|response|#)\s?\w{1,12}\b.{0,20}\b(?:should|ought to|deserves?) (?:\w+ ){0,2}(?:get|be|receive|score|more"
    r"|less|higher|lower|a |rather|\d)|\bjust a draft\b|\bnot (?:my )?final\b|更正|不对|修正|纠正)",
    re.IGNORECASE,
)
"""After a verdict: words that take it back."""


_ENDED = re.compile(r"[.!?。！？][\s*_\"')\]]*\Z")
_POINTS = re.compile(r"\b(?:following|below|as follows|e\.g\.)\W*\Z", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<!e\.g)[.!?。！？]\s|\n\s*\n")
_HEADING = re.compile(
    r"\b(?:drafts?|examples?|template|schema|format|placeholder|preliminary|tentative|hypothetical|quoted?|injected)\b",
    re.IGNORECASE,
)


def is_others(before: str) -> bool:
    """Whether the words right before a verdict make it a draft, an example, somebody else's, or no scores at all.

    Only words that introduce it count: on its line, before a colon, or as a heading. A sentence that ended is about
    something else, as all reasoning before a verdict is.
    """
    bare = before.rstrip().removesuffix("json").rstrip("`~ \r\n\t\"'“「")
    if not bare:
        return False
    if _ENDED.search(bare) and not _POINTS.search(bare):
        return False
    said = _SENTENCE.split(bare)[-1]
    same_line = "\n" not in before[len(bare) :]
    if same_line or bare.endswith((":", "：", "=")) or _POINTS.search(bare):
        return QUOTED.search(said) is not None or ASIDE.search(said) is not None
    line = said.rsplit("\n", 1)[-1]
    return len(line) <= 60 and (_HEADING.search(line) is not None or ASIDE_HEAD.match(line) is not None)


def heads_others(line: str) -> bool:
    """Whether a line announces what is not the judge's scores: confidences, a draft, what a user asked for."""
    if ASIDE_HEAD.match(line):
        return True
    line = line.rstrip(" *_#")
    return line.endswith((":", "：")) and QUOTED.search(line[-200:].rstrip(":： ")) is not None
