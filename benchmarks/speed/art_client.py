"""One measurement of openpipe-art's own ``ruler_score_group``, in an interpreter that has it: see ``spine.py``.

PYTHON -m benchmarks.speed.art_client --url URL --in-flight 256 --groups 1000
"""

from __future__ import annotations

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else LiteLLM looks for its price list on the network

import art
from art.rewards import ruler_score_group

from benchmarks.speed.measure import drain, main
from benchmarks.speed.real_text import groups_of_text


def groups(count: int, *, seed: int, text: str) -> list[art.TrajectoryGroup]:
    """The sample groups as ART's own."""
    return [
        art.TrajectoryGroup(
            art.Trajectory(messages_and_choices=[*group["context"], *trajectory["messages"]], reward=0.0)
            for trajectory in group["trajectories"]
        )
        for group in groups_of_text(text, count, seed=seed)
    ]


async def score(url: str, made: list[art.TrajectoryGroup], in_flight: int) -> int:
    """How many groups were scored, ``in_flight`` at a time."""
    params: dict[str, object] = {"api_base": url, "api_key": "none"}

    async def one(group: art.TrajectoryGroup) -> bool:
        scored = await ruler_score_group(group, "openai/judge", extra_litellm_params=params)
        return scored is not None and len(scored.trajectories) == len(group.trajectories)

    return await drain(made, one, in_flight=in_flight)


if __name__ == "__main__":
    main(groups, score)
