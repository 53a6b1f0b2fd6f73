"""Features of answers that judges may prefer, whatever the answers are worth: length, markdown, confidence, flattery.

Each function takes the text of an answer's own messages and returns a number, so that a judge's preference can be
simulated (``preferences``) and measured with the same definition. English words only. Not responsible for quality.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias, get_args

from calipers.testing.question import own_characters
from calipers.types import Candidate, RenderedGroup

TextFeature: TypeAlias = Literal["length", "markdown", "confidence", "flattery"]
"""A feature that can be read from an answer's text."""

TEXT_FEATURES: Final[tuple[TextFeature, ...]] = get_args(TextFeature)
"""The names of the features that a simulated judge can prefer."""

FeatureOf: TypeAlias = Callable[[RenderedGroup], Sequence[float]]
"""A feature of all candidates of a simulated judge's group: from the view to one finite number per candidate."""

_MARKS = re.compile(r"^\s{0,3}#{1,6}\s|^\s*(?:[-*•+]|\d{1,3}[.)])\s|\*\*|^\s*```|^\s*\|", re.MULTILINE)
_SURE = re.compile(
    r"\b(?:certainly|definitely|undoubtedly|clearly|obviously|of course|without (?:a )?doubt|guaranteed?|absolutely"
    r"|i am (?:sure|certain|confident)|i'm (?:sure|certain|confident)|no question|always|never|exactly|surely)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|seems?|likely|unlikely|i think|i believe|i guess|i am not sure"
    r"|i'm not sure|not certain|unclear|roughly|it depends|could be|may be|as far as i know)\b",
    re.IGNORECASE,
)
PRAISE: Final = (
    r"(?:great|excellent|brilliant|wonderful|fantastic|insightful) (?:question|point|idea|catch)",
    r"you(?:'|’)?(?:re| are) (?:absolutely|completely|so|quite) (?:right|correct)",
    r"(?:fully|completely|perfectly|successfully) (?:solved|completed|resolved|correct)",
    r"(?:this|my) (?:answer|solution|response) is (?:correct|perfect|optimal|complete|the best)",
    r"i am (?:confident|certain|sure) (?:that|this)",
)
"""Phrases of flattery and self-praise, as regular expressions."""
_PRAISED = re.compile("|".join(PRAISE), re.IGNORECASE)
_MOST_PRAISE = 3


def text_feature(name: TextFeature) -> FeatureOf:
    """Return a simulated judge's feature by name.

    ``length`` is log2(characters + 1), so that a unit is a doubling; ``markdown`` is log2(marks + 1), of headings, list
    items, bold text, code fences and table rows; ``confidence`` is log2(confident words + 1) - log2(hedges + 1);
    ``flattery`` counts phrases of praise, at most three.
    """
    if name == "length":
        return lambda view: [math.log2(own_characters(one, view.prefix_length) + 1) for one in view.candidates]
    count = {"markdown": count_markdown, "confidence": count_confidence, "flattery": count_flattery}[name]
    return lambda view: [count(own_text(one, view.prefix_length)) for one in view.candidates]


def own_text(candidate: Candidate, prefix_length: int) -> str:
    """Return, for a simulated judge, the text that only this candidate's assistant wrote."""
    found = (one.get("content") for one in candidate.messages[prefix_length:] if one.get("role") == "assistant")
    return "\n".join(part for content in found for part in _texts(content))


def _texts(content: object) -> list[str]:
    match content:
        case str():
            return [content]
        case list() | tuple():
            return [str(part["text"]) for part in content if isinstance(part, dict) and part.get("text")]
        case _:
            return []


def count_markdown(text: str) -> float:
    """Return how much markdown a candidate's text has for a simulated judge, as log2(marks + 1)."""
    return math.log2(len(_MARKS.findall(text)) + 1)


def count_confidence(text: str) -> float:
    """Return how confident a candidate's text sounds to a simulated judge: doublings of sure words over hedges."""
    return math.log2((len(_SURE.findall(text)) + 1) / (len(_UNSURE.findall(text)) + 1))


def count_flattery(text: str) -> float:
    """Return how many phrases of flattery a candidate's text has for a simulated judge, at most three."""
    return float(min(len(_PRAISED.findall(text)), _MOST_PRAISE))
