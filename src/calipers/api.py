"""The two functions most people need, over a Judge built once per name.

Not responsible for options beyond which judge: build a ``Judge`` for those.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from functools import lru_cache

from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.judge import Judge
from calipers.registry import PROVIDERS
from calipers.seat import members
from calipers.types import GroupResult


async def score_group(
    group: object, judge: str | Backend | Sequence[str | Backend] | Judge, *, rubric: str | None = None
) -> GroupResult:
    """Judge the trajectories of one group against one another.

    ``group`` is a TrajectoryGroup, an object of the groups file, a list of message lists, or a trainer's own group;
    ``judge`` a name such as ``"openai/gpt-5-mini"``, a Backend, several of them (a panel), or a Judge for everything
    that can be set.

    Never raises for a judge's doing: each trajectory of the result is ``scored``, ``abstained`` or ``failed``, with a
    reason, and has a reward in [0, 1] or None. Raises ConfigError for settings that cannot work and InputError for a
    group that cannot be read, both before any token is spent.
    """
    return await _as_judge(judge, rubric).score_group(group)


def score_groups(
    groups: Iterable[object] | AsyncIterable[object],
    judge: str | Backend | Sequence[str | Backend] | Judge,
    *,
    rubric: str | None = None,
    concurrency: int = 64,
    ordered: bool = False,
    on_error: Callable[[InputError], None] | None = None,
) -> AsyncIterator[GroupResult]:
    """Judge many groups, ``concurrency`` at a time, and yield results as they finish (``ordered``: in input order).

    ``groups`` may be any iterable, also an endless or asynchronous one; memory stays flat. A group that cannot be read
    is handed to ``on_error`` and left out; without one, its InputError is raised. Otherwise as score_group.
    """
    return _as_judge(judge, rubric, concurrency).score_groups(
        groups, concurrency=concurrency, ordered=ordered, on_error=on_error
    )


def _as_judge(
    judge: str | Backend | Sequence[str | Backend] | Judge, rubric: str | None, concurrency: int = 64
) -> Judge:
    if isinstance(judge, Judge):
        return judge
    names = members(judge)
    named = tuple(one for one in names if isinstance(one, str))
    if len(named) < len(names):
        return Judge(judge, rubric=rubric, concurrency=concurrency)
    providers = [PROVIDERS.get(name.partition("/")[0]) for name in named]
    keys = tuple(os.environ.get(provider.key) if provider else None for provider in providers)
    return _named(named, rubric, keys, concurrency)


@lru_cache(maxsize=32)
def _named(names: tuple[str, ...], rubric: str | None, keys: tuple[str | None, ...], concurrency: int) -> Judge:
    """One Judge per names, rubric, keys and limit: its connections and its limit serve all calls."""
    known = {name: key for name, key in zip(names, keys, strict=True) if key is not None}
    return Judge(names, rubric=rubric, api_key=known or None, concurrency=concurrency)
