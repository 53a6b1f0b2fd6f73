"""The ms-swift adapter through ms-swift's own scoring and advantages; the judge is a real server."""

# ruff: noqa: PLC0415 - ms-swift is imported only where it is

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_group
from calipers.trainers.ms_swift import JudgeReward, register
from http_judge import judge_at, worth
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, error, said

HERE = importlib.util.find_spec("swift") is not None
with_swift = pytest.mark.skipif(not HERE, reason="ms-swift is not installed (.ci/engines makes an environment)")


# --- what is returned -----------------------------------------------------------------------------------------------


def conversations(*texts: str, prompt: str = "Tell a joke.") -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": prompt}, {"role": "assistant", "content": text}] for text in texts]


async def rewards(reward: JudgeReward, *texts: str, **columns: Any) -> list[float | None]:
    given: dict[str, Any] = {
        "prompt_id": ["p"] * len(texts),
        "request_id": list(texts),
        "messages": conversations(*texts),
    } | columns
    return await reward(texts, **{"trainer_state": None, **given})


async def test_the_trainers_step_is_recorded(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    judge = judge_at(faulty, ledger=tmp_path / "runs.db")
    state = SimpleNamespace(global_step=7)
    assert await rewards(JudgeReward(judge, size=2), "worth 20", "worth 90", trainer_state=state) == [0.2, 0.9]
    judge.close()
    with read_ledger(tmp_path / "runs.db") as reader:
        assert recorded_group(reader, 1, 0)["step"] == 7


async def test_all_rows_of_one_rollout_have_its_reward(faulty: FaultyServer) -> None:
    faulty.script(worth())
    texts = ("so far: worth 11", "worth 20", "worth 90")
    found = await rewards(JudgeReward(judge_at(faulty), size=2), *texts, request_id=["1", "1", "2"])
    assert found == [0.2, 0.2, 0.9]


@pytest.mark.parametrize(
    ("prompts", "size", "groups"),
    [
        ("aabb", 2, ["12", "34"]),
        ("aabbaa", 2, ["12", "56", "34"]),  # a prompt that stands in the batch twice is two groups
        ("ab", 8, ["1", "2"]),  # in evaluation, whole prompts
        ("aaaaa", 4, ["12345"]),
    ],
)
async def test_a_prompts_rows_are_a_group(faulty: FaultyServer, prompts: str, size: int, groups: list[str]) -> None:
    faulty.script(worth())
    reward = JudgeReward(judge_at(faulty), size=size)
    texts = [f"answer {number}, worth {number}0" for number in range(1, len(prompts) + 1)]
    await rewards(reward, *texts, prompt_id=list(prompts))
    shown = [re.findall(r"answer (\d)", str(post["messages"])) for post in faulty.posts]
    assert sorted("".join(sorted(one)) for one in shown) == sorted(one for one in groups if len(one) > 1)


async def test_the_rubric_may_stand_in_the_data_set(faulty: FaultyServer) -> None:
    faulty.script(worth())
    reward = JudgeReward(judge_at(faulty), size=2)
    await rewards(reward, "worth 20", "worth 90", rubric=["Shorter is better."] * 2)
    assert "Shorter is better." in str(faulty.posts[0]["messages"])
    with pytest.raises(InputError, match="have different rubrics"):
        await rewards(reward, "worth 20", "worth 90", rubric=["Shorter is better.", "Longer is."])


async def test_tool_messages_are_read_in_ms_swifts_own_roles(faulty: FaultyServer) -> None:
    faulty.script(worth())
    messages = conversations("worth 20", "worth 90")
    for one in messages:
        one[1:1] = [{"role": "tool_call", "content": '{"name": "look"}'}, {"role": "tool_response", "content": "seen"}]
    assert await rewards(JudgeReward(judge_at(faulty), size=2), "worth 20", "worth 90", messages=messages) == [0.2, 0.9]


@pytest.mark.skipif(HERE, reason="ms-swift is installed")
def test_without_ms_swift_the_remedy_is_named() -> None:
    with pytest.raises(ConfigError, match=r"pip install .ms-swift"):
        register("judge", "embedded")


# --- through ms-swift -----------------------------------------------------------------------------------------------


def scored(judge: Any, *texts: str, size: int, other: Sequence[float] | None = None) -> Any:
    """ms-swift's own matrix of rewards, a column a reward function, for neighbouring groups of ``size``."""
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func

    register("a_judge", judge)
    functions = [orms["a_judge"](args=type("Args", (), {"num_generations": size})())]
    if other is not None:
        functions.append(lambda *_, **__: list(other))
    samples = [
        GRPOSample(messages=messages, prompt_id=f"prompt_{row // size}", request_id=f"request_{row}")
        for row, messages in enumerate(conversations(*texts))
    ]
    return compute_rewards_per_func(samples, functions, [None] * len(functions), device=torch.device("cpu"))


def advantages(matrix: Any, *, size: int, **settings: Any) -> list[float]:
    import torch
    from swift.rl_core.advantage import compute_advantages

    weights = torch.ones(matrix.shape[1])
    found = compute_advantages(matrix, weights, size, **settings)[0]
    return [float(one) for one in found]


SETTINGS: list[dict[str, Any]] = [
    {"advantage_estimator": estimator, "scale_rewards": scale}
    for estimator in ("grpo", "rloo", "reinforce_plus_plus")
    for scale in ("group", "none")
]
GOOD, POOR = ("worth 20", "worth 90", "worth 70"), ("worth 30", "worth 50", "worth 80")


@with_swift
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda given: "-".join(given.values()))
def test_a_group_with_a_row_that_is_not_scored_has_no_advantages_and_the_other_group_keeps_its_own(
    faulty: FaultyServer, settings: dict[str, Any]
) -> None:
    faulty.script(worth(never=(50,)))
    found = advantages(scored(judge_at(faulty), *GOOD, *POOR, size=3), size=3, **settings)
    expected = advantages(scored(judge_at(faulty), *GOOD, size=3), size=3, **settings)
    assert found == [*expected, 0.0, 0.0, 0.0]
    assert all(map(math.isfinite, found))


