"""Clients of the server: a rollout or a group is sent until it is answered, and never judged twice.

They need none of the server's packages.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.plain import type_in_words
from calipers.server.replies import (
    RolloutAnswer,
    checked_seconds,
    checked_token,
    checked_url,
    listed,
    read_group,
    read_rollout,
    refusal,
    request_json,
    without_password,
)
from calipers.trainers.process import run_coroutine
from calipers.types import GroupResult, TrajectoryGroup
from calipers.types.encoding import printable

if TYPE_CHECKING:
    import aiohttp

__all__ = ["AsyncClient", "Client", "RolloutAnswer"]

_log = logging.getLogger(__name__)

_TOKEN: Final = "CALIPERS_SERVER_TOKEN"  # noqa: S105 - the name of a variable
_LONGEST_PAUSE: Final = 15.0
_CONNECT: Final = 10.0
_SPARE: Final = 30.0
"""Seconds that a server may take beyond the time for which a request asks it to wait."""
_LOGGED_EVERY: Final = 600.0
"""Seconds until a client says again that it repeats requests for the same cause."""

T = TypeVar("T")
Messages = Sequence[Mapping[str, Any]]
Sleep = Callable[[float], Awaitable[object]]


class AsyncClient:
    """A client of the server at ``url``, for one event loop. An async context manager.

    ``token`` is by default that of the environment (CALIPERS_SERVER_TOKEN). ``run`` names the training run: the same
    group id in two runs is two groups. ``timeout`` is in seconds from the first request for a rollout or group until
    the client gives up (``math.inf``: never); ``hold`` is how many seconds each request may stay open (at most 9999),
    and must be below the timeout of a proxy. Why requests are sent again is logged once in ten minutes for each cause.

    A method raises InputError for what the server refuses (with its message) or JSON cannot express, ConfigError for a
    wrong token, and CalipersError if there is no answer in time, if the server's judge refuses every question, or for
    a reply that is not the answer to the request. The constructor raises ConfigError.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        run: str = "",
        timeout: float = 3600.0,
        hold: float = 50.0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._url, self._run = checked_url(url), run
        self._shown = without_password(self._url)
        self._timeout, self._hold = checked_seconds(timeout, hold)
        self._sleep, self._logged = sleep, dict[str, float]()
        token = checked_token(token or os.environ.get(_TOKEN))
        self._headers = {"Content-Type": "application/json", "Prefer": f"wait={self._hold}"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        self._session: aiohttp.ClientSession | None = None

    async def score_rollout(
        self,
        group_id: str,
        group_size: int,
        index: int,
        messages: Messages,
        *,
        context: Messages | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        rubric: str | Mapping[str, Any] | None = None,
        policy_version: int | Sequence[int] | None = None,
    ) -> RolloutAnswer:
        """Return the server's answer for a rollout once its group has been judged.

        ``index`` is the rollout's number in its group, from 0. No messages: the rollout is lost, and its siblings do
        not wait for it. ``context``, ``tools`` and ``rubric`` are the same for all rollouts of the group.
        ``policy_version`` is the version of the policy that wrote the rollout, or those of its parts in order.
        """
        body: dict[str, Any] = {"group_id": group_id, "group_size": group_size, "index": index}
        body["messages"] = listed("messages", messages)
        body |= {"run": self._run} if self._run else {}
        body |= {} if context is None else {"context": listed("context", context)}
        body |= {} if tools is None else {"tools": listed("tools", tools)}
        body |= {} if rubric is None else {"rubric": rubric}
        body |= {} if policy_version is None else {"policy_version": policy_version}
        return await self._answer("/v1/rollouts", body, partial(read_rollout, group_id=group_id, index=index))

    async def score_group(self, group: TrajectoryGroup | Mapping[str, Any]) -> GroupResult:
        """Return the server's result for a whole group: a TrajectoryGroup, or an object of a groups file."""
        body = group.to_dict() if isinstance(group, TrajectoryGroup) else group
        if not isinstance(body, Mapping):
            raise InputError(f"a group is a TrajectoryGroup or an object of a groups file, not {type_in_words(group)}")
        sent = dict(body) | ({"run": self._run} if self._run else {})
        return await self._answer("/v1/groups", sent, partial(read_group, sent=sent))

    async def aclose(self) -> None:
        """Close the client's connections to the server."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _answer(self, path: str, body: Mapping[str, Any], read: Callable[[bytes], T]) -> T:
        """Send a request until the server answers it. ``read`` raises ValueError for a reply that is no answer."""
        sent = request_json(body)
        headers = self._headers | _route(self._run, str(body.get("group_id") or ""))
        loop = asyncio.get_running_loop()
        ends, failed, why = loop.time() + self._timeout, 0, ""
        while True:
            pause = 0.0
            try:
                status, given, text = await self._post(path, sent, headers, left=ends - loop.time())
            except _unreachable() as error:
                if not why or loop.time() < ends:  # else the client cut its last request short, which explains nothing
                    why = f"{type(error).__name__}: {error}".rstrip(": ")
                    self._note(type(error).__name__, why)
                pause, failed = _pause(failed), failed + 1
            else:
                if status == 200:
                    return self._read(text, read)
                if status == 202:
                    why, failed = "it is still waiting for the group", 0
                else:
                    why, asked = refusal(status, given, text, self._shown)
                    self._note(f"HTTP {status}", why)
                    pause, failed = max(_pause(failed), asked), failed + 1
            if loop.time() + pause >= ends:
                raise CalipersError(f"{self._shown}: no answer within {self._timeout:g} seconds; the last time: {why}")
            if pause:
                await self._sleep(pause)

    def _read(self, text: bytes, read: Callable[[bytes], T]) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise CalipersError(
                f"{self._shown}: the reply is not the server's answer to this request: {printable(str(error))}; does "
                "calipers serve answer at this URL, in this version?"
            ) from error

    def _note(self, cause: str, why: str) -> None:
        """Log why requests to the server are sent again, unless that was logged for this cause a short while ago."""
        now = asyncio.get_running_loop().time()
        if now >= self._logged.get(cause, now):
            self._logged[cause] = now + _LOGGED_EVERY
            _log.warning("%s: %s; requests are sent again until there is an answer", self._shown, why)

    async def _post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, left: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp  # noqa: PLC0415 - loaded when the first request is sent

        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        limit = aiohttp.ClientTimeout(total=min(self._hold + _SPARE, max(left, 0.001)), sock_connect=_CONNECT)
        try:
            async with self._session.post(f"{self._url}{path}", data=body, headers=headers, timeout=limit) as reply:
                return reply.status, reply.headers, await reply.read()
        except ValueError as error:
            if isinstance(error, _unreachable()) and not isinstance(error, aiohttp.InvalidURL):
                raise  # a certificate, which may be renewed
            raise ConfigError(f"{self._shown}: no request can be sent to this URL: {error}") from error


class Client:
    """``AsyncClient`` for synchronous code, in any thread: a call waits for its answer.

    All calls of a process share one event loop, so many threads may use one client.
    """

    def __init__(
        self, url: str, *, token: str | None = None, run: str = "", timeout: float = 3600.0, hold: float = 50.0
    ) -> None:
        self._client = AsyncClient(url, token=token, run=run, timeout=timeout, hold=hold)

    def score_rollout(
        self,
        group_id: str,
        group_size: int,
        index: int,
        messages: Messages,
        *,
        context: Messages | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        rubric: str | Mapping[str, Any] | None = None,
        policy_version: int | Sequence[int] | None = None,
    ) -> RolloutAnswer:
        """Return the server's answer as ``AsyncClient.score_rollout`` does."""
        return run_coroutine(
            self._client.score_rollout(
                group_id,
                group_size,
                index,
                messages,
                context=context,
                tools=tools,
                rubric=rubric,
                policy_version=policy_version,
            )
        )

    def score_group(self, group: TrajectoryGroup | Mapping[str, Any]) -> GroupResult:
        """Return the server's result as ``AsyncClient.score_group`` does."""
        return run_coroutine(self._client.score_group(group))

    def close(self) -> None:
        """Close the client's connections to the server."""
        run_coroutine(self._client.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unreachable() -> tuple[type[Exception], ...]:
    import aiohttp  # noqa: PLC0415 - loaded by then

    return aiohttp.ClientError, TimeoutError, OSError


def _route(run: str, group_id: str) -> dict[str, str]:
    """Return the header by which a proxy can send all requests for a group to the same server."""
    named = f"{run}:{group_id}".encode(errors="replace")
    return {"X-Group-Id": blake2b(named, digest_size=8).hexdigest()} if group_id else {}


def _pause(failed: int) -> float:
    """Return the seconds until the next request to the server, after so many failures in a row."""
    return min(_LONGEST_PAUSE, 0.25 * 2.0 ** min(failed, 10)) * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
