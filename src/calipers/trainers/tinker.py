"""tinker-cookbook: a group builder whose rollouts are judged against one another.

``JudgedGroup`` wraps any ``EnvGroupBuilder`` and has the same methods; tinker-cookbook is not imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.trainers.no_signal.rewards import NEUTRAL, trajectory_rewards
from calipers.trainers.no_signal.run import (
    PATIENCE,
    Lasting,
    Stop,
    require_patience,
    shared_run,
)
from calipers.trainers.process import JudgeLike, as_judge, warn_untested
from calipers.trainers.rollouts.groups import rollout_group

__all__ = ["Conversation", "JudgedGroup", "conversation_of"]

Conversation: TypeAlias = Callable[[Any, Any], Sequence[Any]]
"""A function ``(trajectory, env)`` that returns the messages of a rollout, prompt included.

It must be a module's function if builders are pickled.
"""

_CONSEQUENCE: Final = "so all get the same from the judge"


def conversation_of(trajectory: Any, env: Any) -> list[dict[str, Any]]:
    """Return the messages of a rollout in one of tinker-cookbook's own environments; empty if nothing was sampled.

    Supported are message environments that store a ``history`` (tool use), problem environments and preference
    environments. Raises ConfigError for any other.
    """
    sampled = [transition.ac.tokens for transition in trajectory.transitions if transition.ac.tokens]
    if not sampled:
        return []
    history = getattr(getattr(env, "message_env", None), "history", None)
    if history is not None:
        last = _parsed_message(env.renderer, sampled[-1])
        # If a reply was cut off or could not be parsed, the rollout ends before the environment adds the reply to its
        # history.
        return [_plain_message(message) for message in (*history, *(() if last in history else (last,)))]
    if callable(getattr(env, "get_question", None)) and hasattr(env, "renderer"):
        prompt = [*env.convo_prefix, {"role": "user", "content": env.get_question()}]
        return [
            _plain_message(message)
            for message in (*prompt, *(_parsed_message(env.renderer, tokens) for tokens in sampled))
        ]
    if hasattr(env, "convo_prefix") and hasattr(env, "policy_renderer"):
        replies = (_parsed_message(env.policy_renderer, tokens) for tokens in sampled)
        return [_plain_message(message) for message in (*env.convo_prefix, *replies)]
    raise ConfigError(
        f"calipers cannot read the messages of a {type(env).__name__}: pass a function (trajectory, env) -> messages "
        "as JudgedGroup(..., conversation=)"
    )


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A group of tinker-cookbook's ``builder``, with ``weight`` times the judge's reward added to each rollout's own
    reward.

    The judge's reward is in [0, 1]. ``judge`` is a judge's name, a module's function that returns a Judge, or, if the
    builder is not pickled, a Judge. ``rubric`` is text; ``conversation`` returns a rollout's messages.

    A rollout that the judge leaves unscored gets the mean of its siblings' totals, step rewards included.
    tinker-cookbook only subtracts the group's mean, so this rollout's advantage is 0, and its siblings have the
    advantages of the group without it. If no rollout is scored, all get the same from the judge, so only their other
    rewards matter. An error ends the run under the default strategy; retrying strategies skip the group, but
    ``stop=interrupt`` (of ``no_signal.run``; a module's function, if builders are pickled) ends it under these, too.
    """

    builder: Any
    judge: JudgeLike
    weight: float = 1.0
    rubric: str | None = None
    conversation: Conversation = conversation_of
    patience: Lasting = PATIENCE
    stop: Stop | None = None

    def __post_init__(self) -> None:
        warn_untested("tinker-cookbook", "0.6")
        require_patience(self.patience, self.stop)
        if not math.isfinite(self.weight):
            raise ConfigError(f"weight={self.weight}: it must be finite, as it multiplies the judge's reward")

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.judge, Judge):
            raise ConfigError(
                "a JudgedGroup that holds a Judge cannot be sent to another process: pass a judge's name, or a "
                "module's function that returns the Judge, as judge="
            )
        fields = (self.builder, self.judge, self.weight, self.rubric, self.conversation, self.patience, self.stop)
        return type(self), fields

    async def make_envs(self) -> Sequence[Any]:
        """Return the environments of tinker-cookbook's inner builder."""
        envs: Sequence[Any] = await self.builder.make_envs()
        return envs

    async def compute_group_rewards(
        self, trajectory_group: list[Any], env_group: Sequence[Any]
    ) -> list[tuple[float, dict[str, float | int]]]:
        """Return a reward and metrics for each trajectory of tinker-cookbook, in order. Every reward is finite.

        Metrics are the inner builder's, ``judge/scored`` (0 or 1) and, if scored, ``judge/reward``. Raises InputError
        if another reward of a rollout is not finite.
        """
        run = shared_run(as_judge(self.judge), self.patience, self.stop, min_scored=1, consequence=_CONSEQUENCE)
        run.require_running()
        own = await self.builder.compute_group_rewards(trajectory_group, env_group)
        steps = [sum(transition.reward for transition in trajectory.transitions) for trajectory in trajectory_group]
        others = [step + reward for step, (reward, _) in zip(steps, own, strict=True)]
        _require_finite_rewards(others)
        members = [
            {"messages": self.conversation(trajectory, env)}
            for trajectory, env in zip(trajectory_group, env_group, strict=True)
        ]
        result = await run.score_group(rollout_group(members, rubric=self.rubric))
        judged = trajectory_rewards(result)
        known = [
            other + self.weight * reward for other, reward in zip(others, judged, strict=True) if reward is not None
        ]
        # statistics.mean is exact: the mean of equal values is equal to them in the last bit.
        missing = [
            (mean(known) if known else other + self.weight * NEUTRAL) - step
            for other, step in zip(others, steps, strict=True)
        ]
        return [
            (absent if reward is None else mine + self.weight * reward, {**metrics, **_metrics(reward)})
            for (mine, metrics), reward, absent in zip(own, judged, missing, strict=True)
        ]

    async def cleanup(self) -> None:
        """Call the ``cleanup`` of tinker-cookbook's inner builder."""
        await self.builder.cleanup()

    def logging_tags(self) -> list[str]:
        """Return the tags of tinker-cookbook's inner builder."""
        tags: list[str] = self.builder.logging_tags()
        return tags


def _require_finite_rewards(others: Sequence[float]) -> None:
    for number, other in enumerate(others, start=1):
        if not math.isfinite(other):
            raise InputError(
                f"rollout {number} has a reward of {other} from its environment, which would reach its whole group"
            )


def _metrics(reward: float | None) -> dict[str, float | int]:
    return {"judge/scored": 0} if reward is None else {"judge/scored": 1, "judge/reward": reward}


def _parsed_message(renderer: Any, tokens: Sequence[int]) -> Mapping[str, Any]:
    message: Mapping[str, Any] = renderer.parse_response(list(tokens))[0]
    return message


def _plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of tinker-cookbook's renderer as plain data.

    A tool call that could not be parsed is included as its raw text.
    """
    fields = {
        key: value for key, value in message.items() if key not in {"tool_calls", "unparsed_tool_calls", "trainable"}
    }
    if calls := message.get("tool_calls"):
        fields["tool_calls"] = [call.model_dump(exclude_none=True) for call in calls]
    if broken := message.get("unparsed_tool_calls"):
        content = fields.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        fields["content"] = [*parts, *({"type": "text", "text": call.raw_text} for call in broken)]
    return fields
