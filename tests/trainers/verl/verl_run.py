"""verl's own V1 code on a CPU, with scripted rollouts and a scripted judge behind HTTP; writes what happened as JSON.

Run as a script (``verl_run.py OUT``), so that Ray, its workers and everyone's warnings stay out of the test process.
"""

# ruff: noqa: E402 - verl and Ray read the environment when they are imported

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

FOLDER = Path(tempfile.mkdtemp(prefix="cv", dir="/tmp"))
os.environ |= {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "HOME": str(FOLDER),
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "VERL_LOGGING_LEVEL": "WARNING",
}

import numpy as np
import ray
import torch
import transfer_queue as tq
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config
from verl.experimental.reward_loop import RewardLoopManager
from verl.trainer.ppo.core_algos import get_adv_estimator_fn
from verl.trainer.ppo.v1 import AgentLoopManagerTQ
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.import_utils import load_class_from_fqn
from verl.workers.rollout.replica import TokenOutput

from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_groups
from servers.checker import verdicts
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

PLAN: dict[str, list[str | None]] = {
    "plain": ["worth 30", "worth 90", "worth 60", "worth 10"],
    "ties": ["worth 50", "it is worth 50", "worth 20", "worth 80"],
    "even": ["worth 97", "it is worth 97", "all are worth 97", "this too is worth 97"],
    "unscored": ["worth 30", "worth 90 but unscored", "worth 60", "worth 10"],
    "nan": ["worth 30", "worth 90 but nan", "worth 60", "worth 10"],
    "lost": ["worth 30", None, "worth 60", "worth 10"],
    "both": ["worth 30", None, "worth 60", "worth 10 but unscored"],
    "lone": [None, "worth 90 but unscored", "worth 60", "worth 10 but unscored"],
    "dead": ["worth 30", "worth 90", "worth 60", "worth 10"],
    "empty": [None, None, None, None],
    "tools": ["worth 30", "worth 90", "worth 60", "worth 10"],
}
"""Prompts, and what their four rollouts say; None is lost on the way. Which says what is left to chance."""

CALL = '<tool_call>{"name": "weigh", "arguments": {"what": "it"}}</tool_call>'
TOOL = '''
from verl.tools.function_tool import function_tool

@function_tool
async def weigh(what: str) -> str:
    """Weigh it.

    Args:
        what: what to weigh
    """
    return "12 stone"
'''
"""Rollouts of "tools" call this one before they say what they say."""

ESTIMATORS = ("grpo", "rloo", "grpo_vectorized", "rloo_vectorized", "opo", "reinforce_plus_plus_baseline")


def judge(asked: Asked) -> Answer:
    """Each candidate is worth what it says it is; of the unscored it says nothing, and of "dead" prompts nothing at
    all.
    """
    question = asked.body["messages"][-1]["content"]
    if "dead" in question:
        return error(400, "this judge is dead")
    shown = re.findall(r"candidate (\w+)\n(.*?)\n(?=@\w+ (?:candidate|end\n))", question, re.DOTALL)
    scores = {key: math.nan if "nan" in body else worth(body) for key, body in shown if "unscored" not in body}
    return said(json.dumps({"explanations": {}, "scores": scores}))


def worth(text: str) -> int:
    return int(re.findall(r"worth (\d+)", text)[-1])


class Policy:
    """Stands in for verl's client of its LLM servers: the rollouts of a prompt as they are planned, each later than the
    last.
    """

    def __init__(self, plan: Mapping[str, Sequence[list[int] | None]], needles: Mapping[str, list[int]]) -> None:
        self.plan, self.needles = plan, needles
        self.asked: dict[str, int] = dict.fromkeys(plan, 0)

    async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> Any:
        where = json.dumps(prompt_ids)
        name = next(name for name in self.plan if json.dumps(self.needles[name])[1:-1] in where)
        if name == "tools" and json.dumps(self.needles["weighed"])[1:-1] not in where:
            return TokenOutput(token_ids=self.needles["call"])
        number, self.asked[name] = self.asked[name], self.asked[name] + 1
        tokens = self.plan[name][number % len(self.plan[name])]
        await asyncio.sleep(0.1 * number % 0.4)
        if tokens is None:
            raise RuntimeError("the rollout was lost")
        return TokenOutput(token_ids=tokens)


