"""From RULER to calipers in five lines of an ART script: those that end with a number.

    python examples/ruler_five_lines.py [JUDGE]

Needs ART (pip install '.[art]'). The first line is enough: name, arguments and metrics are RULER's. The others
add what RULER has no place for. Without a judge's name the embedded one answers, which shows the wiring only.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

# Otherwise LiteLLM, which ART imports, fetches its price list from the network first.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import art

import calipers
from calipers.trainers.art import ruler_score_group  # 1: was `from art.rewards import ruler_score_group`

ANSWERS = ("Under the blue mat by the back door.", "Somewhere in the house, I think.", "I do not know.")


async def rollout(answer: str) -> art.Trajectory:
    """Return what stands for a rollout of your policy."""
    asked = {"role": "user", "content": "Your note says 'key: blue mat, back door'. Where is the key?"}
    return art.Trajectory(messages_and_choices=[asked, {"role": "assistant", "content": answer}])


async def main(name: str, folder: Path) -> None:
    """Gather a step's groups, and print what each rollout got."""
    judge = calipers.Judge(name, orders=2, ledger=folder / "judge.db")  # 2: two orders against position bias; a record
    await judge.check()  # 3: a wrong name, key or address ends the run here, and not after the first rollouts
    groups = await art.gather_trajectory_groups(
        (art.TrajectoryGroup(rollout(answer) for answer in ANSWERS) for _ in range(2)),
        after_each=lambda group: ruler_score_group(group, judge, swallow_exceptions=True),  # 4: was a model's name
        pbar_desc=None,
    )
    judge.close()  # 5: the ledger is whole; equal questions of the next run are answered from it
    for trajectory in groups[0]:
        print(f"reward {trajectory.reward:.2f}  {trajectory.messages()[-1]['content']}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(*sys.argv[1:2] or ["embedded"], Path(scratch)))
