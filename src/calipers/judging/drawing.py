"""Which groups are judged at all, if not every one: a share drawn at random, or those of every k-th step.

Not responsible for groups with nothing to compare (``results``), or for those that rules decide (``hybrid``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from calipers.config.settings import Settings
from calipers.judging.results import keys_carried_over
from calipers.types import GroupResult, RenderedGroup, TrajectoryGroup, TrajectoryResult

NOT_JUDGED: Final = "not_judged"
"""The key of a result that says why its group was left out on purpose."""


def why_not_drawn(group: TrajectoryGroup, view: RenderedGroup, settings: Settings) -> str | None:
    """Return why judging leaves the group out on purpose, or None if it is judged.

    The draw follows from the group's content and the seed. A group without a step, or with a ``split``, which marks
    evaluation, is left to no step.
    """
    question, extra = settings.question, group.extra
    every, step = question.judged_every, extra.get("step")
    if "split" in extra:
        return None
    if every > 1 and isinstance(step, int) and step % every:
        return f"step {step} is not judged: judged_every={every}"
    if question.judged_share < 1:
        drawn = random.Random(f"{view.digest}:{settings.seed}:judged").random()  # noqa: S311 - reproducible, not secret
        if drawn >= question.judged_share:
            return f"the group was not drawn: judged_share={question.judged_share:g}"
    return None


def undrawn_result(group: TrajectoryGroup, why: str, warnings: Sequence[str]) -> GroupResult:
    """Return the result of a group that judging leaves out on purpose: no call, and no signal."""
    members = tuple(
        TrajectoryResult(one.id, "abstained", reason=why, extra=keys_carried_over(one)) for one in group.trajectories
    )
    return GroupResult(
        group.group_id, "abstained", members, warnings=tuple(warnings), extra={**group.extra, NOT_JUDGED: why}
    )
