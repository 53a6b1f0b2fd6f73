"""verl's own V1 code on a CPU, with scripted rollouts and a scripted judge behind HTTP; prints what happened as JSON.

Run as a script (``verl_engine.py OUT``), so that Ray, its workers and everyone's warnings stay out of the test process.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from calipers.errors import ConfigError
from calipers.ledger import LedgerReader
from calipers.ledger.contents import recorded_results
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
    shown = re.findall(r"candidate (\w+)\n(.*?)\n@\w+ end \1", question, re.DOTALL)
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
        from verl.workers.rollout.replica import TokenOutput  # noqa: PLC0415 - only where verl is

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


class NotingPolicy(Policy):
    """A policy that writes down, in a file, the tokens it is asked with: it runs where verl's workers run."""

    def __init__(self, inner: Policy, file: Path) -> None:
        super().__init__(inner.plan, inner.needles)
        self.file = file

    async def generate(self, request_id: str, *, prompt_ids: list[int], **given: Any) -> Any:
        with self.file.open("a") as notes:
            notes.write(json.dumps(prompt_ids) + "\n")
        return await super().generate(request_id, prompt_ids=prompt_ids, **given)

    @staticmethod
    def notes(file: Path, tokenizer: Any) -> list[str]:
        """What was asked so far, as text, and nothing the next time."""
        told = [str(tokenizer.decode(json.loads(line))) for line in file.read_text().splitlines()]
        file.write_text("")
        return told


def tiny_model(folder: Path) -> Any:
    """A tokenizer of single bytes and the configuration of a model that is never built."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415 - only where verl is
    from transformers import PreTrainedTokenizerFast, Qwen2Config  # noqa: PLC0415 - likewise

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
    from hydra import compose, initialize_config_module  # noqa: PLC0415 - only where verl is
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise

    rollout = "actor_rollout_ref.rollout"
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={model}",
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
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is
        from verl.utils import tensordict_utils as tu  # noqa: PLC0415 - likewise

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
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        for _ in range(600):
            tags = tq.kv_list(partition)[partition]
            status = {uid.split("-")[1]: tags[uid]["status"] for uid in uids}
            if set(status.values()) <= {"finished", "failure"}:
                break
            time.sleep(0.1)
        keys = [key for key in tags if "_" in key and key.split("_")[0] in uids]
        report: dict[str, Any] = {"status": status, "rewards": {}, "info": []}
        if keys:
            data = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=["rm_scores", "extra_fields"])
            sums = [float(one.sum()) for one in data["rm_scores"]]
            report["rewards"] = dict(zip(self.labels(keys, partition), sums, strict=True))
            report["info"] = [one["reward_extra_info"] for one in list(data["extra_fields"])]
        return report

    def infos(self, keys: Sequence[str], partition: str = "train") -> list[dict[str, float]]:
        """What verl logs with each rollout's reward."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        data = tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=["extra_fields"])
        return [one["reward_extra_info"] for one in list(data["extra_fields"])]

    def labels(self, keys: Sequence[str], partition: str = "train") -> list[str]:
        """What each rollout is known by."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        told = tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=["responses"])["responses"]
        texts = [self.tokenizer.decode(one, skip_special_tokens=True).rpartition("\n")[2] for one in told]
        return [f"{key.split('_')[0].split('-')[1]}: {text}" for key, text in zip(keys, texts, strict=True)]

    def masks(self, keys: Sequence[str]) -> list[Any]:
        """Which tokens of each rollout the policy wrote."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        return list(
            tq.kv_batch_get(keys=list(keys), partition_id="train", select_fields=["response_mask"])["response_mask"]
        )

    def sampled(
        self, mode: str, count: int, *, refill: Callable[[int], object] | None = None, **settings: Any
    ) -> dict[str, Any]:
        """What verl's replay buffer of this mode makes of the groups that are there."""
        from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync  # noqa: PLC0415 - where verl is

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
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is
        from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync  # noqa: PLC0415 - likewise

        config = self.config.copy()
        config.algorithm.adv_estimator = estimator
        done = PPOTrainerSync._compute_advantage(SimpleNamespace(config=config), batch, {})
        data = tq.kv_batch_get(keys=done.keys, partition_id="train", select_fields=["advantages"])
        firsts = [float(one[0]) for one in data["advantages"]]
        return dict(zip(self.labels(done.keys), firsts, strict=True))

    def weighted(self, batch: Any, estimator: str, weigh: Any = None) -> list[Any]:
        """The advantages, token by token, of verl's V1 trainer as calipers.trainers.verl.weighted makes it."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is
        from verl.trainer.ppo.v1 import get_trainer_cls  # noqa: PLC0415 - likewise

        import_module("calipers.trainers.verl.weighted")  # as VERL_USE_EXTERNAL_MODULES has it imported
        kind = get_trainer_cls("sync")
        assert kind.calipers_weighted
        trainer = object.__new__(kind)
        trainer.config = self.config.copy()
        trainer.config.algorithm.adv_estimator = estimator
        if weigh is not None:
            trainer.weight_of = weigh
        done = trainer._compute_advantage(batch, {})
        data = tq.kv_batch_get(keys=done.keys, partition_id="train", select_fields=["advantages"])
        return [one.tolist() for one in data["advantages"].unbind()]

    def plain(self, batch: Any, estimator: str) -> list[Any]:
        """The same, as verl makes it."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        self.advantages(batch, estimator)
        data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["advantages"])
        return [one.tolist() for one in data["advantages"].unbind()]


