"""Shadow mode in TRL: today's reward function, unchanged, whose groups a judge also sees. TRL is never imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calipers.config.arguments import require_callable, require_text, require_whole
from calipers.errors import ConfigError
from calipers.trainers.process.engines import installed_version
from calipers.trainers.rollouts.steps import step_fields
from calipers.trainers.shadow.recording import Shadow
from calipers.trainers.trl.caller import Caller
from calipers.trainers.trl.rows import completion_rows, dataset_column, groups_of_rows
from calipers.types import TrajectoryGroup


class _Shadowed:
    """A reward function as TRL calls it, with the rewards of ``today``; the groups go to ``shadow`` afterwards."""

    def __init__(self, today: Callable[..., Any], shadow: Shadow, size: int, rubric_column: str) -> None:
        self.__name__ = getattr(today, "__name__", type(today).__name__)
        self._today, self._shadow, self._size, self._rubric_column = today, shadow, size, rubric_column

    def _submit(self, rewards: Any, given: dict[str, Any]) -> Any:
        self._shadow.submit(partial(self._groups, rewards, given))
        return rewards

    def _groups(self, rewards: Any, given: dict[str, Any]) -> list[tuple[TrajectoryGroup, Sequence[Any]]]:
        caller = Caller.of(given, trl=installed_version("trl"))
        size = caller.group_size or self._size
        rows = completion_rows(
            given["prompts"],
            given["completions"],
            rubrics=dataset_column(given, self._rubric_column, required=False),
            references=None,
        )
        groups = groups_of_rows(
            rows,
            size,
            default_rubric="",
            mixed_prompts=caller.changes_prompts,
            label="" if caller.step is None else f"step {caller.step}, ",
            extra=step_fields(caller.step, training=caller.training),
        )
        found = list(rewards)
        return [(group, found[size * at : size * (at + 1)]) for at, group in enumerate(groups)]


class _Blocking(_Shadowed):
    def __call__(self, **given: Any) -> Any:
        """Return today's rewards."""
        return self._submit(self._today(**given), given)


class _Awaited(_Shadowed):
    async def __call__(self, **given: Any) -> Any:
        """Return today's rewards."""
        return self._submit(await self._today(**given), given)

    @property
    def __code__(self) -> Any:
        return type(self).__call__.__code__  # TRL before 1.10 asks ``inspect`` whether it is a function to await


def shadowed(
    today: Callable[..., Any], shadow: Shadow, *, num_generations: int, rubric_column: str = "rubric"
) -> Callable[..., Any]:
    """Return TRL's reward function ``today`` with its name and its rewards, and have ``shadow`` judge its groups.

    ``num_generations`` is the trainer's, for a TRL that does not report it. Where a process has only part of a group,
    nothing is judged, with one line in the log. Raises ConfigError for arguments that cannot work.
    """
    require_callable(today=today)
    require_whole(num_generations=num_generations)
    require_text(rubric_column=rubric_column)
    if num_generations < 2:
        raise ConfigError(f"num_generations={num_generations}: a judge compares completions, so make it 2 or more")
    called = today if inspect.isroutine(today) else type(today).__call__
    kind = _Awaited if inspect.iscoroutinefunction(called) else _Blocking
    return kind(today, shadow, num_generations, rubric_column)
