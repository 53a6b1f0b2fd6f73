"""What a client of the server reads: an answer checked against the request, or why there is none.

A reply that is not the answer to the request is refused, because its reward would become another rollout's.
Fields that a newer server adds are ignored. Not responsible for sending (``client``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

import orjson

from calipers.backends.transport.refusals import retry_after_seconds
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.types import GroupResult, TrajectoryResult, Usage
from calipers.types.encoding import finite_number, printable
from calipers.types.results import GroupStatus, TrajectoryStatus

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
