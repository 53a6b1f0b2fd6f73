"""Judges behind a decision endpoint, which returns a probability for every level of a scale and writes no text.

Every candidate is a ``score`` question over one shared state, so the server reads the state only once. A candidate's
score is the expected level, so ties are rare, and the spread shows how certain the judge was. The answer is written as
the JSON reply that was asked for, with the probabilities as its reasoning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from calipers.backends.negotiation import Terms
from calipers.backends.server import HttpBackend
from calipers.backends.transport.refusals import Refusal, require_no_error
from calipers.backends.transport.reply import (
    HttpReply,
    attach_usage,
    completion,
    declined_error,
    reply_excerpt,
    reply_json,
)
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest
from calipers.types.encoding import finite_number

LEVELS = (
    "0 of 9: worthless", "1 of 9", "2 of 9: poor", "3 of 9", "4 of 9: below what could be expected", "5 of 9",
    "6 of 9: acceptable", "7 of 9: good", "8 of 9", "9 of 9: could not be better",
)  # fmt: skip
"""The levels of the scale, as many as these endpoints accept. The two ends matter more than the words between them."""

_TOP = len(LEVELS) - 1
_ALWAYS_RETURNED = frozenset({"logprobs", "top_logprobs"})
_QUESTION = "How good is attempt {key}, in comparison with the other attempts and by the standards given?"

Probabilities: TypeAlias = tuple[float, ...]


class Decisions(HttpBackend):
    """Judges at ``/systemone`` (llama.cpp, vLLM, Ollama, TypeSafe) below ``base_url``.

    The state is the question as a chat judge would read it, text only.
    """

    path = "/systemone"
    state_name = "state"
    required = frozenset({"model", "state", "input", "questions"})

    def __init__(self, model: str, *, base_url: str, **options: Any) -> None:
        super().__init__(model, base_url=base_url, **options)
        self.endpoint = f"{self.url}{self.path}"  # distinguishes it in a ledger from the same model asked by chat

    def body(self, request: JudgeRequest, terms: Terms) -> dict[str, Any]:
        """Return the body of a request to the decision endpoint."""
        out = terms.refused | _ALWAYS_RETURNED
        params = {name: value for name, value in request.params.items() if name not in out}
        asked = {self.state_name: _state(request), "questions": self.questions(request.keys)}
        return {"model": self.model, **asked, **params}

    def read(self, request: JudgeRequest, reply: HttpReply) -> Completion:
        """Return the endpoint's answer as a JSON reply with the expected scores; the probabilities are its
        ``reasoning``. Raises BackendError.
        """
        body = reply_json(reply, self.peer)
        with attach_usage(body.get("usage")):
            require_no_error(body, reply, self.peer)
            try:
                chances = {key: _chances(answer) for key, answer in _answers(body["answers"], request.keys).items()}
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                # Whatever is missing or in the wrong place, the reply is not a complete answer.
                beginning = reply_excerpt(reply, self.peer)
                raise TransientError("bad_reply", f"Not an answer to every question: {beginning}") from None
            known = {key: chance for key, chance in chances.items() if chance is not None}
            if not known:
                raise declined_error(self.peer, "it refused to answer")
            answer = completion(reply, body, scored_reply(known, request.max_score), finish="stop")
        return replace(answer, reasoning=json.dumps(chances))

    async def error_for(self, refusal: Refusal) -> BackendError:
        """Return the error for a server's refusal; it says where the model makes no decisions."""
        error = await super().error_for(refusal)
        text = str(error)
        if not any(words in text for words in ("not a decision model", "not a single token", "HTTP 501")):
            return error
        # Servers report it as a failure of their own.
        why = f"{self.model} makes no decisions there: ask it in chat instead. {text}"
        return PermanentError("not_found", why, fatal=True)

    def questions(self, keys: Sequence[str]) -> Any:
        """Return the questions about candidates in the form of the API."""
        return {
            key: {"type": "score", "instructions": _QUESTION.format(key=key), "criteria": list(LEVELS)} for key in keys
        }


class OpenAIDecisions(Decisions):
    """Judges at OpenAI's ``/decisions``."""

    path = "/decisions"
    state_name = "input"

    def questions(self, keys: Sequence[str]) -> Any:
        """Return the questions about candidates in the form of OpenAI's API: a list, each with its name."""
        levels = [{"label": level} for level in LEVELS]
        return [
            {"type": "score", "name": key, "instructions": _QUESTION.format(key=key), "levels": levels} for key in keys
        ]


def _answers(answers: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return a decision API's answer to each question: an object by name, or a list of answers with names.

    Raises an error if an answer is missing.
    """
    if isinstance(answers, list):
        answers = {answer["name"]: answer for answer in answers}
    return {name: answers[name] for name in names}


def _chances(answer: Mapping[str, Any]) -> Probabilities | None:
    """Return the probability of each level in a decision API's answer, or None if the judge declined.

    Raises ValueError for anything but a distribution over all levels.
    """
    if answer.get("refusal") or answer.get("type") == "refusal":
        return None
    stated = answer["probabilities"]
    if isinstance(stated, list):
        stated = {str(row["value"]): row["probability"] for row in stated}
    values = [finite_number(stated[str(level)]) for level in range(len(LEVELS))]
    chances = [value for value in values if value is not None and value >= 0]
    total = math.fsum(chances)
    if len(chances) != len(LEVELS) or not 0.99 < total < 1.01:
        raise ValueError("not a distribution over the levels")
    return tuple(chance / total for chance in chances)


def _state(request: JudgeRequest) -> str:
    """Return the request's messages as text in the form that the ledger stores, so that the judged text can be found
    there.
    """
    texts: list[str] = []
    for message in request.messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if any(part.get("type") != "text" for part in parts):
            raise PermanentError("bad_request", "A decision endpoint is asked in text only, and this group has images.")
        texts += [part["text"] for part in parts]
    return "\n\n".join(texts)


def scored_reply(chances: Mapping[str, Probabilities], top: int = 100) -> str:
    """Return the JSON reply of a decision judge: each candidate's expected level as its score, with its spread."""
    scores, why = {}, {}
    for key, shares in chances.items():
        level = math.fsum(place * share for place, share in enumerate(shares))
        spread = math.sqrt(math.fsum(share * (place - level) ** 2 for place, share in enumerate(shares)))
        # With the scale, so that a low score is not taken for one of a smaller scale.
        scores[key] = f"{round(top * level / _TOP, 2):g}/{top}"
        why[key] = f"level {level:.2f} of {_TOP}, give or take {spread:.2f}"
    return json.dumps({"explanations": why, "scores": scores})