def tiny_model(folder: Path) -> Any:
    """A tokenizer of single bytes and the configuration of a model that is never built."""
    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|im_start|>", "<|im_end|>", "<pad>"]
    spelled = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    spelled.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spelled.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=spelled,
        eos_token="<|im_end|>",  # noqa: S106 - a token of a tokenizer
        pad_token="<pad>",  # noqa: S106 - likewise
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    Qwen2Config(
        architectures=["Qwen2ForCausalLM"], vocab_size=len(letters), num_key_value_heads=2, **small
    ).save_pretrained(folder)
    return tokenizer


def configured(model: Path, *overrides: str) -> Any:
    """verl's configuration as its command line makes it."""
    rollout = "actor_rollout_ref.rollout"
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={model}",
                f"+{rollout}.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager",
                "+actor_rollout_ref.model.override_config.attn_implementation=eager",
                *(f"{rollout}.name=vllm", f"{rollout}.n=4", f"{rollout}.agent.num_workers=1"),
                *(f"{rollout}.prompt_length=64", f"{rollout}.response_length=256"),
                *("data.train_batch_size=16", "reward.num_workers=1", "algorithm.adv_estimator=grpo"),
                *("transfer_queue.enable=true", "transfer_queue.backend.SimpleStorage.num_data_storage_units=1"),
                *overrides,
            ],
        )
    OmegaConf.resolve(config)
    return config


def column(keys: Sequence[str], name: str, partition: str = "train") -> list[Any]:
    """A field of rollouts in TransferQueue."""
    return list(tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=[name])[name])


