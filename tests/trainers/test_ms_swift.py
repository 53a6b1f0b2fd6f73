"""The ms-swift adapter through ms-swift's own scoring and advantages; the judge is a real server."""

# ruff: noqa: PLC0415 - ms-swift is imported only where it is

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_group
from calipers.trainers import ms_swift
from calipers.trainers.ms_swift import JudgeReward, register
from calipers.trainers.run import JudgedRun, Row, judged
from engine_contract import require_exact_ties, require_failures_without_effect
from http_judge import judge_at, worth
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, error, said
from trainer_adapters import conversation

HERE = importlib.util.find_spec("swift") is not None
with_swift = pytest.mark.skipif(not HERE, reason="ms-swift is not installed (.ci/engines makes an environment)")


async def rewards(judge: Any, *texts: str, size: int = 2, **columns: Any) -> list[float | None]:
    given: dict[str, Any] = {
        "prompt_id": ["p"] * len(texts),
        "request_id": list(texts),
        "messages": [conversation("Tell a joke.", text) for text in texts],
        "trainer_state": None,
    }
    return await JudgeReward(JudgedRun(judge), size=size)(texts, **(given | columns))


async def test_the_trainers_step_is_recorded(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    judge = judge_at(faulty, ledger=tmp_path / "runs.db")
    state = SimpleNamespace(global_step=7)
    assert await rewards(judge, "worth 20", "worth 90", trainer_state=state) == [0.2, 0.9]
    judge.close()
    with read_ledger(tmp_path / "runs.db") as reader:
        assert recorded_group(reader, 1, 0)["step"] == 7


async def test_all_rows_of_one_rollout_have_its_reward_and_roles_are_read_as_ms_swifts(faulty: FaultyServer) -> None:
    faulty.script(worth())
    texts = ("so far: worth 11", "worth 20", "worth 90")
    called = [{"role": "tool_call", "content": '{"name": "look"}'}, {"role": "tool_response", "content": "seen"}]
    messages = [[*called, *conversation("Tell a joke.", text)] for text in texts]
    found = await rewards(judge_at(faulty), *texts, request_id=["1", "1", "2"], messages=messages)
    assert found == [0.2, 0.2, 0.9]
    with pytest.raises(InputError, match="have different rubrics"):
        await rewards(judge_at(faulty), "worth 20", "worth 90", rubric=["Shorter is better.", "Longer is."])


async def test_a_prompts_rows_are_a_group(faulty: FaultyServer) -> None:
    faulty.script(worth())
    found = {}
    cases = {
        ("aabb", 2): ["12", "34"],
        ("aabbaa", 2): ["12", "34", "56"],  # a prompt that stands in the batch twice is two groups
        ("ab", 8): [],  # in evaluation, whole prompts
        ("aaaaa", 4): ["12345"],
    }
    for prompts, size in cases:
        before = len(faulty.posts)
        texts = [f"answer {number}, worth {number}0" for number in range(1, len(prompts) + 1)]
        await rewards(judge_at(faulty), *texts, size=size, prompt_id=list(prompts))
        shown = [re.findall(r"answer (\d)", str(post["messages"])) for post in faulty.posts[before:]]
        found[prompts, size] = sorted("".join(sorted(one)) for one in shown)
    assert found == cases


async def test_rows_of_other_processes_are_judged_with_ours(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How processes exchange their rows is tested with TRL's reward function."""

    class Ranks:
        async def judged(self, run: Any, read: Any, group: Any, form: Any) -> Any:
            theirs = [Row("p", {"messages": conversation("Tell a joke.", "worth 10")})]
            return await judged(run, group([*theirs, *read()]), form), slice(1, None)

    monkeypatch.setattr(ms_swift, "Ranks", Ranks)
    monkeypatch.setattr(ms_swift, "is_single_process", lambda: False)
    faulty.script(worth())
    assert await rewards(judge_at(faulty), "worth 90") == [0.9]
    assert "worth 10" in str(faulty.posts[0]["messages"])


# --- through ms-swift -----------------------------------------------------------------------------------------------


def scored(judge: Any, groups: Sequence[Sequence[str]], other: Sequence[float] | None = None) -> Any:
    """ms-swift's own matrix of rewards, a column a reward function."""
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func

    register("a_judge", judge)
    functions = [orms["a_judge"](args=SimpleNamespace(num_generations=len(groups[0])))]
    if other is not None:
        functions.append(lambda *_, **__: list(other))
    samples = [
        GRPOSample(
            messages=conversation(("Joke?", "Song?")[number], text),
            prompt_id=f"prompt_{number}",
            request_id=f"request_{number}_{at}",
        )
        for number, texts in enumerate(groups)
        for at, text in enumerate(texts)
    ]
    return compute_rewards_per_func(samples, functions, [None] * len(functions), device=torch.device("cpu"))


def advantages(matrix: Any, size: int, **settings: Any) -> list[float]:
    import torch
    from swift.rl_core.advantage import compute_advantages

    found: list[float] = compute_advantages(matrix, torch.ones(matrix.shape[1]), size, **settings)[0].tolist()
    return found


@with_swift
@pytest.mark.parametrize("estimator", ["grpo", "rloo", "reinforce_plus_plus"])
async def test_ms_swift_trains_on_comparisons_and_never_on_a_failed_one(faulty: FaultyServer, estimator: str) -> None:
    import torch

    for scale in ("group", "none"):
        settings = {"advantage_estimator": estimator, "scale_rewards": scale}

        def train(judge: Any, groups: Any, settings: Any = settings) -> list[Any]:
            size = len(groups[0])
            found = advantages(scored(judge, groups), size, **settings)
            return [found[number * size :][:size] for number in range(len(groups))]

        await require_failures_without_effect(faulty, train)
        await require_exact_ties(faulty, train)
        # Beside another reward function that one decides alone where the judge fails.
        faulty.script(worth(down="worth"))
        other = [1.0, 0.0, 1.0]
        matrix = await asyncio.to_thread(scored, judge_at(faulty), [["worth 1", "worth 2", "worth 3"]], other)
        expected = advantages(torch.tensor(other).unsqueeze(1), 3, **settings)
        assert advantages(matrix, 3, **settings) == expected


PROMPTS = ("tell a joke", "one joke", "two jokes", "one or two")
TURNS = ("<|im_start|>", "<|endoftext|>", "system", "user", "assistant")
FLAGS = {
    "rlhf_type": "grpo", "model": "model", "model_type": "qwen2", "template": "qwen2_5", "use_hf": "true",
    "torch_dtype": "float32", "tuner_type": "full", "gradient_checkpointing": "false", "beta": "0",
    "external_plugins": "plugin.py", "reward_funcs": "judged", "num_generations": "4", "dataset": "data.jsonl",
    "per_device_train_batch_size": "4", "max_steps": "2", "max_completion_length": "8", "logging_steps": "1",
    "save_strategy": "no", "report_to": "none", "output_dir": "out", "dataloader_num_workers": "0",
}  # fmt: skip


@with_swift
@pytest.mark.timeout(500)
def test_a_run_of_ms_swifts_own_command_learns_from_a_judged_step_and_nothing_from_one_that_failed(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    """Each step has an event loop of its own, which the judge's connections must not outlive."""
    from tiny_policy import policy_of, tokenizer_of

    faulty.script(lambda asked: said(verdict(asked)), error(400, "scripted"))
    tokens = tokenizer_of([*TURNS, *" ".join(PROMPTS).split(), *(f"w{n}" for n in range(60))], end="<|im_end|>")
    for part in (tokens, policy_of(tokens)):
        part.save_pretrained(tmp_path / "model")
    rows = (json.dumps({"messages": [{"role": "user", "content": prompt}]}) + "\n" for prompt in PROMPTS)
    (tmp_path / "data.jsonl").write_text("".join(rows), encoding="utf-8")
    plugin = (
        "from calipers import Judge\nfrom calipers.trainers.ms_swift import register\n\n"
        f"register('judged', Judge('openai/judge', base_url='{faulty.url}', api_key='k', calls={{'attempts': 1}}))\n"
    )
    (tmp_path / "plugin.py").write_text(plugin, encoding="utf-8")
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "swift"),
            "rlhf",
            *(word for name, value in FLAGS.items() for word in (f"--{name}", value)),
        ],
        cwd=tmp_path,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=450,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (logged,) = tmp_path.glob("out/*/logging.jsonl")
    entries = map(json.loads, logged.read_text(encoding="utf-8").splitlines())
    steps = [entry for entry in entries if "grad_norm" in entry]
    assert [entry["grad_norm"] > 0 for entry in steps] == [True, False]
    assert steps[1]["frac_reward_zero_std"] == 1
    assert ["rewards/judged/mean" in entry for entry in steps] == [True, False]  # no signal, and not a reward of 0
