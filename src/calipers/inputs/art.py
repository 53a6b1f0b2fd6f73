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
    return _has(value, "messages_and_choices") or _has(value, "exchanges")


def art_trajectory_fields(value: Any) -> dict[str, Any]:
    """Return an ART trajectory, or a row of ART's logs, as a trajectory object of a groups file without an id.

    Further histories follow the first, each after a system message that numbers it, so that a judge sees the whole
    rollout. Raises InputError for recorded exchanges that form no chat.
    """
    histories = [history for history in _histories(value) if history[0]]
    messages: list[Any] = []
    tools: list[Any] = []
    for number, (found, offered) in enumerate(histories, start=1):
        if number > 1:
            messages.append({"role": "system", "content": f"History {number} of {len(histories)} of this rollout:"})
        messages.extend(found)
        tools.extend(tool for tool in offered if tool not in tools)
    return {
        "messages": messages,
        "tools": tools or None,
        "reward": _get(value, "reward"),
        "metadata": _with_versions(value, _get(value, "metadata") or {}),
    }


def _with_versions(value: Any, metadata: Any) -> Any:
    """Add to a rollout's metadata the versions of the policy that ART noted at its begin and end, if it noted any."""
    noted = [_get(value, name) for name in ("initial_policy_version", "final_policy_version")]
    known = [one for one in noted if one is not None]
    if not known or not isinstance(metadata, Mapping):
        return metadata
    from calipers.types.versions import version_fields  # noqa: PLC0415 - all import this file, few train with ART

    return version_fields(*known) | dict(metadata)


def _histories(value: Any) -> list[_History]:
    if not isinstance(value, Mapping):
        if _get(value, "exchanges"):
            return list(_projected(value))
    elif exchanges := _decoded(value, "exchanges"):
        if not isinstance(exchanges, Mapping):
            raise InputError(f"has {type_in_words(exchanges)} as 'exchanges', where ART holds an object")
        if any(exchanges.values()):
            return _recorded(exchanges)
    held = (value, *_listed(value, "additional_histories"))
    return [
        (_listed(part, "messages_and_choices") or _listed(part, "messages"), _listed(part, "tools")) for part in held
    ]


def _decoded(value: Any, name: str) -> Any:
    """Return what ART holds under ``name``; its logs may hold it as JSON text."""
    found = _get(value, name)
    try:
        return json.loads(found) if isinstance(found, str) and found else found
    except (ValueError, RecursionError):
        raise InputError(f"has text that is not JSON as {name!r}") from None


def _listed(value: Any, name: str) -> Sequence[Any]:
    found = _decoded(value, name)
    if not found or callable(found):
        return ()
    if not isinstance(found, list | tuple):
        raise InputError(f"has {type_in_words(found)} as {name!r}, where ART holds a list")
    return found


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
            asked, answered = _exchange(str(kind), exchange)
            tools = exchange["request"].get("tools") or []
            begun = (at for at, (known, _) in enumerate(histories) if _said(known) == _said(asked[: len(known)]))
            at = next(begun, len(histories))
            histories[at : at + 1] = [([*asked, *answered], tools)]
    return histories


def _exchange(kind: str, exchange: Any) -> tuple[list[Any], list[Any]]:
    """Return the messages of a request and of its response."""
    try:
        request, response = exchange["request"], exchange["response"]
        match kind:
            case "chat_completions":
                asked, answered = request["messages"], [response["choices"][0]]
            case "messages":
                system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
                asked, answered = [*system, *request["messages"]], [response]
            case "responses":
                system = [{"role": "system", "content": request["instructions"]}] if request.get("instructions") else []
                given = request["input"]
                asked = [*system, *([{"role": "user", "content": given}] if isinstance(given, str) else given)]
                answered = list(response["output"])
            case _:
                asked = [{"role": "user", "content": request["prompt"]}]
                answered = [{"role": "assistant", "content": response["choices"][0]["text"]}]
        return list(canonical(asked)), list(canonical(answered))
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"holds an exchange of {kind} without its request or response ({error!r})") from None


def _said(messages: Sequence[Any]) -> list[Any]:
    """Return what a client repeats of messages in its next request."""
    return [(one["role"], one.get("content") or None, one.get("tool_calls")) for one in messages]


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