def expected(rewards: Mapping[str, float], masks: Sequence[Any], config: Any, estimator: str) -> dict[str, float]:
    """The advantages of a batch in which only these rollouts ever were, by verl's function of the estimator."""
    import numpy as np  # noqa: PLC0415 - beside torch, which is only where verl is
    import torch  # noqa: PLC0415 - only where verl is
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - likewise

    mask = torch.nn.utils.rnn.pad_sequence(list(masks), batch_first=True)
    scores = torch.zeros(mask.shape)
    for row, reward in enumerate(rewards.values()):
        scores[row, len(masks[row]) - 1] = reward
    prompts = np.array([label.split(": ")[0] for label in rewards], dtype=object)
    given: dict[str, Any] = {"index": prompts, "config": config.algorithm}
    advantages, _ = get_adv_estimator_fn(estimator)(token_level_rewards=scores, response_mask=mask, **given)
    return {label: float(one) for label, one in zip(rewards, advantages[:, 0], strict=True)}


def agent_loop(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """The way in for training: verl's manager class, its workers, its replay buffers, its advantages."""
    from verl.utils.import_utils import load_class_from_fqn  # noqa: PLC0415 - only where verl is

    config = configured(
        model,
        f"actor_rollout_ref.rollout.multi_turn.function_tool_path={model.parent / 'tool.py'}",
        "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager",
        *(
            "+calipers.judge=vllm/judge",
            f"+calipers.base_url={server.url}",
            "+calipers.attempts=1",
            "+calipers.reasks=1",
            f"+calipers.ledger={model.parent / 'ledger.db'}",
            "+calipers.probe=false",
        ),
    )
    kind = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)
    manager = kind.create(
        config=config, llm_client=policy(tokenizer), teacher_client=None, reward_loop_worker_handles=None
    )
    engine = Engine(config, manager, tokenizer)
    report = engine.roll_out(list(PLAN), prefix="s", step=3)
    report["questions"] = len(server.posts)
    shown = [post["messages"][-1]["content"] for post in server.posts]
    report["tools shown"] = next(question for question in shown if "prompt tools" in question)
    taken = engine.sampled("sync", len(PLAN))["batch"]
    masks = engine.masks(taken.keys)
    rewards = {label: report["rewards"][label] for label in engine.labels(taken.keys)}
    report["advantages"] = {
        estimator: [engine.advantages(taken, estimator), expected(rewards, masks, config, estimator)]
        for estimator in ESTIMATORS
    }
    try:
        unweighted = configured(model, "+calipers.judge=embedded", "+calipers.weigh=true")
        kind.create(config=unweighted, llm_client=None)
    except ConfigError as caught:
        report["unweighted"] = str(caught)
    report["weights"] = {
        estimator: {
            "plain": engine.plain(taken, estimator),
            "1": engine.weighted(taken, estimator),
            "0.25": engine.weighted(taken, estimator, lambda _: 0.25),
            "score": engine.weighted(taken, estimator, lambda info: info["calipers_score"]),
        }
        for estimator in ("grpo", "rloo", "reinforce_plus_plus_baseline")
    }
    try:
        engine.weighted(taken, "grpo", lambda _: math.inf)
    except ConfigError as caught:
        report["infinite weight"] = str(caught)
    report["scores"] = [one["calipers_score"] for one in engine.infos(taken.keys)]
    report["validation"] = engine.roll_out(["plain"], prefix="v", partition="val", size=1)
    report["training alone"] = engine.roll_out(["plain"], prefix="o", size=1)
    again = engine.roll_out(list(PLAN), prefix="a")
    evicted = engine.sampled("async", sum(status == "finished" for status in again["status"].values()))
    trained = sorted({label.split(": ")[0] for label in engine.labels(evicted["batch"].keys)})
    report["async"] = {"refilled": evicted["refilled"], "metrics": evicted["metrics"], "trained": trained}
    report["failed step"] = failed_step(engine)
    report["refilled step"] = refilled_step(engine)
    report["refused"] = refused(kind, model)
    report["recorded steps"] = recorded_steps(model.parent / "ledger.db")
    return report


