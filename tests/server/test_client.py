"""Clients of the server over real sockets: sent until answered, refused once and for all, never judged twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import calipers
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group
from calipers.server import AsyncClient, Client, RolloutAnswer
from served import GROUP, PROMPT, THREE, questions, served, until
from servers.faulty_server import Answer, FaultyServer


async def scored(client: AsyncClient, **more: Any) -> list[RolloutAnswer]:
    sent = (client.score_rollout("g", 3, one["index"], one["messages"], context=PROMPT, **more) for one in THREE)
    return await asyncio.gather(*sent)


async def test_a_rollout_is_answered_though_each_request_waits_only_a_second(faulty: FaultyServer):
    asked: dict[str, Any] = {"context": PROMPT, "rubric": "Be funny."}
    async with served(faulty) as server, AsyncClient(server.url, hold=1) as client:
        first = asyncio.ensure_future(client.score_rollout("g", 3, 0, THREE[0]["messages"], **asked))
        await until(lambda: server.service.requests["/v1/rollouts", 202] > 0)
        answers = await scored(client, rubric="Be funny.")
        assert [one.reward for one in answers] == [0.2, 0.9, 0.55]
        assert await first == answers[0]
        assert questions(faulty) == 1


async def test_synchronous_code_in_threads_gets_the_same(faulty: FaultyServer):
    def score(url: str, index: int) -> RolloutAnswer:
        with Client(url, run="threads") as client:
            return client.score_rollout("g", 3, index, THREE[index]["messages"], context=PROMPT)

    async with served(faulty) as server:
        answers = await asyncio.gather(*(asyncio.to_thread(score, server.url, index) for index in range(3)))
        assert [one.reward for one in answers] == [0.2, 0.9, 0.55]


async def test_a_whole_group_comes_back_as_the_result_a_judge_would_return(faulty: FaultyServer):
    async with served(faulty) as server, AsyncClient(server.url) as client:
        result = await client.score_group(GROUP)
        assert isinstance(result, calipers.GroupResult)
        assert (result.rewards, result.judge_calls, result.usage.input_tokens) == ([0.2, 0.9, 0.55], 1, 10)
        assert (await client.score_group(as_group(GROUP))).to_dict() == result.to_dict()


async def test_what_cannot_be_answered_ends_in_an_error_that_says_why(faulty: FaultyServer):
    def answer(status: int, words: str) -> Answer:
        return Answer(status, {"error": words, "request_id": "r"})

    for reply, error, reason in [
        (answer(422, "$.index"), InputError, r"\$.index.*HTTP 422, request r"),
        (answer(401, "no token"), ConfigError, "no token"),
        (answer(503, "every question was refused"), CalipersError, "every"),
        (answer(500, "the server failed"), CalipersError, "HTTP 500, req"),
        # A reply that is not the answer to the request.
        (Answer(body=b"<html>login</html>"), CalipersError, "not JSON"),
        (Answer(body=b"null"), CalipersError, "not a JSON object"),
        (answered(group_id="other"), CalipersError, "for group 'other', index 0, which was not asked for"),
        (answered(index=1), CalipersError, "for group 'g', index 1, which was not asked for"),
        (answered(reward="0.5"), CalipersError, "its reward is '0.5'"),
        (answered(reward=None), CalipersError, "its status is scored, its reward None"),
        (answered(status="late"), CalipersError, "its status is late, its reward 0.5"),
        (Answer(body={"group_id": "g", "index": 0, "status": "late"}), CalipersError, "its reward is None"),
    ]:
        faulty.asked.clear()
        faulty.script(reply)
        async with AsyncClient(faulty.url) as client:
            with pytest.raises(error, match=reason):
                await client.score_rollout("g", 3, 0, [])
        assert len(faulty.asked) == 1


async def test_a_request_that_is_never_answered_ends_after_its_time_with_the_last_thing_that_happened(
    faulty: FaultyServer,
):
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0.01)

    for reply, reason in [(Answer(502, b"<html>"), "the last time: HTTP 502"), (Answer(reset=True), "")]:
        faulty.asked.clear()
        faulty.script(reply)
        async with AsyncClient(faulty.url, timeout=1, sleep=sleep) as client:
            with pytest.raises(CalipersError, match="no answer within 1 seconds.*" + reason):
                await client.score_rollout("g", 3, 0, [])
        assert len(faulty.asked) > 1


async def test_a_full_server_is_asked_again_when_it_says(faulty: FaultyServer):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    busy = Answer(status=429, headers={"Retry-After": "3"}, body={"error": "full", "request_id": "r"})
    slow = Answer(status=408, headers={"Retry-After": "30"}, body={"error": "too slow"})
    faulty.script(busy, Answer(reset=True), busy, slow, answered())
    async with AsyncClient(faulty.url, sleep=sleep) as client:
        assert (await client.score_rollout("g", 3, 0, [])).reward == 0.5
    assert (slept[0], slept[2], slept[3]) == (3.0, 3.0, 30.0)
    assert slept[1] < 3


def test_an_argument_that_cannot_work_is_refused_and_no_secret_is_shown():
    none: Any = None
    for url in ("localhost:8017", "http://127.0.0.1:99999", "http://", "http://a b", "http://[::1", "http://h?x", none):
        with pytest.raises(ConfigError, match="write it as http://HOST:PORT"):
            Client(url)
    for token in ("a\nb", "two words", "é"):
        with pytest.raises(ConfigError, match="printable ASCII") as refused:
            Client("http://127.0.0.1:1", token=token)
        assert token not in str(refused.value)
    Client("http://127.0.0.1:1", timeout=None)
    wrong: list[dict[str, Any]] = [{"timeout": 0}, {"timeout": float("nan")}, {"hold": "5"}]
    for named in wrong:
        with pytest.raises(ConfigError, match=f"^{next(iter(named))}=.*a number above 0"):
            Client("http://127.0.0.1:1", **named)


async def test_an_address_that_only_the_http_library_refuses_ends_at_once():
    async with AsyncClient("http://x..y") as client:
        with pytest.raises(ConfigError, match="no request can be sent to this URL"):
            await client.score_rollout("g", 3, 0, [])
    async with AsyncClient("http://user:secret@127.0.0.1:1", token="a-token") as client:  # noqa: S106 - no secret
        with pytest.raises(ConfigError, match=r"^http://127\.0\.0\.1:1: ") as refused:
            await client.score_rollout("g", 3, 0, [])
    assert "secret" not in str(refused.value)


def answered(**changed: Any) -> Answer:
    return Answer(body={"group_id": "g", "index": 0, "status": "scored", "reward": 0.5} | changed)


async def no_sleep(_: float) -> None:
    pass


async def test_a_proxys_failure_is_logged_once(faulty: FaultyServer, caplog: pytest.LogCaptureFixture):
    for failure in [
        Answer(status=503, body=b"<html>no healthy upstream"),
        Answer(status=500, body=b"<html>"),
        Answer(status=503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Answer(status=429, headers={"Retry-After": "nan"}),
        Answer(status=500, headers={"Retry-After": "1"}, body={"error": "again", "request_id": "r"}),
    ]:
        caplog.clear()
        faulty.asked.clear()
        faulty.script(failure, failure, answered())
        async with AsyncClient(faulty.url, sleep=no_sleep) as client:
            assert (await client.score_rollout("g", 3, 0, [])).reward == 0.5
        assert len(faulty.asked) == 3
        assert [one.getMessage().count(f"HTTP {failure.status}") for one in caplog.records] == [1]


ROWS = [{"id": name, "status": "scored", "reward": 0.5} for name in ("a", "2")]
RESULT = {"group_id": "g", "status": "scored", "trajectories": ROWS, "judge_calls": 1, "usage": {}, "warnings": []}


async def test_another_groups_result_is_refused(faulty: FaultyServer):
    group = {"group_id": "g", "trajectories": [{"id": "a", "messages": []}, {"messages": []}]}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"trajectories": None}, "its trajectories is None"),
        ({"trajectories": ROWS[:1]}, "has 1 trajectories, the group has 2"),
        ({"trajectories": ROWS[::-1]}, "trajectory '2' where the group has 'a'"),
        ({"trajectories": [{**ROWS[0], "reward": "1"}, ROWS[1]]}, "its reward is '1'"),
        ({"group_id": "h"}, "for group 'h'"),
        ({"usage": None}, "usage is not a JSON object"),
    ]
    async with AsyncClient(faulty.url) as client:
        for changed, said in cases:
            faulty.script(Answer(body=RESULT), Answer(body=RESULT | changed))
            assert (await client.score_group(group)).rewards == [0.5, 0.5]
            with pytest.raises(CalipersError, match=said):
                await client.score_group(group)


async def test_messages_that_json_cannot_express_are_refused_unsent(faulty: FaultyServer):
    cases: list[tuple[Any, str]] = [
        ("hello", "messages must be a list of objects, not text"),
        (None, "messages must be a list of objects, not null"),
        ([{"content": "\ud800"}], "half a surrogate pair"),
        ([{"content": "x", "n": float("nan")}], "not JSON compliant"),
        ([object()], "an object of type object"),
    ]
    groups: list[Any] = [None, [1]]
    async with AsyncClient(faulty.url) as client:
        for messages, said in cases:
            with pytest.raises(InputError, match=said):
                await client.score_rollout("g", 3, 0, messages)
        for group in groups:
            with pytest.raises(InputError, match="a group is a TrajectoryGroup or an object"):
                await client.score_group(group)
    assert not faulty.asked


async def test_a_proxy_can_send_all_requests_for_a_group_to_the_same_server(faulty: FaultyServer):
    late = {"status": "late", "reward": None, "reason": "late"}
    faulty.script(lambda asked: Answer(body=late | {name: asked.body[name] for name in ("group_id", "index")}))
    for run in ("", "b"):
        async with AsyncClient(faulty.url, run=run) as client:
            for group, index in (("grüße\n", 0), ("grüße\n", 1), ("other", 0)):
                await client.score_rollout(group, 2, index, [])
    routes = [asked.headers["x-group-id"] for asked in faulty.asked]
    assert (routes[0], routes[3]) == (routes[1], routes[4])
    assert len(set(routes)) == 4
