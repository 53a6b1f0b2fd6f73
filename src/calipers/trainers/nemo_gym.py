"""NeMo-Gym: a resources server whose ``/verify`` collects a prompt's rollouts and judges them against one another.

NeMo-Gym is imported only to make the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.config.arguments import require_above_zero, require_whole
from calipers.registry import import_library
from calipers.trainers.cohorts import Key, key_of_prompt
from calipers.trainers.process import JudgeLike
from calipers.trainers.rows import prompt_messages, rubric_of_row
from calipers.trainers.run import PATIENCE, Lasting, Stop, complete_cohorts, float_reward, run_for_floats

__all__ = ["resources_server"]

_TASK: Final = "_ng_task_index"
_ROLLOUT: Final = "_ng_rollout_index"
_OPEN: Final[Any] = {"extra": "allow"}
"""Rows may have more fields, which are returned with the reward."""

_TRAINING: Final = frozenset({"prompt_token_ids", "generation_token_ids", "generation_log_probs", "routed_experts"})
"""Fields that NeMo-Gym adds to a model's items for the trainer. The judge does not see them."""


def resources_server(
    judge: JudgeLike,
    *,
    group_size: int,
    deadline: float = 1800.0,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a ``SimpleResourcesServer`` for an ``app.py`` of NeMo-Gym. Its reward is the judge's, in [0, 1].

    A request waits until ``group_size`` rollouts of its task and prompt have arrived, for at most ``deadline`` seconds
    from the first rollout. ``group_size`` is NeMo-Gym's ``num_repeats``, or NeMo-RL's ``num_generations_per_prompt``.
    If the group is incomplete then, or any rollout stays without a score, the whole group gets the same reward. A row's
    own ``group_size`` and rubric take precedence, so that a validation set may have others.

    When the run is over, every rollout gets an HTTP error with the reason. One process must serve all requests.
    """
    run = run_for_floats(judge, patience=patience, stop=stop)
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    gym = import_library(
        "nemo_gym.base_resources_server", remedy="NeMo-Gym is needed: pip install nemo-gym, with Python 3.12 or newer"
    )
    base_request: Any = gym.BaseVerifyRequest
    base_response: Any = gym.BaseVerifyResponse
    cohorts = complete_cohorts(run, size=group_size, deadline=deadline)

    class Request(base_request):  # type: ignore[misc]  # NeMo-Gym is not there when types are checked
        model_config = _OPEN

    class Response(base_response):  # type: ignore[misc]  # likewise
        model_config = _OPEN

    async def verify(_: Any, body: Any) -> Any:
        """Return the rollout of a ``/verify`` request as received, with its reward."""
        run.require_running()
        row = body.model_dump(mode="json")
        name = {} if (number := row.get(_ROLLOUT)) is None else {"id": str(number)}
        member = await cohorts.join(
            group_key(row),
            {**name, "messages": items_for_judge(row["response"]["output"])},
            size=row.get("group_size"),
            group={"context": prompt_of(row), "rubric": rubric_of_row(row)},
        )
        return Response.model_validate({**row, "reward": float_reward(member)})

    # FastAPI reads a request's type from annotations, and cannot resolve names of classes inside a function.
    verify.__annotations__ = {"body": Request, "return": Response}
    return type("JudgeResourcesServer", (gym.SimpleResourcesServer,), {"verify": verify, "__module__": __name__})


def group_key(row: Mapping[str, Any]) -> Key:
    """Return the key of a rollout's group in NeMo-Gym: task index and prompt; indices restart with each batch."""
    task, asked = row.get(_TASK), row["responses_create_params"]
    key = key_of_prompt(asked["input"], repr(task), json.dumps(asked, sort_keys=True, default=str))
    return key if task is None else (f"task {task}, {key[0]}", *key[1:])


def prompt_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chat messages of a row's prompt in NeMo-Gym. Raises InputError for a prompt that cannot be read."""
    parameters = row["responses_create_params"]
    instructions, prompt = parameters.get("instructions"), parameters["input"]
    system = [{"role": "system", "content": instructions}] if instructions else []
    return [*system, *prompt_messages(prompt if isinstance(prompt, str) else items_for_judge(prompt))]


def items_for_judge(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a model's items in a row of NeMo-Gym without the fields that are for the trainer only."""
    return [{key: value for key, value in item.items() if key not in _TRAINING} for item in items]
