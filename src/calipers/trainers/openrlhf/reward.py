"""OpenRLHF: rollouts of one prompt judged against one another, in the three forms in which OpenRLHF takes rewards.

``agent_executor`` for ``--train.agent_func_path``, which is the one to use; ``reward_func`` for a file, and
``python -m calipers.trainers.openrlhf.reward`` for a URL, in ``--reward.remote_url``. OpenRLHF is imported only to make the
executor. Not responsible for the server (``openrlhf_server``).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import ConfigError, InputError
from calipers.trainers.cohorts.pending import MemberResult
from calipers.trainers.no_signal.one_float import as_float, complete_cohorts, is_scored, run_for_floats
from calipers.trainers.no_signal.run import Stop
from calipers.trainers.process import blocking
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.dataset_rows import read_label
from calipers.trainers.rollouts.messages import context_of, rubric_with_reference, said

__all__ = ["agent_executor", "reward_func"]

SCORED: Final = "judge_scored"
"""The extra log: 1.0 for a rollout whose group was scored, 0.0 for one whose group got the constant."""


def agent_executor(
    judge: JudgeLike,
    *,
    agent: type | None = None,
    rubric: str | None = None,
    reference: bool = False,
    patience: int | None = None,
    stop: Stop | None = None,
) -> type:
    """The class to be named ``AgentExecutor`` in the file that ``--train.agent_func_path`` names.

    Rollouts are OpenRLHF's own: one turn each, or, with ``agent`` (an ``AgentInstanceBase``), as many as it takes. All
    rollouts of a prompt are judged when the last has finished; a reward is the judge's, in [0, 1], plus the agent's own. If
    any rollout of a group stays unscored, all of the group get the same from the judge. With ``reference`` the judge is
    shown the prompt's label as the reference answer. A label that is JSON with a rubric, as verl's ``ground_truth`` may be, is
    judged by it; rules in it are not used, which a warning says. ``patience`` and ``stop`` are those of ``run.JudgedRun``.

    Raises ConfigError where OpenRLHF is not installed and for a judge that cannot work. At run time, which ends the run,
    InputError for an agent's own reward that is not finite, ConfigError for a judge that refuses every question, and
    CalipersError when patience is at its end.
    """
    warn_untested("openrlhf", "0.11")
    require_text(rubric=rubric)
    try:
        from openrlhf.utils import agent as theirs  # noqa: PLC0415 - only where OpenRLHF is used
    except ImportError as error:
        raise ConfigError(f"OpenRLHF 0.11 or newer is needed: pip install openrlhf ({error})") from error
    asked = as_judge(judge)
    run = run_for_floats(asked, patience=patience, stop=stop)
    cohorts = complete_cohorts(run, size=1, deadline=None)
    together = Together()

    class AgentExecutor(theirs.AgentExecutorBase):  # type: ignore[misc]  # OpenRLHF is not there when types are checked
        """OpenRLHF's rollouts, judged prompt by prompt."""

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
            # No coroutine function: that would only begin when awaited, and a prompt's calls would not be known as one.
            return self._judged(
                together.call(),
                prompt=prompt,
                label=label,
                sampling_params=sampling_params,
                max_length=max_length,
                hf_tokenizer=hf_tokenizer,
                llm_engine=llm_engine,
                images=images,
            )

        async def _judged(self, group: Group, **rollout: Any) -> dict[str, Any]:
            run.require_running()
            own, answer = read_label(rollout["label"], rubric)
            graded = rubric_with_reference(asked, own, answer if reference else None)
            async with cohorts.seat(group, size=group.size, group={"rubric": graded}) as join:
                output: dict[str, Any] = await self.rollouts.execute(**rollout)
                share = await join(_conversation(output, rollout["hf_tokenizer"]))
            return _rewarded(output, share)

    return AgentExecutor


