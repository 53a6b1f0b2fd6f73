"""OpenRLHF: judge the rollouts of a prompt against one another, in the three forms in which OpenRLHF takes rewards.

``agent_executor`` is for ``--train.agent_func_path`` (preferred). ``reward_func`` is for a ``--reward.remote_url`` that
names a Python file. If that option is a URL, ``calipers serve`` is the server behind it. OpenRLHF is imported only to
make the executor.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import InputError
from calipers.trainers.cohorts import MemberResult
from calipers.trainers.no_signal.run import (
    PATIENCE,
    Lasting,
    Stop,
    complete_cohorts,
    float_reward,
    is_group_scored,
    run_for_floats,
)
from calipers.trainers.openrlhf.reply import SCORED, judged_reply
from calipers.trainers.process import JudgeLike, as_judge, import_engine, run_coroutine, warn_untested
from calipers.trainers.rollouts.rows import assistant_message, prompt_messages, read_label_of_row, rubric_with_reference

__all__ = ["agent_executor", "reward_func"]


def agent_executor(
    judge: JudgeLike,
    *,
    agent: type | None = None,
    rubric: str | None = None,
    reference: bool = False,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return the class ``AgentExecutor`` for the file that OpenRLHF's ``--train.agent_func_path`` names.

    Rollouts are OpenRLHF's own. They have one turn, or, with ``agent`` (an ``AgentInstanceBase``), as many turns as the
    agent takes. All rollouts of a prompt are judged when the last has finished. A reward is the judge's, in [0, 1],
    plus the agent's own. If any rollout of a group stays unscored, the judge's reward is the same for the whole group.
    With ``reference`` the question contains the prompt's label as the reference answer. A label may be JSON with a
    rubric, like verl's ``ground_truth``. Then that rubric is used, and a warning says that rules in the label are not
    used. ``patience`` and ``stop`` are those of ``run.JudgedRun``.

    Raises ConfigError if OpenRLHF is not installed, and for an invalid judge. These errors end the run: InputError for
    an agent's own reward that is not finite, ConfigError for a judge that refuses every question, CalipersError when
    patience runs out.
    """
    warn_untested("openrlhf", "0.11")
    require_text(rubric=rubric)
    remedy = "OpenRLHF 0.11 or newer is needed: pip install openrlhf"
    theirs = import_engine("openrlhf.utils.agent", remedy=remedy)
    base: Any = theirs.AgentExecutorBase
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
    cohorts = complete_cohorts(run, size=1, deadline=None)
    calls = CallGroups()

    class AgentExecutor(base):  # type: ignore[misc]  # OpenRLHF is not there when types are checked
        """Runs OpenRLHF's rollouts, and has them judged prompt by prompt."""

        def __init__(self) -> None:
            self.rollouts = theirs.SingleTurnAgentExecutor() if agent is None else theirs.MultiTurnAgentExecutor(agent)

        def execute(
            self,
            prompt: str,
            label: Any,
            sampling_params: Any,
            max_length: int,
            hf_tokenizer: Any,
            llm_engine: Any,
            images: Any = None,
        ) -> Any:
            # This is not a coroutine function, because it would start only when awaited. Which calls belong to one
            # prompt must be recognised now.
            return self._judged(
                calls.current(),
                prompt=prompt,
                label=label,
                sampling_params=sampling_params,
                max_length=max_length,
                hf_tokenizer=hf_tokenizer,
                llm_engine=llm_engine,
                images=images,
            )

        async def _judged(self, group: CallGroup, **rollout: Any) -> dict[str, Any]:
            run.require_running()
            own, answer = read_label_of_row(rollout["label"], rubric)
            graded_by = rubric_with_reference(run.judge, own, answer if reference else None)
            async with cohorts.reserve(group, size=group.size, group={"rubric": graded_by}) as join:
                output: dict[str, Any] = await self.rollouts.execute(**rollout)
                member = await join(_conversation(output, rollout["hf_tokenizer"]))
            return _rewarded(output, member)

    return AgentExecutor


def reward_func(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 600.0,
    threads: int = 4096,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> Callable[[Sequence[str], Sequence[str], Sequence[Any]], dict[str, Any]]:
    """Return the function ``reward_func`` for the file that OpenRLHF's ``--reward.remote_url`` names.

    OpenRLHF calls it with one rollout, in a thread, which has to wait for the rollout's siblings. So this function
    gives the running event loop ``threads`` threads. There must be at least as many threads as rollouts in flight.
    ``group_size`` is ``--rollout.n_samples_per_prompt``. A group that is incomplete after ``deadline`` seconds gets one
    reward for all. ``agent_executor`` needs neither ``threads`` nor ``group_size``, and distinguishes two groups of the
    same prompt. ``patience`` and ``stop`` are those of ``run.JudgedRun``.

    Raises ConfigError for invalid settings. In the run it raises the same errors as ``agent_executor``.
    """
    warn_untested("openrlhf", "0.11")
    require_text(rubric=rubric)
    require_whole(group_size=group_size, threads=threads)
    require_above_zero(group_size=group_size, threads=threads, deadline=deadline)
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
    cohorts = complete_cohorts(run, size=group_size, deadline=deadline)
    with suppress(RuntimeError):  # OpenRLHF loads the file inside its event loop; without a loop no threads are needed
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="reward"))

    def reward(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
        rows = zip(queries, prompts, labels, strict=True)
        return run_coroutine(judged_reply(run, cohorts, rows, rubric=rubric))

    return reward


class CallGroup:
    """The rollouts that one call of OpenRLHF starts: a key that no other group has, and their number."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class CallGroups:
    """Groups calls that one task makes without letting the event loop run in between.

    OpenRLHF starts a prompt's rollouts like this, and none of its arguments says which rollouts belong together.
    """

    def __init__(self) -> None:
        self._open: dict[Any, CallGroup] = {}

    def current(self) -> CallGroup:
        """Return the group that OpenRLHF's current call belongs to.

        Its size is final only after the event loop has run again, because the rollouts of a call register one by one.
        """
        task = asyncio.current_task()
        if task not in self._open:
            self._open[task] = CallGroup()
            asyncio.get_running_loop().call_soon(self._open.pop, task)
        group = self._open[task]
        group.size += 1
        return group


def _conversation(output: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Return the messages of an OpenRLHF rollout for the judge: the prompt as it was sent, and everything after it."""
    tokens, actions = output["observation_tokens"], output["action_ranges"]
    answer = tokenizer.decode(tokens[actions[0][0] :], skip_special_tokens=True) if actions else ""
    return {"messages": [*prompt_messages(output["prompt"]), assistant_message(answer)]}


def _rewarded(output: Mapping[str, Any], member: MemberResult) -> dict[str, Any]:
    own = output.get("reward") or 0.0
    if not math.isfinite(own):
        raise InputError(f"the agent's own reward is {own}, which would reach its whole group")
    total = own + float_reward(member)
    logs = {**(output.get("extra_logs") or {}), SCORED: float(is_group_scored(member))}
    return {**output, "reward": total, "scores": total, "extra_logs": logs}
