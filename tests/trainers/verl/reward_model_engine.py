"""verl's own reward worker and router before servers that stand in for its reward model; prints what happened as JSON.

Run as a script (``reward_model_engine.py OUT``), so that Ray and verl stay out of the test process.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError
from http_judge import worth
from servers.faulty_server import Answer, Asked, FaultyServer, error
from servers.opinions import models
from trainers.verl.verl_engine import configured, tiny_model

PROMPTS = {"one": [30, 90, 60, 10], "other": [20, 80, 40, 70]}
COLOCATED = (
    "reward.reward_model.enable=true",
    "reward.reward_model.rollout.name=vllm",
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.name=RewardManager",
    "reward.reward_manager.module.path=pkg://calipers.trainers.verl",
    "reward.custom_reward_function.path=pkg://calipers.trainers.verl",
    "trainer.test_freq=-1",
    "trainer.val_before_train=false",
    "+calipers.judge=vllm/judge",
    "+calipers.base_url=router",
    "+calipers.attempts=1",
)
FUNCTION = (
    "reward.reward_model.enable=true",
    "reward.reward_model.enable_resource_pool=true",
    "reward.reward_model.rollout.name=vllm",
    "reward.custom_reward_function.path=pkg://calipers.trainers.verl",
    "+reward.custom_reward_function.reward_kwargs.judge=vllm/judge",
    "+reward.custom_reward_function.reward_kwargs.base_url=router",
)


def routed(servers: list[FaultyServer]) -> tuple[str, Any]:
    """verl's router, run as verl runs it but on a loopback address; the address it is at."""
    from verl.experimental.reward_loop.router.naive_router import run_router  # noqa: PLC0415 - only where verl is

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    urls = [f"http://127.0.0.1:{server.port}" for server in servers]
    process = multiprocessing.get_context("spawn").Process(
        target=run_router, args=("127.0.0.1", port, urls), daemon=True
    )
    process.start()
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).read()
        except OSError:
            time.sleep(0.1)
        else:
            break
    return f"127.0.0.1:{port}", process


def batch(tokenizer: Any) -> Any:
    """What verl's trainer gives a colocated reward model, by its own method's code: tokens, masks and prompts."""
    import numpy as np  # noqa: PLC0415 - only where verl is
    import torch  # noqa: PLC0415 - likewise
    from tensordict import TensorDict  # noqa: PLC0415 - likewise
    from verl.protocol import DataProto  # noqa: PLC0415 - likewise

    both = zip(*PROMPTS.values(), strict=True)
    rows = [(name, points) for pair in both for name, points in zip(PROMPTS, pair, strict=True)]
    texts = [torch.tensor(tokenizer(f"{name} is worth {points}")["input_ids"]) for name, points in rows]
    responses = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=tokenizer.pad_token_id)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
    prompts = np.empty(len(rows), dtype=object)
    prompts[:] = [[{"role": "user", "content": f"prompt {name}"}] for name, _ in rows]
    tensors = {
        "prompts": torch.zeros(len(rows), 1, dtype=torch.long),
        "responses": responses,
        "attention_mask": torch.cat([torch.ones(len(rows), 1, dtype=torch.long), mask], dim=1),
    }
    return DataProto(batch=TensorDict(tensors, batch_size=len(rows)), non_tensor_batch={"raw_prompt": prompts})


def together(servers: int) -> Callable[[Asked], Answer]:
    """Return a reply that each of ``servers`` holds back until all of them have a question.

    verl's router takes the server with the fewest open requests: one that has answered already is free again.
    """
    all_asked = threading.Barrier(servers, timeout=60)
    reply = worth()

    def answer(asked: Asked) -> Answer:
        all_asked.wait()
        return reply(asked)

    return answer


def told(folder: Path) -> dict[str, Any]:
    """What verl's parts make of a judge at their router."""
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker  # noqa: PLC0415 - only where verl is

    tokenizer = tiny_model(folder)
    found: dict[str, Any] = {}
    servers = [FaultyServer(), FaultyServer()]
    with servers[0], servers[1]:
        held = together(len(servers))
        for server in servers:
            models(server, "judge")
            server.script(held)
        address, router = routed(servers)
        path = f"reward.reward_model.model_path={folder}"
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)

        worker = RewardLoopWorker(configured(folder, *COLOCATED, path), address)
        data = batch(tokenizer)
        rows = loop.run_until_complete(worker.compute_score_batch(data))
        found["colocated"] = [row["reward_score"] for row in rows]
        found["questions"] = [len(server.posts) for server in servers]
        for server in servers:
            server.script(worth(never={80}))
        rows = loop.run_until_complete(worker.compute_score_batch(data))
        found["one unscored"] = [row["reward_score"] for row in rows]
        for server in servers:
            server.script(error(400, "max_tokens is too large"))
        refused = urllib.request.Request(f"http://{address}/v1/chat/completions", data=b"{}")
        try:
            urllib.request.urlopen(refused, timeout=60)  # noqa: S310 - loopback
        except urllib.error.HTTPError as fault:
            found["router makes of a 400"] = fault.code

        for server in servers:
            server.script(worth())
        config = configured(folder, *FUNCTION, path)
        function = RewardLoopWorker(config, address)
        single = data[0:1]
        for name, value in {"data_source": "here", "reward_model": {"ground_truth": "x"}, "extra_info": {}}.items():
            single.non_tensor_batch[name] = as_objects([value])
        found["function"] = loop.run_until_complete(function.compute_score(single))["reward_score"]
        found["agent loop's router"] = router_of_actor(config, address)
        found["refused"] = [refusal(folder, path, *given) for given in ((), ("+calipers.recipe=verif",))]
        router.terminate()
    return found


def as_objects(values: list[Any]) -> Any:
    import numpy as np  # noqa: PLC0415 - only where verl is

    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def router_of_actor(config: Any, address: str) -> str | None:
    """What an agent-loop worker learns from the reward workers that verl gives it."""
    import ray  # noqa: PLC0415 - only where verl is
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker  # noqa: PLC0415 - likewise

    from calipers.trainers.verl.reward_model import router_of_workers  # noqa: PLC0415 - likewise

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        return router_of_workers([ray.remote(RewardLoopWorker).remote(config, address)])
    finally:
        ray.shutdown()


def refusal(folder: Path, path: str, *given: str) -> str:
    """What calipers says to a configuration that cannot work: without a reward function, or with more than a prompt."""
    from calipers.trainers.verl.agent_loop import settings_in_config  # noqa: PLC0415 - likewise
    from calipers.trainers.verl.reward import require_limits  # noqa: PLC0415 - only where verl is

    kept = [one for one in COLOCATED if given or not one.startswith("reward.custom_reward_function")]
    config = configured(folder, *kept, path, *given)
    try:
        require_limits(config, settings_in_config(config))
    except ConfigError as fault:
        return str(fault)
    return ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "RAY_DISABLE_IMPORT_WARNING": "1"}
        Path(sys.argv[1]).write_text(json.dumps(told(Path(home) / "model")))
