"""Clients of the server: a rollout or a group is sent until it is answered, and never judged twice.

They need none of the server's packages. A reply that is not the answer to the request is refused, because its reward
would become another rollout's; fields that a newer server adds are ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, get_args
from urllib.parse import urlsplit

import orjson

from calipers.backends.names import url_without_password
from calipers.backends.transport.refusals import retry_after_seconds
from calipers.config.arguments import require_above_zero
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.plain import type_in_words
from calipers.trainers.process import run_coroutine
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult, Usage
from calipers.types.encoding import finite_number, printable
from calipers.types.results import GroupStatus, TrajectoryStatus

if TYPE_CHECKING:
    import aiohttp

__all__ = ["AsyncClient", "Client", "RolloutAnswer"]

_log = logging.getLogger(__name__)

_TOKEN: Final = "CALIPERS_SERVER_TOKEN"  # noqa: S105 - the name of a variable
_LONGEST_PAUSE: Final = 15.0
_CONNECT: Final = 10.0
_SPARE: Final = 30.0
"""Seconds that a server may take beyond the time for which a request asks it to wait."""
_MOST_SHOWN: Final = 2000
_AGAIN: Final = frozenset((408, 429, 502, 504))
"""What the server, or a proxy, answers to a request that may be sent again."""

T = TypeVar("T")
Messages = Sequence[Mapping[str, Any]]
AnswerStatus = Literal["scored", "abstained", "failed", "too_few", "late", "not_judged"]


@dataclass(frozen=True, slots=True)
class RolloutAnswer:
    """The server's answer for a rollout: a finite ``reward``, or None with a ``reason``, and never both.

    ``status`` and the other fields are described in docs/server.md.
    """

    group_id: str
    index: int
    status: AnswerStatus
    reward: float | None
    score: float | None = None
    stderr: float | None = None
    reason: str | None = None
    rewarded: int = 0


class AsyncClient:
    """A client of the server at ``url``, for one event loop. An async context manager.

    ``token`` is by default that of the environment (CALIPERS_SERVER_TOKEN). ``run`` names the training run: the same
    group id in two runs is two groups. ``timeout`` is in seconds from the first request for a rollout or group until
    the client gives up (None: never); ``hold`` is how many seconds each request may stay open, and must be below the
    timeout of a proxy. Why requests are sent again is logged once for each cause.

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
        timeout: float | None = 3600.0,
        hold: float = 50.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        require_above_zero(timeout=timeout, hold=hold)
        self._url, self._run = _checked_url(url), run
        self._shown = url_without_password(self._url)
        self._timeout, self._hold = math.inf if timeout is None else timeout, max(1, round(hold))
        self._sleep, self._logged = sleep, set[str]()
        self._headers = {"Content-Type": "application/json", "Prefer": f"wait={self._hold}"}
        if token := token or os.environ.get(_TOKEN):
            self._headers["Authorization"] = f"Bearer {_checked_token(token)}"
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
        body: dict[str, Any] = {"group_id": group_id, "group_size": group_size, "index": index, "rubric": rubric}
        body |= {"policy_version": policy_version, "run": self._run or None, "messages": _listed("messages", messages)}
        for name, value in (("context", context), ("tools", tools)):
            body[name] = None if value is None else _listed(name, value)
        sent = {name: value for name, value in body.items() if value is not None}
        return await self._answer("/v1/rollouts", sent, partial(_read_rollout, group_id=group_id, index=index))

    async def score_group(self, group: TrajectoryGroup | Mapping[str, Any]) -> GroupResult:
        """Return the server's result for a whole group: a TrajectoryGroup, or an object of a groups file."""
        body = group.to_dict() if isinstance(group, TrajectoryGroup) else group
        if not isinstance(body, Mapping):
            raise InputError(f"a group is a TrajectoryGroup or an object of a groups file, not {type_in_words(group)}")
        sent = dict(body) | ({"run": self._run} if self._run else {})
        return await self._answer("/v1/groups", sent, partial(_read_group, sent=sent))

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
        sent = _request_json(body)
        headers = self._headers
        if group_id := body.get("group_id"):  # by which a proxy can send all requests for a group to the same server
            named = f"{self._run}:{group_id}".encode(errors="replace")
            headers = headers | {"X-Group-Id": blake2b(named, digest_size=8).hexdigest()}
        loop = asyncio.get_running_loop()
        ends, failed, why = loop.time() + self._timeout, 0, ""
        while True:
            pause = 0.0
            try:
                status, reply_headers, text = await self._post(path, sent, headers, left=ends - loop.time())
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
                    why, asked = _refusal(status, reply_headers, text, self._shown)
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
        """Log why requests to the server are sent again, once for each cause."""
        if cause not in self._logged:
            self._logged.add(cause)
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
        self, url: str, *, token: str | None = None, run: str = "", timeout: float | None = 3600.0, hold: float = 50.0
    ) -> None:
        self._client = AsyncClient(url, token=token, run=run, timeout=timeout, hold=hold)

    def score_rollout(
        self, group_id: str, group_size: int, index: int, messages: Messages, **shared: Any
    ) -> RolloutAnswer:
        """Return the server's answer as ``AsyncClient.score_rollout`` does, with its ``context`` and so on."""
        return run_coroutine(self._client.score_rollout(group_id, group_size, index, messages, **shared))

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


