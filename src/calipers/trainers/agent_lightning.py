"""Agent-Lightning 1.0: completed rollouts of a step, judged by task before they become a training batch.

``judged_hooks`` is for the file that ``agentlightning.hooks`` names. Agent-Lightning is imported only there. Not
responsible for agents, nor for what they report as rewards of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.no_signal.rewards import EVEN, rows
from calipers.trainers.no_signal.run import Stop, require_patience, shared_run
from calipers.trainers.process import blocking
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.groups import judgeable_group
from calipers.types import GroupResult

__all__ = ["judged_hooks", "rewarded"]

_LEAST: Final = 2
"""Scored rollouts that can be compared with one another."""

_MARK: Final = "calipers_original"


def judged_hooks(
    judge: JudgeLike,
    *,
    weight: float = 1.0,
    rubric: str | None = None,
    patience: int | None = None,
    stop: Stop | None = None,
) -> type:
    """A class of Agent-Lightning's rollout hooks, which has each step's rollouts judged: export it from the hooks file.

    Agent-Lightning's trainer names its rollout managers itself, and its hooks see one rollout at a time. So these hooks,
    when the trainer starts them, put ``rewarded`` behind the two methods by which the managers return completed rollouts.

    The other arguments are those of ``rewarded``. Raises ConfigError where Agent-Lightning 1.0 is not installed, and for
    settings that cannot work.
    """
    warn_untested("agentlightning", "1.0")
    if not math.isfinite(weight):
        raise ConfigError(f"weight={weight}: it multiplies the judge's reward, so it must be finite")
    try:
        from agentlightning.hooks import RolloutHooks  # noqa: PLC0415 - only where Agent-Lightning is used
        from agentlightning.verl import agl_rollout_manager as managers  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise ConfigError(f"Agent-Lightning 1.0 is needed: pip install 'agentlightning>=1.0' ({error})") from error
    require_patience(patience, stop)
    rescore = partial(rewarded, judge=as_judge(judge), weight=weight, rubric=rubric, patience=patience, stop=stop)

    class JudgedHooks(RolloutHooks):  # type: ignore[misc]  # Agent-Lightning is not there when types are checked
        """Nothing happens to rollouts one at a time; their steps are judged."""

        def on_startup(self, store: Any | None = None) -> None:
            super().on_startup(store)
            _follow(managers.AglRolloutManager, "enqueue_and_wait_until_completed", rescore)
            _follow(
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
    patience: int | None = None,
    stop: Stop | None = None,
) -> list[Any]:
    """Completed rollouts with the judge's rewards, in [0, 1] times ``weight``, added to their own; in the same order.

    Those of one ``data_id`` are a group. One without a model call, or whose own reward is missing where its siblings have
    one, takes no part; nor does one that the judge leaves unscored, nor one that is left over alone: verl would take a
    lone reward for an advantage. Where they would be trained on, they come back without a reward and without what could
    be, and the group's advantages are those of the others. When that would leave nothing of the whole step, which ends an
    Agent-Lightning run, all rollouts that could be compared get one and the same reward: their advantages are 0.

    A rollout that is alone from the start (validation) is left as it is, or judged by a Judge with ``absolute=True``.
    ``patience`` and ``stop`` are those of ``run.JudgedRun``. Raises ConfigError for a training step of nothing else, where
    the judge is not absolute, and for a judge that refuses every question; CalipersError when patience is at its end.
    """
    run = shared_run(judge, patience, stop, needed=_LEAST, then="so none of it is trained on")
    groups: dict[str, list[int]] = {}
    for place, rollout in enumerate(completed):
        groups.setdefault(rollout.data_id, []).append(place)
    alone = {places[0] for places in groups.values() if len(places) == 1}
    absolute = judge.settings.absolute
    if is_train and not absolute and len(alone) == len(groups) > 0:
        raise ConfigError(
            "each task was rolled out once, and a judge compares: set actor_rollout_ref.rollout.n to 2 or more, or give a "
            "Judge with absolute=True"
        )
    parties = [_party(completed, places) for places in groups.values()]
    asked = [party for party in parties if len(party) > 1 or (absolute and alone.issuperset(party) and party)]
    members = [
        judgeable_group(
            [_conversation(completed[place]) for place in party], rubric=rubric, name=str(completed[party[0]].data_id)
        )
        for party in asked
    ]
    rewards: dict[int, float] = {}
    for party, result in zip(asked, blocking.run(run.score(members)), strict=True):
        found = _scored(party, result)
        if len(found) > 1 or alone.issuperset(found):
            rewards |= {place: _own(completed[place]) + weight * reward for place, reward in found.items()}
    if is_train and asked and not rewards:
        rewards = dict.fromkeys((place for party in asked if len(party) > 1 for place in party), EVEN)
    left = set() if is_train and absolute else alone
    return [
        rollout if place in left and place not in rewards else _with_reward(rollout, rewards.get(place))
        for place, rollout in enumerate(completed)
    ]


def _follow(manager: type, name: str, then: Callable[..., Any]) -> None:
    """Have ``then`` applied to what a method returns; a second time, in place of the first."""
    method = getattr(manager, name)
    original = getattr(method, _MARK, method)

    @wraps(original)
    def followed(self: Any, *args: Any, is_train: bool, **settings: Any) -> Any:
        return then(original(self, *args, is_train=is_train, **settings), is_train=is_train)

    setattr(followed, _MARK, original)
    setattr(manager, name, followed)


def _party(completed: Sequence[Any], places: Sequence[int]) -> list[int]:
    """Which of a group can be compared: those that called the model, and have a reward of their own if any has."""
    called = {place: completed[place].final_reward for place in places if completed[place].triplets}
    fit = {place: own for place, own in called.items() if own is None or math.isfinite(own)}
    some = any(own is not None for own in fit.values())
    return [place for place, own in fit.items() if own is not None or not some]


def _scored(party: Sequence[int], result: GroupResult) -> dict[int, float]:
    return {place: reward for place, reward in zip(party, rows(result), strict=True) if reward is not None}


def _own(rollout: Any) -> float:
    return 0.0 if rollout.final_reward is None else float(rollout.final_reward)


def _with_reward(rollout: Any, reward: float | None) -> Any:
    if reward is None:
        return rollout.model_copy(update={"final_reward": None, "triplets": []})
    *before, last = rollout.triplets
    triplets = [*before, last.model_copy(update={"reward": reward})]
    return rollout.model_copy(update={"final_reward": reward, "triplets": triplets})


def _conversation(rollout: Any) -> dict[str, Any]:
    """What was said in a rollout: the model calls that no later one repeats, one after the other."""
    calls = [_call(event["data"]) for event in rollout.events if event["event_type"] == "model_request"]
    told = [(messages, tools) for messages, tools in calls if messages]
    kept = [
        {"messages_and_choices": messages, "tools": tools}
        for number, (messages, tools) in enumerate(told)
        if not any(later[: len(messages)] == messages for later, _ in told[number + 1 :])
    ]
    first, *more = kept or [{"messages_and_choices": [], "tools": []}]
    return {**first, "additional_histories": more}


def _call(data: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The messages of a call that was answered, with its answer, and the tools it offered; no messages of another one."""
    request, response, status = data.get("request"), data.get("response"), data.get("http_status")
    failed = data.get("status") == "error" or (isinstance(status, int) and status >= 400)
    if failed or not isinstance(request, Mapping) or not isinstance(response, Mapping) or not response.get("choices"):
        return [], []
    reply = response["choices"][0].get("message")
    if not isinstance(reply, Mapping):
        return [], []
    return [*request.get("messages", ()), {"role": "assistant", **reply}], list(request.get("tools") or ())
