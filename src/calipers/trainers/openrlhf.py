"""OpenRLHF: judge the rollouts of a prompt against one another.

``agent_executor`` is for ``--train.agent_func_path``. For a ``--reward.remote_url``, ``calipers serve`` is the server,
which reads OpenRLHF's rows with the functions at the end. OpenRLHF is imported only to make the executor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from calipers.registry import import_library
from calipers.trainers.cohorts import Key, key_of_prompt
from calipers.trainers.process import JudgeLike
from calipers.trainers.rows import assistant_message, prompt_messages, read_label_of_row, rubric_with_reference
from calipers.trainers.run import PATIENCE, Lasting, Stop, complete_cohorts, finite_reward, float_reward, run_for_floats

__all__ = ["agent_executor"]

Row: TypeAlias = tuple[str, str, Any]
"""A query, its prompt and its label."""


def agent_executor(
    judge: JudgeLike,
    *,
    agent: type | None = None,
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
    used. Every error ends the run; an agent's own reward that is not finite is an InputError.
    """
    run = run_for_floats(judge, patience=patience, stop=stop)
    theirs = import_library("openrlhf.utils.agent", remedy="OpenRLHF 0.11 or newer is needed: pip install openrlhf")
    base: Any = theirs.AgentExecutorBase
    cohorts = complete_cohorts(run, size=1, deadline=None)
    calls: dict[Any, CallGroup] = {}

    class AgentExecutor(base):  # type: ignore[misc]  # OpenRLHF is not there when types are checked
        """Runs OpenRLHF's rollouts, and has them judged prompt by prompt."""

        def __init__(self) -> None:
            self.rollouts = theirs.SingleTurnAgentExecutor() if agent is None else theirs.MultiTurnAgentExecutor(agent)

        def execute(self, **rollout: Any) -> Any:
            # No coroutine function, which would start only when awaited: the calls of a prompt must be recognised now.
            return self._judged(current_group(calls), rollout)

        async def _judged(self, group: CallGroup, rollout: Mapping[str, Any]) -> dict[str, Any]:
            run.require_running()
            rubric, answer = read_label_of_row(rollout["label"])
            common = {"rubric": rubric_with_reference(run.judge, rubric, answer if reference else None)}
            try:
                output: dict[str, Any] = await self.rollouts.execute(**rollout)
                own = finite_reward(output.get("reward"), "an agent's rollout")
                conversation = _conversation(output, rollout["hf_tokenizer"])
            except BaseException:
                cohorts.report_lost(group, size=group.size)
                raise
            total = own + float_reward(await cohorts.join(group, conversation, size=group.size, group=common))
            return {**output, "reward": total, "scores": total}

    return AgentExecutor


@dataclass(slots=True, eq=False)
class CallGroup:
    """The rollouts that one call of OpenRLHF starts: a key that no other group has, and their number."""

    size: int = 0


def current_group(calls: dict[Any, CallGroup]) -> CallGroup:
    """Return the group of the calls that one task makes without letting the event loop run in between.

    OpenRLHF starts a prompt's rollouts like this, and none of its arguments says which rollouts belong together. The
    group's size is final only after the event loop has run again.
    """
    task = asyncio.current_task()
    if task not in calls:
        calls[task] = CallGroup()
        asyncio.get_running_loop().call_soon(calls.pop, task)
    calls[task].size += 1
    return calls[task]


def _conversation(output: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Return the messages of an OpenRLHF rollout for the judge: the prompt as it was sent, and everything after it."""
    tokens, actions = output["observation_tokens"], output["action_ranges"]
    answer = tokenizer.decode(tokens[actions[0][0] :], skip_special_tokens=True) if actions else ""
    return {"messages": [*prompt_messages(output["prompt"]), assistant_message(answer)]}


def group_key(row: Row) -> Key:
    """Return the key of the group that a row of OpenRLHF belongs to: its prompt and its label."""
    return key_of_prompt(row[1], row[1], repr(row[2]))


def member_of(row: Row) -> dict[str, Any]:
    """Return the rollout of a row of OpenRLHF. The query is the prompt and the full text that OpenRLHF decoded, special
    tokens included.
    """
    query, prompt, _ = row
    return {"messages": [*prompt_messages(prompt), assistant_message(query.removeprefix(prompt))]}


def shared_by(row: Row) -> dict[str, Any]:
    """Return what the rollouts of a row's group share. Raises InputError for a label that cannot be read."""
    return {"rubric": read_label_of_row(row[2])[0]}
