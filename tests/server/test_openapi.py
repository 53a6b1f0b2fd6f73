"""The server's description of itself, and Schemathesis against it: whatever is sent, every answer is as described."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("uvicorn", reason="the server's packages are not installed: pip install 'calipers[server]'")

from calipers.server.app import openapi
from calipers.server.routes import ROUTES
from http_judge import worth
from served import served
from servers.faulty_server import FaultyServer


def test_every_route_is_described() -> None:
    described = openapi(tokens=True)
    assert {path for path, one in described["paths"].items() if "post" in one} == {one.path for one in ROUTES}
    assert described["security"] == [{"bearer": []}, {"basic": []}]
    assert "security" not in openapi(tokens=False)


@pytest.mark.heavy
async def test_schemathesis_finds_no_answer_that_is_not_described(faulty: FaultyServer) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (--group servers)")
    faulty.script(worth(down="."))  # its judge answers nothing that it could read
    async with served(faulty, wait=0.05, group_size=2) as server:
        await asyncio.to_thread(_run, schemathesis, server.url)


def _run(schemathesis: Any, url: str) -> None:
    from hypothesis import HealthCheck, settings  # noqa: PLC0415 - for one test
    from schemathesis import checks  # noqa: PLC0415 - likewise
    from schemathesis.specs.openapi import checks as described  # noqa: PLC0415 - likewise

    # What is invalid and too large besides may be refused for its size.
    refused = [400, 401, 404, 405, 409, 413, 422, 429]
    told = {"checks": {"negative_data_rejection": {"expected-statuses": refused}}}
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", config=schemathesis.Config.from_dict(told))
    wanted = [
        checks.not_a_server_error,
        described.status_code_conformance,
        described.content_type_conformance,
        described.response_schema_conformance,
        described.negative_data_rejection,
    ]
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @schema_given(schemathesis, operation)
        def check(case: Any) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate(checks=wanted, timeout=20)

        check()
    assert tried > 200


def schema_given(schemathesis: Any, operation: Any) -> Any:
    from hypothesis import given, strategies  # noqa: PLC0415 - for one test

    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    return given(case=strategies.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes)))
