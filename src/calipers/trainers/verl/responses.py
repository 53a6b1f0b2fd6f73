"""Single responses in verl: what a row says of them, the settings that come with them, and their rewards.

Shared by ``verl.eval`` and ``verl.recipes``. Needs neither verl nor Ray.
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
from calipers.trainers.rollouts.dataset_rows import standards_of_row
from calipers.trainers.verl.reward_model import with_router
from calipers.types import GroupResult, TrajectoryResult

VERL_ARGUMENTS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""Arguments that verl's reward loop passes in addition to ``reward_kwargs``."""

PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text", "question")
"""Keys of a ground truth or ``extra_info`` that may hold the prompt. The first of them that is present counts."""


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
    """Return verl's ``reward_kwargs`` as text, equal for all responses, with verl's router for ``base_url=router``.

    Raises ConfigError for a value that cannot be a setting.
    """
    own = {key: value for key, value in settings.items() if key not in VERL_ARGUMENTS}
    own = with_router(own, settings.get("reward_router_address"))
    return json.dumps(own, sort_keys=True, default=_plain)


def require_number(on_failure: object) -> None:
    """Raise ConfigError unless ``on_failure`` in verl's settings is a finite number or None."""
    match on_failure:
        case None:
            return
        case int() | float() if not isinstance(on_failure, bool) and math.isfinite(on_failure):
            return
    raise ConfigError(f"on_failure={on_failure!r}: it must be a finite number; without it, a failure raises")


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
