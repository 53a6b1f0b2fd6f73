"""A reward function for verl's ``main_eval``: one response at a time, judged by itself on an absolute scale.

Not for training: a judge that sees one attempt at a time tells near-equals badly apart (``verl_agent_loop`` compares).
Needs neither verl nor Ray.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError
from calipers.judging.judge import Judge
from calipers.readers.plain import plain
from calipers.rubric.standards import Standards, as_truth
from calipers.trainers.no_signal.run import Score
from calipers.trainers.process import blocking
from calipers.trainers.process.once import once_per_process
from calipers.trainers.rollouts.dataset_rows import standards_of
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.rollouts.references import with_reference
from calipers.trainers.verl.rows import shown
from calipers.trainers.verl.settings import make_judge, read_settings
from calipers.types import GroupResult, Rubric, TrajectoryResult

VERLS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""What verl's reward loop passes on beside ``reward_kwargs``."""

PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text", "question")
"""Where a ground truth or ``extra_info`` may have what was asked, the first that is there."""


def compute_score(
    data_source: object,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    **settings: Any,
) -> float:
    """How good one response is, from 0 to 1 (or in the judge's ``reward_range``), by the judge that ``settings`` describe.

    ``settings`` are the arguments of ``calipers.Judge``, as ``reward_kwargs`` hold them: ``judge`` is required, ``protocol``
    is pointwise unless it is given, and checklist where the row brings criteria. ``ground_truth`` is a reference, or an object
    (or its JSON text) with any of ``prompt`` (text or messages), ``reference`` and what a data set's row may ask for:
    ``rubric``, ``rubrics``, or rules, with which the response is scored as by ``verif``. What it does not say is looked for in
    ``extra_info``.

    Raises CalipersError when the judge gives no score; with ``on_failure``, that number is returned instead, and is in every
    average as if it were one. Raises ConfigError for settings that cannot work, and for a judge that refuses every question.
    """
    require_number(on_failure)
    stated, prompt = asked_of(ground_truth, extra_info), prompt_of(ground_truth, extra_info)
    if stated.rules is not None:
        from calipers.trainers.verl.recipes import verif  # noqa: PLC0415 - it is built upon this module

        return verif(data_source, solution_str, ground_truth, extra_info, on_failure=on_failure, **settings)
    rubric, reference = stated.rubric, "" if stated.reference is None else shown(stated.reference.value)
    usual = {"protocol": "checklist" if isinstance(rubric, Rubric) else "pointwise"}
    judge = _judge(as_key({**usual, **settings}))
    if reference and not isinstance(rubric, Rubric):
        rubric = with_reference(rubric or judge.settings.standards, reference)
    group = {
        "context": as_messages(prompt),
        "rubric": rubric,
        "trajectories": [{"messages": [split_reasoning({"role": "assistant", "content": solution_str})]}],
    }
    (row,) = blocking.run(scored(judge, judge.score_group, group)).trajectories
    return reward_of(row, data_source, on_failure=on_failure)


async def scored(judge: Judge, score: Score, group: Any) -> GroupResult:
    """A response's result. Raises ConfigError, whatever stands for failures, for a judge that refuses every question."""
    result = await score(group)
    await judge.require_answering()
    return result


def reward_of(row: TrajectoryResult, data_source: object, *, on_failure: float | None) -> float:
    """The reward of a response, else ``on_failure``; without that, a failure raises CalipersError."""
    if row.reward is not None and row.score is not None:
        return row.reward
    if on_failure is None:
        raise CalipersError(f"a response of {data_source} got no score: {row.status}: {row.reason}")
    return float(on_failure)


def as_key(settings: Mapping[str, Any]) -> str:
    """``reward_kwargs`` as text, the same for all responses. Raises ConfigError for what cannot be a setting."""
    given = {key: value for key, value in settings.items() if key not in VERLS}
    return json.dumps(given, sort_keys=True, default=_plain)


def require_number(on_failure: object) -> None:
    """ConfigError for what cannot stand for a failure: it must be a finite number, or None."""
    match on_failure:
        case None:
            return
        case int() | float() if not isinstance(on_failure, bool) and math.isfinite(on_failure):
            return
    raise ConfigError(f"on_failure={on_failure!r}: it must be a finite number; without it, a failure raises")


@once_per_process(maxsize=8)
def _judge(settings: str) -> Judge:
    """One judge for all responses that are judged alike."""
    table = {**json.loads(settings), "absolute": True}
    return make_judge(read_settings(table))


def asked_of(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Standards:
    """What a row asks for, by what verl hands a reward function of it. Raises InputError."""
    return standards_of({"reward_model": {"ground_truth": ground_truth}, "extra_info": extra_info})


def prompt_of(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Any:
    """What was asked, text or messages; None where nothing says it."""
    for told in (as_truth(plain(ground_truth)) or {}, extra_info or {}):
        prompt = next((told[key] for key in PROMPTS if told.get(key) is not None), None)
        if prompt is not None:
            return [prompt] if isinstance(prompt, Mapping) else plain(prompt)
    return None


def as_messages(prompt: Any) -> Any:
    """A prompt of text as messages; any other as it is."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def _plain(value: Any) -> Any:
    """OmegaConf's tables and lists as plain ones."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise ConfigError(f"{value!r} cannot be a setting of a judge: settings are text, numbers, lists and tables")
