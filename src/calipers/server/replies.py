"""What a client of the server reads: an answer checked against the request, or why there is none.

A reply that is not the answer to the request is refused, because its reward would become another rollout's.
Fields that a newer server adds are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import orjson

from calipers.backends.transport.refusals import retry_after_seconds
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.plain import type_in_words
from calipers.types import GroupResult, Trajectory, TrajectoryResult, Usage
from calipers.types.encoding import finite_number, printable
from calipers.types.results import GroupStatus, TrajectoryStatus


def request_json(body: Mapping[str, Any]) -> bytes:
    """Return a request to the server as JSON. Raises InputError for what JSON cannot express."""
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


def listed(name: str, value: object) -> list[Any]:
    """Return ``messages``, ``context`` or ``tools`` of a request as a list."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of objects, not {type_in_words(value)}")
    return list(value)


def checked_url(url: object) -> str:
    """Return the server's address without a slash at its end. Raises ConfigError if it cannot be one."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        usable = usable and not (parts.query or parts.fragment)
    except ValueError:  # a port above 65535, or a bracket that is not closed
        usable = False
    if not isinstance(url, str) or not usable or not url.isprintable() or " " in url:
        shown = without_password(url) if isinstance(url, str) else url
        raise ConfigError(
            f"the server's URL is {shown!r}; write it as http://HOST:PORT or https://HOST, with a port from 1 to 65535"
        )
    return url.rstrip("/")


def without_password(url: str) -> str:
    """Return the server's address as messages and the log may show it."""
    return re.sub("//[^/]*@", "//", url)


def checked_token(token: object) -> str | None:
    """Return the server's token, None if it is empty. Raises ConfigError if a header cannot hold it."""
    if token is None or token == "":
        return None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            "the server's token must be printable ASCII text without spaces; a line break at its end, as in text that "
            "was read from a file, must be removed"
        )
    return token


