"""ms-swift: a judge as a named reward function, for ``--reward_funcs``, over whole groups.

Call ``register`` in the file that ``--external_plugins`` names; only it imports ms-swift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.rewards import rewards_or_none
from calipers.trainers.no_signal.run import PATIENCE, JudgedRun, Lasting, Stop, require_patience
from calipers.trainers.process import JudgeLike, as_judge, import_engine, warn_untested
from calipers.trainers.rollouts.groups import rollout_group
from calipers.trainers.rollouts.rows import split_reasoning, step_fields, warn_unused_columns
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import USUAL_RUBRIC_COLUMN, dataset_column

__all__ = ["JudgeReward", "register"]

_ROLES: Final = {"tool_call": "assistant", "tool_response": "tool"}
"""ms-swift's own roles, and the corresponding roles of chat messages."""


def register(
    name: str,
    judge: JudgeLike,
    *,
    rubric_column: str | None = USUAL_RUBRIC_COLUMN,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> None:
    """Make ``judge`` a reward function of ms-swift, which ``--reward_funcs`` can name.

    ``rubric_column`` is the column of the data set with each prompt's rubric, if there is one.
    """
    require_patience(patience, stop)
    warn_untested("ms-swift", "4.6")
    require_text(rubric_column=rubric_column)
    orms = import_engine("swift.rewards", remedy="ms-swift 4 is needed: pip install 'ms-swift>=4'").orms
    taken = orms.get(name)
    if taken is not None and not hasattr(taken, "calipers"):
        raise ConfigError(f"ms-swift has its own reward function {name!r}: choose another name")

    class Reward(JudgeReward):
        calipers = True

        def __init__(self, args: Any = None, **_: object) -> None:
            super().__init__(
                judge,
                size=getattr(args, "num_generations", None),
                rubric_column=rubric_column,
                patience=patience,
                stop=stop,
            )

    Reward.__name__ = name  # the name in ms-swift's log
    orms[name] = Reward


class JudgeReward:
    """A reward function in ms-swift's form: for each completion the judge's reward, in [0, 1], or None.

    None is returned for whole groups only. ms-swift counts a None as 0, which would change the siblings' advantages,
    but if all rows of a group are None, all their advantages are 0. ``size`` is ``num_generations``. Several processes
    that share a batch exchange its rows, and each group is judged once. An error ends the run in every process.
    """

    def __init__(
        self,
        judge: JudgeLike,
        *,
        size: int | None,
        rubric_column: str | None = USUAL_RUBRIC_COLUMN,
        patience: Lasting = PATIENCE,
        stop: Stop | None = None,
    ) -> None:
        self._size, self._rubric_column = size, rubric_column
        self._run = JudgedRun(as_judge(judge), patience=patience, stop=stop, consequence="so none of it gets a reward")
        self._ranks: Ranks | None = None

    async def __call__(
        self,
        completions: Sequence[str],
        *,
        messages: Sequence[Sequence[Mapping[str, Any]]],
        prompt_id: Sequence[str],
        request_id: Sequence[str],
        **columns: Any,
    ) -> list[float | None]:
        """Return the rewards of ms-swift's ``completions``, in order.

        Raises InputError for a group whose rows have different rubrics.
        """
        warn_unused_columns(columns, used=(self._rubric_column,))
        needed = self._rubric_column != USUAL_RUBRIC_COLUMN
        rubrics = dataset_column(columns, self._rubric_column, required=needed) or [None] * len(completions)
        mine = [Row(*row) for row in zip(prompt_id, request_id, map(_conversation, messages), rubrics, strict=True)]
        extra = step_fields(getattr(columns.get("trainer_state"), "global_step", None))
        judged = self._judged if is_single_process() else self._judged_jointly
        by_request = await judged(mine, extra)
        return [by_request[request] for request in request_id]

    async def _judged_jointly(self, mine: list[Row], extra: Mapping[str, Any]) -> dict[str, float | None]:
        """Return the rewards of all processes' requests. Each group is judged by the process that has its first row."""
        if self._ranks is None:
            self._ranks = Ranks()
        rows, part = await self._ranks.exchange_rows(lambda: mine)
        found: dict[str, float | None] = {}
        for part_of_one in await self._ranks.exchange(self._judged(rows, extra, part)):
            found |= part_of_one
        return found

    async def _judged(
        self, rows: Sequence[Row], extra: Mapping[str, Any], part: Container[int] | None = None
    ) -> dict[str, float | None]:
        """Return the rewards, by request, of the groups whose first row is in ``part``. If ``part`` is None, take all
        groups. ``extra`` is recorded with each group.
        """
        every = positions_of_groups([row.prompt for row in rows], [row.request for row in rows], size=self._size)
        groups = [[rows[at] for at in group] for group in every if part is None or group[0] in part]
        names = _group_names([group[0].prompt for group in groups])
        asked = [
            rollout_group([row.conversation for row in group], rubric=_one_rubric(group), name=name) | {**extra}
            for group, name in zip(groups, names, strict=True)
        ]
        rewards: dict[str, float | None] = {}
        for group, result in zip(groups, await self._run.score(asked), strict=True):
            rewards |= zip((row.request for row in group), rewards_or_none(result), strict=True)
        return rewards


@dataclass(frozen=True, slots=True)
class Row:
    """A completion of an ms-swift batch as plain data, which can be sent to every process of a run."""

    prompt: str
    request: str
    conversation: Mapping[str, Any]
    rubric: str | None


def positions_of_groups(prompt_ids: Sequence[str], request_ids: Sequence[str], *, size: int | None) -> list[list[int]]:
    """Return the positions of the ms-swift rows that are judged together: one row per request, the last of several
    turns.

    The rows of a prompt are a group. If a prompt occurs several times in the batch, all its rows have one id. Each run
    of ``size`` neighbouring rows is then a group.
    """
    last = {request: row for row, request in enumerate(request_ids)}
    prompts: dict[str, list[int]] = {}
    for row in last.values():
        prompts.setdefault(prompt_ids[row], []).append(row)
    groups = []
    for rows in prompts.values():
        step = size if size and len(rows) > size and len(rows) % size == 0 else len(rows)
        groups += [rows[start : start + step] for start in range(0, len(rows), step)]
    return groups


def _group_names(prompts: Sequence[str]) -> list[str]:
    """Return a name for each group: its prompt's id, followed by a number if the prompt has several groups in the
    batch.
    """
    several = Counter(prompts)
    numbers: Counter[str] = Counter()
    names = []
    for prompt in prompts:
        numbers[prompt] += 1
        names.append(f"{prompt}-{numbers[prompt]}" if several[prompt] > 1 else str(prompt))
    return names


def _conversation(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    plain = ({**message, "role": _ROLES.get(message["role"], message["role"])} for message in messages)
    return {"messages": [split_reasoning(message) for message in plain]}


def _one_rubric(rows: Sequence[Row]) -> str | None:
    found = {row.rubric for row in rows}
    if len(found) > 1:
        raise InputError(f"the rows of one prompt have {len(found)} different rubrics, but are judged together")
    return found.pop()
