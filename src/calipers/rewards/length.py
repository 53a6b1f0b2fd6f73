"""Length control: of candidates whose scores the judge cannot separate, shorter ones get a higher reward.

Judges prefer long answers, and a policy learns this in training. A penalty on every token would also act where the
judge's preference is clear. Here length has an effect only where the preference is unclear, and relative to the group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import RewardTransform
from calipers.rewards.magnitude import rounded, scaled
from calipers.rewards.near_ties import near_tied_clusters
from calipers.rewards.rank import share_beaten
from calipers.rewards.reliability import reliability_of
from calipers.types import Candidate, RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class LengthControl:
    """Changes rewards by length among candidates whose scores all differ by at most ``within`` standard errors.

    ``strength`` in [0, 1] is the share of their reward range that length decides, and the largest share of the group's
    variance that the changes may have, and so of its advantages': otherwise all of them are made smaller by one factor.
    No reward leaves the range of its near ties, so no candidate passes another that the judge clearly prefers. Equal
    lengths change rewards equally. A group whose reliability is 0 is not changed: there length would be all that is
    left.
    """

    inner: RewardTransform
    strength: float
    within: float = 1.0

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate; None stays None."""
        rewards = list(self.inner(scores, view))
        if reliability_of(scores).value == 0:
            return tuple(rewards)
        moved, ranges = self._moved(rewards, scores, view)
        known = [one for one in rewards if one is not None]
        factor = share_of_change(rewards, moved, most=self.strength)
        if factor == 1:
            return tuple(moved)
        for item, (low, high) in ranges.items():
            before, after = rewards[item], moved[item]
            if before is not None and after is not None:
                rewards[item] = min(max(rounded(before + factor * (after - before), known), low), high)
        return tuple(rewards)

    def _moved(
        self, rewards: Sequence[float | None], scores: Scores, view: RenderedGroup
    ) -> tuple[list[float | None], dict[int, tuple[float, float]]]:
        """Return the rewards as length changes them, and the range of each changed candidate's near ties."""
        moved, ranges = list(rewards), {}
        lengths = [policy_text_length(candidate, view.prefix_length) for candidate in view.candidates]
        for cluster in near_tied_clusters(scores, within=self.within):
            known = [reward for item in cluster if (reward := rewards[item]) is not None]
            if len(known) < len(cluster) or len(cluster) < 2:
                continue
            low, high = min(known), max(known)
            for item, reward in zip(cluster, known, strict=True):
                shorter = share_beaten(-lengths[item], [-lengths[other] for other in cluster])
                changed = (1 - self.strength) * reward + self.strength * (low + shorter * (high - low))
                moved[item] = min(max(rounded(changed, known), low), high)  # rounding must not pass a neighbour
                ranges[item] = low, high
        return moved, ranges


def share_of_change(before: Sequence[float | None], after: Sequence[float | None], *, most: float) -> float:
    """Return the largest factor c up to 1 for which rewards ``before + c (after - before)`` owe a share of at most
    ``most`` of their variance to the change: c² var(change) <= most var(rewards).
    """
    known = [
        (one, other - one) for one, other in zip(before, after, strict=True) if one is not None and other is not None
    ]
    if len(known) < 2:
        return 1.0
    values = scaled([value for pair in known for value in pair])  # variances of large rewards would overflow
    pairs = list(zip(values[::2], values[1::2], strict=True))
    mean, shift = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    variance = math.fsum((one - mean) ** 2 for one, _ in pairs)
    change = math.fsum((moved - shift) ** 2 for _, moved in pairs)
    both = math.fsum((one - mean) * (moved - shift) for one, moved in pairs)
    if change <= most * (variance + 2 * both + change):
        return 1.0
    root = math.sqrt((most * both) ** 2 + (1 - most) * most * change * variance)
    divisor = root - most * both
    return min(most * variance / divisor, 1.0) if divisor > 0 else 0.0


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
