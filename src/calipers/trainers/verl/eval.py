"""A reward function for verl's ``main_eval``: each response is judged separately, on an absolute scale.

Not for training, because a judge that sees one response at a time distinguishes similar responses poorly. For training,
``verl.agent_loop`` compares responses. Needs neither verl nor Ray.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calipers.judging.judge import Judge
from calipers.trainers.process import blocking
from calipers.trainers.process.once import once_per_process
from calipers.trainers.rollouts.messages import assistant_message, rubric_text_with_reference
from calipers.trainers.verl.recipes import verif
from calipers.trainers.verl.responses import (
    judged_response,
    prompt_of_row,
    require_number,
    reward_of_response,
    settings_as_text,
    standards_in_row,
    text_as_messages,
)
from calipers.trainers.verl.rows import reference_text
from calipers.trainers.verl.settings import make_judge, read_settings
from calipers.types import Rubric


def compute_score(
    data_source: object,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    **settings: Any,
) -> float:
    """Return the quality of one response in verl, from 0 to 1 (or in the judge's ``reward_range``).

    ``settings`` are options of ``calipers.Judge``, as in ``reward_kwargs``. ``judge`` is required. The default
    ``protocol`` is pointwise, or checklist if the row has criteria. ``ground_truth`` is a reference, or an object (or
    its JSON text) with any of these fields: ``prompt`` (text or messages), ``reference``, ``rubric``, ``rubrics``, and
    rules, with which the response is scored as by ``verif``. Missing fields are taken from ``extra_info``.

    Raises CalipersError if the judge gives no score. With ``on_failure``, that number is returned instead, and counts
    in every average like a score. Raises ConfigError for invalid settings, and for a judge that refuses every question.
    """
    require_number(on_failure)
    stated, prompt = standards_in_row(ground_truth, extra_info), prompt_of_row(ground_truth, extra_info)
    if stated.rules is not None:
        return verif(data_source, solution_str, ground_truth, extra_info, on_failure=on_failure, **settings)
    rubric, reference = stated.rubric, reference_text(stated)
    usual = {"protocol": "checklist" if isinstance(rubric, Rubric) else "pointwise"}
    judge = _judge(settings_as_text({**usual, **settings}))
    if reference and not isinstance(rubric, Rubric):
        rubric = rubric_text_with_reference(rubric or judge.settings.standards, reference)
    group = {
        "context": text_as_messages(prompt),
        "rubric": rubric,
        "trajectories": [{"messages": [assistant_message(solution_str)]}],
    }
    (row,) = blocking.run_coroutine(judged_response(judge, judge.score_group, group)).trajectories
    return reward_of_response(row, data_source, on_failure=on_failure)


@once_per_process(maxsize=8)
def _judge(settings: str) -> Judge:
    """Return the Judge that all responses with the same settings share."""
    table = {**json.loads(settings), "absolute": True}
    return make_judge(read_settings(table))
