"""A process that scores groups into a shared ledger, and writes each call that it pays for into a file.

``python shared_worker.py LOCATION PAID GROUPS SECONDS``: GROUPS groups, whose judge takes SECONDS. It says "ready" once
its run has begun, and scores when a line comes in.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import calipers
from calipers.interfaces import FullBackend
from calipers.judging.judge import store_of
from calipers.ledger import open_ledger
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest

sys.path.insert(0, str(Path(__file__).parents[1]))

from groups import FOUR, QUALITY, group_of


class Paid(FullBackend):
    """A judge that takes its time, and an account of its calls: a line when it is asked, and one when it answers."""

    endpoint, model = "paid", "m"

    def __init__(self, account: Path, seconds: float) -> None:
        self._judge = SimulatedJudge(QUALITY)
        self._account = account
        self._seconds = seconds

    def _write(self, event: str, request: JudgeRequest) -> None:
        with self._account.open("a") as file:
            file.write(json.dumps([event, request.view.group_id]) + "\n")

    async def complete(self, request: JudgeRequest) -> Completion:
        self._write("asked", request)
        await asyncio.sleep(self._seconds)
        self._write("answered", request)
        return await self._judge.complete(request)


async def score(location: str, account: Path, groups: int, seconds: float) -> None:
    with open_ledger(location) as ledger:
        async with calipers.Judge(Paid(account, seconds), ledger=ledger, concurrency=8) as judge:
            store_of(judge)  # begins the run
            print("ready", flush=True)  # noqa: T201 - the parent process waits for it
            sys.stdin.readline()
            given = (group_of(FOUR, group_id=f"g{number}", question=f"{number} + 1?") for number in range(groups))
            async for result in judge.score_groups(given):
                print(json.dumps([result.group_id, result.status, result.rewards]), flush=True)  # noqa: T201 - its answer


if __name__ == "__main__":
    location, account, groups, seconds = sys.argv[1:]
    asyncio.run(score(location, Path(account), int(groups), float(seconds)))
