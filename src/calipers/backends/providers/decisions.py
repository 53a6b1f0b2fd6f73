"""Judges behind a decision endpoint, which returns a probability for every level of a scale and writes no text.

Every candidate is a ``score`` question over one shared state, so the server reads the state only once. A candidate's
score is the expected level, so ties are rare, and the spread shows how certain the judge was. To compare two
candidates, a single ``choice`` question is asked, and each score is the probability that the candidate is the better of
the two. The answer is written as the JSON reply that was asked for, with the probabilities as its reasoning. Not
responsible for reading scores out of that reply (``replies``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal, TypeVar

from calipers.backends.negotiation import Terms
from calipers.backends.server import HttpBackend, bearer
from calipers.backends.transport.refusals import error_in_200
from calipers.backends.transport.reply import (
    HttpReply,
    attach_usage,
    declined_error,
    reply_excerpt,
    reply_json,
    usage_of,
)
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest
from calipers.types.encoding import without_lone_surrogates

LEVELS = (
    "0 of 9: worthless",
    "1 of 9",
    "2 of 9: poor",
    "3 of 9",
    "4 of 9: below what could be expected",
    "5 of 9",
    "6 of 9: acceptable",
    "7 of 9: good",
    "8 of 9",
    "9 of 9: could not be better",
)
"""The levels of the scale, as many as these endpoints accept. The two ends matter more than the words between them."""

_TOP = len(LEVELS) - 1
_ALWAYS_RETURNED = frozenset({"logprobs", "top_logprobs"})
_QUESTION = "How good is attempt {key}, in comparison with the other attempts and by the standards given?"
_WHICH = "Which of the two attempts is better by the standards given?"
_CHOICE = "better"

Route = Literal["systemone", "decisions"]
_Said = TypeVar("_Said")


@dataclass(frozen=True, slots=True)
class Opinion:
    """The judge's opinion of a candidate: a probability per level, or None if the judge declined."""

    probabilities: tuple[float, ...] | None

    @property
    def level(self) -> float:
        """Return the expected level of the judge's opinion, from 0 to 9."""
        return math.fsum(level * chance for level, chance in enumerate(self.probabilities or ()))

    @property
    def spread(self) -> float:
        """Return the standard deviation of the level in the judge's opinion."""
        mean = self.level
        chances = enumerate(self.probabilities or ())
        return math.sqrt(max(0.0, math.fsum(chance * (level - mean) ** 2 for level, chance in chances)))


