"""A reward function for verl's ``main_eval``: one response at a time, judged by itself on an absolute scale.

Not for training: a judge that sees one attempt at a time tells near-equals badly apart (``verl_agent_loop`` compares).
Needs neither verl nor Ray.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError
from calipers.judge import Judge
from calipers.trainers import blocking
from calipers.trainers.references import with_reference
from calipers.trainers.thoughts import thought_apart
from calipers.trainers.verl_rows import rubric_of, shown
from calipers.trainers.verl_settings import make_judge, read_settings
from calipers.types import TrajectoryResult

VERLS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""What verl's reward loop passes on beside ``reward_kwargs``."""

_KNOWN: Final = ("prompt", "question", "reference", "rubric")


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
    is pointwise unless it is given. ``ground_truth`` is a reference, or an object with any of ``prompt`` (text or messages),
    ``reference`` and ``rubric``; what it does not say is looked for in ``extra_info``.

    Raises CalipersError when the judge gives no score; with ``on_failure``, that number is returned instead, and is in every
    average as if it were one. Raises ConfigError for settings that cannot work.
    """
    require_number(on_failure)
    judge = _judge(as_key(settings))
    told = _told(ground_truth, extra_info)
    rubric, reference = rubric_of(told), shown(told.get("reference"))
    group = {
        "context": as_messages(told.get("prompt") if told.get("prompt") is not None else told.get("question")),
        "rubric": with_reference(rubric or judge.settings.standards, reference) if reference else rubric,
        "trajectories": [{"messages": [thought_apart({"role": "assistant", "content": solution_str})]}],
    }
    (row,) = blocking.run(judge.score_group(group)).trajectories
    return reward_of(row, data_source, on_failure=on_failure)


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


@lru_cache(maxsize=8)
def _judge(settings: str) -> Judge:
    """One judge for all responses that are judged alike."""
    table = {"protocol": "pointwise", **json.loads(settings), "absolute": True}
    return make_judge(read_settings(table))


def _told(ground_truth: object, extra_info: Mapping[str, Any] | None) -> dict[str, Any]:
    told = {key: value for key, value in (extra_info or {}).items() if key in _KNOWN}
    if not isinstance(ground_truth, Mapping) or not ground_truth.keys() & set(_KNOWN):
        return {**told, "reference": ground_truth}
    return told | {key: value for key, value in ground_truth.items() if key in _KNOWN and value is not None}


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
