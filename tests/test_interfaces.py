"""The seams: what a minimal implementation may leave out, and what it gets instead."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asking import request
from calipers.interfaces import FullBackend, Record, Store, full
from calipers.ledger import Ledger, Recorder, Run
from calipers.types import Completion, JudgeRequest


class Minimal:
    endpoint, model = "here", "m"

    async def complete(self, request: JudgeRequest) -> Completion:
        return Completion("an answer")


async def test_a_minimal_backend_gets_the_defaults_of_all_that_is_optional() -> None:
    backend = full(Minimal())
    assert (backend.endpoint, backend.model) == ("here", "m")
    assert (await backend.complete(request())).text == "an answer"
    assert (backend.warnings, backend.has_logprobs, backend.has_tools) == ((), True, False)
    assert list(await backend.check()) == []
    assert backend.learned() == {}
    backend.learn({"refused": ["seed"]})
    await backend.aclose()
    again = copy.copy(backend)
    assert (again.endpoint, again.has_tools) == ("here", False)
    assert (await again.complete(request())).text == "an answer"


async def test_the_groups_of_a_run_have_numbers_of_their_own_however_many_stores_record_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    run, other = (Run(ledger, {"judges": []}, version="0") for _ in range(2))
    one, two, apart = Recorder(run), Recorder(run), Recorder(other)
    numbers = tuple(await asyncio.gather(one.begin(), two.begin(), one.begin(), apart.begin(), two.begin()))
    assert numbers == (0, 1, 2, 0, 3)
    ledger.close()


async def test_a_store_gets_the_defaults_of_what_it_does_not_need() -> None:
    class Plain(Store):
        """Only what every store has to do."""

    plain: Any = Plain()  # type: ignore[abstract]  # a Protocol's own stubs serve
    assert (plain.replays, plain.reused) == (False, 0)
    plain.change_settings({"judges": []})
    plain.learn(Minimal(), {"refused": ["seed"]})
    assert vars(plain) == {}


async def test_every_optional_part_of_a_backend_is_passed_on() -> None:
    seen: list[object] = []

    class Able(Minimal):
        warnings, has_logprobs, has_tools = ("slow",), False, True

        async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
            seen.append("recorded")
            return await record(await self.complete(request))

        def learned(self) -> Mapping[str, int]:
            return {"window": 512}

        def learn(self, known: Mapping[str, int]) -> None:
            seen.append(known)

        async def aclose(self) -> None:
            seen.append("closed")

    async def record(completion: Completion) -> Completion:
        return completion

    backend = full(Able())
    assert not isinstance(Minimal(), FullBackend)
    assert isinstance(backend, FullBackend)
    assert (backend.warnings, backend.has_logprobs, backend.has_tools) == (("slow",), False, True)
    assert (await backend.complete_recorded(request(), record)).text == "an answer"
    assert backend.learned() == {"window": 512}
    backend.learn({"window": 3})
    await backend.aclose()
    assert seen == ["recorded", {"window": 3}, "closed"]
