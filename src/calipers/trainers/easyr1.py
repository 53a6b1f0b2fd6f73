"""EasyR1: a batch reward function that finds each prompt's responses in the shuffled batch and judges them together.

EasyR1 passes a reward function neither prompts nor ids, only a row's answer column, so that column must hold both.
EasyR1 is never imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.rewards import rewards_or_constant, unscored_trajectories
from calipers.trainers.no_signal.run import PATIENCE, JudgedRun, Lasting, Stop, run_for_floats
from calipers.trainers.process import JudgeLike, as_judge, run_coroutine
from calipers.trainers.rollouts.groups import rollout_group
from calipers.trainers.rollouts.rows import positions_by_key, rubric_of_row, rubric_with_reference
from calipers.types import GroupResult

__all__ = ["batch_reward"]

_FORM = 'an object, or its JSON, such as {"id": "row 17", "prompt": "What is 2 + 2?"}'


def batch_reward(
    judge: JudgeLike, *, rubric: str | None = None, patience: Lasting = PATIENCE, stop: Stop | None = None
) -> Callable[[Sequence[Mapping[str, Any]]], list[dict[str, float]]]:
    """Return the function for EasyR1's ``worker.reward.reward_function=FILE:NAME``.

    The answer column (``data.answer_key``) holds an object, or its JSON, with these fields. ``id`` is the same for all
    responses of a prompt, and for no others. ``prompt`` is text or chat messages. ``rubric`` and ``reference`` are
    optional; ``reference`` is an answer that is part of the judge's question. A column of another form is an
    InputError, which ends the run.
    """
    require_text(rubric=rubric)
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)

    def reward(reward_inputs: Sequence[Mapping[str, Any]], **unexpected: Any) -> list[dict[str, float]]:
        if unexpected or isinstance(reward_inputs, Mapping):
            raise ConfigError(
                "this reward function takes a whole batch and no worker.reward.reward_function_kwargs: remove these, "
                "and "
                'REWARD_TYPE = "sequential"'
            )
        return run_coroutine(_judged(run, reward_inputs, rubric))

    return reward


async def _judged(run: JudgedRun, inputs: Sequence[Mapping[str, Any]], rubric: str | None) -> list[dict[str, float]]:
    rows = [_row(one["ground_truth"]) for one in inputs]
    groups = list(positions_by_key([str(row["id"]) for row in rows]).values())
    for group in groups:
        if any(rows[at] != rows[group[0]] for at in group):
            raise InputError(f"rows with the id {rows[group[0]]['id']!r} have several prompts, rubrics or references")
    asked = [
        rollout_group(
            [str(inputs[at]["response"]) for at in group],
            prompt=row["prompt"],
            rubric=rubric_with_reference(run.judge, rubric_of_row(row, rubric), row.get("reference")),
            name=str(row["id"]),
        )
        for group in groups
        for row in (rows[group[0]],)
    ]
    return await run.score_positions(groups, asked, _scores)


def _scores(result: GroupResult) -> list[dict[str, float]]:
    scored = 0.0 if unscored_trajectories(result.trajectories) else 1.0
    return [{"overall": reward, "judge_scored": scored} for reward in rewards_or_constant(result)]


def _row(column: Any) -> Mapping[str, Any]:
    try:
        row = json.loads(column) if isinstance(column, str) else column
    except ValueError as error:
        raise InputError(f"the answer column holds {column[:60]!r}; it must hold {_FORM}") from error
    if not isinstance(row, Mapping) or not {"id", "prompt"} <= row.keys():
        raise InputError(f"the answer column holds {str(column)[:60]!r}; it must hold {_FORM}")
    return row
