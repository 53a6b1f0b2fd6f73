"""Independent rewards combined: a rule that code checks, and a judge for the rest; a failed judgment stays no signal.

    python examples/combined_rewards.py [JUDGE]

Without a judge's name the embedded one answers, which shows the wiring and is not for training.
"""

from __future__ import annotations

import asyncio
import sys

import calipers
from calipers.verifiers import verifier_from

ASKED = [{"role": "user", "content": "In at most eight words and without commas: why do ferries have ballast?"}]
ANSWERS = {
    "short": "It keeps them upright and steady in waves.",
    "comma": "So they float upright, even empty.",
    "long": "Ballast is weight low in the hull that keeps a ship upright when it carries little cargo.",
}


async def main(judge: str) -> None:
    """Score one group by rules and judge, and print each part."""
    rules = [verifier_from({"word_count": {"at_most": 8}}), verifier_from({"not": {"regex": {"pattern": ","}}})]
    group = {
        "group_id": "ballast",
        "context": ASKED,
        "trajectories": [
            {"id": name, "messages": [{"role": "assistant", "content": text}]} for name, text in ANSWERS.items()
        ],
    }
    for combine in ("product", "average", "min"):
        hybrid = calipers.Hybrid(calipers.Judge(judge), checks=rules, combine=combine)
        result = await hybrid.score_group(group)
        shown = ", ".join(
            f"{one.id} {'no signal' if one.reward is None else f'{one.reward:.2f}'}" for one in result.trajectories
        )
        print(f"{combine:8} {shown}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["embedded"]))
