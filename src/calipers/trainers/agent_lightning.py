"""Agent-Lightning 1.0: judge a step's completed rollouts, task by task, before they become a training batch.

``judged_hooks`` is for the file that ``agentlightning.hooks`` names; only it imports Agent-Lightning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.process import JudgeLike, as_judge, import_engine, run_coroutine
from calipers.trainers.rewards import NEUTRAL, trajectory_rewards
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, judged, require_settings, shared_run
from calipers.types import GroupResult

__all__ = ["judged_hooks", "rewarded"]

_MIN_SCORED: Final = 2
"""The fewest scored rollouts of a task that can be compared."""

_ORIGINAL: Final = "calipers_original"
_NEEDED: Final = "Agent-Lightning 1.0 is needed: pip install 'agentlightning>=1.0'"


def judged_hooks(
    judge: JudgeLike,
    *,
    weight: float = 1.0,
    rubric: str | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a class of rollout hooks for Agent-Lightning that has each step's rollouts judged.

    Export it from the hooks file. Agent-Lightning's trainer chooses its rollout managers itself, and a hook sees one
    rollout at a time. So when the hooks are started, they wrap the two methods of the managers that return completed
    rollouts, and pass what these return through ``rewarded``, whose arguments the others are.
    """
    require_settings("agentlightning", patience=patience, stop=stop, weight=weight, rubric=rubric)
    rollout_hooks: Any = import_engine("agentlightning.hooks", remedy=_NEEDED).RolloutHooks
    managers = import_engine("agentlightning.verl.agl_rollout_manager", remedy=_NEEDED)
    rescore = partial(rewarded, judge=as_judge(judge), weight=weight, rubric=rubric, patience=patience, stop=stop)

    class JudgedHooks(rollout_hooks):  # type: ignore[misc]  # Agent-Lightning is not there when types are checked
        """Leaves Agent-Lightning's single rollouts unchanged, and has whole steps judged."""

        def on_startup(self, store: Any | None = None) -> None:
            super().on_startup(store)
            _apply_after(managers.AglRolloutManager, "enqueue_and_wait_until_completed", rescore)
            _apply_after(
                managers.AglAsyncRolloutManager,
                "enqueue_and_wait_until_group_completed",
                lambda returned, is_train: (rescore(returned[0], is_train=is_train), *returned[1:]),
            )

    return JudgedHooks


