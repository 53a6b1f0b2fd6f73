"""Finds which candidate each sentence of a judge's reply prefers, in the judge's own voice.

Sentences are read independently; ``choice`` decides which of several claims is the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from calipers.replies.caveats.denials import denies_preference
from calipers.replies.caveats.mentions import (
    is_denied_by_next_clause,
    is_introduced_as_mention,
    is_reported_claim,
    is_topic_of_sentence,
)
from calipers.replies.compare.references import (
    ACTORS,
    ANY,
    CANDIDATE,
    DEBATER,
    FIRST,
    HAN_NOUNS,
    NOUNS,
    THINGS,
    is_debate,
    mask_references,
)
from calipers.replies.sentences import CONCLUDING, CORRECTING, Sentence, blank_quotations

TIE = -1
"""The claim that the candidates are tied."""
NEITHER = -2
"""The claim that no candidate deserves the preference, which need not be a tie."""
EQUAL = -3
"""The claim that all candidates are equally good, which is a tie if the prompt offered one."""

Strength = Literal["weak", "strong"]

_MOST_MENTIONS = 24
"""At most this many candidates are named in one sentence. More names are a repetition loop."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A preference stated in one sentence of a reply.

    ``who`` is preferred (a label's position, TIE, NEITHER or EQUAL), and ``at`` is the position in the text. A ``weak``
    claim only implies a preference ("gives a clearer answer"). ``concluding``: the sentence draws a conclusion.
    ``correcting``: the sentence takes back an earlier statement.
    """

    who: int
    at: int
    strength: Strength
    concluding: bool = False
    correcting: bool = False


# --- phrases, on masked sentences -------------------------------------------------------------------------------------

_WHO = f"(?P<who>{CANDIDATE})"
_NOT = r"(?P<not>\s+not|n't|\s+hardly|\s+neither)?"
_FILLERS = (
    r"(?:[\s,]+(?:the|a|an|to be|as|overall|much|far|by far|still|also|just|even|somewhat|more or less|indeed|"
    r"therefore|thus|hence|now|then|our|my|your|considered|deemed|judged|regarded|seen|chosen|selected|ranked|rated|clear|obvious|"
    r"definite|moderately|both|all|one|\w+ly)){0,6}[\s,]+"
)
_IS = (
    r"(?:is|was|are|were|seems|appears|emerges|remains|stands out|comes out|can be|should be|must be|has to be|"
    r"would be|will be|being|ranks?|to be|as)"
)
_BETTER = (
    r"(?:better|best|superior|preferable|preferred|stronger|strongest|winner|winning|favou?red|favou?rite|"
    r"my (?:choice|pick|preference)|(?:selected|chosen)(?! as))"
)
_WORSE = r"(?:worse|worst|inferior|weaker|weakest|loser)"
_KIND = rf"(?:{NOUNS}|one|pick|performer|alternative|of the (?:two|{NOUNS}s))"
# After *better*, these words limit the preference to one aspect.
_WHOLLY = (
    r"(?!\s*(?:in (?:terms|regards?|this (?:regard|respect|aspect))|with (?:regards?|respect)|when it comes|regarding|"
    r"organi[sz]ed|written|structured|formatted|suited|at (?!\w+ing the (?:instruction|task))|on the|if |when |"
    r"understanding|quality|explanation of|grasp|sense|formatted|known|at grammar|(?:in )?\w+ only|only in|"
    r"than (?:nothing|neither|i\b|we\b|it\b|before|expected|usual|average|most|many|ever|last)))"
)
_UPTO = rf"[^.;:!?{ANY}]"


_HEDGE = r"(?P<hedge>(?:may|might|could|would have|can)\b[\s\w]{0,30}?\s)?"


@cache
def _strong() -> tuple[re.Pattern[str], ...]:
    better = rf"{_NOT}{_FILLERS}{_BETTER}\b{_WHOLLY}"
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"{_WHO}[\s,]*(?:\([^()]{{0,80}}\)[\s,]*)?{_HEDGE}(?:and |but )?(?:{_IS}|'s){better}",
            rf"{_WHO}[^.,;:!?{ANY}]{{1,90}}?\band (?:so |thus |therefore |hence )?(?:is|was){better}",
            (
                rf"{_WHO}(?P<than>{_UPTO}{{1,200}}?)\b(?:better|superior|preferable)(?: \w+){{0,2}} "
                rf"(?:than|to|compared (?:to|with)) (?:the )?{CANDIDATE}"
            ),
            rf"{_WHO}[\s,]*{_IS}{_NOT}{_FILLERS}(?:more|most) [\w-]+(?: (?:and|or|,) [\w-]+)? {_KIND}\b",
            (
                rf"{_WHO}\s+(?:\w+ly\s+|still\s+|also\s+){{0,3}}"
                rf"(?:outperforms?|beats?|surpass(?:es)?|outshines?|outdoes|edges? out|wins?\b|"
                r"trumps|excels over|prevails|> {0,2}|takes the (?:lead|win|edge))(?!\s+(?:nothing|only)\b)"
            ),
            (
                rf"(?:{_BETTER}|winning)(?:\s+(?:and \w+ )?(?:{_KIND}|{THINGS}|{ACTORS}))?{_UPTO}{{0,80}}?\s"
                r"(?P<not>is not|isn't)?(?:is|was|would be|will be|has to be|must be|goes to|:)[\s:]{1,3}"
                rf"(?:clearly |overall |indeed |therefore )?{_WHO}"
            ),
            (
                r"\b(?:i|we)(?:'ll|'d)?(?: \w+ly)?(?: would| will| have| must| do)?(?: \w+ly)? "
                rf"(?:prefer|cho+se|chosen|select(?:ed)?|pick(?:ed)?|favou?r(?:ed)?|go(?:ing)? with|"
                rf"vote for|opt for|side with|recommend)\s+{_WHO}"
            ),
            (
                rf"\b(?:i|we)\b[\w' ]{{0,20}}? (?:rate|rank|score|place|put) {_WHO} "
                r"(?:as )?(?:slightly |much )?(?:higher|better|first|above)\b"
            ),
            (
                r"(?<!'s )\b(?:choice|verdict|(?:my|final) answer|pick|decision|preference|selection|winner|vote)\s+"
                rf"(?:is|goes to|would be|for)[\s:]+(?:that )?{_WHO}"
            ),
            (
                rf"\b(?:choice|verdict|pick|preference|selection|winner|vote)\b[*_]{{0,3}}\s?:\s{{0,3}}{_WHO}"
                r"\s{0,2}(?=$|[.,;!(\n*]|is\b|because\b)"
            ),
            (
                rf"{_WHO}(?:的质量|的表现|整体|总体|在整体上)?(?:是|要|会|显然|明显|确实)?(?P<not>不|没有|并不)?"
                r"(?:更好|更优|更佳|较好|更胜一筹|胜出|优于|好于|更出色|是更好的|最好|获胜)"
            ),
            rf"(?:我(?:会|更)?(?:选择|倾向于?|认为(?:更好的)?是)|更好的(?:{HAN_NOUNS})?是|胜者是?|选)[:\s]{{0,3}}{_WHO}",
        )
    )


@cache
def _weak() -> re.Pattern[str]:
    return re.compile(
        rf"{_WHO}[\s,]*(?:\w+ly\s+|also\s+|still\s+){{0,3}}(?P<not>(?:does|did) not\s+|doesn't\s+|not\s+)?(?:"
        rf"(?:\w+(?:s|ed|ing)\s+)?(?:a |an |the |\w+ly ){{0,4}}better\b|"
        rf"(?:is|was|provid\w+|offer\w+|giv\w+|present\w+|has|had|demonstrat\w+)\s+"
        rf"(?:an? |the |\w+ly |much |far |slightly ){{0,4}}(?:more|most|greater|clearer|stronger|superior|deeper)\b|"
        rf"(?:is|was) the (?:correct|right) (?:one|choice|pick|option)\b|(?:more|most) (?:\w+ly|\w+) \w+s\b)",
        re.IGNORECASE,
    )


@cache
def _loses() -> re.Pattern[str]:
    return re.compile(
        rf"{_WHO}[\s,]*(?:(?:{_IS}|'s){_NOT}{_FILLERS}{_WORSE}\b|"
        rf"(?:is|was)(?:n't| not) (?:quite |nearly )?as \w+ as (?={CANDIDATE})|"
        rf"(?:is|was) less [\w-]+ than (?={CANDIDATE})|"
        rf"(?:\w+ly )?(?:loses to|falls behind|is outperformed by|is surpassed by)\b)",
        re.IGNORECASE,
    )


_NEITHER = re.compile(
    r"\bneither\b[^.;!?]{0,120}?\b(?:better|best|superior|prefer\w*|winner|wins?|cho+s\w+|select\w*)\b|"
    r"\bno (?:clear |obvious |real )?(?:winner|preference)\b|"
    r"\bi (?:cannot|can't|can not|am unable to|won't|will not|refuse to)\s+(?:\w+ly\s+)?"
    r"(?:choose|select|decide|pick|rank|prefer|say which|determine which|judge which)|"
    r"\b(?:cannot|can't|impossible to|not possible to|difficult to|hard to) (?:\w+ly )?"
    r"(?:choose|select|decide|pick|say|determine|judge) (?:between|which|either|a winner|one over)|"
    r"都不好|无法(?:判断|选择)哪",
    re.IGNORECASE,
)
_TIED = re.compile(
    r"\b(?:it'?s?|this|that|verdict|result|comparison|outcome|match)\s*"
    r"(?:is|as|:|would be|ends in|results in)?\s*(?:an? )?(?:exact |clear )?(?:tie|draw)\b|"
    r"\b(?:declare|call|consider|rate|judge|for|end(?:s|ed)? in|result(?:s|ing)? in)\s+"
    r"(?:it |this |them |both ){0,2}(?:an? )(?:tie|draw)\b|\b(?:are|were) tied\b|平局|平手",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    rf"\b(?:both|two|they|{CANDIDATE} and {CANDIDATE})\b[^.;!?]{{0,60}}?"
    r"\b(?:are|were|is|have|seem|perform\w*|rate\w*)\b[^.;!?]{0,20}?"
    r"\b(?:equally (?:good|well|helpful|valid|strong|effective|matched)|on par|equal\b(?! to)|"
    r"of (?:equal|the same|similar|comparable) quality|indistinguishable)|不相上下|一样好|同样好",
    re.IGNORECASE,
)
_CUE = re.compile(
    rf"{_BETTER}|{_WORSE}|prefer|cho+s|select|pick|favou?r|go(?:ing)? with|opt|side with|recommend|outperform|beat|"
    r"surpass|out(?:shin|do)|edge|win|trump|choice|selection|rate|rank|score|place|put|correct|right|less|not as|excel|"
    r"prevail|>|lead|verdict|answer|decision|preference|vote|conclusion|judg|more|most|greater|clearer|deeper|lose|"
    r"falls behind|neither|no |can|tie|draw|equal|par\b|same|quality|indist|[\u4e00-\u9fff]",
    re.IGNORECASE,
)

# --- words of others, and conditions ----------------------------------------------------------------------------------


@cache
def _reported() -> re.Pattern[str]:
    return re.compile(
        rf"(?:{DEBATER}|\b(?:the )?"
        r"(?:user|evaluation|reviewer|evaluator|judge|critic|someone|some|others|they|people|one)\b)[^.;]{0,60}?"
        r"\b(?:argu\w+|claim\w*|stat\w+|suggest\w*|believ\w+|think\w*|sa(?:y|ys|id)|assert\w*|conclud\w+|contend\w*|"
        r"evaluat\w+|acknowledg\w+|mention\w*|consider\w*|find\w*|maintain\w*|point\w* out|prefer\w*|cho+se\w*|"
        rf"feel\w*|rate\w*|might|could|may)\b|\baccording to\b|\bin {DEBATER}'s\b",
        re.IGNORECASE,
    )


_AGREED = re.compile(r"\b(?:i|we)(?: \w+ly)? (?:agree|concur|side|am inclined|find|believe|conclude)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"(?<!even )(?<!as )\b(?:if|unless|whether|assuming|suppos\w+|had (?:it|they|the)|were (?:it|they) to|"
    r"depend(?:s|ing) on|imagine|which (?:one )?(?:is|of))\b|如果|假如|是否",
    re.IGNORECASE,
)
_CONDITIONAL_CLAUSE = re.compile(r"(?:if|unless|had|assuming|suppos|如果|假如)", re.IGNORECASE)
_AFTER_IF = re.compile(r"^[^,;]{0,40}?\b(?P<cue>if|when|unless|provided that|assuming)\b", re.IGNORECASE)
_OR_OTHER = re.compile(
    rf"[\s,(\])*\"'.…-]{{0,6}}\b(?:or|and/or)\s+(?:(?:rather|maybe|perhaps|possibly|actually)\s+)?{CANDIDATE}",
    re.IGNORECASE,
)
_UNTRUE = re.compile(
    r"[\s\"')*]{0,4}(?:(?:is|was|would be|seems) (?:\w+ly )?"
    r"(?:false|untrue|wrong|incorrect|not (?:true|so|right)|doubtful|debatable)\b"
    r"|[:(,]\s?(?:false|wrong|not(?: true| so| really)?)\s?[.!)])",
    re.IGNORECASE,
)
_FORMER = re.compile(
    r"\b(?:at first|initially|originally|(?:my|our|the) (?:first|initial) (?:\w+ )?(?:was|is)|on (?:a )?first|"
    r"almost|nearly|was going to)\b(?:(?!\bbut\b|\bnow\b)[^.;])*$",
    re.IGNORECASE,
)
_HARDLY = re.compile(r"\b(?:hardly|scarcely|barely|by no means)\b", re.IGNORECASE)
_REASONS = re.compile(r"\b(?:because|since|as|due to|by|which|while|whereas|although|but|however)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|no|never|nor|neither|hardly)\b|n't\b", re.IGNORECASE)


def find_claims(parts: Sequence[Sentence], labels: tuple[str, ...]) -> list[Claim]:
    """Extract the preferences that a reply's sentences claim, in order, without quotations, reports and conditions."""
    debated = is_debate(" ".join(part.text for part in parts))
    found: list[Claim] = []
    for part in parts:
        if part.text.endswith("?") or not _CUE.search(part.text):
            continue
        text = mask_references(blank_quotations(part.text), labels, debated=debated)
        if len(re.findall(CANDIDATE, text)) <= _MOST_MENTIONS:
            found += _of_sentence(text, part, len(labels))
    return found


def concluded_labels(found: Sequence[Claim]) -> set[int]:
    """Return the labels of the candidates that the extracted claims of concluding sentences plainly prefer."""
    return {claim.who for claim in found if claim.strength == "strong" and claim.concluding and claim.who >= 0}


def _of_sentence(text: str, part: Sentence, count: int) -> list[Claim]:
    concluding, correcting = bool(CONCLUDING.search(text)), bool(CORRECTING.search(text[:30]))

    def claim(who: int, match: re.Match[str], strength: Strength) -> Claim:
        return Claim(who, part.start + match.start(), strength, concluding, correcting)

    found = [claim(_place(match), match, "strong") for match in _preferences(text)]
    for who, pattern in ((NEITHER, _NEITHER), (TIE, _TIED), (EQUAL, _EQUAL)):
        match = pattern.search(text)
        if match is None or _foreign(text, match) or (who != NEITHER and _DENIAL.search(match[0])):
            continue
        if not any(one.at > part.start + match.start() for one in found if one.who >= 0):
            found = [one for one in found if one.who < 0 or who == EQUAL] + [claim(who, match, "strong")]
    if not found:
        weak = [match for match in _weak().finditer(text) if _is_claim(text, match)]
        found = [claim(_place(match), match, "weak") for match in weak]
        if count == 2:
            worse = [match for match in _loses().finditer(text) if _is_claim(text, match)]
            found += [claim(1 - _place(match), match, "weak") for match in worse]
    return sorted((one for one in found if one.who < count), key=lambda one: one.at)


def _is_claim(text: str, match: re.Match[str]) -> bool:
    before, after = text[: match.start()], text[match.end() :]
    if match[0].casefold().endswith("better") and not re.match(_WHOLLY, after, re.IGNORECASE):
        return False
    if match["not"] or _HARDLY.search(match[0]):
        return False
    return not _foreign(text, match) and not denies_preference(before)


def _place(match: re.Match[str]) -> int:
    return ord(match["who"]) - FIRST


def _preferences(text: str) -> list[re.Match[str]]:
    """Return the phrases that plainly prefer one candidate and are not denied, hedged or somebody else's."""
    found = []
    for match in (match for pattern in _strong() for match in pattern.finditer(text)):
        groups = match.groupdict()
        if groups.get("not") or groups.get("hedge") or _DENIAL.search(groups.get("than") or ""):
            continue
        if not denies_preference(text[: match.start()]) and not _foreign(text, match):
            found.append(match)
    return found


def _foreign(text: str, match: re.Match[str]) -> bool:
    """Whether the words around a claim show that it is conditional, outdated, untrue or somebody else's."""
    before, after = text[: match.start()], text[match.end() : match.end() + 60]
    if _mentioned(text, match):
        return True
    if _OR_OTHER.match(after) or _UNTRUE.match(after) or _FORMER.search(before):
        return True
    clause = before[max(before.rfind(";"), before.rfind(":")) + 1 :]
    condition = _last(_CONDITION, clause)
    if condition is not None:
        between = clause[condition.end() :]
        if _CONDITIONAL_CLAUSE.match(condition[0]) or not ("," in between or _REASONS.search(between)):
            return True
    later = _AFTER_IF.search(after)
    if later is not None and not _REASONS.search(after[: later.start("cue")]):
        return True
    reported = _last(_reported(), before)
    return reported is not None and not _AGREED.search(before)


_OF_ITSELF = re.compile(
    rf"{CANDIDATE}\s(?:\w+ly\s)?(?:says?|said|claims?|asserts?|insists?|states?|argues?|believes?|boasts?|pretends?|thinks?)"
    r"\s(?:that\s)?(?:it|itself|its|he|she|they|to be)\b",
    re.IGNORECASE,
)
_SAID_AFTER = re.compile(r"[\s\"',-]{0,4}(?:says?|said|claims?|claimed|insists?|according to)\b", re.IGNORECASE)


def _mentioned(text: str, match: re.Match[str]) -> bool:
    """Whether a claim is a candidate's praise of itself, or a verdict that is only mentioned."""
    before, after = text[: match.start()], text[match.end() :]
    if (
        _OF_ITSELF.search(text[max(0, match.start() - 80) : match.end()])
        or _SAID_AFTER.match(after)
        or is_topic_of_sentence(after)
    ):
        return True
    if is_reported_claim(_since_but(before) + text[match.start() :]) or is_introduced_as_mention(
        _shown(before), _shown(match[0])
    ):
        return True
    return ":" in match[0] and is_denied_by_next_clause(before, _shown(after))


def _since_but(before: str) -> str:
    """Return the words between the last *but* and a claim, because *but* contradicts the words before it."""
    return re.split(r"\b(?:but|however|still|yet)\b", before, flags=re.IGNORECASE)[-1]


def _shown(text: str) -> str:
    """Replace the mask of each candidate by a letter, because the word lists expect a name."""
    return re.sub(f"[{ANY}]", " A ", text)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found
