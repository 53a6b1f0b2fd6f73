"""Questions to put to a backend in tests, without a protocol or a renderer."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from typing import Any

from calipers.backends.transport.reply import HttpReply
from calipers.types import Ask, Candidate, JudgeRequest, Message, RenderedGroup

KEYS = ("BC", "DF", "GH", "JK")


def keyed(value: Mapping[str, Any], keys: tuple[str, ...] = KEYS) -> dict[str, Any]:
    """The schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": dict.fromkeys(keys, value),
        "required": list(keys),
        "additionalProperties": False,
    }


SCORES = keyed({"type": "integer", "minimum": 0, "maximum": 100})
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"scores": SCORES},
    "required": ["scores"],
    "additionalProperties": False,
}


def question(
    text: str = "Judge the four attempts. Answer in JSON.",
    *,
    schema: Mapping[str, Any] | None = SCHEMA,
    max_tokens: int | None = 2000,
    params: Mapping[str, Any] | None = None,
    number: int = 0,
    group_id: str = "g1",
    ids: tuple[str, ...] = ("a", "b", "c", "d"),
    members: tuple[tuple[int, ...], ...] = ((0,), (1,), (2,), (3,)),
    order: tuple[int, ...] = (0, 1, 2, 3),
) -> JudgeRequest:
    """A question about four candidates shown as ``KEYS``."""
    candidates = tuple(
        Candidate(member, ({"role": "user", "content": "Try."}, {"role": "assistant", "content": f"Attempt {n}."}), ())
        for n, member in enumerate(members)
    )
    view = RenderedGroup(group_id, ids, "00", "@", (), candidates)
    messages: tuple[Message, ...] = ({"role": "user", "content": text},)
    ask = Ask(number, order, order)
    return JudgeRequest(messages, KEYS[: len(order)], ask, view, schema, max_tokens, params or {})


def replied(body: Any, *, status: int = 200, **headers: str) -> HttpReply:
    """A server's reply; what is no bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


async def at_once(_: float) -> None:
    """A sleep for tests."""


def require_fields(body: Mapping[str, Any], kind: Any) -> None:
    """Each value of a request is of the SDK's type for its name, and no key of it is one that no TypedDict there has:
    pydantic passes over those.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - it comes with the SDKs

    fields = typing.get_type_hints(kind)
    for name, value in body.items():
        TypeAdapter(fields[name]).validate_python(value)
        assert _unknown_keys(value, fields[name]) == set()


def _unknown_keys(value: object, kind: object) -> set[str]:
    if isinstance(value, list):
        return {name for item in value for name in _unknown_keys(item, kind)}
    known = _keys_of(kind)
    return {name for name in value if known and name not in known} if isinstance(value, dict) else set()


def _keys_of(kind: object) -> set[str]:
    if typing.is_typeddict(kind):
        return set(typing.get_type_hints(kind))
    return {name for part in typing.get_args(kind) for name in _keys_of(part)}
