"""Measures judged groups of a watched run: asks the audit judge and the check, whose opinions never become rewards.

Not responsible for which groups are measured, or when (``watch``, ``verl``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from calipers.errors import ConfigError
from calipers.judging.audit import Opinion
from calipers.judging.judge import Judge
from calipers.study.watching.rows import Split, WatchedGroup, watched_group
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from calipers.types.encoding import measured_number

Truth: TypeAlias = Callable[[Trajectory], "Verdict | bool | float | None"]
"""What is true of a rollout, the prompt's messages included: a verifier's verdict, or a number; None if unknown."""


class Measuring:
    """Measures groups for a watch. ``failed`` counts opinions that could not be got; the first is printed to stderr."""

    def __init__(self, audit: Judge | None, truth: Truth | None) -> None:
        if truth is not None and not callable(truth):
            raise ConfigError(f"truth={truth!r}: it must be a function of a trajectory")
        self.audit, self._truth = audit, truth
        self.failed = 0

    async def measure(
        self, group: TrajectoryGroup, result: GroupResult, *, step: int, split: Split, due: bool, audited: bool
    ) -> WatchedGroup:
        """Return the row of a judged group of a watched run. With ``due``, the check is asked; with ``audited``, the
        audit judge. An opinion that fails is unknown, and never a number.
        """
        opinions: dict[str, Opinion] = {}
        if audited and self.audit is not None:
            opinions["audit"] = await self._audited(self.audit, group)
        if due and self._truth is not None:
            opinions["truth"] = self._checked(self._truth, group)
        return watched_group(group, result, step=step, split=split, opinions=opinions)

    async def _audited(self, audit: Judge, group: TrajectoryGroup) -> Opinion:
        alone = replace(group, trajectories=tuple(replace(one, prepared=None) for one in group.trajectories))
        try:
            result = await audit.score_group(alone)
        except Exception as error:  # noqa: BLE001 - the audit must not end a run, whatever is wrong with its judge
            self._fail("the audit judge", error)
            return {}
        if all(one.reward is None for one in result.trajectories):
            why = next((one.reason for one in result.trajectories if one.reason), "no reason is known")
            self._fail("the audit judge", why)
        return {one.id: one.reward for one in result.trajectories}

    def _checked(self, truth: Truth, group: TrajectoryGroup) -> Opinion:
        found: dict[str, float | None] = {}
        for one in group.trajectories:
            try:
                found[one.id] = _number(truth(replace(one, messages=(*group.context, *one.messages))))
            except Exception as error:  # noqa: BLE001 - a user's function may fail in any way, and must not end the run
                self._fail("the check of the truth", error)
        return found

    def _fail(self, who: str, why: object) -> None:
        self.failed += 1
        if self.failed == 1:
            sys.stderr.write(f"[calipers] {who} failed; its opinion is unknown, and the run goes on: {why}\n")


def _number(opinion: object) -> float | None:
    if isinstance(opinion, Verdict):
        opinion = opinion.met
    if opinion is None:
        return None
    value = float(opinion) if isinstance(opinion, bool) else measured_number(opinion)
    if value is None:
        raise TypeError(f"the check returned {opinion!r}, which is neither a number nor a verdict")
    return value
