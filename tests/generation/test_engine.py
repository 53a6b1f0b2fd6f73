"""vLLM in this process, with its chat function handed in: batches, parameters, and its failures."""

import asyncio
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.generation.engine import NO_TEMPLATE, Engine, Loading, chat_with, load_vllm
from calipers.generation.prompts import Prompt
from calipers.generation.response_file import ResponseFile
from calipers.generation.sampling import Sampling, generate_responses


@dataclass
class Said:
    text: str
    finish_reason: str | None = "stop"
    token_ids: tuple[int, ...] = (1, 2)


@dataclass
class Output:
    outputs: list[Said]
    prompt_token_ids: tuple[int, ...] = (1, 2, 3)


class Loaded:
    """Answers with the last message and its seed, and remembers what it was given."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Loading]] = []
        self.batches: list[list[Any]] = []

    def __call__(self, model: str, loading: Loading) -> Any:
        self.made.append((model, loading))
        return self.chat

    def chat(self, conversations: list[Any], parameters: list[Any]) -> list[Output]:
        self.batches.append(parameters)
        if any(one[-1]["content"] == "break" for one in conversations):
            raise RuntimeError("out of memory")
        texts = [
            f"{one[-1]['content']}{given.get('seed', '')}" for one, given in zip(conversations, parameters, strict=True)
        ]
        return [Output([Said(text, "length" if text == "long" else "stop")]) for text in texts]


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(text, line, ({"role": "user", "content": text},), {}) for line, text in enumerate(texts, 1)]


async def answers(engine: Engine, sampling: Sampling, *texts: str) -> list[Any]:
    with ResponseFile(None) as stored:
        return [
            done
            async for done in generate_responses(
                prompts(*texts), engine, sampling=sampling, stored=stored, concurrency=100
            )
        ]


async def test_what_is_asked_together_is_one_batch_and_the_model_is_loaded_once() -> None:
    loaded = Loaded()
    engine = Engine("org/model", Loading(2), load=loaded)
    done = await answers(engine, Sampling(2, 50, {"temperature": 0.5}, seed=3), *"abcdefgh")
    assert [[sample.text for sample in one.samples] for one in done] == [
        [f"{text}3", f"{text}4"] for text in "abcdefgh"
    ]
    assert loaded.made == [("org/model", Loading(2))]
    assert len(loaded.batches[0]) >= 15
    assert loaded.batches[0][0] == {"temperature": 0.5, "seed": 3, "max_tokens": 50}
    assert done[0].samples[0].usage.output_tokens == 2


async def test_a_cut_response_says_so() -> None:
    (done,) = await answers(Engine("m", load=Loaded()), Sampling(), "long")
    assert done.samples[0].finish_reason == "length"


async def test_an_engine_that_breaks_fails_its_batch_with_a_reason_and_no_text() -> None:
    engine = Engine("m", load=Loaded())
    (done,) = await answers(engine, Sampling(), "break")
    assert done.samples == ()
    assert done.failed[0].reason == "vLLM raised RuntimeError: out of memory"
    (after,) = await answers(engine, Sampling(), "fine")
    assert after.samples[0].text == "fine"


async def test_a_parameter_that_vllm_has_not_is_refused_by_name() -> None:
    done = await answers(Engine("m", load=Loaded()), Sampling(params={"top_q": 1}), "a", "b")
    assert {one.failed[0].reason for one in done} == {"vLLM in this process does not accept top_q"}


async def test_an_asker_that_goes_away_takes_nobody_along() -> None:
    engine = Engine("m", load=Loaded())
    first = asyncio.create_task(answers(engine, Sampling(), "a"))
    second = asyncio.create_task(answers(engine, Sampling(), "b"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)[0].samples[0].text == "b"


async def test_without_vllm_the_remedy_is_named() -> None:
    if find_spec("vllm") is not None:
        pytest.skip("vllm is installed")
    with pytest.raises(ConfigError, match="pip install vllm"):
        load_vllm("m", Loading())
    (done,) = await answers(Engine("m"), Sampling(), "a")
    assert "pip install vllm" in done.failed[0].reason


class FakeLLM:
    """vLLM's LLM as far as it is used: it records what it is given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def chat(self, conversations: Any, sampling: Any, **more: Any) -> list[Any]:
        self.given.append((conversations, sampling, more))
        return []

    def generate(self, texts: Any, sampling: Any, **more: Any) -> list[Any]:
        self.given.append((texts, sampling, more))
        return []


@pytest.mark.parametrize(("template", "shown", "more"), [
    (None, "messages", {}), ("{{ x }}", "messages", {"chat_template": "{{ x }}"}),
    (NO_TEMPLATE, "Be brief.\n\nWhy?", {}),
])  # fmt: skip
def test_a_template_is_the_models_another_or_none(template: str | None, shown: str, more: dict[str, str]) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    engine = FakeLLM()
    chat_with(engine, dict, template)([messages], [{"temperature": 0.5}])
    expected = [messages] if shown == "messages" else [shown]
    assert engine.given == [(expected, [{"temperature": 0.5}], {"use_tqdm": False, **more})]