class Decisions(HttpBackend):
    """Asks ``model`` at a decision endpoint below ``base_url``.

    The endpoint is ``/systemone`` (llama.cpp, vLLM, Ollama, TypeSafe) or ``/decisions`` (OpenAI). The state is the
    question as a chat judge would read it, text only. ``timeout`` is in seconds for one request; ``api_key_env`` is the
    variable that errors name. Raises ConfigError for an address or a header that cannot work.
    """

    required = frozenset({"model", "state", "input", "questions"})

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        route: Route = "systemone",
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        refused: Iterable[str] = (),
        api_key_env: str | None = None,
    ) -> None:
        super().__init__(
            model,
            base_url=base_url,
            path=f"/{route}",
            headers=bearer(api_key),
            carried=headers,
            timeout=timeout,
            key_hint=api_key_env or "the API key",
            refused=refused,
        )
        self.endpoint = f"{self.url}/{route}"  # distinguishes this judge in a ledger from the same model asked by chat
        self._tongue = _APIS[route]

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of the provider's API as a JSON reply with the expected scores, or with each candidate's
        probability to be better.

        The probabilities are its ``reasoning``. Raises BackendError.
        """
        started = perf_counter()
        chooses = request.is_comparison and len(request.keys) == 2
        ask = self._tongue.choose if chooses else self._tongue.ask

        def frame(terms: Terms) -> dict[str, Any]:
            out = terms.refused | _ALWAYS_RETURNED
            params = {name: value for name, value in request.params.items() if name not in out}
            return {"model": self.model, **ask(_state(request), request.keys), **params}

        try:
            reply = await self._accepted(request, frame)
        except BackendError as error:
            raise _permanent_if_cannot_decide(error, self.model) from error
        read = self._chosen if chooses else self._scored
        body = reply_json(reply, self.peer)
        with attach_usage(body.get("usage")):
            answer = read(self._answers(body, reply), request.keys, request.max_score)
        return self._answered(replace(answer, latency=perf_counter() - started, sent=reply.sent))

    def _answers(self, body: Mapping[str, Any], reply: HttpReply) -> _DecisionReply:
        peer = self.peer
        if body.get("error"):
            raise error_in_200(body, body["error"], reply, peer)
        return _DecisionReply(body, reply_excerpt(reply, peer))

    def _scored(self, told: _DecisionReply, keys: Sequence[str], top: int) -> Completion:
        opinions = told.read(self._tongue.read, keys)
        if all(opinion.probabilities is None for opinion in opinions.values()):
            raise declined_error(self.peer, "it refused every question")
        chances = {key: opinion.probabilities for key, opinion in opinions.items()}
        return told.completion(_reply(opinions, top), chances)

    def _chosen(self, told: _DecisionReply, keys: Sequence[str], top: int) -> Completion:
        chances = told.read(self._tongue.chosen, keys)
        if chances is None:
            raise declined_error(self.peer, "it refused to choose")
        why = {key: f"better with a probability of {chance:.2f}" for key, chance in chances.items()}
        scores = {key: _written(top * chance, top) for key, chance in chances.items()}
        return told.completion(json.dumps({"explanations": why, "scores": scores}), {_CHOICE: chances})


@dataclass(frozen=True, slots=True)
class _DecisionReply:
    """The ``body`` of a 200 reply of a decision endpoint, and its beginning for error messages."""

    body: Mapping[str, Any]
    excerpt: str

    def read(self, reader: Callable[[Any, Sequence[str]], _Said], keys: Sequence[str]) -> _Said:
        """Return what ``reader`` reads from the answers in the API's reply. Raises TransientError if their form is not
        as expected.
        """
        try:
            return reader(self.body["answers"], keys)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            # Whatever is missing or in the wrong place, the reply is not a complete answer.
            raise TransientError("bad_reply", f"Not an answer to every question: {self.excerpt}") from None

    def completion(self, text: str, chances: Mapping[str, Any]) -> Completion:
        """Return the API's answer as a Completion with the probabilities as its reasoning."""
        model = self.body.get("model")
        return Completion(
            text=text,
            reasoning=json.dumps(chances),
            model=without_lone_surrogates(model) if isinstance(model, str) else None,
            usage=usage_of(self.body.get("usage")),
        )


def _state(request: JudgeRequest) -> str:
    """Return the request's messages as text in the form that the ledger stores, so that the judged text can be found
    there.
    """
    texts: list[str] = []
    for message in request.messages:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
            continue
        if any(part.get("type") != "text" for part in content):
            raise PermanentError("bad_request", "A decision endpoint is asked in text only, and this group has images.")
        texts += [part["text"] for part in content]
    return "\n\n".join(texts)


def _reply(opinions: Mapping[str, Opinion], top: int = 100) -> str:
    said = {key: opinion for key, opinion in opinions.items() if opinion.probabilities is not None}
    scores = {key: _written(top * opinion.level / _TOP, top) for key, opinion in said.items()}
    why = {
        key: f"level {opinion.level:.2f} of {_TOP}, give or take {opinion.spread:.2f}" for key, opinion in said.items()
    }
    return json.dumps({"explanations": why, "scores": scores})


def _written(score: float, top: int) -> str:
    """Return a candidate's score with its scale, so that low scores are not taken for those of a smaller scale."""
    return f"{round(score, 2):g}/{top}"


def _permanent_if_cannot_decide(error: BackendError, model: str) -> BackendError:
    """Return a permanent error if the model cannot decide at all, which servers report as a failure of their own.

    Any other error is returned unchanged.
    """
    text = str(error)
    if "not a decision model" in text or "not a single token" in text or "HTTP 501" in text:
        return PermanentError(
            "not_found", f"{model} makes no decisions there: ask it in chat instead. {text}", fatal=True
        )
    return error