def recorded_steps(ledger: Path) -> dict[str, list[Any]]:
    """The step and the split of each recorded group, by the first letter of its id."""
    with LedgerReader(ledger) as reader:
        found = [result for _, result in recorded_results(reader, 1)]
    return {one["group_id"][0]: [one.get("step"), one.get("split")] for one in found}


def failed_step(engine: Engine) -> str:
    """What verl's synchronous trainer says to a step none of whose groups got a reward."""
    engine.roll_out(["dead"], prefix="f")
    try:
        engine.sampled("sync", 1)
    except RuntimeError as caught:
        return str(caught)
    return ""


def refilled_step(engine: Engine) -> list[str]:
    """What its step then holds if it is to replace failed groups, and the next prompt is a good one."""
    taken = engine.sampled(
        "sync",
        1,
        refill=lambda _: engine.roll_out(["plain"], prefix="g"),
        sync_refill_failed_groups=True,
        gen_batch_size=1,
    )
    return sorted(engine.labels(taken["batch"].keys))


def refused(kind: Any, model: Path) -> dict[str, str]:
    """What the manager says, before any rollout, to configurations that cannot work."""
    wrong = {
        "no judge": [],
        "typo": ["+calipers.judge=embedded", "+calipers.ordres=2"],
        "key": ["+calipers.judge=embedded", "+calipers.api_key=secret"],
        "lone": ["+calipers.judge=embedded", "actor_rollout_ref.rollout.n=1"],
        "unreachable": [
            "+calipers.judge=vllm/judge",
            "+calipers.base_url=http://127.0.0.1:9/v1",
            "+calipers.attempts=1",
        ],
        "old trainer": ["+calipers.judge=embedded", "transfer_queue.enable=false"],
        "scaffold": ["+calipers.judge=embedded", "+calipers.scaffold.total_steps=9"],
    }
    told = beyond_limits(model) | unscaffolded(model)
    for name, overrides in wrong.items():
        try:
            kind.create(config=configured(model, *overrides), llm_client=None)
        except Exception as caught:  # noqa: BLE001 - which one it is, is what is looked at
            told[name] = f"{type(caught).__name__}: {caught}"
    return told


def unscaffolded(model: Path) -> dict[str, str]:
    """What the manager that only scaffolds says to configurations with nothing to show, or that would train on it."""
    from calipers.trainers.verl import ScaffoldManager  # noqa: PLC0415 - likewise

    steps = "+calipers.scaffold.total_steps=9"
    rollout = "actor_rollout_ref.rollout"
    wrong = {
        "nothing to show": [],
        "old trainer, scaffold": [steps, "transfer_queue.enable=false"],
        "bypass": [steps, f"{rollout}.calculate_log_probs=false", "algorithm.rollout_correction.bypass_mode=true"],
        "lone scaffold": [steps, f"{rollout}.calculate_log_probs=false", f"{rollout}.n=1"],
    }
    told = {}
    for name, overrides in wrong.items():
        try:
            ScaffoldManager(config=configured(model, *overrides), llm_client=None)
        except ConfigError as caught:
            told[name] = f"ConfigError: {caught}"
    return told