def _pause(failed: int) -> float:
    """Return the seconds until the next request to the server, after so many failures in a row."""
    return min(_LONGEST_PAUSE, 0.25 * 2.0 ** min(failed, 10)) * random.uniform(0.75, 1.25)  # noqa: S311 - no secret


# --- a request --------------------------------------------------------------------------------------------------------


def _request_json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=_plain).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "the request holds half a surrogate pair, which UTF-8 cannot express; replace it, for example with "
            'text.encode("utf-8", "replace").decode()'
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the request cannot be written as JSON: {error}; send dicts, lists, text, numbers") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Trajectory):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if callable(getattr(value, "tolist", None)):  # a numpy array or number, without importing numpy
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"it holds an object of type {type(value).__name__}")


def _listed(name: str, value: object) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of objects, not {type_in_words(value)}")
    return list(value)


def _checked_url(url: str) -> str:
    """Return the server's address without a slash at its end. Raises ConfigError if it cannot be one."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        usable = usable and not (parts.query or parts.fragment) and url.isprintable() and " " not in url
    except (ValueError, TypeError, AttributeError):  # a port above 65535, a bracket that is not closed, or no text
        usable = False
    if not usable:
        shown = re.sub("//[^/]*@", "//", str(url))
        raise ConfigError(
            f"the server's URL is {shown!r}; write it as http://HOST:PORT or https://HOST, with a port from 1 to 65535"
        )
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            "the server's token must be printable ASCII text without spaces; if it was read from a "
            "file, strip the line break at its end"
        )
    return token


# --- a reply ----------------------------------------------------------------------------------------------------------


def _read_rollout(text: bytes, group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for this rollout. Raises ValueError for anything else."""
    answer = _made(RolloutAnswer, _decoded(text), get_args(AnswerStatus))
    if (answer.group_id, answer.index) != (group_id, index):
        raise ValueError(f"it is for group {answer.group_id!r}, index {answer.index}, which was not asked for")
    if (answer.status == "scored") != (answer.reward is not None):
        raise ValueError(f"its status is {answer.status}, its reward {answer.reward}")
    return answer


