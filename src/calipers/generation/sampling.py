"""Samples n responses to each prompt, with limited concurrency; responses are stored, and failures returned.

A failed call becomes a ``Failed`` with its reason, never an empty text. A model that ends without text has answered,
and its ``Sample`` is empty. A line is written and flushed before its response is used, so ``kill -9`` loses only the
calls in flight. The file of responses holds no API key and no header.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from calipers.errors import BackendError, ConfigError
from calipers.generation.prompts import Prompt
from calipers.interfaces import Backend
from calipers.judging.streaming import ResultStream
from calipers.ledger import ledger_key
from calipers.types import Ask, Completion, FailureKind, FinishReason, JudgeRequest, RenderedGroup, Usage


@dataclass(frozen=True, slots=True)
class Sampling:
    """How responses are sampled: ``n`` per prompt, with these body parameters.

    If ``seed`` is set, sample i is requested with seed + i.
    """

    n: int = 1
    max_tokens: int | None = 4096
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A generated response. It was cut off if the ``finish_reason`` is ``length``."""

    number: int
    text: str
    finish_reason: FinishReason
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Failed:
    """A response that could not be generated, and why."""

    number: int
    kind: FailureKind
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A prompt with its generated samples in order, and the failed samples."""

    prompt: Prompt
    samples: tuple[Sample, ...]
    failed: tuple[Failed, ...] = ()


_STOP: Final = frozenset({"unauthorized", "not_found", "budget"})
"""Kinds of failure that every further request would have, too."""


async def generate_responses(
    prompts: Iterable[Prompt],
    backend: Backend,
    *,
    sampling: Sampling,
    stored: ResponseFile,
    concurrency: int = 64,
    tell: Callable[[Sample | Failed], object] | None = None,
) -> AsyncIterator[Answered]:
    """Generate responses: yield every prompt with its sampled responses, in input order, as soon as they are complete.

    A response that is ``stored`` is not sampled again. Failed calls do not raise. After a failure that every other call
    would have, such as a refused key, the remaining samples fail with the same reason, without a call. ``tell`` is
    called with each response as it arrives, which may be long before its prompt is yielded.
    """
    halted: list[BackendError] = []

    async def ask(question: tuple[Prompt, int]) -> Sample | Failed:
        reply = await sample(*question)
        if tell is not None:
            tell(reply)
        return reply

    async def sample(prompt: Prompt, number: int) -> Sample | Failed:
        if halted:
            return Failed(number, halted[0].kind, str(halted[0]))
        try:
            completion = await stored.answer(request_of(prompt, number, sampling), backend)
        except BackendError as error:
            if error.kind in _STOP:
                halted.append(error)
            return Failed(number, error.kind, _WITHHELD + str(error) if error.kind == "refused" else str(error))
        if not completion.text.strip() and completion.finish_reason == "unknown":
            return Failed(
                number, "bad_reply", "the answer is empty, and the server does not report that it is complete"
            )
        return Sample(number, completion.text, completion.finish_reason, completion.reasoning, completion.usage)

    waiting = list(prompts)
    questions = ((prompt, number) for prompt in waiting for number in range(sampling.n))
    asked = iter(waiting)
    samples: list[Sample | Failed] = []
    async with aclosing(ResultStream(questions, ask, limit=concurrency, ordered=True)) as answers:
        async for answer in answers:
            samples.append(answer)
            if len(samples) == sampling.n:
                yield _together(next(asked), samples)
                samples = []


_WITHHELD: Final = "withheld by the provider, so there is no response: "


def _together(prompt: Prompt, got: list[Sample | Failed]) -> Answered:
    return Answered(
        prompt,
        tuple(sample for sample in got if isinstance(sample, Sample)),
        tuple(sample for sample in got if isinstance(sample, Failed)),
    )


def request_of(prompt: Prompt, number: int, sampling: Sampling) -> JudgeRequest:
    """Return the request for a response to the prompt, without candidates and without an output format."""
    seed = {} if sampling.seed is None else {"seed": sampling.seed + number}
    view = RenderedGroup(prompt.id, (), "", "", (), ())
    ask = Ask(number, (), (), sample=number)
    return JudgeRequest(
        prompt.messages, (), ask, view, max_tokens=sampling.max_tokens, params={**sampling.params, **seed}
    )


class ResponseFile:
    """The generated responses in the file ``path``, by request and model.

    If the model or a setting differs, a response is generated again. A line that cannot be read is skipped; it may be
    the last line of a killed run. Raises ConfigError if the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._known: dict[str, Completion] = {}
        self.reused = 0
        """How many responses were read from the file."""
        try:
            if Path(path).is_file():
                self._read(Path(path))
            self._file = Path(path).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115 - __exit__ closes it
        except OSError as error:
            raise ConfigError(f"{path}: responses cannot be stored there: {error.strerror or error}") from error

    async def answer(self, request: JudgeRequest, backend: Backend) -> Completion:
        """Return the generated response stored for ``request``, or generate one. Raises what the backend raises."""
        key = f"{request.view.group_id}:{ledger_key(request, backend)}"
        if (known := self._known.get(key)) is not None:
            self.reused += 1
            return known
        completion = await backend.complete(request)
        self._file.write(json.dumps({"key": key, **_row(completion)}) + "\n")
        self._file.flush()
        return completion

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _read(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        for line in text.split("\n"):
            try:
                row = json.loads(line)
                self._known[row["key"]] = _completion(row)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                continue
        if text and not text.endswith("\n"):
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write("\n")  # the next response must start a new line


def _row(done: Completion) -> dict[str, Any]:
    usage = done.usage
    return {
        "text": done.text,
        "finish_reason": done.finish_reason,
        "reasoning": done.reasoning,
        "model": done.model,
        "told_in": done.text_source,
        "tokens": [usage.input_tokens, usage.output_tokens, usage.cached_tokens],
        **({} if usage.cost_usd is None else {"cost_usd": usage.cost_usd}),
    }


def _completion(row: dict[str, Any]) -> Completion:
    return Completion(
        row["text"],
        row["finish_reason"],
        row["reasoning"],
        model=row["model"],
        usage=replace(Usage(*row["tokens"]), cost_usd=row.get("cost_usd")),
        text_source=row.get("told_in", "content"),
    )