@with_swift
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda given: "-".join(given.values()))
def test_beside_another_reward_function_that_one_decides_alone(faulty: FaultyServer, settings: dict[str, Any]) -> None:
    import torch

    other = [1.0, 0.0, 1.0]
    faulty.script(worth(down="worth"))
    found = advantages(scored(judge_at(faulty), *GOOD, size=3, other=other), size=3, **settings)
    assert found == advantages(torch.tensor(other).unsqueeze(1), size=3, **settings)


@with_swift
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda given: "-".join(given.values()))
def test_ties_have_equal_advantages_to_the_last_bit(faulty: FaultyServer, settings: dict[str, Any]) -> None:
    faulty.script(worth())
    found = advantages(
        scored(judge_at(faulty), "first, worth 70", "worth 10", "second, worth 70", size=3), size=3, **settings
    )
    assert found[0] == found[2] > 0 > found[1]


@with_swift
def test_grouping_by_prompt_gives_the_same(faulty: FaultyServer) -> None:
    """Where the number of rows a prompt varies, ms-swift goes by prompt and request."""
    import torch
    from swift.rl_core.advantage import compute_advantages_dynamic

    faulty.script(worth(never=(50,)))
    matrix = scored(judge_at(faulty), *GOOD, *POOR, size=3)
    prompts, requests = [f"prompt_{row // 3}" for row in range(6)], [f"request_{row}" for row in range(6)]
    found = compute_advantages_dynamic(matrix, torch.ones(1), prompts, requests)[0].tolist()
    assert found == advantages(matrix, size=3)


@with_swift
def test_a_plugin_file_of_two_lines_registers_it_and_may_be_read_again(tmp_path: Path) -> None:
    from swift.rewards import orms
    from swift.utils import import_external_file

    line = "from calipers.trainers.ms_swift import register\nregister('helpfulness', 'embedded')\n"
    for name in ("plugin.py", "again.py"):
        (tmp_path / name).write_text(line, encoding="utf-8")
        import_external_file(str(tmp_path / name))
    assert type(orms["helpfulness"](args=None)).__name__ == "helpfulness"
    with pytest.raises(ConfigError, match="ms-swift has its own reward function 'accuracy'"):
        register("accuracy", "embedded")


@with_swift
def test_each_step_may_have_an_event_loop_of_its_own(faulty: FaultyServer) -> None:
    """ms-swift calls asyncio.run for each batch: connections must not outlive it."""
    faulty.script(worth())
    judge = judge_at(faulty)
    for _ in range(3):
        assert scored(judge, *GOOD, size=3)[:, 0].tolist() == pytest.approx([0.2, 0.9, 0.7])
    assert asyncio.run(rewards(JudgeReward(judge, size=2), "worth 20", "worth 90")) == [0.2, 0.9]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: pip install torch")
def test_a_group_that_two_processes_share_is_judged_once_and_each_gets_its_part(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(30,)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = Path(__file__).parents[1] / "ms_swift_process.py"
    running = [
        subprocess.Popen((sys.executable, str(script), str(rank), port, faulty.url), stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    first, second = (json.loads(process.communicate(timeout=200)[0]) for process in running)
    assert first[:2] == [[0.2, 0.5, 0.9]] * 2
    assert second[:2] == [[0.1, None, None]] * 2
    assert "rubrics" in first[2]
    assert first[2] in second[2]  # who only waited for the other ends with it
    groups = [question for question in faulty.posts if "worth 90" in str(question)]
    assert len(groups) == 2  # one a batch


@with_swift
@pytest.mark.timeout(500)
def test_a_run_of_ms_swifts_own_command_learns_from_a_judged_step_and_nothing_from_one_that_failed(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    from ms_swift_model import build

    faulty.script(lambda asked: said(verdict(asked)), error(400, "scripted"))
    build(tmp_path)
    plugin = (
        "from calipers import Judge\nfrom calipers.trainers.ms_swift import register\n\n"
        f"register('judged', Judge('openai/judge', base_url='{faulty.url}', api_key='k', calls={{'attempts': 1}}))\n"
    )
    (tmp_path / "plugin.py").write_text(plugin, encoding="utf-8")
    flags = {
        "rlhf_type": "grpo",
        "model": "model",
        "model_type": "qwen2",
        "template": "qwen2_5",
        "use_hf": "true",
        "torch_dtype": "float32",
        "tuner_type": "full",
        "gradient_checkpointing": "false",
        "beta": "0",
        "external_plugins": "plugin.py",
        "reward_funcs": "judged",
        "num_generations": "4",
        "dataset": "data.jsonl",
        "per_device_train_batch_size": "4",
        "max_steps": "2",
        "max_completion_length": "8",
        "logging_steps": "1",
        "save_strategy": "no",
        "report_to": "none",
        "output_dir": "out",
        "dataloader_num_workers": "0",
    }
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "swift"),
            "rlhf",
            *(word for name, value in flags.items() for word in (f"--{name}", value)),
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
    steps = [
        entry for entry in map(json.loads, logged.read_text(encoding="utf-8").splitlines()) if "grad_norm" in entry
    ]
    assert [entry["grad_norm"] > 0 for entry in steps] == [True, False]
    assert steps[1]["frac_reward_zero_std"] == 1
    assert "rewards/judged/mean" in steps[0]
    assert "rewards/judged/mean" not in steps[1]  # no signal, and not a reward of 0