class Engine:
    """verl's parts around an agent-loop manager: prompts in, groups and advantages out.

    A rollout is known by its prompt and what it says, as in ``plain: worth 30``.
    """

    def __init__(self, config: Any, manager: Any, tokenizer: Any) -> None:
        self.config, self.manager, self.tokenizer = config, manager, tokenizer

    def roll_out(
        self,
        names: Sequence[str],
        *,
        prefix: str,
        partition: str = "train",
        size: int = 4,
        reward_model: Mapping[str, Any] = MappingProxyType({"ground_truth": "the truth"}),
        extra_info: Mapping[str, Any] = MappingProxyType({}),
        step: int = 1,
    ) -> dict[str, Any]:
        """Send prompts the way verl's trainer does and wait: status by prompt, rewards and what goes with them."""
        uids = [f"{prefix}-{name}" for name in names]
        batch = tu.get_tensordict(
            {
                "uid": uids,
                "raw_prompt": [[{"role": "user", "content": f"prompt {name}"}] for name in names],
                "agent_name": ["tool_agent" if name == "tools" else "single_turn_agent" for name in names],
                "data_source": ["here"] * len(names),
                "index": list(range(len(names))),
                "reward_model": [dict(reward_model)] * len(names),
                "extra_info": [{"index": number, **extra_info} for number in range(len(names))],
                "__rollout_n__": [size] * len(names),
            }
        )
        tu.assign_non_tensor_data(batch, "global_steps", step)
        if partition == "val":
            tu.assign_non_tensor_data(batch, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": step} for _ in uids]
        tq.kv_batch_put(keys=uids, partition_id=partition, tags=tags)
        self.manager.generate_sequences(batch)
        return self._settled(uids, partition)

    def _settled(self, uids: Sequence[str], partition: str) -> dict[str, Any]:
        for _ in range(600):
            tags = tq.kv_list(partition)[partition]
            status = {uid.split("-")[1]: tags[uid]["status"] for uid in uids}
            if set(status.values()) <= {"finished", "failure"}:
                break
            time.sleep(0.1)
        keys = [key for key in tags if "_" in key and key.split("_")[0] in uids]
        report: dict[str, Any] = {"status": status, "rewards": {}, "info": []}
        if keys:
            sums = [float(one.sum()) for one in column(keys, "rm_scores", partition)]
            report["rewards"] = dict(zip(self.labels(keys, partition), sums, strict=True))
            report["info"] = [one["reward_extra_info"] for one in column(keys, "extra_fields", partition)]
        return report

    def labels(self, keys: Sequence[str], partition: str = "train") -> list[str]:
        """What each rollout is known by."""
        told = (self.tokenizer.decode(one, skip_special_tokens=True) for one in column(keys, "responses", partition))
        texts = [text.rpartition("\n")[2] for text in told]
        return [f"{key.split('_')[0].split('-')[1]}: {text}" for key, text in zip(keys, texts, strict=True)]

    def sampled(
        self, mode: str, count: int, *, refill: Callable[[int], object] | None = None, **settings: Any
    ) -> dict[str, Any]:
        """What verl's replay buffer of this mode makes of the groups that are there."""
        refilled: list[int] = []
        kind = ReplayBuffer if mode == "sync" else ReplayBufferAsync
        buffer = kind(
            trainer_mode=mode,
            trainer_config=self.config.trainer,
            max_off_policy_threshold=None,
            max_off_policy_strategy="drop",
            sampler_kwargs={},
            poll_interval=0.05,
            refill_fn=refill or refilled.append,
            **settings,
        )
        batch, metrics = buffer.sample(global_steps=1, partition_id="train", batch_size=count)
        return {"batch": batch, "refilled": sum(refilled), "metrics": sorted(metrics)}

    def advantages(self, batch: Any, estimator: str) -> dict[str, float]:
        """verl's advantages by rollout: its V1 trainer's own method, on what the agent loop put into TransferQueue."""
        config = self.config.copy()
        config.algorithm.adv_estimator = estimator
        done = PPOTrainerSync._compute_advantage(SimpleNamespace(config=config), batch, {})
        firsts = [float(one[0]) for one in column(done.keys, "advantages")]
        return dict(zip(self.labels(done.keys), firsts, strict=True))


def expected(rewards: Mapping[str, float], masks: Sequence[Any], config: Any, estimator: str) -> dict[str, float]:
    """The advantages of a batch in which only these rollouts ever were, by verl's function of the estimator."""
    mask = torch.nn.utils.rnn.pad_sequence(list(masks), batch_first=True)
    scores = torch.zeros(mask.shape)
    for row, reward in enumerate(rewards.values()):
        scores[row, len(masks[row]) - 1] = reward
    prompts = np.array([label.split(": ")[0] for label in rewards], dtype=object)
    given: dict[str, Any] = {"index": prompts, "config": config.algorithm}
    advantages, _ = get_adv_estimator_fn(estimator)(token_level_rewards=scores, response_mask=mask, **given)
    return {label: float(one) for label, one in zip(rewards, advantages[:, 0], strict=True)}


def recorded_steps(ledger: Path) -> dict[str, list[Any]]:
    """The step and the split of each recorded group, by the first letter of its id."""
    with read_ledger(ledger) as reader:
        found = [result for _, result in recorded_groups(reader, 1, "result")]
    return {one["group_id"][0]: [one.get("step"), one.get("split")] for one in found}


def policy(tokenizer: Any) -> Policy:
    """The planned rollouts, in tokens."""
    end = tokenizer.eos_token_id
    spelled = {
        name: [None if text is None else [*tokenizer.encode(text), end] for text in texts]
        for name, texts in PLAN.items()
    }
    needles = {name: tokenizer.encode(f"prompt {name}") for name in PLAN}
    return Policy(spelled, {**needles, "weighed": tokenizer.encode("12 stone"), "call": [*tokenizer.encode(CALL), end]})


def asking(server: FaultyServer, *more: str) -> list[str]:
    """The part of verl's configuration that names the judge."""
    return ["+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1", *more]


def error_of(call: Callable[[], object]) -> str:
    """The class and the text of what the call raises."""
    try:
        call()
    except Exception as caught:  # noqa: BLE001 - which one it is, is what is looked at
        return f"{type(caught).__name__}: {caught}"
    return "nothing is raised"


def manager_class(config: Any) -> Any:
    return load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)


def manager_of(config: Any, tokenizer: Any) -> Engine:
    """verl around calipers' agent-loop manager, and nothing that gives rewards besides."""
    given = {"config": config, "llm_client": policy(tokenizer), "teacher_client": None}
    return Engine(config, manager_class(config).create(**given, reward_loop_worker_handles=None), tokenizer)


