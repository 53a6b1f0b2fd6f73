"""AReaL: a rollout workflow that rolls a prompt out several times and has the rollouts judged against one another.

``judged_group`` builds it from a workflow that rolls out once. AReaL is imported only to join its tensors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike
from calipers.trainers.rewards import rewards_or_none
from calipers.trainers.rows import rubric_of_row, version_metadata
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, finite_reward, judged, require_settings, shared_run
from calipers.types import Message
from calipers.types.versions import CURRENT_VERSION, versions_in

__all__ = ["Conversation", "conversation_of", "judged_group", "no_reward"]

Episode: TypeAlias = Mapping[str, Any]
"""The result of AReaL's workflows: the tensors of one rollout, ``[1, tokens]`` each, and its reward ``[1]``."""

Conversation: TypeAlias = Callable[[Mapping[str, Any], Episode, Any], Sequence[Any]]
"""A function ``(data, episode, tokenizer)`` that returns the messages of a rollout, prompt included."""


def no_reward(*_: object, **__: object) -> float:
    """Return 0 always, as a ``reward_fn`` for AReaL's workflows if the judge's reward is to be the only reward."""
    return 0.0


def conversation_of(data: Mapping[str, Any], episode: Episode, tokenizer: Any) -> list[Message]:
    """Return the messages of an AReaL rollout: the row's ``messages``, then one message for each run of tokens.

    Sampled tokens are messages of the assistant; the tokens between them are messages of the user.
    """
    prompt = data.get("messages")
    if not isinstance(prompt, list | tuple):
        raise ConfigError("the data set has no column 'messages': pass a function as judged_group(..., conversation=)")
    sampled = episode["loss_mask"][0].tolist()
    turns = [
        {"role": "assistant" if is_sampled else "user", "content": tokenizer.decode(tokens, skip_special_tokens=True)}
        for is_sampled, tokens in _token_runs(sampled, episode["input_ids"][0].tolist())
    ]
    # Tokens before the first sampled token are the prompt. The row's messages represent the prompt better.
    replies = turns[1:] if turns and turns[0]["role"] == "user" else turns
    return [*prompt, *replies] if any(turn["role"] == "assistant" for turn in replies) else []


def judged_group(
    workflow: type,
    judge: JudgeLike,
    *,
    size: int,
    weight: float = 1.0,
    rubric: str | None = None,
    conversation: Conversation = conversation_of,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a subclass of AReaL's ``workflow`` whose episodes are ``size`` of its rollouts, with the judge's rewards
    added.

    The subclass takes ``workflow``'s arguments. The judge's reward, in [0, 1], is multiplied by ``weight`` and added to
    the rollout's own reward. If a rollout of an episode was lost, or the judge leaves it unscored, the whole episode is
    rejected. AReaL normalises slices of a fixed size, so a missing member would shift all later groups.

    AReaL rejects an episode that raises anything and continues; ``stop=interrupt`` (of ``run``) ends its
    run. AReaL itself must not group: set ``gconfig.n_samples=1``, and ``group_size=size`` in ``reward_norm`` and
    ``adv_norm``. In the run a rollout whose own reward is not finite is an InputError.
    """
    require_settings("areal", patience=patience, stop=stop, weight=weight, rubric=rubric)
    require_whole(size=size)
    require_above_zero(size=size)
    require_callable(conversation=conversation)

    class JudgedGroup(workflow):  # type: ignore[misc]  # the caller's class
        """Runs AReaL's ``workflow`` several times per episode."""

        async def arun_episode(self, engine: Any, data: Mapping[str, Any]) -> dict[str, Any] | None:
            run = shared_run(judge, patience, stop, consequence="so it is rejected")
            roll_out = super().arun_episode
            rollouts = await _all_rollouts(roll_out(engine, data) for _ in range(size))
            if any(rollout is None for rollout in rollouts):
                return None
            for number, rollout in enumerate(rollouts, start=1):
                _require_usable_reward(rollout, number)
            common: dict[str, Any] = {
                "rubric": rubric_of_row(data, rubric),
                "name": next((str(data[key]) for key in ("query_id", "id") if data.get(key) is not None), None),
                "extra": _current_version(engine),
            }
            rows = [
                Row(None, {"messages": conversation(data, rollout, self.tokenizer), **_versions(rollout)}, **common)
                for rollout in rollouts
            ]
            rewards = await judged(run, rows, rewards_or_none)
            if None in rewards:
                return None
            from areal.utils.data import concat_padded_tensors  # noqa: PLC0415 - only where AReaL is used

            totals = [
                {**rollout, "rewards": rollout["rewards"] + weight * (reward or 0.0)}
                for rollout, reward in zip(rollouts, rewards, strict=True)
            ]
            joined: dict[str, Any] = concat_padded_tensors(totals)
            return joined

    JudgedGroup.__name__ = JudgedGroup.__qualname__ = f"Judged{workflow.__name__}"
    return JudgedGroup


def _current_version(engine: Any) -> dict[str, Any]:
    """Return the field of a group with the version that AReaL's inference engine serves now."""
    get = getattr(engine, "get_version", None)
    current = versions_in(get()) if callable(get) else ()
    return {CURRENT_VERSION: current[0]} if current else {}


def _versions(rollout: Episode) -> dict[str, Any]:
    """Return the versions of the policy that sampled a rollout's tokens, in order; those of other tokens are -1."""
    found = rollout.get("versions")
    if found is None:
        return {}
    sampled = zip(rollout["loss_mask"][0].tolist(), found[0].tolist(), strict=False)
    return version_metadata(*(version for is_sampled, version in sampled if is_sampled))


async def _all_rollouts(rollouts: Iterator[Any]) -> list[Any]:
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(rollout) for rollout in rollouts]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # AReaL rejects the episode and logs a single error
    return [task.result() for task in running]


def _require_usable_reward(rollout: Episode, number: int) -> None:
    if not isinstance(rollout, Mapping) or "loss_mask" not in rollout or "rewards" not in rollout:
        raise ConfigError(
            "the workflow's episodes are not tensors with 'loss_mask' and 'rewards': judged_group works with "
            "workflows such as RLVRWorkflow, not with agents behind AReaL's proxy"
        )
    if len(rollout["rewards"]) != 1:
        count = len(rollout["rewards"])
        raise ConfigError(f"a rollout has {count} rewards: set gconfig.n_samples=1, as judged_group makes the group")
    finite_reward(rollout["rewards"][0], f"rollout {number}")


def _token_runs(sampled: Sequence[int], tokens: Sequence[int]) -> Iterator[tuple[bool, list[int]]]:
    """Yield runs of neighbouring tokens that were all sampled, or all not sampled."""
    for is_sampled, run in groupby(zip(sampled, tokens, strict=True), key=lambda pair: bool(pair[0])):
        yield is_sampled, [token for _, token in run]
