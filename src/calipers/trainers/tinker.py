"""tinker-cookbook: a group builder whose rollouts are judged against one another.

``JudgedGroup`` wraps any ``EnvGroupBuilder`` and has the same methods; tinker-cookbook is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import mean
from typing import Any

from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike, require_sendable
from calipers.trainers.rewards import trajectory_rewards
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, finite_reward, judged, require_settings, shared_run

__all__ = ["JudgedGroup", "conversation_of"]


def conversation_of(trajectory: Any, env: Any) -> list[dict[str, Any]]:
    """Return the messages of a rollout in one of tinker-cookbook's own environments; empty if nothing was sampled.

    Supported are message environments that store a ``history`` (tool use), and problem environments. Raises ConfigError
    for any other.
    """
    sampled = [transition.ac.tokens for transition in trajectory.transitions if transition.ac.tokens]
    renderer: Any = getattr(env, "renderer", None)
    if not sampled:
        return []
    replies = [renderer.parse_response(list(turn))[0] for turn in sampled] if renderer is not None else []
    history = getattr(getattr(env, "message_env", None), "history", None)
    if history is not None:
        # A reply that was cut off or could not be parsed ends the rollout before it is added to the history.
        messages = [*history, *(reply for reply in replies[-1:] if reply not in history)]
    elif replies and callable(getattr(env, "get_question", None)):
        messages = [*env.convo_prefix, {"role": "user", "content": env.get_question()}, *replies]
    else:
        raise ConfigError(
            f"calipers cannot read the messages of a {type(env).__name__}: pass a function (trajectory, env) -> "
            "messages as JudgedGroup(..., conversation=)"
        )
    return [_plain_message(message) for message in messages]


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A group of tinker-cookbook's ``builder``, with the judge's reward, in [0, 1], added to each rollout's own.

    ``judge`` is a judge's name, a module's function that returns a Judge, or, if the builder is not pickled, a Judge.
    ``conversation`` returns the messages of a rollout ``(trajectory, env)``, prompt included; it must be a module's
    function, too, if builders are pickled.

    A rollout that the judge leaves unscored gets the mean of its siblings' totals, step rewards included.
    tinker-cookbook only subtracts the group's mean, so this rollout's advantage is 0, and its siblings have the
    advantages of the group without it. If no rollout is scored, only their other rewards matter. An error ends the run
    under the default strategy; retrying strategies skip the group, but ``stop=interrupt`` (of ``run``; a module's
    function, if builders are pickled) ends it under these, too.
    """

    builder: Any
    judge: JudgeLike
    conversation: Callable[[Any, Any], Sequence[Any]] = conversation_of
    patience: Lasting = PATIENCE
    stop: Stop | None = None

    def __post_init__(self) -> None:
        require_settings(patience=self.patience, stop=self.stop)

    def __reduce__(self) -> tuple[Any, ...]:
        require_sendable(self.judge)  # a copy for each group would neither share limits nor count lost groups
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __getattr__(self, name: str) -> Any:
        """Return what tinker-cookbook's inner builder has besides: ``make_envs``, ``cleanup``, ``logging_tags``."""
        return getattr(self.builder, name)

    async def compute_group_rewards(
        self, trajectory_group: list[Any], env_group: Sequence[Any]
    ) -> list[tuple[float, dict[str, float | int]]]:
        """Return a reward and metrics for each trajectory of tinker-cookbook, in order. Every reward is finite.

        Metrics are the inner builder's and, if the trajectory was scored, ``judge/reward``. Raises InputError if
        another reward of a rollout is not finite.
        """
        run = shared_run(self.judge, self.patience, self.stop, min_scored=1, consequence="so its other rewards decide")
        own_rewards: list[tuple[float, Any]] = await self.builder.compute_group_rewards(trajectory_group, env_group)
        steps = [sum(transition.reward for transition in trajectory.transitions) for trajectory in trajectory_group]
        step_sums = [
            finite_reward(step + reward, f"rollout {number}")
            for number, (step, (reward, _)) in enumerate(zip(steps, own_rewards, strict=True), start=1)
        ]
        rows = [
            Row(None, {"messages": self.conversation(trajectory, env)})
            for trajectory, env in zip(trajectory_group, env_group, strict=True)
        ]
        rewards = await judged(run, rows, trajectory_rewards)
        totals = [step_sum + reward for step_sum, reward in zip(step_sums, rewards, strict=True) if reward is not None]
        if not totals:
            return own_rewards
        average = mean(totals)  # exact: the mean of equal values is equal to them in the last bit
        return [
            (average - step, metrics) if reward is None else (mine + reward, {**metrics, "judge/reward": reward})
            for step, reward, (mine, metrics) in zip(steps, rewards, own_rewards, strict=True)
        ]


def _plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of tinker-cookbook's renderer as plain data.

    A tool call that could not be parsed is included as its raw text.
    """
    plain = {key: message[key] for key in ("role", "content", "name", "tool_call_id") if key in message}
    if calls := message.get("tool_calls"):
        plain["tool_calls"] = [call.model_dump(exclude_none=True) for call in calls]
    if broken := message.get("unparsed_tool_calls"):
        content = plain.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        plain["content"] = [*parts, *({"type": "text", "text": call.raw_text} for call in broken)]
    return plain
