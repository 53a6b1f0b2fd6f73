"""OpenRLHF's rows of (query, prompt, label) and the reply to them, the same for its Python file and for the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from calipers.trainers.cohorts import Cohorts, MemberResult, NamedKey, key_of_prompt
from calipers.trainers.no_signal.run import JudgedRun, float_reward, is_group_scored
from calipers.trainers.rollouts.rows import assistant_message, prompt_messages, read_label_of_row

Row: TypeAlias = tuple[str, str, Any]
"""A query, its prompt and its label."""

SCORED: Final = "judge_scored"
"""The key of OpenRLHF's extra log: 1.0 for a rollout of a scored group, 0.0 if its group got the constant."""


async def judged_reply(run: JudgedRun, cohorts: Cohorts, rows: Iterable[Row], *, rubric: str | None) -> dict[str, Any]:
    """Return OpenRLHF's reply for rows of (query, prompt, label), once their groups are judged.

    Raises InputError for a label that cannot be read.
    """
    run.require_running()
    joining = [cohorts.join(group_key(row), member_of(row), group=shared_by(row, rubric)) for row in rows]
    return reply_for(await asyncio.gather(*joining))


def group_key(row: Row) -> NamedKey:
    """Return the key of the group that a row of OpenRLHF belongs to: its prompt and its label."""
    return key_of_prompt(row[1], row[1], repr(row[2]))


def member_of(row: Row) -> dict[str, Any]:
    """Return the rollout of a row of OpenRLHF. The query is the prompt and the full text that OpenRLHF decoded, special
    tokens included.
    """
    query, prompt, _ = row
    return {"messages": [*prompt_messages(prompt), assistant_message(query.removeprefix(prompt))]}


def shared_by(row: Row, rubric: str | None) -> dict[str, Any]:
    """Return what the rollouts of a row's group in OpenRLHF share. Raises InputError for a label that cannot be
    read.
    """
    return {"rubric": read_label_of_row(row[2], rubric)[0]}


def reply_for(members: Sequence[MemberResult]) -> dict[str, Any]:
    """Return OpenRLHF's reply with the rewards of these rollouts.

    One rollout gets plain numbers, because a list would give OpenRLHF's tensor two dimensions.
    """
    rewards, scored = [float_reward(one) for one in members], [float(is_group_scored(one)) for one in members]
    if len(rewards) == 1:
        return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {SCORED: scored[0]}}
    return {"rewards": rewards, "scores": rewards, "extra_logs": {SCORED: scored}}
