"""What a client of the server reads: an answer checked against the request, or why there is none.

A reply that is not the answer to the request is refused, because its reward would become another rollout's.
Fields that a newer server adds are ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args
from urllib.parse import urlsplit

import orjson

from calipers.backends.transport.refusals import retry_after_seconds
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.plain import MAX_DEPTH, TOO_DEEP, type_in_words
from calipers.types import GroupResult, Trajectory, TrajectoryResult, Usage
from calipers.types.encoding import finite_number, printable, to_json
from calipers.types.results import GroupStatus, TrajectoryStatus

_ATOMS: Final = frozenset((str, int, bool, type(None)))


def request_json(body: Mapping[str, Any]) -> bytes:
    """Return a request to the server as JSON. Raises InputError for what JSON cannot express."""
    try:
        return to_json(body)
    except UnicodeEncodeError as error:
        raise InputError(
            "the request holds half a surrogate pair, which UTF-8 cannot express; replace it, for example with "
            'text.encode("utf-8", "replace").decode()'
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"the request cannot be written as JSON: {error}") from error


def listed(name: str, value: object) -> list[Any]:
    """Return ``messages``, ``context`` or ``tools`` of a request to the server as a list of plain data."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of objects, not {type_in_words(value)}")
    return [plain(one, f"{name}, item {number}") for number, one in enumerate(value, start=1)]


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """Return a part of a request to the server as dicts, lists, text and numbers.

    Raises InputError for an object, for a key that is not text, and for NaN or infinity, which JSON does not have.
    """
    if type(value) in _ATOMS:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} holds {value}, which JSON does not have; leave it out or send None")
        return value
    if depth >= MAX_DEPTH:
        raise InputError(f"{where} {TOO_DEEP}")
    value = _by_its_form(value, where)
    if isinstance(value, dict):
        return {key: plain(one, where, depth + 1) for key, one in value.items()}
    return [plain(one, where, depth + 1) for one in value] if isinstance(value, list) else value


def _by_its_form(value: Any, where: str) -> Any:
    """Return a part of a request as a dict with keys of text, a list, or what JSON can express."""
    if isinstance(value, Trajectory):
        value = value.to_dict()
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise InputError(f"{where} has the key {odd[0]!r}; keys must be text")
        return dict(value)
    if isinstance(value, str | int):
        return value
    if callable(getattr(value, "tolist", None)):  # a numpy array or number, without importing numpy
        return plain(value.tolist(), where, 1)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise InputError(f"{where} holds an object of type {type(value).__name__}; send dicts, lists, text and numbers")


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


T = TypeVar("T")
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
        group_id=_text(found, "group_id"),
        index=_count(found, "index"),
        status=_word(found, get_args(AnswerStatus)),
        reward=_number(found, "reward", required=True),
        score=_number(found, "score"),
        stderr=_number(found, "stderr"),
        reason=_text_or_none(found, "reason"),
        rewarded=_count(found, "rewarded", 0),
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
    rows = tuple(_member(row) for row in _listed(found, "trajectories"))
    usage = _object(found.pop("usage", None), "usage")
    result = GroupResult(
        group_id=_text(found, "group_id"),
        status=_word(found, get_args(GroupStatus)),
        trajectories=rows,
        judge_calls=_count(found, "judge_calls"),
        usage=Usage(
            input_tokens=_count(usage, "input_tokens", 0),
            output_tokens=_count(usage, "output_tokens", 0),
            cached_tokens=_count(usage, "cached_tokens", 0),
            cost_usd=_number(usage, "cost_usd"),
        ),
        warnings=tuple(map(str, _listed(found, "warnings"))),
        attempts=_count(found, "attempts", 0),
        unusable=_count(found, "unusable", 0),
        extra=found,
    )
    _require_same_group(result, sent)
    return result


def _member(row: Any) -> TrajectoryResult:
    found = _object(row, "a trajectory")
    return TrajectoryResult(
        id=_text(found, "id"),
        status=_word(found, get_args(TrajectoryStatus)),
        reward=_number(found, "reward", required=True),
        score=_number(found, "score"),
        stderr=_number(found, "stderr"),
        explanation=_text_or_none(found, "explanation"),
        reason=_text_or_none(found, "reason"),
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
        own = member.get("id") if isinstance(member, dict) else None
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


def _taken(found: dict[str, Any], name: str, fits: Callable[[Any], T | None], what: str) -> T:
    """Take a field out of the server's reply. Raises ValueError unless it ``fits``."""
    value = found.pop(name, None)
    read = fits(value)
    if read is None:
        shown = printable(repr(value))[:80]
        raise ValueError(f"its {name} is {shown}, which is not {what}")
    return read


def _text(found: dict[str, Any], name: str) -> str:
    return _taken(found, name, lambda value: value if isinstance(value, str) else None, "text")


def _text_or_none(found: dict[str, Any], name: str) -> str | None:
    return None if found.get(name) is None else _text(found, name)


def _word(found: dict[str, Any], known: tuple[str, ...]) -> Any:
    return _taken(found, "status", lambda value: value if value in known else None, f"one of {', '.join(known)}")


def _count(found: dict[str, Any], name: str, default: int | None = None) -> int:
    if name not in found and default is not None:
        return default
    return _taken(found, name, lambda value: value if type(value) is int and value >= 0 else None, "a whole number")


def _number(found: dict[str, Any], name: str, *, required: bool = False) -> float | None:
    if found.get(name) is None and not (required and name not in found):
        found.pop(name, None)
        return None
    return _taken(found, name, finite_number, "a number")


def _listed(found: dict[str, Any], name: str) -> list[Any]:
    return _taken(found, name, lambda value: value if isinstance(value, list) else None, "a list")
