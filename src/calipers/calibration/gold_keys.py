"""Find, in groups without gold, the key under which a file has it: ``score`` for ``gold``.

Not responsible for reading groups (``inputs``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from calipers.types import TrajectoryGroup
from calipers.types.encoding import finite_number

_MEANT: Final = frozenset({
    "gold", "golds", "score", "scores", "rating", "label", "grade", "gold_score", "golden", "gold_label",
    "gold_reward", "ground_truth", "groundtruth", "human_score", "human_rating", "human", "target", "truth",
    "correct", "is_correct", "points",
})  # fmt: skip
"""Keys of a trajectory that are likely to hold what people or a verifier said of it."""


def has_gold(groups: Iterable[TrajectoryGroup]) -> bool:
    """Return whether a calibration's groups have any gold."""
    return any(one.gold is not None for group in groups for one in group.trajectories)


def key_like_gold(groups: Iterable[TrajectoryGroup]) -> str | None:
    """Return the key, in trajectories or their metadata, that most likely holds a calibration's gold, or None."""
    found: Counter[str] = Counter()
    for group in groups:
        for one in group.trajectories:
            for prefix, held in (("", one.extra), ("metadata.", one.metadata)):
                found.update(f"{prefix}{key}" for key, value in held.items() if _may_be_gold(key, value))
    return found.most_common(1)[0][0] if found else None


def _may_be_gold(key: object, value: object) -> bool:
    return str(key).lower() in _MEANT and (isinstance(value, bool) or finite_number(value) is not None)
