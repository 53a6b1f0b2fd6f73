"""The reward function in AsyncGRPO's own loops of generating and scoring, beside a server that answers like vLLM's.

The rest of AsyncGRPO needs a GPU: its trainer reads one's properties when it is made, its attention is a CUDA kernel,
and its rollout worker, which runs these loops in a process of its own, wants vLLM.
"""

from __future__ import annotations

import math
import pickle
import threading
from dataclasses import replace
from multiprocessing import Value
from queue import Queue
from statistics import pstdev
from typing import Any

import pytest

from calipers import Judge
from calipers.trainers.trl import reward_func
from servers.faulty_server import Answer, Asked, FaultyServer
from servers.opinions import Opinions, models, reward_of

worker = pytest.importorskip(
    "trl.experimental.async_grpo.async_rollout_worker", reason="TRL with AsyncGRPO is not installed"
)
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from accelerate.state import PartialState  # noqa: E402 - comes with TRL

from trl_runs import PROMPTS, QWEN, advantages_of, close, tokenizer  # noqa: E402 - needs TRL

SIZE, GROUPS = 4, 3
ADDRESS: list[str] = []


def make_judge() -> Judge:
    """What AsyncGRPO's process calls; it is sent by name."""
    return Judge("vllm/tiny", base_url=ADDRESS[0], calls={"attempts": 1})


class Served:
    """vLLM's completions, each of other words than the one before, and beside them the judge."""

    def __init__(self, judge: Opinions) -> None:
        self.judge = judge
        self.said = 0
        self.first = tokenizer().convert_tokens_to_ids("w0")

    def __call__(self, asked: Asked) -> Answer:
        if not asked.path.endswith("/v1/completions"):
            return replace(self.judge(asked), headers={"Connection": "close"})  # the loops' process would end here
        self.said += 1
        tokens = [self.first + self.said % 80, self.first + self.said // 80, 0]
        return Answer(body={"choices": [{"token_ids": tokens, "logprobs": {"token_logprobs": [-1.0] * 3}}]})


def samples_of(reward: Any, server: FaultyServer) -> list[Any]:
    """The first groups that the loops score, as the trainer would get them."""
    PartialState()
    buffer: Queue[Any] = Queue()
    loop = worker._AsyncRolloutLoop(
        model_name="tiny",
        dataset=[{"prompt": [{"role": "user", "content": prompt}], "answer": 1} for prompt in PROMPTS],
        reward_funcs=[reward],
        processing_class=tokenizer(QWEN.read_text()),  # AsyncGRPO reads no unknown ones
        eos_token_ids=[0],
        rollout_buffer=buffer,
        model_version_value=Value("i", 3),
        heartbeat_value=Value("d", 0.0),
        failed_event=threading.Event(),
        exception_info_queue=Queue(),
        metrics_queue=Queue(),
        num_generations=SIZE,
        max_inflight_tasks=SIZE,
        vllm_server_url=server.url.removesuffix("/v1"),
    )
    running = threading.Thread(target=loop.run)
    running.start()
    try:
        return [buffer.get(timeout=30) for _ in range(SIZE * GROUPS)]
    finally:
        loop._loop.call_soon_threadsafe(loop._stop_event.set)
        running.join(30)


def test_its_own_loops_score_each_group_and_a_missing_score_costs_its_own_row():
    with FaultyServer() as server:  # one for both turns, because a process has one judge for each function
        models(server, "tiny")
        ADDRESS[:] = [server.url]
        for silent in (False, True):
            server.script(Served(Opinions(silent_on_one=silent)))
            made = reward_func(make_judge, num_generations=SIZE, only_reward=True)
            sent = pickle.loads(pickle.dumps(made))  # noqa: S301 - as AsyncGRPO sends it
            require_own_rows(samples_of(sent, server), silent=silent)


def require_own_rows(samples: list[Any], *, silent: bool) -> None:
    for start in range(0, len(samples), SIZE):
        group = samples[start : start + SIZE]
        assert len({(one.group_id, one.model_version) for one in group}) == 1
        rewards = [one.metrics["reward"] for one in group]
        assert sum(map(math.isnan, rewards)) == silent
        texts = [one.completion[0]["content"] for one in group]
        expected = [math.nan if math.isnan(got) else reward_of(text) for text, got in zip(texts, rewards, strict=True)]
        assert rewards == close(expected)
        assert [one.advantage for one in group] == advantages_of(rewards, deviation=pstdev, epsilon=1e-8)
