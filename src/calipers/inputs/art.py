"""Read trajectories of ART (openpipe-art) by duck typing: art is never imported.

Two forms exist: ``messages_and_choices`` with ``additional_histories``, and ``exchanges``, recorded requests with their
responses. Failed rollouts (``group.exceptions``) are not trajectories.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs.messages import canonical
from calipers.inputs.plain import type_in_words

HOLDERS = frozenset(("messages_and_choices", "additional_histories", "exchanges"))
"""Fields of an ART trajectory that hold messages."""
_History = tuple[Sequence[Any], Sequence[Any]]
"""Messages and tools."""


def is_art_trajectory(value: Any) -> bool:
    """Return whether the foreign ``value`` is an ART trajectory, or the dict that ART dumped from a trajectory."""
    names = ("messages_and_choices", "exchanges")
    return any(name in value if isinstance(value, Mapping) else hasattr(value, name) for name in names)


def art_trajectory_fields(value: Any) -> dict[str, Any]:
    """Return an ART trajectory, or a row of ART's logs, as a trajectory object of a groups file without an id.

    Further histories follow the first, each after a system message that numbers it, so that a judge sees the whole
    rollout. Raises InputError for recorded exchanges that form no chat.
    """
    histories = [history for history in _histories(value) if history[0]]
    messages: list[Any] = []
    tools: list[Any] = []
    for number, (messages_of_history, offered) in enumerate(histories, start=1):
        if number > 1:
            messages.append({"role": "system", "content": f"History {number} of {len(histories)} of this rollout:"})
        messages.extend(messages_of_history)
        tools.extend(tool for tool in offered if tool not in tools)
    metadata = _get(value, "metadata") or {}
    noted = [_get(value, name) for name in ("initial_policy_version", "final_policy_version")]
    if (known := [version for version in noted if version is not None]) and isinstance(metadata, Mapping):
        from calipers.types.versions import version_fields  # noqa: PLC0415 - all import this file, few train with ART

        metadata = version_fields(*known) | dict(metadata)
    return {"messages": messages, "tools": tools or None, "reward": _get(value, "reward"), "metadata": metadata}


def _histories(value: Any) -> list[_History]:
    if isinstance(value, Mapping):
        if exchanges := _decoded(value, "exchanges"):
            if not isinstance(exchanges, Mapping):
                raise InputError(f"has {type_in_words(exchanges)} as 'exchanges', where ART holds an object")
            if any(exchanges.values()):
                return _recorded(exchanges)
    elif _get(value, "exchanges"):
        return list(_projected(value))
    held = (value, *_listed(value, "additional_histories"))
    return [
        (_listed(part, "messages_and_choices") or _listed(part, "messages"), _listed(part, "tools")) for part in held
    ]


def _decoded(value: Any, name: str) -> Any:
    """Return what ART holds under ``name``; its logs may hold it as JSON text."""
    held = _get(value, name)
    try:
        return json.loads(held) if isinstance(held, str) and held else held
    except (ValueError, RecursionError):
        raise InputError(f"has text that is not JSON as {name!r}") from None


def _listed(value: Any, name: str) -> Sequence[Any]:
    held = _decoded(value, name)
    if not held or callable(held):
        return ()
    if not isinstance(held, list | tuple):
        raise InputError(f"has {type_in_words(held)} as {name!r}, where ART holds a list")
    return held


def _projected(value: Any) -> Iterable[_History]:
    """Yield the histories that ART makes of a trajectory's exchanges itself."""
    try:
        several = getattr(value, "histories", None)
        for history in several() if callable(several) else [value.history()]:
            chat = history.as_chat_completions_history()
            yield chat.messages, chat.tools or ()
    except (ValueError, NotImplementedError) as error:  # ART's errors for exchanges that form no chat history
        raise InputError(f"holds exchanges that ART cannot convert to chat messages: {error}") from error


def _recorded(exchanges: Mapping[str, Any]) -> list[_History]:
    """Return the histories in ART's recorded exchanges as plain data.

    A request repeats the conversation so far: one that begins with a whole earlier history continues it.
    """
    histories: list[_History] = []
    for kind, listed in exchanges.items():
        for exchange in listed or ():
            try:
                asked, answered = _exchange(kind, exchange["request"], exchange["response"])
                tools = exchange["request"].get("tools") or []
            except (AttributeError, KeyError, IndexError, TypeError) as error:
                raise InputError(f"holds an exchange of {kind} without its request or response ({error!r})") from None
            begun = (
                at for at, (known, _) in enumerate(histories) if _repeated(known) == _repeated(asked[: len(known)])
            )
            at = next(begun, len(histories))
            histories[at : at + 1] = [([*asked, *answered], tools)]
    return histories


def _exchange(kind: str, request: Any, response: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the messages of a request and of its response."""
    asked = next((request[key] for key in ("messages", "input", "prompt") if request.get(key)), None)
    system = next((request[key] for key in ("system", "instructions") if request.get(key)), None)
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    if asked is None:
        raise KeyError("messages")
    if kind == "messages":  # Anthropic's API
        answered = [response]
    elif kind == "responses":
        answered = list(response["output"])
    else:
        choice = response["choices"][0]
        answered = [choice if "message" in choice else {"role": "assistant", "content": choice["text"]}]
    return canonical([*([{"role": "system", "content": system}] if system else []), *asked]), canonical(answered)


def _repeated(messages: Sequence[Any]) -> list[Any]:
    """Return what a client repeats of messages in its next request."""
    return [(message["role"], message.get("content") or None, message.get("tool_calls")) for message in messages]


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