def reward_func(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 600.0,
    threads: int = 4096,
    patience: int | None = None,
    stop: Stop | None = None,
) -> Callable[[Sequence[str], Sequence[str], Sequence[Any]], dict[str, Any]]:
    """The function to be named ``reward_func`` in the file that ``--reward.remote_url`` names.

    OpenRLHF calls it with one rollout, in a thread, and the thread has to wait for the rollout's siblings: so this lets the
    running event loop have ``threads`` of them, which must be no fewer than the rollouts in flight. ``group_size`` is
    ``--rollout.n_samples_per_prompt``; after ``deadline`` seconds without the whole group, all of it get the same reward.
    ``agent_executor`` needs neither the threads nor the number, and tells two groups of the same prompt apart.
    ``patience`` and ``stop`` are those of ``run.JudgedRun``.

    Raises ConfigError for settings that cannot work; at run time as ``agent_executor``.
    """
    warn_untested("openrlhf", "0.11")
    require_text(rubric=rubric)
    require_whole(group_size=group_size, threads=threads)
    require_above_zero(group_size=group_size, threads=threads, deadline=deadline)
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
    cohorts = complete_cohorts(run, size=group_size, deadline=deadline)
    with suppress(RuntimeError):  # OpenRLHF loads the file inside its event loop; whoever has none needs no threads
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="reward"))

    async def shares(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> list[MemberResult]:
        run.require_running()
        rows = zip(queries, prompts, labels, strict=True)
        return await asyncio.gather(
            *(
                cohorts.join(
                    (prompt, repr(label)), member_of(query, prompt), group={"rubric": read_label(label, rubric)[0]}
                )
                for query, prompt, label in rows
            )
        )

    def reward(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
        return reply_of(blocking.run(shares(queries, prompts, labels)))

    return reward


def member_of(query: str, prompt: str) -> dict[str, Any]:
    """A rollout, from its prompt and the full text that OpenRLHF decoded, special tokens included."""
    return {"messages": [*context_of(prompt), said(query.removeprefix(prompt))]}


def reply_of(shares: Sequence[MemberResult]) -> dict[str, Any]:
    """What OpenRLHF makes tensors of. For one rollout plain numbers, because a list would give the tensor two dimensions."""
    rewards, scored = [as_float(share) for share in shares], [float(is_scored(share)) for share in shares]
    if len(rewards) == 1:
        return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {SCORED: scored[0]}}
    return {"rewards": rewards, "scores": rewards, "extra_logs": {SCORED: scored}}


class Group:
    """The rollouts of one call of the engine: a key that no other group has, and how many they are."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Together:
    """Knows which calls belong together: those that one task makes without letting the event loop run in between.

    That is how OpenRLHF begins a prompt's rollouts, and nothing else it tells says which they are, or how many.
    """

    def __init__(self) -> None:
        self._open: dict[Any, Group] = {}

    def call(self) -> Group:
        """The group of the call that is being made. Its size is right as soon as the event loop runs again."""
        task = asyncio.current_task()
        if task not in self._open:
            self._open[task] = Group()
            asyncio.get_running_loop().call_soon(self._open.pop, task)
        group = self._open[task]
        group.size += 1
        return group


def _conversation(output: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """What the judge is shown: the prompt as it was sent, and all that followed it."""
    tokens, actions = output["observation_tokens"], output["action_ranges"]
    answer = tokenizer.decode(tokens[actions[0][0] :], skip_special_tokens=True) if actions else ""
    return {"messages": [*context_of(output["prompt"]), said(answer)]}


def _rewarded(output: Mapping[str, Any], share: MemberResult) -> dict[str, Any]:
    own = output.get("reward") or 0.0
    if not math.isfinite(own):
        raise InputError(f"the agent's own reward is {own}, which would become its whole group's")
    total = own + as_float(share)
    logs = {**(output.get("extra_logs") or {}), SCORED: float(is_scored(share))}
    return {**output, "reward": total, "scores": total, "extra_logs": logs}


if __name__ == "__main__":
    from calipers.trainers.openrlhf.server import main

    main()
