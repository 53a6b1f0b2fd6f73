"""Read trajectories of ART (openpipe-art) by duck typing: art is never imported.

Two forms exist: ``messages_and_choices`` with ``additional_histories`` (from 0.4), and ``exchanges``, recorded requests
that only ART itself can convert to messages (from 0.5.19). Failed rollouts (``group.exceptions``) are not trajectories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import type_in_words

HOLDERS = frozenset(("messages_and_choices", "additional_histories", "exchanges"))
"""Fields of an ART trajectory that hold messages."""


def is_art_trajectory(value: Any) -> bool:
    """Return whether the foreign ``value`` is an ART trajectory, or the dict that ART dumped from a trajectory."""
    return _has(value, "messages_and_choices") or _has(value, "exchanges")


def art_trajectory_fields(value: Any) -> dict[str, Any]:
    """Return an ART trajectory as a trajectory object of a groups file; it has no id, and may hold ART's choices.

    Further histories follow the first, each after a system message that numbers it, so that a judge sees the whole
    rollout. Raises InputError, with ART's reason, for recorded exchanges that ART cannot convert to chat messages.
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


def _histories(value: Any) -> list[tuple[Sequence[Any], Sequence[Any]]]:
    if _get(value, "exchanges"):
        return list(_recorded(value))
    held = (value, *_listed(value, "additional_histories"))
    return [(_listed(part, "messages_and_choices"), _listed(part, "tools")) for part in held]


def _listed(value: Any, name: str) -> Sequence[Any]:
    found = _get(value, name)
    if not found:
        return ()
    if not isinstance(found, list | tuple):
        raise InputError(f"has {type_in_words(found)} as {name!r}, where ART holds a list")
    return found


def _recorded(value: Any) -> Iterable[tuple[Sequence[Any], Sequence[Any]]]:
    if isinstance(value, Mapping):
        raise InputError(
            "holds ART's recorded exchanges as plain data, which only ART can convert to messages; "
            "load it with art.Trajectory.model_validate(...) first, or write its messages instead"
        )
    try:
        several = getattr(value, "histories", None)
        for history in several() if callable(several) else [value.history()]:
            chat = history.as_chat_completions_history()
            yield chat.messages, chat.tools or ()
    except (ValueError, NotImplementedError) as error:  # ART's errors for exchanges that form no chat history
        raise InputError(f"holds exchanges that ART cannot convert to chat messages: {error}") from error


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
