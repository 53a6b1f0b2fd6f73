"""NeMo-Gym: a resources server whose ``/verify`` gathers a prompt's rollouts and judges them against one another.

NeMo-Gym is imported only to make the server. Not responsible for groups (``cohort``), or for NeMo-RL's own environments
(``nemo_rl``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import ConfigError
from calipers.trainers.no_signal.one_float import as_float, complete_cohorts, is_scored, run_for_floats
from calipers.trainers.no_signal.run import Stop
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.dataset_rows import REMEDY, rubric_in
from calipers.trainers.rollouts.messages import context_of

__all__ = ["resources_server"]

_TASK: Final = "_ng_task_index"
_OPEN: Final[Any] = {"extra": "allow"}
"""Rows bring fields of their own, which go back with the reward."""

_TRAINING: Final = frozenset({"prompt_token_ids", "generation_token_ids", "generation_log_probs", "routed_experts"})
"""What NeMo-Gym adds to a model's items for the trainer; no judge's business."""


def resources_server(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 1800.0,
    patience: int | None = None,
    stop: Stop | None = None,
) -> type:
    """A ``SimpleResourcesServer`` for an ``app.py`` of NeMo-Gym: its reward is the judge's, in [0, 1].

    A request waits until ``group_size`` rollouts of its task and prompt are there (``num_repeats``, or NeMo-RL's
    ``num_generations_per_prompt``), and ``deadline`` seconds at most from the first; if the group is not whole by then, or
    any of it stays without a score, all of it get the same reward. A row's own ``group_size`` and ``rubric`` come before
    these, so that a validation set may have other ones. Replies say ``judge_scored``: 1.0 or 0.0.

    A judge that refuses every question, or ``patience`` lost groups in a row (``run.JudgedRun``), are an HTTP error for
    every rollout from then on, with the reason. Raises ConfigError where NeMo-Gym is not installed and for settings that
    cannot work. One process serves all.
    """
    warn_untested("nemo-gym", "0.4", "0.5")
    require_text(rubric=rubric)
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    try:
        from nemo_gym import base_resources_server as gym  # noqa: PLC0415 - only where NeMo-Gym is used
    except ImportError as error:
        raise ConfigError(f"NeMo-Gym is needed: pip install nemo-gym, with Python 3.12 or newer ({error})") from error
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
    cohorts = complete_cohorts(run, size=group_size, deadline=deadline)

    class Request(gym.BaseVerifyRequest):  # type: ignore[misc]  # NeMo-Gym is not there when types are checked
        model_config = _OPEN

    class Response(gym.BaseVerifyResponse):  # type: ignore[misc]  # likewise
        model_config = _OPEN
        judge_scored: float

    async def verify(_: Any, body: Any) -> Any:
        """The rollout as it came, with its reward."""
        run.require_running()
        row = body.model_dump(mode="json")
        share = await cohorts.join(
            _key(row),
            {"messages": _items(row["response"]["output"])},
            size=row.get("group_size"),
            group={"context": _prompt(row), "rubric": rubric_in(row, rubric, remedy=REMEDY)},
        )
        return Response.model_validate({**row, "reward": as_float(share), "judge_scored": float(is_scored(share))})

    # FastAPI reads a request's form from here, and cannot find classes that are named inside a function.
    verify.__annotations__ = {"body": Request, "return": Response}
    return type("JudgeResourcesServer", (gym.SimpleResourcesServer,), {"verify": verify, "__module__": __name__})


def _key(row: Mapping[str, Any]) -> tuple[Any, str]:
    """Task indices begin again with each batch, and texts recur: together they tell more than either."""
    return row.get(_TASK), json.dumps(row["responses_create_params"], sort_keys=True, default=str)


def _prompt(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    asked = row["responses_create_params"]
    instructions = asked.get("instructions")
    before = [{"role": "system", "content": instructions}] if instructions else []
    given = asked["input"]
    return [*before, *context_of(given if isinstance(given, str) else _items(given))]


def _items(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if key not in _TRAINING} for item in items]
