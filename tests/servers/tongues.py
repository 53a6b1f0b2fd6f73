"""What a scripted model said, in the API it was asked in: chat completions, Anthropic's, or decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

STOPS = {"stop": "end_turn", "length": "max_tokens"}


def in_tongue(path: str, asked: Any, body: Any) -> Any:
    """``body`` as it is, or, where it is a chat completion and the path another API's, what that API would say."""
    tongue = TONGUES.get(path.partition("?")[0].rpartition("/")[2].rpartition(":")[2])
    if tongue is None:
        return body
    try:
        choice = body["choices"][0]
        said, finish = dict(choice["message"]), choice["finish_reason"]
    except (KeyError, TypeError, ValueError, IndexError):
        return body  # something else, or scripted to be broken
    try:
        return tongue(asked, said, finish)
    except KeyError:
        return body  # the other API has no word for it


def message(text: str, *, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """An answer of the Messages API."""
    usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 5}
    said: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model"}
    said |= {"content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None, "usage": usage}
    return said | more


def _messages(_: Any, said: Mapping[str, Any], finish: str) -> dict[str, Any]:
    if said.get("refusal"):
        details = {"type": "refusal", "category": None, "explanation": said["refusal"]}
        return message("", stop="refusal", stop_details=details)
    return message(said["content"], stop=STOPS[finish])


def _chances(said: Mapping[str, Any]) -> list[float]:
    """A level is as likely as its digit is frequent in what was said, and then some."""
    if not said["content"]:
        raise KeyError("nothing was said")
    weights = [1 + str(said["content"]).count(str(level)) for level in range(10)]
    return [weight / sum(weights) for weight in weights]


def _systemone(asked: Any, said: Mapping[str, Any], _: str) -> dict[str, Any]:
    if said.get("refusal"):
        answers: dict[str, Any] = {name: {"type": "refusal"} for name in asked["questions"]}
    else:
        scored = {"type": "score", "probabilities": {str(level): chance for level, chance in enumerate(_chances(said))}}
        answers = dict.fromkeys(asked["questions"], scored)
    return {"model": "served-model", "answers": answers, "usage": {"input_tokens": 10, "output_tokens": 0}}


def _scored(question: Mapping[str, Any], chances: list[float]) -> dict[str, Any]:
    rows = [
        {"value": value, "label": level["label"], "probability": chance}
        for value, (level, chance) in enumerate(zip(question["levels"], chances, strict=True))
    ]
    score = sum(value * chance for value, chance in enumerate(chances))
    return {"type": "score", "name": question["name"], "probabilities": rows, "score": score, "confidence": 0.5}


def _decisions(asked: Any, said: Mapping[str, Any], _: str) -> dict[str, Any]:
    if said.get("refusal"):
        answers = [{"type": "refusal", "name": question["name"]} for question in asked["questions"]]
    else:
        answers = [_scored(question, _chances(said)) for question in asked["questions"]]
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 14,
    }
    return {"model": "served-model", "answers": answers, "usage": usage}


TONGUES: Final[dict[str, Callable[[Any, Mapping[str, Any], str], dict[str, Any]]]] = {
    "messages": _messages,
    "systemone": _systemone,
    "decisions": _decisions,
}
"""By the last word of an API's path: what was asked, and a chat completion's message and finish reason → a body."""
