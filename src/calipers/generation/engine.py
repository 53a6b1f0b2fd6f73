"""vLLM in this process, as a backend that generates: concurrent requests are answered as a single batch.

vLLM is imported at the first request. Not responsible for retries or for storing responses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

from calipers.errors import ConfigError, PermanentError
from calipers.types import Completion, FinishReason, JudgeRequest, Usage

_PARAMETERS: Final = frozenset(
    [
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "stop_token_ids",
        "min_tokens",
        "ignore_eos",
        "logit_bias",
    ]
)
"""Parameters of a request that vLLM's SamplingParams has under the same name."""

_FINISH: Final[Mapping[str, FinishReason]] = {"stop": "stop", "length": "length"}

Chat = Callable[[list[list[dict[str, Any]]], list[dict[str, Any]]], Sequence[Any]]
"""A function that takes conversations and their sampling parameters and returns vLLM's RequestOutputs in the same
order.
"""


class Engine:
    """Generates responses with ``model`` (a folder or a name on the hub), loaded into vLLM on ``tp_size`` devices.

    ``load`` returns the chat function, by default vLLM's.
    """

    endpoint = "vllm:in-process"

    def __init__(self, model: str, *, tp_size: int = 1, load: Callable[[str, int], Chat] | None = None) -> None:
        self.model = model
        self._tp_size = tp_size
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
            self._chat = self._load(self.model, self._tp_size)
        outputs = self._chat(
            [[dict(message) for message in request.messages] for request in requests],
            [{**request.params, "max_tokens": request.max_tokens} for request in requests],
        )
        return [_completion(output, self.model, perf_counter() - started) for output in outputs]


def load_vllm(model: str, tp_size: int) -> Chat:
    """Return vLLM's chat function with ``model`` loaded, to generate responses. Raises ConfigError if vLLM is not
    installed.
    """
    try:
        from vllm import LLM, SamplingParams  # noqa: PLC0415 - large, and only where a model runs in this process
    except ImportError as error:
        raise ConfigError(f"running {model!r} in this process needs vLLM: pip install vllm ({error})") from None
    engine = LLM(model=model, tensor_parallel_size=tp_size)

    def chat(conversations: list[list[dict[str, Any]]], parameters: list[dict[str, Any]]) -> Sequence[Any]:
        sampling = [SamplingParams(**one) for one in parameters]
        outputs: Sequence[Any] = engine.chat(conversations, sampling, use_tqdm=False)
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
