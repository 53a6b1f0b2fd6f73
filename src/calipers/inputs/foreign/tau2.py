"""Messages of tau2-bench: tool results with ``requestor``, alone or several together, and ticks of full duplex runs.

In a tick, the agent's part precedes the user's, as tau2 itself lists them. Source of the fields:
``tau2.data_model.message`` and ``tau2.data_model.simulation`` of sierra-research/tau2-bench.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_result

_NOTES = frozenset({
    "turn_idx", "timestamp", "cost", "usage", "raw_data", "generation_time_seconds", "is_audio", "audio_format",
    "is_final_chunk", "contains_speech", "context_truncation", "chunk_id", "utterance_ids", "source",
    "audio_script_gold", "audio_path",
})  # fmt: skip


def is_tau2(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a tool message of tau2, one or several, or another message with a turn's index."""
    if value.get("role") == "tool":
        return isinstance(value.get("tool_messages"), list) or ("requestor" in value and "tool_call_id" not in value)
    return "role" in value and "turn_idx" in value


def chat_messages_of_tau2(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a message of tau2, without its clock and cost."""
    del pending  # tau2's calls all have ids
    if isinstance(value.get("tool_messages"), list):
        return [_result(one) for one in value["tool_messages"]]
    if value.get("role") == "tool":
        return [_result(value)]
    spoken = value.get("audio_script_gold")
    if value.get("is_audio") and value.get("content") and spoken is None:
        raise InputError("is audio; calipers reads the transcripts of a tau2 run: give 'ticks' with text")
    if value.get("is_audio") or not value.get("content"):
        value = {**value, "content": spoken}
    return [{key: item for key, item in value.items() if key not in _NOTES}]


def _result(value: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("'tool_messages' must hold tool messages")
    return tool_result(value.get("content"), value.get("id") or None, failed=value.get("error") is True)


def messages_of_ticks(ticks: list[Any]) -> list[dict[str, Any]]:
    """Return the messages of a full duplex run: consecutive chunks of a speaker are joined to one message."""
    found: list[dict[str, Any]] = []
    uttered: set[str] = set()
    for number, tick in enumerate(ticks, start=1):
        if not isinstance(tick, dict):
            raise InputError(f"tick {number} must be an object")
        for message, ids in _of_tick(tick, number):
            last = found[-1] if found else {}
            spoken = "tool" != message["role"] == last.get("role")
            if spoken and "tool_calls" not in last and "tool_calls" not in message:
                gap = " " if ids and uttered and ids.isdisjoint(uttered) else ""
                last["content"] += gap + message["content"]
            else:
                found.append(message)
            uttered = ids
    return found


def _of_tick(tick: dict[str, Any], number: int) -> Iterator[tuple[dict[str, Any], set[str]]]:
    for speaker, role in (("agent", "assistant"), ("user", "user")):
        chunk = tick.get(f"{speaker}_chunk") or {}
        calls = tick.get(f"{speaker}_tool_calls") or []
        text = chunk.get("audio_script_gold") if chunk.get("is_audio") else chunk.get("content")
        if chunk.get("is_audio") and chunk.get("content") and text is None:
            raise InputError(f"tick {number}: the {speaker}'s chunk is audio without a transcript")
        if text or calls:
            yield (
                {"role": role, "content": text or "", **({"tool_calls": calls} if calls else {})},
                set(chunk.get("utterance_ids") or ()),
            )
        for result in tick.get(f"{speaker}_tool_results") or []:
            yield _result(result), set()