def rewarded(
    completed: Sequence[Any],
    judge: Judge,
    *,
    is_train: bool = True,
    weight: float = 1.0,
    rubric: str | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> list[Any]:
    """Return Agent-Lightning's completed rollouts in the same order, with the judge's rewards added to their own.

    The judge's reward is in [0, 1], multiplied by ``weight``. Rollouts with one ``data_id`` are a group. Not judged
    are those without a model call, and those without an own reward in a group where others have one.

    Rollouts without a reward of the judge, or with the only one of their group, lose their reward and their trainable
    parts, so that the group's advantages are those of the others. If nothing trainable remained in the whole step, the
    Agent-Lightning run would end: then all rollouts that could be compared get the same reward, and advantages of 0.

    A task that was rolled out once (validation) does not change, or is judged by a Judge with ``absolute=True``. If the
    judge is not absolute, a training step in which every task was rolled out once is a ConfigError.
    """
    run = shared_run(judge, patience, stop, min_scored=_MIN_SCORED, consequence="so none of it is trained on")
    groups: dict[Any, list[int]] = {}
    for at, rollout in enumerate(completed):
        groups.setdefault(rollout.data_id, []).append(at)
    alone = {positions[0] for positions in groups.values() if len(positions) == 1}
    absolute = judge.settings.question.absolute
    if is_train and not absolute and len(alone) == len(groups) > 0:
        raise ConfigError(
            "each task was rolled out once, so there is nothing to compare: set actor_rollout_ref.rollout.n to 2 or "
            "more, or use a Judge with absolute=True"
        )
    comparable = [_comparable_positions(completed, positions) for positions in groups.values()]
    asked = [at for found in comparable for at in found if len(found) > 1 or (absolute and alone.issuperset(found))]
    rows = [
        Row(completed[at].data_id, _conversation(completed[at]), rubric=rubric, name=str(completed[at].data_id))
        for at in asked
    ]
    # final_reward is the agent's own reward. It is None only if no rollout of the group reported a reward.
    rewards = {
        at: float(completed[at].final_reward or 0.0) + weight * reward
        for at, (reward, scored) in zip(asked, run_coroutine(judged(run, rows, _comparable_rewards)), strict=True)
        if reward is not None and (scored >= _MIN_SCORED or at in alone)
    }
    if is_train and asked and not rewards:
        rewards = {at: NEUTRAL for at in asked if at not in alone}
    unchanged = set() if is_train and absolute else alone
    return [
        rollout if at in unchanged and at not in rewards else _with_reward(rollout, rewards.get(at))
        for at, rollout in enumerate(completed)
    ]


def _comparable_rewards(result: GroupResult) -> list[tuple[float | None, int]]:
    """Return each rollout's reward with the number of rewards in its group."""
    rewards = trajectory_rewards(result)
    return [(reward, len(rewards) - rewards.count(None)) for reward in rewards]


def _apply_after(manager: type, name: str, then: Callable[..., Any]) -> None:
    """Replace a method of Agent-Lightning's manager by one that applies ``then`` to the method's result.

    A second call replaces only ``then``.
    """
    method = getattr(manager, name)
    original = getattr(method, _ORIGINAL, method)

    @wraps(original)
    def extended(self: Any, *args: Any, is_train: bool, **settings: Any) -> Any:
        return then(original(self, *args, is_train=is_train, **settings), is_train=is_train)

    setattr(extended, _ORIGINAL, original)
    setattr(manager, name, extended)


def _comparable_positions(completed: Sequence[Any], positions: Sequence[int]) -> list[int]:
    """Return the positions of a group's Agent-Lightning rollouts that can be compared.

    These rollouts called the model. If any rollout of the group has an own reward, they also have one.
    """
    called = {at: completed[at].final_reward for at in positions if completed[at].triplets}
    finite = {at: own for at, own in called.items() if own is None or math.isfinite(own)}
    some = any(own is not None for own in finite.values())
    return [at for at, own in finite.items() if own is not None or not some]


def _with_reward(rollout: Any, reward: float | None) -> Any:
    if reward is None:
        return rollout.model_copy(update={"final_reward": None, "triplets": []})
    *before, last = rollout.triplets
    triplets = [*before, last.model_copy(update={"reward": reward})]
    return rollout.model_copy(update={"final_reward": reward, "triplets": triplets})


def _conversation(rollout: Any) -> dict[str, Any]:
    """Return an Agent-Lightning rollout's conversation: its model calls in order.

    A call whose messages a later call repeats is omitted.
    """
    requests = [_answered_call(event["data"]) for event in rollout.events if event["event_type"] == "model_request"]
    answered = [(messages, tools) for messages, tools in requests if messages]
    histories = [
        {"messages_and_choices": messages, "tools": tools}
        for number, (messages, tools) in enumerate(answered)
        if not any(later[: len(messages)] == messages for later, _ in answered[number + 1 :])
    ]
    first, *more = histories or [{"messages_and_choices": [], "tools": []}]
    return {**first, "additional_histories": more}


def _answered_call(data: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the messages of a model call, including its answer, and its tools. An unanswered call has no messages."""
    request, response, status = data.get("request"), data.get("response"), data.get("http_status")
    failed = data.get("status") == "error" or (isinstance(status, int) and status >= 400)
    if failed or not isinstance(request, Mapping) or not isinstance(response, Mapping) or not response.get("choices"):
        return [], []
    reply = response["choices"][0].get("message")
    if not isinstance(reply, Mapping):
        return [], []
    return [*request.get("messages", ()), {"role": "assistant", **reply}], list(request.get("tools") or ())
