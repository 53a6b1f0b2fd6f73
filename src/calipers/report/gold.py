"""What is known of gold beside a reported group's rewards: never more than the groups file or the ledger has.

Not responsible for measuring judges against gold (``calibration``).
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Final

from calipers.report.sources import Judged

_EDGE: Final = 1e-9
"""Advantages of this size are 0, as in calibration."""


def gold_of(judged: Judged) -> dict[str, float]:
    """Return the gold of a reported group's trajectories by id, without those that have none.

    It is that of the groups file if this has any, else that of the ledger.
    """
    for group in (judged.group, judged.recorded):
        found = {} if group is None else {one.id: one.gold for one in group.trajectories if one.gold is not None}
        if found:
            return found
    return {}


def wrong_signs(rewards: Mapping[str, float | None], gold: Mapping[str, float]) -> set[str]:
    """Return the ids of a reported group's trajectories whose advantage has the other sign than gold's.

    Both advantages are less the mean over the trajectories that have a reward and gold, as in calibration. An
    advantage of 0 has no sign.
    """
    known = {name: reward for name, reward in rewards.items() if reward is not None and name in gold}
    if len(known) < 2:
        return set()
    means = fmean(known.values()), fmean(gold[name] for name in known)
    return {name for name, reward in known.items() if _sign(reward - means[0]) * _sign(gold[name] - means[1]) < 0}


def _sign(value: float) -> int:
    return 0 if abs(value) <= _EDGE else 1 if value > 0 else -1