def checked_seconds(timeout: object, hold: object) -> tuple[float, int]:
    """Return a client's ``timeout``, and ``hold`` in whole seconds. Raises ConfigError for what they cannot be."""
    for name, value, most in (("timeout", timeout, math.inf), ("hold", hold, 9999)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= most:  # type: ignore[operator]
            bound = "" if most == math.inf else f" and at most {most:g}"
            raise ConfigError(f"{name}={value!r}: it must be a number of seconds above 0{bound}")
    return float(timeout), max(1, round(hold))  # type: ignore[arg-type, call-overload]


AnswerStatus = Literal["scored", "abstained", "failed", "too_few", "late", "not_judged"]

_MOST_SHOWN: Final = 2000
_AGAIN: Final = frozenset((429, 502, 504))
"""What the server, or a proxy, answers to a request that may be sent again."""


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


def read_rollout(text: bytes, group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for this rollout. Raises ValueError for anything else."""
    found = _decoded(text)
    answer = RolloutAnswer(
        group_id=_taken(found, "group_id", _TEXT),
        index=_taken(found, "index", _COUNT),
        status=_taken(found, "status", _one_of(get_args(AnswerStatus))),
        reward=_reward(found),
        score=_taken(found, "score", _NUMBER, None),
        stderr=_taken(found, "stderr", _NUMBER, None),
        reason=_taken(found, "reason", _TEXT, None),
        rewarded=_taken(found, "rewarded", _COUNT, 0),
    )
    if (answer.group_id, answer.index) != (group_id, index):
        raise ValueError(f"it is for group {answer.group_id!r}, index {answer.index}, which was not asked for")
    if (answer.status == "scored") != (answer.reward is not None):
        raise ValueError(f"its status is {answer.status}, its reward {answer.reward}")
    return answer


def read_group(text: bytes, sent: Mapping[str, Any]) -> GroupResult:
    """Return the server's result for the group that was ``sent``. What has no field of its own is in ``extra``.

    Raises ValueError for anything else.
    """
    found = _decoded(text)
    rows = tuple(_member(row) for row in _taken(found, "trajectories", _LIST))
    usage = _object(found.pop("usage", None), "usage")
    tokens = {name: _taken(usage, name, _COUNT, 0) for name in ("input_tokens", "output_tokens", "cached_tokens")}
    result = GroupResult(
        group_id=_taken(found, "group_id", _TEXT),
        status=_taken(found, "status", _one_of(get_args(GroupStatus))),
        trajectories=rows,
        judge_calls=_taken(found, "judge_calls", _COUNT),
        usage=Usage(**tokens, cost_usd=_taken(usage, "cost_usd", _NUMBER, None)),
        warnings=tuple(map(str, _taken(found, "warnings", _LIST))),
        attempts=_taken(found, "attempts", _COUNT, 0),
        unusable=_taken(found, "unusable", _COUNT, 0),
        extra=found,
    )
    _require_same_group(result, sent)
    return result


def _member(row: Any) -> TrajectoryResult:
    found = _object(row, "a trajectory")
    return TrajectoryResult(
        id=_taken(found, "id", _TEXT),
        status=_taken(found, "status", _one_of(get_args(TrajectoryStatus))),
        reward=_reward(found),
        score=_taken(found, "score", _NUMBER, None),
        stderr=_taken(found, "stderr", _NUMBER, None),
        explanation=_taken(found, "explanation", _TEXT, None),
        reason=_taken(found, "reason", _TEXT, None),
        extra=found,
    )


def _require_same_group(result: GroupResult, sent: Mapping[str, Any]) -> None:
    """Raise ValueError unless the server's result has the id and the trajectories of the group that was sent."""
    asked = sent.get("group_id")
    if asked is not None and result.group_id != str(asked):
        raise ValueError(f"it is for group {result.group_id!r}, which was not asked for")
    members = sent.get("trajectories")
    if not isinstance(members, list):
        return
    if len(members) != len(result.trajectories):
        raise ValueError(f"it has {len(result.trajectories)} trajectories, the group has {len(members)}")
    for member, row in zip(members, result.trajectories, strict=True):
        own = member.get("id") if isinstance(member, Mapping) else None
        if own is not None and row.id != str(own):
            raise ValueError(f"it has trajectory {row.id!r} where the group has {own!r}")


def refusal(status: int, headers: Mapping[str, str], text: bytes, url: str) -> tuple[str, float]:
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
        said = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or not all(isinstance(said.get(name), str) for name in ("error", "request_id")):
        return None
    return printable(said["error"])[:_MOST_SHOWN], printable(said["request_id"])[:128]


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        return _object(orjson.loads(text), "it")
    except orjson.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004 - data, as all that is checked here
    return value


_Kind: TypeAlias = tuple[Callable[[Any], bool], str]
_TEXT: Final[_Kind] = (lambda value: isinstance(value, str), "text")
_COUNT: Final[_Kind] = (lambda value: type(value) is int and value >= 0, "a whole number")
_NUMBER: Final[_Kind] = (lambda value: finite_number(value) is not None, "a number")
_LIST: Final[_Kind] = (lambda value: isinstance(value, list), "a list")
_REQUIRED: Final = object()


def _one_of(words: tuple[str, ...]) -> _Kind:
    return (lambda value: value in words, f"one of {', '.join(words)}")


def _taken(found: dict[str, Any], name: str, kind: _Kind, default: Any = _REQUIRED) -> Any:
    """Take a field out of the server's reply; null is the default, too. Raises ValueError for another kind of value."""
    value = found.pop(name, None)
    if value is None and default is not _REQUIRED:
        return default
    fits, what = kind
    if not fits(value):
        raise ValueError(f"its {name} is {printable(repr(value))[:80]}, which is not {what}")
    return value


def _reward(found: dict[str, Any]) -> float | None:
    """Return the reward, which may be null but not missing."""
    missing = "reward" not in found
    reward: float | None = _taken(found, "reward", _NUMBER, _REQUIRED if missing else None)
    return reward
