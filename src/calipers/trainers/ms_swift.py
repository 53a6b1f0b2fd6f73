"""ms-swift: a judge as a named reward function, for ``--reward_funcs``, over whole groups.

Call ``register`` in the file that ``--external_plugins`` names; only it imports ms-swift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.config.arguments import require_text
from calipers.registry import import_library
from calipers.trainers.process import JudgeLike, as_judge
from calipers.trainers.rewards import rewards_or_none
from calipers.trainers.rows import USUAL_RUBRIC_COLUMN, step_fields, warn_unused_columns
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, judged
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import dataset_column

__all__ = ["register"]

_ROLES: Final = {"tool_call": "assistant", "tool_response": "tool"}
"""ms-swift's own roles, and the corresponding roles of chat messages."""


def register(
    name: str,
    judge: JudgeLike,
    *,
    rubric_column: str = USUAL_RUBRIC_COLUMN,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> None:
    """Make ``judge`` the reward function ``name`` of ms-swift, which ``--reward_funcs`` can name.

    ``rubric_column`` is the column of the data set with each prompt's rubric.
    """
    require_text(rubric_column=rubric_column)
    orms = import_library("swift.rewards", remedy="ms-swift 4 is needed: pip install 'ms-swift>=4'").orms
    run = JudgedRun(as_judge(judge), patience=patience, stop=stop, consequence="so none of it gets a reward")

    class Reward(JudgeReward):
        def __init__(self, args: Any, **_: object) -> None:
            super().__init__(run, size=args.num_generations, rubric_column=rubric_column)

    Reward.__name__ = name  # the name in ms-swift's log
    orms[name] = Reward


class JudgeReward:
    """A reward function in ms-swift's form: for each completion the judge's reward, in [0, 1], or None.

    None is returned for whole groups only. ms-swift counts a None as 0, which would change the siblings' advantages,
    but if all rows of a group are None, all their advantages are 0. ``size`` is ``num_generations``. Several processes
    that share a batch exchange its rows, and each group is judged once. An error ends the run in every process.
    """

    def __init__(self, run: JudgedRun, *, size: int, rubric_column: str = USUAL_RUBRIC_COLUMN) -> None:
        self._run, self._size, self._rubric_column = run, size, rubric_column
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
        extra = step_fields(getattr(columns.get("trainer_state"), "global_step", None))
        last = {request: at for at, request in enumerate(request_id)}  # of several turns of a rollout
        rows = [
            Row(prompt_id[at], _conversation(messages[at]), rubric=rubrics[at], extra=extra) for at in last.values()
        ]
        if is_single_process():
            rewards = await judged(self._run, self._grouped(rows), rewards_or_none)
        else:
            self._ranks = self._ranks or Ranks()
            everywhere, part = await self._ranks.judged(self._run, lambda: rows, self._grouped, rewards_or_none)
            rewards = everywhere[part]
        by_request = dict(zip(last, rewards, strict=True))
        return [by_request[request] for request in request_id]

    def _grouped(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows with the keys and names of their groups: the rows of a prompt.

        If a prompt occurs several times in the batch, all its rows have one id. Each run of ``size`` neighbouring rows
        is then a group.
        """
        counts, seen = Counter(row.key for row in rows), Counter[Hashable]()
        grouped = []
        for row in rows:
            number = seen[row.key] // self._size if counts[row.key] % self._size == 0 else 0
            seen[row.key] += 1
            grouped.append(replace(row, key=(row.key, number), name=f"{row.key}-{number}" if number else str(row.key)))
        return grouped


def _conversation(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"messages": [{**message, "role": _ROLES.get(message["role"], message["role"])} for message in messages]}
