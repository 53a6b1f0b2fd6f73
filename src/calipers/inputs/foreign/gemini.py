"""Contents of Gemini's API: messages of ``parts``, in the wire's camelCase or the SDK's snake_case; and the events of
ADK, Google's agent kit, which hold such a content.

A part's signature, metadata and media settings are not part of the conversation and are ignored; a part of an unknown
kind is an error. An event's state, usage and grounding are ignored. Source of the fields: ``google.genai.types``
(google-genai 3.4), and ``Event`` of google-adk 2.13.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.plain import compact_json, type_in_words

_ROLES = {"model": "assistant", "function": "user", "tool": "user"}
_KINDS = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse", "audioTranscription",
})  # fmt: skip


_NOTES = frozenset({
    "thoughtSignature", "thought", "mediaResolution", "mediaProcessing", "videoMetadata", "partMetadata",
    "speechMetadata", "documentMetadata", "spreadsheetMetadata", "audioMetadata",
})  # fmt: skip
"""What is no part on its own: the signature of a thought comes in a part without text, too."""


def is_gemini(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a Gemini content: ``parts`` without a ``content``."""
    return isinstance(value.get("parts"), list) and "content" not in value and "kind" not in value


def is_adk_event(value: Any) -> bool:
    """Return whether a value is an event of a session of ADK."""
    return (
        isinstance(value, dict)
        and "author" in value
        and not value.keys().isdisjoint(("invocation_id", "invocationId"))
        and isinstance(value.get("content"), dict | None)
    )


def chat_messages_of_adk(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate an event of ADK: its content, what was transcribed, and its error; none for a change of state alone.

    An event that is marked as partial is repeated by a later one.
    """
    event = _camel(value, 1)
    if event.get("partial") is True:
        return []
    found: list[dict[str, Any]] = []
    for key, role in (("inputTranscription", "user"), ("outputTranscription", "assistant")):
        text = (event.get(key) or {}).get("text")
        found += [{"role": role, "content": text}] if text else []
    content = event.get("content") or {}
    if content.get("parts"):
        own = "user" if event.get("author") == "user" else "model"
        found += chat_messages_of_gemini({**content, "role": content.get("role") or own}, pending)
    if event.get("errorCode") or event.get("errorMessage"):
        texts = [str(event[key]) for key in ("errorCode", "errorMessage") if event.get(key)]
        found.append({"role": "user", "content": f"error: {': '.join(texts)}"})
    return found


def chat_messages_of_gemini(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a Gemini content to chat messages, one for each function response. Raises InputError for an unknown
    part.
    """
    role = str(value.get("role") or "user")
    head = {"role": _ROLES.get(role, role)}
    found: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    for number, given in enumerate(value["parts"], start=1):
        part = _camel(given, number)
        if part and part.keys() <= _NOTES:
            continue
        result = _result(part, pending)
        if result is None:
            spoken = part.pop("audioTranscription", None)
            blocks += [_block(part, pending, number)] if part.keys() - _NOTES else []
            blocks += [{"type": "text", "text": _camel(spoken, number).get("text") or ""}] if spoken else []
        else:
            found += [head | {"content": blocks}] if blocks else []
            found.append(result)
            blocks = []
    return [*found, head | {"content": blocks}] if blocks or not found else found


def _camel(part: Any, number: int) -> dict[str, Any]:
    """Return a part with the wire's names, without empty fields."""
    if not isinstance(part, dict):
        raise InputError(f"part {number} must be an object, not {type_in_words(part)}")
    return {_camel_name(key): item for key, item in part.items() if item is not None}


def _camel_name(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _block(part: dict[str, Any], pending: Pending, number: int) -> dict[str, Any]:
    if "text" in part:
        return {"type": "thinking", "thinking": part["text"]} if part.get("thought") else _text(part)
    if "inlineData" in part:
        return _media(_camel(part["inlineData"], number))
    if "fileData" in part:
        return _media(_camel(part["fileData"], number))
    for kind, name in (("functionCall", ""), ("toolCall", "toolType"), ("executableCode", "code_execution")):
        if kind in part:
            call = _camel(part[kind], number)
            called = str(call.get("name") or call.get(name) or name)
            arguments = (
                call.get("args") or call.get("partialArgs")
                if kind != "executableCode"
                else {k: v for k, v in call.items() if k != "id"}
            )
            return {"type": "tool_use", **tool_call(pending.opened(called, call.get("id")), called, arguments)}
    known = ", ".join(sorted(_KINDS))
    raise InputError(f"part {number} has the keys {', '.join(part) or 'none'}; a Gemini part has one of {known}")


def _text(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": part["text"]}


def _media(media: dict[str, Any]) -> dict[str, Any]:
    mime = str(media.get("mimeType") or "")
    kind = mime.partition("/")[0]
    where = {"url": media["fileUri"]} if "fileUri" in media else {"data": media.get("data"), "mime_type": mime}
    name = {"filename": media["displayName"]} if "displayName" in media else {}
    if kind == "audio" and "data" in where:
        return {"type": "audio", **where}
    return {"type": "image" if kind == "image" else "file", **where, **name}


def _result(part: dict[str, Any], pending: Pending) -> dict[str, Any] | None:
    """Return the tool message of a part that holds a result; None for any other part.

    Gemini documents ``output`` and ``error`` as the keys of a response; any other response is the output as a whole.
    """
    if "codeExecutionResult" in part:
        given = _camel(part["codeExecutionResult"], 1)
        outcome = str(given.get("outcome") or "")
        failed = outcome not in ("", "OUTCOME_OK")
        text = str(given.get("output") or "") or outcome
        return tool_result(text, pending.answered("code_execution", given.get("id")), failed=failed)
    kind = next((kind for kind in ("functionResponse", "toolResponse") if kind in part), None)
    if kind is None:
        return None
    given = _camel(part[kind], 1)
    name = given.get("name") or given.get("toolType")
    response = given.get("response") or {}
    output = response.get("output") if isinstance(response, dict) and response.keys() == {"output"} else response
    content: Any = output if isinstance(output, str) else compact_json(output)
    if given.get("parts"):
        media = [_media(_camel(_media_of(_camel(item, 1)), 1)) for item in given["parts"]]
        content = [{"type": "text", "text": content}, *media]
    failed = isinstance(response, dict) and "error" in response
    return tool_result(content, pending.answered(name, given.get("id")), name=name, failed=failed)


def _media_of(part: dict[str, Any]) -> Any:
    return part.get("inlineData") or part.get("fileData")
