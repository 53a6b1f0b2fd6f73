"""A reward function for verl that sees one response at a time, for ``main_eval`` and verl's own reward loop.

Not for training by comparison: a judge that sees one response at a time distinguishes similar responses poorly. Needs
neither verl nor Ray.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group
from calipers.inputs.plain import plain_data
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import ground_truth_object
from calipers.trainers.process import once_per_process, run_coroutine
from calipers.trainers.rows import assistant_message, prompt_messages, standards_of_row
from calipers.trainers.verl.judging import (
    VerlSettings,
    common_group_fields,
    group_scorer,
    make_judge,
    read_settings,
    row_constraints,
)
from calipers.types import GroupResult, Rubric, TrajectoryGroup
from calipers.types.encoding import finite_number

_VERL_ARGUMENTS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""Arguments that verl's reward loop passes in addition to ``reward_kwargs``."""

_PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text", "question")
"""Keys of a ground truth or ``extra_info`` that may hold the prompt. The first of them that is present counts."""


def compute_score(
    data_source: object,
    solution_str: str,
    ground_truth: object = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    **settings: Any,
) -> float:
    """Return the quality of one response in verl, from 0 to 1 (or in the judge's ``reward_range``).

    ``settings`` are options of ``calipers.Judge``, as in ``reward_kwargs``, and ``rules`` as in verl's table; ``judge``
    is required. ``ground_truth`` is a reference, or an object (or its JSON text) with any of these fields: ``prompt``
    (text or messages), ``reference``, ``rubric``, ``rubrics``, and rules. Missing fields are taken from ``extra_info``.
    The row decides the defaults: with rules, ``rules="code"``; with criteria, ``protocol="checklist"``; otherwise
    ``protocol="pointwise"``.

    Raises CalipersError if the judge gives no score. With ``on_failure``, that number is returned instead, and counts
    in every average like a score. Raises ConfigError for invalid settings, and for a judge that refuses every question;
    InputError for a row that cannot be read, or with soft constraints and no prompt.
    """
    if on_failure is not None and finite_number(on_failure) is None:
        raise ConfigError(f"on_failure={on_failure!r}: it must be a finite number; without it, a failure raises")
    row: dict[str, Any] = {"reward_model": {"ground_truth": ground_truth}, "extra_info": extra_info}
    stated = standards_of_row(row)
    usual: dict[str, Any] = {}
    if stated.rules is not None:
        usual = {"rules": "code"}
    elif isinstance(stated.rubric, Rubric):
        usual = {"protocol": "checklist"}
    elif "rules" not in settings:
        usual = {"protocol": "pointwise", "absolute": True}
    chosen = {key: value for key, value in settings.items() if key not in _VERL_ARGUMENTS}
    judge, scorer, table = _scorer(json.dumps(plain_data({"reference": True, **usual, **chosen}), sort_keys=True))
    prompt = _prompt(ground_truth, extra_info)
    row["raw_prompt"] = prompt_messages(prompt or ())
    common = common_group_fields(row, table, rubric=judge.settings.standards)
    group = as_group({**common, "trajectories": [{"messages": [assistant_message(solution_str)]}]})
    if prompt is None and table.rules is not None and row_constraints(group, rules=table.rules).soft:
        raise InputError(
            f"{data_source}: a judge must know what was asked, and neither the ground truth nor extra_info has "
            f"{' or '.join(_PROMPTS)}. calipers generate -o OUT.parquet writes the prompt into the ground truth"
        )
    (scored,) = run_coroutine(_judged(judge, scorer, group)).trajectories
    if scored.reward is not None and scored.score is not None:
        return scored.reward
    if on_failure is None:
        raise CalipersError(f"a response of {data_source} got no score: {scored.status}: {scored.reason}")
    return float(on_failure)


async def _judged(judge: Judge, scorer: Judge | Hybrid, group: TrajectoryGroup) -> GroupResult:
    result = await scorer.score_group(group)
    await judge.require_answering()  # also with on_failure: the average of a whole evaluation would be that number
    return result


@once_per_process(maxsize=8)
def _scorer(table: str) -> tuple[Judge, Judge | Hybrid, VerlSettings]:
    """Return the judge and the scorer that all responses with the same settings share."""
    settings = read_settings(json.loads(table))
    judge = make_judge(settings)
    return judge, group_scorer(settings, judge), settings


def _prompt(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Any:
    """Return the prompt of a row, as text or messages, or None if there is none."""
    for source in (ground_truth_object(plain_data(ground_truth)) or {}, extra_info or {}):
        prompt = next((source[key] for key in _PROMPTS if source.get(key) is not None), None)
        if prompt is not None:
            return [prompt] if isinstance(prompt, Mapping) else plain_data(prompt)
    return None
