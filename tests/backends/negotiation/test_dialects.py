"""Every provider's refusals end in a valid verdict or a clear finding, at most three calls dearer than a perfect
server.
"""

from __future__ import annotations

import re

import pytest

import calipers
from calipers.backends.connect import find_backend
from calipers.backends.limits.retry import Retrying
from groups import FOUR, group_of
from servers.dialects import DIALECTS
from servers.faulty_server import FaultyServer

_MORE_CALLS_THAN_A_PERFECT_SERVER_NEEDS = 3


async def _at_once(_: float) -> None:
    """A sleep for tests."""


@pytest.mark.parametrize("name", DIALECTS)
async def test_every_dialect_ends_in_a_verdict_or_a_finding(faulty: FaultyServer, name: str) -> None:
    dialect = DIALECTS[name]
    faulty.script(dialect.server())
    url = f"http://127.0.0.1:{faulty.port}{dialect.query}" if dialect.query else faulty.url
    backend = find_backend(dialect.judge, base_url=url, api_key="k", timeout=5)
    judge = calipers.Judge(Retrying(backend, sleep=_at_once), calls={"params": dialect.params}, question={"reasks": 0})

    first = await judge.score_group(group_of(FOUR, group_id="first"))
    assert len(faulty.posts) <= 1 + _MORE_CALLS_THAN_A_PERFECT_SERVER_NEEDS
    if dialect.finding is not None:
        assert first.status in {"failed", "abstained"}
        assert set(first.rewards) == {None}
        assert re.search(dialect.finding, first.trajectories[0].reason or "")
        return
    assert (first.status, first.warnings) == ("scored", ())

    asked = len(faulty.posts)
    second = await judge.score_group(group_of(FOUR, group_id="second", question="Another?"))
    assert second.status == "scored"
    assert len(faulty.posts) - asked == dialect.again
