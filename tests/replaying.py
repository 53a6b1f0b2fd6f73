"""Groups that are judged with a ledger, and a recorded run that is judged again from its ledger alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from calipers.judging.judge import Judge, replaying_judge
from calipers.ledger import Replayer, open_ledger
from calipers.types import GroupResult, TrajectoryGroup


async def scored(
    location: Path | str, judge: object, groups: Iterable[TrajectoryGroup], **options: object
) -> list[str]:
    """The results of groups as lines of a result file, which a judge with a ledger at ``location`` gave."""
    async with Judge.of({"judge": judge, "ledger": location, **options}) as own:
        return [json.dumps(result.to_dict()) async for result in own.score_groups(groups, ordered=True)]


async def replayed(path: Path | str, run: int | None = None) -> list[GroupResult]:
    """The results of the run (the last one, if no number is given), in the order of its groups."""
    with open_ledger(path, create=False) as ledger:
        store = Replayer(ledger, run)
        judge = replaying_judge(store.settings(), store)
        return [result async for result in judge.score_groups(store.groups(), ordered=True)]


async def replayed_lines(path: Path | str, run: int | None = None) -> list[str]:
    return [json.dumps(result.to_dict()) for result in await replayed(path, run)]
