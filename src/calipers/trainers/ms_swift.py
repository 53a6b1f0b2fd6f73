"""ms-swift: a judge as a reward function by name, for ``--reward_funcs``, over whole groups.

``register`` is called in the file that ``--external_plugins`` names. ms-swift is imported only there. Not responsible for
how the processes of a run tell each other anything (``trl_ranks``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.config.arguments import require_text
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.trainers.no_signal.rewards import whole
from calipers.trainers.no_signal.run import JudgedRun, Stop, require_patience
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.dataset_rows import warn_unused_columns
from calipers.trainers.rollouts.groups import judgeable_group
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.trl.ranks import Ranks, is_single_process

__all__ = ["JudgeReward", "register"]

_ROLES: Final = {"tool_call": "assistant", "tool_response": "tool"}
"""ms-swift's own roles, and what they are in chat messages."""


def register(
    name: str,
    judge: JudgeLike,
    *,
    rubric_column: str | None = "rubric",
    patience: int | None = None,
    stop: Stop | None = None,
) -> None:
    """Make ``judge`` a reward function of ms-swift's, to be named in ``--reward_funcs``.

    ``rubric_column`` is a column of the data set that holds each prompt's rubric, where it has one. ``patience`` and
    ``stop`` are those of ``run.JudgedRun``. Raises ConfigError where ms-swift 4 is not installed, for a name that is taken,
    and for settings that cannot work.
    """
    require_patience(patience, stop)
    warn_untested("ms-swift", "4.6")
    require_text(rubric_column=rubric_column)
    try:
        from swift.rewards import orms  # noqa: PLC0415 - only where ms-swift is used
    except ImportError as error:
        raise ConfigError(f"ms-swift 4 is needed: pip install 'ms-swift>=4' ({error})") from error
    taken = orms.get(name)
    if taken is not None and not hasattr(taken, "calipers"):
        raise ConfigError(f"ms-swift has a reward function {name!r} of its own: choose another name")

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

    Reward.__name__ = name  # what ms-swift logs it by
    orms[name] = Reward


class JudgeReward:
    """A reward function in ms-swift's form: one entry a completion, the judge's reward in [0, 1] or None.

    None comes for whole groups only: to ms-swift a row's None is a 0, and moves its siblings; when all rows of a group
    are None, all are 0, and their advantages with them. ``size`` is ``num_generations``. Where several processes hold a
    batch, they tell each other its rows, and each group is judged once.

    Raises ConfigError for a judge that refuses every question, and CalipersError when patience is at its end: both end the
    run, in every process.
    """

    def __init__(
        self,
        judge: JudgeLike,
        *,
        size: int | None,
        rubric_column: str | None = "rubric",
        patience: int | None = None,
        stop: Stop | None = None,
    ) -> None:
        self._size, self._rubric_column = size, rubric_column
        self._run = JudgedRun(as_judge(judge), patience=patience, stop=stop, then="so none of it gets a reward")
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
        """Rewards in the order of ``completions``. Raises InputError for a group whose rows have several rubrics."""
        warn_unused_columns(columns, used=(self._rubric_column,))
        rubrics = columns.get(self._rubric_column or "") or [None] * len(completions)
        mine = [Row(*row) for row in zip(prompt_id, request_id, map(_shown, messages), rubrics, strict=True)]
        by_request = await self._judged(mine) if is_single_process() else await self._judged_jointly(mine)
        return [by_request[request] for request in request_id]

    async def _judged_jointly(self, mine: list[Row]) -> dict[str, float | None]:
        """The rewards of all processes' requests; a group is judged by the process that has its first row."""
        if self._ranks is None:
            self._ranks = Ranks()
        shares = await self._ranks.share(mine)
        start = sum(map(len, shares[: self._ranks.number]))
        part = range(start, start + len(mine))
        judged: dict[str, float | None] | CalipersError
        try:
            judged = await self._judged([row for share in shares for row in share], part)
        except CalipersError as error:
            judged = error  # the others wait for this process, and are to end with it
        everyones: dict[str, float | None] = {}
        for theirs in await self._ranks.share(judged):
            everyones |= theirs
        return everyones

    async def _judged(self, rows: Sequence[Row], part: Container[int] | None = None) -> dict[str, float | None]:
        """The rewards of the groups whose first row is in ``part``, by request; of all where that is None."""
        every = grouped([row.prompt for row in rows], [row.request for row in rows], size=self._size)
        groups = [group for group in every if part is None or group[0] in part]
        members = [[rows[place] for place in group] for group in groups]
        names = _names([group[0].prompt for group in members])
        judgeable = [
            judgeable_group([row.shown for row in group], rubric=_one_rubric(group), name=name)
            for group, name in zip(members, names, strict=True)
        ]
        rewards: dict[str, float | None] = {}
        for group, result in zip(groups, await self._run.score(judgeable), strict=True):
            rewards |= {rows[place].request: reward for place, reward in zip(group, whole(result), strict=True)}
        return rewards


@dataclass(frozen=True, slots=True)
class Row:
    """A completion as plain data, which every process of a run can be told of."""

    prompt: str
    request: str
    shown: Mapping[str, Any]
    rubric: str | None


def grouped(prompt_ids: Sequence[str], request_ids: Sequence[str], *, size: int | None) -> list[list[int]]:
    """The rows that are judged together, by their places: a row a request, the last of several (turns of one rollout).

    A prompt's rows are a group. A prompt that stands in the batch several times has one id there, and its rows, which
    are neighbours in groups of ``size``, are as many groups.
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


def _names(prompts: Sequence[str]) -> list[str]:
    """A name for each group: its prompt's id, with a number behind it where a prompt has several groups."""
    several = Counter(prompts)
    numbers: Counter[str] = Counter()
    names = []
    for prompt in prompts:
        numbers[prompt] += 1
        names.append(f"{prompt}-{numbers[prompt]}" if several[prompt] > 1 else str(prompt))
    return names


def _shown(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    plain = ({**message, "role": _ROLES.get(message["role"], message["role"])} for message in messages)
    return {"messages": [split_reasoning(message) for message in plain]}


def _one_rubric(rows: Sequence[Row]) -> str | None:
    found = {row.rubric for row in rows}
    if len(found) > 1:
        raise InputError(f"the rows of one prompt have {len(found)} rubrics, and they are judged together by one")
    return found.pop()
