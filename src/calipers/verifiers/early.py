"""Checks of trajectories whose group is not whole yet, begun in threads of their own.

Not responsible for what is checked (``checking``), or for what becomes of it (``hybrid``, ``ruled``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Final, TypeAlias

from calipers.interfaces import Verifier
from calipers.types import TrajectoryGroup
from calipers.verifiers.checking import Checked, check_group

Rules: TypeAlias = Sequence[Verifier]

_THREADS: Final = 4
"""Rules given as source text are run by one sandbox, which takes one caller at a time."""


def begin(group: TrajectoryGroup, *, gates: Rules = (), rules: Rules = ()) -> Future[Checked]:
    """``check_group`` of the one trajectory in ``group``, begun. An error is raised to who asks for the result."""
    return _threads(os.getpid()).submit(partial(_check, group, gates, rules))


def _check(group: TrajectoryGroup, gates: Rules, rules: Rules) -> Checked:
    (checked,) = check_group(group, gates=gates, rules=rules)
    return checked


@lru_cache(maxsize=1)
def _threads(_: int) -> ThreadPoolExecutor:
    """A process's own: threads do not come along when it is forked off another."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="calipers-rules")
