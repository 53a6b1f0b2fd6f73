"""Agent-Lightning 1.0: judge a step's completed rollouts, task by task, before they become a training batch.

``judged_hooks`` is for the file that ``agentlightning.hooks`` names; only it imports Agent-Lightning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.registry import import_library
from calipers.trainers.process import JudgeLike, as_judge, run_coroutine
from calipers.trainers.rewards import NEUTRAL, trajectory_rewards
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, judged
from calipers.types import GroupResult

__all__ = ["judged_hooks"]

MIN_SCORED: Final = 2
"""The fewest scored rollouts of a task that can be compared."""

_ORIGINAL: Final = "calipers_original"
_NEEDED: Final = "Agent-Lightning 1.0 is needed: pip install 'agentlightning>=1.0'"


def judged_hooks(judge: JudgeLike, *, patience: Lasting = PATIENCE, stop: Stop | None = None) -> type:
    """Return a class of rollout hooks for Agent-Lightning that has each training step's rollouts judged.

    Export it from the hooks file. Agent-Lightning's trainer chooses its rollout managers itself, and a hook sees one
    rollout at a time. So when the hooks are started, they wrap the two methods of the managers that return completed
    rollouts, and pass what these return through ``rewarded``. Validation rollouts do not change.
    """
    rollout_hooks: Any = import_library("agentlightning.hooks", remedy=_NEEDED).RolloutHooks
    managers = import_library("agentlightning.verl.agl_rollout_manager", remedy=_NEEDED)
    consequence = "so none of it is trained on"
    run = JudgedRun(as_judge(judge), patience=patience, stop=stop, min_scored=MIN_SCORED, consequence=consequence)
    rescore = partial(rewarded, run)

    class JudgedHooks(rollout_hooks):  # type: ignore[misc]  # Agent-Lightning is not there when types are checked
        """Leaves Agent-Lightning's single rollouts unchanged, and has whole steps judged."""

        def on_startup(self, store: Any | None = None) -> None:
            super().on_startup(store)
            _apply_in_training(managers.AglRolloutManager, "enqueue_and_wait_until_completed", rescore)
            _apply_in_training(
                managers.AglAsyncRolloutManager,
                "enqueue_and_wait_until_group_completed",
                lambda returned: (rescore(returned[0]), *returned[1:]),
            )

    return JudgedHooks


def rewarded(run: JudgedRun, completed: Sequence[Any]) -> list[Any]:
    """Return Agent-Lightning's completed rollouts in the same order, with the judge's rewards, in [0, 1], added to
    their own.

    Rollouts with one ``data_id`` are a group. Not judged are those without a model call, and those without an own
    reward in a group where others have one. A rollout that is not judged or not scored, or is the only one of its
    group that is, loses its reward and its trainable parts, so that the group's advantages are those of the others. If
    nothing trainable remained, the Agent-Lightning run would end: then all that could be compared get the same reward.

    Raises ConfigError if every task was rolled out once.
    """
    groups: dict[Any, list[int]] = {}
    for at, rollout in enumerate(completed):
        groups.setdefault(rollout.data_id, []).append(at)
    if completed and len(groups) == len(completed):
        raise ConfigError(
            "each task was rolled out once, so nothing can be compared: set actor_rollout_ref.rollout.n to 2 or more"
        )
    comparable = [_comparable_positions(completed, positions) for positions in groups.values()]
    asked = [at for positions in comparable if len(positions) >= MIN_SCORED for at in positions]
    rows = [
        Row(rollout.data_id, _exchanges(rollout), name=str(rollout.data_id))
        for rollout in (completed[at] for at in asked)
    ]
    scored = zip(asked, run_coroutine(judged(run, rows, _rewards_of_several)), strict=True)
    # final_reward is the agent's own reward. It is None only if no rollout of the group reported a reward.
    rewards = {at: float(completed[at].final_reward or 0.0) + reward for at, reward in scored if reward is not None}
    rewards = rewards or dict.fromkeys(asked, NEUTRAL)
    return [_with_reward(rollout, rewards.get(at)) for at, rollout in enumerate(completed)]


def _rewards_of_several(result: GroupResult) -> list[float | None]:
    rewards = trajectory_rewards(result)
    return rewards if len(rewards) - rewards.count(None) >= MIN_SCORED else [None] * len(rewards)


def _apply_in_training(manager: type, name: str, then: Callable[[Any], Any]) -> None:
    """Replace a method of Agent-Lightning's manager by one that applies ``then`` to the method's result in training.

    A second call replaces only ``then``.
    """
    method = getattr(manager, name)
    original = getattr(method, _ORIGINAL, method)

    @wraps(original)
    def extended(self: Any, *args: Any, is_train: bool, **settings: Any) -> Any:
        returned = original(self, *args, is_train=is_train, **settings)
        return then(returned) if is_train else returned

    setattr(extended, _ORIGINAL, original)
    setattr(manager, name, extended)


def _comparable_positions(completed: Sequence[Any], positions: Sequence[int]) -> list[int]:
    """Return the positions of a group's Agent-Lightning rollouts that can be compared."""
    called = {at: completed[at].final_reward for at in positions if completed[at].triplets}
    finite = {at: reward for at, reward in called.items() if reward is None or math.isfinite(reward)}
    has_reward = any(reward is not None for reward in finite.values())
    return [at for at, reward in finite.items() if reward is not None or not has_reward]


def _with_reward(rollout: Any, reward: float | None) -> Any:
    if reward is None:
        return rollout.model_copy(update={"final_reward": None, "triplets": []})
    *before, last = rollout.triplets
    triplets = [*before, last.model_copy(update={"reward": reward})]
    return rollout.model_copy(update={"final_reward": reward, "triplets": triplets})


def _exchanges(rollout: Any) -> dict[str, Any]:
    """Return an Agent-Lightning rollout's answered model calls, of which a later one may repeat an earlier one."""
    calls = [event["data"] for event in rollout.events if event["event_type"] == "model_request"]
    answered = [call for call in calls if isinstance(call.get("response"), dict) and call["response"].get("choices")]
    return {"exchanges": {"chat_completions": answered}}
