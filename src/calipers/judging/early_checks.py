"""Gates and rules checked for each trajectory as it comes, so that a whole group's verdicts are there sooner.

Not responsible for what a check means (``verifiers``), or for what verdicts come to (``hybrid``).
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, replace

from calipers.interfaces import Verifier
from calipers.judging.preparing import Prepare
from calipers.types import Trajectory, TrajectoryGroup
from calipers.verifiers.checking import Checked, check_group
from calipers.verifiers.early import begin


@dataclass(frozen=True, slots=True)
class _Begun:
    """What ``gates`` and ``rules`` say of a trajectory, found out or being found out."""

    gates: tuple[Verifier, ...]
    rules: tuple[Verifier, ...]
    checks: Future[Checked]


@dataclass(frozen=True, slots=True)
class EarlyChecks:
    """The checks of one ``Hybrid``: begun as trajectories come, or made when their group is there."""

    gates: tuple[Verifier, ...]

    def preparing(self, head: TrajectoryGroup, rules: tuple[Verifier, ...], prepare: Prepare) -> Prepare:
        """``prepare``, and the checks of what it has prepared begun besides."""
        if not self.gates and not rules:
            return prepare

        def prepared(member: Trajectory) -> Trajectory:
            ready = prepare(member)
            if ready.prepared is None:
                return ready
            checks = begin(replace(head, trajectories=(member,)), gates=self.gates, rules=rules)
            return replace(ready, prepared=replace(ready.prepared, gate_checks=_Begun(self.gates, rules, checks)))

        return prepared

    async def checked(self, group: TrajectoryGroup, rules: tuple[Verifier, ...]) -> list[Checked]:
        """As ``check_group``, without blocking: what was begun early is waited for, the rest is checked now."""
        begun = [self._begun(one, group, rules) for one in group.trajectories]
        rest = tuple(one for one, early in zip(group.trajectories, begun, strict=True) if early is None)
        # Rules may take their time, and block; other groups' questions go on meanwhile.
        alone = replace(group, trajectories=rest)
        found = iter(await asyncio.to_thread(check_group, alone, gates=self.gates, rules=rules) if rest else ())
        # Who gives up waiting does not take the checks from who asks again.
        return [next(found) if early is None else await asyncio.shield(asyncio.wrap_future(early)) for early in begun]

    def _begun(self, one: Trajectory, group: TrajectoryGroup, rules: tuple[Verifier, ...]) -> Future[Checked] | None:
        prepared = one.prepared
        if prepared is None or not isinstance(prepared.gate_checks, _Begun):
            return None
        early = prepared.gate_checks
        same = early.gates == self.gates and early.rules == rules
        return early.checks if same and prepared.is_valid_for(one.messages, group.context, prepared.reasoning) else None