def _chances(values: Sequence[object], count: int = len(LEVELS)) -> tuple[float, ...]:
    """Return a probability for each of ``count`` options. Raises ValueError for anything else."""
    chances = tuple(float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool))
    total = math.fsum(chances)
    if len(chances) != count or any(chance < 0 for chance in chances) or not 0.99 < total < 1.01:
        raise ValueError("not a distribution over the options")
    return tuple(chance / total for chance in chances)


@dataclass(frozen=True, slots=True)
class _Api:
    """Functions that write requests for one decision API and read its answers, for scores and for a choice of two.

    ``read`` and ``chosen`` raise if an answer has another form. ``chosen`` returns None if the judge declined.
    """

    ask: Callable[[str, Sequence[str]], dict[str, Any]]
    read: Callable[[Any, Sequence[str]], dict[str, Opinion]]
    choose: Callable[[str, Sequence[str]], dict[str, Any]]
    chosen: Callable[[Any, Sequence[str]], dict[str, float] | None]


def _ask_systemone(state: str, keys: Sequence[str]) -> dict[str, Any]:
    questions = {
        key: {"type": "score", "instructions": _QUESTION.format(key=key), "criteria": list(LEVELS)} for key in keys
    }
    return {"state": state, "questions": questions}


def _read_systemone(answers: Any, keys: Sequence[str]) -> dict[str, Opinion]:
    return {key: _systemone_opinion(answers[key]) for key in keys}


def _systemone_opinion(answer: Mapping[str, Any]) -> Opinion:
    if _refuses(answer):
        return Opinion(None)
    chances = answer["probabilities"]
    values = [chances[str(level)] for level in range(len(LEVELS))] if isinstance(chances, dict) else chances
    return Opinion(_chances(values))


def _ask_decisions(state: str, keys: Sequence[str]) -> dict[str, Any]:
    levels = [{"label": level} for level in LEVELS]
    questions = [
        {"type": "score", "name": key, "instructions": _QUESTION.format(key=key), "levels": levels} for key in keys
    ]
    return {"input": state, "questions": questions}


def _read_decisions(answers: Any, keys: Sequence[str]) -> dict[str, Opinion]:
    """Return the judge's opinions in the order of the questions. Raises ValueError if a name shows another order."""
    opinions: dict[str, Opinion] = {}
    for key, answer in zip(keys, answers, strict=True):
        if answer.get("name") not in {key, None}:
            raise ValueError("an answer to another question")
        if answer["type"] == "refusal":
            opinions[key] = Opinion(None)
            continue
        chances = {row["value"]: row["probability"] for row in answer["probabilities"]}
        opinions[key] = Opinion(_chances([chances[level] for level in range(len(LEVELS))]))
    return opinions


def _choose_systemone(state: str, keys: Sequence[str]) -> dict[str, Any]:
    options = {key: f"Attempt {key} is better." for key in keys}
    return {"state": state, "questions": {_CHOICE: {"type": "choice", "instructions": _WHICH, "criteria": options}}}


def _chosen_systemone(answers: Any, keys: Sequence[str]) -> dict[str, float] | None:
    answer = answers[_CHOICE]
    return None if _refuses(answer) else _of_two(answer["probabilities"], keys)


def _choose_decisions(state: str, keys: Sequence[str]) -> dict[str, Any]:
    choices = [{"value": key, "description": f"Attempt {key} is better."} for key in keys]
    question = {"type": "choice", "name": _CHOICE, "instructions": _WHICH, "choices": choices}
    return {"input": state, "questions": [question]}


def _chosen_decisions(answers: Any, keys: Sequence[str]) -> dict[str, float] | None:
    (answer,) = answers
    if answer["type"] == "refusal":
        return None
    return _of_two({row["value"]: row["probability"] for row in answer["probabilities"]}, keys)


def _of_two(told: Mapping[str, object], keys: Sequence[str]) -> dict[str, float]:
    return dict(zip(keys, _chances([told[key] for key in keys], len(keys)), strict=True))


def _refuses(answer: Mapping[str, Any]) -> bool:
    return bool(answer.get("refusal")) or answer.get("type") == "refusal"


_APIS: Mapping[Route, _Api] = {
    "systemone": _Api(_ask_systemone, _read_systemone, _choose_systemone, _chosen_systemone),
    "decisions": _Api(_ask_decisions, _read_decisions, _choose_decisions, _chosen_decisions),
}
