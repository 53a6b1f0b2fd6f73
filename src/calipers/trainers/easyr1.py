"""EasyR1: a batch reward function that finds each prompt's responses in the shuffled batch and judges them together.

EasyR1 passes a reward function neither prompts nor ids, only a row's answer column, so that column must hold both.
EasyR1 is never imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.trainers.process import JudgeLike, run_coroutine
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.rows import rubric_of_row
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, judged, run_for_floats

__all__ = ["batch_reward"]


def batch_reward(
    judge: JudgeLike, *, patience: Lasting = PATIENCE, stop: Stop | None = None
) -> Callable[[Sequence[Mapping[str, Any]]], list[dict[str, float]]]:
    """Return the function for EasyR1's ``worker.reward.reward_function=FILE:NAME``.

    The answer column (``data.answer_key``) holds an object, or its JSON, with these fields. ``id`` is the same for all
    responses of a prompt, and for no others. ``prompt`` is text or chat messages. ``rubric`` and ``reference`` are
    optional; ``reference`` is an answer that is part of the judge's question. A column of another form is an
    InputError, which ends the run.
    """
    run = run_for_floats(judge, patience=patience, stop=stop)

    def reward(reward_inputs: Sequence[Mapping[str, Any]], **unexpected: Any) -> list[dict[str, float]]:
        if unexpected or isinstance(reward_inputs, Mapping):
            raise ConfigError(
                "this reward function takes a whole batch and no worker.reward.reward_function_kwargs: remove these, "
                'and REWARD_TYPE = "sequential"'
            )
        rewards = run_coroutine(judged(run, [_row(row) for row in reward_inputs], rewards_or_constant))
        return [{"overall": share} for share in rewards]

    return reward


def _row(given: Mapping[str, Any]) -> Row:
    column = row = given["ground_truth"]
    try:
        row = json.loads(column) if isinstance(column, str) else column
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, Mapping) or not {"id", "prompt"} <= row.keys():
        raise InputError(
            f"the answer column holds {str(column)[:60]!r}; it must hold an object, or its JSON, such as "
            '{"id": "row 17", "prompt": "What is 2 + 2?"}'
        )
    name = str(row["id"])
    return Row(name, str(given["response"]), row["prompt"], rubric_of_row(row), row.get("reference"), name)
