"""A reward function for verl's ``main_eval``: each response is judged separately, on an absolute scale.

Not for training, because a judge that sees one response at a time distinguishes similar responses poorly. For training,
``verl.agent_loop`` compares responses. Needs neither verl nor Ray.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError
from calipers.inputs.plain import plain_data
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import Standards, ground_truth_object
from calipers.trainers.no_signal.run import Score
from calipers.trainers.process import blocking
from calipers.trainers.process.once import once_per_process
from calipers.trainers.rollouts.dataset_rows import standards_of_row
from calipers.trainers.rollouts.messages import assistant_message, rubric_text_with_reference
from calipers.trainers.verl.rows import reference_text
from calipers.trainers.verl.settings import make_judge, read_settings
from calipers.types import GroupResult, Rubric, TrajectoryResult

VERL_ARGUMENTS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""Arguments that verl's reward loop passes in addition to ``reward_kwargs``."""

PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text", "question")
"""Keys of a ground truth or ``extra_info`` that may hold the prompt. The first of them that is present counts."""


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
        from calipers.trainers.verl.recipes import verif  # noqa: PLC0415 - that module imports this one

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


async def judged_response(judge: Judge, score: Score, group: Any) -> GroupResult:
    """Return the judge's result for one response in verl.

    Raises ConfigError for a judge that refuses every question, also with ``on_failure``.
    """
    result = await score(group)
    await judge.require_answering()
    return result


def reward_of_response(row: TrajectoryResult, data_source: object, *, on_failure: float | None) -> float:
    """Return the reward of a response in verl, or ``on_failure`` if it has none.

    Raises CalipersError if both are None.
    """
    if row.reward is not None and row.score is not None:
        return row.reward
    if on_failure is None:
        raise CalipersError(f"a response of {data_source} got no score: {row.status}: {row.reason}")
    return float(on_failure)


def settings_as_text(settings: Mapping[str, Any]) -> str:
    """Return verl's ``reward_kwargs`` as text, equal for all responses.

    Raises ConfigError for a value that cannot be a setting.
    """
    own = {key: value for key, value in settings.items() if key not in VERL_ARGUMENTS}
    return json.dumps(own, sort_keys=True, default=_plain)


def require_number(on_failure: object) -> None:
    """Raise ConfigError unless ``on_failure`` in verl's settings is a finite number or None."""
    match on_failure:
        case None:
            return
        case int() | float() if not isinstance(on_failure, bool) and math.isfinite(on_failure):
            return
    raise ConfigError(f"on_failure={on_failure!r}: it must be a finite number; without it, a failure raises")


@once_per_process(maxsize=8)
def _judge(settings: str) -> Judge:
    """Return the Judge that all responses with the same settings share."""
    table = {**json.loads(settings), "absolute": True}
    return make_judge(read_settings(table))


def standards_in_row(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Standards:
    """Return the rubric, reference and rules of a row, from the fields that verl passes on. Raises InputError."""
    return standards_of_row({"reward_model": {"ground_truth": ground_truth}, "extra_info": extra_info})


def prompt_of_row(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Any:
    """Return the prompt of a verl row, as text or messages, or None if there is none."""
    for source in (ground_truth_object(plain_data(ground_truth)) or {}, extra_info or {}):
        prompt = next((source[key] for key in PROMPTS if source.get(key) is not None), None)
        if prompt is not None:
            return [prompt] if isinstance(prompt, Mapping) else plain_data(prompt)
    return None


def text_as_messages(prompt: Any) -> Any:
    """Return the text prompt of a verl row as messages; any other prompt unchanged."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def _plain(value: Any) -> Any:
    """Return OmegaConf's tables and lists as plain dicts and lists."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise ConfigError(f"{value!r} cannot be a setting of a judge: settings are text, numbers, lists and tables")
