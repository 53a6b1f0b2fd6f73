"""OpenRLHF's request for rewards and the reply to it, the same for its Python file and for the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.no_signal.float_rewards import float_reward, is_group_scored
from calipers.trainers.no_signal.run import JudgedRun
from calipers.trainers.rollouts.dataset_rows import read_label_of_row
from calipers.trainers.rollouts.messages import assistant_message, prompt_messages

SCORED: Final = "judge_scored"
"""The key of OpenRLHF's extra log: 1.0 for a rollout of a scored group, 0.0 if its group got the constant."""


async def judged_reply(
    run: JudgedRun, cohorts: Cohorts, rows: Iterable[tuple[str, str, Any]], *, rubric: str | None
) -> dict[str, Any]:
    """Return OpenRLHF's reply for rows of (query, prompt, label), once their groups are judged.

    A query is the prompt and the full text that OpenRLHF decoded, special tokens included. One rollout gets plain
    numbers, because a list would give OpenRLHF's tensor two dimensions. Raises InputError for a label that cannot be
    read.
    """
    run.require_running()
    joining = [
        cohorts.join(
            (prompt, repr(label)),
            {"messages": [*prompt_messages(prompt), assistant_message(query.removeprefix(prompt))]},
            group={"rubric": read_label_of_row(label, rubric)[0]},
        )
        for query, prompt, label in rows
    ]
    members = await asyncio.gather(*joining)
    rewards, scored = [float_reward(one) for one in members], [float(is_group_scored(one)) for one in members]
    if len(rewards) == 1:
        return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {SCORED: scored[0]}}
    return {"rewards": rewards, "scores": rewards, "extra_logs": {SCORED: scored}}
