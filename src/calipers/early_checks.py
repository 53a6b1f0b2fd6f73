"""Gates and rules checked for each trajectory as it comes, in threads, so that a whole group's verdicts are there sooner.

Not responsible for what a check means (``verifiers``), or for what verdicts come to (``hybrid``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.preparing import Prepare
from calipers.types import Trajectory, TrajectoryGroup
from calipers.verifiers.checking import Checked, check_group

_THREADS: Final = 4
"""Rules given as source text are run by one sandbox, which takes one caller at a time."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """What ``gates`` and ``rules`` say of a trajectory, found out or being found out."""

    gates: tuple[Verifier, ...]
    rules: tuple[Verifier, ...]
    checks: Future[Checked | ConfigError]


class EarlyChecks:
    """The checks of one ``Hybrid``: begun as trajectories come, or made when their group is there."""

    def __init__(self, gates: tuple[Verifier, ...]) -> None:
        self._gates = gates
        self._threads: ThreadPoolExecutor | None = None

    def preparing(self, head: TrajectoryGroup, rules: tuple[Verifier, ...], prepare: Prepare) -> Prepare:
        """``prepare``, and the checks of what it has prepared begun besides."""
        if not self._gates and not rules:
            return prepare
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="calipers-rules")
        threads = self._threads

        def prepared(member: Trajectory) -> Trajectory:
            ready = prepare(member)
            if ready.prepared is None:
                return ready
            alone = replace(head, trajectories=(member,))
            begun = _Begun(self._gates, rules, threads.submit(self._check, alone, rules))
            return replace(ready, prepared=replace(ready.prepared, checked=begun))

        return prepared

    async def checked(self, group: TrajectoryGroup, rules: tuple[Verifier, ...]) -> list[Checked]:
        """As ``check_group``, without blocking: what was begun early is waited for, the rest is checked now."""
        begun = [self._begun(one, group, rules) for one in group.trajectories]
        rest = tuple(one for one, early in zip(group.trajectories, begun, strict=True) if early is None)
        # Rules may take their time, and block; other groups' questions go on meanwhile.
        alone = replace(group, trajectories=rest)
        found = iter(await asyncio.to_thread(check_group, alone, gates=self._gates, rules=rules) if rest else ())
        checked = []
        for early in begun:
            one = next(found) if early is None else await asyncio.wrap_future(early)
            if isinstance(one, ConfigError):
                raise one
            checked.append(one)
        return checked

    def _check(self, group: TrajectoryGroup, rules: Sequence[Verifier]) -> Checked | ConfigError:
        try:
            return check_group(group, gates=self._gates, rules=rules)[0]
        except ConfigError as error:
            return error  # the whole group's, and raised where that is scored

    def _begun(
        self, one: Trajectory, group: TrajectoryGroup, rules: tuple[Verifier, ...]
    ) -> Future[Checked | ConfigError] | None:
        prepared = one.prepared
        if prepared is None or not isinstance(prepared.checked, _Begun):
            return None
        early = prepared.checked
        same = early.gates == self._gates and early.rules == rules
        return early.checks if same and prepared.holds(one.messages, group.context, prepared.reasoning) else None