def beyond_limits(model: Path) -> dict[str, str]:
    """What the reward manager says to configurations beyond its limits."""
    from calipers.trainers.verl.agent_loop import settings_in_config  # noqa: PLC0415 - likewise
    from calipers.trainers.verl.reward import require_limits  # noqa: PLC0415 - likewise

    wrong = {
        "workers": ["reward.num_workers=2"],
        "lone group": ["actor_rollout_ref.rollout.n=1"],
        "validation": [],
        "waiting room": ["trainer.test_freq=-1", "trainer.val_before_train=false", "data.train_batch_size=1024"],
    }
    told = {}
    for name, overrides in wrong.items():
        config = configured(model, "+calipers.judge=embedded", *overrides)
        try:
            require_limits(config, settings_in_config(config))
        except ConfigError as caught:
            told[name] = f"ConfigError: {caught}"
    return told


def policy(tokenizer: Any) -> Policy:
    """The planned rollouts, in tokens."""
    end = tokenizer.eos_token_id
    spelled = {
        name: [None if text is None else [*tokenizer.encode(text), end] for text in texts]
        for name, texts in PLAN.items()
    }
    needles = {name: tokenizer.encode(f"prompt {name}") for name in PLAN}
    return Policy(spelled, {**needles, "weighed": tokenizer.encode("12 stone"), "call": [*tokenizer.encode(CALL), end]})


CRITERIA: list[dict[str, Any]] = [
    {"criterion": f"names planet {number}", "points": 2 * number - 5, "tags": {}} for number in range(1, 5)
]


def scaffold(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """Rollouts with part of the rubric in their prompt: what the policy is asked, what verl trains on, what is
    judged.
    """
    import transfer_queue as tq  # noqa: PLC0415 - only where verl is
    from verl.utils.import_utils import load_class_from_fqn  # noqa: PLC0415 - likewise

    agent = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
    config = configured(
        model,
        f"actor_rollout_ref.rollout.multi_turn.function_tool_path={model.parent / 'tool.py'}",
        f"+{agent}=calipers.trainers.verl.AgentLoopManager",
        *("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1"),
        *("+calipers.scaffold.total_steps=10", "+calipers.scaffold.step=constant"),
        *("actor_rollout_ref.rollout.calculate_log_probs=false", "actor_rollout_ref.rollout.prompt_length=330"),
    )
    file = model.parent / "asked.jsonl"
    given = {"config": config, "llm_client": NotingPolicy(policy(tokenizer), file), "teacher_client": None}
    manager = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class).create(
        **given, reward_loop_worker_handles=None
    )
    engine, begun = Engine(config, manager, tokenizer), len(server.posts)
    truth: dict[str, Any] = {"ground_truth": "", "rubrics": CRITERIA}
    report = engine.roll_out(["plain", "tools"], prefix="c", reward_model=truth)
    report["judged"] = [post["messages"] for post in server.posts[begun:]]
    report["asked"] = NotingPolicy.notes(file, tokenizer)
    keys = [key for key in tq.kv_list("train")["train"] if key.startswith("c-") and "_" in key]
    fields = ["prompts", "input_ids", "raw_prompt", "extra_fields"]
    trained = tq.kv_batch_get(keys=keys, partition_id="train", select_fields=fields)
    report["trained"] = [
        {
            "place": int(key.split("_")[1]) + 1,
            "prompt": tokenizer.decode(prompt),
            "all": tokenizer.decode(tokens),
            "row": row[0]["content"],
            "shown": extra["scaffold_shown"],
        }
        for key, prompt, tokens, row, extra in zip(
            keys, trained["prompts"], trained["input_ids"], trained["raw_prompt"], trained["extra_fields"], strict=True
        )
    ]
    engine.roll_out(["plain"], prefix="d", partition="val", reward_model=truth)
    report["asked in validation"] = NotingPolicy.notes(file, tokenizer)
    long = [{**one, "criterion": one["criterion"] + " with all its moons" * 4} for one in CRITERIA]
    engine.roll_out(["plain"], prefix="e", reward_model={"ground_truth": "", "rubrics": long})
    report["asked with too long ones"] = NotingPolicy.notes(file, tokenizer)
    return report


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