def agent_loop(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """The way in for training: verl's manager class, its workers, its replay buffers, its advantages."""
    tools = f"actor_rollout_ref.rollout.multi_turn.function_tool_path={model.parent / 'tool.py'}"
    ledger = model.parent / "ledger.db"
    config = configured(model, tools, *asking(server, "+calipers.reasks=1", f"+calipers.ledger={ledger}"))
    engine = manager_of(config, tokenizer)
    report = engine.roll_out(list(PLAN), prefix="s", step=3)
    report["questions"] = len(server.posts)
    shown = [post["messages"][-1]["content"] for post in server.posts]
    report["tools shown"] = next(question for question in shown if "prompt tools" in question)
    taken = engine.sampled("sync", len(PLAN))["batch"]
    masks = column(taken.keys, "response_mask")
    rewards = {label: report["rewards"][label] for label in engine.labels(taken.keys)}
    report["advantages"] = {
        estimator: [engine.advantages(taken, estimator), expected(rewards, masks, config, estimator)]
        for estimator in ESTIMATORS
    }
    report["validation"] = engine.roll_out(["plain"], prefix="v", partition="val", size=1)
    report["training alone"] = engine.roll_out(["plain"], prefix="o", size=1)
    again = engine.roll_out(list(PLAN), prefix="a")
    evicted = engine.sampled("async", sum(status == "finished" for status in again["status"].values()))
    trained = sorted({label.split(": ")[0] for label in engine.labels(evicted["batch"].keys)})
    report["async"] = {"refilled": evicted["refilled"], "metrics": evicted["metrics"], "trained": trained}
    report["failed step"] = failed_step(engine)
    report["refilled step"] = refilled_step(engine)
    report["refused"] = refused(model)
    report["recorded steps"] = recorded_steps(ledger)
    return report


def failed_step(engine: Engine) -> str:
    """What verl's synchronous trainer says to a step none of whose groups got a reward."""
    engine.roll_out(["dead"], prefix="f")
    return error_of(lambda: engine.sampled("sync", 1))


def refilled_step(engine: Engine) -> list[str]:
    """What its step then holds if it is to replace failed groups, and the next prompt is a good one."""
    replacing = {"sync_refill_failed_groups": True, "gen_batch_size": 1}
    taken = engine.sampled("sync", 1, refill=lambda _: engine.roll_out(["plain"], prefix="g"), **replacing)
    return sorted(engine.labels(taken["batch"].keys))


def refused(model: Path) -> dict[str, str]:
    """What the manager says, before any rollout, to configurations that cannot work."""
    nowhere = ("+calipers.judge=vllm/judge", "+calipers.base_url=http://127.0.0.1:9/v1", "+calipers.attempts=1")
    wrong = {
        "no judge": configured(model),
        "lone": configured(model, "+calipers.judge=embedded", "actor_rollout_ref.rollout.n=1"),
        "unreachable": configured(model, *nowhere),
        "old trainer": configured(model, "+calipers.judge=embedded", "transfer_queue.enable=false"),
    }
    return {
        name: error_of(partial(manager_class(config).create, config=config, llm_client=None))
        for name, config in wrong.items()
    }


NAMED: list[dict[str, Any]] = [
    {"criterion": "names 90", "points": 4, "tags": {}},
    {"criterion": "names worth", "points": 4, "tags": {}},
    {"criterion": "names 10", "points": -6, "tags": {}},
]
"""What a checking judge finds met in an answer that has the word."""

FUNCTION = "def check_following(instruction, response):\n    return '90' not in response"


def checks(asked: Asked) -> Answer:
    """A judge of criteria, that says nothing of an answer that is "but unscored"."""
    return said("{}" if "but unscored" in asked.body["messages"][-1]["content"] else verdicts(asked))


def absolute(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """Rows with criteria in verl's own reward loop, on two judge servers, and rows with rules in its agent loop."""
    server.script(checks)
    function, kwargs = "reward.custom_reward_function", "+reward.custom_reward_function.reward_kwargs"
    with FaultyServer() as second:
        second.script(checks)
        config = configured(
            model,
            *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=compute_score"),
            f"{kwargs}.grading.normaliser=ruscarl_batch",
            *(f"{kwargs}.judge=vllm/judge", f"{kwargs}.base_url=[{server.url},{second.url}]"),
            *(f"{kwargs}.concurrency=4", f"{kwargs}.attempts=1", f"{kwargs}.reasks=0", "reward.num_workers=2"),
        )
        rewards = RewardLoopManager(config)
        manager = AgentLoopManagerTQ.create(
            config=config,
            llm_client=policy(tokenizer),
            teacher_client=None,
            reward_loop_worker_handles=rewards.reward_loop_worker_handles,
        )
        begun = len(server.posts)
        row = {"prompt": [{"role": "user", "content": "what is it worth?"}], "reward_model": {"rubrics": NAMED}}
        batch = Engine(config, manager, tokenizer).roll_out(["plain", "unscored"], prefix="h", extra_info=row)
        batch["served"] = [len(server.posts) - begun, len(second.posts)]
        batch["judged"] = [post["messages"] for post in server.posts[begun:] + second.posts]
    config = configured(model, *asking(server, "+calipers.rules=code", "+calipers.reasks=0"))
    truth = {"checkers": ["[rule] Price: not 90", "[llm] Content: names worth"], "functions": [FUNCTION, ""]}
    engine, model_of = manager_of(config, tokenizer), {"ground_truth": json.dumps(truth)}
    verif = engine.roll_out(["plain", "unscored"], prefix="i", reward_model=model_of)
    verif["alone"] = engine.roll_out(["plain"], prefix="j", partition="val", size=1, reward_model=model_of)
    server.script(judge)
    return {"criteria": batch, "rules": verif}


def no_judge(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """A mistyped model, and a judge that loses group after group: what ends verl's run, and what its log has of it."""
    told: dict[str, Any] = {}
    server.script(error(404, "The model `judge` does not exist"))
    _, before = logged(model.parent)
    engine = manager_of(configured(model, *asking(server)), tokenizer)
    told["first step"] = engine.roll_out(["plain", "ties", "even"], prefix="k")["status"]
    told["first log"], _ = logged(model.parent, after=before)
    again = partial(engine.roll_out, ["plain"])
    told["refilling"] = error_of(lambda: engine.sampled("async", 1, refill=lambda _: again(prefix="l")))
    told["next step"] = error_of(partial(again, prefix="m"))
    _, before = logged(model.parent)
    server.script(judge)
    engine = manager_of(configured(model, *asking(server, "+calipers.reasks=0", "+calipers.patience=2")), tokenizer)
    told["patient"] = [
        engine.roll_out([name], prefix=f"n{number}")["status"] for number, name in enumerate(("dead", "plain"))
    ]
    told["out"] = [engine.roll_out(["dead"], prefix=f"o{number}")["status"] for number in range(2)]
    told["second log"], _ = logged(model.parent, after=before)
    told["out of patience"] = error_of(partial(engine.roll_out, ["plain"], prefix="p"))
    return told


def logged(folder: Path, *, after: Mapping[str, int] = MappingProxyType({})) -> tuple[list[str], dict[str, int]]:
    """What Ray's workers wrote to stderr since they had written so many lines each, and how many they wrote in all."""
    time.sleep(1)  # they write without waiting
    files = {
        file.name: file.read_text(errors="replace") for file in folder.glob("ray/session_latest/logs/worker-*.err")
    }
    lines = {name: text.splitlines() for name, text in files.items()}
    news = [line for name, told in lines.items() for line in told[after.get(name, 0) :]]
    return news, {name: len(told) for name, told in lines.items()}


def main(out: Path) -> None:
    """Everything in one Ray, whose files go away with it."""
    try:
        model = FOLDER / "model"
        tokenizer = tiny_model(model)
        (FOLDER / "tool.py").write_text(TOOL)
        ray.init(
            num_cpus=4, include_dashboard=False, _node_ip_address="127.0.0.1", _temp_dir=str(FOLDER / "ray"),
            object_store_memory=100_000_000, configure_logging=False,
        )  # fmt: skip
        tq.init(configured(model).transfer_queue)
        with FaultyServer() as server:
            server.script(judge)
            begun, report = time.monotonic(), {}
            for part in (agent_loop, absolute, no_judge):
                report[part.__name__] = part(model, tokenizer, server)
                sys.stderr.write(f"{part.__name__}: done after {time.monotonic() - begun:.0f} s\n")
            out.write_text(json.dumps(report))
        tq.close()
    finally:
        ray.shutdown()
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
