"""An OpenEnv server's environment in TRL's own trainer: played by the client, judged with its tools, trained on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.trainers.trl import reward_func
from calipers.types import Completion, JudgeRequest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytest.importorskip("openenv.core", reason="openenv-core is not installed (.ci/engines)")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("error:::calipers"),
    pytest.mark.skipif(find_spec("jmespath") is None, reason="TRL's tools need jmespath (pip install jmespath)"),
]

import torch  # noqa: E402 - comes with TRL
from websockets.exceptions import ConnectionClosed  # noqa: E402 - comes with openenv-core

from openenv_shop import Shop, served  # noqa: E402 - needs openenv-core
from tiny_policy import policy_of, tokenizer_of  # noqa: E402 - needs torch and transformers
from trl_runs import PROMPTS, QWEN, advantages_of, close, train  # noqa: E402 - needs TRL

TEMPLATE = QWEN.read_text()
ROLLOUTS = 16


def played(question: str, item: str) -> list[dict[str, Any]]:
    """A rollout as the policy is taught it: a call, and one word once the shop has answered."""
    call = {"type": "function", "function": {"name": "place_order", "arguments": {"item": item}}}
    return [
        {"role": "user", "content": f"{question} the shop is open"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "place_order", "content": f"ordered {item}"},
        {"role": "assistant", "content": "done"},
    ]


def taught(items: Sequence[str]) -> tuple[Any, Any]:
    """A policy that orders each of the items equally often, and its tokenizer."""
    chats = [played(question, item) for question in PROMPTS for item in items]
    render = tokenizer_of((), TEMPLATE).apply_chat_template
    texts = [render(chat, tools=[Shop.place_order], tokenize=False) for chat in chats]
    tokens = tokenizer_of(" ".join(texts).replace("<|im_end|>", " ").split(), TEMPLATE, end="<|im_end|>")
    model = policy_of(tokens, width=32)
    ids = torch.tensor([tokens(text)["input_ids"] for text in texts])
    steps = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        steps.step()
        steps.zero_grad()
    return model, tokens


class Shopper:
    """Stands for a judge: 90 for a rollout in whose transcript the shop has sold tea, 10 for another."""

    endpoint = "test"
    model = "shopper"

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def complete(self, request: JudgeRequest) -> Completion:
        scores = {}
        for key, place in zip(request.keys, request.ask.order, strict=True):
            parts = (*request.view.head, *request.view.candidates[place].body)
            self.shown.append("".join(part for part in parts if isinstance(part, str)))
            scores[key] = 90 if "ordered tea" in self.shown[-1] else 10
        return Completion(json.dumps({"explanations": {}, "scores": scores}), finish_reason="stop", model=self.model)


@pytest.mark.timeout(600)
def test_what_rollouts_did_in_an_openenv_server_is_judged_and_trained_on(tmp_path: Path):
    shopper = Shopper()
    model, tokens = taught(["tea", "milk"])
    with served(ROLLOUTS) as shop:
        run = train(
            [reward_func(Judge(shopper))],
            tmp_path,
            max_completion_length=64,
            conversational=True,
            made_with={"model": model, "processing_class": tokens, "environment_factory": shop},
        )
        orders = [one._client.state()["step_count"] for one in shop.made]
    assert all("what to order" in one for one in shopper.shown)
    assert any('call c1 place_order {"item":"tea"}' in one and "ordered tea" in one for one in shopper.shown)
    assert any("there is no milk" in one and "ordered" not in one for one in shopper.shown)  # the server's error
    assert run.metrics["tools/failure_frequency"][0] > 0
    sold = [any(one["content"] == "ordered tea" for one in messages) for messages in run.completions]
    assert orders == [int(one) for one in sold]  # each rollout in a session of its own
    rewards = [0.9 if one else 0.1 for one in sold]
    assert run.rewards["judge"] == close(rewards)
    assert run.advantages == advantages_of(rewards)


def test_a_server_with_fewer_sessions_than_rollouts_ends_the_run(judge: Judge, tmp_path: Path):
    # the client either reads the server's refusal, or finds the connection closed before it has asked
    refused = pytest.raises((RuntimeError, ConnectionClosed), match=r"CAPACITY_REACHED|received 1000")
    with served(ROLLOUTS - 1) as shop, refused:
        train(
            [reward_func(judge)],
            tmp_path,
            conversational=True,
            template=TEMPLATE,
            made_with={"environment_factory": shop},
        )
