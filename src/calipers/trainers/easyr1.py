"""EasyR1: a batch reward function that finds a prompt's responses among the shuffled ones and judges them together.

EasyR1 shows a reward function neither prompts nor ids, only a row's answer column; so that column holds them. EasyR1 is
never imported. Not responsible for making the data set's column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.one_float import floats, run_for_floats
from calipers.trainers.no_signal.rewards import unscored
from calipers.trainers.no_signal.run import JudgedRun, Stop
from calipers.trainers.process import blocking
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.rollouts.dataset_rows import REMEDY, rubric_in
from calipers.trainers.rollouts.messages import answers, places, rubric_with_reference

__all__ = ["batch_reward"]

_FORM = 'an object, or its JSON, such as {"id": "row 17", "prompt": "What is 2 + 2?"}'


def batch_reward(
    judge: JudgeLike, *, rubric: str | None = None, patience: int | None = None, stop: Stop | None = None
) -> Callable[[Sequence[Mapping[str, Any]]], list[dict[str, float]]]:
    """The function that ``worker.reward.reward_function=FILE:NAME`` names.

    The answer column (``data.answer_key``) holds, as an object or as its JSON, ``id`` (the same for all responses of a
    prompt, and for no others), ``prompt`` (a text or chat messages) and, if wanted, ``rubric`` and ``reference`` (an answer
    that the judge is shown). ``patience`` and ``stop`` are those of ``run.JudgedRun``. Raises ConfigError for a judge that
    cannot work; at run time, which ends the run, InputError for a column of another form, ConfigError for a judge that
    refuses every question, and CalipersError when patience is at its end.
    """
    require_text(rubric=rubric)
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)

    def reward(reward_inputs: Sequence[Mapping[str, Any]], **unexpected: Any) -> list[dict[str, float]]:
        if unexpected or isinstance(reward_inputs, Mapping):
            raise ConfigError(
                "this reward function takes a whole batch and no worker.reward.reward_function_kwargs: set neither these "
                'nor REWARD_TYPE = "sequential"'
            )
        return blocking.run(_judged(run, reward_inputs, rubric))

    return reward


async def _judged(run: JudgedRun, inputs: Sequence[Mapping[str, Any]], rubric: str | None) -> list[dict[str, float]]:
    rows = [_row(one["ground_truth"]) for one in inputs]
    groups = list(places([str(row["id"]) for row in rows]).values())
    for group in groups:
        if any(rows[place] != rows[group[0]] for place in group):
            raise InputError(f"rows with the id {rows[group[0]]['id']!r} have several prompts, rubrics or references")
    asked = [
        answers(
            rows[group[0]]["prompt"],
            [str(inputs[place]["response"]) for place in group],
            rubric=rubric_with_reference(
                run.judge, rubric_in(rows[group[0]], rubric, remedy=REMEDY), rows[group[0]].get("reference")
            ),
            name=str(rows[group[0]]["id"]),
        )
        for group in groups
    ]
    scores: dict[int, dict[str, float]] = {}
    for group, result in zip(groups, await run.score(asked), strict=True):
        scored = 0.0 if unscored(result.trajectories) else 1.0
        for place, reward in zip(group, floats(result), strict=True):
            scores[place] = {"overall": reward, "judge_scored": scored}
    return [scores[place] for place in range(len(inputs))]


def _row(column: Any) -> Mapping[str, Any]:
    try:
        row = json.loads(column) if isinstance(column, str) else column
    except ValueError as error:
        raise InputError(f"the answer column holds {column[:60]!r}, and must hold {_FORM}") from error
    if not isinstance(row, Mapping) or not {"id", "prompt"} <= row.keys():
        raise InputError(f"the answer column holds {str(column)[:60]!r}, and must hold {_FORM}")
    return row
