"""A recorded run that is judged again from its ledger alone."""

from __future__ import annotations

from pathlib import Path

from calipers.config.settings import Settings
from calipers.judging.judge import Judge
from calipers.ledger import Replayer, open_ledger
from calipers.types import GroupResult


async def replayed(path: Path | str, run: int | None = None) -> list[GroupResult]:
    """The results of the run (the last one, if no number is given), in the order of its groups."""
    ledger = open_ledger(path)
    store = Replayer(ledger, run)
    judge = Judge.replaying(Settings.of(store.recorded.settings), store)
    results = [result async for result in judge.score_groups(store.groups(), ordered=True)]
    ledger.close()
    return results
