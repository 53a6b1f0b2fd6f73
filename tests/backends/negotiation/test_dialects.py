"""Every provider's refusals end in a valid verdict or a clear finding, at most three calls dearer than a perfect
server.
"""

from __future__ import annotations

import re

import pytest

import calipers
from calipers.backends.connect import find_backend
from calipers.backends.limits.retry import Retrying
from calipers.backends.negotiation.negotiated import Negotiated
from calipers.backends.negotiation.probing import Probing
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


APPLIES: dict[str, dict[str, bool] | None] = {
    "Anthropic, before structured output": {"json_schema": False},
    "Azure, an old API version": {"json_object": True},
    "DashScope, an older model": {"json_object": True},
    "DashScope, thinking": {"json_schema": False, "json_object": False},
    "DeepSeek": {"json_object": True},
    "Gemini, an older model": {"json_object": True},
    "Groq": {"json_object": True},
    "OpenRouter": {"json_object": True},
    "OpenRouter, no form anywhere": {"json_schema": False, "json_object": False},
    "llama.cpp's Python server": {"json_object": True},
    "transformers serve": {"json_schema": False, "json_object": False},
    "llama.cpp, garbled": None,
    "llama.cpp, garbled without a seed": None,
}
"""Which form each dialect's server applies, where it is not the schema; None where its answers tell nothing."""


@pytest.mark.parametrize("name", [name for name, one in DIALECTS.items() if one.finding is None])
async def test_what_each_dialect_applies_is_found_out_by_one_question_and_changes_none(
    faulty: FaultyServer, name: str
) -> None:
    dialect = DIALECTS[name]
    faulty.script(dialect.server())
    url = f"http://127.0.0.1:{faulty.port}{dialect.query}" if dialect.query else faulty.url
    backend = find_backend(dialect.judge, base_url=url, api_key="k", timeout=5)
    assert isinstance(backend, Negotiated)
    judge = calipers.Judge(Retrying(backend, sleep=_at_once), calls={"params": dialect.params}, question={"reasks": 0})
    await judge.score_group(group_of(FOUR, group_id="first"))

    told: list[str] = []
    asked = len(faulty.posts)
    probing = Probing(name, backend, asks=True, bounded=lambda one: one, params=dialect.params, tell=told.append)
    await probing.probe_servers()
    extra = len(faulty.posts) - asked
    (found,) = backend.versions.learned()["servers"].values()
    if not backend.forms:
        assert (extra, found) == (0, {})
    elif (applied := APPLIES.get(name, {"json_schema": True})) is None:
        assert found == {}
        assert extra == 3  # asked twice, and in plain text, as any question without a seed
    else:
        assert found == applied
        assert extra == (1 if True in applied.values() else 0)
    assert not [line for line in told if "does not apply" in line]

    asked = len(faulty.posts)
    assert (await judge.score_group(group_of(FOUR, group_id="second", question="Another?"))).status == "scored"
    assert len(faulty.posts) - asked == dialect.again
