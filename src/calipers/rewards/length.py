"""Length control: of candidates whose scores the judge cannot separate, shorter ones get a higher reward.

Judges prefer long answers, and a policy learns this in training. A penalty on every token would also act where the
judge's preference is clear. Here length has an effect only where the preference is unclear, and relative to the group.
Not responsible for how many tokens a policy may use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import RewardTransform
from calipers.rewards.near_ties import near_tied_clusters
from calipers.rewards.rank import share_beaten
from calipers.types import Candidate, RenderedGroup, Scores

_DIGITS = 9


@dataclass(frozen=True, slots=True)
class LengthControl:
    """Changes rewards by length among candidates whose scores all differ by at most ``within`` standard errors.

    ``strength`` in [0, 1] is the share of their reward range that length decides. No reward leaves that range, so no
    candidate passes another that the judge clearly prefers. Equal lengths change rewards equally.
    """

    inner: RewardTransform
    strength: float
    within: float = 1.0

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate; None stays None."""
        rewards = list(self.inner(scores, view))
        lengths = [policy_text_length(candidate, view.prefix_length) for candidate in view.candidates]
        for cluster in near_tied_clusters(scores, within=self.within):
            known = [reward for item in cluster if (reward := rewards[item]) is not None]
            if len(known) < len(cluster) or len(cluster) < 2:
                continue
            low, high = min(known), max(known)
            for item, reward in zip(cluster, known, strict=True):
                shorter = share_beaten(-lengths[item], [-lengths[other] for other in cluster])
                moved = (1 - self.strength) * reward + self.strength * (low + shorter * (high - low))
                rewards[item] = min(max(round(moved, _DIGITS), low), high)  # rounding must not pass a neighbour
        return tuple(rewards)


def policy_text_length(candidate: Candidate, prefix_length: int) -> int:
    """Return, for rewards that depend on length, how many characters the policy wrote after the shared messages."""
    return sum(
        len(text)
        for message in candidate.messages[prefix_length:]
        if message.get("role") == "assistant"
        for text in _texts(message.get("content"))
    )


def _texts(content: object) -> Sequence[str]:
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list | tuple):
        return ()
    return [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