def recipes(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """Reward functions of RuscaRL's and VerIF's kind in verl's reward loop, on two judge servers, and in its agent
    loop.
    """
    from verl.experimental.reward_loop import RewardLoopManager  # noqa: PLC0415 - only where verl is

    from calipers.trainers.verl import ScaffoldManager  # noqa: PLC0415 - likewise

    server.script(checks)
    function, kwargs = "reward.custom_reward_function", "+reward.custom_reward_function.reward_kwargs"
    with FaultyServer() as second:
        second.script(checks)
        config = configured(
            model,
            *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=rubric_batch"),
            *(f"{kwargs}.judge=vllm/judge", f"{kwargs}.base_url=[{server.url},{second.url}]"),
            *(f"{kwargs}.max_workers_per_url=2", f"{kwargs}.attempts=1", f"{kwargs}.reasks=0", "reward.num_workers=2"),
            *("+calipers.scaffold.total_steps=10", "+calipers.scaffold.step=constant"),
            *("actor_rollout_ref.rollout.calculate_log_probs=false", "actor_rollout_ref.rollout.prompt_length=330"),
        )
        rewards, file = RewardLoopManager(config), model.parent / "asked.jsonl"
        manager = ScaffoldManager.create(
            config=config,
            llm_client=NotingPolicy(policy(tokenizer), file),
            teacher_client=None,
            reward_loop_worker_handles=rewards.reward_loop_worker_handles,
        )
        begun = len(server.posts)
        row = {"prompt": [{"role": "user", "content": "what is it worth?"}], "reward_model": {"rubrics": NAMED}}
        batch = Engine(config, manager, tokenizer).roll_out(["plain", "unscored"], prefix="h", extra_info=row)
        batch["served"] = [len(server.posts) - begun, len(second.posts)]
        batch["asked"] = NotingPolicy.notes(file, tokenizer)
        batch["judged"] = [post["messages"] for post in server.posts[begun:] + second.posts]
    config = configured(
        model,
        *("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1"),
        *("+calipers.recipe=verif", "+calipers.reasks=0"),
    )
    truth = {"checkers": ["[rule] Price: not 90", "[llm] Content: names worth"], "functions": [FUNCTION, ""]}
    engine, model_of = manager_of(config, tokenizer), {"ground_truth": json.dumps(truth)}
    verif = engine.roll_out(["plain", "unscored"], prefix="i", reward_model=model_of)
    verif["alone"] = engine.roll_out(["plain"], prefix="j", partition="val", size=1, reward_model=model_of)
    server.script(judge)
    return {"rubric_batch": batch, "verif": verif}


def in_shadow(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """verl's own reward loop with a function of the user's, and a judge that scores the groups in its shadow."""
    from verl.experimental.reward_loop import RewardLoopManager  # noqa: PLC0415 - only where verl is

    from calipers.trainers.shadow.comparison import read_shadow  # noqa: PLC0415 - likewise
    from calipers.trainers.verl import ShadowManager  # noqa: PLC0415 - likewise

    today, folder = model.parent / "today.py", model.parent / "shadow"
    today.write_text("def today(data_source, solution_str, ground_truth, extra_info):\n    return len(solution_str)\n")
    config = configured(
        model,
        *("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", f"+calipers.shadow={folder}"),
        *(f"reward.custom_reward_function.path={today}", "reward.custom_reward_function.name=today"),
        *("+calipers.attempts=1", "+calipers.reasks=0"),
    )
    rewards = RewardLoopManager(config)
    manager = ShadowManager.create(
        config=config,
        llm_client=policy(tokenizer),
        teacher_client=None,
        reward_loop_worker_handles=rewards.reward_loop_worker_handles,
    )
    told = Engine(config, manager, tokenizer).roll_out(["plain", "lost", "dead"], prefix="s")
    for _ in range(600):
        lines = list(read_shadow([folder])) if list(folder.glob("*.jsonl")) else []
        if len(lines) == 3:
            break
        time.sleep(0.1)
    told["lines"] = {line["group_id"].partition("-")[2]: line for line in lines}
    return told


def manager_of(config: Any, tokenizer: Any) -> Engine:
    """verl around calipers' agent-loop manager, and nothing that gives rewards besides."""
    from calipers.trainers.verl import AgentLoopManager  # noqa: PLC0415 - only where verl is

    given = {"config": config, "llm_client": policy(tokenizer), "teacher_client": None}
    return Engine(config, AgentLoopManager.create(**given, reward_loop_worker_handles=None), tokenizer)


def by_position(asked: Asked) -> Answer:
    """Candidates of the prompt "even" are worth what their place is; others are worth what they say."""
    question = asked.body["messages"][-1]["content"]
    keys = re.findall(r"candidate (\w+)\n", question)
    if "prompt even" not in question:
        return judge(asked)
    return said(json.dumps({"explanations": {}, "scores": dict(zip(keys, (90, 20, 60, 10), strict=True))}))


def emptied() -> None:
    """Take all rollouts out of the partition that verl trains on."""
    import transfer_queue as tq  # noqa: PLC0415 - only where verl is

    if keys := list(tq.kv_list("train").get("train", ())):
        tq.kv_clear(keys=keys, partition_id="train")


def resampling(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """Groups of noise alone in verl's own filter of groups: unequal rewards, and a metric of 0.0 for all of them."""
    server.script(by_position)
    given = ("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.orders=2")
    filtering = ("algorithm.filter_groups.enable=true", "algorithm.filter_groups.metric=calipers_signal")
    engine = manager_of(configured(model, *given, "+calipers.reasks=0", *filtering), tokenizer)
    emptied()  # groups of other managers lack the metric, which verl takes for an error
    told = engine.roll_out(["plain", "ties", "even"], prefix="r")
    taken = engine.sampled("async", 2, filter_groups_metric="calipers_signal")
    told["trained"] = sorted({label.split(": ")[0] for label in engine.labels(taken["batch"].keys)})
    told |= {name: taken[name] for name in ("refilled", "metrics")}
    server.script(judge)
    return told


def no_judge(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """A mistyped model, and a judge that loses group after group: what ends verl's run, and what its log has of it."""
    from calipers.errors import CalipersError, ConfigError  # noqa: PLC0415 - beside what is only where verl is

    given = ("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1")
    told: dict[str, Any] = {}
    server.script(error(404, "The model `judge` does not exist"))
    _, before = logged(model.parent)
    engine = manager_of(configured(model, *given), tokenizer)
    told["first step"] = engine.roll_out(["plain", "ties", "even"], prefix="k")["status"]
    told["first log"], _ = logged(model.parent, after=before)
    try:
        engine.sampled("async", 1, refill=lambda _: engine.roll_out(["plain"], prefix="l"))
    except ConfigError as caught:
        told["refilling"] = str(caught)
    try:
        engine.roll_out(["plain"], prefix="m")
    except ConfigError as caught:
        told["next step"] = str(caught)
    _, before = logged(model.parent)
    server.script(judge)
    engine = manager_of(configured(model, *given, "+calipers.reasks=0", "+calipers.patience=2"), tokenizer)
    told["patient"] = [
        engine.roll_out([name], prefix=f"n{number}")["status"] for number, name in enumerate(("dead", "plain"))
    ]
    told["out"] = [engine.roll_out(["dead"], prefix=f"o{number}")["status"] for number in range(2)]
    told["second log"], _ = logged(model.parent, after=before)
    try:
        engine.roll_out(["plain"], prefix="p")
    except CalipersError as caught:
        told["out of patience"] = str(caught)
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


def reward_manager(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """The fallback: verl's own agent loop and reward loop, with calipers' reward manager in its one worker."""
    from verl.experimental.reward_loop import RewardLoopManager  # noqa: PLC0415 - only where verl is
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ  # noqa: PLC0415 - likewise

    config = configured(
        model,
        *("reward.reward_manager.source=importlib", "reward.reward_manager.name=RewardManager"),
        "reward.reward_manager.module.path=pkg://calipers.trainers.verl",
        *("trainer.test_freq=-1", "trainer.val_before_train=false", "+calipers.wait=5"),
        *(
            "+calipers.judge=vllm/judge",
            f"+calipers.base_url={server.url}",
            "+calipers.attempts=1",
            "+calipers.reasks=1",
        ),
    )
    rewards = RewardLoopManager(config)
    manager = AgentLoopManagerTQ.create(
        config=config,
        llm_client=policy(tokenizer),
        teacher_client=None,
        reward_loop_worker_handles=rewards.reward_loop_worker_handles,
    )
    return Engine(config, manager, tokenizer).roll_out(["plain", "unscored", "lost", "dead"], prefix="r")


def main_eval(folder: Path, server: FaultyServer) -> dict[str, Any]:
    """verl's main_eval over a small parquet file, with the flags that the documentation names."""
    import pandas as pd  # noqa: PLC0415 - beside verl
    from verl.trainer import main_eval as theirs  # noqa: PLC0415 - only where verl is

    rows = pd.DataFrame(
        {
            "data_source": ["jokes"],
            "responses": [["worth 20", "worth 40", "worth 90"]],
            "reward_model": [{"ground_truth": {"prompt": "Tell a joke.", "reference": "a good one"}}],
        }
    )
    rows.to_parquet(folder / "responses.parquet")
    function = "+reward.custom_reward_function"
    sys.argv = [
        "main_eval",
        f"data.path={folder / 'responses.parquet'}",
        *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=compute_score"),
        *(f"{function}.reward_kwargs.judge=vllm/judge", f"{function}.reward_kwargs.base_url={server.url}"),
        *("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=disabled"),
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
        theirs.main()
    asked = server.posts[-1]["messages"]
    return {"printed": printed.getvalue().strip().splitlines()[-1], "asked": json.dumps(asked)}


def unscored_in_verl() -> dict[str, Any]:
    """What verl itself makes of a reward that is None, or not a number."""
    import numpy as np  # noqa: PLC0415 - beside torch, which is only where verl is
    import torch  # noqa: PLC0415 - only where verl is
    from verl.experimental.agent_loop import AgentLoopOutput  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - likewise

    output = AgentLoopOutput(prompt_ids=[1], response_ids=[2], response_mask=[1], metrics={}, reward_score=None)
    scores = torch.tensor([[0.3], [float("nan")], [0.6], [0.1]])
    index = np.array(["u"] * 4, dtype=object)
    nan, _ = get_adv_estimator_fn("grpo")(token_level_rewards=scores, response_mask=torch.ones(4, 1), index=index)
    lone, _ = get_adv_estimator_fn("grpo")(
        token_level_rewards=torch.tensor([[0.6]]), response_mask=torch.ones(1, 1), index=index[:1]
    )
    return {
        "None": "rm_scores" in output.as_dict(),
        "NaN": [str(float(one)) for one in nan[:, 0]],
        "lone": float(lone[0, 0]),
    }


def main(out: Path) -> None:
    """Everything in one Ray, whose files go away with it."""
    folder = Path(tempfile.mkdtemp(prefix="cv", dir="/tmp"))
    os.environ.update({"HOME": str(folder), **QUIET})
    import ray  # noqa: PLC0415 - reads the environment
    import transfer_queue as tq  # noqa: PLC0415 - likewise

    try:
        tokenizer = tiny_model(folder / "model")
        (folder / "tool.py").write_text(TOOL)
        ray.init(
            num_cpus=4, include_dashboard=False, _node_ip_address="127.0.0.1", _temp_dir=str(folder / "ray"),
            object_store_memory=100_000_000, configure_logging=False,
        )  # fmt: skip
        tq.init(configured(folder / "model").transfer_queue)
        with FaultyServer() as server:
            server.script(judge)
            given = (folder / "model", tokenizer, server)
            parts: dict[str, Callable[[], Any]] = {
                "agent_loop": lambda: agent_loop(*given),
                "scaffold": lambda: scaffold(*given),
                "recipes": lambda: recipes(*given),
                "resampling": lambda: resampling(*given),
                "reward_manager": lambda: reward_manager(*given),
                "in_shadow": lambda: in_shadow(*given),
                "no_judge": lambda: no_judge(*given),
                "main_eval": lambda: main_eval(folder, server),
                "verl": unscored_in_verl,
            }
            begun, report = time.monotonic(), {}
            for name, part in parts.items():
                report[name] = part()
                sys.stderr.write(f"{name}: done after {time.monotonic() - begun:.0f} s\n")
            out.write_text(json.dumps(report))
        tq.close()
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


QUIET = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "VERL_LOGGING_LEVEL": "WARNING",
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
