"""One process of a run of two, with a slice of ms-swift's batch: python tests/ms_swift_process.py RANK PORT
JUDGE_URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import torch.distributed

from calipers import Judge
from calipers.errors import CalipersError
from calipers.trainers.ms_swift import JudgeReward
from calipers.trainers.run import JudgedRun

SLICES = {0: ("worth 20", "worth 50", "worth 90"), 1: ("worth 10", "worth 30", "worth 70")}
"""Groups of two: the second one is split over the processes."""


def main(rank: int, port: str, url: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    judge = Judge("openai/judge", base_url=url, api_key="k", calls={"attempts": 1})
    reward = JudgeReward(JudgedRun(judge), size=2)
    texts, first = SLICES[rank], 3 * rank
    columns: dict[str, Any] = {
        "messages": [
            [{"role": "user", "content": "Tell a joke."}, {"role": "assistant", "content": text}] for text in texts
        ],
        "prompt_id": [f"prompt_{(first + row) // 2}" for row in range(3)],
        "request_id": [f"request_{first + row}" for row in range(3)],
    }
    found: list[object] = []
    for rubrics in ([None] * 3, [None] * 3, [f"rubric {rank}"] * 3):  # the last time, one group's rows have two rubrics
        try:
            found.append(asyncio.run(reward(texts, rubric=rubrics, **columns)))
        except CalipersError as error:
            found.append(str(error))
    sys.stdout.write(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
