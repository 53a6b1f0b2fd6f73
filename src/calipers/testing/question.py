"""The question that a simulated judge answers, as its vices see it, with the generators for their randomness."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from calipers.errors import ConfigError
from calipers.types import Candidate, JudgeRequest, Message
from calipers.types.encoding import finite_number


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a simulated judge.

    ``call`` is its number among all calls of this judge object, from 0, in the order they arrive. ``attempt`` counts
    how often this judge object got the very same request before (messages, schema, token limit, parameters and sample
    all equal). ``seed`` is the judge's; ``label`` distinguishes the vices that draw from the seed.
    """

    request: JudgeRequest
    seed: int
    call: int
    attempt: int
    label: str = ""

    @property
    def shown(self) -> tuple[Candidate, ...]:
        """The candidates that the simulated judge is shown, in the prompt's order, one per key of the request."""
        return tuple(self.request.view.candidates[item] for item in self.request.ask.order)

    def trajectory_id(self, candidate: Candidate) -> str:
        """Return the id of the first trajectory of the candidate that a simulated judge sees.

        A canary has no trajectory, and an empty id.
        """
        return self.request.view.ids[candidate.members[0]] if candidate.members else ""

    def by_content(self) -> Random:
        """Return a simulated judge's random generator, the same for equal messages and sample numbers."""
        return _generator(self.seed, self.label, request_content(self.request))

    def by_attempt(self) -> Random:
        """Return a simulated judge's random generator that differs at every repetition of a request.

        A new run repeats the sequence.
        """
        return _generator(self.seed, self.label, request_identity(self.request), self.attempt)

    def by_candidate(self, candidate: Candidate, *, seed: int | None = None) -> Random:
        """Return a simulated judge's random generator that is the same in every question about this candidate.

        ``seed`` replaces the judge's seed.
        """
        names = (self.request.view.group_id, self.trajectory_id(candidate))
        return _generator(self.seed if seed is None else seed, self.label, *names)

    def by_group(self) -> Random:
        """Return a simulated judge's random generator that is the same in every question about this group."""
        return _generator(self.seed, self.label, self.request.view.group_id)

    def by_order(self) -> Random:
        """Return a simulated judge's random generator that is the same whenever these candidates are shown in this
        order.
        """
        return _generator(self.seed, self.label, self.request.view.group_id, *map(self.trajectory_id, self.shown))


def request_content(request: JudgeRequest) -> str:
    """Return a hex digest of the messages and sample number, on which a simulated judge's opinion depends."""
    return _digest([request.messages, request.ask.sample])


def request_identity(request: JudgeRequest) -> str:
    """Return a hex digest of all that identifies a simulated judge's request in a ledger except the judge's name."""
    return _digest([request.messages, request.ask.sample, request.schema, request.max_tokens, request.params])


def own_characters(candidate: Candidate, prefix_length: int) -> int:
    """Return, for a simulated judge, the characters of messages that only this candidate has.

    They are those of text, reasoning and tool arguments.
    """
    return sum(_characters(message) for message in candidate.messages[prefix_length:])


def transcript_text(candidate: Candidate) -> str:
    """Return the candidate's transcript as the simulated judge reads it: fenced, escaped and elided.

    Images are omitted and line breaks become spaces, so that a phrase matches even if it is broken over two lines.
    """
    return " ".join("".join(part for part in candidate.body if isinstance(part, str)).split())


def _characters(message: Message) -> int:
    texts = [message.get("content"), message.get("reasoning")]
    texts += [call.get("function", {}).get("arguments") for call in message.get("tool_calls") or ()]
    return sum(_length(text) for text in texts)


def _length(text: Any) -> int:
    match text:
        case str():
            return len(text)
        case list() | tuple():
            return sum(_length(part.get("text")) for part in text if isinstance(part, Mapping))
        case Mapping():
            return len(json.dumps(text, ensure_ascii=False, default=str))
        case _:
            return 0


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _generator(*parts: object) -> Random:
    seed = hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    return Random(int.from_bytes(seed))  # noqa: S311 - reproducible simulation, not secrets


def require_probability(name: str, value: float) -> None:
    """Raise ConfigError unless a parameter of a simulated judge's vice is a probability in [0, 1]."""
    if (number := finite_number(value)) is None or not 0 <= number <= 1:
        raise ConfigError(f"{name} must be from 0 to 1, not {value!r}")


def require_finite(name: str, value: float, *, least: float = -math.inf) -> None:
    """Raise ConfigError unless a parameter of a simulated judge's vice is a finite number, at least ``least``."""
    if (number := finite_number(value)) is None or number < least:
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ConfigError(f"{name} must be a finite number{bound}, not {value!r}")
