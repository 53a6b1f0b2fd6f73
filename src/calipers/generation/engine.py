"""vLLM in this process, as a backend that generates: concurrent requests are answered as a single batch.

vLLM is imported at the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from calipers.errors import ConfigError, PermanentError
from calipers.types import Completion, FinishReason, JudgeRequest, Usage

_PARAMETERS: Final = frozenset(
    {
        "temperature", "top_p", "top_k", "min_p", "seed", "stop", "presence_penalty", "frequency_penalty",
        "repetition_penalty", "stop_token_ids", "min_tokens", "ignore_eos", "logit_bias",
    }
)  # fmt: skip
"""Parameters of a request that vLLM's SamplingParams has under the same name."""

_FINISH: Final[Mapping[str, FinishReason]] = {"stop": "stop", "length": "length"}

Chat = Callable[[list[list[dict[str, Any]]], list[dict[str, Any]]], Sequence[Any]]
"""A function that takes conversations and their sampling parameters and returns vLLM's RequestOutputs in the same
order.
"""
NO_TEMPLATE: Final = ""
"""The chat template that stands for none: the texts of a conversation, with blank lines between them."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How a model that generates responses is loaded into this process: on ``tp_size`` devices, and with further
    ``arguments`` of vLLM's ``LLM``.

    ``chat_template`` is a Jinja template instead of the model's own; ``NO_TEMPLATE`` means none.
    """

    tp_size: int = 1
    arguments: Mapping[str, Any] = field(default_factory=dict)
    chat_template: str | None = None


class Engine:
    """Generates responses with ``model`` (a folder or a name on the hub), loaded into vLLM as ``loading`` says.

    ``load`` returns the chat function, by default vLLM's.
    """

    endpoint = "vllm:in-process"

    def __init__(
        self, model: str, loading: Loading | None = None, *, load: Callable[[str, Loading], Chat] | None = None
    ) -> None:
        self.model = model
        self._loading = loading or Loading()
        self._load = load or load_vllm
        self._chat: Chat | None = None
        self._waiting: list[tuple[JudgeRequest, asyncio.Future[Completion]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the model's generated response, computed in a batch with other waiting requests.

        Raises PermanentError if vLLM fails.
        """
        if unknown := sorted(set(request.params) - _PARAMETERS):
            raise PermanentError(
                "bad_request", f"vLLM in this process does not accept {', '.join(unknown)}", fatal=True
            )
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        """Answer batches until no request waits."""
        await asyncio.sleep(0)  # let concurrent callers join the first batch
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                done = await asyncio.to_thread(self._answer, [request for request, _ in batch])
            except ConfigError as error:
                _fail(batch, PermanentError("not_found", str(error), fatal=True))
            except Exception as error:  # noqa: BLE001 - the engine raises many kinds of errors, translated here
                _fail(batch, PermanentError("internal", f"vLLM raised {type(error).__name__}: {error}"))
            else:
                for (_, answer), completion in zip(batch, done, strict=True):
                    if not answer.done():
                        answer.set_result(completion)

    def _answer(self, requests: Sequence[JudgeRequest]) -> list[Completion]:
        started = perf_counter()
        if self._chat is None:
            self._chat = self._load(self.model, self._loading)
        outputs = self._chat(
            [[dict(message) for message in request.messages] for request in requests],
            [{**request.params, "max_tokens": request.max_tokens} for request in requests],
        )
        return [_completion(output, self.model, perf_counter() - started) for output in outputs]


def load_vllm(model: str, loading: Loading) -> Chat:
    """Return vLLM's chat function with ``model`` loaded, to generate responses. Raises ConfigError if vLLM is not
    installed.
    """
    try:
        from vllm import LLM, SamplingParams  # noqa: PLC0415 - large, and only where a model runs in this process
    except ImportError as error:
        raise ConfigError(f"running {model!r} in this process needs vLLM: pip install vllm ({error})") from None
    return chat_with(
        LLM(model=model, tensor_parallel_size=loading.tp_size, **loading.arguments),
        SamplingParams,
        loading.chat_template,
    )


def chat_with(engine: Any, sampling_params: Callable[..., Any], chat_template: str | None) -> Chat:
    """Return the chat function of vLLM's ``engine`` (an ``LLM``), which generates responses.

    ``chat_template`` is that of ``Loading``; ``sampling_params`` makes vLLM's SamplingParams.
    """

    def chat(conversations: list[list[dict[str, Any]]], parameters: list[dict[str, Any]]) -> Sequence[Any]:
        sampling = [sampling_params(**one) for one in parameters]
        if chat_template == NO_TEMPLATE:
            texts = ["\n\n".join(str(message.get("content") or "") for message in one) for one in conversations]
            made: Sequence[Any] = engine.generate(texts, sampling, use_tqdm=False)
            return made
        own = {} if chat_template is None else {"chat_template": chat_template}
        outputs: Sequence[Any] = engine.chat(conversations, sampling, use_tqdm=False, **own)
        return outputs

    return chat


def _completion(output: Any, model: str, seconds: float) -> Completion:
    first = output.outputs[0]
    usage = Usage(len(output.prompt_token_ids or ()), len(first.token_ids or ()))
    return Completion(
        first.text, _FINISH.get(str(first.finish_reason), "unknown"), model=model, usage=usage, latency=seconds
    )


def _fail(batch: Sequence[tuple[JudgeRequest, asyncio.Future[Completion]]], error: PermanentError) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)
