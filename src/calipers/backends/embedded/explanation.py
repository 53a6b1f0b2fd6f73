"""Writes the embedded judge's explanation: which features distinguish a candidate. It does not change a score."""

from __future__ import annotations

from collections.abc import Sequence

from calipers.backends.embedded.features import FEATURES, Measured

_SHOWN = 3
_NEGLIGIBLE = 0.04
"""The explanation omits a feature whose contribution to the weighted sum is smaller: about a point of the score."""

_FLAWS = {
    "silent": "gives no answer",
    "cut": "breaks off in mid-sentence",
    "unfinished": "stops on a tool call without a final answer",
    "refusal": "refuses",
    "hedging": "apologises or hedges",
    "repetition": "repeats itself",
    "scant": "much shorter than its siblings",
    "bloated": "much longer than its siblings",
    "tool_errors": "{part} of {whole} tool calls failed",
    "unresolved": "tool errors left unresolved: {part}",
    "false_claim": "claims success after a tool error",
    "ungrounded": "{part} of {whole} figures occur in no tool result",
    "wrong_sums": "{part} of {whole} sums are wrong",
    "loops": "{part} of {whole} tool calls repeat an earlier one",
    "format_missed": "misses {part} of {whole} wishes about form",
    "other_language": "answers in another script than the task's",
    "addresses_judge": "talks to the judge",
}
"""Flaws and their texts; an absent flaw is not mentioned."""

_COMPARED = {
    # feature: (text above the group's mean, text below it)
    "coverage": ("covers {part} of {whole} task terms", "covers only {part} of {whole} task terms"),
    "extra_turns": ("takes more turns than its siblings", "takes fewer turns than its siblings"),
    "consensus": (
        "{part} of {whole} siblings give the same answer",
        "only {part} of {whole} siblings give the same answer",
    ),
    "centrality": ("words agree with its siblings'", "words stand apart from its siblings'"),
    "figures": ("agrees with its siblings on figures", "differs from its siblings on figures"),
    "call_consensus": ("changes what its siblings change", "changes other things than its siblings"),
    "tool_consensus": ("uses the tools its siblings use", "uses other tools than its siblings"),
}
"""Features that the explanation mentions if they differ from the group's mean."""

_TOPIC = {
    "unresolved": "tool errors",
    "tool_errors": "tool errors",
    "false_claim": "tool errors",
    "call_consensus": "calls",
    "tool_consensus": "calls",
}
"""Subjects that several features share. Of the features with one subject, the explanation mentions only the feature
with the largest effect on the score.
"""


def explain_score(own: Measured, contributions: Sequence[float], usual: Sequence[float], *, siblings: int) -> str:
    """Return the embedded backend's explanation: the features that changed the score most, at most three, largest
    first.

    The explanation is never empty. ``contributions`` are the feature values times their weights, and ``usual`` are the
    group's means of these products, both in the order of FEATURES. ``siblings`` is the number of other candidates.
    Without siblings, only flaws and task coverage are mentioned.
    """
    rows = enumerate(zip(FEATURES, contributions, usual, strict=True))
    moved = [(_effect_on_score(name, part, mean, siblings), i) for i, (name, part, mean) in rows]
    ranked = sorted((item for item in moved if abs(item[0]) >= _NEGLIGIBLE), key=lambda item: (-abs(item[0]), item[1]))
    told: dict[str, str] = {}
    for by, i in ranked:
        if len(told) == _SHOWN:
            break
        told.setdefault(_TOPIC.get(FEATURES[i], FEATURES[i]), _phrase(FEATURES[i], by, own))
    nothing = "little sets it apart from its siblings" if siblings else "nothing stands out"
    return "; ".join(told.values()) or nothing


def _effect_on_score(name: str, part: float, mean: float, siblings: int) -> float:
    """Return how far a feature changed the score: for a flaw its contribution, else its difference from the group's
    mean.
    """
    if name in _FLAWS:
        return part
    if siblings == 0:
        return part if name == "coverage" else 0.0
    return part - mean


def _phrase(name: str, by: float, own: Measured) -> str:
    part, whole = own.counts.get(name, (0, 0))
    if name in _FLAWS:
        return _FLAWS[name].format(part=part, whole=whole)
    above, below = _COMPARED[name]
    # More turns lower the score; every other compared feature raises it.
    more = by < 0 if name == "extra_turns" else by > 0
    return (above if more else below).format(part=part, whole=whole)
