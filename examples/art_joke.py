"""Three jokes from one policy, ranked against one another for ART.

    python examples/art_joke.py [JUDGE]

Needs ART (pip install '.[art]'). Without a judge's name the embedded one answers, which shows the wiring and
has no sense of humour; with a key set, try openai/gpt-5-mini.
"""

from __future__ import annotations

import asyncio
import os
import sys

# Otherwise LiteLLM, which ART imports, fetches its price list from the network first.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import art

from calipers.trainers.art import ruler_score_group

PROMPT = [
    {"role": "system", "content": "You write one-line jokes that a nine-year-old gets."},
    {"role": "user", "content": "One about a lighthouse, please."},
]
JOKES = (
    "Why did the lighthouse keeper quit? The job had its ups and downs, but mostly its rounds.",
    "A lighthouse is a tall building with a lamp in it.",
    "I asked the lighthouse for advice. It was brilliant, but it kept going in circles.",
)


async def main(judge: str) -> None:
    """Score the group and print it, best joke first."""
    group = art.TrajectoryGroup(
        art.Trajectory(messages_and_choices=[*PROMPT, {"role": "assistant", "content": joke}]) for joke in JOKES
    )
    scored = await ruler_score_group(group, judge)
    for trajectory in sorted(scored, key=lambda one: -one.reward):
        print(f"reward {trajectory.reward:.2f}  {trajectory.messages()[-1]['content']}")
        print(f"             {trajectory.logs[-1]}")
    for line in scored.logs:
        print(line)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["embedded"]))
