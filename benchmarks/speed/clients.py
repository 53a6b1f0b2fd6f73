"""One measurement of calipers, or of a bare aiohttp loop that sends the same requests: see ``spine.py``.

python -m benchmarks.speed.clients calipers|calls|aiohttp --url URL --in-flight 64 --groups 3000

``calipers`` gives all groups to one ``score_groups``; ``calls`` calls ``score_group`` for each, with raw messages.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

import calipers
from benchmarks.speed.measure import drain, main
from benchmarks.speed.real_text import groups_of_text
from calipers.backends.negotiation import Terms
from calipers.backends.providers.openai_compatible import chat_body
from calipers.inputs import as_group
from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import Ask, TrajectoryGroup


def groups(count: int, *, seed: int, text: str = "prose") -> list[TrajectoryGroup]:
    """The sample groups as calipers reads them from a file."""
    return [as_group(group) for group in groups_of_text(text, count, seed=seed)]


def bodies(count: int, *, seed: int, text: str = "prose") -> list[bytes]:
    """The requests calipers sends for the same groups (keys and order apart)."""
    order = (0, 1, 2, 3)
    requests = (Listwise().frame(Ask(0, order, order), render(group)) for group in groups(count, seed=seed, text=text))
    terms = Terms()
    return [json.dumps(chat_body(request, terms, model="judge"), ensure_ascii=False).encode() for request in requests]


class ThroughCalipers:
    """One judge and one ledger for warm-up and measurement, as in a training run."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._judge: calipers.Judge | None = None

    def judge(self, url: str, in_flight: int) -> calipers.Judge:
        """The judge, made when it is first needed."""
        if self._judge is None:
            ledger = Path(self._folder) / "ledger.db"
            self._judge = calipers.Judge("vllm/judge", base_url=url, concurrency=in_flight, ledger=ledger)
        return self._judge

    async def __call__(self, url: str, made: Sequence[TrajectoryGroup], in_flight: int) -> int:
        judge = self.judge(url, in_flight)
        return sum([result.status == "scored" async for result in judge.score_groups(made)])


class ThroughCalls(ThroughCalipers):
    """The same, with a call of ``score_group`` for each group of raw messages."""

    async def __call__(self, url: str, made: Sequence[Any], in_flight: int) -> int:
        judge = self.judge(url, in_flight)

        async def score(group: Mapping[str, Any]) -> bool:
            return (await judge.score_group(group)).status == "scored"

        return await drain(made, score, in_flight=in_flight)


class ThroughAiohttp:
    """One session for both; an answer counts once its JSON is read."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, url: str, made: Sequence[bytes], in_flight: int) -> int:
        if self._session is None:
            headers = {"content-type": "application/json"}
            self._session = aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0))
        session = self._session

        async def one(body: bytes) -> bool:
            async with session.post(f"{url}/chat/completions", data=body) as reply:
                return "scores" in json.loads(await reply.read())["choices"][0]["message"]["content"]

        return await drain(made, one, in_flight=in_flight)


if __name__ == "__main__":
    match sys.argv.pop(1):
        case "calipers":
            with tempfile.TemporaryDirectory() as folder:
                main(groups, ThroughCalipers(folder))
        case "calls":
            with tempfile.TemporaryDirectory() as folder:
                main(lambda count, *, seed, text: list(groups_of_text(text, count, seed=seed)), ThroughCalls(folder))
        case "aiohttp":
            main(bodies, ThroughAiohttp())
        case other:
            sys.exit(f"no client {other!r}")
