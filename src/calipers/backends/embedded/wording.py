"""Says in a few words which features set a candidate apart. It decides no score."""

from __future__ import annotations

from collections.abc import Sequence

from calipers.backends.embedded.features import FEATURES, Measured

_SHOWN = 3
_NEGLIGIBLE = 0.04
"""In the model's sum: about a point of the score. Less is not worth a clause."""

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
"""Told where they are; that a flaw is absent is not told."""

_COMPARED = {
    # feature: (said above the group's mean, said below it)
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
"""Told by how they differ from the group's mean."""

_TOPIC = {
    "unresolved": "tool errors",
    "tool_errors": "tool errors",
    "false_claim": "tool errors",
    "call_consensus": "calls",
    "tool_consensus": "calls",
}
"""Features that tell of one thing: the one that moved the score most speaks for it."""


def explain(own: Measured, parts: Sequence[float], usual: Sequence[float], *, siblings: int) -> str:
    """The two or three features that moved the score most, the largest first; never empty.

    ``parts`` are what each feature adds to the score's sum and ``usual`` the group's mean of that, in the order of
    FEATURES; ``siblings`` is how many others there are. Without any, only flaws and what stands by itself are told.
    """
    rows = enumerate(zip(FEATURES, parts, usual, strict=True))
    moved = [(_moved(name, part, mean, siblings), i) for i, (name, part, mean) in rows]
    ranked = sorted((item for item in moved if abs(item[0]) >= _NEGLIGIBLE), key=lambda item: (-abs(item[0]), item[1]))
    told: dict[str, str] = {}
    for by, i in ranked:
        if len(told) == _SHOWN:
            break
        told.setdefault(_TOPIC.get(FEATURES[i], FEATURES[i]), _phrase(FEATURES[i], by, own))
    nothing = "little sets it apart from its siblings" if siblings else "nothing stands out"
    return "; ".join(told.values()) or nothing


def _moved(name: str, part: float, mean: float, siblings: int) -> float:
    """How far this feature moved the score: from nothing for a flaw, from the group's mean where it is graded."""
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
    # More turns lower the score; everything else that is compared raises it.
    more = by < 0 if name == "extra_turns" else by > 0
    return (above if more else below).format(part=part, whole=whole)