def _read_group(text: bytes, sent: Mapping[str, Any]) -> GroupResult:
    """Return the server's result for the group that was ``sent``. What has no field of its own is in ``extra``.

    Raises ValueError for anything else.
    """
    rest = _decoded(text)
    usage = _made(Usage, _object(rest.pop("usage", None), "usage"))
    result = _made(GroupResult, rest, get_args(GroupStatus))
    rows = [_object(row, "a trajectory") for row in result.trajectories]
    results = tuple(replace(_made(TrajectoryResult, row, get_args(TrajectoryStatus)), extra=row) for row in rows)
    result = replace(result, trajectories=results, warnings=tuple(map(str, result.warnings)), usage=usage, extra=rest)
    asked, members = sent.get("group_id"), sent.get("trajectories")
    if asked is not None and result.group_id != str(asked):
        raise ValueError(f"it is for group {result.group_id!r}, which was not asked for")
    members = members if isinstance(members, list) else results
    if len(members) != len(results):
        raise ValueError(f"it has {len(results)} trajectories, the group has {len(members)}")
    for member, row in zip(members, results, strict=True):
        member_id = member.get("id") if isinstance(member, Mapping) else None
        if member_id is not None and row.id != str(member_id):
            raise ValueError(f"it has trajectory {row.id!r} where the group has {member_id!r}")
    return result


def _made(kind: type[T], found: dict[str, Any], statuses: tuple[str, ...] = ()) -> T:
    """Return a dataclass with the fields of an object that the server sent, which are taken out of it.

    Null is the default, too; a reward may be null but not missing. Raises ValueError for another kind of value.
    """
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]  # each of them is a dataclass
        if field.name not in _CHECKED:
            continue
        expected, fits = _CHECKED[field.name]
        required = "reward" not in found if field.name == "reward" else field.default is MISSING
        value = found.pop(field.name, None)
        if value is None and not required:
            values |= {field.name: None} if field.default is MISSING else {}
        elif not fits(value) or (field.name == "status" and value not in statuses):
            raise ValueError(f"its {field.name} is {printable(repr(value))[:80]}, which is not {expected}")
        else:
            values[field.name] = value
    return kind(**values)


_CHECKED: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    **dict.fromkeys(("group_id", "id", "explanation", "reason"), ("text", lambda value: isinstance(value, str))),
    "status": ("a status", lambda value: isinstance(value, str)),
    **dict.fromkeys(
        ("index", "rewarded", "judge_calls", "attempts", "unusable", "input_tokens", "output_tokens", "cached_tokens"),
        ("a whole number", lambda value: type(value) is int and value >= 0),
    ),
    **dict.fromkeys(
        ("reward", "score", "stderr", "cost_usd"), ("a number", lambda value: finite_number(value) is not None)
    ),
    **dict.fromkeys(("trajectories", "warnings"), ("a list", lambda value: isinstance(value, list))),
}


def _refusal(status: int, headers: Mapping[str, str], text: bytes, url: str) -> tuple[str, float]:
    """Return why the server did not answer now, and for how many seconds it asks the client to wait.

    Raises for a refusal that sending again does not change. Behind a proxy, a failure that is not in the server's words
    is the proxy's: the server may be about to start again, so the request is sent again.
    """
    words = _own_words(text)
    why = f"HTTP {status}" if words is None else f"{words[0]} (HTTP {status}, request {words[1]})"
    if status == 401:
        raise ConfigError(f"{url}: {why}")
    if words is None:
        again = status in {408, 429} or status >= 500
    else:
        again = status in _AGAIN or (status >= 500 and "Retry-After" in headers)
    if again:
        return why, retry_after_seconds(headers) or 0.0
    if 400 <= status < 500:
        raise InputError(f"{url}: {why}")
    raise CalipersError(f"{url}: {why}")


def _own_words(text: bytes) -> tuple[str, str] | None:
    """Return the error and the request's id if the server itself refused; None for a proxy's page."""
    try:
        answer = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(answer, dict) or not all(isinstance(answer.get(name), str) for name in ("error", "request_id")):
        return None
    return printable(answer["error"])[:_MOST_SHOWN], printable(answer["request_id"])[:128]


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        return _object(orjson.loads(text), "it")
    except orjson.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004 - data, as all that is checked here
    return value
